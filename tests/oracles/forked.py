"""Tests run with a mutant in place, each mutant in a child of its own that may crash, hang or eat memory.

It then counts as caught, and nothing is left behind. Children start where everything is imported and compiled.
"""

from __future__ import annotations

import faulthandler
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

# Bytes that a child may have beyond what its parent has: far more than any test here needs.
MEMORY = 4 << 30


class Wrong(Protocol):
    """A wrong version of something."""

    @property
    def name(self) -> str:
        """What was there and what is there now."""

    def installed(self) -> AbstractContextManager[None]:
        """Put it there for a while, or for good: the child ends with it."""


Case = tuple[Callable[..., object], dict[str, Any]]


def cases(tests: Iterable[Callable[..., object]]) -> Iterator[Case]:
    """Every test with every set of its parameters, those left out that are marked by themselves, as slow ones are."""
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
    """The tests of a module that need no fixture but a folder and patches, and no mark or name says otherwise of."""
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
    """Whether one of these tests fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a wrong function divides by
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
    """Names of the mutants with which nothing fails, those apart that are right too.

    Args:
        tried: the mutants.
        fails: called in the child, with the mutant in place.
        equivalent: names of mutants that are left out.
        seconds: of work, after which a child is stopped.
    """
    return [m.name for m in tried if m.name not in equivalent and not _caught(m, fails, seconds)]


def passes_apart(fails: Callable[[], bool], *, seconds: int) -> bool:
    """Whether a child in which nothing is wrong finds nothing wrong."""

    class Right:
        name = "right"

        def installed(self) -> AbstractContextManager[None]:
            return nullcontext()

    return survivors_apart([Right()], fails, seconds=seconds) == ["right"]


def _caught(mutant: Wrong, fails: Callable[[], bool], seconds: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: those here wait for work
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    code = 1
    try:
        _isolate(seconds)
        with mutant.installed():
            code = 1 if fails() else 0
    finally:
        os._exit(code)  # whatever happened: nothing of the parent's runs here


def _isolate(seconds: int) -> None:
    """No output, no core file, so much memory, an end: by the time worked, and later by the clock for what waits."""
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
