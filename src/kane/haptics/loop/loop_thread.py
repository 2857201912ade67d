"""The thread that runs the ticks of a session, and its end by Ctrl-C."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import final

from kane.engine.realtime.tick import MECHANISM_FAILED
from kane.errors import ModelError
from kane.haptics.loop.commands import CommandPost
from kane.haptics.loop.loop import Loop

# Runs the prepared ticks and returns the result of ``run_ticks`` and the real-time features that the system refused.
Work = Callable[[], tuple[int, tuple[str, ...]]]


@final
class LoopThread:
    """Thread that runs the prepared ticks of a loop, one run after the other.

    Attributes:
        has_failed: whether the simulation could not continue in the last run.
        missing: real-time features that the system refused in the last run, in words.
    """

    def __init__(self, loop: Loop, commands: CommandPost) -> None:
        self.has_failed, self.missing = False, tuple[str, ...]()
        self._loop, self._commands, self._process = loop, commands, os.getpid()
        self._done = threading.Event()  # instead of Thread.join: after Ctrl-C there, Python 3.11 takes it for ended
        self._done.set()

    @property
    def is_own(self) -> bool:
        """Whether this process made the thread; in a fork, device and thread belong to the parent."""
        return self._process == os.getpid()

    @property
    def is_at_rest(self) -> bool:
        """Whether no tick runs."""
        return self._done.is_set()

    def start(self, work: Work) -> None:
        """Run the prepared ticks in a new thread."""
        thread = threading.Thread(target=self._carry, args=(work,), name="kane haptic loop", daemon=True)
        self._done.clear()
        try:
            thread.start()
        except BaseException:
            if thread.ident is None:  # no tick will run
                self._loop.lengths.pop()
                self._done.set()
            raise

    def wait(self) -> None:
        """Wait until the run ends."""
        while not self._done.wait(0.1):
            pass

    def stop(self) -> None:
        """End the run early; the force ends first."""
        if not self.is_at_rest and self.is_own:
            self._commands.request("disarm")
            self._commands.tell(stop=1.0)
            self._done.wait()

    def run_here(self) -> None:
        """Run the prepared ticks in the calling thread."""
        self._note(self._loop.run(), self.missing)

    def require_own(self) -> None:
        """Raise ModelError in a fork of the process that made the thread."""
        if not self.is_own:
            raise ModelError(
                "the session belongs to the process that made it, not to its forks; make another session here"
            )

    def require_rest(self) -> None:
        """Raise ModelError in a fork, or while ticks run."""
        self.require_own()
        if not self.is_at_rest:
            raise ModelError("the session is running; wait for it, or stop it, first")

    def _carry(self, work: Work) -> None:
        try:
            self._note(*work())
        finally:
            self._done.set()

    def _note(self, result: int, missing: tuple[str, ...]) -> None:
        self.has_failed, self.missing = result == MECHANISM_FAILED, missing
