"""Rows of the intermittent constraints, placed after the rows of the permanent constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kane.errors import ModelError
from kane.expression.construct import build_maximum
from kane.expression.node import Expr, Scalar
from kane.expression.operations import INPUT
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.rows import ROW_TOLERANCE, Equation
from kane.formulation.recursive.measures import images
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.system import System
from kane.model.checks import near
from kane.model.constraints import Row
from kane.model.contacts import IntermittentConstraint
from kane.model.reaction import REACTION_PREFIX, reaction_leaves, row_force
from kane.progress import stage

if TYPE_CHECKING:
    from kane.formulation.constraints.point_rows import PointRows
    from kane.model.constraints.constraint import Imposed


class ContactNumbers(NamedTuple):
    """Expressions of an intermittent constraint; zero for undeclared quantities.

    Attributes:
        gap: signed distance [m or rad].
        on, off: positive if the constraint is to be imposed, or deleted.
        static, kinetic: friction, as a coefficient or as a force, 0 <= kinetic <= static.
        restitution: coefficient.
    """

    gap: Expr
    on: Expr
    off: Expr
    static: Expr
    kinetic: Expr
    restitution: Expr


@dataclass(frozen=True)
class IntermittentEquations:
    """An intermittent constraint, which may be imposed and deleted, in the speeds u.

    Attributes:
        constraint: the declared constraint.
        normal: row along the gap, whose configuration is the gap; None without a gap.
        tangents: the other rows, such as slip velocities.
        numbers: gap, signs and coefficients.
    """

    constraint: IntermittentConstraint
    normal: Equation | None
    tangents: tuple[Equation, ...]
    numbers: ContactNumbers

    @property
    def name(self) -> str:
        """Name of the intermittent constraint."""
        return self.constraint.name

    @property
    def rows(self) -> tuple[Equation, ...]:
        """The normal row, if there is one, then the tangents."""
        return self.tangents if self.normal is None else (self.normal, *self.tangents)

    @property
    def declared(self) -> tuple[Row, ...]:
        """The declared rows that have an equation; tangents along which nothing can move have none."""
        names = {row.name for row in self.rows}
        return tuple(row for row in self.constraint.rows if f"{self.name}: {row.name}" in names)

    def __repr__(self) -> str:
        return f"<IntermittentEquations {self.name!r}: {', '.join(row.name for row in self.rows)}>"


def intermittent_equations(
    intermittents: Sequence[IntermittentConstraint], permanent: Sequence[Imposed], system: System, probe: Probe
) -> tuple[IntermittentEquations, ...]:
    """Return the equations of all intermittent constraints; ``on`` and ``off`` may name the permanent ones.

    Constraints whose gap no speed changes are left out, for example between a fixed base and its floor. Tangents along
    which nothing can move are left out, too.

    Raises:
        ModelError: a constraint without a gap restricts nothing, a row is not linear in the speeds, or ``on`` or
            ``off`` depends on the reaction of an unknown row.
    """
    if not intermittents:
        return ()
    from kane.formulation.constraints.point_rows import PointRows

    rows, found = PointRows(system), []
    for k, c in enumerate(intermittents, 1):
        with stage(f"contact {k} of {len(intermittents)}, {c.name}"):
            found.append(_equations(c, rows, probe))
    return _with_row_forces(tuple(c for c in found if c is not None), permanent)


def _with_row_forces(
    found: tuple[IntermittentEquations, ...], permanent: Sequence[Imposed]
) -> tuple[IntermittentEquations, ...]:
    """Return the equations with forces of rows in place of reactions; the name of a constraint means its first row."""
    if not read_forces(found):  # one walk through what all constraints share
        return found
    reactions = {leaf: c.name for c in found for leaf in reaction_leaves([c.numbers.on, c.numbers.off])}
    rows = {name: name for x in permanent for name in map(x.name_of, x.rows)}
    rows |= {row.name: row.name for c in found for row in c.rows}
    firsts = {x.name: x.name_of(x.rows[0]) for x in permanent} | {c.name: c.rows[0].name for c in found}
    values, rows = {}, {**firsts, **rows}
    for leaf, who in reactions.items():
        name = leaf.data.removeprefix(REACTION_PREFIX)
        if name not in rows:
            raise ModelError(
                f"on= or off= of {who!r} depends on the reaction {name!r}, which is not the force of a constraint row "
                f"that can act; {near(name, list(rows))}"
            )
        values[leaf] = row_force(leaf, rows[name])
    return controlled(found, values)


def read_forces(intermittents: Sequence[IntermittentEquations]) -> list[Expr]:
    """Return the forces of rows on which ``on`` and ``off`` depend."""
    return reaction_leaves(x for c in intermittents for x in (c.numbers.on, c.numbers.off))


def without_forces(intermittents: Sequence[IntermittentEquations]) -> tuple[IntermittentEquations, ...]:
    """Return the equations with zero in place of the forces of rows in ``on`` and ``off``."""
    return controlled(intermittents, {leaf: leaf.arena.zero for leaf in read_forces(intermittents)})


def controlled(
    intermittents: Sequence[IntermittentEquations], values: Mapping[Expr, Expr]
) -> tuple[IntermittentEquations, ...]:
    """Return the equations with expressions in place of inputs in ``on``, ``off`` and bounds of friction."""
    if not values:
        return tuple(intermittents)
    return tuple(replace(c, numbers=ContactNumbers(*substitute_nodes(c.numbers, values))) for c in intermittents)


def commanding_inputs(
    intermittents: Sequence[IntermittentEquations], words: Sequence[str] = ContactNumbers._fields
) -> dict[str, str]:
    """Return the inputs on which numbers of constraints depend: for each name, the first constraint.

    Args:
        intermittents: the equations.
        words: names of the numbers, such as "on".
    """
    found: dict[str, str] = {}
    for c in intermittents:
        for leaf in leaves(getattr(c.numbers, word) for word in words):
            if leaf.op == INPUT:
                found.setdefault(leaf.name, c.name)
    return found


def left_out(intermittents: Sequence[IntermittentConstraint], found: Sequence[IntermittentEquations]) -> list[str]:
    """Return the note on intermittent constraints without equations, or an empty list."""
    kept = {c.name for c in found}
    names = [repr(c.name) for c in intermittents if c.name not in kept]
    return [f"{', '.join(names)} left out: no speed changes the gap, so it can neither open nor close"] if names else []


def _equations(c: IntermittentConstraint, rows: PointRows, probe: Probe) -> IntermittentEquations | None:
    from kane.formulation.constraints.integrals import integral_of_row

    system = rows.system
    normal = None if c.normal is None else rows.equation(c.normal, f"{c.name}: {c.normal.name}")
    if normal is not None and not _moves(normal, probe):
        return None
    tangents = [rows.equation(row, f"{c.name}: {row.name}") for row in c.tangents]
    moving = tuple(replace(row, configuration=None) for row in tangents if _moves(row, probe))
    if normal is None and not moving:
        raise ModelError(f"{c.name!r} restricts nothing: no speed changes its rows; take it out")
    for row in (*moving, *(() if normal is None else (normal,))):
        if not row.linear:
            raise ModelError(
                f"{row.name!r} is not linear in the speeds, as rows of contacts, stops, latches, sticks and switches "
                "must be; declare it by Model.constrain, as a permanent constraint"
            )
    if c.bilateral:
        declared = {f"{c.name}: {row.name}": row for row in c.tangents}
        moving = tuple(replace(x, integral=integral_of_row(declared[x.name], x, system, probe)) for x in moving)
    given = [_lifted(system, x) for x in (c.gap, c.on, c.off, *_bounds(c, system), c.restitution.coefficient)]
    numbers = ContactNumbers(*substitute_nodes(given, images(system, given, f"the constraint {c.name!r}")))
    return IntermittentEquations(c, normal, moving, numbers)


def _bounds(c: IntermittentConstraint, system: System) -> tuple[Expr, Expr]:
    """Return static and kinetic friction; values of inputs may violate 0 <= kinetic <= static, so they are limited."""
    static, kinetic = (_lifted(system, getattr(c.friction, word, None)) for word in ("static", "kinetic"))
    if all(leaf.op != INPUT for leaf in leaves([static, kinetic])):
        return static, kinetic
    limited = build_maximum(kinetic, system.arena.zero)
    return (limited if static is kinetic else build_maximum(static, limited)), limited


def _lifted(system: System, x: Scalar | None) -> Expr:
    return system.arena.lift(0.0 if x is None else x)


def _moves(row: Equation, probe: Probe) -> bool:
    """Return whether some speed changes the row's residual."""
    return not np.all(np.abs(probe.anywhere(list(row.coefficients.values()))) <= ROW_TOLERANCE)
