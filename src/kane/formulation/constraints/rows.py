"""Constraint rows, linear in the speeds: A u + b = 0, and their time derivatives A udot + remainder = 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import LinearForms, Tangents, gradient, linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import MEASURE
from kane.expression.traverse import count_operations, leaves, substitute_further, substitute_nodes
from kane.formulation.recursive.measures import images, measure_rates
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds
from kane.formulation.tree.system import System
from kane.model.constraints import Row

if TYPE_CHECKING:
    from kane.model.constraints.constraint import Imposed

# Geometric residuals [m or rad] and coefficients below this value count as round-off.
ROW_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Equation:
    """One scalar constraint equation in the speeds u.

    Attributes:
        name: name of the constraint, followed by the row's name if the constraint has several rows.
        coefficients: row of A, sparse: {column of u: coefficient}. If the row is not linear in u, its gradient with
            respect to u.
        motion: A u + b, or the nonlinear residual of a motion constraint.
        remainder: the part of the time derivative of ``motion`` without udot: A udot + remainder = 0.
        configuration: residual of the configuration; None for a motion constraint.
        linear: whether ``motion`` is linear in u.
        instead: A u + b of a row that may replace this one in the elimination of speeds, or None.
        integral: for a row of an intermittent constraint, an expression whose time derivative is ``motion``. While the
            row is active, its integral keeps the value that it had at the impulse. None if ``configuration`` must be
            zero instead, or if no integral is known.
    """

    name: str
    coefficients: dict[int, Expr]
    motion: Expr
    remainder: Expr
    configuration: Expr | None
    linear: bool
    instead: Expr | None = None
    integral: Expr | None = None

    def __repr__(self) -> str:
        rest = "" if self.configuration is None else f", derivative of {self.configuration!r} = 0"
        return f"<Equation {self.name!r}: {self.motion!r} = 0{rest}>"


@dataclass(frozen=True)
class SharedNodes:
    """Results for nodes that many rows of one system have in common, such as the pose of a link, kept from row to row.

    Attributes:
        images: expressions in q, u and t.
        tangents: time derivatives without udot.
        forms: coefficients of u.
    """

    images: dict[Expr, Expr] = field(default_factory=dict)
    tangents: Tangents = field(default_factory=dict)
    forms: LinearForms = field(default_factory=dict)


def constraint_equations(constraints: Sequence[Imposed], system: System, probe: Probe) -> tuple[Equation, ...]:
    """Return the equations of all constraints, without duplicates and rows that hold for every motion.

    Raises:
        ModelError: a row cannot hold, or depends on a quantity that has no value in these equations.
    """
    found: dict[object, Equation] = {}
    for equation in every_equation(constraints, system):
        if equation.name in system.completed:
            continue
        # A coefficient without a value at the random state (the root of a negative number) counts as nonzero.
        if not np.all(np.abs(probe.anywhere(list(equation.coefficients.values()))) <= ROW_TOLERANCE):
            found.setdefault((equation.motion, equation.configuration), equation)
        else:
            # If user-defined speeds satisfy the row identically, no speed changes its configuration: do not check that.
            _require_idle(equation, probe, [equation.motion] + ([equation.configuration] if system.own is None else []))
    return tuple(found.values())


def every_equation(constraints: Sequence[Imposed], system: System) -> Iterator[Equation]:
    """Yield the equations of all rows, in order."""
    for imposed in constraints:
        for row in imposed.rows:
            yield row_equation(row, imposed.name_of(row), system)


def shortest(equation: Equation, speeds: Speeds, probe: Probe) -> Equation:
    """Return the equation in the form that takes the fewest operations.

    Alternatives to ``motion`` are ``instead``, or the time derivative of the configuration if it has the same value.
    Velocities are computed body by body, the time derivative coordinate by coordinate, which is shorter in planar
    mechanisms.
    """
    from kane.formulation.constraints.angle_sums import gathered

    if equation.instead is not None:
        other = equation_of(equation.name, equation.instead, equation.configuration, speeds)
        return other if count_row_operations([other]) < count_row_operations([equation]) else equation
    if equation.configuration is None:
        return equation
    rates = dict(zip(speeds.q, speeds.kinematics, strict=True))
    (configuration,), products = gathered([equation.configuration])
    motion = total_time_derivative([configuration], rates)[0]
    found = _written(equation_of(equation.name, motion, configuration, speeds), products)
    values = probe.anywhere([found.motion, equation.motion])
    same = abs(values[0] - values[1]) <= ROW_TOLERANCE * max(1.0, abs(values[1]))
    return (
        replace(found, configuration=equation.configuration)
        if same and count_row_operations([found]) < count_row_operations([equation])
        else equation
    )


def _written(equation: Equation, images: Mapping[Expr, Expr]) -> Equation:
    """Return the equation with nodes replaced by their images."""
    given = [*equation.coefficients.values(), equation.motion, equation.remainder]
    *coefficients, motion, remainder = substitute_nodes(given, images)
    columns = dict(zip(equation.coefficients, coefficients, strict=True))
    return replace(equation, coefficients=columns, motion=motion, remainder=remainder)


def count_row_operations(equations: Sequence[Equation]) -> int:
    """Return the number of operations that the coefficients and remainders of rows take together."""
    return sum(count_operations([x for e in equations for x in (*e.coefficients.values(), e.remainder)]).values())


def row_equation(row: Row, name: str, system: System, shared: SharedNodes | None = None) -> Equation:
    """Return the equation of one row, in the speeds of a system."""
    shared = shared or SharedNodes()
    configuration, motion = _substituted(row, name, system, shared)
    found = equation_of(name, motion, configuration, system.speeds, shared=shared)
    if row.instead is None:
        return found
    return replace(found, instead=_substituted(Row(name, motion=row.instead), name, system, shared)[1])


def equation_of(
    name: str,
    motion: Expr,
    configuration: Expr | None,
    speeds: Speeds,
    *,
    remainder: Expr | None = None,
    shared: SharedNodes | None = None,
) -> Equation:
    """Return the equation of a motion in q, u and t; derive its remainder by the chain rule unless given."""
    linear, shared = True, shared or SharedNodes()
    try:
        (coefficients,), _ = linear_coefficients([motion], speeds.u, shared.forms)
    except ExpressionError:
        coefficients, linear = gradient(motion, speeds.u), False
    if remainder is None:
        rates = dict(zip(speeds.q, speeds.kinematics, strict=True))
        remainder = total_time_derivative([motion], rates, shared.tangents)[0]
    sparse = {j: c for j, c in enumerate(coefficients) if not (c.is_constant and abs(float(c)) < ROW_TOLERANCE)}
    return Equation(name, sparse, motion, remainder, configuration, linear)


def _substituted(row: Row, name: str, system: System, shared: SharedNodes) -> tuple[Expr | None, Expr]:
    """Return configuration and motion in q, u and t."""
    given = [x for x in (row.configuration, row.motion) if x is not None]
    shared.images.update(images(system, given, f"the constraint {name!r}", shared.images))
    try:
        values = iter(substitute_further(given, shared.images))
    except ExpressionError as error:
        raise ModelError(f"{name!r} has no equation where its bodies move by these joints: {error}") from error
    configuration = None if row.configuration is None else next(values)
    if row.motion is not None:
        return configuration, next(values)
    assert row.configuration is not None
    speeds, measures = system.speeds, [x for x in leaves([row.configuration], shared.tangents) if x.op == MEASURE]
    rates = dict(zip(speeds.q, speeds.kinematics, strict=True)) | measure_rates(system, measures)
    rate = total_time_derivative([row.configuration], rates, shared.tangents)
    return configuration, substitute_further(rate, shared.images)[0]


def _require_idle(equation: Equation, probe: Probe, residuals: Sequence[Expr | None]) -> None:
    """Raise ModelError unless a row without speeds holds by itself."""
    for residual in residuals:
        if residual is not None and not abs(probe([residual])[0]) < ROW_TOLERANCE:
            raise ModelError(
                f"the constraint {equation.name!r} cannot hold: no speed changes its residual, which is "
                f"{probe([residual])[0]:.6g}; check the geometry (a planar loop must close in its plane), or "
                "take the constraint out"
            )
