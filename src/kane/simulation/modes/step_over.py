"""Moreau-Jean time steps where touching contacts have no consistent mode, or endless transitions."""

from __future__ import annotations

import numpy as np

from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.engine.linear.vectors import normalise
from kane.engine.memory.contact_codes import ADOPTED
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.run_memory import mode_of
from kane.engine.memory.views import mode_programs_at, time_step_given_at
from kane.engine.step.transitions import enter_mode
from kane.simulation.integrator_state import IntegratorState, StoredTransitions
from kane.simulation.mode_table import stage_in_force

# Length of the first such step relative to the run, growth of consecutive steps, and their largest number. Steps are
# consecutive if their starts are at most LARGEST_GAP times the length of the later step apart.
FIRST_LENGTH, LENGTH_GROWTH, IN_A_ROW, LARGEST_GAP = 2.0**-26, 8.0, 6, 10.0


def step_over(integration: IntegratorState, functions: ContactFunctions, taken: Vector) -> bool:
    """Take one Moreau-Jean time step from the current state and record it; return whether that was possible.

    Args:
        integration: changed in place.
        functions: native functions of the model.
        taken: times at which earlier Moreau-Jean time steps of the run began [s].
    """
    tried, length = _tried(integration, taken)
    store, system = integration.store, integration.system
    ahead = [t - integration.time for t in integration.course.times[integration.counts.rows[0] :][:1]]
    # The step ends before the next record.
    length = min([length, 0.5 * (integration.course.until - integration.time), *(0.5 * dt for dt in ahead if dt > 0.0)])
    if tried == IN_A_ROW or integration.time + length == integration.time:
        return False
    stage = stage_in_force(system, PROJECT, functions.project)
    eqs, nx = functions.equations, len(integration.x)
    departure = np.zeros(functions.moreau_jean_step.n_state)
    given = time_step_given_at(departure, 0, nx, len(eqs.constraints))
    given.state[0], given.state[1:], given.length[0], given.single[0] = integration.time, integration.x, length, 1.0
    found = functions.moreau_jean_step(departure, system.inputs, stage)
    if found[nx] != ADOPTED:
        return False
    normalise(found[:nx], system.quaternions)
    integration.make_room(1, 1)
    store = integration.store
    clock, counts = integration.clock, integration.counts
    clock.time[0] += length
    counts.transitions[0] += 1
    last = StoredTransitions(*(column[-1:] for column in integration.transitions))
    last.time[:], last.rows[:], last.found[:] = integration.time, counts.rows[0], counts.events[0]
    last.key_before[:] = last.key_after[:] = key = mode_of(system).key[0]
    last.before[:] = integration.x
    state = np.concatenate([[integration.time], found[:nx]])
    store.x[:] = functions.project(state, system.inputs, stage)[:nx]
    enter_mode(system, int(np.flatnonzero(mode_programs_at(system.automaton.table, 0).key[:, 0] == key)[-1]))
    last.after[:], last.notes[:] = store.x, found[nx + 1 :]
    counts.stop[0] = np.count_nonzero((integration.course.stops - integration.time) * integration.way <= 0.0)
    counts.slope_known[0] = counts.missed[0] = counts.cuts[0] = 0
    clock.cut_step[0] = 0.0
    return True


def without_end(integration: IntegratorState, taken: Vector) -> str:
    """Describe unsuccessful Moreau-Jean time steps; an empty text if none was tried, or if they succeeded."""
    if _tried(integration, taken)[0] < IN_A_ROW:
        return ""
    return (
        f"; {IN_A_ROW} steps of Moreau and Jean in a row did not lead past it: a dynamic jam, or chatter without end; "
        "less friction or restitution has another way"
    )


def _tried(integration: IntegratorState, taken: Vector) -> tuple[int, float]:
    """Return the number of consecutive Moreau-Jean time steps until now, and the length of the next one [s]."""
    first, tried = FIRST_LENGTH * (integration.course.until - integration.course.start), 0
    for begin, after in zip(taken, [*taken, integration.time][1:], strict=True):
        tried += 1
        if after - begin > LARGEST_GAP * first * LENGTH_GROWTH**tried:
            tried = 0
    return min(tried, IN_A_ROW), first * LENGTH_GROWTH**tried
