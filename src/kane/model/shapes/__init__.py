"""Shapes: surfaces fixed in bodies, for rolling, contact and pictures. One file per kind."""

from typing import TYPE_CHECKING

from kane.deferred import exporting

__getattr__, __dir__ = exporting(__name__)

if TYPE_CHECKING:
    from kane.model.shapes.box import Box as Box
    from kane.model.shapes.capsule import Capsule as Capsule
    from kane.model.shapes.cylinder import Cylinder as Cylinder
    from kane.model.shapes.disk import Disk as Disk
    from kane.model.shapes.ellipsoid import Ellipsoid as Ellipsoid
    from kane.model.shapes.height_field import HeightField as HeightField
    from kane.model.shapes.mesh import Mesh as Mesh
    from kane.model.shapes.part import Part as Part
    from kane.model.shapes.plane import Plane as Plane
    from kane.model.shapes.polyhedron import Polyhedron as Polyhedron
    from kane.model.shapes.rim import Ring as Ring
    from kane.model.shapes.shape import Shape as Shape
    from kane.model.shapes.sphere import Sphere as Sphere
