"""Constraint that is imposed on a running motion without previous declaration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.model.constraints import Constraint
from kane.model.contacts.held import held_rows
from kane.model.contacts.intermittent_constraint import IntermittentConstraint
from kane.model.contacts.member import Intermittent


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
