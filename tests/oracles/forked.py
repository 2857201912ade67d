"""Tests with mutants, each in a child process that may crash, hang or run out of memory.

The mutant then counts as caught, and no state remains. Child processes start with everything imported and compiled.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import resource
import signal
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any, Protocol

import pytest

# Memory [bytes] that a child may use in addition to its parent's: far more than any test here needs.
MEMORY = 4 << 30


class Wrong(Protocol):
    """Mutant: a wrong version of some code."""

    @property
    def name(self) -> str:
        """Original code and its replacement."""

    def installed(self) -> AbstractContextManager[None]:
        """Install the mutant for the context, or permanently, because the child process ends with it."""


Case = tuple[Callable[..., object], dict[str, Any]]


def cases(tests: Iterable[Callable[..., object]]) -> Iterator[Case]:
    """Yield each test with each set of its parameters, except sets with their own marks (such as slow)."""
    for test in tests:
        sets: list[dict[str, Any]] = [{}]
        for mark in getattr(test, "pytestmark", ()):
            words = mark.args[0]
            names = [w.strip() for w in words.split(",")] if isinstance(words, str) else list(words)
            rows = [v for v in mark.args[1] if not getattr(v, "marks", ())]
            given = [dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in rows]
            sets = [{**old, **new} for old in sets for new in given]
        yield from ((test, given) for given in sets)


def runnable(module: Any, without: Collection[str]) -> list[Callable[..., object]]:
    """Return the tests of a module with no mark but parametrize and no fixture but tmp_path and monkeypatch."""
    found = []
    for name, test in vars(module).items():
        marks = getattr(test, "pytestmark", ())
        if not name.startswith("test_") or name in without or any(mark.name != "parametrize" for mark in marks):
            continue
        code, known = test.__code__, {"tmp_path", "monkeypatch"}
        for mark in marks:
            known.update(
                w.strip() for w in (mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0])
            )
        if known.issuperset(code.co_varnames[: code.co_argcount]):
            found.append(test)
    return found


def fail(tried: Iterable[Case]) -> bool:
    """Check whether one of these tests fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as division by zero in a mutant
        for test, given in tried:
            try:
                _run(test, given)
            except (Exception, pytest.fail.Exception):
                return True
    return False


def _run(test: Callable[..., object], given: dict[str, Any]) -> None:
    wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
    with ExitStack() as stack:
        if "tmp_path" in wanted:
            given = {**given, "tmp_path": Path(stack.enter_context(tempfile.TemporaryDirectory()))}
        if "monkeypatch" in wanted:
            given = {**given, "monkeypatch": stack.enter_context(pytest.MonkeyPatch.context())}
        test(**given)


def survivors_apart(
    tried: Collection[Wrong], fails: Callable[[], bool], equivalent: Collection[str] = (), *, seconds: int
) -> list[str]:
    """Return the names of the mutants with which no test fails, without equivalent mutants.

    Args:
        tried: the mutants.
        fails: called in the child process with the mutant installed; returns whether a test fails.
        equivalent: names of mutants that are correct too, and are not run.
        seconds: CPU time after which a child is stopped.
    """
    return [m.name for m in tried if m.name not in equivalent and not _caught(m, fails, seconds)]


def passes_apart(fails: Callable[[], bool], *, seconds: int) -> bool:
    """Check whether all tests pass in a child process without a mutant."""

    class Right:
        name = "right"

        def installed(self) -> AbstractContextManager[None]:
            return nullcontext()

    return survivors_apart([Right()], fails, seconds=seconds) == ["right"]


def _caught(mutant: Wrong, fails: Callable[[], bool], seconds: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about forks beside threads, which are idle
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    code = 1
    try:
        _isolate(seconds)
        with mutant.installed():
            code = 1 if fails() else 0
    finally:
        os._exit(code)  # in any case, so that no code of the parent runs in the child


def _isolate(seconds: int) -> None:
    """Suppress output and core files; limit memory, CPU time and, for a process that waits, wall time.

    The garbage collector leaves the objects of the parent alone: visiting them copies all of its memory.
    """
    gc.freeze()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(20 * seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if os.path.exists("/proc/self/statm") else 0
    if pages:
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    faulthandler.disable()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
