"""Simulated motions with derivatives, from many initial states.

S = dx/dp is the derivative of the state x = [q, u], exact for the steps of the native integrator, as in
``kane.sensitivities``. In models with constraints or quaternions the end of each step is projected, and S with it.

Source: Griewank & Walther 2008, Chap. 3; Absil, Mahony & Sepulchre 2008, Sec. 4.1, for retractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kane.analysis.sensitivities.variations import ForwardResults, Leg, ModeSlopes, spanned
from kane.analysis.sensitivities.zero_order_hold import HeldAnswers
from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.dynamics import Dynamics
from kane.engine.step.variations import vary_forwards
from kane.errors import ModelError, SimulationError
from kane.geometry.quaternion import normalise_quaternions
from kane.simulation.driver import advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.mode_source import ONE_MODE
from kane.simulation.modes.set_up import set_up
from kane.simulation.projection import UNPROJECTED
from kane.simulation.schedule.course import free_course
from kane.simulation.schedule.step_ends import Stops

# Number of shooting intervals that are differentiated at once, in a few megabytes.
INTERVALS_AT_ONCE = 16
# Largest mean number of steps between measured states. Measured motions need few; more indicate wrong parameters.
MOST_STEPS = 200
# Largest number of projections of a measured state onto the constraints; convergence is quadratic.
PROJECTIONS = 30
# Threshold of singular values of the projection's derivative, which are near one along free directions, else near zero.
FREE_DIRECTION_THRESHOLD = 1e-6


class Instead(NamedTuple):
    """Alternative state for a row next to an impact: the motion extended from the other side of the impact.

    Attributes:
        row: index of the row.
        x: the state, (nq + n,).
        S: its derivatives, (nq + n, freedoms + names).
    """

    row: int
    x: Array
    S: Array


class Stretches(NamedTuple):
    """Shooting intervals in sequence; the end of one and the start of the next are separate rows.

    Attributes:
        x: states, (rows, nq + n).
        S: derivatives by the changes of each initial state, then by the parameters, (rows, nq + n, freedoms + names).
        moves: basis of these changes, (intervals, nq + n, freedoms); zero columns in intervals with fewer freedoms.
        instead: alternative states for rows next to an impact.
    """

    x: Array
    S: Array
    moves: Array
    instead: list[Instead]


@dataclass(frozen=True, eq=False)
class Variational:
    """Initial value problem with derivatives by some parameters.

    Attributes:
        problem: the initial value problem.
        names: names of the parameters.
    """

    problem: InitialValueProblem
    names: tuple[str, ...]

    @classmethod
    def of(cls, dyn: Dynamics, inputs: Any, parameters: Array, names: Sequence[str]) -> Variational:
        """Create the problem with derivatives by the named parameters.

        Raises:
            ModelError: the independent speeds are selected anew along the motion.
        """
        problem = set_up(dyn, inputs, parameters, (), None)
        if problem.mode_source is not ONE_MODE:
            raise ModelError(
                f"{dyn.equations.name!r} selects its independent speeds anew along the motion, where derivatives "
                "jump; give udot, so that forces are compared"
            )
        return cls(problem, tuple(names))

    def at_begin(self, t: float) -> Dynamics:
        """Return the equations whose constraints hold at the start of an interval."""
        return self.problem.dyn

    def projected(self, t: float, x: Array, parameters: Array) -> Array:
        """Project a state onto the constraints: the retraction onto the admissible states.

        Raises:
            SimulationError: the projection does not converge.
        """
        dyn, x = self.at_begin(t), np.array(x)
        normalise_quaternions(x, dyn.equations.quaternions)
        project = dyn.project
        if project is None:
            return x
        stage, inputs = project.stage(parameters), np.zeros(project.n_rest)
        for _ in range(PROJECTIONS):
            found = project(np.concatenate([[t], x]), inputs, stage)
            x, residuals = np.array(found[: len(x)]), found[len(x) : len(x) + 2]
            if np.abs(residuals).max() < UNPROJECTED:
                return x
        raise SimulationError(
            f"no state that satisfies the constraints of {dyn.equations.name!r} is near the one measured at t = "
            f"{t:.9g} s; correct the data (q in rad), or the lengths in the model"
        )

    def run(self, begins: Array, times: Sequence[Array], parameters: Array, method: Explicit) -> Stretches:
        """Simulate shooting intervals with their derivatives.

        The slopes of several intervals are evaluated at once: their steps are concatenated, with a zero-length step
        between them.

        Args:
            begins: projected states at the first times, (intervals, nq + n).
            times: increasing times of each interval, which ends where the next one starts [s].
            parameters: values.
            method: integrator; it chooses its steps.

        Raises:
            SimulationError: the motion ends early, or needs more than MOST_STEPS steps per time on average.
            KeyboardInterrupt: Ctrl-C.
        """
        moves = self._moves(begins, times, parameters)
        parts = [slice(k, k + INTERVALS_AT_ONCE) for k in range(0, len(times), INTERVALS_AT_ONCE)]
        found = [self._run(begins[of], moves[of], times[of], parameters, method) for of in parts]
        return Stretches(np.concatenate([x for x, _ in found]), np.concatenate([S for _, S in found]), moves, [])

    def _moves(self, begins: Array, times: Sequence[Array], parameters: Array) -> Array:
        t = np.array([own[0] for own in times])
        moves = tangents(self._motion(parameters), t, begins)
        if len({T.shape for T in moves}) > 1:
            raise SimulationError(
                f"the freedoms of {self.problem.dyn.equations.name!r} change along the motion; leave out the rows near "
                "positions where constraints become dependent"
            )
        return np.array(moves)

    def _run(
        self, begins: Array, moves: Array, times: Sequence[Array], parameters: Array, method: Explicit
    ) -> tuple[Array, Array]:
        """Return states and derivatives of some intervals."""
        motion, table = self._motion(parameters), scheme(method)
        states = [self._integrated(x, own, parameters, method).states() for x, own in zip(begins, times, strict=True)]
        joined = np.concatenate(states)
        whole = Leg(motion, joined[:, 0], joined[:, 1:])
        starts, chosen = self._starts(moves), spanned(self._chosen(motion, moves.shape[2]))
        out = ForwardResults(np.unique(np.concatenate(times)), [begins[0]], [], HeldAnswers.of(()))
        slopes = whole.slopes(table)
        looks, steps = whole.looks(slopes, method, out, starts.shape[2]), whole.steps(slopes, table)
        dK, moved = np.zeros((len(table.nodes), *starts.shape[1:])), np.empty(starts.shape[1:])
        first = 0
        for k, own in enumerate(states):
            if k:
                looks.found[looks.end[first - 1]] = starts[k]
            vary_forwards(steps, first, first + len(own) - 1, chosen, starts[k].copy(), looks, dK, moved)
            first += len(own)
        return np.array(out.x), np.concatenate([starts[:1], looks.found])

    def _starts(self, moves: Array) -> Array:
        """Return derivatives at the starts by their changes (intervals, nx, freedoms) and by the parameters."""
        return np.concatenate([moves, np.zeros((*moves.shape[:2], len(self.names)))], axis=2)

    def _chosen(self, motion: ModeSlopes, freedoms: int) -> Array:
        """Return the derivatives of the quantities that vary besides x, (direct, freedoms + names): unit rows."""
        given = motion.widths[2] - len(self.names)
        return np.pad(np.eye(len(self.names)), ((given, 0), (freedoms, 0)))

    def _motion(self, parameters: Array) -> ModeSlopes:
        return ModeSlopes(self.problem.dyn, self.problem.plan, parameters, self.names)

    def _integrated(self, x0: Array, times: Array, parameters: Array, method: Explicit) -> IntegratorState:
        """Simulate an interval and record every step."""
        problem = self.problem.of_values(parameters, self.problem.plan.constants)
        start, until = float(times[0]), float(times[-1])
        integration = problem.integration(free_course(start, until, 1, None, Stops(problem).between(start, until)), x0)
        most = MOST_STEPS * len(times)

        def watched(fraction: float) -> None:
            if integration.counts.steps[0] > most and not integration.finished:
                raise SimulationError(_ends(problem, integration.time, until, f"more than {most} steps"))

        outcome = advance_to_end(integration, monitored_advance(problem, method), watched)
        if outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if outcome is not Outcome.FINISHED:
            raise SimulationError(_ends(problem, integration.time, until, outcome.value))
        return integration


def tangents(motion: ModeSlopes, t: Array, x: Array) -> list[Array]:
    """Return orthonormal bases of the tangent spaces of the admissible states, (nx, freedoms) each.

    Projection does not change an admissible state, so that its derivative there is a projection onto the tangent space.
    """
    along = motion.projected(t, x)
    if along is None:
        return [np.eye(x.shape[1])] * len(x)
    bases, sizes, _ = np.linalg.svd(along.by_x)
    return [U[:, : int((free > FREE_DIRECTION_THRESHOLD).sum())] for U, free in zip(bases, sizes, strict=True)]


def _ends(problem: InitialValueProblem, time: float, until: float, why: str) -> str:
    return (
        f"the motion of {problem.dyn.equations.name!r} with these parameters ends at t = {time:.9g} s of {until:.9g} "
        f"s: {why}; start the search nearer to the solution (start=), or correct the data (q in rad)"
    )
