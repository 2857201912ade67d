"""One step of the mechanism in a tick, by the method of the session."""

from __future__ import annotations

from kane.engine.call import call_program, native_inline
from kane.engine.memory.loop_arguments import Indices, StateEquation, Store, Vector
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import counts_of
from kane.engine.realtime.loop_arrays import TOO_MANY_PARTS, Circuit
from kane.engine.realtime.moreau_jean_tick import step_to_tick_end

# Largest number of parts into which transitions may cut one step.
MOST_PARTS = 200


@native_inline
def copy_array(source: Vector | Indices, target: Vector | Indices) -> None:
    """Copy an array."""
    for i in range(source.size):
        target[i] = source[i]


@native_inline
def advance_tick(s: Circuit, system: StateEquation, store: Store) -> int:
    """Take one step of the mechanism in the parts into which transitions cut it; return its status."""
    before, calls, status = counts_of(store).steps[0], s.calls, TOO_MANY_PARTS
    for _ in range(MOST_PARTS):
        call_program(
            calls.step, calls.arguments, calls.arguments, calls.arguments, calls.scratch.whole, calls.scratch.whole
        )
        if calls.scratch.word[0] != GOING:
            status = int(calls.scratch.word[0])
            break
        if counts_of(store).steps[0] != before:
            return GOING
    return step_to_tick_end(s, system, store, status)
