"""What formulation gets of a constraint that comes and goes: a candidate, its rows and its laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kane.expression.node import Expr
from kane.model.constraints import Row
from kane.model.contacts.friction import Coulomb, Thresholds
from kane.model.contacts.restitution import Newton, Poisson
from kane.model.shapes import Shape


class NamedCandidate(Protocol):
    """Candidate of a model, or its equations."""

    @property
    def name(self) -> str:
        """Unique among the candidates of the model."""


@dataclass(frozen=True)
class Candidate:
    """A constraint that may be imposed and deleted while a run goes on.

    Attributes:
        name: unique among the candidates and constraints of the model.
        gap: not negative as long as the constraint is not imposed [m or rad]; None where no gap imposes it.
        normal: the row along the gap, whose configuration is the gap; None without a gap.
        tangents: motion rows beside the normal one: slip velocities, what a switch imposes, the rate that sticks.
        friction: bounds of what the tangents transmit; None where they have none.
        restitution: of the impacts by which the gap closes.
        on: where it becomes positive, what has no gap is imposed; None for what a gap or friction imposes.
        off: where it becomes positive, what is imposed is deleted, and a gap imposes nothing where it is; None where
            nothing but its own reaction deletes it.
        bilateral: whether the rows hold both ways; else the gap may open again, and friction may slip.
        surfaces: what touches, for pictures.
    """

    name: str
    gap: Expr | None = None
    normal: Row | None = None
    tangents: tuple[Row, ...] = ()
    friction: Coulomb | Thresholds | None = None
    restitution: Poisson | Newton = Poisson(0.0)  # noqa: RUF009  # frozen
    on: Expr | None = None
    off: Expr | None = None
    bilateral: bool = False
    surfaces: tuple[Shape, ...] = field(default=(), compare=False)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The normal row, where there is one, then the tangents."""
        return self.tangents if self.normal is None else (self.normal, *self.tangents)

    def __repr__(self) -> str:
        return f"<Candidate {self.name!r}: {', '.join(row.name for row in self.rows)}>"


def declared_name(candidate: NamedCandidate) -> str:
    """Return the name by which a candidate was declared: "crate" for "crate: +-+"."""
    return candidate.name.partition(": ")[0]


def declarations(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the candidates of each declaration."""
    found: dict[str, list[Candidate]] = {}
    for c in candidates:
        found.setdefault(declared_name(c), []).append(c)
    return list(found.values())


def parts_named(name: str, known: Sequence[str]) -> list[str]:
    """Which candidates a name means: the one of this name, or all parts, "end: lower", of what was declared by it."""
    return [x for x in known if x == name or x.startswith(f"{name}: ")]
