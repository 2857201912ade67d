"""Checks of paths that users give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kane.errors import FileError, shown


def given_path(path: Any, what: str) -> Path:
    """Return the path of a file or folder; ``what`` names it in the message.

    Raises:
        FileError: ``path`` is not a path, or the operating system cannot represent it.
    """
    try:
        if b"\0" not in os.fsencode(path) and not isinstance(path, bytes):
            return Path(path)
    except (TypeError, UnicodeEncodeError):
        pass
    raise FileError(f"{what} is {shown(path)}; give a path, a text without odd characters")


def readable_path(path: Any, what: str) -> Path:
    """Return the path of an existing file that can be read; ``what`` names it in the message.

    Raises:
        FileError: ``path`` is not a path, the file does not exist, or it cannot be read.
    """
    found = given_path(path, what)
    try:
        with open(found, "rb"):
            return found
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{what}, {shown(str(found))}, cannot be read ({reason}); check the path") from None
