"""Writing one file completely or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kane.errors import FileError
from kane.files.given_path import given_path


def _target(path: Any) -> Path:
    """Return the path of a file to be written.

    Raises:
        FileError: ``path`` is not a path, its folder does not exist, or it is a folder itself.
    """
    target = given_path(path, "the file to be written")
    try:
        placed, taken = target.parent.is_dir(), target.is_dir()
    except OSError as error:  # the name is too long, or a folder may not be searched
        raise _refused(target, error) from error
    if not placed:
        raise FileError(f"there is no folder {str(target.parent)!r} to write {target.name!r} in; make it first")
    if taken:
        raise FileError(f"{str(target)!r} is a folder; give the name of a file in it")
    return target


def write_whole(path: Any, write: Callable[[Path], Any]) -> None:
    """Write a file completely or not at all: ``write`` fills a draft in the same folder, which then replaces the file.

    Raises:
        FileError: ``path`` is not a path, its folder does not exist, it is a folder itself, or writing fails.
    """
    target = _target(path)
    draft = target.with_name(f".kane.{os.getpid()}.{threading.get_ident()}.part")
    try:
        write(draft)
        os.replace(draft, target)
    except OSError as error:
        raise _refused(target, error) from error
    finally:
        draft.unlink(missing_ok=True)


def _refused(target: Path, error: OSError) -> FileError:
    reason = error.strerror or str(error)
    return FileError(f"{str(target)!r} cannot be written ({reason}); give a place that can be written")


def made_folder(path: Any) -> Path:
    """Return a folder to write in; create it if it does not exist.

    Raises:
        FileError: ``path`` is not a path, a file has this name, or the folder cannot be created.
    """
    folder = given_path(path, "the folder to write in")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {str(path)!r} cannot be made ({error.strerror or error}); give another") from error
    return folder
