"""Meshes with fewer triangles, so that pages stay small: all corners in one cell of a grid are merged.

The merged corner minimizes the sum of squared distances from the planes of the cell's triangles, so that edges remain.

Source: Lindstrom, Out-of-core simplification of large polygonal models, SIGGRAPH 2000.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.display.forms import UNIT_FORM_NAMES, Triangles
from kane.model.shapes.part import Solid

# Largest number of triangles of all meshes; about as many as software rendering draws sixty times a second.
MAX_MESH_TRIANGLES = 12_000
# Relative singular value below which the planes do not determine a direction, so that the corner stays in the middle.
VAGUE = 1e-2
# Largest number of grids tried for one mesh.
GRIDS = 8


def lighter(forms: Mapping[str | Solid, Triangles]) -> dict[str | Solid, Triangles]:
    """Return the forms; if all meshes together have too many triangles, each mesh is simplified."""
    meshes = {name: form for name, form in forms.items() if name not in UNIT_FORM_NAMES}
    total = sum(len(form.faces) for form in meshes.values())
    if total <= MAX_MESH_TRIANGLES:
        return dict(forms)
    least = MAX_MESH_TRIANGLES // (2 * len(meshes))  # meshes with few triangles keep their shape
    most = {name: max(least, len(x.faces) * MAX_MESH_TRIANGLES // total) for name, x in meshes.items()}
    return {**forms, **{name: simplified(x, most[name]) for name, x in meshes.items()}}


def simplified(form: Triangles, most: int) -> Triangles:
    """Return a mesh with at most about ``most`` triangles; a mesh that has no more is returned as it is."""
    if len(form.faces) <= most:
        return form
    corners = form.points[form.faces]
    area = float(np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum())
    size = 0.6 * np.sqrt(area / most)  # first guess: two triangles per cell
    for _ in range(GRIDS):
        found = _on_grid(form, size)
        if len(found.faces) <= most:
            return found
        size *= max(1.05, (len(found.faces) / most) ** 0.5)
    return found


def _on_grid(form: Triangles, size: float) -> Triangles:
    """Return the mesh with one corner per occupied cell, and with triangles whose corners are in three cells."""
    low = form.points.min(axis=0)
    cells, of = np.unique(np.floor((form.points - low) / size).astype(np.int64), axis=0, return_inverse=True)
    of = of.reshape(-1)
    kept = of[form.faces]
    kept = kept[(kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])]
    _, first = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    kept = kept[np.sort(first)]
    points = _corners(form, of, len(cells), size)
    used, faces = np.unique(kept, return_inverse=True)
    return Triangles(points[used], np.zeros((len(used), 3)), faces.reshape(-1, 3))


def _corners(form: Triangles, of: NDArray[np.int64], count: int, size: float) -> Array:
    """Return the corner of each cell: the mean of its corners, moved to the intersection of the planes."""
    middle = np.zeros((count, 3))
    np.add.at(middle, of, form.points)
    middle /= np.bincount(of, minlength=count)[:, None]
    a, b, c = (form.points[form.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)  # weighted by twice the area
    squares, pulls = np.zeros((count, 3, 3)), np.zeros((count, 3))
    for k in range(3):
        cell = of[form.faces[:, k]]
        np.add.at(squares, cell, normals[:, :, None] * normals[:, None, :])
        away = np.einsum("ij,ij->i", normals, a - middle[cell])
        np.add.at(pulls, cell, normals * away[:, None])
    moved = np.einsum("nij,nj->ni", np.linalg.pinv(squares, rcond=VAGUE, hermitian=True), pulls)
    length = np.linalg.norm(moved, axis=1)
    far = length > size  # nearly parallel planes intersect far away
    moved[far] *= (size / length[far])[:, None]
    return middle + moved
