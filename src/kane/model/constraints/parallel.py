"""Two directions that stay parallel."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.geometry.scalars import cross
from kane.model.body import Direction
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.relative import angular_velocity_in, measure_numbers, scalar_product
from kane.model.vector_arguments import normals, require_direction, require_two_bodies, unit


@dataclass(frozen=True)
class Parallel(Constraint):
    """Directions a and b, fixed in bodies A and B, are parallel: b . n = 0 for two directions n normal to a.

    The rates of the equations are w_AB . (b x n). Opposite directions satisfy the equations too; ``assemble`` finds the
    nearer solution. A single equation b . n = 0 is ``model.constrain(b.dot(n))``.

    Attributes:
        a, b: the directions; their lengths do not matter.
    """

    a: Direction
    b: Direction

    def __post_init__(self) -> None:
        who = "a Parallel"
        require_direction(who, self.a)
        require_direction(who, self.b)
        require_two_bodies(who, self.a.body, self.b.body)

    @property
    def title(self) -> str:
        """Name of the constraint, with both bodies."""
        return f"parallel directions of {self.a.body.name} and {self.b.body.name}"

    def rows(self) -> Sequence[Row]:
        """Return two equations, whose residuals are sines of angles [rad for small angles]."""
        A, B = self.a.body, self.b.body
        b = measure_numbers(B.direction(unit(self.b)), A)
        w = angular_velocity_in(A, B, A)
        found = []
        for k, n in enumerate(normals(self.a), start=1):
            found.append(Row(f"turn {k}", configuration=scalar_product(b, n), motion=scalar_product(w, cross(b, n))))
        return found
