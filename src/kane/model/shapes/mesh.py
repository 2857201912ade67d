"""A mesh from a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number, require, whole
from kane.files.given_path import given_path
from kane.model.arguments import require_points
from kane.model.body import Body, Point
from kane.model.shapes.hull import SHALLOW, reduced
from kane.model.shapes.part import Part
from kane.model.shapes.placed import Placed
from kane.model.shapes.polyhedron import Polyhedron
from kane.model.shapes.shape import Shape
from kane.model.shapes.trimesh import read_mesh

KINDS = (".stl", ".obj", ".ply", ".dae", ".off", ".glb")


@dataclass(frozen=True)
class Mesh(Placed):
    """Triangles of a file (STL, OBJ, PLY, DAE, OFF, GLB); it is read, by trimesh, when it is drawn or touched.

    A convex one comes into contact as the ``Polyhedron`` that it is; of any other, ``hull()`` does.

    Attributes:
        path: of the file; kept as an absolute path.
        scale: factor of its lengths, or one for each axis: 0.001 for a file in millimetres.
        centre: where the origin of the file lies; None where it has no place yet.
        orientation: R_AE of the axes of the file; those of the body A unless given.
    """

    path: str
    scale: Any = 1.0
    centre: Point | None = None
    orientation: Any = None

    def __post_init__(self) -> None:
        path = given_path(self.path, "the path of a Mesh")
        if path.suffix.lower() not in KINDS:
            raise ModelError(f"{shown(str(path))} is no mesh; give a file that ends with {', '.join(KINDS)}")
        given = self.scale if isinstance(self.scale, list | tuple) else (self.scale,) * 3
        factors = tuple(number(x, "the scale of a Mesh") for x in given)
        if len(factors) != 3 or 0.0 in factors:
            raise ModelError(f"the scale of a Mesh is {shown(self.scale)}; give a number that is not zero, or three")
        for word, value in (("path", os.path.abspath(path)), ("scale", factors)):
            object.__setattr__(self, word, value)
        self.settle_orientation()
        if self.centre is not None:
            require_points("a Mesh", self.centre)

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """This mesh with its origin, where it has no place, at one of the body.

        Raises:
            ModelError: there is no such file.
        """
        if not Path(self.path).is_file():
            raise ModelError(f"there is no file {self.path}; correct the path of the Mesh")
        return super().placed(body, at, orientation)

    def hull(self, corners: int | None = None) -> Polyhedron:
        """Its convex hull, in the same place.

        Args:
            corners: at most so many, from 4 on, those that are farthest out; all of them unless given.

        Raises:
            ModelError: trimesh is not installed, all is in one plane, ``corners`` is no such number.
            ImportFileError: there is no such file, or it is damaged.
        """
        most = None if corners is None else whole(corners, "corners=", 4)
        points = self._read[0]
        try:
            if most is not None:
                points, _ = reduced(points, most)
            return Polyhedron(points, self.centre, self.orientation)
        except ModelError:  # nothing else can be wrong with finite points
            raise ModelError(
                f"the mesh {self.path} is flat: its {len(points)} points lie in a plane, and have no hull that could "
                "touch; give it a thickness, or let a thin kane.Box touch in its place"
            ) from None

    def departure(self, hull: Polyhedron) -> tuple[float, float]:
        """How far it reaches out of one of its hulls, and how far inside of that its surface lies, at most [m].

        Out is the largest height of a corner above the plane of a face; inside is the largest distance of a point of
        its triangles from the nearest face, corners, sides and all, to a hundredth of it.

        Args:
            hull: what ``hull()`` gave, with all corners or fewer.

        Raises:
            ModelError: ``hull`` is no Polyhedron.
            ImportFileError: there is no such file, or it is damaged.
        """
        require(hull, Polyhedron, "departure() takes a hull of the mesh, such as mesh.hull(corners=12)")
        points, faces = self._read
        return max(0.0, float(hull.hull.heights(points).max())), hull.hull.depth(points, faces)

    @cached_property
    def polyhedron(self) -> Polyhedron:
        """What it is, if it is convex.

        Raises:
            ModelError: it is not, all is in one plane, trimesh is not installed.
            ImportFileError: there is no such file, or it is damaged.
        """
        found = self.hull()
        _, inside = self.departure(found)
        if inside > SHALLOW * float(np.ptp(found.points, axis=0).max()):
            raise ModelError(
                f"the mesh {self.path} is not convex: it is up to {inside:.3g} m inside its hull; let the hull touch "
                "in its place, mesh.hull(), or several meshes that are convex"
            )
        return found

    @cached_property
    def _read(self) -> tuple[Any, Any]:
        """Its points, scaled [m], and the three of each triangle."""
        points, faces = read_mesh(self.path)
        return points * self.scale, faces

    def parts(self) -> tuple[Part, ...]:
        """The mesh."""
        return (Part(self.path, self.scale, self.origin.position_in_body, self.orientation),)
