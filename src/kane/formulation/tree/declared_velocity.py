"""Velocities that generalized speeds declare: the recursions use these measure numbers instead of the joints' rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.deferred import dataclass
from kane.geometry.scalars import ZERO_VECTOR, Triple, dot


@dataclass(frozen=True)
class DeclaredVelocity:
    """Declared components of w_NK of a link or v_NQ of a point fixed in it, along the axes of the frame K of a link.

    Attributes:
        frame: the link along whose axes the components are given.
        rows: for each component {speed: coefficient}, or None if it is not declared. All are declared if the frame is
            not the link's own. A component that a constraint holds at zero has no coefficients.
        point: p from O_K to Q in K [m].
    """

    frame: int
    rows: tuple[dict[int, float] | None, ...]
    point: Triple = ZERO_VECTOR

    @property
    def whole(self) -> bool:
        """Return whether every component is declared."""
        return all(row is not None for row in self.rows)

    def mixed(self, values: Triple, speeds: Sequence[Any]) -> Triple:
        """Return the components: declared ones from values of the speeds, the others as given."""
        return tuple(
            x if row is None else dot(tuple(row.values()), tuple(speeds[r] for r in row))
            for x, row in zip(values, self.rows, strict=True)
        )
