"""Statuses, forces and residuals of intermittent constraints at the records of a run, and their transitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import (
    BOUNCED,
    DELETED,
    IMPOSED,
    NOTHING,
    OPEN,
    SLIDING,
    SLIDING_ENDED,
    SLIPPED,
    STICKING,
)
from kane.engine.memory.views import ModeChange, Transition, transition_at
from kane.engine.step.batches import each_state
from kane.errors import SimulationError
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.modes.rows_at import RowsAt
from kane.simulation.projection import UNPROJECTED
from kane.simulation.results.record import Record
from kane.simulation.state_layout import Layout

# Number of records whose forces one call computes; each record has its own constants.
TOGETHER = 64
# Relative change of the state below which a transition only projects the state onto the active rows.
ROUNDING = 1e-12


class ContactHistory:
    """Transitions of a run, and the forces and residuals at its records, in the coordinates of each mode."""

    def __init__(self, integration: IntegratorState, functions: Callable[[int], ContactFunctions]) -> None:
        """Take an integrator state, and a function that returns the native functions in the charts of a key."""
        self._integration, self._functions = integration, functions
        self._intermittent = functions(0).equations.intermittents

    @cached_property
    def changes(self) -> ModeChange:
        """All transitions of the run."""
        return self._integration.changes

    @property
    def after(self) -> NDArray[np.int8]:
        """Status of each constraint after each transition."""
        return noted(self._functions(0), self.changes.notes).statuses.astype(np.int8)

    @property
    def _began(self) -> Array:
        """Slip direction of each constraint after each transition, (1 + transitions, constraints, 2).

        The last row is zero, for records before the first transition.
        """
        nc = len(self._intermittent)
        return np.concatenate([noted(self._functions(0), self.changes.notes).directions, np.zeros((1, nc, 2))])

    def statuses(self, count: int) -> NDArray[np.int8]:
        """Return the status of each constraint at the first ``count`` records, after the last earlier transition."""
        fresh = np.zeros((1, len(self._intermittent)), np.int8)
        return np.concatenate([self.after, fresh])[self._changed(count)]

    def _changed(self, count: int) -> NDArray[np.int64]:
        """Return the index of the last transition that each record shows, -1 without one.

        A record at the time of a transition has the speeds before it. If the transition does not change the state, for
        example when an input jumps, the record shows the mode after it. The mode before might pull with the new inputs.
        """
        rows, times = self.changes.rows[:, 0].astype(np.int64), self.changes.time[:, 0]
        before, after = self.changes.before, self.changes.after
        at_record = self._integration.store.rows[np.maximum(rows - 1, 0), 0] == times
        kept = (np.abs(after - before) <= ROUNDING * (1.0 + np.abs(before))).all(axis=1)
        shown = np.where(at_record & kept, rows - 1, rows)
        # Transitions at the start of a run show at the first record.
        shown[times == self._integration.store.rows[0, 0]] = 0
        return np.asarray(np.searchsorted(np.maximum.accumulate(shown), np.arange(count), side="right") - 1)

    def reactions(self, record: Record, statuses: NDArray[np.int8]) -> Array:
        """Return the forces of all rows at each record; forces of inactive rows are zero."""
        forces = np.zeros((len(record.states), len(self._functions(0).equations.constraints)))
        began = self._began[self._changed(len(statuses))]
        for stretch in self._integration.stretches():
            active = stretch.rows.start + np.flatnonzero(statuses[stretch.rows].any(axis=1))
            for rows in np.array_split(active, -(-len(active) // TOGETHER)) if len(active) else []:
                forces[rows] = _forces(self._functions(stretch.key), record, rows, (statuses[rows], began[rows]))
        return forces

    def kept(self, record: Record, statuses: NDArray[np.int8]) -> tuple[Array, Array]:
        """Return the residuals and slips of active constraints at each record.

        The largest residuals of configuration and motion are (records, 2). Slips in space are
        (records, constraints, 2); they are NaN for constraints that do not slide with friction.

        Raises:
            SimulationError: a constraint is violated.
        """
        behind = np.where(np.arange(len(statuses))[:, None] > 0, statuses, OPEN)  # a run begins with a transition
        found, worst = self._found(record, statuses), np.zeros((len(statuses), 2))
        slips = np.full((*statuses.shape, 2), np.nan)
        for stretch in self._integration.stretches():
            rows, functions = stretch.rows, self._functions(stretch.key)
            at = RowsAt(functions, record.states[rows], record.parameters)
            residuals = at.residuals(behind[rows], found[rows])
            require_kept(functions, record.states[rows], np.maximum(*residuals))
            worst[rows] = np.column_stack([x.max(axis=1, initial=0.0) for x in residuals])
            rubs = (behind[rows] == SLIDING) & (at.gaps.kinetic > 0.0)
            slips[rows] = np.where(rubs[..., None], at.slips, np.nan)
        return worst, slips

    def _found(self, record: Record, statuses: NDArray[np.int8]) -> Array:
        """Return the configuration residuals that rows keep at each record, (times, held); NaN for inactive rows."""
        intermittents = self._functions(0).equations.own.intermittents
        of = [k for k, c in enumerate(intermittents) for row in c.rows if row.integral is not None]
        if not of or not len(self.changes.time):
            return np.full((len(statuses), len(of)), np.nan)
        values = np.zeros((len(self.changes.time), len(of)))
        states = np.column_stack([self.changes.time, self.changes.before])
        keys = self.changes.key_before[:, 0].astype(int)
        for key in np.unique(keys).tolist():
            values[keys == key] = RowsAt(self._functions(key), states[keys == key], record.parameters).held
        after = self.after != OPEN
        imposed = after & ~np.vstack([np.zeros_like(after[:1]), after[:-1]])
        last = np.maximum.accumulate(np.where(imposed, np.arange(len(after))[:, None], -1))
        which = np.vstack([last, np.full_like(last[:1], -1)])[self._changed(len(statuses))][:, of]
        return np.where(which >= 0, values[which, np.arange(len(of))], np.nan)


def noted(f: ContactFunctions, notes: Array) -> Transition:
    """Return the notes of transitions, the outputs of "change" after its status, as a Transition without a state."""
    e, missing = f.equations, np.zeros((len(notes), 1))
    return transition_at(np.concatenate([missing, notes], axis=1), 0, len(e.intermittents), len(e.constraints), 0, 0)


def _forces(
    f: ContactFunctions, record: Record, rows: NDArray[np.int64], mode: tuple[NDArray[np.int8], Array]
) -> Array:
    """Return the forces of all rows at some records; ``mode`` has statuses and the directions in which slip began."""
    statuses, began = mode
    work = np.zeros(max(f.project.n_work, f.reactions.n_work))
    stages = np.tile(f.project.stage(record.parameters), (len(rows), 1))
    state = contact_constants_of(stages).state
    state.status[:], state.along[:] = statuses, 0.0
    given = record.states[rows], np.ascontiguousarray(record.inputs[rows, : f.project.n_rest]), stages
    # Computes slip directions and independent speeds, which reactions then read from the same constants.
    each_state(f.project.address, *given, np.zeros((len(rows), f.project.n_out)), work)
    known = state.along.any(axis=2, keepdims=True)
    state.along[:] = np.where(known, state.along, began)
    found = np.zeros((len(rows), f.reactions.n_out))
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
            f"a constraint of {equations.name!r} that comes and goes is lost at t = {t:.9g} s, "
            f"{Layout.of(equations).describe(states[lost[0], 1:])}: {equations.intermittents[k].name!r} is off by "
            f"{off[lost[0], k]:.6g}, as where what is in force contradicts itself as "
            "time goes on; delete one before the other is imposed"
        )


def happened(
    noted: NDArray[np.int64], statuses: NDArray[Any], struck: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return transition, constraint and kind of every event; the cause of a transition is its first event.

    Args:
        noted: cause and kind of each transition, (transitions, 2).
        statuses: before the first transition and after each, (1 + transitions, constraints).
        struck: whether an impact pushed a constraint, (transitions, constraints).
    """
    before, after = statuses[:-1], statuses[1:]
    kinds = np.full(after.shape, NOTHING)
    kinds[(before == OPEN) & (after != OPEN)] = IMPOSED
    kinds[(before != OPEN) & (after == OPEN)] = DELETED
    kinds[(before == STICKING) & (after == SLIDING)] = SLIPPED
    kinds[(before == SLIDING) & (after == STICKING)] = SLIDING_ENDED
    kinds[(after == OPEN) & struck] = BOUNCED
    caused = np.flatnonzero(noted[:, 0] >= 0)
    kinds[caused, noted[caused, 0]] = noted[caused, 1]
    change, constraint = np.nonzero(kinds)
    order = np.lexsort((constraint, constraint != noted[change, 0], change))
    return change[order], constraint[order], kinds[change, constraint][order]
