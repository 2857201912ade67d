"""A progress bar for runs that take a while."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.arguments import takes

# Seconds of wall time after which a run is worth a progress bar.
PATIENCE = 1.0


class ProgressBar:
    """A bar on standard error, shown from the second second on, and only on a terminal."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._bar: Any = None
        # Two bars cannot share a terminal: runs in worker threads go without.
        self._wanted = sys.stderr.isatty() and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, fraction: float) -> None:
        """Show that this fraction of the run is done."""
        if self._bar is not None:
            self._bar.update(0, completed=fraction)
        elif self._wanted and time.monotonic() - self._began > PATIENCE:
            self._bar = self._start(fraction)

    def _start(self, fraction: float) -> Any:
        from rich.console import Console
        from rich.progress import Progress, TaskID

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.start()
        bar.add_task(self._title, total=1.0)
        bar.update(TaskID(0), completed=fraction)
        return bar

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def told(progress: Any, bar: ProgressBar) -> Callable[[float], None]:
    """Who is told the fraction done: the user's function, the bar where there is none.

    Raises:
        ModelError: it is no function of one argument.
    """
    if progress is not None and not takes(progress, 1):
        raise ModelError(f"progress is {shown(progress)}; give a function of the fraction done")
    return bar if progress is None else progress
