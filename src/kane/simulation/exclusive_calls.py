"""Lock for objects whose native memory serves one call at a time."""

from __future__ import annotations

import threading
from types import TracebackType

from kane.errors import ModelError


class OneAtATime:
    """Context manager that one call at a time may enter; a concurrent call raises an error instead of waiting.

    Native loops run without the interpreter lock, so that a second call would overwrite the memory of the first.
    """

    def __init__(self, name: str, cure: str) -> None:
        """Create the lock of an object; ``name`` and ``cure`` are words of the message."""
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
