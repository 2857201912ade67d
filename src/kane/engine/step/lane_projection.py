"""States of all lanes put onto their constraints together, with the bits that each gets alone."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.memory.run_codes import NO_TRAJECTORY
from kane.engine.memory.run_memory import lane_clock
from kane.engine.memory.views import projection_notes_at
from kane.engine.project.projection import SMALL
from kane.engine.project.speed_selections import (
    CLOSED,
    ENTRY,
    FOLLOWING,
    ITERATIONS,
    LEFT,
    MOVING,
    OPEN,
    OPEN_THEN,
    STEPPED,
    serves,
)
from kane.engine.project.speed_selections import CONDITIONING as REGULARITY
from kane.engine.step.constrained_lanes import chosen_in, lane_system, normalise_in_lanes
from kane.engine.step.slip_directions import remember
from kane.engine.step.state_equation import project

# Rows of ``LaneSettling.sizes``.
NOW, BEFORE, MOVED = range(3)


@native_inline
def project_step_ends(single: Any, block: Any) -> None:
    """Put the end of the step of each lane onto the constraints: together where compiled choices serve, else alone.

    Alone too where some lane is not finite: what is to stay as it is, is known there.
    """
    lanes, x, s = len(block.lanes), single[4].x, single[4].projection
    for lane in range(lanes):
        s.projected[lane] = 0
        if block.carries[lane] != NO_TRAJECTORY:
            remember(lane_system(single, block, lane), lane_clock(block, lane))
    finite = _all_finite(block.state)
    for k in range(s.steps.addresses.size):
        if finite and _find_lanes(single, block, k):
            _project_in_choice(single, block, k)
    for lane in range(lanes):
        if block.carries[lane] != NO_TRAJECTORY and s.projected[lane] == 0:
            for i in range(x.size):
                x[i] = block.state[(1 + i) * lanes + lane]
            system = lane_system(single, block, lane)
            project(system.projection, system, block.state[lane], x)
            for i in range(x.size):
                block.state[(1 + i) * lanes + lane] = x[i]


@native_inline
def _all_finite(x: Any) -> bool:
    """Whether all numbers are finite; counted, which takes several at once."""
    others = 0
    for i in range(x.size):
        others += 0 if abs(x[i]) < math.inf else 1
    return others == 0


@native_inline
def _find_lanes(single: Any, block: Any, k: int) -> bool:
    """Mark the lanes in which a choice is in force; whether there are any."""
    s, found = single[4].projection, 0
    for lane in range(len(block.lanes)):
        s.chosen[lane] = 1 if block.carries[lane] != NO_TRAJECTORY and chosen_in(single, lane) == k else 0
        found += s.chosen[lane]
    return found > 0


@native_inline
def _project_in_choice(single: Any, block: Any, k: int) -> None:
    """Settle the lanes that are marked, as ``choices.settle`` does each alone.

    A lane whose state has come as close as it can waits for the others, as it is.
    """
    s, quaternions, lanes = single[4].projection, single[0].quaternions, len(block.lanes)
    x, found, spare = block.state, s.found, s.next
    if quaternions.size > 0:
        x = s.state
        for i in range(x.size):
            x[i] = block.state[i]
        normalise_in_lanes(block, x, quaternions)
    _call(single, block, s.steps, k, x, found)
    left, known, steps = _begin(block, s), False, 0
    while left > 0 and steps < ITERATIONS:
        if steps > 0:
            _call(single, block, s.steps, k, x, found)
        moved = found[STEPPED * lanes :]
        normalise_in_lanes(block, moved, quaternions)
        if left < lanes:
            for lane in range(lanes):
                if s.going[lane] == 0:
                    _copy_lane(x, moved, lane, lanes)
        _call(single, block, s.consequences, k, moved, s.follows)
        left, known = _judge(block, s, x, moved)
        x, found, spare = moved, spare, found
        steps += 1
    if not known:
        _call(single, block, s.consequences, k, x, s.follows)
    _take(single[4], block)


@native_inline
def _call(single: Any, block: Any, programs: Any, k: int, x: Any, out: Any) -> None:
    """Call a program of a choice at [t, q, u] in all lanes."""
    constants = single[4].constants[programs.places[0, k] :]
    call_program(programs.addresses[k], x, block.inputs, constants, out, block.work)


@native_inline
def _begin(block: Any, s: Any) -> int:
    """Note the residuals that lanes begin with; how many have to move."""
    lanes, left = len(block.lanes), 0
    for lane in range(lanes):
        size = s.found[OPEN * lanes + lane]
        s.sizes[NOW, lane] = s.sizes[BEFORE, lane] = size
        s.sizes[MOVED, lane] = s.found[MOVING * lanes + lane]
        s.going[lane] = s.chosen[lane] if size > SMALL else 0
        left += s.going[lane]
    return left


@native_inline
def _copy_lane(x: Any, to: Any, lane: int, lanes: int) -> None:
    """The state of one lane."""
    for i in range(lane, x.size, lanes):
        to[i] = x[i]


@native_inline
def _judge(block: Any, s: Any, x: Any, moved: Any) -> Any:
    """Take back steps that gained nothing; how many lanes have to go on, and whether what follows is of all states."""
    lanes, left, lost = len(block.lanes), 0, 0
    for lane in range(lanes):
        size, before, going = s.follows[OPEN_THEN * lanes + lane], s.sizes[NOW, lane], s.going[lane]
        gained = going if size < before else 0
        s.sizes[NOW, lane] = size if gained == 1 else before
        s.going[lane] = gained if size > SMALL else 0
        s.lost[lane] = going - gained
        left += s.going[lane]
        lost += s.lost[lane]
    if lost > 0:
        for lane in range(lanes):
            if s.lost[lane] == 1:
                _copy_lane(x, moved, lane, lanes)
    return left, lost == 0


@native_inline
def _take(own: Any, block: Any) -> None:
    """The states of lanes in which the choice serves, and what settling them has noted."""
    s, lanes, taken = own.projection, len(block.lanes), 0
    projected, ends = s.follows[FOLLOWING * lanes :], block.state[lanes:]
    for lane in range(lanes):
        closed = s.chosen[lane] == 1 and s.going[lane] == 0 and s.sizes[NOW, lane] <= CLOSED
        regular, entry = s.follows[REGULARITY * lanes + lane], s.follows[ENTRY * lanes + lane]
        s.chosen[lane] = 1 if closed and serves(regular, entry, s.follows[LEFT * lanes + lane]) else 0
        taken += s.chosen[lane]
    if taken == lanes:
        for i in range(projected.size):
            ends[i] = projected[i]
    for lane in range(lanes):
        if s.chosen[lane] == 1:
            if taken < lanes:
                _copy_lane(projected, ends, lane, lanes)
            conditioning = min(1.0, s.follows[REGULARITY * lanes + lane])
            notes = projection_notes_at(own.notes[lane], 0)
            notes.configuration[0], notes.motion[0] = s.sizes[BEFORE, lane], s.sizes[MOVED, lane]
            notes.conditioning[0] = conditioning
            s.projected[lane] = 1
            if own.least.shape[1] > 0 and conditioning < own.least[lane, 0]:
                own.least[lane, 0] = conditioning
                own.least[lane, 1] = block.state[lane]
                for i in range(own.x.size):
                    own.least[lane, 2 + i] = ends[i * lanes + lane]
