"""Moreau-Jean time step to the end of a tick, for ticks that the method cannot complete."""

from __future__ import annotations

from kane.engine.call import call_program, native_inline
from kane.engine.linear.vectors import normalise
from kane.engine.memory import contact_codes as header
from kane.engine.memory.loop_arguments import StateEquation, Store
from kane.engine.memory.run_codes import ENDLESS, GOING, REFUSED, TRANSITION
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of
from kane.engine.memory.views import transition_note_at
from kane.engine.realtime.loop_arrays import TOO_MANY_PARTS, Circuit
from kane.engine.step.state_equation import project, write_record
from kane.engine.step.transitions import enter_mode


@native_inline
def step_to_tick_end(s: Circuit, system: StateEquation, store: Store, status: int) -> int:
    """Take the rest of a tick as one Moreau-Jean time step, after the method has ended with this status.

    The next step of the method begins with a transition, as at the start of a run, because the statuses after a
    Moreau-Jean step follow from its impulses.

    Returns:
        GOING; or the given status if the step fails or does not apply.
    """
    p, x, clock, counts = s.moreau_jean, store.x, clock_of(store), counts_of(store)
    n, end = x.size, (counts.steps[0] + 1) * s.rules.period[0]
    if not (p.program != 0 and _applies(system, n, status) and counts.transitions[0] < store.transitions.shape[0]):
        return status
    p.state[0], p.state[1 + n] = clock.time[0], end - clock.time[0]
    for i in range(n):
        p.state[1 + i] = x[i]
    constants = system.stages[mode_of(system).places[TRANSITION] :]
    call_program(p.program, p.state, system.inputs, constants, p.out, system.work)
    if p.out[n] != header.ADOPTED:
        return status
    note = transition_note_at(store.transitions[counts.transitions[0]], 0, n)
    counts.transitions[0] += 1
    note.time[0], note.rows[0], note.events[0] = end, counts.rows[0], counts.events[0]
    note.key_before[0] = note.key_after[0] = mode_of(system).key[0]
    for i in range(n):
        note.before[i], x[i] = x[i], p.out[i]
    normalise(x, system.quaternions)
    enter_mode(system, system.automaton.table.shape[0] - 1)  # contacts have one key; the newest row is active
    project(system.projection, system, end, x)
    for i in range(n):
        note.after[i] = x[i]
    for i in range(p.out.size - n - 1):
        note.notes[i] = p.out[n + 1 + i]
    counts.slope_known[0] = counts.missed[0] = counts.cuts[0] = counts.off_grid[0] = counts.started[0] = 0
    clock.time[0], clock.cut_step[0] = end, 0.0
    counts.steps[0] += 1
    write_record(store, end, x, system.projection.notes)
    return GOING


@native_inline
def _applies(system: StateEquation, n: int, status: int) -> bool:
    """Return whether no contact mode was found or transitions did not end; another step cannot cure other failures."""
    if status != REFUSED:
        return bool(status in (ENDLESS, TOO_MANY_PARTS))
    found = system.automaton.changed[n]
    return bool(found in (header.NO_MODE, header.ENDLESS_IMPACTS))
