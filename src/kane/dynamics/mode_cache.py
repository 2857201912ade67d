"""Background compilation of the modes that runs encounter, while the runs continue numerically."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Protocol, Self, TypeVar

from kane.errors import ModelError, warn
from kane.formulation.equations import Equations
from kane.machine.forks import tell_of_forks, working
from kane.progress import PROGRESS_LOGGER


class Growing(Protocol):
    """Native functions of a model to which compiled modes can be added.

    Attributes:
        equations: equations of the model.
        known: modes that are compiled.
    """

    @property
    def equations(self) -> Equations: ...
    @property
    def known(self) -> Collection[Any]: ...

    def with_mode(self, mode: Any) -> Self:
        """Return these functions with one more compiled mode.

        Raises:
            ModelError: the mode cannot be expressed symbolically.
        """

    def words(self, mode: Any) -> str:
        """Return the name of the mode."""


F = TypeVar("F", bound=Growing)


class ModeCache(Generic[F]):
    """Native functions of a model whose compiled modes increase over time."""

    def __init__(self, functions: F) -> None:
        """Start with the given functions."""
        self._functions = functions
        self._asked = set(functions.known)
        self._pool: ThreadPoolExecutor | None = None
        self._work: list[Future[None]] = []
        self._failures: list[str] = []
        tell_of_forks(self)

    @property
    def functions(self) -> F:
        """Functions with the modes that are compiled so far."""
        return self._functions

    def meet(self, met: Iterable[Any]) -> None:
        """Submit the modes that are new to the compiling thread; warn of modes that could not be compiled."""
        for mode in met:
            if mode not in self._asked:
                self._asked.add(mode)
                self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="kane modes")
                self._work.append(self._pool.submit(self._compile, mode))
        with contextlib.suppress(IndexError):  # pop one by one, because the thread may append meanwhile
            while True:
                warn(self._failures.pop(0))

    def wait(self) -> None:
        """Wait until all submitted modes are compiled."""
        wait(self._work)

    def after_fork(self) -> None:
        """Reset the thread in a child process, so that modes not compiled yet can be submitted again."""
        self._asked, self._pool, self._work = set(self._functions.known), None, []

    def _compile(self, mode: Any) -> None:
        if not threading.main_thread().is_alive():
            return  # the process is exiting
        try:
            with working():
                self._functions = self._functions.with_mode(mode)
        except ModelError as error:
            PROGRESS_LOGGER.info("the mode %r is simulated numerically: %s", self._functions.words(mode), error)
        except Exception as error:  # a failed compilation must not stop runs
            words, of = self._functions.words(mode), self._functions.equations.name
            self._failures.append(
                f"the mode {words!r} of {of!r} could not be compiled and is simulated numerically: "
                f"{type(error).__name__}: {error}"
            )
