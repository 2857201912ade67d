"""``kane.collocate``: optimal control by direct collocation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation import Collocation, solve_on_mesh
from kane.analysis.optimal_control.collocation_arguments import (
    PhaseLimits,
    SharedArguments,
    boundary_conditions,
    duration_limits,
    node_fractions,
    path_constraints,
)
from kane.analysis.optimal_control.end_values import Condition, EndLeaves
from kane.analysis.optimal_control.phase import Phase
from kane.analysis.optimal_control.phase_sequence import PhaseSequence
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.analysis.optimal_control.phased_collocation import PhasedCollocation, solve_phases
from kane.analysis.optimal_control.problem import Problem
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, list_names, warn
from kane.expression.number_arguments import number, positive, require, whole


def collocate(
    dyn: Dynamics,
    *,
    duration: Any = None,
    nodes: Any = None,
    phases: Sequence[Phase] | None = None,
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
) -> Collocation | PhasedCollocation:
    """Find the motion and the inputs that minimize an objective, by direct collocation.

        minimize   phi(x(t0), x(T), p) + int l(t, x, inputs, p) dt
        subject to the equations of motion, path constraints, bounds and boundary conditions

    States, inputs, accelerations and multipliers of constraints at all nodes are unknowns of one sparse nonlinear
    program, which Ipopt solves with exact first and second derivatives. Closed loops, rolling and chosen speeds are
    allowed. Contacts and other intermittent constraints act only in the modes of ``phases``. Guards and impulses
    M (u+ - u-) = A^T p join the phases.

    Args:
        dyn: compiled equations, from ``kane.build``.
        duration: length of the motion [s]: a number, or limits (lower, upper) if it is free. Its first guess is the
            middle of the limits, or the lower one without an upper one.
        nodes: number of nodes, at equal distances; or an array of increasing fractions from 0 to 1.
        phases: list of ``kane.Phase`` in contact modes, in place of ``duration`` and ``nodes``. ``objective`` and
            ``boundary`` refer to the whole motion, ``start`` and ``end`` to its ends, the others to all phases.
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
            states change linearly from ``start`` to ``end``. With phases, a ``Trajectory`` through the same modes or
            another result; each ``Phase`` has a guess of its own.
        method: "backward euler", "midpoint", "trapezoid", "hermite-simpson" or "radau".
        begin: first time [s].
        tolerance: relative residual of optimality at which the iterations end.
        iterations: largest number of iterations.

    Returns:
        The result, which says in words whether it is a solution: ``PhasedCollocation`` with phases.

    Raises:
        ModelError: an argument is invalid; the message names it.
        CompileError: Ipopt is missing; it comes with the package casadi.

    Source: Betts 2010, Practical methods for optimal control and estimation, chapter 4.
    """
    require(dyn, Dynamics, "collocate needs Dynamics, as kane.build(equations) returns")
    shared = SharedArguments.of(dyn, method, inputs, parameters)
    settings = positive(tolerance, "tolerance"), whole(iterations, "iterations", 1)
    first = number(begin, "begin", "seconds")
    limits = PhaseLimits([("start", start)], [("end", end)], [("bounds", bounds)], (0.0, 0.0), (first, first))
    given = objective, boundary, path
    if phases is not None:
        if duration is not None or nodes is not None:
            raise ModelError("duration and nodes belong to each kane.Phase; leave them out where phases are given")
        sequence = PhaseSequence.of(shared, phases, limits, given)
        return solve_phases(sequence, [node_fractions(phase.nodes) for phase in phases], guess, settings)
    _warn_of_modes(dyn)
    problem = _of_one_phase(shared, limits._replace(duration=duration_limits(duration)), given)
    _require_choice(problem)
    return solve_on_mesh(problem, node_fractions(nodes), guess, settings)


def _of_one_phase(shared: SharedArguments, limits: PhaseLimits, given: tuple[Any, Any, Any]) -> Problem:
    """Return the problem of one phase; ``given`` are objective, boundary conditions and path constraints."""
    objective, boundary, path = given
    symbols = Symbols(shared.dyn.equations, shared.laws)
    ends = EndLeaves(symbols, symbols, shared.method)
    asked = boundary_conditions(boundary)
    conditions = [Condition.of(x, who, ends, symbols) for who, x, _ in (*asked, ("the objective", objective, None))]
    between = np.array([both for *_, both in asked]).reshape(-1, 2)
    return shared.problem(shared.dyn, symbols, (conditions, between), limits, path_constraints(symbols, path))


def _warn_of_modes(dyn: Dynamics) -> None:
    """Warn of contacts and other intermittent constraints, which do not act."""
    names = [c.name for c in dyn.equations.intermittents]
    if names:
        warn(
            f"contacts, stops, latches, sticks and switches do not act in kane.collocate: {list_names(names)}; give "
            "phases= with their modes, or bounds or path constraints in their place"
        )


def _require_choice(problem: Problem) -> None:
    """Raise ModelError if the motion follows from the arguments."""
    least, most = problem.duration
    if not problem.inputs and not problem.free[0] and least == most and not np.ptp(problem.start, axis=1).any():
        raise ModelError(
            f"nothing in the motion of {problem.layout.model!r} can be chosen: leave an input, a parameter, the "
            "duration or a part of start free"
        )
