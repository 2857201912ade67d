"""Guard of an object whose memory of native code serves one call at a time."""

from __future__ import annotations

import threading
from types import TracebackType

from kane.errors import ModelError


class OneAtATime:
    """A context that one call at a time may enter; others are refused and do not wait.

    Native loops run without the interpreter lock, so that a second call would write into the memory of the first.
    """

    def __init__(self, name: str, cure: str) -> None:
        """Guard an object; ``name`` and ``cure`` are for the message."""
        self._name, self._cure, self._free = name, cure, threading.Lock()

    def __enter__(self) -> None:
        if not self._free.acquire(blocking=False):
            raise ModelError(
                f"another call is under way in this {self._name}, which serves one thread at a time; {self._cure}"
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._free.release()
