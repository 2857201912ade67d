"""The contract that every constraint fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, MEASURE, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves
from kane.model.body import CONFIGURATION_KINDS
from kane.model.checks import cure_of
from kane.model.reaction import reaction_leaf


@dataclass(frozen=True)
class Row:
    """One scalar constraint equation; its expressions vanish.

    Attributes:
        name: what the equation says, such as "no skid" or "x".
        configuration: of coordinates, positions, directions and time; None for a motion constraint that is not
            integrated.
        motion: of rates and velocities besides; None where it is the time derivative of ``configuration``. Given
            beside ``configuration``, it vanishes exactly where the time derivative does as long as the configuration
            constraint holds.
        instead: another motion, which may stand for this row where speeds are eliminated: together with the other rows
            of the constraint it says the same, in fewer operations. Reactions are those of ``motion``.
    """

    name: str
    configuration: Expr | None = None
    motion: Expr | None = None
    instead: Expr | None = None


class Constraint(ABC):
    """A restriction of the motion or of the configuration of a model."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What is constrained, in words: "rolling of wheel on ground"."""

    @abstractmethod
    def rows(self) -> Sequence[Row]:
        """The scalar equations.

        Raises:
            ModelError: what is constrained cannot be.
        """


@dataclass(frozen=True)
class Imposed:
    """A constraint in force in a model: its name there, and its equations."""

    name: str
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        return f"<Constraint {self.name!r}: {', '.join(row.name for row in self.rows)}>"

    def name_of(self, row: Row) -> str:
        """Of the constraint, and of the row where it has several."""
        return self.name if row.name == self.name else f"{self.name}: {row.name}"

    @property
    def reactions(self) -> tuple[Expr, ...]:
        """For each row the force or torque that does work on its residual velocity, for loads that depend on it."""
        names = [self.name_of(row) for row in self.rows]
        given = [row.motion if row.configuration is None else row.configuration for row in self.rows]
        return tuple(reaction_leaf(x, name) for x, name in zip(given, names, strict=True) if x is not None)


def row_of(expression: Expr, name: str) -> Row:
    """The equation expression = 0: of the configuration, or, where rates or velocities stand in it, of the motion.

    Raises:
        ModelError: nothing that moves stands in it, or something that a constraint cannot depend on.
    """
    found = leaves([expression])
    wrong = [leaf for leaf in found if leaf.op not in (COORDINATE, RATE, TIME, PARAMETER, MEASURE)]
    if wrong:
        raise ModelError(
            f"the constraint {name!r} depends on {', '.join(map(repr, wrong))}; it may depend on coordinates, rates, "
            f"positions, velocities, parameters and time only{cure_of(wrong)}"
        )
    moving = any(x.op == RATE or (x.op == MEASURE and x.data.kind not in CONFIGURATION_KINDS) for x in found)
    if not moving and not any(x.op in (COORDINATE, MEASURE) for x in found):
        raise ModelError(
            f"the constraint {name!r}, {shown(expression)} = 0, restricts nothing: no coordinate stands in it"
        )
    return Row(name, motion=expression) if moving else Row(name, configuration=expression)
