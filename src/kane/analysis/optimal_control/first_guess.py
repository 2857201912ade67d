"""First guesses of the unknowns of a collocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh
from kane.analysis.optimal_control.ipopt import Bounds, Solution
from kane.analysis.optimal_control.problem import Problem
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.expression.number_arguments import numbers
from kane.geometry.quaternion import normalise_quaternions
from kane.model.checks import require_known
from kane.simulation.results.run_model import names_of
from kane.simulation.results.trajectory import Trajectory

# Values at fractions of the duration, (fractions, values).
Course = Callable[[Vector], Array]


def first_guess(
    problem: Problem, mesh: CollocationMesh, bounds: Bounds, guess: Any, origin: Vector | None = None
) -> Solution:
    """Return the first iterate.

    Args:
        problem: the problem.
        mesh: places of the unknowns.
        bounds: bounds of the unknowns and rows.
        guess: as for ``collocate``.
        origin: state at the start, if nothing else gives one; by default neutral and at rest.

    Raises:
        ModelError: the guess is of another kind, of another model, or has unknown names.
    """
    rows = np.zeros(len(bounds.lower))
    if guess is not None and not isinstance(guess, Mapping):
        _require_same_model(problem, guess)
    known = getattr(guess, "solution", None)
    if known is not None and guess.mesh.unknowns == mesh.unknowns and guess.mesh.method == mesh.method:
        if len(known.multipliers) == len(rows) and np.array_equal(guess.mesh.fractions, mesh.fractions):
            return Solution(known.z.copy(), known.multipliers.copy(), known.at_bounds.copy())
    z = np.zeros(mesh.unknowns)
    states, inputs, duration, parameters = _courses(problem, guess, origin)
    if guess is None and problem.dyn.equations.closing:
        states = _closed(problem, mesh.fractions, states(mesh.fractions))
    z[mesh.node_states], z[mesh.point_states] = states(mesh.fractions), states(mesh.point_fractions)
    z[mesh.point_inputs] = inputs(mesh.point_fractions)
    z[mesh.duration], z[mesh.free_parameters] = duration, parameters
    for places in (mesh.node_states, mesh.point_states):
        q = z[places]
        with np.errstate(invalid="ignore"):  # a turn by 360 degrees passes zero
            normalise_quaternions(q, problem.layout.quaternions)
        z[places] = np.where(np.isfinite(q), q, z[places])
    n, s = mesh.speeds, mesh.point_fractions
    z = np.clip(z, bounds.least, bounds.most)
    if len(s) > 1:
        z[mesh.accelerations] = np.gradient(z[mesh.point_states][:, -n:], s * z[mesh.duration], axis=0)
    return Solution(z, rows, np.zeros(mesh.unknowns))


def _courses(problem: Problem, guess: Any, origin: Vector | None) -> tuple[Course, Course, float, Vector]:
    """Return states, unknown inputs, duration and free parameters of a guess."""
    layout, count = problem.layout, len(problem.inputs)
    least, most = problem.duration
    duration = least if most == np.inf else 0.5 * (least + most)
    parameters = problem.parameters[list(problem.free[0])]
    names = (*layout.coordinates, *layout.speeds)
    states, inputs = _lines(problem, origin), _constant(np.clip(np.zeros(count), *problem.input_limits.T))
    if guess is None:
        return states, inputs, duration, parameters
    if isinstance(guess, Mapping):
        free = [layout.parameters[k] for k in problem.free[0]]
        for name in guess:
            known = (*names, *problem.inputs, *free, "duration")
            require_known(name, known, "coordinate, speed, unknown input or free parameter")
        given = {name: _samples(name, x) for name, x in guess.items()}
        duration = float(given["duration"][0]) if "duration" in given else duration
        parameters = np.array(
            [given[name][0] if name in given else x for name, x in zip(free, parameters, strict=True)]
        )
        return _named(given, names, states), _named(given, problem.inputs, inputs), duration, parameters
    times = np.asarray(guess.time, dtype=float)
    fractions = (times - times[0]) / (times[-1] - times[0])
    course = _through(fractions, np.column_stack([guess.q, guess.u]))
    span = float(np.clip(times[-1] - times[0], least, most))
    if isinstance(guess, Trajectory):
        values = np.column_stack([guess[name] for name in problem.inputs]) if count else np.zeros((len(times), 0))
        return course, _through(fractions, values), span, parameters
    parameters = np.array([guess.parameters[layout.parameters[k]] for k in problem.free[0]])
    return course, _through(guess.mesh.point_fractions, guess.point_inputs), span, parameters


def _require_same_model(problem: Problem, guess: Any) -> None:
    """Raise ModelError unless a guess is a Trajectory or a Collocation with the states and inputs of the problem."""
    if isinstance(guess, Trajectory):
        own = [*names_of(guess, "coordinate"), *names_of(guess, "speed")]
    elif hasattr(guess, "mesh"):
        own = [*guess.problem.state_names, *guess.problem.inputs]
    else:
        raise ModelError(
            f"guess is {shown(guess)}; give a Trajectory, a Collocation, or a dict from names to numbers or samples"
        )
    wanted = [*problem.state_names, *(() if isinstance(guess, Trajectory) else problem.inputs)]
    if own != wanted:
        raise ModelError(f"guess has {', '.join(own)}; {problem.layout.model!r} has {', '.join(wanted)}")


def _lines(problem: Problem, origin: Vector | None) -> Course:
    """Return states that change linearly from the start to the end; neutral and at rest where nothing is given."""
    neutral = np.concatenate([problem.layout.neutral, np.zeros(len(problem.layout.speeds))])
    given = ((neutral if origin is None else origin, problem.start), (neutral, problem.end))
    first, last = (_nearest(values, limits) for values, limits in given)
    free = np.isinf(problem.end).all(axis=1)
    last[free] = first[free]
    return lambda s: first + np.multiply.outer(s, last - first)


def _closed(problem: Problem, fractions: Vector, states: Array) -> Course:
    """Return a course through states that are moved onto the configuration constraints, each from its predecessor."""
    project, nq = problem.dyn.project, len(problem.layout.coordinates)
    assert project is not None
    constants, found, time = project.stage(problem.parameters), states.copy(), np.clip([0.0], *problem.begin)
    for k in range(1, len(states)):
        moved = found[k - 1] + states[k] - states[k - 1]
        at = project(np.concatenate([time, moved]), np.zeros(project.n_rest), constants)[: len(moved)]
        if np.isfinite(at).all():
            found[k, :nq] = at[:nq]
    return _through(fractions, found)


def _nearest(values: Vector, limits: Array) -> Vector:
    return np.clip(values, limits[:, 0], limits[:, 1])


def _constant(values: Vector) -> Course:
    return lambda s: np.tile(values, (len(s), 1))


def _through(fractions: Vector, values: Array) -> Course:
    return lambda s: (
        np.stack([np.interp(s, fractions, column) for column in values.T], axis=-1)
        if values.size
        else (np.zeros((len(s), values.shape[1])))
    )


def _samples(name: str, given: Any) -> Vector:
    """Return the samples of a name in a guess."""
    found = np.atleast_1d(numbers(given, f"the guess of {name!r} is a number or samples"))
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise ModelError(f"the guess of {name!r} is {shown(given)}; give a finite number, or a list of them")
    return found


def _named(samples: Mapping[str, Vector], names: Sequence[str], others: Course) -> Course:
    """Return a course with the named samples in place of some columns."""

    def course(s: Vector) -> Array:
        found = np.array(others(s))
        for k, name in enumerate(names):
            if name in samples:
                found[:, k] = np.interp(s, np.linspace(0.0, 1.0, len(samples[name])), samples[name])
        return found

    return course
