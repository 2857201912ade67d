"""Abstract class of all constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, MEASURE, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves
from kane.model.body import ACCELERATION_KINDS, CONFIGURATION_KINDS
from kane.model.checks import cure_of, require_no_comparison
from kane.model.reaction import reaction_leaf


@dataclass(frozen=True)
class Row:
    """One scalar constraint equation; each of its expressions must vanish.

    Attributes:
        name: meaning of the equation, such as "no skid" or "x".
        configuration: expression of coordinates, positions, directions and time; None for an equation of the motion
            alone.
        motion: expression that may also contain rates and velocities; None for the time derivative of
            ``configuration``. If both are given and ``configuration`` is zero, ``motion`` must vanish if and only if
            the time derivative of ``configuration`` vanishes.
        instead: alternative to ``motion`` with fewer operations, for the elimination of speeds. All rows of the
            constraint together are equivalent with either expression. Reactions belong to ``motion``.
    """

    name: str
    configuration: Expr | None = None
    motion: Expr | None = None
    instead: Expr | None = None

    def __post_init__(self) -> None:
        """Raise ModelError if an expression is a comparison."""
        for x in (self.configuration, self.motion, self.instead):
            require_no_comparison(x, f"the constraint {self.name!r}", "use m.stop(...)")


class Constraint(ABC):
    """Restriction of the motion or of the configuration of a model."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Name of the constraint, in words: "rolling of wheel on ground"."""

    @abstractmethod
    def rows(self) -> Sequence[Row]:
        """Return the scalar equations.

        Raises:
            ModelError: the arguments cannot be constrained in this way.
        """


@dataclass(frozen=True)
class Imposed:
    """Constraint of a model: its name there, and its equations."""

    name: str
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        return f"<Constraint {self.name!r}: {', '.join(row.name for row in self.rows)}>"

    def name_of(self, row: Row) -> str:
        """Return the name of a row: the constraint's name, with the row's name if there are several."""
        return self.name if row.name == self.name else f"{self.name}: {row.name}"

    @property
    def reactions(self) -> tuple[Expr, ...]:
        """Reaction of each row, the force or torque that does work on the row's residual velocity.

        It may be used in loads, and in ``on`` and ``off`` of switches and latches.
        """
        names = [self.name_of(row) for row in self.rows]
        given = [row.motion if row.configuration is None else row.configuration for row in self.rows]
        return tuple(reaction_leaf(x, name) for x, name in zip(given, names, strict=True) if x is not None)


def row_from_expression(expression: Expr, name: str) -> Row:
    """Return the row expression = 0, of the motion if it has rates or velocities, otherwise of the configuration.

    Raises:
        ModelError: the expression does not depend on the motion, or depends on a quantity that is not allowed.
    """
    found = leaves([expression])
    wrong = [leaf for leaf in found if leaf.op not in (COORDINATE, RATE, TIME, PARAMETER, MEASURE)]
    if wrong:
        raise ModelError(
            f"the constraint {name!r} depends on {', '.join(map(repr, wrong))}; it may depend on coordinates, rates, "
            f"positions, velocities, parameters and time only{cure_of(wrong)}"
        )
    if any(x.op == MEASURE and x.data.kind in ACCELERATION_KINDS for x in found):
        raise ModelError(
            f"the constraint {name!r} contains an acceleration; constrain the velocity, which kane differentiates"
        )
    moving = any(x.op == RATE or (x.op == MEASURE and x.data.kind not in CONFIGURATION_KINDS) for x in found)
    if not moving and not any(x.op in (COORDINATE, MEASURE) for x in found):
        raise ModelError(
            f"the constraint {name!r}, {shown(expression)} = 0, restricts nothing: it contains no coordinate"
        )
    return Row(name, motion=expression) if moving else Row(name, configuration=expression)
