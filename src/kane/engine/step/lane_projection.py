"""Projection of the step ends of all lanes, with the bits of the projection of a single trajectory.

Lanes with the same compiled speed selection take Newton steps together, by the criteria of
``kane.engine.project.speed_selections``. The other lanes are projected one by one.
"""

from __future__ import annotations

import math

from kane.engine.call import call_program, native_inline
from kane.engine.memory.loop_arguments import Block, Vector
from kane.engine.memory.run_codes import NO_TRAJECTORY
from kane.engine.memory.run_memory import lane_clock
from kane.engine.memory.views import projection_notes_at
from kane.engine.project.newton import SMALL, satisfies
from kane.engine.project.speed_selections import (
    COMPILED_STEPS,
    END_RESIDUAL,
    END_STATE,
    LARGEST_ENTRY,
    REGULARITY,
    ROW_RESIDUAL,
    STEP_RESIDUAL,
    STEP_STATE,
    STEP_VELOCITY,
    exchange,
    is_usable,
)
from kane.engine.step.constrained_lanes import (
    LaneData,
    LanePrograms,
    LaneProjection,
    SingleRun,
    chosen_in,
    lane_system,
)
from kane.engine.step.lane_arithmetic import normalise_in_lanes
from kane.engine.step.slip_directions import save_directions
from kane.engine.step.state_equation import project

# Rows of ``LaneProjection.sizes``: residual of the configuration now, and residuals before the projection.
RESIDUAL, FIRST_RESIDUAL, FIRST_VELOCITY = range(3)


@native_inline
def project_step_ends(single: SingleRun, block: Block) -> None:
    """Project the step ends in all lanes.

    If a lane is not finite, all lanes are projected one by one, because only ``project`` checks for such states.
    """
    lanes, x, p = len(block.lanes), single[4].x, single[4].projection
    for lane in range(lanes):
        p.projected[lane] = 0
        if block.carries[lane] != NO_TRAJECTORY:
            save_directions(lane_system(single, block, lane), lane_clock(block, lane))
    finite = _is_finite_in_lanes(block.state)
    for k in range(p.steps.addresses.size):
        if finite and _mark_lanes(single, block, k):
            _project_by_selection(single, block, k)
    for lane in range(lanes):
        if block.carries[lane] != NO_TRAJECTORY and p.projected[lane] == 0:
            for i in range(x.size):
                x[i] = block.state[(1 + i) * lanes + lane]
            system = lane_system(single, block, lane)
            project(system.projection, system, block.state[lane], x)
            for i in range(x.size):
                block.state[(1 + i) * lanes + lane] = x[i]


@native_inline
def _is_finite_in_lanes(x: Vector) -> bool:
    """Check whether all numbers are finite; the count of other numbers compiles to vector instructions."""
    others = 0
    for i in range(x.size):
        others += 0 if abs(x[i]) < math.inf else 1
    return others == 0


@native_inline
def _mark_lanes(single: SingleRun, block: Block, k: int) -> bool:
    """Mark the lanes with compiled selection k in ``chosen``; return whether there are any."""
    p, found = single[4].projection, 0
    for lane in range(len(block.lanes)):
        p.chosen[lane] = 1 if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k else 0
        found += p.chosen[lane]
    return found > 0


@native_inline
def _project_by_selection(single: SingleRun, block: Block, k: int) -> None:
    """Project the marked lanes; a lane whose residual is small keeps its state while the others take steps."""
    own, quaternions, lanes = single[4], single[0].quaternions, len(block.lanes)
    p, stepped = own.projection, own.projection.found[STEP_STATE * lanes :]
    for i in range(p.state.size):
        p.state[i] = block.state[i]
    normalise_in_lanes(block.lanes, p.state, quaternions)
    _call(own, block, p.steps, k, p.found)
    left, current, taken = _begin(block, p), False, 0
    while left > 0 and taken < COMPILED_STEPS:
        if taken > 0:
            _call(own, block, p.steps, k, p.found)
        normalise_in_lanes(block.lanes, stepped, quaternions)
        if left == lanes:
            exchange(p.state, stepped, 0, 1)  # a single loop over all lanes is vectorized
        else:
            for lane in range(lanes):
                if p.going[lane] == 1:
                    exchange(p.state, stepped, lane, lanes)
        _call(own, block, p.consequences, k, p.follows)
        left, current = _judge_steps(block, p)
        taken += 1
    if not current:
        _call(own, block, p.consequences, k, p.follows)
    _accept_lanes(own, block)


@native_inline
def _call(own: LaneData, block: Block, programs: LanePrograms, k: int, out: Vector) -> None:
    """Call a program of selection k at the states of all lanes."""
    constants = own.constants[programs.places[0, k] :]
    call_program(programs.addresses[k], own.projection.state, block.inputs, constants, out, block.work)


@native_inline
def _begin(block: Block, p: LaneProjection) -> int:
    """Store the first residuals; return the number of lanes that need steps."""
    lanes, left = len(block.lanes), 0
    for lane in range(lanes):
        residual = p.found[STEP_RESIDUAL * lanes + lane]
        p.sizes[RESIDUAL, lane] = p.sizes[FIRST_RESIDUAL, lane] = residual
        p.sizes[FIRST_VELOCITY, lane] = p.found[STEP_VELOCITY * lanes + lane]
        p.going[lane] = p.chosen[lane] if residual > SMALL else 0
        left += p.going[lane]
    return left


@native_inline
def _judge_steps(block: Block, p: LaneProjection) -> tuple[int, bool]:
    """Take back the steps that did not reduce the residual, as ``newton.iterate`` does.

    Returns:
        Number of lanes that need further steps, and whether ``follows`` belongs to the states of all lanes.
    """
    lanes, left, lost = len(block.lanes), 0, 0
    for lane in range(lanes):
        after, before, going = p.follows[END_RESIDUAL * lanes + lane], p.sizes[RESIDUAL, lane], p.going[lane]
        reduced = going if after < before else 0
        p.sizes[RESIDUAL, lane] = after if reduced == 1 else before
        p.going[lane] = reduced if after > SMALL else 0
        p.lost[lane] = going - reduced
        left += p.going[lane]
        lost += p.lost[lane]
    if lost > 0:
        for lane in range(lanes):
            if p.lost[lane] == 1:
                exchange(p.state, p.found[STEP_STATE * lanes :], lane, lanes)
    return left, lost == 0


@native_inline
def _accept_lanes(own: LaneData, block: Block) -> None:
    """Copy the projected states of lanes whose selection is usable, and write their notes."""
    p, lanes, accepted = own.projection, len(block.lanes), 0
    projected, ends = p.follows[END_STATE * lanes :], block.state[lanes:]
    for lane in range(lanes):
        satisfied = p.chosen[lane] == 1 and satisfies(p.sizes[RESIDUAL, lane], p.going[lane] == 1)
        regularity, entry = p.follows[REGULARITY * lanes + lane], p.follows[LARGEST_ENTRY * lanes + lane]
        p.chosen[lane] = 1 if satisfied and is_usable(regularity, entry, p.follows[ROW_RESIDUAL * lanes + lane]) else 0
        accepted += p.chosen[lane]
    if accepted == lanes:
        for i in range(projected.size):
            ends[i] = projected[i]
    for lane in range(lanes):
        if p.chosen[lane] == 1:
            if accepted < lanes:
                for i in range(lane, projected.size, lanes):
                    ends[i] = projected[i]
            conditioning = min(1.0, p.follows[REGULARITY * lanes + lane])
            notes = projection_notes_at(own.notes[lane], 0)
            notes.configuration[0], notes.motion[0] = p.sizes[FIRST_RESIDUAL, lane], p.sizes[FIRST_VELOCITY, lane]
            notes.conditioning[0] = conditioning
            p.projected[lane] = 1
            if own.least.shape[1] > 0 and conditioning < own.least[lane, 0]:
                own.least[lane, 0] = conditioning
                own.least[lane, 1] = block.state[lane]
                for i in range(own.x.size):
                    own.least[lane, 2 + i] = ends[i * lanes + lane]
