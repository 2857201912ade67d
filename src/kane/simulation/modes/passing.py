"""Moreau-Jean time steps where touching contacts have no consistent mode, or endless transitions."""

from __future__ import annotations

import numpy as np

from kane.array_types import Array
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.engine.hybrid.moreau_jean import STEPPED
from kane.engine.linear.vectors import normalise
from kane.engine.memory.contact_codes import ADOPTED
from kane.engine.memory.loop_arguments import (
    CHANGE_FOUND,
    CHANGE_ROWS,
    CHANGE_TIME,
    CHANGED,
    CUT_STEP,
    CUTS,
    FOUND,
    KEY,
    KEY_AFTER,
    KEY_BEFORE,
    KNOWN,
    MISSED,
    PROJECT,
    ROWS,
    STATE_BEFORE,
    STOP,
    TIME,
)
from kane.engine.step.transitions import enter_mode
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.mode_table import stage_in_force

# Length of the first such step relative to the run, growth of consecutive steps, and their largest number. Steps are
# consecutive if their starts are at most FARTHER times the length of the later step apart.
SHARE, LONGER, IN_A_ROW, FARTHER = 2.0**-26, 8.0, 6, 10.0
Changes = tuple[Array, Array]


def step_over(integration: IntegratorState, functions: ContactFunctions, changes: Changes) -> bool:
    """Take one Moreau-Jean time step from the current state and record it; return whether that was possible.

    Args:
        integration: changed in place.
        functions: native functions of the model.
        changes: transition records of the run until now, and the notes of each.
    """
    tried, length = _tried(integration, changes)
    store, system = integration.store, integration.system
    ahead = [t - integration.time for t in integration.course.times[store.counts[ROWS] :][:1]]
    # The step ends before the next record.
    length = min([length, 0.5 * (integration.course.until - integration.time), *(0.5 * dt for dt in ahead if dt > 0.0)])
    if tried == IN_A_ROW or integration.time + length == integration.time:
        return False
    stage = stage_in_force(system, PROJECT, functions.project)
    nx, departure = len(integration.x), np.concatenate([[integration.time], integration.x, [length]])
    found = functions.step_over(departure, system.inputs, stage)
    if found[nx] != ADOPTED:
        return False
    normalise(found[:nx], system.quaternions)
    integration.make_room(1, 1)
    store = integration.store
    note = store.changes[store.counts[CHANGED]]
    store.clock[TIME] += length
    note[CHANGE_TIME], note[CHANGE_ROWS], note[CHANGE_FOUND] = integration.time, store.counts[ROWS], store.counts[FOUND]
    note[KEY_BEFORE] = note[KEY_AFTER] = system.mode[KEY]
    note[STATE_BEFORE : STATE_BEFORE + nx] = integration.x
    state = np.concatenate([[integration.time], found[:nx]])
    store.x[:] = functions.project(state, system.inputs, stage)[:nx]
    enter_mode(system, int(np.flatnonzero(system.automaton.table[:, KEY] == system.mode[KEY])[-1]))
    note[STATE_BEFORE + nx : STATE_BEFORE + 2 * nx] = store.x
    note[STATE_BEFORE + 2 * nx :] = found[nx + 1 :]
    store.counts[CHANGED] += 1
    store.counts[STOP] = np.count_nonzero((integration.course.stops - integration.time) * integration.way <= 0.0)
    store.counts[[KNOWN, MISSED, CUTS]], store.clock[CUT_STEP] = 0, 0.0
    return True


def without_end(integration: IntegratorState, changes: Changes) -> str:
    """Describe unsuccessful Moreau-Jean time steps; an empty text if none was tried, or if they succeeded."""
    if _tried(integration, changes)[0] < IN_A_ROW:
        return ""
    return (
        f"; {IN_A_ROW} steps of Moreau and Jean in a row did not lead past it: a dynamic jam, or chatter without end; "
        "less friction or restitution has another way"
    )


def _tried(integration: IntegratorState, changes: Changes) -> tuple[int, float]:
    """Return the number of consecutive Moreau-Jean time steps until now, and the length of the next one [s]."""
    taken = changes[0][changes[1][:, 1] == STEPPED, CHANGE_TIME]
    first, tried = SHARE * (integration.course.until - integration.course.start), 0
    for begin, after in zip(taken, [*taken, integration.time][1:], strict=True):
        tried += 1
        if after - begin > FARTHER * first * LONGER**tried:
            tried = 0
    return min(tried, IN_A_ROW), first * LONGER**tried
