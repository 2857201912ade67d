"""Slip directions at the start of a step, which are restored if the step is cut.

The projection of the end of a step turns the slip directions that the friction of the next step reads. A step that is
cut at a guard leaves directions of an end that the run never reaches. Repeated with these directions, it would be
another motion. The directions at its start are stored at the end of ``Store.clock``, after the guards: the direction of
each intermittent constraint (2), then ``Projection.least``, which also excludes ends that are cut off.

A step that is rejected for its error keeps the directions of its end. If errors are as large as a slip, the old
directions would require steps in which friction turns by less than a right angle: 5 times as many steps.
"""

from __future__ import annotations

from kane.engine.call import native_inline
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.loop_arguments import AT_END, CLOCK, PASSED, PROJECT, StateEquation, Vector
from kane.engine.memory.views import ContactState, contact_state_at


@native_inline
def save_directions(system: StateEquation, clock: Vector) -> None:
    """Store the slip directions and the least conditioning before the end of a step is projected."""
    kept, least = clock[_place_of(system) :], system.projection.least
    constraints, state = _state_of(system, kept.size)
    for k in range(constraints):
        kept[2 * k], kept[2 * k + 1] = state.along[k, 0], state.along[k, 1]
    for i in range(least.size if kept.size > 0 else 0):
        kept[2 * constraints + i] = least[i]


@native_inline
def restore_directions(system: StateEquation, clock: Vector, samples: Vector) -> None:
    """Restore the slip directions and the least conditioning of a step that is cut.

    A slip that is slower than ``begun`` at the end of the step keeps its new direction. Friction across this slip is
    viscous: a load that turns moves the contact further across the slip than along it. With the old direction the next
    try would stop it.

    Args:
        system: StateEquation.
        clock: clock of the Store.
        samples: guards at SAMPLES within the step. At its end the guard of sliding tangents is the remaining slip.
    """
    kept, least = clock[_place_of(system) :], system.projection.least
    constraints, state = _state_of(system, kept.size)
    ends = (AT_END + 1) * system.automaton.guards.out.size - 2 * constraints
    for k in range(constraints):
        if samples[ends + 2 * k + 1] >= state.begun[k]:
            state.along[k, 0], state.along[k, 1] = kept[2 * k], kept[2 * k + 1]
    for i in range(least.size if kept.size > 0 else 0):
        least[i] = kept[2 * constraints + i]


@native_inline
def _place_of(system: StateEquation) -> int:
    """Return the place of the stored directions in the clock."""
    return int(CLOCK + PASSED * (1 + system.automaton.guards.out.size))


@native_inline
def _state_of(system: StateEquation, size: int) -> tuple[int, ContactState]:
    """Return the number of constraints whose directions are stored, and their ContactState."""
    constraints = max(size - system.projection.least.size, 0) // 2
    if constraints == 0:
        return 0, contact_state_at(system.stages, 0, 0)
    return constraints, contact_constants_of(system.stages[system.mode[PROJECT + 1] :]).state
