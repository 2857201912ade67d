"""Shapes: surfaces fixed in bodies, which roll and are rolled on. One file each."""

from kane.model.shapes.disk import Disk
from kane.model.shapes.plane import Plane
from kane.model.shapes.rim import Rim, Ring
from kane.model.shapes.shape import Shape
from kane.model.shapes.sphere import Sphere

__all__ = ["Disk", "Plane", "Rim", "Ring", "Shape", "Sphere"]
