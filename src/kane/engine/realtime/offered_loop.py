"""Offered loop: a loop with revised constraints takes over the motion within a tick, or leaves it unchanged.

Python prepares the arrays of the offered loop while the running loop continues. The running loop calls
``begin_revision`` in place of its own step. The step begins with a transition, whose impulse projects the momentum onto
the revised constraints. If the step fails, the running loop takes its own step of the same tick and continues.

Source: Gillespie 2003, section 4, block 1 of Fig. 2.
"""

from __future__ import annotations

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.memory.loop_arguments import StateEquation, Store
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.realtime.loop_arrays import OFFERED, REVISION_REFUSED, SWITCHING, Circuit, RunningArrays
from kane.engine.realtime.machine_calls import fence
from kane.engine.realtime.tick_step import advance_tick, copy_array
from kane.engine.step.state_equation import write_record


@native_inline
def begin_offer(s: Circuit) -> bool:
    """Take the step of this tick with the arrays of an offered loop if there is one; return whether it was taken."""
    calls, offered, counts = s.calls, s.messages.offered, s.counts
    if counts.offer[0] != OFFERED:
        return False
    fence(calls)
    call_program(calls.step, offered, offered, offered, calls.scratch.whole, calls.scratch.whole)
    counts.trial[0] = calls.scratch.word[0]
    fence(calls)
    counts.offer[0] = SWITCHING if counts.trial[0] == GOING else REVISION_REFUSED
    return bool(counts.trial[0] == GOING)


@native_loop
def begin_revision(circuit: Circuit, system: StateEquation, store: Store, running: RunningArrays) -> int:
    """Copy the motion of the running loop into an offered loop, and take the step of the present tick.

    The state after the step is copied back, so that the running loop can complete the tick.

    Args:
        circuit, system, store: arrays of the offered loop.
        running: arrays of the running loop; only its state and its time change, and only if the step succeeds.

    Returns:
        GOING, or the status of the failed step.
    """
    s, before = circuit, running.store
    time = clock_of(before).time[0]
    copy_array(before.x, store.x)
    copy_array(running.inputs, system.inputs)
    for k in range(running.places.shape[0]):
        system.stages[running.places[k, 1]] = running.stages[running.places[k, 0]]
    copy_array(running.carried[0], s.prediction.carried[0])
    copy_array(running.carried[1], s.prediction.carried[1])
    copy_array(running.carried[2], s.prediction.carried[2])
    clock_of(store).time[0], counts_of(store).steps[0] = time, counts_of(before).steps[0]
    counts_of(store).rows[0] = 0
    write_record(store, time, store.x, system.projection.notes)
    status = advance_tick(s, system, store)
    if status == GOING:
        copy_array(store.x, before.x)
        clock_of(before).time[0] = clock_of(store).time[0]
    return status
