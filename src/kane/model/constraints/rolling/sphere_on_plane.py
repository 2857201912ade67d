"""Rolling of a sphere on a plane."""

from __future__ import annotations

from collections.abc import Sequence

from kane.geometry.scalars import cross
from kane.model.constraints.constraint import Row
from kane.model.constraints.relative import angular_velocity_in, position, scalar_product, subtract_vectors, velocity_in
from kane.model.shapes import Plane, Sphere
from kane.model.vector_arguments import normals


def sphere_rolling_on_plane(sphere: Sphere, plane: Plane) -> Sequence[Row]:
    """Return (v_BC - r w_BA x n) . t = 0 for two directions t of the plane, and p_PC . n = r."""
    B, C, n = plane.body, sphere.centre, plane.unit_normal.components
    v, w = velocity_in(B, plane.point, C, B), angular_velocity_in(B, C.body, B)
    slip = subtract_vectors(v, tuple(sphere.radius * x for x in cross(w, n)))
    height = scalar_product(position(plane.point, C, B), n) - sphere.radius
    rows = [Row(f"no slip {k}", motion=scalar_product(slip, t)) for k, t in enumerate(normals(plane.normal), start=1)]
    return [*rows, Row("touch", configuration=height, motion=scalar_product(v, n))]
