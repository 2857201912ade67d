"""Interface for transitions between modes during a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.engine.memory.loop_arguments import Course, StateEquation, Vector
from kane.simulation.integrator_state import Outcome
from kane.simulation.projection import project_once

if TYPE_CHECKING:
    from kane.simulation.initial_value_problem import InitialValueProblem
    from kane.simulation.integrator_state import IntegratorState, Status
    from kane.simulation.results.contact_log import ContactLog
    from kane.simulation.results.record import Record


class ModeSource:
    """Python part of transitions between modes; this base class serves models with a single mode.

    The native programs ``guards`` and ``transition`` of a mode's ``InitialValueProblem`` find where the mode ends and
    which mode follows (``engine/step/transitions.py``). The methods below do the rest.

    Attributes:
        attributes: settings for the trajectory.
        shares_stage: programs, other than PROJECT, that read and write the constants of PROJECT.
        slopes_with_guards: whether the program of the guards also returns x', after the guards.
    """

    shares_stage: Collection[int] = ()
    slopes_with_guards = False

    @property
    def intermittents(self) -> Sequence[str]:
        """Names of intermittent constraints; their statuses are the last columns of the transition records of a run."""
        return ()

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {}

    def problem(self, key: int) -> InitialValueProblem:
        """Return the problem of the mode with this key, which a run is about to enter for the first time."""
        raise KeyError(key)

    def admit(self, integration: IntegratorState, key: int) -> None:
        """Add the row of the mode with this key to a run that is about to enter the mode for the first time."""
        self.problem(key).join(integration)

    def start(self, problem: InitialValueProblem, t: float, q: Any, u: Any) -> tuple[InitialValueProblem, Vector]:
        """Return the problem of the initial mode, and the state x = [q, u] from the user's arguments.

        Raises:
            ModelError: as ``InitialValueProblem.initial_state``.
        """
        return problem, problem.initial_state(t, q, u)

    def projected(self, problem: InitialValueProblem, system: StateEquation, state: Vector) -> Vector:
        """Project the initial state [t, q, u] onto the permanent constraints; return x = [q, u]."""
        assert problem.project is not None
        return project_once(problem.project, system, state)

    def shared_memory(self, integration: IntegratorState, before: IntegratorState) -> list[tuple[Array, Array]]:
        """Return views of the constants of an earlier run and of this one, for each part of the mode that both have.

        A run starts in the mode of another one, whose equations had other intermittent constraints, by a copy of them.
        """
        return []

    def check(self, problem: InitialValueProblem, course: Course, x: Vector) -> None:
        """Raise if a run cannot start from the state x = [q, u] in these modes.

        Raises:
            ModelError: names the reason.
        """

    def doubted(self, t: float, x: Array, parameters: Array) -> NDArray[np.bool_]:
        """Return a mask, (states,), of the states x = [q, u], (states, nx), that ``check`` would reject at time t.

        Args:
            t: time [s].
            x: states.
            parameters: one row per state, or one row for all.
        """
        return np.zeros(len(x), bool)

    def begun(self, states: Array, inputs: Array, parameters: Array) -> Array:
        """Return the states x = [q, u], (states, nx), from which runs in SIMD lanes start; ``states`` has [t, q, u].

        They are projected as by ``projected``, or unchanged if the lanes themselves project them in the initial mode.
        """
        return states[:, 1:]

    def declared(self, integration: IntegratorState, states: Array, found: Array) -> tuple[Array, Array, Vector]:
        """Return records and events, [t, q, u] each, and the current state, in the user's declared coordinates."""
        return states, found, integration.x

    def seen(self, key: int, x: Vector) -> Vector:
        """Return the state x = [q, u] of a mode in declared coordinates, as Python laws see it."""
        return x

    def answer(self, law: int, key: int, state: Vector, inputs: Vector) -> Vector:
        """Evaluate the sampled law of this index, an expression with separate code in each mode, at [t, q, u]."""
        raise KeyError(law)

    def mode(self, integration: IntegratorState) -> NDArray[Any]:
        """Return the current contact mode of a run, (constraints,), a view of its memory."""
        return np.zeros(0, np.int8)

    def contact_log(self, integration: IntegratorState, mode: NDArray[np.int8]) -> ContactLog | None:
        """Return the transitions of contacts since the first record; None if there are none.

        The log has no statuses and reactions at recorded times. ``mode`` is the contact mode at the first record.
        """
        return None

    def met(self, integration: IntegratorState, record: Record) -> Collection[Any]:
        """Return the modes that a run encountered, if a thread compiles new modes."""
        return ()

    def meet(self, modes: Iterable[Any]) -> None:
        """Submit modes for compilation, and warn of modes that could not be compiled."""

    def renew(self, integration: IntegratorState) -> None:
        """Use the modes compiled since the run began, and submit those that it encountered."""

    def refusal(self, integration: IntegratorState, outcome: Outcome) -> str:
        """Describe why there is no next mode: for the outcomes REFUSED, ENDLESS, and NO_GUARD (a guard is NaN)."""
        if outcome is Outcome.ENDLESS:
            return "its mode changes again and again at one state"
        return "no next mode was found" if outcome is Outcome.REFUSED else "a gap or force that ends its mode is NaN"

    def step_over(self, integration: IntegratorState, status: Status) -> bool:
        """Take a Moreau-Jean time step if the status allows it, and log it; return whether a step was taken."""
        return False

    def stepped_over(self, integration: IntegratorState) -> str:
        """Describe an unsuccessful Moreau-Jean time step; an empty text if none was tried."""
        return ""

    def told(self, integration: IntegratorState, record: Record) -> Record:
        """Add the transitions to the record of a run, and convert it to the user's declared coordinates."""
        return record


ONE_MODE = ModeSource()
