"""Arguments of ``kane.collocate``, checked and read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from kane.analysis.optimal_control.collocation_method import COLLOCATION_METHODS, CollocationMethod
from kane.analysis.optimal_control.end_values import Condition, known_expressions
from kane.analysis.optimal_control.limits import joined, limits_from, named_limits
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.analysis.optimal_control.problem import Problem
from kane.analysis.optimal_control.transcription import Transcription
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument, number, numbers, whole
from kane.model.checks import require_known, require_no_comparison
from kane.simulation.inputs.closed_loop import resolve_replacements
from kane.simulation.state_layout import Layout

LEAST_NODES = 3
GIVE_LIMITS = "give (expression, lower, upper), None for no limit"


class PathConstraint(NamedTuple):
    """A constraint at all collocation points.

    Attributes:
        name: name in messages.
        expression: expression of t, q, u, multipliers and inputs.
        limits: lower and upper limit.
        loose: whether it does not hold at the first time, and at the last time.
    """

    name: str
    expression: Expr
    limits: tuple[float, float]
    loose: tuple[bool, bool] = (False, False)


class PhaseLimits(NamedTuple):
    """Limits of a phase as a user gives them: of states at the start and the end, of all quantities, of the duration.

    Attributes:
        start, end, bounds: dicts by name, several of which may apply.
        duration: limits [s].
        begin: limits of the first time [s].
    """

    start: Sequence[tuple[str, Any]]
    end: Sequence[tuple[str, Any]]
    bounds: Sequence[tuple[str, Any]]
    duration: tuple[float, float]
    begin: tuple[float, float]


@dataclass(frozen=True)
class SharedArguments:
    """Arguments that all phases of a motion share.

    Attributes:
        dyn: compiled equations, without active intermittent constraints.
        method: collocation method.
        laws: expressions of the known inputs.
        values: values of all parameters.
        free: indices of free parameters, and their limits.
    """

    dyn: Dynamics
    method: CollocationMethod
    laws: Mapping[Expr, Expr]
    values: Vector
    free: tuple[tuple[int, ...], Array]

    @classmethod
    def of(cls, dyn: Dynamics, method: Any, inputs: Any, parameters: Any) -> SharedArguments:
        """Check and read the arguments.

        Raises:
            ModelError: an argument is invalid.
        """
        require_known(method, COLLOCATION_METHODS, "method")
        return cls(dyn, COLLOCATION_METHODS[method], _laws(dyn, inputs), *_parameters(dyn, parameters))

    @property
    def parameter_leaves(self) -> tuple[Expr, ...]:
        """Leaves of the free parameters."""
        return tuple(self.dyn.equations.parameters[k] for k in self.free[0])

    def problem(
        self,
        mode: Dynamics,
        symbols: Symbols,
        conditions: tuple[Sequence[Condition], Array],
        limits: PhaseLimits,
        path: Sequence[PathConstraint],
    ) -> Problem:
        """Return the problem of one phase.

        Args:
            mode: dynamics in the contact mode of the phase.
            symbols: leaves of the phase.
            conditions: boundary conditions, then the objective, and the limits of the boundary conditions.
            limits: limits of states and times.
            path: path constraints.
        """
        layout, unknown = Layout.of(self.dyn.equations), tuple(leaf.name for leaf in symbols.inputs)
        states, by_input, at_start, at_end = _limits(layout, unknown, limits)
        expressions = tuple(one.expression for one in path)
        transcription = Transcription(
            mode, symbols, self.method, self.parameter_leaves, expressions, tuple(conditions[0])
        )
        first, last = (tuple(k for k, one in enumerate(path) if one.loose[end]) for end in (0, 1))
        return Problem(
            transcription, layout, unknown, states, at_start, at_end, by_input,
            np.array([one.limits for one in path]).reshape(-1, 2), tuple(one.name for one in path), (first, last),
            conditions[1], limits.duration, limits.begin, self.values, self.free,
        )  # fmt: skip


def duration_limits(given: Any, who: str = "duration") -> tuple[float, float]:
    """Return the limits of a duration.

    Raises:
        ModelError: missing, or not positive numbers.
    """
    if given is None:
        raise ModelError(f"there is no {who}; give seconds, or limits (lower, upper) if it is free")
    least, most = limits_from(given, who)
    if not 0.0 < least < math.inf:
        raise ModelError(f"{who} is {shown(given)}; give a positive number, or positive limits (lower, upper)")
    return least, most


def boundary_conditions(boundary: Any, phase: str = "") -> list[tuple[str, Any, tuple[float, float]]]:
    """Return name, expression and limits of boundary conditions.

    Raises:
        ModelError: one is neither an expression nor (expression, lower, upper), or is a comparison.
    """
    found = []
    for k, one in enumerate(list_argument(boundary, "boundary", "expressions, or (expression, lower, upper)"), 1):
        who = f"boundary condition {k}{phase}"
        require_no_comparison(one, who, GIVE_LIMITS)
        found.append((who, *((one, (0.0, 0.0)) if isinstance(one, Expr) else _limited(one, who))))
    return found


def path_constraints(symbols: Symbols, path: Any, phase: str = "") -> list[PathConstraint]:
    """Return the path constraints of a user.

    Raises:
        ModelError: one is not (expression, lower, upper), or depends on other quantities.
    """
    given = list_argument(path, "path", "tuples (expression, lower, upper)")
    words = [f"path constraint {k}{phase}" for k in range(1, len(given) + 1)]
    found = {who: _limited(one, who) for who, one in zip(words, given, strict=True)}
    known = known_expressions(symbols, {who: expression for who, (expression, _) in found.items()})
    return [PathConstraint(who, x, found[who][1]) for who, x in zip(found, known, strict=True)]


def _limits(layout: Layout, unknown: Sequence[str], given: PhaseLimits) -> tuple[Array, Array, Array, Array]:
    """Return the limits of states and of unknown inputs at all times, and of states at the start and at the end."""
    names = (*layout.coordinates, *layout.speeds)
    everything = (*names, *unknown)
    everywhere = named_limits(None, everything, "", "")
    for who, bounds in given.bounds:
        for name in bounds if isinstance(bounds, Mapping) else ():
            if name in layout.inputs and name not in unknown:
                raise ModelError(f"{who} of the input {name!r}, which inputs= gives; leave one of them out")
        own = named_limits(bounds, everything, "coordinate, speed or unknown input", who)
        everywhere = joined(everywhere, own, everything, ("bounds", who))
    ends = []
    for asked in (given.start, given.end):
        named = [(who, named_limits(one, names, "coordinate or speed", who)) for who, one in asked]
        for (first, a), (second, b) in combinations([("bounds", everywhere[: len(names)]), *named], 2):
            joined(a, b, names, (first, second))
        limits = [everywhere[: len(names)], *(x for _, x in named)]
        ends.append(reduce(lambda a, b: joined(a, b, names, ("", "")), limits))
    return everywhere[: len(names)], everywhere[len(names) :], ends[0], ends[1]


def _limited(given: Any, who: str) -> tuple[Expr, tuple[float, float]]:
    """Return expression and limits of a tuple (expression, lower, upper)."""
    if not (isinstance(given, (tuple, list)) and len(given) == 3 and isinstance(given[0], Expr)):
        raise ModelError(f"{who} is {shown(given)}; {GIVE_LIMITS}")
    require_no_comparison(given[0], who, GIVE_LIMITS)
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


def node_fractions(nodes: Any) -> Vector:
    """Return the nodes as fractions of the duration.

    Raises:
        ModelError: neither a number of nodes nor increasing fractions from 0 to 1.
    """
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
