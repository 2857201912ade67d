"""How much memory this process may still take."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path


def free_memory() -> float:
    """Bytes that the system has left, and the limit of the process's addresses; infinite where neither is known.

    What a container may take is in neither.
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
        import resource  # not everywhere

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            return float(max(0, most - pages * resource.getpagesize()))
    return math.inf
