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
from kane.engine.memory.loop_arguments import StateEquation, Vector
from kane.engine.memory.run_codes import AT_END, PROJECT
from kane.engine.memory.run_memory import mode_of
from kane.engine.memory.views import (
    ContactState,
    RunClock,
    SlipMemory,
    contact_state_at,
    guard_history_at,
    guard_samples_at,
    slip_memory_at,
)


@native_inline
def save_directions(system: StateEquation, clock: RunClock) -> None:
    """Store the slip directions and the least conditioning before the end of a step is projected."""
    kept, state = _kept_of(system, clock)
    for k in range(kept.along.shape[0]):
        kept.along[k, 0], kept.along[k, 1] = state.along[k, 0], state.along[k, 1]
    for i in range(kept.least.size):
        kept.least[i] = system.projection.least[i]


@native_inline
def restore_directions(system: StateEquation, clock: RunClock, samples: Vector) -> None:
    """Restore the slip directions and the least conditioning of a step that is cut.

    A slip that is slower than ``begun`` at the end of the step keeps its new direction. Friction across this slip is
    viscous: a load that turns moves the contact further across the slip than along it. With the old direction the next
    try would stop it.

    Args:
        system: StateEquation.
        clock: clock of the Store.
        samples: guards at SAMPLES within the step. At its end the guard of sliding tangents is the remaining slip.
    """
    kept, state = _kept_of(system, clock)
    constraints, guards = kept.along.shape[0], system.automaton.guards.out.size
    ends = guard_samples_at(samples, 0, guards).values[AT_END]
    for k in range(constraints):
        if ends[guards - 2 * constraints + 2 * k + 1] >= state.begun[k]:
            state.along[k, 0], state.along[k, 1] = kept.along[k, 0], kept.along[k, 1]
    for i in range(kept.least.size):
        system.projection.least[i] = kept.least[i]


@native_inline
def _kept_of(system: StateEquation, clock: RunClock) -> tuple[SlipMemory, ContactState]:
    """Return the SlipMemory of a clock, empty if the mode has no guards, and the ContactState that it copies."""
    start = guard_history_at(clock.history, 0, system.automaton.guards.out.size).end
    room, least = max(clock.history.size - start, 0), system.projection.least.size
    constraints = max(room - least, 0) // 2
    kept = slip_memory_at(clock.history, start, constraints, least if room > 0 else 0)
    if constraints == 0:
        return kept, contact_state_at(system.stages, 0, 0)
    return kept, contact_constants_of(system.stages[mode_of(system).places[PROJECT] :]).state
