"""Linear damper between two points."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.body import Point
from kane.model.loads.load import Effect, Load
from kane.model.loads.span import damp, require_ends


@dataclass(frozen=True)
class PointDamper(Load):
    """Tension c dL/dt along the line from P to Q, L = |p_PQ|.

    Where the points coincide, the force is c v, with their relative velocity v. It is the limit of the force for every
    motion through this configuration. A linearization there has the force c v in all directions.

    Attributes:
        P, Q: points of two bodies.
        coefficient: c [N s/m].
    """

    P: Point
    Q: Point
    coefficient: Scalar

    def effect(self) -> Effect:
        require_ends("a PointDamper", self.P, self.Q)
        c = self.P.body.model.scalar(self.coefficient, "the coefficient of a PointDamper")
        return Effect(wrenches=damp(self.P, self.Q, c))
