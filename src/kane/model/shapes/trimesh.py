"""Reading of meshes from files by trimesh (extra ``view``)."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.errors import ImportFileError, ModelError, pip_install
from kane.files.source_file import read_source

# Largest number of triangles of a mesh, so that pages and pictures stay usable.
MOST_TRIANGLES = 1_000_000
# XML constructs that can open files or expand without limit; a file with them is refused before any parser reads it.
HOSTILE = (b"<!DOCTYPE", b"<!ENTITY")


Read = tuple[Array, NDArray[np.int64]]


def read_mesh(path: str) -> Read:
    """Return the points of a mesh (n, 3) in the units of the file, and the corners of each triangle (m, 3).

    No other file is opened, even if the mesh refers to one.

    Raises:
        ModelError: trimesh is not installed.
        ImportFileError: the file is missing, malformed, empty or too large.
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
        # Trimesh gets bytes and no folder, so that it cannot open files to which the mesh refers.
        found = trimesh.load_mesh(BytesIO(data), file_type=kind, process=False)
        points, faces = np.asarray(found.vertices, float), np.asarray(found.faces, np.int64)
        if kind == "dae" and not len(faces):
            return _nothing(path)
        sound = (
            points.ndim == 2 and faces.ndim == 2 and np.isfinite(points).all() and faces.max(initial=0) < len(points)
        )
    except Exception as error:  # a damaged file can raise any exception in trimesh
        reason = str(error) or type(error).__name__
        raise ImportFileError(f"{path} cannot be read as a mesh: {reason}; correct it, or take it out") from error
    if not faces.size:
        raise ImportFileError(f"{path} has no triangles; give the file of a mesh, or take it out")
    if not sound or not 0 < len(faces) <= MOST_TRIANGLES:
        what = f"{len(faces)} triangles" if sound else "corners that are not numbers"
        raise ImportFileError(f"{path} has {what}; give a mesh of 1 to {MOST_TRIANGLES} triangles")
    return points, faces


def _nothing(path: str) -> Read:
    """Warn, and return one degenerate triangle, for a scene whose geometry depends on missing references."""
    warnings.warn(
        f"{path} has no geometry that can be drawn, because its references are missing; it is not shown", stacklevel=2
    )
    return np.zeros((1, 3)), np.zeros((1, 3), np.int64)
