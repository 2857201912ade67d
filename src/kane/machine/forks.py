"""Forks of the process: a fork waits for the working threads of kane, and the child repeats their unfinished work.

A child process has only the thread that forked. A lock (of LLVM, an arena or Dynamics) that another thread held at the
fork would stay locked in the child forever.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class HasThreads(Protocol):
    """An object with work in threads."""

    def after_fork(self) -> None:
        """Discard, in a child process, the threads of the parent; their unfinished work starts again, or on request."""


class _Threads:
    """Working threads of kane, and forks that wait for them."""

    def __init__(self) -> None:
        self.begin_anew([])

    def begin_anew(self, busy: list[int]) -> None:
        """Start with these working threads and without a pending fork."""
        self.changed, self.busy, self.forks = threading.Condition(), busy, 0


_threads = _Threads()
_thread_owners: weakref.WeakSet[HasThreads] = weakref.WeakSet()


@contextmanager
def working() -> Iterator[None]:
    """Mark the block as work of a thread: it starts when no fork is pending, and forks wait for its end."""
    me = threading.get_ident()
    with _threads.changed:
        while _threads.forks:
            _threads.changed.wait()
        _threads.busy.append(me)
    try:
        yield
    finally:
        with _threads.changed:
            _threads.busy.remove(me)
            _threads.changed.notify_all()


def tell_of_forks(one: HasThreads) -> None:
    """Register an object whose ``after_fork`` is called in each child process, as long as the object exists."""
    _thread_owners.add(one)


def _before() -> None:
    _threads.changed.acquire()
    _threads.forks += 1
    while any(one != threading.get_ident() for one in _threads.busy):
        _threads.changed.wait()


def _in_parent() -> None:
    _threads.forks -= 1
    _threads.changed.notify_all()
    _threads.changed.release()


def _in_child() -> None:
    _threads.begin_anew([one for one in _threads.busy if one == threading.get_ident()])
    for one in list(_thread_owners):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
