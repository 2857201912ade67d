"""Paths as users give them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kane.errors import FileError, shown


def given_path(path: Any, what: str) -> Path:
    """The path of a file or folder.

    Raises:
        FileError: no path, or one that the system cannot have.
    """
    try:
        if b"\0" not in os.fsencode(path) and not isinstance(path, bytes):
            return Path(path)
    except (TypeError, UnicodeEncodeError):
        pass
    raise FileError(f"{what} is {shown(path)}; give a path, a text without odd characters")


def readable_path(path: Any, what: str) -> Path:
    """The path of a file that is there and may be read.

    Raises:
        FileError: no path, no such file, or one that may not be read.
    """
    found = given_path(path, what)
    try:
        with open(found, "rb"):
            return found
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{what}, {shown(str(found))}, cannot be read ({reason}); check the path") from None
