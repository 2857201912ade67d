"""A tape of the calls of native code that tests make, and its replay: same tests, same arguments, same results?

    python -m pytest -p oracles.tape --tape record tests/laws     # before a change of native code
    python -m pytest -p oracles.tape --tape replay tests/laws     # after it

A call is known by its test, its entry and its number within the test. Of each call the tape has the arguments and the
results by name, as ``store.x`` or ``out``, never by a place in memory, so that memory may be laid out anew between the
two runs. Addresses, stages and scratch are left out. Calls of other threads are left out too, because their order is
not that of the test. Recording stops at MOST calls of an entry in a process; numbers beyond LONGEST of an array are
not kept.

The replay prints a line for each entry: calls on the tape, calls with the same arguments, calls with the same bits,
and the largest difference of a result over the largest number of its array. It fails if an entry has another result
where its arguments are the same; ``--tape-within`` allows a relative difference.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kane.codegen.jit.function import ArrayFunction
from kane.engine.call import NativeLoop
from oracles.unwritten import begin_arrays_without_numbers

MOST, LONGEST = 10_000, 512
# Memory whose layout may change, addresses, and scratch that holds whatever was there before.
LEFT_OUT = {"stage", "stages", "headers", "kept", "work", "mode", "table", "address", "programs", "step"}
LEFT_OUT |= {"words", "doubles"}
SCRATCH = {"z", "roots", "weights", "chosen", "slopes", "out", "state", "changed"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --tape, --tape-folder and --tape-within."""
    group = parser.getgroup("tape of native calls")
    group.addoption("--tape", choices=("record", "replay"), help="record native calls, or compare them with the record")
    group.addoption("--tape-folder", type=Path, default=Path(".pytest_cache/kane/tape"), help="where the tape is")
    group.addoption("--tape-within", type=float, default=0.0, help="relative difference that a replay allows")


def pytest_configure(config: pytest.Config) -> None:
    """Listen to native calls if asked."""
    if config.getoption("--tape"):
        begin_arrays_without_numbers()  # else memory that nobody has written yet differs from run to run
        config.pluginmanager.register(Tape(config), "tape of native calls")


def named(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The numbers and arrays of an argument by their names, those of tuples included."""
    if isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        for field, part in zip(names, value, strict=True):
            if field not in LEFT_OUT and field not in SCRATCH:
                yield from named(f"{name}.{field}", part)
    elif isinstance(value, int | float | np.ndarray):
        yield name, np.atleast_1d(np.asarray(value)).ravel()[:LONGEST]


def digest(values: dict[str, np.ndarray]) -> str:
    """A digest of names and bits."""
    found = hashlib.sha256()
    for name, array in values.items():
        found.update(f"{name} {array.dtype.str} {array.size}\n".encode() + array.tobytes())
    return found.hexdigest()[:16]


def difference(old: np.ndarray, new: np.ndarray) -> float:
    """The largest difference over the largest number; infinite for other lengths, and where one alone is no number."""
    if old.shape != new.shape or not np.array_equal(np.isfinite(old), np.isfinite(new)):
        return float("inf")
    if old.tobytes() == new.tobytes():
        return 0.0
    finite = np.isfinite(old)
    size = np.abs(old[finite]).max(initial=np.finfo(float).tiny)
    return float(np.abs(old[finite] - new[finite]).max(initial=0.0) / size)


class Tape:
    """A listener that records native calls, or compares them with a record."""

    def __init__(self, config: pytest.Config) -> None:
        self.replays, self.within = config.getoption("--tape") == "replay", config.getoption("--tape-within")
        self.folder: Path = config.getoption("--tape-folder").resolve()
        self.controls = "PYTEST_XDIST_WORKER" not in os.environ and bool(config.getoption("numprocesses", 0))
        self.test, self.numbers = "", Counter[str]()
        self.kept, self.lines = Counter[str](), []
        self.bits: list[bytes] = []
        self.length = 0
        self.tape = self._load() if self.replays and not self.controls else {}
        self.results: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0, 0.0])
        self.failed = False

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Listen while a test runs."""
        self.test, self.numbers = item.nodeid, Counter()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(NativeLoop, "__call__", self._listening_loop(NativeLoop.__call__))
            patch.setattr(ArrayFunction, "join", self._listening_function(ArrayFunction.join))
            yield
        self.test = ""

    def _listening_loop(self, call: Any) -> Any:
        @wraps(call)
        def listen(loop: NativeLoop, *arguments: Any) -> Any:
            if not self._listens():
                return call(loop, *arguments)
            code = loop.function.__code__
            names = code.co_varnames[: code.co_argcount]
            given = [(n, a) for n, a in zip(names, arguments, strict=True) if n not in LEFT_OUT]
            before = {k: v.copy() for n, a in given for k, v in named(n, a)}
            result = call(loop, *arguments)
            after = {k: v for n, a in given for k, v in named(n, a) if k in before}
            if result is not None:
                after["result"] = np.atleast_1d(np.asarray(result))
            module = loop.function.__module__.rpartition(".")[2]
            self._take(f"{module}.{loop.function.__name__}", before, after)
            return result

        return listen

    def _listening_function(self, join: Any) -> Any:
        @wraps(join)
        def listen(function: ArrayFunction, parts: Any, rest: Any, stage: Any, **more: Any) -> Any:
            if not self._listens():
                return join(function, parts, rest, stage, **more)
            given = {f"state.{k}": np.asarray(part, float).ravel()[:LONGEST].copy() for k, part in enumerate(parts)}
            given["rest"] = np.asarray(rest, float).ravel()[:LONGEST].copy()
            result = join(function, parts, rest, stage, **more)
            kind = type(function).__name__
            self._take(f"{kind} {function.name}", given, {"out": np.asarray(result).ravel()[:LONGEST]})
            return result

        return listen

    def _listens(self) -> bool:
        return bool(self.test) and threading.current_thread() is threading.main_thread()

    def _take(self, entry: str, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> None:
        number = self.numbers[entry]
        self.numbers[entry] += 1
        if self.replays:
            self._compare(entry, number, before, after)
        elif self.kept[entry] < MOST:
            self.kept[entry] += 1
            arrays = {**{f"given {k}": v for k, v in before.items()}, **after}
            fields = {k: [v.dtype.str, v.size] for k, v in arrays.items()}
            call = {"test": self.test, "entry": entry, "number": number}
            self.lines.append(json.dumps({**call, "at": self.length, "fields": fields}))
            for array in arrays.values():
                self.bits.append(array.tobytes())
                self.length += len(self.bits[-1])

    def _compare(self, entry: str, number: int, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> None:
        call, bits = self.tape.get((self.test, entry, number), (None, None))
        if call is None:
            return
        found = self.results[entry]
        found[0] += 1
        at, arrays = call["at"], {}
        for name, (kind, size) in call["fields"].items():
            if name.rpartition(".")[2] not in LEFT_OUT:
                arrays[name] = np.frombuffer(bits, kind, size, at)
            at += np.dtype(kind).itemsize * size
        given = {name.removeprefix("given "): x for name, x in arrays.items() if name.startswith("given ")}
        if digest(given) != digest(before):
            return
        found[1] += 1
        results = {name: x for name, x in arrays.items() if not name.startswith("given ")}
        worst = max([difference(x, after.get(name, np.zeros(0))) for name, x in results.items()], default=0.0)
        found[2] += worst == 0.0
        found[3] = max(found[3], worst)

    def _load(self) -> dict[tuple[str, str, int], tuple[dict[str, Any], bytes]]:
        tape = {}
        for file in sorted(self.folder.glob("calls-*.jsonl")):
            bits = file.with_suffix(".bits").read_bytes()
            for line in file.read_text().splitlines():
                call = json.loads(line)
                tape[call["test"], call["entry"], call["number"]] = call, bits
        if not tape:
            raise pytest.UsageError(f"no tape in {self.folder}: record one with --tape record")
        return tape

    def pytest_sessionstart(self) -> None:
        """Make room for a new tape."""
        if not self.replays and "PYTEST_XDIST_WORKER" not in os.environ:
            for file in self.folder.glob("calls-*"):
                file.unlink()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the tape, or say how the replay ended."""
        if self.controls:
            return
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        if self.replays:
            self.failed = any(found[3] > self.within for found in self.results.values())
            text = "\n".join(self._report())
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"replay-{worker}.txt").write_text(text + "\n")
            if self.failed:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"calls-{worker}.jsonl").write_text("\n".join(self.lines))
        (self.folder / f"calls-{worker}.bits").write_bytes(b"".join(self.bits))

    def _report(self) -> Iterator[str]:
        yield f"{'entry':44}{'calls':>8}{'same given':>12}{'same bits':>11}{'difference':>12}"
        for entry, (calls, given, same, worst) in sorted(self.results.items()):
            yield f"{entry:44}{calls:8}{given:12}{same:11}{worst:12.1e}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the report of a replay, or the number of calls on the tape."""
        if self.replays:
            for line in self._report() if not self.controls else ():
                terminalreporter.write_line(line)
        elif not self.controls:
            terminalreporter.write_line(f"{len(self.lines)} native calls on the tape in {self.folder}")
