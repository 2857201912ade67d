"""Locks of files and folders between processes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT = 0.1  # seconds between two attempts, where the system does not wait by itself


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file during the block, after any other process that holds it; the file is created."""
    with path.open("w") as file:
        if sys.platform == "win32":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                    break
                except OSError:
                    time.sleep(WAIT)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lock_folder(folder: int, *, shared: bool = False) -> None:
    """Lock an open folder, for one writer or for any number of readers, until it is closed; not on Windows.

    Raises:
        OSError: another process holds the lock.
    """
    import fcntl

    fcntl.flock(folder, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
