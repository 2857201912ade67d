"""Declarations of intermittent constraints, and the rows, gap, switching conditions and laws of each constraint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.model.constraints import Row
from kane.model.contacts.friction import Coulomb, Thresholds
from kane.model.contacts.restitution import Poisson, Restitution
from kane.model.shapes import Shape


class NamedConstraint(Protocol):
    """Object with the name of an intermittent constraint: its declaration or its equations."""

    @property
    def name(self) -> str:
        """Name, unique among the intermittent constraints of the model."""


@dataclass(frozen=True)
class IntermittentConstraint:
    """Intermittent constraint: it may be imposed and deleted during a run.

    Attributes:
        name: unique among the intermittent and permanent constraints of the model.
        gap: gap function [m or rad], not negative while the constraint is inactive; None if no gap imposes it.
        normal: the row along the gap, whose configuration is the gap; None without a gap.
        tangents: other motion rows: slip velocities, the rows that a switch imposes, or the rate of a sticking joint.
        friction: bounds of the forces along the tangents; None without bounds.
        restitution: law of the impacts that close the gap.
        on: imposes a constraint without a gap when it becomes positive; None if a gap or friction imposes it.
        off: deletes the constraint when it becomes positive, and keeps the gap from imposing it while positive; None if
            only its own reaction deletes it.
        bilateral: whether the rows hold in both directions; otherwise the gap may open again, and friction may slip.
        surfaces: shapes in contact, for pictures.
    """

    name: str
    gap: Expr | None = None
    normal: Row | None = None
    tangents: tuple[Row, ...] = ()
    friction: Coulomb | Thresholds | None = None
    restitution: Restitution = Poisson(0.0)  # frozen
    on: Expr | None = None
    off: Expr | None = None
    bilateral: bool = False
    surfaces: tuple[Shape, ...] = field(default=(), compare=False)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The normal row, if there is a gap, then the tangents."""
        return self.tangents if self.normal is None else (self.normal, *self.tangents)

    def __repr__(self) -> str:
        return f"<IntermittentConstraint {self.name!r}: {', '.join(row.name for row in self.rows)}>"


def declared_name(constraint: NamedConstraint) -> str:
    """Return the name of the declaration of an intermittent constraint: "crate" for "crate: +-+"."""
    return constraint.name.partition(": ")[0]


def candidates_by_declaration(intermittents: Sequence[IntermittentConstraint]) -> list[list[IntermittentConstraint]]:
    """Return the intermittent constraints of each declaration."""
    found: dict[str, list[IntermittentConstraint]] = {}
    for c in intermittents:
        found.setdefault(declared_name(c), []).append(c)
    return list(found.values())


def parts_named(name: str, known: Sequence[str]) -> list[str]:
    """Return the constraints that a name means: the one of this name, or all parts of a declaration ("end: lower")."""
    return [x for x in known if x == name or x.startswith(f"{name}: ")]


class Intermittent(ABC):
    """Restriction of the motion that is active only at times."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Default name: "contact of crate with ground"."""

    @abstractmethod
    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        """Return the intermittent constraints; their names are made from this name: "crate: +-+".

        Raises:
            ModelError: the arguments cannot be constrained in this way.
        """
