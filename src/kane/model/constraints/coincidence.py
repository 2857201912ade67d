"""Coincidence of two points."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.model.body import Direction, Point
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.relative import position, scalar_product, velocity_in
from kane.model.vector_arguments import (
    require_direction,
    require_one_model,
    require_points,
    require_two_bodies,
    unit,
)


@dataclass(frozen=True)
class Coincidence(Constraint):
    """Points P and Q of two bodies coincide: p_QP . d = 0 and (v_P - v_Q) . d = 0 for three directions d.

    With one direction P stays in the plane through Q normal to it. With two, P stays on the line through Q normal to
    both.

    Attributes:
        P, Q: the points.
        along: directions d, fixed in any body; x, y and z of the ground by default. For planar motion give two
            directions in the plane, because the third equation is redundant.
    """

    P: Point
    Q: Point
    along: Sequence[Direction] = ()

    def __post_init__(self) -> None:
        who = "a Coincidence"
        require_points(who, self.P, self.Q)
        require_two_bodies(who, self.P.body, self.Q.body)
        if not isinstance(self.along, Sequence):
            raise ModelError(f"{who} takes a list of directions; write along=[...]")
        for direction in self.along:
            require_direction(who, direction)
            require_one_model(who, self.P.body, direction.body)

    @property
    def title(self) -> str:
        """Name of the constraint, with both bodies."""
        return f"coincidence of points of {self.P.body.name} and {self.Q.body.name}"

    def rows(self) -> Sequence[Row]:
        """Return one equation for each direction."""
        N = self.P.body.model.ground
        named = dict(zip("xyz", (N.x, N.y, N.z), strict=True))
        if self.along:
            named = {f"direction {k}": d for k, d in enumerate(self.along, start=1)}
        return [self._row(name, direction) for name, direction in named.items()]

    def _row(self, name: str, direction: Direction) -> Row:
        D, d = direction.body, unit(direction)
        gap = scalar_product(position(self.Q, self.P, D), d)
        return Row(name, configuration=gap, motion=scalar_product(velocity_in(D, self.Q, self.P, D), d))
