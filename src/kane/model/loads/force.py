"""Force at a point."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Scalar
from kane.model.body import Body, Point, triple_of_model
from kane.model.loads.load import Effect, Load, Wrench


@dataclass(frozen=True)
class Force(Load):
    """Force f on the body of a point P, applied at P.

    Attributes:
        point: P.
        components: measure numbers of f [N]: numbers, inputs or expressions.
        expressed_in: body in whose frame the measure numbers are given; the ground by default.
        reaction: point of another body on which -f acts; none by default.
    """

    point: Point
    components: Sequence[Scalar]
    expressed_in: Body | None = None
    reaction: Point | None = None

    def effect(self) -> Effect:
        for point in (self.point, self.reaction):
            if not isinstance(point, Point | None) or self.point is None:
                raise ModelError(f"a Force acts at a point such as body.point((0, 0, 0.1)), not at {shown(point)}")
        if not isinstance(self.expressed_in, Body | None):
            raise ModelError(f"a Force is expressed in the frame of a body, not of {shown(self.expressed_in)}")
        body = self.point.body
        frame = self.expressed_in or body.model.ground
        f = triple_of_model(body.model, self.components, f"a force on body {body.name!r}")
        none = (0.0, 0.0, 0.0)
        wrenches = [Wrench(self.point, f, none, frame)]
        if self.reaction is not None:
            wrenches.append(Wrench(self.reaction, (-f[0], -f[1], -f[2]), none, frame))
        return Effect(wrenches=wrenches)
