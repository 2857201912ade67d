"""Waiting in real-time tests: for a condition, with a time limit for slow and busy machines."""

from __future__ import annotations

import time
from collections.abc import Callable

# Time limit [s], far longer than any condition needs on a slow and busy machine.
ENOUGH = 120.0


def until(happened: Callable[[], object], seconds: float = ENOUGH) -> None:
    """Wait until ``happened()`` is true; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.005)
