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
from inspect import isgenerator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

# Memory [bytes] that a child may use in addition to its parent's: far more than any test here needs.
MEMORY = 4 << 30
# Fixtures of pytest that tests here may take.
BUILT_IN = {"tmp_path", "monkeypatch"}


class Wrong(Protocol):
    """Mutant: a wrong version of some code."""

    @property
    def name(self) -> str:
        """Original code and its replacement."""

    def installed(self) -> AbstractContextManager[None]:
        """Install the mutant for the context, or permanently, because the child process ends with it."""


Case = tuple[Callable[..., object], dict[str, Any]]


class Parameter(NamedTuple):
    """Parameter of the fixture that makes an argument of a test."""

    param: object


def cases(tests: Iterable[Callable[..., object]]) -> Iterator[Case]:
    """Yield each test with each set of its parameters, except sets with their own marks (such as slow).

    Parameters of the fixtures that a test takes count too.
    """
    for test in tests:
        sets: list[dict[str, Any]] = [{}]
        for mark in getattr(test, "pytestmark", ()):
            words = mark.args[0]
            names = [w.strip() for w in words.split(",")] if isinstance(words, str) else list(words)
            rows = [v for v in mark.args[1] if not getattr(v, "marks", ())]
            given = [dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in rows]
            sets = [{**old, **new} for old in sets for new in given]
        for name in _arguments(test):
            values = _parameters(test.__globals__.get(name))
            sets = [{**old, name: Parameter(value)} for old in sets for value in values] if values else sets
        yield from ((test, given) for given in sets)


def runnable(module: Any, without: Collection[str]) -> list[Callable[..., object]]:
    """Return the tests of a module with no mark but parametrize and no fixture but tmp_path and monkeypatch."""
    return [test for test in _marked_at_most(module, without) if _open(test) <= BUILT_IN]


def runnable_with_fixtures(module: Any, without: Collection[str]) -> list[Callable[..., object]]:
    """Return the tests as ``runnable``, and those with fixtures of their module, which each test makes anew."""
    return [test for test in _marked_at_most(module, without) if _open(test) <= BUILT_IN | _fixtures(module)]


def _marked_at_most(module: Any, without: Collection[str]) -> list[Callable[..., object]]:
    return [
        test
        for name, test in vars(module).items()
        if name.startswith("test_")
        and name not in without
        and all(m.name == "parametrize" and not m.kwargs.get("indirect") for m in getattr(test, "pytestmark", ()))
    ]


def _open(function: Callable[..., object]) -> set[str]:
    """Return the names of the arguments that no mark gives."""
    given = [mark.args[0] for mark in getattr(function, "pytestmark", ())]
    known = {w.strip() for words in given for w in (words.split(",") if isinstance(words, str) else words)}
    return set(_arguments(function)) - known


def _arguments(function: Callable[..., object]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _fixtures(module: Any) -> set[str]:
    """Return the names of the fixtures of a module that need no others but its own and the built-in ones."""
    made = {name: x for name, x in vars(module).items() if _is_fixture(x)}
    return {
        name
        for name, x in made.items()
        if BUILT_IN.union(made, {"request"} if _parameters(x) else ()).issuperset(_arguments(x.__wrapped__))
    }


def _is_fixture(value: Any) -> bool:
    return type(value).__name__ == "FixtureFunctionDefinition"


def _parameters(value: Any) -> tuple[object, ...]:
    """Return the parameters of a fixture; none of other objects."""
    return tuple(value._fixture_function_marker.params or ()) if _is_fixture(value) else ()


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
    with ExitStack() as stack:
        made = dict(given)
        test(**{name: _made(name, made, test.__globals__, stack) for name in _arguments(test)})


def _made(name: str, made: dict[str, Any], home: dict[str, Any], stack: ExitStack) -> Any:
    """Return an argument of a test: as given, or made by a fixture, with the arguments that the fixture takes."""
    given = made.get(name)
    if name in made and not isinstance(given, Parameter):
        return given
    if name == "tmp_path":
        made[name] = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    elif name == "monkeypatch":
        made[name] = stack.enter_context(pytest.MonkeyPatch.context())
    else:
        function = home[name].__wrapped__
        wanted = [n for n in _arguments(function) if n != "request"]
        own = {"request": given} if "request" in _arguments(function) else {}
        value = function(**own, **{n: _made(n, made, home, stack) for n in wanted})
        if isgenerator(value):
            stack.callback(next, value, None)
            value = next(value)
        made[name] = value
    return made[name]


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
