"""Shapes: surfaces fixed in bodies, which roll, are rolled on, come into contact and are drawn. One file each."""

from kane.model.shapes.box import Box
from kane.model.shapes.capsule import Capsule
from kane.model.shapes.cylinder import Cylinder
from kane.model.shapes.disk import Disk
from kane.model.shapes.ellipsoid import Ellipsoid
from kane.model.shapes.height_field import HeightField
from kane.model.shapes.mesh import Mesh
from kane.model.shapes.plane import Plane
from kane.model.shapes.polyhedron import Polyhedron
from kane.model.shapes.rim import Rim, Ring
from kane.model.shapes.shape import Shape
from kane.model.shapes.sphere import Sphere

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Disk",
    "Ellipsoid",
    "HeightField",
    "Mesh",
    "Plane",
    "Polyhedron",
    "Rim",
    "Ring",
    "Shape",
    "Sphere",
]
