"""Mesh from a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, require, whole
from kane.files.given_path import given_path
from kane.model.body import Body, Point
from kane.model.shapes.placed import Placed
from kane.model.vector_arguments import require_points

if TYPE_CHECKING:
    from kane.model.shapes.part import Part
    from kane.model.shapes.polyhedron import Polyhedron
    from kane.model.shapes.shape import Shape

MESH_SUFFIXES = (".stl", ".obj", ".ply", ".dae", ".off", ".glb")


@dataclass(frozen=True)
class Mesh(Placed):
    """Triangles from a file (STL, OBJ, PLY, DAE, OFF, GLB); trimesh reads it when the mesh is drawn or touched.

    In contacts a convex mesh is a ``Polyhedron``; for any other mesh use its ``hull()``.

    Attributes:
        path: of the file; kept as an absolute path.
        scale: factor of its lengths, or one for each axis: 0.001 for a file in millimetres.
        centre: position of the file's origin; None for a mesh without a place.
        orientation: R_AE of the axes of the file; the axes of the body A by default.
    """

    path: str
    scale: Any = 1.0
    centre: Point | None = None
    orientation: Any = None

    def __post_init__(self) -> None:
        path = given_path(self.path, "the path of a Mesh")
        if path.suffix.lower() not in MESH_SUFFIXES:
            raise ModelError(f"{shown(str(path))} is not a mesh; give a file that ends with {', '.join(MESH_SUFFIXES)}")
        given = self.scale if isinstance(self.scale, list | tuple) else (self.scale,) * 3
        factors = tuple(number(x, "the scale of a Mesh") for x in given)
        if len(factors) != 3 or 0.0 in factors:
            raise ModelError(f"the scale of a Mesh is {shown(self.scale)}; give a number that is not zero, or three")
        for word, value in (("path", os.path.abspath(path)), ("scale", factors)):
            object.__setattr__(self, word, value)
        self.project_orientation()
        if self.centre is not None:
            require_points("a Mesh", self.centre)

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """Return this mesh, with its origin at a point of the body if it has no place yet.

        Raises:
            ModelError: there is no such file.
        """
        if not Path(self.path).is_file():
            raise ModelError(f"there is no file {self.path}; correct the path of the Mesh")
        return super().placed(body, at, orientation)

    def hull(self, corners: int | None = None) -> Polyhedron:
        """Return the convex hull, in the same place.

        Args:
            corners: largest number of corners, at least 4; the outermost ones are kept. All corners by default.

        Raises:
            ModelError: trimesh is not installed, all points are coplanar, or ``corners`` is not a valid number.
            ImportFileError: there is no such file, or it is damaged.
        """
        from kane.model.shapes.hull import reduced
        from kane.model.shapes.polyhedron import Polyhedron

        most = None if corners is None else whole(corners, "corners=", 4)
        points = self._read[0]
        try:
            if most is not None:
                points, _ = reduced(points, most)
            return Polyhedron(points, self.centre, self.orientation)
        except ModelError:  # finite points can only fail because they are coplanar
            raise ModelError(
                f"the mesh {self.path} is flat: its {len(points)} points lie in a plane, so that it has no hull; give "
                "it a thickness, or use a thin kane.Box for contacts"
            ) from None

    def departure(self, hull: Polyhedron) -> tuple[float, float]:
        """Return how far the mesh extends outside one of its hulls, and how far its surface lies inside that hull [m].

        The first is the largest height of a corner above the plane of a face. The second is the largest distance of a
        point of the triangles from the nearest face, accurate to 1 % or to 1e-4 of the size.

        Args:
            hull: a result of ``hull()``, with all corners or fewer.

        Raises:
            ModelError: ``hull`` is not a Polyhedron.
            ImportFileError: there is no such file, or it is damaged.
        """
        from kane.model.shapes.polyhedron import Polyhedron

        require(hull, Polyhedron, "departure() takes a hull of the mesh, such as mesh.hull(corners=12)")
        points, faces = self._read
        return max(0.0, float(hull.hull.heights(points).max())), hull.hull.depth(points, faces)

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """The mesh as a Polyhedron, if it is convex.

        Raises:
            ModelError: the mesh is not convex, all points are coplanar, or trimesh is not installed.
            ImportFileError: there is no such file, or it is damaged.
        """
        from kane.model.shapes.hull import SHALLOW

        found = self.hull()
        _, inside = self.departure(found)
        if inside > SHALLOW * float(np.ptp(found.points, axis=0).max()):
            raise ModelError(
                f"the mesh {self.path} is not convex: its surface is up to {inside:.3g} m inside its hull; use "
                "mesh.hull() for contacts, or several convex meshes"
            )
        return found

    @cached_property
    def _read(self) -> tuple[Any, Any]:
        """Points, scaled [m], and the indices of the corners of each triangle."""
        from kane.model.shapes.trimesh import read_mesh

        points, faces = read_mesh(self.path)
        return points * self.scale, faces

    def parts(self) -> tuple[Part, ...]:
        """Return the mesh as one part."""
        from kane.model.shapes.part import Part

        return (Part(self.path, self.scale, self.origin.position_in_body, self.orientation),)
