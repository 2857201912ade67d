"""Latch: a gap that closes and stays closed."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.model.constraints import Constraint
from kane.model.constraints.constraint import row_from_expression
from kane.model.contacts.held import held_rows, require_signal
from kane.model.contacts.intermittent_constraint import Intermittent, IntermittentConstraint


@dataclass(frozen=True)
class Latch(Intermittent):
    """Latch; see ``Model.latch``.

    Attributes:
        gap: expression of coordinates, positions and directions, not negative while open [m or rad].
        holds: expressions of rates or velocities that also vanish while it is closed, or a constraint.
        off: the latch opens when this expression becomes positive; None if it never opens.
    """

    gap: Expr
    holds: Expr | Constraint | Sequence[Expr] = ()
    off: Expr | None = None

    def __post_init__(self) -> None:
        require_signal(self.gap, "the gap of a latch")
        if row_from_expression(self.gap, "gap of a latch").configuration is None:
            raise ModelError(
                f"the gap of a latch is {shown(self.gap)}, which contains rates or velocities; give an expression of "
                "coordinates, positions and directions, or use Model.switch"
            )
        held_rows(self.holds, "a latch")
        if self.off is not None:
            require_signal(self.off, "off= of a latch")

    @property
    def title(self) -> str:
        return "latch"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        normal, held = row_from_expression(self.gap, "normal"), held_rows(self.holds, name)
        return [IntermittentConstraint(name, self.gap, normal, held, off=self.off, bilateral=True)]
