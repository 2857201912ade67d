"""Reason of a term of an equation of motion: the contributions to it, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.reasons.contributions import (
    CENTRIPETAL,
    CONSTRAINT,
    CORIOLIS,
    FRICTION,
    GRAVITY,
    GYROSCOPIC,
    INERTIA,
    LOAD,
    PRESCRIBED_MOTION,
    Contribution,
    Contributions,
)

# Cause of each kind of term, for sentences.
CAUSES: Mapping[str, str] = {
    INERTIA: "the inertia of",
    CENTRIPETAL: "the centripetal acceleration of the mass centres of",
    CORIOLIS: "the Coriolis acceleration of the mass centres of",
    GYROSCOPIC: "the gyroscopic torque on",
    PRESCRIBED_MOTION: "the prescribed motion of",
    GRAVITY: "the weight of",
    LOAD: "the load",
    CONSTRAINT: "the force of the constraint row",
    FRICTION: "the kinetic friction of",
}


@dataclass(frozen=True, repr=False, eq=False)
class Reason:
    """Contributions to one term of an equation; prints as a sentence.

    Attributes:
        speed: name of the speed whose equation has the term.
        term: name of the term.
        contributions: contributions to this term.
    """

    speed: str
    term: str
    contributions: tuple[Contribution, ...]

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """Names of the bodies, loads or rows that contribute, by kind."""
        found: dict[str, dict[str, None]] = {}
        for c in self.contributions:
            found.setdefault(c.kind, {})[c.source] = None
        return {kind: tuple(names) for kind, names in found.items()}

    @property
    def value(self) -> Expr:
        """The term as an expression: the sum of its contributions."""
        first, *others = (c.expression for c in self.contributions)
        return sum(others, first)

    def __repr__(self) -> str:
        causes = " and ".join(f"{CAUSES[kind]} {_listed(names)}" for kind, names in self.kinds.items())
        ways = tuple(dict.fromkeys(c.through for c in self.contributions if c.through))
        through = f", in part by the constraints that make {_listed(ways)} dependent" if ways else ""
        return f"{self.term} is in the equation of {self.speed} because of {causes}{through}."

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


def reasons_of(equations: Equations) -> list[Reason]:
    """Return the reason of every term of the equations of all independent speeds, equation by equation."""
    rows = [j for j in range(len(equations.u)) if j not in equations.embedding.D]
    found: dict[tuple[str, str], list[Contribution]] = {}
    for c in Contributions(equations).of(rows):
        found.setdefault((c.speed, c.term), []).append(c)
    order = [str(equations.u[row].data) for row in rows]
    told = [Reason(speed, term, tuple(parts)) for (speed, term), parts in found.items()]
    return sorted(told, key=lambda reason: order.index(reason.speed))


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
