"""Moreau-Jean time step to the end of a tick, for ticks that the method cannot complete."""

from __future__ import annotations

from kane.engine.call import native_inline
from kane.engine.memory import contact_codes as header
from kane.engine.memory.loop_arguments import StateEquation, Store
from kane.engine.memory.run_codes import ENDLESS, GOING, REFUSED
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.realtime.loop_arrays import TOO_MANY_PARTS, Circuit
from kane.engine.step.state_equation import project, write_record
from kane.engine.step.time_steps import note_time_step, take_time_step


@native_inline
def step_to_tick_end(s: Circuit, system: StateEquation, store: Store, status: int) -> int:
    """Take the rest of a tick as one Moreau-Jean time step, after the method has ended with this status.

    The next step of the method begins with a transition, as at the start of a run, because the statuses after a
    Moreau-Jean step follow from its impulses.

    Returns:
        GOING; or the given status if the step fails or does not apply.
    """
    p, x, clock, counts = s.moreau_jean, store.x, clock_of(store), counts_of(store)
    end = (counts.steps[0] + 1) * s.rules.period[0]
    if not (p.program != 0 and _applies(system, x.size, status) and counts.transitions[0] < store.transitions.shape[0]):
        return status
    if not take_time_step(p, system, store, end - clock.time[0]):
        return status
    project(system.projection, system, end, store.y)
    note_time_step(p, system, store, end)
    for i in range(x.size):
        x[i] = store.y[i]
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
