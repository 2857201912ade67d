"""A point that does not move sideways: knife edge, blade, idealized wheel."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.model.body import Body, Direction, Point
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.relative import scalar_product, velocity_in
from kane.model.vector_arguments import (
    require_direction,
    require_one_model,
    require_points,
    require_two_bodies,
    unit,
)


@dataclass(frozen=True)
class NoSkid(Constraint):
    """A point P has no velocity along a direction: v_BP . d = 0. A motion constraint, in general not integrable.

    A knife edge at P of a blade is ``NoSkid(P, blade.y)``, with y across the edge. A wheel without a spin angle is
    modelled likewise, with d along the axle. A wheel that turns is a ``Rolling``.

    Attributes:
        P: the point.
        direction: d, fixed in any body; its length does not matter.
        on: the body B relative to which P does not move along d; the ground by default.
    """

    P: Point
    direction: Direction
    on: Body | None = None

    def __post_init__(self) -> None:
        who = "a NoSkid"
        require_points(who, self.P)
        require_direction(who, self.direction)
        if not isinstance(self.on, Body | None):
            raise ModelError(f"{who} holds against a body, not against {shown(self.on)}")
        require_one_model(who, self.P.body, self.direction.body)
        require_two_bodies(who, self.P.body, self._against)

    @property
    def _against(self) -> Body:
        return self.on if self.on is not None else self.P.body.model.ground

    @property
    def title(self) -> str:
        """Name of the constraint, with the body of P."""
        return f"no skid of {self.P.body.name}"

    def rows(self) -> Sequence[Row]:
        """Return one motion equation."""
        B, D = self._against, self.direction.body
        return [Row("no skid", motion=scalar_product(velocity_in(B, B.point(), self.P, D), unit(self.direction)))]
