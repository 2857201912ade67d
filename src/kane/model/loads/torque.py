"""Torque on a body."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Scalar
from kane.model.body import Body, triple_of_model
from kane.model.loads.load import Effect, Load, Wrench


@dataclass(frozen=True)
class Torque(Load):
    """Torque t on a body B.

    Attributes:
        body: B.
        components: measure numbers of t [N m]: numbers, inputs or expressions.
        expressed_in: body in whose frame the measure numbers are given; the ground by default.
        reaction: another body on which -t acts; none by default.
    """

    body: Body
    components: Sequence[Scalar]
    expressed_in: Body | None = None
    reaction: Body | None = None

    def effect(self) -> Effect:
        for body in (self.body, self.reaction, self.expressed_in):
            if not isinstance(body, Body | None) or self.body is None:
                raise ModelError(f"a Torque acts on bodies and is expressed in the frame of one, not {shown(body)}")
        frame = self.expressed_in or self.body.model.ground
        t = triple_of_model(self.body.model, self.components, f"a torque on body {self.body.name!r}")
        none = (0.0, 0.0, 0.0)
        wrenches = [Wrench(self.body.point(), none, t, frame)]
        if self.reaction is not None:
            wrenches.append(Wrench(self.reaction.point(), none, (-t[0], -t[1], -t[2]), frame))
        return Effect(wrenches=wrenches)
