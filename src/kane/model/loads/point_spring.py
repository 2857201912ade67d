"""Linear spring between two points."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.body import Point
from kane.model.loads.load import Effect, Load
from kane.model.loads.span import length, pull, require_ends


@dataclass(frozen=True)
class PointSpring(Load):
    """Tension k (L - rest) along the line from P to Q, L = |p_PQ|, with potential energy k (L - rest)^2 / 2.

    Where the points coincide, the force is zero if ``rest`` is 0. Otherwise it has no direction, and a run ends with an
    error that names the spring.

    Attributes:
        P, Q: points of two bodies.
        stiffness: k [N/m].
        rest: length without force [m].
    """

    P: Point
    Q: Point
    stiffness: Scalar
    rest: Scalar = 0.0

    def effect(self) -> Effect:
        require_ends("a PointSpring", self.P, self.Q)
        model = self.P.body.model
        k = model.scalar(self.stiffness, "the stiffness of a PointSpring")
        stretch = length(self.P, self.Q) - model.scalar(self.rest, "the rest length of a PointSpring")
        return Effect(wrenches=pull(self.P, self.Q, k * stretch), potential=0.5 * k * stretch * stretch)
