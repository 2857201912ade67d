"""Documents of kane as JSON files: a format, a version, a checksum, the content."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kane.deferred import dataclass
from kane.errors import FileError, ImportFileError, shown
from kane.files.source_file import MAXIMUM_BYTES, read_source
from kane.files.write_file import write_whole

# Longest list in a file, such as bodies. Each name is compared with all earlier names, so time grows quadratically.
MOST_ENTRIES = 10_000


@dataclass(frozen=True)
class Format:
    """Kind of document.

    Attributes:
        name: value of "format" in the file.
        version: newest known version; older versions can be read.
        rows: name of the list that may have more than MOST_ENTRIES entries; only the file size limits it.
    """

    name: str
    version: int
    rows: str = "nodes"

    def write(self, path: Any, content: Mapping[str, Any]) -> None:
        """Write a file completely or not at all, with one entry of the content per line.

        Raises:
            FileError: the file cannot be written, or it would be too large to be read again.
        """
        header = {"format": self.name, "version": self.version, "sha256": _checksum(content)}
        entries = [f"{json.dumps(key)}: {_lines(value)}" for key, value in {**header, **content}.items()]
        data = ("{\n" + ",\n".join(entries) + "\n}\n").encode()
        long = self._too_long(content)
        if long or len(data) > MAXIMUM_BYTES:
            what = f"{len(content[long])} {long}" if long else f"{len(data) // 1024**2} MiB"
            raise FileError(
                f"the file of {content.get('name')!r} would have {what}, but kane reads at most "
                f"{MAXIMUM_BYTES // 1024**2} MiB and {MOST_ENTRIES} entries per list; split it into several models"
            )
        write_whole(path, lambda draft: draft.write_bytes(data))

    def read(self, path: Any) -> dict[str, Any]:
        """Return the content of a file.

        Raises:
            ImportFileError: the file does not exist, has another format or a newer version, or is damaged.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise ImportFileError(f"{shown(path)} is not a path; give the path of a {self.name} file")
        try:
            real = os.path.realpath(path)
        except ValueError as error:  # a zero byte
            raise ImportFileError(f"{path!r} is not a path that a file can have: {error}") from None
        data = read_source(real).data
        with self.reading(path):
            content = json.loads(data.decode("utf-8"), parse_constant=_refused)
            self._require_format(content)
            for key in ("format", "version"):
                del content[key]
            if content.pop("sha256", None) != _checksum(content):
                raise ImportFileError("it was damaged, or edited, after it was written; take another copy")
            long = self._too_long(content)
            if long:
                raise ImportFileError(f"it has too many {long}; more than {MOST_ENTRIES} take too long to check")
        return content

    @contextmanager
    def reading(self, path: Any) -> Iterator[None]:
        """Convert every error of the block into an error that names the file and the reason.

        Raises:
            ImportFileError: the block raised any exception.
        """
        try:
            yield
        except Exception as error:  # hostile content can make constructors raise any exception
            reason = error if isinstance(error, (ImportFileError, ValueError)) else f"{type(error).__name__}: {error}"
            raise ImportFileError(f"{os.fspath(path)!r} cannot be read as a {self.name}: {reason}") from error

    def _too_long(self, content: Mapping[str, Any]) -> str:
        """Return the name of a list that is too long to be checked in reasonable time, or ""."""
        lists = {key: x for key, x in content.items() if isinstance(x, list) and key != self.rows}
        return next((key for key, x in lists.items() if len(x) > MOST_ENTRIES), "")

    def _require_format(self, content: Any) -> None:
        if not isinstance(content, dict) or content.get("format") != self.name:
            found = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise ImportFileError(f"its format is {found!r}; give a file that kane wrote for a {self.name}")
        version = content.get("version")
        if type(version) is not int or not 1 <= version <= self.version:
            newer = type(version) is int and version > self.version
            cure = "use a newer kane" if newer else "take another copy, or save it again"
            raise ImportFileError(f"its version is {version!r}, and this kane reads up to {self.version}; {cure}")


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def _lines(value: Any) -> str:
    """Return an entry as JSON; a list has one item per line."""
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in value) + "\n]"


def _refused(word: str) -> float:
    raise ImportFileError(f"the number {word} is not finite")
