"""Edges of the automaton: the transitions that guards and impulses allow from each mode.

An impact, or forces that redistribute at one instant, may change the status of every closed constraint. An open
constraint closes only if its own gap vanishes at this instant. The edges therefore include every transition that a run
can make; not every edge is taken by a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from kane.engine.memory.contact_codes import OPEN, SLIDING, STICKING
from kane.expression.construct import build_absolute, build_sqrt
from kane.expression.node import Expr
from kane.expression.text import format_expression
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.model.reaction import row_force

Statuses = tuple[int, ...]
STICKS, REVERSES = "sticks", "reverses"


class Guard(NamedTuple):
    """Condition under which a constraint causes a transition.

    Attributes:
        cause: name of the constraint.
        kind: "impact", "imposed", "deleted", "opens", "slips", "sticks" or "reverses".
        expression: the transition happens when this expression becomes positive; for "sticks" and "reverses", when it,
            the magnitude of the slip velocity, vanishes.
        rows: constraint rows along which an impulse of the cause acts; empty if speeds do not jump.
    """

    cause: str
    kind: str
    expression: Expr
    rows: tuple[str, ...]

    def __str__(self) -> str:
        impulse = f", impulse along {', '.join(self.rows)}" if self.rows else ""
        return f"{self.cause} {self.kind}: {self.condition}{impulse}"

    @property
    def condition(self) -> str:
        """The condition as text: "-y > 0"."""
        return f"{format_expression(self.expression)} {'= 0' if self.kind in (STICKS, REVERSES) else '> 0'}"


class ModeEdge(NamedTuple):
    """Possible transition from one mode to another.

    Attributes:
        source, target: names of the modes.
        guards: conditions that may cause it with the fewest other changes, one for each constraint and kind.
        needs: other constraints that must close at the same instant.
        alone: whether only the cause changes its status.
    """

    source: str
    target: str
    guards: tuple[Guard, ...]
    needs: tuple[str, ...]
    alone: bool


def statuses_allowed(c: IntermittentEquations) -> tuple[int, ...]:
    """Return the statuses that a constraint can have."""
    found = (STICKING,) if c.normal is None and c.constraint.on is None else (OPEN, STICKING)
    return (*found, SLIDING) if c.tangents and c.constraint.friction is not None else found


def guards_of(c: IntermittentEquations, status: int) -> Iterator[tuple[Guard, tuple[int, ...]]]:
    """Yield the guards of a constraint with a status, and the statuses that it may have afterwards."""
    numbers, rows = c.numbers, tuple(row.name for row in c.rows)
    if status == OPEN:
        if c.normal is not None:
            after = (STICKING,) if c.constraint.bilateral else statuses_allowed(c)
            yield Guard(c.name, "impact", -numbers.gap, rows), after
        elif c.constraint.on is not None:
            yield Guard(c.name, "imposed", numbers.on, rows), (STICKING,)
        return
    if c.constraint.off is not None:
        yield Guard(c.name, "deleted", numbers.off, ()), (OPEN,)
    if c.normal is not None and not c.constraint.bilateral:
        yield Guard(c.name, "opens", -row_force(numbers.gap, c.normal.name), ()), (OPEN,)
    if c.constraint.friction is not None and c.tangents:
        slip = _length([row.motion for row in c.tangents])
        if status == STICKING:
            excess = _length([row_force(slip, row.name) for row in c.tangents]) - _bound(c)
            yield Guard(c.name, "slips", excess, ()), (SLIDING,)
        else:
            yield Guard(c.name, STICKS, slip, ()), (STICKING,)
            yield Guard(c.name, REVERSES, slip, ()), (SLIDING,)


def _length(components: Sequence[Expr]) -> Expr:
    if len(components) == 1:
        return build_absolute(components[0])
    first, *others = (x * x for x in components)
    return build_sqrt(sum(others, first))


def _bound(c: IntermittentEquations) -> Expr:
    """Return the largest friction force while sticking: mu_s N of a contact, else the static effort."""
    static = c.numbers.static
    return static if c.normal is None else static * row_force(static, c.normal.name)


class ReachedMode(NamedTuple):
    """Mode that a transition can reach; see ``ModeEdge``."""

    guards: list[Guard]
    needs: tuple[str, ...]
    alone: bool


def edges_from(intermittents: Sequence[IntermittentEquations], mode: Statuses) -> dict[Statuses, ReachedMode]:
    """Return the targets of a mode; if a constraint alone can cause a transition, only its guards are kept."""
    found: dict[Statuses, ReachedMode] = {}
    for k, c in enumerate(intermittents):
        for guard, after in guards_of(c, mode[k]):
            others = [statuses_allowed(x) if j != k else after for j, x in enumerate(intermittents)]
            for target in product(*others):
                changed = [j for j in range(len(mode)) if j != k and target[j] != mode[j]]
                needs = tuple(intermittents[j].name for j in changed if mode[j] == OPEN)
                known = found.get(target)
                if known is None or (known.alone, -len(known.needs)) < (not changed, -len(needs)):
                    found[target] = ReachedMode([guard], needs, not changed)
                elif known.alone == (not changed) and len(known.needs) == len(needs):
                    known.guards.append(guard)
    return found
