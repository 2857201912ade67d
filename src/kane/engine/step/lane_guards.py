"""Guards of lanes: in which of them nothing ends the mode within a step."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline
from kane.engine.hybrid.compiled_mode_programs import goes_on, keeps_digits
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.loop_arguments import LOOKS
from kane.engine.memory.run_codes import AT_END, NO_TRAJECTORY, PROJECT
from kane.engine.memory.run_memory import lane_clock, samples_of
from kane.engine.memory.views import guard_samples_at, mode_programs_at
from kane.engine.step.constrained_lanes import (
    NONE,
    call_compiled,
    chosen_in,
    lane_system,
    normalise_in_lanes,
)
from kane.engine.step.lane_arithmetic import add_slopes
from kane.engine.step.mode_changes import is_steady, land


@native_inline
def land_in_lanes(single: Any, block: Any, out: Any) -> None:
    """The slope and the guards at the end of the step in all lanes, as ``modes.land`` has them of each alone.

    Where a guard is negative or no number, digits are lost, or the mode is not compiled, they are found there.
    """
    own, lanes = single[4], len(block.lanes)
    guards = single[0].automaton.guards
    n = guards.out.size
    call_compiled(single, block, own.guards_of, own.seen)
    for lane in range(lanes):
        own.quiet[lane] = 0
        if block.carries[lane] == NO_TRAJECTORY:
            continue
        if chosen_in(single, lane) != NONE and _sees_nothing(single, block, lane, AT_END):
            own.quiet[lane] = 1
            for i in range(own.f.size):
                out[i * lanes + lane] = own.seen[(n + i) * lanes + lane]
            continue
        for i in range(own.x.size):
            own.x[i] = block.state[(1 + i) * lanes + lane]
        land(lane_system(single, block, lane), single[1][1], block.state[lane], own.x, own.f)
        for i in range(own.f.size):
            out[i * lanes + lane] = own.f[i]
        for e in range(n):
            guard_samples_at(own.looks[lane], 0, n).values[AT_END, e] = samples_of(guards).values[AT_END, e]


@native_inline
def look_in_lanes(single: Any, block: Any, dense: Any) -> None:
    """See in which lanes nothing ends the mode within the step, as ``modes.first_guard`` would see it of each alone.

    A lane in which a guard is negative, no number, or may be negative between two looks is not quiet: its step is
    looked at alone. So are steps in modes that are not compiled.
    """
    own, lanes = single[4], len(block.lanes)
    n, wanted = single[0].automaton.guards.out.size, 0
    for lane in range(lanes):
        own.quiet[lane] *= block.accepted[lane]
        if own.quiet[lane] == 1:
            span = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
            ends = guard_samples_at(own.looks[lane], 0, n).values[AT_END]
            own.steady[lane] = 1 if is_steady(lane_clock(block, lane), ends, span) else 0
            wanted += 1 - own.steady[lane]
    if wanted == 0:
        return
    for look in range(AT_END):
        _between_in_lanes(block, dense, single[0].quaternions, LOOKS[look])
        call_compiled(single, block, own.guards_of, own.seen)
        for lane in range(lanes):
            if own.quiet[lane] == 1 and own.steady[lane] == 0:
                own.quiet[lane] = 1 if _sees_nothing(single, block, lane, look) else 0
    for lane in range(lanes):
        if own.quiet[lane] == 1 and own.steady[lane] == 0 and _may_dip(own.looks[lane], n):
            own.quiet[lane] = 0


@native_inline
def _between_in_lanes(block: Any, dense: Any, quaternions: Any, theta: float) -> None:
    """The state at the part theta of the step in all lanes, with the bits of ``state.between``."""
    lanes, state = len(block.lanes), block.state
    for i in range(block.z.size):
        block.z[i] = 0.0
    for j in range(dense.shape[0]):
        weight = 0.0
        for m in range(dense.shape[1] - 1, -1, -1):
            weight = (weight + dense[j, m]) * theta
        block.chosen[j] = j
        for lane in range(lanes):
            block.weights[j, lane] = weight
    add_slopes(block.lanes, block.z, block.slopes, block.weights, block.chosen, dense.shape[0], block.x.size // lanes)
    for lane in range(lanes):
        h = block.steps[1, lane]
        state[lane] = block.steps[0, lane] + theta * h
        for i in range(lane, block.x.size, lanes):
            state[lanes + i] = block.x[i] + h * block.z[i]
    normalise_in_lanes(block, state, quaternions)


@native_inline
def _sees_nothing(single: Any, block: Any, lane: int, look: int) -> bool:
    """Keep the guards of a lane at a look; whether all are numbers, none is negative, and digits are kept."""
    system, own, lanes = single[0], single[4], len(block.lanes)
    n = system.automaton.guards.out.size
    seen = guard_samples_at(own.looks[lane], 0, n).values[look]
    for i in range(n):
        seen[i] = own.seen[i * lanes + lane]
    of = contact_constants_of(system.headers[mode_programs_at(own.modes[lane], 0).places[PROJECT] :])
    goes = goes_on(of.table, of.state, seen)
    return bool(is_finite(seen) and goes and keeps_digits(own.seen, (n + own.f.size) * lanes + lane, lanes))


@native_inline
def _may_dip(looks: Any, n: int) -> bool:
    """Whether some guard may be negative between two of its looks, as ``modes._first_dip`` has it."""
    found, seen = False, guard_samples_at(looks, 0, n).values
    for look in range(1, LOOKS.size - 1):
        low, middle, high = LOOKS[look - 1], LOOKS[look], LOOKS[look + 1]
        for e in range(n):
            before, lowest, behind = seen[look - 1, e], seen[look, e], seen[look + 1, e]
            fall = (before - lowest) * (high - middle) / (middle - low)
            rise = (behind - lowest) * (middle - low) / (high - middle)
            if lowest < before and lowest <= behind and lowest <= max(fall, rise):
                found = True
    return found
