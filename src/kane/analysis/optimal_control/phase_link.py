"""Transition between two phases: guards at the end of the first, and the impulse that begins the second.

    q+ = q- + sum of corrections,   M (u+ - u-) = A^T p,   t+ = t- + T-

A contains the active rows of the second mode, and the normals of contacts that bounce. The second phase requires
A u+ = 0 at its first node. A contact that bounces has v+ = -e v-. A row that is active in both modes has an impulse
only if another constraint causes an impact.

The configuration is closed at both nodes, so that q+ = q- alone would repeat equations. Corrections along the
configuration constraints make the equations independent. They are zero up to rounding.

Source: Gillespie 2003, section 4; Betts 2010, Practical methods for optimal control and estimation, section 3.7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from kane.analysis.automaton.mode_edges import Guard, guards_of
from kane.analysis.optimal_control.element import Functions
from kane.analysis.optimal_control.end_values import FINAL, INITIAL, EndLeaves
from kane.analysis.optimal_control.phase_mode import PhaseMode, cone
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.engine.memory.contact_codes import OPEN
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation

FREE, AT_LEAST_ZERO, ZERO = (-math.inf, math.inf), (0.0, math.inf), (0.0, 0.0)


class LinkEquation(NamedTuple):
    """Equation or inequality of a transition: name in messages, expression of the leaves, and limits."""

    name: str
    expression: Expr
    limits: tuple[float, float] = ZERO


@dataclass(frozen=True)
class PhaseLink:
    """Transition from one phase to the next.

    Attributes:
        before, after: the two phases.
        first, second: their symbols.
        ends: leaves of the end of the first phase, and of the start of the second.
    """

    before: PhaseMode
    after: PhaseMode
    first: Symbols
    second: Symbols
    ends: tuple[EndLeaves, EndLeaves]

    @cached_property
    def changes(self) -> list[tuple[IntermittentEquations, Guard]]:
        """Constraints that change their status, with their guards."""
        found = []
        for (c, old), (_, new) in zip(self.before.constraints, self.after.constraints, strict=True):
            if c.name in self.before.bouncing:
                self._require_bounce(c, new)
            elif old == new:
                continue
            guard = next((guard for guard, after in guards_of(c, old) if new in after), None)
            if guard is None:
                raise ModelError(
                    f"{c.name!r} has no guard that leads from {self.before.who} to {self.after.who}; change a "
                    "mode, or declare its on= or off="
                )
            found.append((c, guard))
        return found

    def _require_bounce(self, c: IntermittentEquations, new: int) -> None:
        if new != OPEN:
            raise ModelError(
                f"{c.name!r} bounces at the end of {self.before.who}, but is held in {self.after.who}; leave one out"
            )
        if c.tangents and c.constraint.friction is not None:
            raise ModelError(
                f"{self.before.who}: {c.name!r} bounces with friction, which does not exist yet; leave its friction out"
            )

    def check(self) -> None:
        """Raise ModelError if nothing ends the first phase, or the impact law excludes the transition."""
        phase = self.before.phase
        if not self.changes and not phase.end and not phase.boundary:
            raise ModelError(
                f"nothing ends {self.before.who}: {self.after.who} has the same mode; name a contact that bounces, as "
                "in bounces=['floor'], or give end= or boundary="
            )
        for c, status in self.after.constraints if self.impact else ():
            coefficient = c.numbers.restitution
            if status != OPEN and coefficient is not coefficient.arena.zero:
                raise ModelError(
                    f"{c.name!r} is held after the impact at the end of {self.before.who} and has the restitution "
                    f"{coefficient!r}, so that it bounces: give bounces=, or restitution 0"
                )

    @property
    def impact(self) -> bool:
        """Whether a constraint is imposed, so that speeds jump."""
        return any(guard.rows for _, guard in self.changes)

    @property
    def touching(self) -> set[str]:
        """Names of the constraints that change their status or bounce."""
        return {c.name for c, _ in self.changes}

    @cached_property
    def rows(self) -> list[Equation]:
        """Rows of the impulses: the active rows of the second mode, then the normals of contacts that bounce."""
        bouncing = [c.normal for c, _ in self.changes if c.name in self.before.bouncing and c.normal is not None]
        return [*self.second.equations.constraints, *bouncing]

    @cached_property
    def impulses(self) -> tuple[Expr, ...]:
        """Impulses p along the rows [N s or N m s]."""
        return tuple(self.second.leaf(f"impulse {k + 1}") for k in range(len(self.rows)))

    @cached_property
    def corrections(self) -> tuple[Expr, ...]:
        """Corrections of q, one for each configuration residual of the second phase."""
        return tuple(self.second.leaf(f"jump {k + 1}") for k in range(len(self.second.closing)))

    @property
    def unknowns(self) -> tuple[Expr, ...]:
        """Leaves of the two ends with their clocks, of impulses and of corrections."""
        old, new = self.ends
        clocks = *self.first.clock, *self.second.clock
        return (*old.last_unknowns, *new.first_unknowns, *clocks, *self.impulses, *self.corrections)

    @cached_property
    def equations(self) -> list[LinkEquation]:
        """All equations and inequalities."""
        first, second = self.first, self.second
        time = LinkEquation("the time", second.begin - first.begin - first.duration)
        return [time, *self._coordinates(), *self._speeds(), *self._guards(), *self._cones()]

    def functions(self, free: tuple[Expr, ...]) -> Functions:
        """Return the compiled functions of the transition; ``free`` are free parameters."""
        outputs = [x.expression for x in self.equations]
        return Functions.of(self.before.whole, f"transition {self.before.number}", outputs, (*self.unknowns, *free), ())

    @property
    def _nq(self) -> int:
        return len(self.second.q)

    def _coordinates(self) -> Iterator[LinkEquation]:
        old, new = self.ends
        moved = list(new.first_state[: self._nq])
        for correction, (_, direction) in zip(self.corrections, self.second.closing, strict=True):
            for i, x in zip(direction, new.at(INITIAL, list(direction.values())), strict=True):
                moved[i] = moved[i] - x * correction
        for q, x, x0 in zip(self.second.q, moved, old.last_state, strict=False):
            yield LinkEquation(f"the coordinate {q.name!r}", x - x0)

    def _speeds(self) -> Iterator[LinkEquation]:
        old, new = self.ends
        e, n = self.second.equations.unconstrained, len(self.second.u)
        M = new.at(INITIAL, e.baked_in(chain.from_iterable(e.mass_matrix)))
        jumps = [a - b for a, b in zip(new.first_state[self._nq :], old.last_state[self._nq :], strict=True)]
        found = [sum((M[r * n + s] * jumps[s] for s in range(n)), e.t.arena.zero) for r in range(n)]
        for row, p in zip(self.rows, self.impulses, strict=True):
            entries = new.at(INITIAL, e.baked_in(row.coefficients.values()))
            for r, a in zip(row.coefficients, entries, strict=True):
                found[r] = found[r] - a * p
        for u, x in zip(self.second.u, found, strict=True):
            yield LinkEquation(f"the jump of {u.name!r}", x)

    def _guards(self) -> Iterator[LinkEquation]:
        old, new = self.ends
        e = self.second.equations.unconstrained
        for c, guard in self.changes:
            if guard.kind == "opens" and self.impact:
                assert c.normal is not None
                (departure,) = new.at(INITIAL, e.baked_in([c.normal.motion]))
                yield LinkEquation(f"the separation of {c.name!r}", departure, AT_LEAST_ZERO)
            elif guard.kind == "opens":
                for row in c.rows:
                    (force,) = old.at(FINAL, [self.first.forces_by_row[row.name]])
                    yield LinkEquation(f"the force of {row.name!r}", force)
            else:
                given = substitute_nodes([guard.expression], self.first.forces)
                (value,) = old.at(FINAL, self.first.equations.unconstrained.baked_in(given))
                yield LinkEquation(f"the guard of {c.name!r}", value)
            if c.name in self.before.bouncing and c.normal is not None:
                motion, e_n = e.baked_in([c.normal.motion, c.numbers.restitution])
                approach, departure = old.at(FINAL, [motion])[0], new.at(INITIAL, [motion])[0]
                yield LinkEquation(f"the bounce of {c.name!r}", departure + e_n * approach)

    def _cones(self) -> Iterator[LinkEquation]:
        """Yield the conditions on the impulses of unilateral constraints, if there is an impact."""
        if not self.impact:
            return
        by_row = dict(zip((row.name for row in self.rows), self.impulses, strict=True))
        for c, _ in self.after.constraints:
            own = [by_row[row.name] for row in c.rows if row.name in by_row]
            if own and c.normal is None and c.constraint.friction is not None:
                for p in own:  # the finite effort of a sticking joint gives no impulse
                    yield LinkEquation(f"the impulse of {c.name!r}", p)
            elif own and not c.constraint.bilateral:
                for who, x in cone(c, own):
                    (given,) = self.ends[1].at(INITIAL, self.second.equations.unconstrained.baked_in([x]))
                    yield LinkEquation(f"{who.replace('force', 'impulse')} at the impact", given, AT_LEAST_ZERO)
