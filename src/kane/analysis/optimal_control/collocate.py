"""``kane.collocate``: optimal control by direct collocation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation import Collocation, solve_on_mesh
from kane.analysis.optimal_control.collocation_method import COLLOCATION_METHODS
from kane.analysis.optimal_control.end_values import Condition, EndLeaves, known_expressions
from kane.analysis.optimal_control.limits import joined, limits_from, named_limits
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.analysis.optimal_control.problem import Problem
from kane.analysis.optimal_control.transcription import Transcription
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, list_names, shown, warn
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument, number, numbers, positive, require, whole
from kane.model.checks import require_known
from kane.simulation.inputs.closed_loop import resolve_replacements
from kane.simulation.state_layout import Layout

LEAST_NODES = 3


def collocate(
    dyn: Dynamics,
    *,
    duration: Any,
    nodes: Any,
    objective: Any = 0.0,
    start: Mapping[str, Any] | None = None,
    end: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    boundary: Sequence[Any] = (),
    path: Sequence[Any] = (),
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    guess: Any = None,
    method: str = "hermite-simpson",
    begin: float = 0.0,
    tolerance: float = 1e-8,
    iterations: int = 3000,
) -> Collocation:
    """Find the motion and the inputs that minimize an objective, by direct collocation.

        minimize   phi(x(t0), x(T), p) + int l(t, x, inputs, p) dt
        subject to the equations of motion, path constraints, bounds and boundary conditions

    States, inputs, accelerations and multipliers of constraints at all nodes are unknowns of one sparse nonlinear
    program, which Ipopt solves with exact first and second derivatives. Closed loops, rolling and chosen speeds are
    allowed; contacts and other intermittent constraints are not active.

    Args:
        dyn: compiled equations, from ``kane.build``.
        duration: length of the motion [s]: a number, or limits (lower, upper) if it is free. Its first guess is the
            middle of the limits, or the lower one without an upper one.
        nodes: number of nodes, at equal distances; or an array of increasing fractions from 0 to 1.
        objective: expression of ``kane.initial``, ``kane.final``, ``kane.integral`` and parameters.
        start, end: states at both ends by name: numbers, or limits (lower, upper).
        bounds: limits (lower, upper) of coordinates, speeds and inputs by name, at all times; a number is a value that
            is kept.
        boundary: conditions: expressions that vanish, or (expression, lower, upper), of the terms of ``objective``.
        path: constraints at all points: (expression, lower, upper), of time, coordinates, speeds and inputs.
        inputs: inputs that are known, by name: numbers or expressions of time and state. The others are unknown.
        parameters: values by name; limits (lower, upper) make a parameter unknown.
        guess: first guess: a ``Trajectory``, another ``Collocation``, or a dict from names to numbers or to samples at
            equal distances in time. The names are states, unknown inputs, free parameters and "duration". By default
            states change linearly from ``start`` to ``end``.
        method: "backward euler", "midpoint", "trapezoid", "hermite-simpson" or "radau".
        begin: first time [s].
        tolerance: relative residual of optimality at which the iterations end.
        iterations: largest number of iterations.

    Returns:
        The result, which says in words whether it is a solution.

    Raises:
        ModelError: an argument is invalid; the message names it.
        CompileError: Ipopt is missing; it comes with the package casadi.

    Source: Betts 2010, Practical methods for optimal control and estimation, chapter 4.
    """
    require(dyn, Dynamics, "collocate needs Dynamics, as kane.build(equations) returns")
    _warn_of_modes(dyn)
    require_known(method, COLLOCATION_METHODS, "method")
    e, layout = dyn.equations, Layout.of(dyn.equations)
    values, (free, free_limits) = _parameters(dyn, parameters)
    symbols = Symbols(e, _laws(dyn, inputs), number(begin, "begin", "seconds"))
    unknown = tuple(leaf.name for leaf in symbols.inputs)
    conditions, condition_limits = _conditions(EndLeaves(symbols, COLLOCATION_METHODS[method]), objective, boundary)
    expressions, path_limits = _path(symbols, path)
    leaves = tuple(e.parameters[k] for k in free)
    transcription = Transcription(dyn, symbols, COLLOCATION_METHODS[method], leaves, expressions, conditions)
    span = _duration(duration)
    states, by_input, at_start, at_end = _limits(layout, unknown, start, end, bounds)
    problem = Problem(
        transcription, layout, unknown, states, at_start, at_end, by_input, path_limits, condition_limits,
        span, symbols.start, values, (free, free_limits),
    )  # fmt: skip
    _require_choice(problem)
    given = positive(tolerance, "tolerance"), whole(iterations, "iterations", 1)
    return solve_on_mesh(problem, _fractions(nodes), guess, given)


def _warn_of_modes(dyn: Dynamics) -> None:
    """Warn of contacts and other intermittent constraints, which do not act."""
    names = [c.name for c in dyn.equations.intermittents]
    if names:
        warn(
            f"contacts, stops, latches, sticks and switches do not act in kane.collocate: {list_names(names)}; give "
            "bounds or path constraints in their place"
        )


def _require_choice(problem: Problem) -> None:
    """Raise ModelError if the motion follows from the arguments."""
    least, most = problem.duration
    if not problem.inputs and not problem.free[0] and least == most and not np.ptp(problem.start, axis=1).any():
        raise ModelError(
            f"nothing in the motion of {problem.layout.model!r} can be chosen: leave an input, a parameter, the "
            "duration or a part of start free"
        )


def _duration(given: Any) -> tuple[float, float]:
    """Return the limits of the duration."""
    least, most = limits_from(given, "duration")
    if not 0.0 < least < math.inf:
        raise ModelError(f"duration is {shown(given)}; give a positive number, or positive limits (lower, upper)")
    return least, most


def _conditions(ends: EndLeaves, objective: Any, boundary: Any) -> tuple[tuple[Condition, ...], Array]:
    """Return the boundary conditions and then the objective, and the limits of the conditions, (conditions, 2)."""
    found, limits = [], []
    for k, one in enumerate(list_argument(boundary, "boundary", "expressions, or (expression, lower, upper)"), 1):
        who = f"boundary condition {k}"
        expression, between = (one, (0.0, 0.0)) if isinstance(one, Expr) else _limited(one, who)
        found.append(Condition.of(expression, who, ends))
        limits.append(between)
    return (*found, Condition.of(objective, "the objective", ends)), np.array(limits).reshape(-1, 2)


def _path(symbols: Symbols, path: Any) -> tuple[tuple[Expr, ...], Array]:
    """Return the expressions of path constraints, and their limits, (path, 2)."""
    given = list_argument(path, "path", "tuples (expression, lower, upper)")
    found = {f"path constraint {k}": _limited(one, f"path constraint {k}") for k, one in enumerate(given, 1)}
    known = known_expressions(symbols, {who: expression for who, (expression, _) in found.items()})
    return tuple(known), np.array([limits for _, limits in found.values()]).reshape(-1, 2)


def _limits(
    layout: Layout, unknown: Sequence[str], start: Any, end: Any, bounds: Any
) -> tuple[Array, Array, Array, Array]:
    """Return the limits of states and of unknown inputs at all times, and of states at the start and at the end."""
    names = (*layout.coordinates, *layout.speeds)
    known = [name for name in (bounds if isinstance(bounds, Mapping) else ()) if name in layout.inputs]
    for name in known:
        if name not in unknown:
            raise ModelError(f"bounds of the input {name!r}, which inputs= gives; leave one of them out")
    everywhere = named_limits(bounds, (*names, *unknown), "coordinate, speed or unknown input", "bounds")
    states = everywhere[: len(names)]
    at_start, at_end = (
        joined(states, named_limits(one, names, "coordinate or speed", word), names, ("bounds", word))
        for one, word in ((start, "start"), (end, "end"))
    )
    return states, everywhere[len(names) :], at_start, at_end


def _limited(given: Any, who: str) -> tuple[Expr, tuple[float, float]]:
    """Return expression and limits of a tuple (expression, lower, upper)."""
    if not (isinstance(given, (tuple, list)) and len(given) == 3 and isinstance(given[0], Expr)):
        raise ModelError(f"{who} is {shown(given)}; give (expression, lower, upper), None for no limit")
    limits = limits_from(given[1:], who)
    if limits == (-math.inf, math.inf):
        raise ModelError(f"{who} has no limit; give a number for the lower or the upper one")
    return given[0], limits


def _parameters(dyn: Dynamics, given: Any) -> tuple[Vector, tuple[tuple[int, ...], Array]]:
    """Return the values of all parameters, indices of the free ones, and their limits."""
    e, given = dyn.equations, {} if given is None else given
    if not isinstance(given, Mapping):
        raise ModelError(f"parameters is {shown(given)}; give a dict from names to numbers or limits (lower, upper)")
    names = [leaf.name for leaf in e.parameters]
    for name in given:
        require_known(name, names, "parameter")
    limits = {
        name: limits_from(x, f"the parameter {name!r}") for name, x in given.items() if isinstance(x, (tuple, list))
    }
    first = {name: float(np.clip(e.defaults[name], *ends)) for name, ends in limits.items()}
    values = e.parameter_bounds.given({**given, **first})
    free = tuple(k for k, name in enumerate(names) if name in limits)
    return values, (free, np.array([limits[names[k]] for k in free]).reshape(-1, 2))


def _laws(dyn: Dynamics, given: Any) -> dict[Expr, Expr]:
    """Return the expressions of the inputs that are known."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise ModelError(f"inputs is {shown(given)}; give a dict from names of known inputs to numbers or expressions")
    e = dyn.equations
    names = [leaf.name for leaf in e.inputs]
    for name in given:
        require_known(name, names, "input")
    for name, x in given.items():
        if not isinstance(x, (Expr, Real)):
            raise ModelError(
                f"the input {name!r} is {shown(x)}; give a number or an expression of time and state, such as "
                "kane.spline(m.time, times, values)"
            )
    lifted = {
        name: x if isinstance(x, Expr) else e.t.arena.constant(number(x, f"the input {name!r}"))
        for name, x in given.items()
    }
    return resolve_replacements(e, lifted)


def _fractions(nodes: Any) -> Vector:
    """Return the nodes as fractions of the duration."""
    if np.ndim(nodes) == 0:
        return np.linspace(0.0, 1.0, whole(nodes, "nodes", LEAST_NODES))
    found = np.array(numbers(nodes, "nodes is a number of nodes, or an array of fractions from 0 to 1"))
    if (
        found.ndim != 1
        or len(found) < LEAST_NODES
        or found[0] != 0.0
        or found[-1] != 1.0
        or (np.diff(found) <= 0.0).any()
    ):
        raise ModelError("the fractions in nodes must increase from 0.0 to 1.0")
    return found
