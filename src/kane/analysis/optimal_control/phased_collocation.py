"""``PhasedCollocation``: result of ``kane.collocate`` with phases, and its solution on meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.automaton.visited_modes import visits
from kane.analysis.optimal_control.collocation import Collocation
from kane.analysis.optimal_control.collocation_solver import (
    NEAR_OPTIONS,
    PHASE_OPTIONS,
    iterate,
    judged,
    with_small_corrections,
    without_given_rows,
)
from kane.analysis.optimal_control.first_guess import first_guess
from kane.analysis.optimal_control.ipopt import Solution
from kane.analysis.optimal_control.multiplier_guess import guessed_multipliers
from kane.analysis.optimal_control.phase_sequence import PhaseSequence, SequenceMesh
from kane.analysis.optimal_control.phased_log import phased_log
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.progress import ProgressBar
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.input_plan import Interpolated
from kane.simulation.results.record import Record
from kane.simulation.results.run_model import names_of
from kane.simulation.results.trajectory import Trajectory

# Fraction of the duration by which the first input of a phase follows the last input of the phase before.
INPUT_JUMP = 1e-9
# Number of samples of a run in a first guess of each phase.
GUESS_SAMPLES = 101


@dataclass(frozen=True)
class PhasedCollocation:
    """Solution of an optimal control problem with several phases.

    Attributes:
        sequence: the problem.
        phases: the motion in each phase, a ``Collocation`` each.
        places: places of the unknowns and rows.
        solution: last iterate of Ipopt for all phases, and the way to it.
        seconds: wall time of the solution without compiling [s].
    """

    sequence: PhaseSequence
    phases: tuple[Collocation, ...]
    places: SequenceMesh
    solution: Solution
    seconds: float

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the equations of modes, which ``sequence`` derives again."""
        first = self.phases[0]
        verdict = first.objective, first.infeasibility, first.remark, self.seconds
        return _phased, (self.sequence, self.places.fractions, self.solution, first.settings, verdict)

    def __repr__(self) -> str:
        first = self.phases[0]
        modes = ", ".join(mode.phase.mode for mode in self.sequence.modes)
        return (
            f"Collocation of {first.problem.layout.model!r}, {first.mesh.method.name}, {len(self.phases)} phases "
            f"({modes}): {self.message}; objective {self.objective:.9g}, largest violation {self.infeasibility:.2g}, "
            f"{len(self.solution.steps)} iterations, {self.seconds:.3g} s"
        )

    @property
    def dyn(self) -> Dynamics:
        """Compiled equations."""
        return self.sequence.modes[0].whole

    @property
    def objective(self) -> float:
        """Value of the objective."""
        return self.phases[0].objective

    @property
    def infeasibility(self) -> float:
        """Largest violation of a constraint at the last iterate."""
        return self.phases[0].infeasibility

    @property
    def solved(self) -> bool:
        """Whether the result is a solution within the tolerance, on meshes with enough nodes for the constraints."""
        return self.phases[0].solved

    @property
    def message(self) -> str:
        """The end of the iterations in words."""
        return self.phases[0].message

    @property
    def switch_times(self) -> Vector:
        """Times at which phases end, except the last one [s], (phases - 1,)."""
        return np.array([phase.time[-1] for phase in self.phases[:-1]])

    @property
    def duration(self) -> float:
        """Duration of the whole motion [s]."""
        return float(sum(phase.duration for phase in self.phases))

    @property
    def time(self) -> Vector:
        """Times of the nodes [s], (nodes,); the node at the end of a phase is before the transition."""
        return self._joined([phase.time for phase in self.phases])

    @property
    def q(self) -> Array:
        """Coordinates at the nodes, (nodes, nq)."""
        return self._joined([phase.q for phase in self.phases])

    @property
    def u(self) -> Array:
        """Generalized speeds at the nodes, (nodes, n)."""
        return self._joined([phase.u for phase in self.phases])

    @property
    def parameters(self) -> dict[str, float]:
        """Values of all parameters by name."""
        return self.phases[0].parameters

    @property
    def impulses(self) -> list[dict[str, float]]:
        """Impulses of each transition by constraint row [N s or N m s]."""
        found = []
        for link, at in zip(self.sequence.links, self.places.impulses, strict=True):
            names = [row.name for row in link.rows]
            found.append(dict(zip(names, self.solution.z[at[: len(names)]].tolist(), strict=True)))
        return found

    def __getitem__(self, name: str) -> Vector:
        """Return a coordinate or speed at the nodes, or an unknown input at the points of all phases, by name.

        Raises:
            ModelError: the name is unknown.
        """
        found = [phase[name] for phase in self.phases]
        return np.concatenate(found) if name in self.phases[0].problem.inputs else self._joined(found)

    @property
    def point_time(self) -> Vector:
        """Times of the collocation points of all phases [s]; twice the time of a transition if both phases have it."""
        return np.concatenate([phase.point_time for phase in self.phases])

    @property
    def point_inputs(self) -> Array:
        """Unknown inputs at the collocation points of all phases, (points, unknown inputs)."""
        return np.concatenate([phase.point_inputs for phase in self.phases])

    @property
    def inputs(self) -> dict[str, Any]:
        """All inputs by name, for ``inputs=`` of ``kane.simulate``; inputs may jump at transitions."""
        first, found = self.phases[0], dict(self.phases[0].inputs)
        for name in first.problem.inputs:
            samples = [phase.inputs[name] for phase in self.phases]
            times = [x.times.copy() for x in samples]
            if isinstance(samples[0], Interpolated):
                for own in times[1:]:
                    own[0] += INPUT_JUMP * self.duration
            found[name] = type(samples[0])(np.concatenate(times), np.concatenate([x.values for x in samples]))
        return found

    @cached_property
    def trajectory(self) -> Trajectory:
        """States, inputs and transitions as a ``Trajectory``, to plot, to show and to save.

        The record at the time of a transition has the speeds before it; ``events`` have the speeds after it.
        """
        parameters = self.phases[0].parameter_values
        posed = InitialValueProblem.of(self.dyn, None, parameters, ())
        states = np.column_stack([self.time, self.q, self.u])
        inputs = self._joined([phase.node_inputs for phase in self.phases])
        kept = posed.kept(states, np.zeros((len(states), 4)), drifts=True)
        energy = posed.energies(states, inputs)
        log = phased_log(self.sequence.modes, self.sequence.links, self.phases, self.impulses)
        record = Record(posed.layout, states, inputs, energy, parameters, constraints=kept, contact_log=log)
        settings = {"integrator": self.phases[0].mesh.method.name, "message": self.message}
        return Trajectory(record.labelled({**settings, "interrupted": int(not self.solved)}), self.dyn)

    def _joined(self, values: Sequence[Array]) -> Array:
        """Return values at the nodes of all phases, without the first node of each later phase."""
        return np.concatenate([values[0], *(x[1:] for x in values[1:])])


def solve_phases(
    sequence: PhaseSequence, fractions: Sequence[Vector], guess: Any, settings: tuple[float, int]
) -> PhasedCollocation:
    """Solve a problem on meshes; ``settings`` are tolerance and largest number of iterations.

    Raises:
        ModelError: the guess is of another kind or another model, or the start violates an equation.
    """
    places, model = SequenceMesh(sequence, tuple(fractions)), sequence.problems[0].layout.model
    with ProgressBar(f"optimal control of {model}") as bar:
        bar.name("compiling")
        program = places.program()
        bounds = without_given_rows(program, places.bounds(), places.describe, model)
        start = _first_iterate(places, guess)
        bounds = with_small_corrections(program, bounds, places.placed, start.z)
        options = NEAR_OPTIONS if isinstance(guess, PhasedCollocation) else PHASE_OPTIONS
        solution, took = iterate(program, bounds, start, settings, options=options, bar=bar)
    verdict = *judged(program, bounds, places.placed, places.describe, solution), took
    return _phased(sequence, places.fractions, solution, settings, verdict)


def _phased(
    sequence: PhaseSequence,
    fractions: tuple[Vector, ...],
    solution: Solution,
    settings: tuple[float, int],
    verdict: tuple[float, float, str, float],
) -> PhasedCollocation:
    """Return the result with the motion in each phase; ``verdict`` is objective, violation, remark and wall time."""
    places, phases = SequenceMesh(sequence, fractions), []
    for (problem, mesh, where), at in zip(places.placed, places.phase_rows, strict=True):
        multipliers, at_bounds = solution.multipliers[at[:-1]], solution.at_bounds[where]
        own = replace(solution, z=solution.z[where], multipliers=multipliers, at_bounds=at_bounds)
        phases.append(Collocation(problem, mesh, own, settings, *verdict))
    return PhasedCollocation(sequence, tuple(phases), places, solution, verdict[-1])


def _first_iterate(places: SequenceMesh, guess: Any) -> Solution:
    """Return the first iterate: by default each phase begins where the guess of the phase before ends."""
    if isinstance(guess, PhasedCollocation) and _same(places, guess.places):
        known = guess.solution
        return Solution(known.z.copy(), known.multipliers.copy(), known.at_bounds.copy())
    given = _phase_guesses(places, guess)
    z, origin, begin = np.zeros(places.unknowns), None, 0.0
    for (problem, mesh, where), rows, own in zip(places.placed, places.rows, given, strict=True):
        found = first_guess(problem, mesh, problem.bounds(mesh, rows), own, origin).z
        begin = float(np.clip(begin, *problem.begin))
        found[mesh.begin] = begin
        if mesh.rows and not isinstance(own, Collocation):
            found[mesh.point_multipliers] = guessed_multipliers(problem, mesh, rows, found)
        z[where], origin, begin = found, found[mesh.node_states[-1]], begin + float(found[mesh.duration])
    return Solution(z, np.zeros(places.total), np.zeros(places.unknowns))


def _same(places: SequenceMesh, others: SequenceMesh) -> bool:
    if (places.unknowns, places.total, len(places.meshes)) != (others.unknowns, others.total, len(others.meshes)):
        return False
    pairs = zip(places.meshes, others.meshes, strict=True)
    return all(a.method == b.method and np.array_equal(a.fractions, b.fractions) for a, b in pairs)


def _phase_guesses(places: SequenceMesh, guess: Any) -> list[Any]:
    """Return the guess of each phase."""
    modes = places.sequence.modes
    own = [mode.phase.guess for mode in modes]
    if guess is None:
        return own
    if isinstance(guess, Trajectory):
        found: Sequence[Any] = _pieces(guess, [mode.phase.mode for mode in modes])
    elif isinstance(guess, PhasedCollocation):
        if len(guess.phases) != len(modes):
            raise ModelError(
                f"guess has {len(guess.phases)} phases, but phases has {len(modes)}; give guess= of each Phase"
            )
        found = guess.phases
    else:
        raise ModelError(
            f"guess is {shown(guess)}; with phases give a Trajectory or a result with phases, or guess= of each Phase"
        )
    return [x if given is None else given for x, given in zip(found, own, strict=True)]


def _pieces(run: Trajectory, modes: Sequence[str]) -> list[dict[str, Any]]:
    """Return samples of a run between its transitions, for the modes of the phases in order."""
    met = visits(run)
    if [visit.mode for visit in met[: len(modes)]] != list(modes):
        raise ModelError(
            f"guess is a run through the modes {', '.join(visit.mode for visit in met)}; phases has {', '.join(modes)};"
            " give guess= of each Phase"
        )
    edges = [*(visit.time for visit in met), float(run.time[-1])]
    log, found = run.contact_log, []
    assert log is not None
    names = [*names_of(run, "coordinate"), *names_of(run, "speed")]
    for k in range(len(modes)):
        inside = (run.time > edges[k]) & (run.time < edges[k + 1]) if k else run.time < edges[1]
        times, states = run.time[inside], np.column_stack([run.q, run.u])[inside]
        if k:
            last = int(np.flatnonzero(log.times == edges[k])[-1])
            times = np.append(edges[k], times)
            states = np.vstack([np.append(log.q[last], log.u[last]), states])
        at = np.linspace(times[0], times[-1], GUESS_SAMPLES)
        columns = {name: np.interp(at, times, column) for name, column in zip(names, states.T, strict=True)}
        found.append({**columns, "duration": edges[k + 1] - edges[k]})
    return found
