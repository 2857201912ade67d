"""Intermittent constraints as modes: one row of the table, with the statuses in the constants that programs share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.contacts.contact_functions import ContactFunctions, contact_functions
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import ENDLESS_IMPACTS, NO_MODE, OPEN
from kane.engine.memory.loop_arguments import Course, StateEquation, Vector
from kane.engine.memory.run_codes import GUARDS, PROJECT, RHS, TRANSITION
from kane.engine.memory.views import ContactState, GapTerms
from kane.engine.rows.impulses import TOUCHING as CLOSED
from kane.errors import ModelError, list_names
from kane.formulation.constraints.intermittent_rows import commanding_inputs
from kane.simulation.events.event import Event
from kane.simulation.events.zeno import TIME_STEPS
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome, Status, StoredTransitions
from kane.simulation.mode_source import ModeSource
from kane.simulation.mode_table import stage_in_force
from kane.simulation.modes.contact_records import ContactRecords, require_kept
from kane.simulation.modes.growing_problem import GrowingProblem, continue_with
from kane.simulation.modes.rows_at import RowsAt
from kane.simulation.monitors.penetration import START_GAP_TOLERANCE, describe_penetration
from kane.simulation.results.contact_log import ContactLog
from kane.simulation.results.record import Record

# Arrays of ContactState that a run takes over from another run.
MODE_ARRAYS = ("status", "armed", "begun", "along")


class ContactSwitching(ModeSource):
    """Mode source of a run with intermittent constraints."""

    shares_stage = (RHS, GUARDS, TRANSITION)
    slopes_with_guards = True

    def __init__(self, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> None:
        """Take Dynamics with inputs, parameters and events, as ``simulate`` does."""
        posed = InitialValueProblem.of(dyn, inputs, parameters, events)
        _require_native_signals(posed)
        self._each = {0: GrowingProblem(posed, functions_of)}

    def _at(self, key: int) -> GrowingProblem[ContactFunctions]:
        """Return the problem in the charts of a key."""
        return self._each[key]

    def problem(self, key: int) -> InitialValueProblem:
        here, f = self._at(key), self._at(key).functions
        posed = replace(here.posed, rhs=f.rhs, project=f.project, project_step_end=f.project_step_end)
        return replace(posed, guards=f.guards, transition=f.transition, contacts=f, mode_source=self)

    def projected(self, problem: InitialValueProblem, system: StateEquation, state: Vector) -> Vector:
        """See ``ModeSource``; constraints that stick at rest do not change velocities here."""
        return self._projected(problem.key, state, system.inputs, problem.parameters)

    def begun(self, states: Array, inputs: Array, parameters: Array) -> Array:
        return self._projected(0, states, inputs, parameters)

    def _projected(self, key: int, states: Array, inputs: Array, parameters: Array) -> Array:
        """Project states [t, q, u] onto the permanent constraints; return x = [q, u]."""
        permanent = self._at(key).posed.project
        assert permanent is not None
        return np.array(permanent(states, inputs, permanent.stage(parameters))[..., : states.shape[-1] - 1])

    def shared_memory(self, integration: IntegratorState, before: IntegratorState) -> list[tuple[Array, Array]]:
        mode_source, found = before.problem.mode_source, list[tuple[Array, Array]]()
        if isinstance(mode_source, ContactSwitching):
            old, new = mode_source._state(before), self._state(integration)
            for i, k in _common(mode_source._names, self._names):
                found += [(getattr(old, x)[i : i + 1], getattr(new, x)[k : k + 1]) for x in MODE_ARRAYS]
            then, now = mode_source._held(before), self._held(integration)
            found += [(then[i : i + 1], now[k : k + 1]) for i, k in _common(mode_source._holding, self._holding)]
        return found

    @property
    def _names(self) -> list[str]:
        return [c.name for c in self._at(0).functions.equations.intermittents]

    def _stage(self, integration: IntegratorState) -> Array:
        """Return the constants of the current mode in the memory of a run."""
        return stage_in_force(integration.system, PROJECT, self._at(integration.problem.key).functions.project)

    def _state(self, integration: IntegratorState) -> ContactState:
        """Return the ContactState in the memory of a run."""
        return contact_constants_of(self._stage(integration)).state

    @property
    def _holding(self) -> list[str]:
        """Names of the rows that keep the configuration residual at which they were imposed."""
        return [row.name for row in self._at(0).functions.equations.held]

    def _held(self, integration: IntegratorState) -> Array:
        """Return the residuals that these rows keep, in the memory of a run."""
        closing = len(self._at(integration.problem.key).functions.equations.closing)
        return contact_constants_of(self._stage(integration)).held.value[closing:]

    def check(self, problem: InitialValueProblem, course: Course, x: Vector) -> None:
        """See ``ModeSource``.

        Raises:
            ModelError: the run goes backwards in time, or starts with a penetration.
        """
        model = problem.layout.model
        if course.until < course.start:
            raise ModelError(
                f"{model!r} has intermittent constraints, and the run goes back in time from {course.start:.9g} s to "
                f"{course.until:.9g} s; the energy lost in impacts is unknown then: run forwards"
            )
        functions = self._at(problem.key).functions
        gaps = _gaps(functions, course.start, x[None, :], problem.parameters).gap[0]
        for c, gap in zip(functions.equations.intermittents, gaps.tolist(), strict=True):
            if not gap >= -START_GAP_TOLERANCE:
                raise ModelError(describe_penetration(problem.dyn, c.name, gap))

    def doubted(self, t: float, x: Array, parameters: Array) -> NDArray[np.bool_]:
        gaps = _gaps(self._at(0).functions, t, x, parameters).gap
        return np.asarray(~(gaps >= -START_GAP_TOLERANCE).all(axis=1))

    def refusal(self, integration: IntegratorState, outcome: Outcome) -> str:
        from kane.dynamics.contacts.contact_refusals import refusal

        automaton, functions = integration.system.automaton, self._at(integration.problem.key).functions
        if outcome is Outcome.NO_GUARD:
            own = automaton.guards.out[-2 * len(self._names) :]
            lost = sorted(set((np.flatnonzero(~np.isfinite(own)) // 2).tolist()))
            names = ", ".join(repr(self._names[k]) for k in lost)
            what = (
                f"the gap, the sign or the reaction of {names}"
                if lost
                else "the distance of angles from where they end"
            )
            return f"within the next step {what} is no number"
        names = list_names([repr(name) for name in self._active(integration)]) or "nothing"
        if integration.drifts:
            return (
                f"no impulses of the step dt = {abs(integration.course.step):.6g} s satisfy the laws of contact; "
                f"active, or touching: {names}; give a shorter step, or less friction"
            )
        if outcome is Outcome.ENDLESS:
            return f"{super().refusal(integration, outcome)}: active, or touching: {names}; or {TIME_STEPS}"
        why = refusal(functions.equations, automaton.changed, self._active(integration))
        return f"{why}; or {TIME_STEPS}" if automaton.changed[len(integration.x)] in (NO_MODE, ENDLESS_IMPACTS) else why

    def _active(self, integration: IntegratorState) -> list[str]:
        """Return the names of the constraints that touch or are active at the current state."""
        functions = self._at(integration.problem.key).functions
        gaps = _gaps(functions, integration.time, integration.x[None, :], integration.problem.parameters).gap[0]
        gapped = [c.normal is not None for c in functions.equations.intermittents]
        touches = (gaps <= CLOSED) & np.array(gapped)
        return [name for name, on in zip(self._names, touches | (self.mode(integration) != OPEN), strict=True) if on]

    def mode(self, integration: IntegratorState) -> NDArray[Any]:
        return self._state(integration).status

    @property
    def intermittents(self) -> Sequence[str]:
        return self._names

    def contact_log(self, integration: IntegratorState, mode: NDArray[np.int8]) -> ContactLog | None:
        """See ``ModeSource``.

        Raises:
            SimulationError: the current state violates an active constraint.
        """
        state, now = np.concatenate([[integration.time], integration.x])[None, :], self.mode(integration)[None, :]
        functions = self._at(integration.problem.key).functions
        rows = RowsAt(functions, state, integration.problem.parameters, now != OPEN)
        if not integration.drifts:
            require_kept(functions, state, np.maximum(*rows.residuals(now, self._held(integration)[None, :])))
        if not len(integration.transitions.time):
            return None
        records = self._records(integration)
        states = self._in_declared(integration, records.stored)
        return records.log(mode, states, np.zeros((0, 0), np.int8), np.zeros((0, 0)))

    def step_over(self, integration: IntegratorState, status: Status) -> bool:
        from kane.simulation.modes.step_over import step_over

        if status is Status.REFUSED and integration.system.automaton.changed[len(integration.x)] not in (
            NO_MODE,
            ENDLESS_IMPACTS,
        ):
            return False
        taken = self._records(integration).moreau_jean_times
        return step_over(integration, self._at(integration.problem.key).functions, taken)

    def stepped_over(self, integration: IntegratorState) -> str:
        from kane.simulation.modes.step_over import without_end

        return without_end(integration, self._records(integration).moreau_jean_times)

    def told(self, integration: IntegratorState, record: Record) -> Record:
        records = self._records(integration)
        statuses = records.statuses(len(record.states))
        fresh = contact_constants_of(self._at(0).functions.parts.expected).state.status
        states = self._in_declared(integration, records.stored)
        if integration.drifts:  # a method of time steps keeps its mean forces
            reactions = integration.memory[1].forces[: len(record.states)]
        else:
            reactions = records.reactions(record, statuses)
        contact_log = records.log(fresh, states, statuses, reactions)
        worst, slips = records.kept(record, statuses)
        permanent = record.constraints[:, :2] if record.constraints.size else 0.0
        kept = np.column_stack([np.maximum(worst, permanent), integration.notes()])
        words = self._numerical(integration, statuses)
        return replace(record, constraints=kept, contact_log=contact_log, slips=slips, numerical=words)

    def met(self, integration: IntegratorState, record: Record) -> Collection[tuple[int, ...]]:
        return self._met_by(integration) if self._at(0).posed.dyn.compiled_modes.met else ()

    def meet(self, modes: Iterable[tuple[int, ...]]) -> None:
        self._at(0).meet(modes)

    def renew(self, integration: IntegratorState) -> None:
        here = self._at(integration.problem.key)
        if not here.posed.dyn.compiled_modes.met or integration.slow is not None:
            return
        here.meet(self._met_by(integration))
        before = self._stage(integration).copy()
        if here.renewed():
            moving = here.functions.parts.moving  # contact mode and kept residuals have the same places as before
            continue_with(integration, self.problem(integration.problem.key), before, (moving, moving))

    def _met_by(self, integration: IntegratorState) -> list[tuple[int, ...]]:
        return [*map(tuple, np.unique([*self._records(integration).after, self.mode(integration)], axis=0).tolist())]

    def _numerical(self, integration: IntegratorState, statuses: NDArray[np.int8]) -> tuple[str, ...]:
        """Describe the modes of a run that are not compiled, if others are."""
        compiled = self._at(0).functions.parts.modes
        if not compiled.expected:
            return ()
        met = np.unique([*statuses[:1], *self._records(integration).after], axis=0).tolist()
        left = [statuses_in_words(row, self._names) for row in met if tuple(row) not in compiled.statuses]
        return tuple(left)

    def _in_declared(self, integration: IntegratorState, stored: StoredTransitions) -> tuple[Array, Array]:
        """Return the states before and after each transition, (transitions, nx) each, in declared coordinates."""
        return stored.before, stored.after

    def _records(self, integration: IntegratorState) -> ContactRecords:
        return ContactRecords(integration, lambda key: self._at(key).functions)


def _common(before: Sequence[str], now: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of the names that both sequences have."""
    places = {name: i for i, name in enumerate(before)}
    return [(places[name], k) for k, name in enumerate(now) if name in places]


def functions_of(dyn: Dynamics) -> ContactFunctions:
    """Return the native functions of Dynamics that have intermittent constraints."""
    found = contact_functions(dyn)
    assert found is not None
    return found


def _require_native_signals(problem: InitialValueProblem) -> None:
    """Raise ModelError if a constraint reads a Python function, which guards within a step do not call."""
    plan, intermittents = problem.plan, problem.dyn.equations.intermittents
    python = plan.names if plan.function else [plan.names[k] for k in plan.functions]
    for name, constraint in commanding_inputs(intermittents if python else ()).items():
        if name in python:
            raise ModelError(
                f"on=, off= or the friction of {constraint!r} depends on the input {name!r}, which is a function of "
                "Python; give an expression, kane.Held, kane.Interpolated or kane.Sampled"
            )


def _gaps(functions: ContactFunctions, t: float, x: Array, parameters: Array) -> GapTerms:
    """Return gap, signs and coefficients at many states, (states, constraints) each."""
    return RowsAt(functions, np.column_stack([np.full(len(x), t), x]), parameters).gaps
