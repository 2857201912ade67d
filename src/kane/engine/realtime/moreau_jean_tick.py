"""What no step of the method passes in a tick is passed by one step of Moreau and Jean, to the end of the tick."""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.linear.vectors import normalise
from kane.engine.memory import contact_codes as header
from kane.engine.memory.run_codes import CHANGE, ENDLESS, GOING, REFUSED
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of
from kane.engine.memory.views import mode_change_at
from kane.engine.realtime.loop_arrays import PERIOD, TOO_MANY
from kane.engine.step.mode_changes import enter
from kane.engine.step.state_equation import project, write_row


@native_inline
def pass_over(s: Any, system: Any, store: Any, status: int) -> int:
    """What is left of a tick, at which the method has ended with this status, as one step of Moreau and Jean.

    The next step of the method begins with a change of the mode, as at the start of a run: statuses behind such a step
    are those of its impulses.

    Returns:
        GOING; the status, where that step finds no impulses either, or could not help.
    """
    p, x, clock, counts = s.passing, store.x, clock_of(store), counts_of(store)
    n, end = x.size, (counts.steps[0] + 1) * s.rules[PERIOD]
    if not (p.program != 0 and _is_passable(system, n, status) and counts.changes[0] < store.changes.shape[0]):
        return status
    p.state[0], p.state[1 + n] = clock.time[0], end - clock.time[0]
    for i in range(n):
        p.state[1 + i] = x[i]
    constants = system.stages[mode_of(system).places[CHANGE] :]
    call_program(p.program, p.state, system.inputs, constants, p.out, system.work)
    if p.out[n] != header.ADOPTED:
        return status
    note = mode_change_at(store.changes[counts.changes[0]], 0, n)
    counts.changes[0] += 1
    note.time[0], note.rows[0], note.events[0] = end, counts.rows[0], counts.events[0]
    note.key_before[0] = note.key_after[0] = mode_of(system).key[0]
    for i in range(n):
        note.before[i], x[i] = x[i], p.out[i]
    normalise(x, system.quaternions)
    enter(system, system.automaton.table.shape[0] - 1)  # contacts have one key, and the newest row is in force
    project(system.projection, system, end, x)
    for i in range(n):
        note.after[i] = x[i]
    for i in range(p.out.size - n - 1):
        note.notes[i] = p.out[n + 1 + i]
    counts.slope_known[0] = counts.missed[0] = counts.cuts[0] = counts.off_grid[0] = counts.started[0] = 0
    clock.time[0], clock.cut_step[0] = end, 0.0
    counts.steps[0] += 1
    write_row(store, end, x, system.projection.notes)
    return GOING


@native_inline
def _is_passable(system: Any, n: int, status: int) -> bool:
    """Whether no mode was found, or changes did not end; else something is wrong that other steps do not mend."""
    if status != REFUSED:
        return bool(status in (ENDLESS, TOO_MANY))
    found = system.automaton.changed[n]
    return bool(found in (header.NO_MODE, header.ENDLESS_IMPACTS))
