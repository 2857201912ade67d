"""Memory that this process can still allocate."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path


def free_memory() -> float:
    """Return the free memory in bytes: available memory of the system, bounded by the address limit of the process.

    The result is infinite if neither is known. Limits of containers are not considered.
    """
    return min(_of_system(), _of_process())


def _of_system() -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    return math.inf


def _of_process() -> float:
    with suppress(OSError, ValueError, IndexError, ImportError):
        import resource  # not available on all platforms

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            return float(max(0, most - pages * resource.getpagesize()))
    return math.inf
