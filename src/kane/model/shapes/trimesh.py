"""Meshes from files, read by trimesh (extra ``view``)."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kane.errors import ImportFileError, ModelError, pip_install
from kane.files.source_file import read_source

# As many triangles as pages and pictures can be made of.
MOST_TRIANGLES = 1_000_000
# What XML can do besides saying what it says: such files are refused before anything reads them.
HOSTILE = (b"<!DOCTYPE", b"<!ENTITY")


Read = tuple[NDArray[np.float64], NDArray[np.int64]]


def read_mesh(path: str) -> Read:
    """Points of a mesh (n, 3), as long as the file has them, and the three of each triangle (m, 3).

    No other file is opened, whatever it refers to.

    Raises:
        ModelError: trimesh is not installed.
        ImportFileError: there is no such file, or it is malformed, empty or too large.
    """
    try:
        import trimesh
    except ImportError:
        raise ModelError(f"the mesh {path} is read by trimesh; {pip_install('view')}") from None
    data = read_source(path).data
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind == "dae" and any(word in data.replace(b"\0", b"").upper() for word in HOSTILE):
        raise ImportFileError(f"{path} has a document type or entities, which no mesh needs; write it without them")
    try:
        # Of bytes, trimesh knows no folder in which it could look for what they refer to.
        found = trimesh.load_mesh(BytesIO(data), file_type=kind, process=False)
        points, faces = np.asarray(found.vertices, float), np.asarray(found.faces, np.int64)
        if kind == "dae" and not len(faces):
            return _nothing(path)
        sound = (
            points.ndim == 2 and faces.ndim == 2 and np.isfinite(points).all() and faces.max(initial=0) < len(points)
        )
    except Exception as error:  # trimesh raises whatever a damaged file makes it
        reason = str(error) or type(error).__name__
        raise ImportFileError(f"{path} cannot be read as a mesh: {reason}; correct it, or take it out") from error
    if not faces.size:
        raise ImportFileError(f"{path} has no triangles; give the file of a mesh, or take it out")
    if not sound or not 0 < len(faces) <= MOST_TRIANGLES:
        what = f"{len(faces)} triangles" if sound else "corners that are no numbers"
        raise ImportFileError(f"{path} has {what}; give a mesh of 1 to {MOST_TRIANGLES} triangles")
    return points, faces


def _nothing(path: str) -> Read:
    """What is drawn of a scene whose geometry hangs on references that lead nowhere, such as a missing texture."""
    warnings.warn(
        f"{path} has nothing that can be drawn: what it refers to is not in it; it is not shown", stacklevel=2
    )
    return np.zeros((1, 3)), np.zeros((1, 3), np.int64)
