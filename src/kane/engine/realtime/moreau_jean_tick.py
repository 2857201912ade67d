"""What no step of the method passes in a tick is passed by one step of Moreau and Jean, to the end of the tick."""

from __future__ import annotations

from typing import Any

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
)
from kane.engine.realtime.loop_arrays import PERIOD, TOO_MANY
from kane.engine.step.state_equation import project, write_record
from kane.engine.step.transitions import enter_mode


@native_inline
def pass_over(s: Any, system: Any, store: Any, status: int) -> int:
    """What is left of a tick, at which the method has ended with this status, as one step of Moreau and Jean.

    The next step of the method begins with a change of the mode, as at the start of a run: statuses behind such a step
    are those of its impulses.

    Returns:
        GOING; the status, where that step finds no impulses either, or could not help.
    """
    p, x, clock, counts = s.passing, store.x, store.clock, store.counts
    n, end = x.size, (counts[DONE] + 1) * s.rules[PERIOD]
    if not (p.program != 0 and _is_passable(system, n, status) and counts[CHANGED] < store.changes.shape[0]):
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
    enter_mode(system, system.automaton.table.shape[0] - 1)  # contacts have one key, and the newest row is in force
    project(system.projection, system, end, x)
    for i in range(n):
        note[STATE_BEFORE + n + i] = x[i]
    for i in range(p.out.size - n - 1):
        note[STATE_BEFORE + 2 * n + i] = p.out[n + 1 + i]
    counts[KNOWN] = counts[MISSED] = counts[CUTS] = counts[WITHIN] = counts[STARTED] = 0
    clock[TIME], clock[CUT_STEP] = end, 0.0
    counts[DONE] += 1
    write_record(store, end, x, system.projection.notes)
    return GOING


@native_inline
def _is_passable(system: Any, n: int, status: int) -> bool:
    """Whether no mode was found, or changes did not end; else something is wrong that other steps do not mend."""
    if status != REFUSED:
        return bool(status in (ENDLESS, TOO_MANY))
    found = system.automaton.changed[n]
    return bool(found in (header.NO_MODE, header.ENDLESS))
