"""Cache of compiled code on disk, in a folder that only its owner can write to."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from kane.errors import CompileError, shown

CACHE_SWITCH, CACHE_FOLDER = "KANE_CACHE", "KANE_CACHE_DIR"
CAPACITY = 256 * 2**20  # bytes; the forward dynamics of a humanoid needs a quarter of a megabyte
ENTRY, UNFINISHED = ".kane-object", ".kane-unfinished"
FOLDER_SCANS = 16  # expected scans of the folder while it fills once; a scan of 20,000 entries takes 0.1 s
ABANDONED = 3600  # seconds after which an unfinished file counts as abandoned
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ObjectCache:
    """Cache of object code; the name of an entry is a hash of everything that determines the code.

    An entry is one line of JSON (origin, size and hash of the code), followed by the code. An entry is used only if
    this line equals, byte for byte, the line that would be written now for this code. Any other content counts as
    missing and is replaced. If the folder cannot be trusted, read or written, code is compiled in memory, and a
    RuntimeWarning states the reason and the cure.

    Attributes:
        folder: folder of the entries; created if it is missing, with access for its owner only.
        capacity: size limit in bytes; the oldest entries are removed when the folder exceeds it by about a sixteenth.
    """

    def __init__(self, folder: str | os.PathLike[str], *, capacity: int = CAPACITY) -> None:
        """Set the folder, an absolute path; nothing is read or created before it is needed."""
        self.folder = Path(folder)
        self.capacity = capacity

    def get(self, origin: Mapping[str, object], make: Callable[[], bytes]) -> bytes:
        """Return code from the folder; if it is missing, compile it by ``make`` and store it.

        Args:
            origin: everything that determines the result of ``make``, as JSON values.
            make: function that compiles the code.
        """
        try:
            code = self._read(origin)
        except OSError as error:
            self._warn(error)
            return make()
        if code is None:
            code = make()
            self.keep(origin, code)
        return code

    def find(self, origin: Mapping[str, object]) -> bytes | None:
        """Return the content of an entry; None if there is none, or if the folder cannot be trusted or read."""
        try:
            return self._read(origin)
        except OSError:
            return None  # whoever compiles instead reports it

    def keep(self, origin: Mapping[str, object], code: bytes) -> None:
        """Write an entry; warn if the folder cannot be trusted or written."""
        try:
            self._write(origin, code)
        except OSError as error:
            self._warn(error)

    def _read(self, origin: Mapping[str, object]) -> bytes | None:
        folder = _open_folder(self.folder)
        try:
            data = _contents(folder, _entry(origin))
        finally:
            os.close(folder)
        head, newline, code = data.partition(b"\n")
        return code if newline and head + newline == _head(origin, code) else None

    def _write(self, origin: Mapping[str, object], code: bytes) -> None:
        folder = _open_folder(self.folder)
        try:
            name, data = _entry(origin), _head(origin, code) + code
            _replace(folder, name, data)
            # Evict at random times, with a probability proportional to the entry's size; its hash is the random number.
            if int(name[:8], 16) * self.capacity < 2**32 * FOLDER_SCANS * len(data):
                _evict(folder, self.capacity)
        finally:
            os.close(folder)

    def _warn(self, error: OSError) -> None:
        # Python shows a warning with the same text and line of code only once per process.
        warnings.warn(
            f"compiled code is not kept in {self.folder}: {error.strerror or error}. It is compiled at every start "
            f"instead; name another folder in {CACHE_FOLDER}, or switch the cache off by {CACHE_SWITCH}=off",
            RuntimeWarning,
            stacklevel=1,
        )


def environment_cache() -> ObjectCache | None:
    """Return the cache in the folder KANE_CACHE_DIR, else in the user's cache folder; None if KANE_CACHE is off.

    Raises:
        CompileError: KANE_CACHE is neither on nor off.
    """
    switch = os.environ.get(CACHE_SWITCH, "").strip().lower()
    if switch in ("off", "0"):
        return None
    if switch not in ("", "on", "1"):
        raise CompileError(f"{CACHE_SWITCH} is {shown(os.environ[CACHE_SWITCH])}; set it to on or off, or remove it")
    folder = os.environ.get(CACHE_FOLDER)
    if not folder:
        import platformdirs  # imported here, because it takes milliseconds

        folder = os.path.join(platformdirs.user_cache_dir("kane", appauthor=False), "objects")
    return ObjectCache(folder)


def _entry(origin: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest() + ENTRY


def _head(origin: Mapping[str, object], code: bytes) -> bytes:
    # Compared as bytes when an entry is read, so that no parser reads untrusted content of the folder.
    message = {**origin, "size": len(code), "sha256": hashlib.sha256(code).hexdigest()}
    return json.dumps(message, sort_keys=True).encode() + b"\n"


def _open_folder(path: Path) -> int:
    """Return a descriptor of the folder, which is created if it is missing.

    All later operations use the descriptor, so that changes of the path have no effect.

    Raises:
        OSError: the folder cannot be created or opened, is a link, belongs to another user, or others may write to it.
    """
    if not hasattr(os, "geteuid"):
        raise OSError(errno.ENOTSUP, "this system does not tell who may write to a folder")
    if not path.is_absolute():
        raise OSError(errno.EINVAL, "the path is not absolute")
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, "it is a symbolic link or not a folder") from None
        raise
    try:
        _trust(os.fstat(folder))
    except OSError:
        os.close(folder)
        raise
    return folder


def _trust(found: os.stat_result) -> None:
    """Raise if another user could have written the file or folder.

    Raises:
        OSError: it belongs to another user, or others may write to it.
    """
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"it belongs to another user (number {found.st_uid})")
    if found.st_mode & _OTHERS_MAY_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise PermissionError(errno.EPERM, f"other users may write to it (mode {mode:o}; chmod 700 would do)")


def _contents(folder: int, name: str) -> bytes:
    """Return the bytes of an entry; empty if it is missing, a link, not a regular file, or others may write to it."""
    try:
        # O_NONBLOCK, because opening a pipe of this name would wait for a writer.
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EACCES):
            return b""
        raise
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return b""
        try:
            _trust(found)
        except PermissionError:
            return b""
        with open(file, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(file)


def _replace(folder: int, name: str, data: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that readers find the old or the new file, complete."""
    unfinished = os.urandom(8).hex() + UNFINISHED
    file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def _evict(folder: int, capacity: int) -> None:
    """Remove the oldest entries until the rest fits, and unfinished files of crashed processes; keep all others."""
    found = []
    with os.scandir(folder) as files:
        for file in files:
            with suppress(FileNotFoundError):  # another process may have removed the file
                about = file.stat(follow_symlinks=False)
                if file.name.endswith(ENTRY):
                    found.append((about.st_mtime_ns, about.st_size, file.name))
                elif file.name.endswith(UNFINISHED) and about.st_mtime < time.time() - ABANDONED:
                    os.unlink(file.name, dir_fd=folder)
    excess = sum(size for _, size, _ in found) - capacity
    for _, size, name in sorted(found):
        if excess <= 0:
            break
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        excess -= size
