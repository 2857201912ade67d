"""Find a state for an exported example that satisfies the constraints and gives finite values of all programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.codegen.programs.program import Program
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import quantity
from kane.geometry.quaternion import normalise_quaternions

# Distance of further starts of Newton's method from the neutral coordinates [rad or m].
NEWTON_START_OFFSET = 0.3
# Largest number of Newton steps, and residual that ends them [m or rad].
MAX_EXAMPLE_STEPS, EXAMPLE_RESIDUAL = 50, 1e-12


def example_state(equations: Equations, programs: Sequence[Program]) -> tuple[Array, Array]:
    """Return coordinates and minimum-norm speeds at t = 0 that satisfy the constraints.

    Newton's method starts from the state of the speed selection, if there is one, then from the neutral coordinates,
    then from coordinates NEWTON_START_OFFSET away from them. The first result at which the programs have finite values
    is returned, or else the last result.
    """
    for q in _starts(equations):
        q = _closed(equations, q)
        u = _smallest_speeds(equations, q)
        if np.isfinite(_outputs(equations, programs, (q, u))).all():
            break
    return q, u


def _starts(equations: Equations) -> Iterator[Array]:
    near, neutral = equations.model.speed_choice.near, np.array(equations.neutral)
    if near is not None:
        yield np.array([near.q[leaf.name] for leaf in equations.q])
    yield neutral
    for signs in ((1.0,), (1.0, -1.0)):
        aside = neutral + NEWTON_START_OFFSET * np.resize(signs, len(neutral))
        for start in equations.quaternions:
            aside[start : start + 4] = neutral[start : start + 4]
        yield aside


def _values(equations: Equations, q: Array, u: Array) -> Mapping[Expr, Any]:
    """Return values of all leaves, with parameters and inputs at their defaults, t = 0 and udot = 0."""
    symbols = {leaf: equations.defaults[leaf.name] for leaf in (*equations.parameters, *equations.inputs)}
    state = zip((*equations.q, *equations.u), (*q, *u), strict=True)
    return {**symbols, equations.t: 0.0, **dict.fromkeys(equations.udot, 0.0), **dict(state)}


def _numbers(equations: Equations, outputs: Sequence[Any], q: Array, u: Array) -> Array:
    lift = equations.system.arena.lift
    return np.array(interpret([lift(x) for x in outputs], _values(equations, q, u)), float)


def _closed(equations: Equations, q: Array) -> Array:
    """Project coordinates onto the configuration constraints by Newton's method with minimum-norm steps."""
    own = equations.own
    closure, n = quantity(own, "closure").outputs, len(own.u)
    count = len(closure) // (n + 1)
    rates, still = own.unconstrained.kinematics, np.zeros(n)
    for _ in range(MAX_EXAMPLE_STEPS if count else 0):
        found = _numbers(own, closure, q, still)
        phi, J = found[:count], found[count:].reshape(count, n)
        if not np.isfinite(found).all() or np.abs(phi).max() <= EXAMPLE_RESIDUAL:
            break
        step = np.asarray(np.linalg.lstsq(J, -phi, rcond=None)[0], float)
        q = q + _numbers(own, rates, q, step) - _numbers(own, rates, q, still)
        normalise_quaternions(q, own.quaternions)
    return q


def _smallest_speeds(equations: Equations, q: Array) -> Array:
    """Return the minimum-norm speeds with A u + b = 0."""
    n, rows = len(equations.u), len(equations.constraints)
    found = _numbers(equations, quantity(equations, "constraints").outputs, q, np.zeros(n))
    if not rows or not np.isfinite(found).all():
        return np.zeros(n)
    A, b = found[: rows * n].reshape(rows, n), found[rows * n :]
    return np.asarray(np.linalg.lstsq(A, -b, rcond=None)[0], float)


def _outputs(equations: Equations, programs: Sequence[Program], state: tuple[Array, Array]) -> Array:
    values = {leaf: 0.0 for program in programs for leaf in program.rest} | dict(_values(equations, *state))
    return np.array(interpret([x for program in programs for x in program.outputs], values), float)
