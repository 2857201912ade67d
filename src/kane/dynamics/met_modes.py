"""Modes that runs meet, compiled by a thread while the runs go on in numbers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Protocol, Self, TypeVar

from kane.errors import ModelError
from kane.formulation.equations import Equations
from kane.machine.forks import tell_of_forks, working


class Growing(Protocol):
    """Native functions of a model that can have one more mode compiled.

    Attributes:
        equations: of the model.
        known: the modes that are compiled.
    """

    @property
    def equations(self) -> Equations: ...
    @property
    def known(self) -> Collection[Any]: ...

    def with_mode(self, mode: Any) -> Self:
        """The same with one more mode.

        Raises:
            ModelError: it has no expressions.
        """

    def words(self, mode: Any) -> str:
        """The mode as users read it."""


F = TypeVar("F", bound=Growing)


class MetModes(Generic[F]):
    """The native functions of a model, with more and more of its modes compiled."""

    def __init__(self, functions: F) -> None:
        """Those of functions to begin with."""
        self._functions = functions
        self._asked = set(functions.known)
        self._pool: ThreadPoolExecutor | None = None
        self._work: list[Future[None]] = []
        self._failures: list[str] = []
        tell_of_forks(self)

    @property
    def functions(self) -> F:
        """With the modes that are compiled by now."""
        return self._functions

    def meet(self, met: Iterable[Any]) -> None:
        """Have the thread compile those of these modes that are new."""
        for mode in met:
            if mode not in self._asked:
                self._asked.add(mode)
                self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="kane modes")
                self._work.append(self._pool.submit(self._compile, mode))

    def wait(self) -> None:
        """Until all that was met is compiled."""
        wait(self._work)

    def failures(self) -> list[str]:
        """What to say of modes that could not be compiled, each once."""
        found = []
        with contextlib.suppress(IndexError):  # one by one: the thread may add some meanwhile
            while True:
                found.append(self._failures.pop(0))
        return found

    def after_fork(self) -> None:
        """Have modes that are not compiled yet asked for anew, in a child process."""
        self._asked, self._pool, self._work = set(self._functions.known), None, []

    def _compile(self, mode: Any) -> None:
        if not threading.main_thread().is_alive():
            return  # nothing waits for it any more
        try:
            with working():
                self._functions = self._functions.with_mode(mode)
        except ModelError:
            return  # it has no expressions, and is left to numbers
        except Exception as error:  # whatever it is, runs go on
            words, of = self._functions.words(mode), self._functions.equations.name
            self._failures.append(
                f"the mode {words!r} of {of!r} could not be compiled, and goes on in numbers: "
                f"{type(error).__name__}: {error}"
            )
