"""Compiled code kept on disk, in a folder that only its owner can write to."""

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

SWITCH, FOLDER = "KANE_CACHE", "KANE_CACHE_DIR"
CAPACITY = 256 * 2**20  # bytes; forward dynamics of a humanoid take a quarter of a megabyte
ENTRY, UNFINISHED = ".kane-object", ".kane-unfinished"
LOOKS = 16  # on average, through all of the folder while it fills once; it takes 0.1 s where entries are 20,000
ABANDONED = 3600  # seconds, after which whoever began a file will not finish it
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ObjectCache:
    """Object code by content: the name of an entry is a hash of everything that the code was made from.

    An entry is one line of JSON, which says what the code was made from and how it hashes, and then the code. It is
    used if that line is, byte for byte, the one that would be written now for this code; whatever else is found in its
    place counts as absent and is replaced. Where the folder cannot be trusted, read or written, code is compiled in
    memory, and a RuntimeWarning says why and what to do.

    Attributes:
        folder: where the entries lie; made, for its owner only, when it is missing.
        capacity: bytes; beyond it, and some sixteenth of it, the oldest entries are removed.
    """

    def __init__(self, folder: str | os.PathLike[str], *, capacity: int = CAPACITY) -> None:
        """A cache in a folder, given by an absolute path; nothing is read or made before it is needed."""
        self.folder = Path(folder)
        self.capacity = capacity

    def get(self, origin: Mapping[str, object], make: Callable[[], bytes]) -> bytes:
        """Code from the folder, or else from ``make``, and then kept.

        Args:
            origin: everything that decides what ``make`` returns; values that JSON knows.
            make: compiles.
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
            # By lot, a long entry more often; the name is the lot, being a hash.
            if int(name[:8], 16) * self.capacity < 2**32 * LOOKS * len(data):
                _evict(folder, self.capacity)
        finally:
            os.close(folder)

    def _warn(self, error: OSError) -> None:
        # Python shows a warning of one text and one line of code once in a process.
        warnings.warn(
            f"compiled code is not kept in {self.folder}: {error.strerror or error}. It is compiled at every start "
            f"instead; name another folder in {FOLDER}, or switch the cache off by {SWITCH}=off",
            RuntimeWarning,
            stacklevel=1,
        )


def environment_cache() -> ObjectCache | None:
    """The cache in the folder that KANE_CACHE_DIR names, else in the user's cache folder; None if KANE_CACHE is off.

    Raises:
        CompileError: KANE_CACHE is neither on nor off.
    """
    switch = os.environ.get(SWITCH, "").strip().lower()
    if switch in ("off", "0"):
        return None
    if switch not in ("", "on", "1"):
        raise CompileError(f"{SWITCH} is {shown(os.environ[SWITCH])}; set it to on or off, or remove it")
    folder = os.environ.get(FOLDER)
    if not folder:
        import platformdirs  # here, because it takes milliseconds

        folder = os.path.join(platformdirs.user_cache_dir("kane", appauthor=False), "objects")
    return ObjectCache(folder)


def _entry(origin: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest() + ENTRY


def _head(origin: Mapping[str, object], code: bytes) -> bytes:
    # Compared as bytes when an entry is read, so that no parser ever meets what lies in the folder.
    said = {**origin, "size": len(code), "sha256": hashlib.sha256(code).hexdigest()}
    return json.dumps(said, sort_keys=True).encode() + b"\n"


def _open_folder(path: Path) -> int:
    """A descriptor of the folder, made if it is missing. All that follows goes by it, whatever becomes of the path.

    Raises:
        OSError: not to be made or opened, a link, another user's, or open to others.
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
    """Refuse what another user could have put there.

    Raises:
        OSError: another user's, or open to others.
    """
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"it belongs to another user (number {found.st_uid})")
    if found.st_mode & _OTHERS_MAY_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise PermissionError(errno.EPERM, f"other users may write to it (mode {mode:o}; chmod 700 would do)")


def _contents(folder: int, name: str) -> bytes:
    """The bytes of a file of ours; none if it is missing, a link, not a plain file or not ours alone to write."""
    try:
        # Without waiting, in case a pipe of this name waits for a writer.
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
    """Put a file in place whole, by its name, so that a reader finds the old one or the new one."""
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
    """Remove the oldest entries until the rest fits, and what crashed processes left; no file that is not of here."""
    found = []
    with os.scandir(folder) as files:
        for file in files:
            with suppress(FileNotFoundError):  # another process may be at the same work
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
