"""Reading one file, only if it is inside a given folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kane.deferred import dataclass
from kane.errors import ImportFileError, shown
from kane.files.given_path import given_path

MAXIMUM_BYTES = 64 * 1024 * 1024
TEXT = "<text>"  # name of a source that is not a file


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes of a file or of a text, with a name for messages.

    Attributes:
        name: path of the file, or "<text>".
        data: the bytes.
        encoding: encoding of the data if it is known without reading them, else None.
    """

    name: str
    data: bytes
    encoding: str | None = None


def source_of_text(text: str | bytes) -> Source:
    """Return a text in memory as a Source.

    Raises:
        ImportFileError: the text is too long or not Unicode.
    """
    try:
        data, encoding = (text, None) if isinstance(text, bytes) else (text.encode("utf-8"), "utf-8")
    except UnicodeEncodeError as error:
        raise ImportFileError(
            f"<text>: character {error.start} is a lone surrogate, not Unicode; read the file with its right encoding"
        ) from None
    if len(data) > MAXIMUM_BYTES:
        raise _too_large(TEXT)
    return Source(TEXT, data, encoding)


def given_source(source: str | bytes | os.PathLike[str], root: str | os.PathLike[str] | None, what: str) -> Source:
    """Return the source given to an importer: a text (bytes or a str that begins with "<"), or a path inside ``root``.

    Raises:
        ImportFileError: the argument is neither, or the file cannot be read; ``what`` names the expected file.
    """
    if root is not None:
        given_path(root, "the folder root=")
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")):
        return source_of_text(source)
    if not isinstance(source, (str, os.PathLike)):
        raise ImportFileError(f"{shown(source)} is neither a path nor a text; give the path of {what}")
    return read_source(source, root)


def read_source(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> Source:
    """Return the bytes of one regular file inside ``root``.

    Args:
        path: path of the file; a relative path starts at the working folder.
        root: folder that must contain the file after all symbolic links are resolved; by default the folder of
            ``path``.

    Raises:
        ImportFileError: the file is missing, unreadable, larger than 64 MiB, a folder, a device or a pipe, or a
            symbolic link leads outside ``root``.
    """
    name = os.fspath(path)
    try:
        folder = Path(root) if root is not None else Path(name).parent
        real_folder = Path(os.path.realpath(folder))
        real = Path(os.path.realpath(name))
    except (OSError, ValueError) as error:
        raise ImportFileError(f"{_short(name)}: not a usable path ({error}); give the path of a file") from None
    if not real.is_relative_to(real_folder):
        raise ImportFileError(
            f"{_short(name)}: the path leads to {_short(str(real))}, outside of the folder {_short(str(real_folder))}; "
            "give the real path of the file, or root= a folder that holds it"
        )
    return Source(str(path), _read(real, name))


def _read(real: Path, name: str) -> bytes:
    # O_NONBLOCK, so that a pipe cannot hang; O_NOFOLLOW, so that a link created after the check is refused.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(real, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ImportFileError(f"{_short(name)}: is a {_kind(status.st_mode)}, not a file; give a file")
            data = file.read(MAXIMUM_BYTES + 1) if status.st_size <= MAXIMUM_BYTES else b""
            if status.st_size > MAXIMUM_BYTES or len(data) > MAXIMUM_BYTES:
                raise _too_large(_short(name))
            return data
    except (OSError, ValueError) as error:
        if isinstance(error, ImportFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        hint = "give a file" if isinstance(error, IsADirectoryError) else "check the path and its permissions"
        raise ImportFileError(f"{_short(name)}: cannot be read ({reason}); {hint}") from None


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((word for test, word in kinds if test(mode)), "device")


def _too_large(name: str) -> ImportFileError:
    return ImportFileError(
        f"{name}: larger than {MAXIMUM_BYTES // 1024**2} MiB, the limit for a robot description; check the path"
    )


def _short(text: str) -> str:
    shown = text if len(text) <= 200 else text[:200] + "..."
    return shown if shown.isprintable() else ascii(shown)
