"""Meshes with fewer triangles, so that pages stay light: corners in one cell of a grid become one.

The corner of a cell is where the squared distances from the planes of the triangles that meet there are least, so that
edges stay edges.

Source: Lindstrom, Out-of-core simplification of large polygonal models, SIGGRAPH 2000.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from kane.display.forms import UNIT_FORM_NAMES, Triangles
from kane.model.shapes.part import Solid

# About as many triangles of all meshes together as software draws sixty times a second.
MAX_MESH_TRIANGLES = 12_000
# Directions in which planes say less than this of where a corner is leave it in the middle of its cell.
VAGUE = 1e-2
# Grids that are tried for one mesh.
GRIDS = 8


def lighter(forms: Mapping[str | Solid, Triangles]) -> dict[str | Solid, Triangles]:
    """The same forms, meshes with fewer triangles where all together have too many."""
    meshes = {name: form for name, form in forms.items() if name not in UNIT_FORM_NAMES}
    total = sum(len(form.faces) for form in meshes.values())
    if total <= MAX_MESH_TRIANGLES:
        return dict(forms)
    least = MAX_MESH_TRIANGLES // (2 * len(meshes))  # so that what had few keeps its shape
    return {
        **forms,
        **{name: simplified(x, max(least, len(x.faces) * MAX_MESH_TRIANGLES // total)) for name, x in meshes.items()},
    }


def simplified(form: Triangles, most: int) -> Triangles:
    """A mesh with about ``most`` triangles at the most; itself where it has no more."""
    if len(form.faces) <= most:
        return form
    corners = form.points[form.faces]
    area = float(np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum())
    size = 0.6 * np.sqrt(area / most)  # two triangles for a cell of a surface that has no more than its outside
    for _ in range(GRIDS):
        found = _on_grid(form, size)
        if len(found.faces) <= most:
            return found
        size *= max(1.05, (len(found.faces) / most) ** 0.5)
    return found


def _on_grid(form: Triangles, size: float) -> Triangles:
    """One corner for each cell that has some; triangles whose corners stay apart."""
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


def _corners(form: Triangles, of: NDArray[np.int64], count: int, size: float) -> NDArray[np.float64]:
    """The corner of each cell: the middle of what is in it, moved to where the planes there meet."""
    middle = np.zeros((count, 3))
    np.add.at(middle, of, form.points)
    middle /= np.bincount(of, minlength=count)[:, None]
    a, b, c = (form.points[form.faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)  # as long as twice the area: larger triangles say more
    squares, pulls = np.zeros((count, 3, 3)), np.zeros((count, 3))
    for k in range(3):
        cell = of[form.faces[:, k]]
        np.add.at(squares, cell, normals[:, :, None] * normals[:, None, :])
        away = np.einsum("ij,ij->i", normals, a - middle[cell])
        np.add.at(pulls, cell, normals * away[:, None])
    moved = np.einsum("nij,nj->ni", np.linalg.pinv(squares, rcond=VAGUE, hermitian=True), pulls)
    length = np.linalg.norm(moved, axis=1)
    far = length > size  # planes that hardly meet do so somewhere else
    moved[far] *= (size / length[far])[:, None]
    return middle + moved
