"""Pairs of shapes that roll on each other, and the equations of each pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kane.errors import ModelError
from kane.model.constraints.constraint import Row
from kane.model.constraints.rolling.disk_on_plane import disk_rolling_on_plane
from kane.model.constraints.rolling.disk_on_rim import disk_rolling_on_rim
from kane.model.constraints.rolling.sphere_on_plane import sphere_rolling_on_plane
from kane.model.shapes import Disk, Plane, Shape, Sphere
from kane.model.shapes.rim import Rim

# Equations by classes of roller and surface: motion constraints along the surface, and one row "touch" whose
# configuration residual is the gap [m].
ROLLING_EQUATIONS: dict[tuple[type[Shape], type[Shape]], Callable[[Any, Any], Sequence[Row]]] = {
    (Sphere, Plane): sphere_rolling_on_plane,
    (Disk, Plane): disk_rolling_on_plane,
    (Disk, Rim): disk_rolling_on_rim,
}
ROLLERS = tuple(dict.fromkeys(roller for roller, _ in ROLLING_EQUATIONS))
SURFACES = tuple(dict.fromkeys(surface for _, surface in ROLLING_EQUATIONS))


def rolling_rows(roller: Shape, surface: Shape) -> Sequence[Row]:
    """Return the equations of a shape that rolls on another.

    Raises:
        ModelError: there are no equations for this pair.
    """
    for (rolls, on), rows in ROLLING_EQUATIONS.items():
        if isinstance(roller, rolls) and isinstance(surface, on):
            return rows(roller, surface)
    raise ModelError(f"a {type(roller).__name__} does not roll on a {type(surface).__name__}; give a kane.Plane")
