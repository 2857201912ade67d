"""Constraints that expressions switch on and off, or that are imposed on a running motion without a declaration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.model.constraints import Constraint
from kane.model.contacts.held import held_rows, require_signal
from kane.model.contacts.intermittent_constraint import Intermittent, IntermittentConstraint


@dataclass(frozen=True)
class Switch(Intermittent):
    """Switch; see ``Model.switch``.

    Attributes:
        motion: expression of rates or velocities that vanishes while active, several of them, or a constraint.
        on: the constraint is imposed when this expression becomes positive.
        off: the constraint is deleted when this expression becomes positive; None if it stays active.
    """

    motion: Expr | Constraint | Sequence[Expr]
    on: Expr | None = None
    off: Expr | None = None

    def __post_init__(self) -> None:
        require_signal(self.on, "on= of a switch")
        if self.off is not None:
            require_signal(self.off, "off= of a switch")
        if not held_rows(self.motion, "a switch"):
            raise ModelError("a switch has no equation; give an expression of rates or velocities")

    @property
    def title(self) -> str:
        return "switch"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        return [
            IntermittentConstraint(
                name, tangents=held_rows(self.motion, name), on=self.on, off=self.off, bilateral=True
            )
        ]


@dataclass(frozen=True)
class Imposition(Intermittent):
    """Switch that is on from the start; see ``Stepper.impose``.

    Attributes:
        motion: expression of rates or velocities that vanishes, several of them, or a constraint.
    """

    motion: Expr | Constraint | Sequence[Expr]

    def __post_init__(self) -> None:
        if not held_rows(self.motion, "impose()"):
            raise ModelError("impose() got no equation; give an expression of rates or velocities")

    @property
    def title(self) -> str:
        return "imposed"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        rows = held_rows(self.motion, "impose()")
        message = cast(Expr, rows[0].configuration if rows[0].motion is None else rows[0].motion)
        return [IntermittentConstraint(name, tangents=rows, on=message.arena.one, bilateral=True)]
