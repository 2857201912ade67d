"""A constraint that an expression switches on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.model.constraints import Constraint
from kane.model.contacts.candidate import Candidate
from kane.model.contacts.held import held_rows, require_signal
from kane.model.contacts.member import Intermittent


@dataclass(frozen=True)
class Switch(Intermittent):
    """See ``Model.switch``.

    Attributes:
        motion: what vanishes while it is on: an expression of rates or velocities, several, or a constraint.
        on: imposed where this becomes positive.
        off: deleted where this becomes positive; never, where it is None.
    """

    motion: Expr | Constraint | Sequence[Expr]
    on: Expr | None = None
    off: Expr | None = None

    def __post_init__(self) -> None:
        require_signal(self.on, "on= of a switch")
        if self.off is not None:
            require_signal(self.off, "off= of a switch")
        if not held_rows(self.motion, "a switch"):
            raise ModelError("a switch without anything that vanishes; give an expression of rates or velocities")

    @property
    def title(self) -> str:
        return "switch"

    def candidates(self, name: str) -> Sequence[Candidate]:
        return [Candidate(name, tangents=held_rows(self.motion, name), on=self.on, off=self.off, bilateral=True)]
