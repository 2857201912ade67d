"""``kane.verify``: check a collocation by simulation, between its nodes, and by its energy balance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kane.analysis.automaton.visited_modes import visits
from kane.analysis.laws import load_power, prescribes_motion
from kane.analysis.optimal_control.between_nodes import FRACTIONS, BetweenNodes
from kane.analysis.optimal_control.collocation import Collocation
from kane.analysis.optimal_control.ipopt import Bounds
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.analysis.optimal_control.phased_collocation import PhasedCollocation
from kane.array_types import Array
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import SimulationError
from kane.expression.number_arguments import require
from kane.expression.traverse import leaves
from kane.formulation.matrix_route import has_bodies
from kane.formulation.quantities.energy import energy
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.simulate import simulate

# Fraction of the duration by which states are compared before a transition. Modes of a simulation that last less than
# the fraction BRIEF belong to the transition: a foot may slip when it leaves the ground, because it has almost no load.
JUST_BEFORE, BRIEF = 1e-9, 1e-6


@dataclass(frozen=True)
class Verification:
    """Checks of a collocation; prints as a table of decimal digits.

    Attributes:
        optimality: largest component of the gradient of the Lagrangian, relative to its terms plus one.
        equations: largest violation of the equations at collocation points, constraints and conditions.
        between: largest relative error of an interval, see ``refine``.
        bounds: largest violation of bounds and path constraints between nodes, relative to their size plus one.
        energy: error of the energy balance, change of energy minus work of all loads, relative to both and the kinetic
            energy; NaN if moving constraints do unknown work.
        simulated: largest difference between nodes and a simulation with the same inputs, relative to the largest
            value of each state plus one; NaN if the simulation failed or passed other modes.
        trajectory: the simulation; None if it failed.
        problem: reason why the simulation failed; empty if it did not.
    """

    optimality: float
    equations: float
    between: float
    bounds: float
    energy: float
    simulated: float
    trajectory: Trajectory | None
    problem: str = ""

    def __repr__(self) -> str:
        rows = [
            ("optimality", self.optimality),
            ("equations at collocation points", self.equations),
            ("equations between nodes", self.between),
            ("bounds and path constraints between nodes", self.bounds),
            ("energy balance", self.energy),
            ("simulation with the same inputs", self.simulated),
        ]
        lines = [f"{name:44}{_digits(error):>6}" for name, error in rows]
        return "\n".join([f"{'check':44}digits", *lines, *filter(None, [self.problem])])


def verify(collocation: Collocation | PhasedCollocation) -> Verification:
    """Check a collocation by means that do not depend on it.

    The motion is simulated with its inputs, by a method with step-size control. An unstable motion departs from the
    nodes by more than the errors of intervals. Between nodes, the motion is compared with the equations
    of motion, with bounds and with path constraints. The change of energy is compared with the work of all loads.

    With phases, the simulation finds the transitions and the impulses itself. The states are compared at equal
    fractions of each phase, and the times of the transitions relative to the duration.

    Raises:
        ModelError: not a ``Collocation``.
    """
    wanted = "verify needs a Collocation, as kane.collocate returns"
    require(collocation, (Collocation, PhasedCollocation), wanted)
    pairs = [(phase, BetweenNodes(phase)) for phase in collocation.phases]
    checks = (
        stationarity(collocation),
        collocation.infeasibility,
        max(float(between.errors.max()) for _, between in pairs),
        max(float(violations(*pair).max()) for pair in pairs),
        float(np.max([_imbalance(*pair) for pair in pairs])),
    )
    try:
        if isinstance(collocation, PhasedCollocation):
            return Verification(*checks, *_phases_again(collocation))
        run = _simulated(collocation, collocation.problem.dyn, collocation.time)
    except SimulationError as error:
        return Verification(*checks, math.nan, None, f"the simulation failed: {error}")
    return Verification(*checks, _difference(run, collocation.time, collocation), run)


def _simulated(collocation: Collocation | PhasedCollocation, dyn: Dynamics, times: Vector) -> Trajectory:
    """Simulate the motion with its inputs; the states at some times are recorded."""
    return simulate(
        dyn,
        start=float(collocation.time[0]),
        until=float(collocation.time[-1]),
        q=collocation.q[0],
        u=collocation.u[0],
        inputs=collocation.inputs,
        parameters=collocation.parameters,
        times=times,
    )


def _difference(run: Trajectory, times: Vector, collocation: Collocation | PhasedCollocation) -> float:
    """Return the largest difference of states of a run at some times from the nodes, relative to their size plus 1."""
    at = np.minimum(np.searchsorted(run.time, times), len(run.time) - 1)
    states, nodes = np.column_stack([run.q, run.u])[at], np.column_stack([collocation.q, collocation.u])
    return float((np.abs(states - nodes) / (1.0 + np.abs(nodes).max(axis=0))).max())


def _phases_again(collocation: PhasedCollocation) -> tuple[float, Trajectory, str]:
    """Return the difference of a simulation through all phases, the simulation, and a remark on its modes."""
    early, span = JUST_BEFORE * collocation.duration, collocation.time[[0, -1]]
    run = _simulated(collocation, collocation.dyn, collocation.time)
    every = visits(run)
    ends = [*(visit.time for visit in every[1:]), span[1]]
    brief = BRIEF * collocation.duration
    met = [visit for visit, end in zip(every, ends, strict=True) if end - visit.time > brief]
    planned = [mode.phase.mode for mode in collocation.sequence.modes]
    if [visit.mode for visit in met] != planned:
        found = ", ".join(f"{visit.mode} from {visit.time:.6g} s" for visit in met)
        return math.nan, run, f"the simulation passes the modes {found}; planned are {', '.join(planned)}"
    edges = np.array([*(visit.time for visit in met), span[1]])
    fractions = [phase.mesh.fractions for phase in collocation.phases]
    times = [a + (b - early - a) * s for a, b, s in zip(edges[:-1], edges[1:], fractions, strict=True)]
    at = np.concatenate([times[0], *(own[1:] for own in times[1:])])
    late = np.abs(edges[1:-1] - collocation.switch_times) / collocation.duration
    again = _simulated(collocation, collocation.dyn, at)
    return max(_difference(again, at, collocation), float(late.max(initial=0.0))), run, ""


def stationarity(collocation: Collocation | PhasedCollocation) -> float:
    """Return the largest component of df/dz + multipliers . dg/dz + multipliers of bounds, relative to its terms.

    The multipliers come from Ipopt, the derivatives from kane, without Ipopt's scaling. Unknowns whose limits are
    equal are constants.
    """
    (program, limits), solution = _nonlinear_program(collocation), collocation.solution
    z = solution.z
    places, columns = program.jacobian_places
    terms = solution.multipliers[places] * program.jacobian(z)
    slope = program.objective_gradient(z)
    total, sizes = slope + solution.at_bounds, np.abs(slope) + np.abs(solution.at_bounds)
    np.add.at(total, columns, terms)
    np.add.at(sizes, columns, np.abs(terms))
    free = limits.least < limits.most
    return float((np.abs(total) / (1.0 + sizes))[free].max(initial=0.0))


def _nonlinear_program(collocation: Collocation | PhasedCollocation) -> tuple[ElementProgram, Bounds]:
    """Return the nonlinear program of a collocation, and its bounds."""
    if isinstance(collocation, PhasedCollocation):
        return collocation.places.program(), collocation.places.bounds()
    problem, mesh = collocation.problem, collocation.mesh
    return problem.program(mesh), problem.bounds(mesh, problem.transcription.rows(mesh))


def violations(collocation: Collocation, between: BetweenNodes) -> Array:
    """Return the largest relative violation of bounds and path constraints at the fractions, (intervals, fractions)."""
    problem = collocation.problem
    found = [(between.states, problem.states), (between.inputs[..., problem.input_places], problem.input_limits)]
    transcription = problem.transcription
    if transcription.path:
        found.append((_path_values(collocation, between), problem.path_limits))
    worst = np.zeros(between.times.shape)
    for values, limits in found:
        below, above = limits[:, 0] - values, values - limits[:, 1]
        size = 1.0 + np.abs(np.where(np.isfinite(limits), limits, 0.0)).max(axis=1)
        worst = np.maximum(worst, (np.maximum(below, above) / size).max(axis=2, initial=0.0))
    return worst


def _path_values(collocation: Collocation, between: BetweenNodes) -> Array:
    """Return the expressions of path constraints at the fractions of each interval, (intervals, fractions, path)."""
    problem, mesh = collocation.problem, collocation.mesh
    functions, motion = problem.transcription.at_points, len(problem.transcription.symbols.motion)
    shape = between.times.shape
    fractions = (between.times - collocation.time[0]) / collocation.duration
    weights = mesh.method.interpolated(FRACTIONS)
    forces = np.einsum("sp,kpr->ksr", weights, collocation.multipliers[mesh.interval_points])
    others = np.concatenate([np.zeros((*shape, mesh.speeds)), forces], axis=-1)
    inputs, shared = between.inputs[..., problem.input_places], np.append(mesh.clock, mesh.free_parameters)
    shared = np.broadcast_to(collocation.solution.z[shared], (*shape, len(shared)))
    state = np.concatenate([between.states, others, inputs, shared], axis=-1)
    data = np.stack([fractions, np.zeros(shape)], axis=-1)
    values = functions.values(state, data, functions.values.stage(problem.constants))
    return values[..., motion : motion + len(problem.path_limits)]


def _imbalance(collocation: Collocation, between: BetweenNodes) -> float:
    """Return the change of energy minus the work of loads, relative to both and the kinetic energy; NaN if unknown."""
    dyn, e = collocation.problem.dyn, collocation.problem.dyn.equations
    if (
        not has_bodies(e)
        or prescribes_motion(e)
        or any(leaf is e.t for leaf in leaves([row.motion for row in e.constraints]))
    ):
        return math.nan
    kinetic, potential = e.unconstrained.baked_in(energy(e.system, e.t.arena.zero))
    powers = [load_power(e.unconstrained, load) for load in e.model.loads]
    outputs, state = (kinetic, potential, *powers), (e.t, *e.q, *e.u)
    function = dyn.compile(Program("energy and powers", outputs, state=state, rest=e.inputs, parameters=e.parameters))
    constants = function.stage(collocation.parameter_values)
    found = function(np.concatenate([between.times[..., None], between.states], axis=-1), between.inputs, constants)
    nodes = np.column_stack([collocation.time, collocation.q, collocation.u])[[0, -1]]
    ends = function(nodes, between.inputs[[0, -1], [0, -1]], constants)[:, :2].sum(axis=1)
    power = found[..., 2:].sum(axis=-1)
    size = between.integral(np.abs(power)) + float(found[..., 0].max() + np.ptp(found[..., 1]))
    return abs(float(ends[1] - ends[0]) - between.integral(power)) / size if size else 0.0


def _digits(error: float) -> str:
    return "none" if not math.isfinite(error) else f"{min(max(-math.log10(max(error, 1e-16)), 0.0), 16.0):.1f}"
