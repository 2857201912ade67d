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
from kane.engine.memory.loop_arguments import AT_END, CLOCK, PASSED, PROJECT
from kane.engine.memory.views import contact_state_at


@native_inline
def remember(system: Any, clock: Any) -> None:
    """Keep what the end of a step may change, before it is settled."""
    kept, least = clock[_kept_at(system) :], system.projection.least
    candidates, state = _state_of(system, kept.size)
    for k in range(candidates):
        kept[2 * k], kept[2 * k + 1] = state.along[k, 0], state.along[k, 1]
    for i in range(least.size if kept.size > 0 else 0):
        kept[2 * candidates + i] = least[i]


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
    kept, least = clock[_kept_at(system) :], system.projection.least
    candidates, state = _state_of(system, kept.size)
    ends = (AT_END + 1) * system.automaton.guards.out.size - 2 * candidates
    for k in range(candidates):
        if looks[ends + 2 * k + 1] >= state.begun[k]:
            state.along[k, 0], state.along[k, 1] = kept[2 * k], kept[2 * k + 1]
    for i in range(least.size if kept.size > 0 else 0):
        least[i] = kept[2 * candidates + i]


@native_inline
def _kept_at(system: Any) -> int:
    """Where in the clock all of this is kept."""
    return int(CLOCK + PASSED * (1 + system.automaton.guards.out.size))


@native_inline
def _state_of(system: Any, size: int) -> Any:
    """Return the number of candidates whose directions are kept, and their ContactState."""
    candidates = max(size - system.projection.least.size, 0) // 2
    if candidates == 0:
        return 0, contact_state_at(system.stages, 0, 0)
    return candidates, contact_constants_of(system.stages[system.mode[PROJECT + 1] :]).state
