"""Files in TOML whose errors have the line of the fault."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kane.errors import ImportFileError, ModelError

_HEADER = re.compile(r"\s*(\[\[?)((?:\"[^\"]*\"|'[^']*'|[\w.\-\s])+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*((?:\"[^\"]*\"|'[^']*'|[\w.\-\s])+?)\s*=")


class LineError(ImportFileError):
    """Error of a file with the line of the fault.

    Attributes:
        file: the file.
    """

    def __init__(self, file: TomlFile, message: str) -> None:
        super().__init__(message)
        self.file = file


@dataclass(frozen=True)
class TomlFile:
    """Text of a file in TOML.

    Attributes:
        name: path for messages.
        text: content.
    """

    name: str
    text: str

    def content(self) -> dict[str, Any]:
        """Return the parsed content.

        Raises:
            LineError: it is not TOML.
        """
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            line = place.group(1) if place else len(self.text.splitlines())
            reason = re.sub(r" \(at .*\)", "", str(error))
            if twice := re.fullmatch(r"Cannot declare \((.*)\) twice", reason):
                *above, last = re.findall(r"'([^']*)'", twice.group(1)) or [twice.group(1)]
                cure = f"write [[{last}]] for each item of a list" if not above else "give one of them another name"
                reason = f"two {above[0]} are called {last!r}; {cure}" if above else f"[{last}] occurs twice; {cure}"
            if reason == "Cannot overwrite a value":
                reason += ": a name occurs twice, or a list of tables has [loads] instead of [[loads]]"
            raise LineError(self, f"{self.name}, line {line}: this is not TOML: {reason}") from None
        except RecursionError:
            raise LineError(self, f"{self.name} is not TOML: its brackets are nested too deeply") from None

    def line_of(self, *path: str | int) -> int:
        """Return the line of a key, of the first part of a table without a header, or else of the table around it.

        Integers in the path are indices in arrays of tables, such as the third [[loads]].
        """
        table: tuple[str | int, ...] = ()
        numbers: dict[tuple[str, ...], int] = {}
        here: tuple[str | int, ...]
        best, found = 0, 1
        for k, line in enumerate(self.text.splitlines(), start=1):
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                words = _parts(header.group(2))
                table = here = words
                if header.group(1) == "[[":
                    numbers[words] = numbers.get(words, -1) + 1
                    table = here = (*words, numbers[words])
            elif key:
                here = (*table, *_parts(key.group(1)))
            else:
                continue
            shared = min(len(here), len(path))
            common = shared if here[:shared] == path[:shared] else 0
            if common > best:
                best, found = common, k
        return found

    @contextmanager
    def at(self, *path: str | int) -> Iterator[None]:
        """Name the line of a key in errors of the block; a fault of a formula is marked below its line.

        Raises:
            LineError: the block raised an error of kane.
        """
        try:
            yield
        except ModelError as error:
            if isinstance(error, LineError) and error.file is self:
                raise
            line, mark = self.line_of(*path), ""
            if hasattr(error, "place"):
                line, mark = self._marked(line, error)
            raise LineError(self, f"{self.name}, line {line}: {error}{mark}") from None

    def _marked(self, line: int, error: Any) -> tuple[int, str]:
        """Return the line of a formula, from the line of its key on, and this line with a mark at the fault."""
        for k, text in enumerate(self.text.splitlines()[line - 1 :], start=line):
            column = text.find(error.text)
            if column >= 0 and error.text:
                return k, f"\n    {text}\n    {' ' * (column + error.place)}^"
        return line, ""


def _parts(key: str) -> tuple[str, ...]:
    """Return the parts of a dotted key."""
    return tuple(part.strip().strip("\"'") for part in re.findall(r"\"[^\"]*\"|'[^']*'|[^.]+", key) if part.strip())
