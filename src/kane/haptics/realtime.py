"""What the system lets a real-time thread have: first-come scheduling, a core, memory that stays, a sharp timer."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable

import numpy as np

# Of the real-time priorities 1 to 99; those above are left to the system.
PRIORITY = 80
PR_SET_TIMERSLACK = 29


def promote(memory: Iterable[np.ndarray]) -> tuple[str, ...]:
    """Ask for all of it for the thread that calls.

    Args:
        memory: arrays that must not wait for the disk.

    Returns:
        What it did not get, in words.
    """
    missing = []
    if not _scheduled(PRIORITY):
        missing.append("first-come scheduling (SCHED_FIFO: run as root, or allow rtprio in /etc/security/limits.conf)")
    elif not _pinned():
        missing.append("a core of its own")
    if not all(_locked(array) for array in memory):
        missing.append("locked memory (raise the limit memlock)")
    if not _sharp_timer():
        missing.append("a sharp timer")
    return tuple(missing)


def favour_watchdog() -> None:
    """Let the thread that calls go before that of the loop, and beside it: on other cores, where there are any.

    A thread begins where the one that made it was put, and this one is made by the loop's.
    """
    with contextlib.suppress(AttributeError, OSError):
        cores = sorted(os.sched_getaffinity(os.getpid()))
        os.sched_setaffinity(0, cores[:-1] or cores)
    _scheduled(PRIORITY + 1)


def _scheduled(priority: int) -> bool:
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        return True
    return False


def _pinned() -> bool:
    """To the last of the cores, where the system has more than one: the first has its interrupts."""
    with contextlib.suppress(AttributeError, OSError):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[-1]})
            return True
    return False


def _locked(array: np.ndarray) -> bool:
    with contextlib.suppress(AttributeError, OSError):
        lock = ctypes.CDLL(None).mlock
        lock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        return array.nbytes == 0 or lock(array.ctypes.data, array.nbytes) == 0
    return False


def _sharp_timer() -> bool:
    with contextlib.suppress(AttributeError, OSError):
        return bool(ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0)
    return False
