"""Moreau-Jean time step to the end of a tick, for ticks that the method cannot complete."""

from __future__ import annotations

from kane.engine.call import call_program, native_inline
from kane.engine.linear.vectors import normalise
from kane.engine.memory import contact_codes as header
from kane.engine.memory.loop_arguments import (
    CHANGE,
    CHANGE_FOUND,
    CHANGE_ROWS,
    CHANGE_TIME,
    CHANGED,
    CUT_STEP,
    CUTS,
    DONE,
    ENDLESS,
    FOUND,
    GOING,
    KEY,
    KEY_AFTER,
    KEY_BEFORE,
    KNOWN,
    MISSED,
    REFUSED,
    ROWS,
    STARTED,
    STATE_BEFORE,
    TIME,
    WITHIN,
    StateEquation,
    Store,
)
from kane.engine.realtime.loop_arrays import TOO_MANY_PARTS, Circuit
from kane.engine.step.mode_changes import enter
from kane.engine.step.state_equation import project, write_row


@native_inline
def step_to_tick_end(s: Circuit, system: StateEquation, store: Store, status: int) -> int:
    """Take the rest of a tick as one Moreau-Jean time step, after the method has ended with this status.

    The next step of the method begins with a transition, as at the start of a run, because the statuses after a
    Moreau-Jean step are those of its impulses.

    Returns:
        GOING; or the given status if the step fails or does not apply.
    """
    p, x, clock, counts = s.moreau_jean, store.x, store.clock, store.counts
    n, end = x.size, (counts[DONE] + 1) * s.rules.period[0]
    if not (p.program != 0 and _applies(system, n, status) and counts[CHANGED] < store.changes.shape[0]):
        return status
    p.state[0], p.state[1 + n] = clock[TIME], end - clock[TIME]
    for i in range(n):
        p.state[1 + i] = x[i]
    constants = system.stages[system.mode[CHANGE + 1] :]
    call_program(p.program, p.state, system.inputs, constants, p.out, system.work)
    if p.out[n] != header.ADOPTED:
        return status
    note = store.changes[counts[CHANGED]]
    counts[CHANGED] += 1
    note[CHANGE_TIME], note[CHANGE_ROWS], note[CHANGE_FOUND] = end, counts[ROWS], counts[FOUND]
    note[KEY_BEFORE] = note[KEY_AFTER] = system.mode[KEY]
    for i in range(n):
        note[STATE_BEFORE + i], x[i] = x[i], p.out[i]
    normalise(x, system.quaternions)
    enter(system, system.automaton.table.shape[0] - 1)  # contacts have one key; the newest row is active
    project(system.projection, system, end, x)
    for i in range(n):
        note[STATE_BEFORE + n + i] = x[i]
    for i in range(p.out.size - n - 1):
        note[STATE_BEFORE + 2 * n + i] = p.out[n + 1 + i]
    counts[KNOWN] = counts[MISSED] = counts[CUTS] = counts[WITHIN] = counts[STARTED] = 0
    clock[TIME], clock[CUT_STEP] = end, 0.0
    counts[DONE] += 1
    write_row(store, end, x, system.projection.notes)
    return GOING


@native_inline
def _applies(system: StateEquation, n: int, status: int) -> bool:
    """Return whether no contact mode was found or transitions did not end; another step cannot cure other failures."""
    if status != REFUSED:
        return bool(status in (ENDLESS, TOO_MANY_PARTS))
    found = system.automaton.changed[n]
    return bool(found in (header.NO_MODE, header.ENDLESS))
