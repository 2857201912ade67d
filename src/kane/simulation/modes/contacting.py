"""Intermittent constraints as modes: one row of the table, with the statuses in the constants that programs share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.dynamics.contacts.contact_refusals import refusal
from kane.dynamics.dynamics import Dynamics
from kane.engine.hybrid.moreau_jean import STEPPED
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import (
    BOUNCED,
    DELETED,
    ENDLESS_IMPACTS,
    HALTED,
    IMPOSED,
    JAMMED,
    NO_MODE,
    NOTHING,
    OPEN,
    REVERSED,
    SLIDING_ENDED,
    SLIPPED,
)
from kane.engine.memory.loop_arguments import Course, StateEquation, Vector
from kane.engine.memory.run_codes import CHANGE, GUARDS, PROJECT, RHS
from kane.engine.memory.views import ContactState, GapTerms, ModeChange
from kane.engine.rows.impulses import TOUCHING as CLOSED
from kane.engine.step.mode_changes import enter
from kane.errors import ModelError, list_names
from kane.simulation.events.event import Event, Occurrence
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome, Status
from kane.simulation.mode_source import ModeSource
from kane.simulation.mode_table import stage_in_force
from kane.simulation.modes.contact_history import ContactHistory, happened, noted, require_kept
from kane.simulation.modes.passing import step_over, without_end
from kane.simulation.modes.posed_contacts import PosedContacts
from kane.simulation.modes.rows_at import RowsAt
from kane.simulation.monitors.penetration import START_GAP_TOLERANCE, describe_penetration
from kane.simulation.projection import put_selection, selection_in
from kane.simulation.results.contact_log import JAMS, ContactLog
from kane.simulation.results.record import Record

KINDS = {
    NOTHING: "nothing",
    IMPOSED: "imposed",
    DELETED: "deleted",
    SLIPPED: "slips",
    SLIDING_ENDED: "sticks",
    REVERSED: "reverses",
    BOUNCED: "bounces",
    HALTED: "halts",
    JAMMED: JAMS,
    STEPPED: "is stepped over",
}


class ContactSwitching(ModeSource):
    """Mode source of a run with intermittent constraints."""

    shares_stage = (RHS, GUARDS, CHANGE)
    slopes_with_guards = True

    def __init__(self, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> None:
        """Take Dynamics with inputs, parameters and events, as ``simulate`` does."""
        self._each = {0: PosedContacts(InitialValueProblem.of(dyn, inputs, parameters, events))}

    def _at(self, key: int) -> PosedContacts:
        """Return the problem in the charts of a key."""
        return self._each[key]

    def problem(self, key: int) -> InitialValueProblem:
        here, f = self._at(key), self._at(key).functions
        posed = replace(here.posed, rhs=f.rhs, project=f.project, project_step_end=f.project_step_end)
        return replace(posed, guards=f.guards, change=f.change, mode_source=self)

    def projected(self, problem: InitialValueProblem, system: StateEquation, state: Vector) -> Vector:
        """See ``ModeSource``; constraints that stick at rest do not change velocities here."""
        return self._at(problem.key).begun(state, system.inputs, problem.parameters)

    def begun(self, states: Array, inputs: Array, parameters: Array) -> Array:
        return self._at(0).begun(states, inputs, parameters)

    def take_over(self, integration: IntegratorState, before: IntegratorState) -> None:
        mode_source = before.problem.mode_source
        if isinstance(mode_source, ContactSwitching):
            known, old, new = mode_source._names, mode_source._state(before), self._state(integration)
            for k, name in enumerate(self._names):
                if name in known:
                    i = known.index(name)
                    new.status[k], new.armed[k], new.begun[k] = old.status[i], old.armed[i], old.begun[i]
                    new.along[k] = old.along[i]
            values = dict(zip(mode_source._holding, mode_source._held(before), strict=True))
            held = self._held(integration)
            held[:] = [values.get(name, now) for name, now in zip(self._holding, held, strict=True)]

    @property
    def _names(self) -> list[str]:
        return [c.name for c in self._at(0).functions.equations.intermittents]

    @property
    def _first(self) -> int:
        """Number of permanent rows."""
        eqs = self._at(0).functions.equations
        return len(eqs.constraints) - sum(len(c.rows) for c in eqs.intermittents)

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
                f"constraints of {model!r} come and go, and the run goes back in time from {course.start:.9g} s to "
                f"{course.until:.9g} s; what an impact has lost cannot be found again"
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
        if outcome is Outcome.ENDLESS:
            names = list_names([repr(name) for name in self._active(integration)])
            return f"{super().refusal(integration, outcome)}: in force, or touching, is {names or 'nothing'}"
        return refusal(functions.equations, automaton.changed, self._active(integration))

    def _active(self, integration: IntegratorState) -> list[str]:
        """Return the names of the constraints that touch or are active at the current state."""
        functions = self._at(integration.problem.key).functions
        gaps = _gaps(functions, integration.time, integration.x[None, :], integration.problem.parameters).gap[0]
        gapped = [c.normal is not None for c in functions.equations.intermittents]
        touches = (gaps <= CLOSED) & np.array(gapped)
        return [name for name, on in zip(self._names, touches | (self.mode(integration) != OPEN), strict=True) if on]

    def mode(self, integration: IntegratorState) -> NDArray[np.int8]:
        return self._state(integration).status.astype(np.int8)

    @property
    def intermittents(self) -> Sequence[str]:
        return self._names

    def occurrences(self, integration: IntegratorState, mode: NDArray[np.int8]) -> list[Occurrence]:
        state, now = np.concatenate([[integration.time], integration.x])[None, :], self.mode(integration)[None, :]
        functions = self._at(integration.problem.key).functions
        rows = RowsAt(functions, state, integration.problem.parameters)
        require_kept(functions, state, np.maximum(*rows.residuals(now, self._held(integration)[None, :])))
        return list(self._story(integration, mode, np.zeros((0, 0), np.int8), np.zeros((0, 0))).occurrences())

    def step_over(self, integration: IntegratorState, status: Status) -> bool:
        if status is Status.REFUSED and integration.system.automaton.changed[len(integration.x)] not in (
            NO_MODE,
            ENDLESS_IMPACTS,
        ):
            return False
        return step_over(integration, self._at(integration.problem.key).functions, integration.changes)

    def stepped_over(self, integration: IntegratorState) -> str:
        return without_end(integration, integration.changes)

    def told(self, integration: IntegratorState, record: Record) -> Record:
        history = self._history(integration)
        statuses = history.statuses(len(record.states))
        fresh = contact_constants_of(self._at(0).functions.parts.expected).state.status
        reactions = history.reactions(record, statuses)[:, self._first :]
        contact_log = self._story(integration, fresh, statuses, reactions)
        worst, slips = history.kept(record, statuses)
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
        before = here.functions
        if here.renewed():
            kept = stage_in_force(integration.system, PROJECT, before.project).copy()
            self.problem(integration.problem.key).join(integration)
            enter(integration.system, len(integration.system.automaton.table) - 1)
            # Contact mode, kept residuals and speed selection have the same places as before.
            stage = stage_in_force(integration.system, PROJECT, here.functions.project)
            moving = here.functions.parts.moving
            stage[moving] = kept[moving]
            put_selection(stage, selection_in(kept))
            enter(integration.system, len(integration.system.automaton.table) - 1)

    def _met_by(self, integration: IntegratorState) -> list[tuple[int, ...]]:
        return [*map(tuple, np.unique([*self._history(integration).after, self.mode(integration)], axis=0).tolist())]

    def _numerical(self, integration: IntegratorState, statuses: NDArray[np.int8]) -> tuple[str, ...]:
        """Describe the modes of a run that are not compiled, if others are."""
        compiled = self._at(0).functions.parts.modes
        if not compiled.expected:
            return ()
        met = np.unique([*statuses[:1], *self._history(integration).after], axis=0).tolist()
        left = [statuses_in_words(row, self._names) for row in met if tuple(row) not in compiled.statuses]
        return tuple(left)

    def _story(
        self,
        integration: IntegratorState,
        mode: NDArray[Any],
        statuses: NDArray[np.int8],
        reactions: Array,
    ) -> ContactLog:
        """Return the contact log since the first record, at which the contact mode was ``mode``."""
        history, eqs, nx = self._history(integration), self._at(0).functions.equations, len(integration.x)
        nq, changes, after = len(eqs.q), history.changes, history.after
        found = noted(self._at(0).functions, changes.notes)
        impulses = found.impulses[:, self._first :]
        why = np.concatenate([found.cause, found.kind], axis=1).astype(np.int64)
        told, causes, kinds = happened(why, np.vstack([mode, after]), self._struck(impulses))
        # The loss of kinetic energy is recorded once, with the first of simultaneous events.
        lost = np.where(np.diff(told, prepend=-1) > 0, found.energy_lost[told, 0], 0.0)
        states = self._in_declared(integration, changes)[told]
        return ContactLog(
            intermittents=tuple(self._names),
            rows=tuple(row.name for c in eqs.intermittents for row in c.rows),
            of=np.repeat(np.arange(len(eqs.intermittents)), [len(c.rows) for c in eqs.intermittents]),
            statuses=statuses,
            reactions=reactions,
            times=changes.time[told, 0],
            causes=causes,
            kinds=tuple(KINDS[kind] for kind in kinds.tolist()),
            energy_lost=lost,
            impulses=impulses[told],
            after=after[told],
            q=states[:, nx : nx + nq],
            u_before=states[:, nq:nx],
            u=states[:, nx + nq :],
        )

    def _in_declared(self, integration: IntegratorState, changes: ModeChange) -> Array:
        """Return the states before and after transitions, (transitions, 2 nx), in declared coordinates."""
        return np.concatenate([changes.before, changes.after], axis=1)

    def _struck(self, impulses: Array) -> NDArray[np.bool_]:
        """Return whether an impact pushed each constraint, (transitions, constraints), from impulses of the rows."""
        found, row = np.zeros((len(impulses), len(self._names)), bool), 0
        for k, c in enumerate(self._at(0).functions.equations.intermittents):
            if c.normal is not None:
                found[:, k] = impulses[:, row] > 0.0
            row += len(c.rows)
        return found

    def _history(self, integration: IntegratorState) -> ContactHistory:
        return ContactHistory(integration, lambda key: self._at(key).functions)


def _gaps(functions: ContactFunctions, t: float, x: Array, parameters: Array) -> GapTerms:
    """Return gap, signs and coefficients at many states, (states, constraints) each."""
    return RowsAt(functions, np.column_stack([np.full(len(x), t), x]), parameters).gaps
