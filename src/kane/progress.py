"""Progress of long work: a bar on terminals, an overwritten line in notebooks, the log elsewhere."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Protocol

# Seconds of wall time after which a terminal or a notebook shows progress.
PROGRESS_DELAY = 1.0
# The log gets lines after 10, 20, 40, ... s, at most 600 s apart: first line, and longest interval [s].
FIRST_REPORT, MAX_REPORT_INTERVAL = 10.0, 600.0
REFRESHED = 0.2  # seconds between two updates of a notebook's line
PROGRESS_LOGGER = logging.getLogger("kane")


class Display(Protocol):
    """One place where progress is shown.

    Attributes:
        delay: seconds of work before the first update.
    """

    delay: float

    def show(self, words: str, fraction: float | None, detail: Callable[[], str]) -> None:
        """Show the work in words, the fraction done if it is known, and details if there is room."""

    def close(self) -> None:
        """Remove the display."""


class Bar:
    """Progress bar on a terminal."""

    delay = PROGRESS_DELAY

    def __init__(self) -> None:
        self._bar: Any = None

    def show(self, words: str, fraction: float | None, detail: Callable[[], str]) -> None:
        from rich.markup import escape

        told = {
            "description": escape(words),
            "total": 1.0 if fraction else None,
            "completed": fraction or 0,
        }
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.add_task(**told)
            self._bar.start()
        self._bar.update(0, **told)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class Line:
    """Line on standard error that each update overwrites, for notebooks."""

    delay = PROGRESS_DELAY

    def __init__(self) -> None:
        self._width, self._written = 0, -REFRESHED

    def show(self, words: str, fraction: float | None, detail: Callable[[], str]) -> None:
        if time.monotonic() - self._written >= REFRESHED:
            self._write(words if fraction is None else f"{words}: {fraction:.0%}")

    def close(self) -> None:
        if self._width:
            self._write("")
            self._write("")

    def _write(self, words: str) -> None:
        self._written = time.monotonic()
        with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error is closed or missing
            sys.stderr.write(f"\r{words:<{self._width}}")
            sys.stderr.flush()
        self._width = len(words)


class Log:
    """Lines of the logger "kane". They are warnings, because Python shows warnings by default."""

    delay = FIRST_REPORT

    def __init__(self) -> None:
        self._began, self._next = time.monotonic(), self.delay

    def show(self, words: str, fraction: float | None, detail: Callable[[], str]) -> None:
        took = time.monotonic() - self._began
        if took >= self._next:
            self._next += min(self._next, MAX_REPORT_INTERVAL)
            part = "" if fraction is None else f"{100 * fraction:.3g} % "
            PROGRESS_LOGGER.warning("%s", f"{words}: {part}after {took:.0f} s {detail()}".rstrip())

    def close(self) -> None:
        """Keep the lines of the log."""


def display() -> Display | None:
    """Return the display of this thread.

    It is None in worker threads, because two bars cannot share a terminal, and in browsers, which have no threads.
    """
    if sys.platform == "emscripten":
        return None
    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if not watched:
        return Log()
    if threading.current_thread() is not threading.main_thread():
        return None
    return Line() if "ipykernel" in sys.modules else Bar()


class ProgressBar:
    """Progress of one piece of work, shown if the work takes long.

    Work that calls the bar often, such as a run, needs no thread. A ``stage`` may last for minutes without a call, so
    it starts a timer that shows the bar.

    Attributes:
        detail: function that describes the state of the work, for the log.
    """

    def __init__(self, title: str) -> None:
        self.detail: Callable[[], str] = str
        self._title, self._stage = title, ""
        self._fraction: float | None = None
        self._began = time.monotonic()
        self._display = display()
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._outer: Token[ProgressBar | None] | None = None

    def __enter__(self) -> ProgressBar:
        self._outer = _IN_FORCE.set(self)
        return self

    def __call__(self, fraction: float) -> None:
        """Show that this fraction of the work is done."""
        self._fraction = fraction
        self._show()

    def name(self, stage: str) -> None:
        """Set the name of the current stage of the work."""
        self._stage = stage
        if self._timer is None and self._display is not None:
            self._timer = threading.Timer(self._display.delay, self._show)
            self._timer.daemon = True
            self._timer.start()
        self._show()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[ProgressBar]:
        """Name the work of a block; the display shows the name until the next call."""
        before = self._stage
        self.name(name)
        try:
            yield self
        finally:
            self._stage = before

    def _show(self) -> None:
        with self._lock:
            shown = self._display
            if shown is not None and time.monotonic() - self._began >= shown.delay:
                shown.show(": ".join(filter(None, (self._title, self._stage))), self._fraction, self.detail)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._outer is not None
        _IN_FORCE.reset(self._outer)
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._display is not None:
                self._display.close()
            self._display = None


_IN_FORCE: ContextVar[ProgressBar | None] = ContextVar("active progress bar", default=None)


@contextlib.contextmanager
def stage(name: str) -> Iterator[ProgressBar]:
    """Name the work of a block in the active progress bar, or in a new bar if no bar is active.

    The logger "kane" gets the seconds of the block, at the level DEBUG.
    """
    bar, began = _IN_FORCE.get(), time.perf_counter()
    if bar is not None:
        with bar.stage(name):
            yield bar
    else:
        with ProgressBar(name) as bar:
            bar.name("")
            yield bar
    PROGRESS_LOGGER.debug("%s: %.3f s", name, time.perf_counter() - began)
