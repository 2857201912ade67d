"""Rows that hold a point, along the axes of its body, which takes fewer operations than along axes of the ground.

Three rows d_i . v = 0, with perpendicular unit vectors d_1, d_2, d_3 fixed in the ground, hold the velocity v of a
point at zero. So do its measure numbers V along the axes of the frame K of the link that the point is fixed in. With
d_i expressed along the axes of K,

    d_i . v = d_i . V,   d(d_i . v)/dt = d_i . (dV/dt + w x V),

so that the force of row i is d_i . f, where f are the forces of the rows V. In K the inertia of the link is
constant, and the recursion gives the velocities directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.deferred import NamedTuple
from kane.errors import ExpressionError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import MEASURE
from kane.expression.traverse import leaves
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import ROW_TOLERANCE, Equation, count_row_operations, equation_of
from kane.formulation.recursive.kinematics import angular_velocities, origin_velocities, remainders
from kane.formulation.recursive.measures import from_body, position_in_K
from kane.formulation.tree.spatial import plus
from kane.formulation.tree.system import System
from kane.geometry.scalars import Triple, cross, dot, is_zero
from kane.model.body import VELOCITY, Measure


class Turned(NamedTuple):
    """Rows along the axes of a link.

    Attributes:
        rows: rows V along these axes.
        directions: d_i of each original row, expressed along these axes.
    """

    rows: tuple[Equation, ...]
    directions: tuple[Triple, ...]


class SolvedRows(NamedTuple):
    """Rows in the form in which they are solved, some along other axes than declared.

    Attributes:
        rows: all rows.
        turned: rows along other axes, by the position of the first one.
    """

    rows: list[Equation]
    turned: dict[int, Turned]

    @classmethod
    def of(cls, rows: Sequence[Equation], held: Mapping[int, IntermittentEquations], system: System) -> SolvedRows:
        """Return the solver's form of rows; ``held``: constraints with all rows active, by place of the first row."""
        found, turned = list(rows), {}
        for place, c in held.items():
            own = in_body_axes(c, system)
            if own is not None:
                turned[place], found[place : place + 3] = own, own.rows
        return cls(found, turned)

    def along_axes(self, values: Sequence[Any]) -> list[Any]:
        """Transform values of the original rows into values of these rows."""
        found = list(values)
        for place, own in self.turned.items():
            given = tuple(values[place : place + 3])
            found[place : place + 3] = [dot(given, column) for column in zip(*own.directions, strict=True)]
        return found

    def back(self, forces: Sequence[Any]) -> list[Any]:
        """Transform forces of these rows into forces of the original rows."""
        found = list(forces)
        for place, own in self.turned.items():
            given = tuple(forces[place : place + 3])
            found[place : place + 3] = [dot(given, d) for d in own.directions]
        return found


def in_body_axes(c: IntermittentEquations, system: System) -> Turned | None:
    """Return all rows of a constraint in body axes; None if they do not hold a point, or are shorter as declared."""
    motions = [row.motion for row in c.declared if row.motion is not None]
    measures = [leaf for leaf in leaves(motions) if leaf.op == MEASURE]
    points = {(x.data.kind, x.data.body, x.data.point, x.data.direction_body) for x in measures}
    if not len(c.rows) == len(motions) == 3 or len(points) != 1:
        return None
    point: Measure = measures[0].data
    directions = _directions(motions, measures)
    if point.kind != VELOCITY or point.direction_body != 0 or directions is None:
        return None
    link = system.places[point.body].link
    w, p, lift = angular_velocities(system), position_in_K(system, point.body, point.point), system.arena.lift
    V = plus(origin_velocities(system, w)[link], cross(w[link], p))
    rates = remainders(system)[link].at(p)
    rows = tuple(
        equation_of(row.name, lift(x), None, system.speeds, remainder=lift(rate))
        for row, x, rate in zip(c.rows, V, rates, strict=True)
    )
    if count_row_operations(rows) >= count_row_operations(c.rows):
        return None
    return Turned(rows, tuple(from_body(system, 0, link, tuple(map(float, d))) for d in directions))


def _directions(motions: Sequence[Expr], measures: Sequence[Expr]) -> Any:
    """Return three directions of the ground, along which three motions are velocities of one point.

    Return None if the directions are not perpendicular, or if a motion contains other terms.
    """
    try:
        shares, rest = linear_coefficients(motions, measures)
    except ExpressionError:
        return None
    if not all(is_zero(x) for x in rest) or not all(x.is_constant for row in shares for x in row):
        return None
    if not all(isinstance(x, float) for leaf in measures for x in leaf.data.direction):
        return None
    D = np.array([[float(x) for x in row] for row in shares]) @ np.array([leaf.data.direction for leaf in measures])
    return D if np.abs(D @ D.T - np.eye(3)).max() <= ROW_TOLERANCE else None
