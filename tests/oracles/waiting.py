"""What tests of things in real time wait by: for what they look for, however long a busy machine takes."""

from __future__ import annotations

import time
from collections.abc import Callable

# Far more than anything here takes on a machine that is slow and busy: what does not happen within it never does.
ENOUGH = 120.0


def until(happened: Callable[[], object], seconds: float = ENOUGH) -> None:
    """Wait until something has happened; fail where it does not."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.005)
