"""Transitions of a run as records of its contact log, and constraint forces and residuals at the recorded times.

The native program "transition" notes each transition (region Transition of ``engine.memory``). Here the notes become
records; see the contract in ``simulation.results.contact_log``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.dynamics.run_interface import STEPPED_OVER
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import (
    BOUNCED,
    DELETED,
    HALTED,
    IMPOSED,
    JAMMED,
    MOREAU_JEAN_STEP,
    NOTHING,
    OPEN,
    REVERSED,
    SLIDING,
    SLIDING_ENDED,
    SLIPPED,
    STICKING,
)
from kane.engine.memory.views import Transition, transition_at
from kane.engine.step.batches import each_state
from kane.errors import SimulationError
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.modes.rows_at import RowsAt
from kane.simulation.projection import UNPROJECTED
from kane.simulation.results.contact_log import JAMS, ContactLog
from kane.simulation.results.record import Record
from kane.simulation.state_layout import Layout

# Words for the kinds that native code notes, in ``TransitionRecord.kind``.
KINDS = {
    IMPOSED: "imposed",
    DELETED: "deleted",
    SLIPPED: "slips",
    SLIDING_ENDED: "sticks",
    REVERSED: "reverses",
    BOUNCED: "bounces",
    HALTED: "halts",
    JAMMED: JAMS,
    MOREAU_JEAN_STEP: STEPPED_OVER,
}
# Number of records whose forces one call computes; each record has its own constants.
RECORDS_AT_ONCE = 64
# Relative change of the state below which a transition only projects the state onto the active rows.
UNCHANGED_STATE = 1e-12


class ContactRecords:
    """Transitions of a run, and the forces and residuals at its recorded times, in the coordinates of each mode.

    Attributes:
        stored: the transitions as native code stores them.
        notes: their notes: cause, kind, loss, impulses, slip directions and statuses, (transitions, ...) each.
        after: status of each constraint after each transition, (transitions, constraints).
    """

    def __init__(self, integration: IntegratorState, functions: Callable[[int], ContactFunctions]) -> None:
        """Take an integrator state, and a function that returns the native functions in the charts of a key."""
        self._integration, self._functions, self._equations = integration, functions, functions(0).equations
        self._intermittents = self._equations.intermittents
        self.stored = integration.transitions
        # The notes begin after the status; the outputs of "transition" have a state before it.
        missing = np.zeros((len(self.stored.notes), 1))
        sizes = len(self._intermittents), len(self._equations.constraints), 0, 0
        self.notes: Transition = transition_at(np.concatenate([missing, self.stored.notes], axis=1), 0, *sizes)
        self.after: NDArray[np.int8] = self.notes.statuses.astype(np.int8)

    @property
    def moreau_jean_times(self) -> Array:
        """Times at which the Moreau-Jean time steps of the run began [s]."""
        return self.stored.time[self.notes.kind[:, 0] == MOREAU_JEAN_STEP]

    def log(
        self, mode: NDArray[Any], states: tuple[Array, Array], statuses: NDArray[np.int8], reactions: Array
    ) -> ContactLog:
        """Return the contact log since the first record.

        Args:
            mode: statuses at the first record, before the first transition.
            states: states before and after each transition, in declared coordinates, (transitions, nx) each.
            statuses: at the recorded times, (times, constraints).
            reactions: of all rows at the recorded times, (times, rows).
        """
        of, causes, kinds = self._changes(np.vstack([mode, self.after]))
        before, after = (x[of] for x in states)
        nq, first = len(self._equations.q), len(self._equations.permanent)
        return ContactLog(
            intermittents=tuple(c.name for c in self._intermittents),
            rows=tuple(row.name for c in self._intermittents for row in c.rows),
            of=np.repeat(np.arange(len(self._intermittents)), [len(c.rows) for c in self._intermittents]),
            statuses=statuses,
            reactions=reactions[:, first:],
            times=self.stored.time[of],
            causes=causes,
            kinds=tuple(KINDS[kind] for kind in kinds.tolist()),
            energy_lost=np.where(np.diff(of, prepend=-1) > 0, self.notes.energy_lost[of, 0], 0.0),
            impulses=self.notes.impulses[of, first:],
            after=self.after[of],
            q=after[:, :nq],
            u_before=before[:, nq:],
            u=after[:, nq:],
        )

    def _changes(self, statuses: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return transition, constraint and kind of each record; the cause of a transition has its first record.

        Args:
            statuses: before the first transition and after each, (1 + transitions, constraints).
        """
        before, after = statuses[:-1], statuses[1:]
        kinds = np.full(after.shape, NOTHING)
        kinds[(before == OPEN) & (after != OPEN)] = IMPOSED
        kinds[(before != OPEN) & (after == OPEN)] = DELETED
        kinds[(before == STICKING) & (after == SLIDING)] = SLIPPED
        kinds[(before == SLIDING) & (after == STICKING)] = SLIDING_ENDED
        for k, (c, rows) in enumerate(zip(self._intermittents, self._equations.intermittent_places, strict=True)):
            if c.normal is not None:
                kinds[(after[:, k] == OPEN) & (self.notes.impulses[:, rows.start] > 0.0), k] = BOUNCED
        noted = np.concatenate([self.notes.cause, self.notes.kind], axis=1).astype(np.int64)
        caused = np.flatnonzero(noted[:, 0] >= 0)
        kinds[caused, noted[caused, 0]] = noted[caused, 1]
        transition, constraint = np.nonzero(kinds)
        order = np.lexsort((constraint, constraint != noted[transition, 0], transition))
        return transition[order], constraint[order], kinds[transition, constraint][order]

    def statuses(self, count: int) -> NDArray[np.int8]:
        """Return the status of each constraint at the first ``count`` records, after the last earlier transition."""
        return np.concatenate([self.after, np.zeros_like(self.after, shape=(1, self.after.shape[1]))])[
            self._last(count)
        ]

    def _last(self, count: int) -> NDArray[np.int64]:
        """Return the index of the last transition that each record shows, -1 without one.

        A record at the time of a transition has the speeds before it. If the transition does not change the state, for
        example when an input jumps, the record shows the mode after it. The mode before might pull with the new inputs.
        """
        stored, recorded = self.stored, self._integration.store.rows[:, 0]
        rows = stored.rows.astype(np.int64)
        at_record = recorded[np.maximum(rows - 1, 0)] == stored.time
        kept = (np.abs(stored.after - stored.before) <= UNCHANGED_STATE * (1.0 + np.abs(stored.before))).all(axis=1)
        shown = np.where(at_record & kept, rows - 1, rows)
        # Transitions at the start of a run show at the first record.
        shown[stored.time == recorded[0]] = 0
        return np.asarray(np.searchsorted(np.maximum.accumulate(shown), np.arange(count), side="right") - 1)

    def reactions(self, record: Record, statuses: NDArray[np.int8]) -> Array:
        """Return the forces of all rows at each record; forces of inactive rows are zero."""
        forces = np.zeros((len(record.states), len(self._equations.constraints)))
        # Directions in which slip began after each transition; zero for records before the first transition.
        began = np.concatenate([self.notes.directions, np.zeros((1, len(self._intermittents), 2))])
        began = began[self._last(len(statuses))]
        for stretch in self._integration.stretches():
            active = stretch.rows.start + np.flatnonzero(statuses[stretch.rows].any(axis=1))
            for rows in np.array_split(active, -(-len(active) // RECORDS_AT_ONCE)) if len(active) else []:
                mode = statuses[rows], began[rows]
                given = record.states[rows], record.inputs[rows], record.parameters
                forces[rows] = forces_at(self._functions(stretch.key), *given, mode)
        return forces

    def kept(self, record: Record, statuses: NDArray[np.int8]) -> tuple[Array, Array]:
        """Return the residuals and slips of active constraints at each record.

        The largest residuals of configuration and motion are (records, 2). Slips in space are
        (records, constraints, 2); they are NaN for constraints that do not slide with friction.

        Raises:
            SimulationError: a constraint is violated.
        """
        behind = np.where(np.arange(len(statuses))[:, None] > 0, statuses, OPEN)  # a run begins with a transition
        imposed_at, worst = self._imposed_at(record, statuses), np.zeros((len(statuses), 2))
        slips = np.full((*statuses.shape, 2), np.nan)
        for stretch in self._integration.stretches():
            rows, functions = stretch.rows, self._functions(stretch.key)
            active = behind[rows] != OPEN
            if not active.any():
                continue
            at = RowsAt(functions, record.states[rows], record.parameters, active)
            residuals = at.residuals(behind[rows], imposed_at[rows])
            if not self._integration.drifts:
                require_kept(functions, record.states[rows], np.maximum(*residuals))
            worst[rows] = np.column_stack([x.max(axis=1, initial=0.0) for x in residuals])
            rubs = (behind[rows] == SLIDING) & (at.gaps.kinetic > 0.0)
            slips[rows] = np.where(rubs[..., None], at.slips, np.nan)
        return worst, slips

    def _imposed_at(self, record: Record, statuses: NDArray[np.int8]) -> Array:
        """Return the configuration residuals that rows keep at each record, (times, held); NaN for inactive rows."""
        of = [k for k, c in enumerate(self._equations.own.intermittents) for row in c.rows if row.integral is not None]
        stored = self.stored
        if not of or not len(stored.time):
            return np.full((len(statuses), len(of)), np.nan)
        values = np.zeros((len(stored.time), len(of)))
        states, keys = np.column_stack([stored.time, stored.before]), stored.key_before.astype(int)
        for key in np.unique(keys).tolist():
            values[keys == key] = RowsAt(self._functions(key), states[keys == key], record.parameters).held
        after = self.after != OPEN
        imposed = after & ~np.vstack([np.zeros_like(after[:1]), after[:-1]])
        last = np.maximum.accumulate(np.where(imposed, np.arange(len(after))[:, None], -1))
        which = np.vstack([last, np.full_like(last[:1], -1)])[self._last(len(statuses))][:, of]
        return np.where(which >= 0, values[which, np.arange(len(of))], np.nan)


def forces_at(
    f: ContactFunctions, states: Array, inputs: Array, parameters: Array, mode: tuple[NDArray[Any], Array]
) -> Array:
    """Return the forces of all rows at states [t, q, u]; ``mode`` has statuses and the directions in which slip began.

    ``parameters`` has one row for all states, or one for each.
    """
    statuses, began = mode
    work = np.zeros(max(f.project.n_work, f.reactions.n_work))
    stages = np.array(np.broadcast_to(f.project.stage(parameters), (len(states), f.project.n_stage)), order="C")
    state = contact_constants_of(stages).state
    state.status[:], state.along[:] = statuses, 0.0
    given = np.ascontiguousarray(states), np.ascontiguousarray(inputs[:, : f.project.n_rest]), stages
    # Computes slip directions and independent speeds, which reactions then read from the same constants.
    each_state(f.project.address, *given, np.zeros((len(states), f.project.n_out)), work)
    known = state.along.any(axis=2, keepdims=True)
    state.along[:] = np.where(known, state.along, began)
    found = np.zeros((len(states), f.reactions.n_out))
    each_state(f.reactions.address, *given, found, work)
    return found


def require_kept(functions: ContactFunctions, states: Array, off: Array) -> None:
    """Raise if a state [t, q, u] violates an active constraint by ``off``, (states, constraints).

    Raises:
        SimulationError: names the worst constraint.
    """
    size = np.maximum(1.0, np.abs(states[:, 1:]).max(axis=1))
    lost = np.flatnonzero(off.max(axis=1, initial=0.0) > UNPROJECTED * size)
    if len(lost):
        t, k, equations = states[lost[0], 0], int(np.argmax(off[lost[0]])), functions.equations
        raise SimulationError(
            f"an intermittent constraint of {equations.name!r} is lost at t = {t:.9g} s, "
            f"{Layout.of(equations).describe(states[lost[0], 1:])}: {equations.intermittents[k].name!r} is off by "
            f"{off[lost[0], k]:.6g}, because active constraints contradict each other; delete one before the other is "
            "imposed"
        )
