"""Constraints as linear equations in the speeds: A u + b = 0, and A udot + remainder = 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import gradient, linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import MEASURE
from kane.expression.traverse import count, substitute
from kane.formulation.constraints.angle_sums import gathered
from kane.formulation.recursive.measures import images, measure_rates
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds
from kane.formulation.tree.system import System
from kane.model.constraints import Row
from kane.model.constraints.constraint import Imposed

# Residuals of geometry [m or rad] and coefficients below this are round-off of what they went through.
ROUNDING = 1e-11


@dataclass(frozen=True)
class Equation:
    """One scalar constraint equation in the speeds u.

    Attributes:
        name: of the constraint, and of the row where it has several.
        coefficients: row of A, sparse: {column of u: coefficient}; of a motion constraint that is not linear in u, its
            gradient with respect to u.
        motion: A u + b, or what stands in its place where it is not linear in u.
        remainder: what is added to A udot in its time derivative, free of udot.
        configuration: the residual of the configuration; None for a motion constraint.
        linear: whether the motion constraint is linear in u.
        instead: A u + b of a row that may stand for this one where speeds are eliminated; None where there is none.
        integral: of a row that comes and goes, what its motion is the time derivative of, and which it therefore holds
            at the value that it had when it was imposed; None where the configuration says more, or nothing is known.
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


def constraint_equations(constraints: Sequence[Imposed], system: System, probe: Probe) -> tuple[Equation, ...]:
    """The equations of all constraints; rows that hold whatever the motion are left out, as are repeated ones.

    Raises:
        ModelError: a row cannot hold, or depends on something that has no value in these equations.
    """
    found: dict[object, Equation] = {}
    for equation in every_equation(constraints, system):
        if equation.name in system.completed:
            continue
        # A coefficient that has no value there (a root of a negative number) does not vanish.
        if not np.all(np.abs(probe.anywhere(list(equation.coefficients.values()))) <= ROUNDING):
            found.setdefault((equation.motion, equation.configuration), equation)
        else:
            # Speeds of choice that keep a constraint do not change its configuration, which is then not theirs to hold.
            _require_idle(equation, probe, [equation.motion] + ([equation.configuration] if system.own is None else []))
    return tuple(found.values())


def every_equation(constraints: Sequence[Imposed], system: System) -> Iterator[Equation]:
    """The equations of all rows, in order."""
    for imposed in constraints:
        for row in imposed.rows:
            yield row_equation(row, imposed.name_of(row), system)


def shortest(equation: Equation, speeds: Speeds, probe: Probe) -> Equation:
    """The equation with what may stand for its motion, or the derivative of its configuration where that is the same,
    if it is shorter.

    Velocities are found from body to body, coordinate by coordinate derivatives are: in the plane these are shorter.
    """
    if equation.instead is not None:
        other = equation_of(equation.name, equation.instead, equation.configuration, speeds)
        return other if operations([other]) < operations([equation]) else equation
    if equation.configuration is None:
        return equation
    rates = dict(zip(speeds.q, speeds.kinematics, strict=True))
    (configuration,), products = gathered([equation.configuration])
    motion = total_time_derivative([configuration], rates)[0]
    found = _written(equation_of(equation.name, motion, configuration, speeds), products)
    values = probe.anywhere([found.motion, equation.motion])
    same = abs(values[0] - values[1]) <= ROUNDING * max(1.0, abs(values[1]))
    return (
        replace(found, configuration=equation.configuration)
        if same and operations([found]) < operations([equation])
        else equation
    )


def _written(equation: Equation, images: Mapping[Expr, Expr]) -> Equation:
    """The equation with nodes replaced."""
    given = [*equation.coefficients.values(), equation.motion, equation.remainder]
    *coefficients, motion, remainder = substitute(given, images)
    columns = dict(zip(equation.coefficients, coefficients, strict=True))
    return replace(equation, coefficients=columns, motion=motion, remainder=remainder)


def operations(equations: Sequence[Equation]) -> int:
    """That coefficients and remainders of rows take together."""
    return sum(count([x for e in equations for x in (*e.coefficients.values(), e.remainder)]).values())


def row_equation(row: Row, name: str, system: System) -> Equation:
    """The equation of one row, in the speeds of a system."""
    configuration, motion = _substituted(row, name, system)
    found = equation_of(name, motion, configuration, system.speeds)
    if row.instead is None:
        return found
    return replace(found, instead=_substituted(Row(name, motion=row.instead), name, system)[1])


def equation_of(
    name: str, motion: Expr, configuration: Expr | None, speeds: Speeds, remainder: Expr | None = None
) -> Equation:
    """The equation of a motion in q, u and t; its remainder by the chain rule unless given."""
    linear = True
    try:
        (coefficients,), _ = linear_coefficients([motion], speeds.u)
    except ExpressionError:
        coefficients, linear = gradient(motion, speeds.u), False
    if remainder is None:
        rates = dict(zip(speeds.q, speeds.kinematics, strict=True))
        remainder = total_time_derivative([motion], rates)[0]
    sparse = {j: c for j, c in enumerate(coefficients) if not (c.is_constant and abs(float(c)) < ROUNDING)}
    return Equation(name, sparse, motion, remainder, configuration, linear)


def _substituted(row: Row, name: str, system: System) -> tuple[Expr | None, Expr]:
    """Configuration and motion in q, u and t."""
    given = [x for x in (row.configuration, row.motion) if x is not None]
    found = images(system, given, f"the constraint {name!r}")
    try:
        values = iter(substitute(given, found))
    except ExpressionError as error:
        raise ModelError(f"{name!r} has no equation where its bodies move by these joints: {error}") from error
    configuration = None if row.configuration is None else next(values)
    if row.motion is not None:
        return configuration, next(values)
    assert row.configuration is not None
    speeds, measures = system.speeds, [x for x in found if x.op == MEASURE]
    rates = dict(zip(speeds.q, speeds.kinematics, strict=True)) | measure_rates(system, measures)
    return configuration, substitute(total_time_derivative([row.configuration], rates), found)[0]


def _require_idle(equation: Equation, probe: Probe, residuals: Sequence[Expr | None]) -> None:
    """A row in which no speed stands must hold by itself."""
    for residual in residuals:
        if residual is not None and not abs(probe([residual])[0]) < ROUNDING:
            raise ModelError(
                f"the constraint {equation.name!r} cannot hold: no speed changes its residual, which is "
                f"{probe([residual])[0]:.6g}; check the geometry (a loop that lies in a plane must close in it), or "
                "take the constraint out"
            )
