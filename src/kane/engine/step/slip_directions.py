"""Directions of slip at the start of a step, which a step that is cut gives back.

Settling the end of a step turns the directions of slip that friction of the next step reads. A step that is cut at a
guard within it leaves directions of an end that the run never reaches. Taken again with these directions it would be
another motion. The directions at its start are kept at the end of ``Store.clock``, behind the guards: of each candidate
the direction (2), then ``Settling.least``, in which ends that are cut off do not count either.

A step that is rejected for its error keeps the directions of its end. Where errors are as large as a slip, with the
old directions steps must be so short that friction turns by less than a right angle in each: 5 times as many.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.run_codes import AT_END, PROJECT
from kane.engine.memory.run_memory import mode_of
from kane.engine.memory.views import contact_state_at, guard_history_at, guard_samples_at, slip_memory_at


@native_inline
def remember(system: Any, clock: Any) -> None:
    """Keep what the end of a step may change, before it is settled."""
    kept, state = _kept_of(system, clock)
    for k in range(kept.along.shape[0]):
        kept.along[k, 0], kept.along[k, 1] = state.along[k, 0], state.along[k, 1]
    for i in range(kept.least.size):
        kept.least[i] = system.projection.least[i]


@native_inline
def recall(system: Any, clock: Any, looks: Any) -> None:
    """Take back what the end of a step has changed that is not to stand.

    The direction of a slip that is slower there than ``begun`` stays. Friction across this slip is viscous: a load that
    turns moves the contact further across the slip than along it. With the old direction the next try would stop it.

    Args:
        system: a StateEquation.
        clock: of the Store.
        looks: the guards at LOOKS within the step. At its end a guard of tangents that slip is the slip that is left.
    """
    kept, state = _kept_of(system, clock)
    candidates = kept.along.shape[0]
    guards = system.automaton.guards.out.size
    ends = guard_samples_at(looks, 0, guards).values[AT_END]
    for k in range(candidates):
        if ends[guards - 2 * candidates + 2 * k + 1] >= state.begun[k]:
            state.along[k, 0], state.along[k, 1] = kept.along[k, 0], kept.along[k, 1]
    for i in range(kept.least.size):
        system.projection.least[i] = kept.least[i]


@native_inline
def _kept_of(system: Any, clock: Any) -> Any:
    """Return the SlipMemory of a clock, empty if the mode has no guards, and the ContactState that it copies."""
    start = guard_history_at(clock.history, 0, system.automaton.guards.out.size).end
    room, least = max(clock.history.size - start, 0), system.projection.least.size
    candidates = max(room - least, 0) // 2
    kept = slip_memory_at(clock.history, start, candidates, least if room > 0 else 0)
    if candidates == 0:
        return kept, contact_state_at(system.stages, 0, 0)
    return kept, contact_constants_of(system.stages[mode_of(system).places[PROJECT] :]).state
