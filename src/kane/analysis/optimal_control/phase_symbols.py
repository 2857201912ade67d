"""Leaves of the collocated equations, and the equations of motion at a collocation point.

The equations hold with all speeds free and with the multipliers lambda of the constraint rows:

    M udot + bias - B inputs - A^T lambda = 0,   A udot + remainder = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute_nodes
from kane.formulation.derivatives.constrained import constrained_forces, row_acceleration
from kane.formulation.equations import Equations
from kane.model.reaction import reaction_leaf, row_force

# A residual that vanishes at nodes, and the direction in which it may move [q, u] there, by index.
Residual = tuple[Expr, dict[int, Expr]]


@dataclass(frozen=True)
class Symbols:
    """Leaves of the unknowns of one phase, and expressions of its equations of motion.

    Attributes:
        equations: equations of motion.
        laws: expressions that replace inputs, by the input's leaf.
        word: prefix of the names of the leaves, which tells phases apart.
        inactive: names of the rows of intermittent constraints that are not active; their forces are zero.
    """

    equations: Equations
    laws: Mapping[Expr, Expr]
    word: str = ""
    inactive: tuple[str, ...] = ()

    def leaf(self, name: str) -> Expr:
        """Return a leaf of the nonlinear program; a space keeps its name apart from the names of the model."""
        return self.equations.t.arena.leaf(INPUT, f"collocation {self.word}{name}")

    def leaves(self, word: str, of: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return a leaf for each of some leaves of the equations, such as the coordinates at a point."""
        return tuple(self.leaf(f"{word} {x.name}") for x in of)

    @property
    def q(self) -> tuple[Expr, ...]:
        """Coordinates."""
        return self.equations.q

    @property
    def u(self) -> tuple[Expr, ...]:
        """Speeds."""
        return self.equations.u

    @cached_property
    def inputs(self) -> tuple[Expr, ...]:
        """Inputs that are unknown."""
        return tuple(leaf for leaf in self.equations.inputs if leaf not in self.laws)

    @cached_property
    def multipliers(self) -> tuple[Expr, ...]:
        """Multipliers lambda of the constraint rows [N or N m]."""
        return tuple(self.leaf(f"multiplier {k + 1}") for k in range(len(self.equations.constraints)))

    @cached_property
    def forces_by_row(self) -> dict[str, Expr]:
        """Multiplier of each constraint row by name; zero for rows that are not active."""
        rows = (row.name for row in self.equations.constraints)
        zero = self.equations.t.arena.zero
        return dict(zip(rows, self.multipliers, strict=True)) | dict.fromkeys(self.inactive, zero)

    @cached_property
    def forces(self) -> dict[Expr, Expr]:
        """Multipliers by the leaves of reactions; the name of a constraint means its first row."""
        t, found = self.equations.t, dict(self.forces_by_row)
        for name, force in self.forces_by_row.items():
            found.setdefault(name.rpartition(": ")[0] or name, force)
        return {leaf(t, name): x for name, x in found.items() for leaf in (reaction_leaf, row_force)}

    @property
    def clock(self) -> tuple[Expr, Expr]:
        """First time and duration [s]."""
        return self.begin, self.duration

    @cached_property
    def begin(self) -> Expr:
        """First time [s]."""
        return self.leaf("begin")

    @cached_property
    def duration(self) -> Expr:
        """Duration T [s]."""
        return self.leaf("duration")

    @cached_property
    def fraction(self) -> Expr:
        """Elapsed fraction of the duration at a point."""
        return self.leaf("fraction")

    def timed(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Return expressions with inputs that have laws, and the time t = begin + fraction T, replaced."""
        found = substitute_nodes(list(expressions), self.laws) if self.laws else list(expressions)
        return substitute_nodes(found, {self.equations.t: self.begin + self.fraction * self.duration})

    def at(self, expressions: Sequence[Expr], q: Sequence[Expr], u: Sequence[Expr]) -> list[Expr]:
        """Return expressions at other coordinates and speeds."""
        given = zip((*self.q, *self.u), (*q, *u), strict=True)
        return substitute_nodes(list(expressions), {leaf: x for leaf, x in given if leaf is not x})

    @cached_property
    def motion(self) -> list[Expr]:
        """Residuals of the equations of motion and of the accelerations of constraint rows, n + rows."""
        e = self.equations
        with collector_paused():
            forces = [e.t.arena.lift(x) for x in constrained_forces(e, self.multipliers, inputs=True)]
            rows = [row_acceleration(e, k) for k in range(len(e.constraints))]
            return self.timed(e.unconstrained.baked_in([*forces, *rows]))

    @cached_property
    def kinematics(self) -> list[Expr]:
        """Rates of the coordinates, qdot(t, q, u)."""
        return self.timed(self.equations.unconstrained.kinematics)

    @cached_property
    def residuals(self) -> list[Residual]:
        """Residuals that vanish at nodes: of configurations, of quaternions, and A u + b."""
        return [*self.closing, *self._rows]

    @cached_property
    def closing(self) -> list[Residual]:
        """Residuals of configuration constraints and (|p|^2 - 1) / 2 of quaternions p.

        The directions are rates of the coordinates for the speeds A^T, and p.
        """
        e, found = self.equations, list[Residual]()
        own = e.own.unconstrained
        for row in e.closing:
            speeds = [row.coefficients.get(j, e.t.arena.zero) for j in range(len(own.u))]
            moved = substitute_nodes(list(own.kinematics), dict(zip(own.u, speeds, strict=True)))
            still = substitute_nodes(list(own.kinematics), dict.fromkeys(own.u, e.t.arena.zero))
            along = [a - b for a, b in zip(moved, still, strict=True)]
            residual, *along = self.timed(own.baked_in([row.configuration, *along]))
            found.append((residual, {i: x for i, x in enumerate(along) if x is not e.t.arena.zero}))
        for first in e.quaternions:
            p = self.q[first : first + 4]
            length = sum((x * x for x in p), e.t.arena.zero)
            found.append((0.5 * (length - 1.0), {first + i: x for i, x in enumerate(p)}))
        return found

    @cached_property
    def _rows(self) -> list[Residual]:
        """Residuals A u + b of the constraints; the directions are the rows of A."""
        e, found, nq = self.equations, list[Residual](), len(self.q)
        for row in e.constraints:
            motion, *entries = self.timed(e.unconstrained.baked_in([row.motion, *row.coefficients.values()]))
            found.append((motion, {nq + j: x for j, x in zip(row.coefficients, entries, strict=True)}))
        return found
