"""Real-time features of the system for a thread: FIFO scheduling, a core, locked memory, a precise timer."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable

import numpy as np

# Real-time priority, from 1 to 99; the system keeps the higher ones.
PRIORITY = 80
PR_SET_TIMERSLACK = 29


def promote(memory: Iterable[np.ndarray]) -> tuple[str, ...]:
    """Request all real-time features for the calling thread.

    Args:
        memory: arrays that must stay in main memory.

    Returns:
        The features that the system refused, in words.
    """
    missing = []
    if not _scheduled(PRIORITY):
        missing.append("FIFO scheduling (SCHED_FIFO: run as root, or allow rtprio in /etc/security/limits.conf)")
    elif not _pinned():
        missing.append("a core of its own")
    if not lock_memory(memory):
        missing.append("locked memory (raise the limit memlock)")
    if not _sharp_timer():
        missing.append("a precise timer")
    return tuple(missing)


def favour_watchdog() -> None:
    """Give the calling thread a higher priority than the loop's thread, and other cores if there are any.

    A new thread inherits the core of its creator, and the loop's thread creates this one.
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
    """Pin the thread to the last core if there are several, because the first core serves interrupts."""
    with contextlib.suppress(AttributeError, OSError):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[-1]})
            return True
    return False


def lock_memory(memory: Iterable[np.ndarray]) -> bool:
    """Keep arrays in main memory; return whether the system does so."""
    return all(_locked(array) for array in memory)


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
