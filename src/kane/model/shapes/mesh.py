"""A mesh from a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.arguments import number
from kane.files.given_path import given_path
from kane.geometry.rotation import Rotation
from kane.model.body import Body, Point
from kane.model.shapes.part import Part
from kane.model.shapes.shape import Shape

KINDS = (".stl", ".obj", ".ply", ".dae", ".off", ".glb")


@dataclass(frozen=True)
class Mesh(Shape):
    """Triangles of a file (STL, OBJ, PLY, DAE, OFF, GLB), for pictures; it is read, by trimesh, when it is drawn.

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
        whose = "the orientation of a Mesh"
        rotation = Rotation.identity() if self.orientation is None else Rotation.of(self.orientation, whose)
        for word, value in (("path", os.path.abspath(path)), ("scale", factors), ("orientation", rotation)):
            object.__setattr__(self, word, value)

    @property
    def origin(self) -> Point:
        """Where the origin of the file lies.

        Raises:
            ModelError: it has no place.
        """
        if self.centre is None:
            raise ModelError(f"the Mesh {self.path} has no place; give it one, body.shape(mesh, at=...)")
        return self.centre

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """This mesh with its origin, where it has no place, at one of the body.

        Raises:
            ModelError: there is no such file.
        """
        if not Path(self.path).is_file():
            raise ModelError(f"there is no file {self.path}; correct the path of the Mesh")
        if self.centre is not None:
            return super().placed(body, at, orientation)
        axes = self.orientation if orientation is None else orientation
        return replace(self, centre=body.point((0.0, 0.0, 0.0) if at is None else at), orientation=axes)

    def parts(self) -> tuple[Part, ...]:
        """The mesh."""
        return (Part(self.path, self.scale, self.origin.position_in_body, self.orientation),)
