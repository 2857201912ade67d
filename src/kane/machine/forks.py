"""Forks of the process: a child begins while no thread of kane works, and does anew the work of threads it lacks.

A child has the thread that forked and no other. A lock that another thread held at that time stays locked in it for
ever: locks of LLVM, of arenas, of Dynamics.
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
        """Forget, in a child, the threads of its parent and the work that they have not done."""


class _Threads:
    """The threads of kane that work, and the forks that wait for them."""

    def __init__(self) -> None:
        self.begin_anew([])

    def begin_anew(self, busy: list[int]) -> None:
        """Let these threads be the only ones, with no fork under way."""
        self.changed, self.busy, self.forks = threading.Condition(), busy, 0


_threads = _Threads()
_thread_owners: weakref.WeakSet[HasThreads] = weakref.WeakSet()


@contextmanager
def working() -> Iterator[None]:
    """Work in a thread of kane: it begins when no fork is under way or waits, and a fork waits for its end."""
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
    """Call ``after_fork`` of this object in each child, as long as the object lives."""
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
