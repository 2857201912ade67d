"""Guards in lanes: the lanes within whose step no guard becomes negative are found together."""

from __future__ import annotations

from kane.engine.call import native_inline
from kane.engine.hybrid.compiled_mode_programs import keeps_digits, mode_continues
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.loop_arguments import SAMPLES, Block, Indices, Matrix, Vector
from kane.engine.memory.run_codes import AT_END, NO_TRAJECTORY, PROJECT
from kane.engine.memory.run_memory import lane_clock, samples_of
from kane.engine.memory.views import guard_samples_at, mode_programs_at
from kane.engine.step.constrained_lanes import SingleRun, call_compiled, chosen_in, lane_system
from kane.engine.step.guards import evaluate_step_end, is_steady, may_dip
from kane.engine.step.lane_arithmetic import add_slopes, normalise_in_lanes
from kane.engine.step.state_equation import dense_weight


@native_inline
def evaluate_step_ends(single: SingleRun, block: Block, out: Vector) -> None:
    """Write the slopes at the step ends of all lanes into ``out``, and the guards there into their last samples.

    ``evaluate_step_end`` evaluates lanes whose mode is not compiled, or whose guards are negative, not finite, or lose
    digits.
    """
    own, lanes = single[4], len(block.lanes)
    guards = single[0].automaton.guards
    n = guards.out.size
    call_compiled(single, block, own.guards_of, own.seen)
    for lane in range(lanes):
        own.quiet[lane] = 0
        if block.carries[lane] == NO_TRAJECTORY:
            continue
        if chosen_in(single, lane) != NONE and _is_quiet_at(single, block, lane, AT_END):
            own.quiet[lane] = 1
            for i in range(own.f.size):
                out[i * lanes + lane] = own.seen[(n + i) * lanes + lane]
            continue
        for i in range(own.x.size):
            own.x[i] = block.state[(1 + i) * lanes + lane]
        evaluate_step_end(lane_system(single, block, lane), single[1][1], block.state[lane], own.x, own.f)
        for i in range(own.f.size):
            out[i * lanes + lane] = own.f[i]
        for e in range(n):
            guard_samples_at(own.samples[lane], 0, n).values[AT_END, e] = samples_of(guards).values[AT_END, e]


@native_inline
def sample_guards(single: SingleRun, block: Block, dense: Matrix) -> None:
    """Mark in ``quiet`` the lanes within whose step no guard becomes negative, by the criteria of ``first_guard``.

    A lane is not quiet if its mode is not compiled, or if a guard is negative, not finite, or may be negative between
    two samples. ``cut_step`` then checks its step.
    """
    own, lanes = single[4], len(block.lanes)
    n, wanted = single[0].automaton.guards.out.size, 0
    for lane in range(lanes):
        own.quiet[lane] *= block.accepted[lane]
        if own.quiet[lane] == 1:
            span = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
            ends = guard_samples_at(own.samples[lane], 0, n).values[AT_END]
            own.steady[lane] = 1 if is_steady(lane_clock(block, lane), ends, span) else 0
            wanted += 1 - own.steady[lane]
    if wanted == 0:
        return
    for sample in range(AT_END):
        _interpolate_in_lanes(block, dense, single[0].quaternions, SAMPLES[sample])
        call_compiled(single, block, own.guards_of, own.seen)
        for lane in range(lanes):
            if own.quiet[lane] == 1 and own.steady[lane] == 0:
                own.quiet[lane] = 1 if _is_quiet_at(single, block, lane, sample) else 0
    for lane in range(lanes):
        if own.quiet[lane] == 1 and own.steady[lane] == 0:
            for sample in range(1, SAMPLES.size - 1):
                for e in range(n):
                    if may_dip(guard_samples_at(own.samples[lane], 0, n).values, sample, e):
                        own.quiet[lane] = 0


@native_inline
def _interpolate_in_lanes(block: Block, dense: Matrix, quaternions: Indices, theta: float) -> None:
    """Write the dense output at a fraction theta of the step in all lanes, as ``interpolate_state`` does."""
    lanes, state = len(block.lanes), block.state
    for i in range(block.z.size):
        block.z[i] = 0.0
    for j in range(dense.shape[0]):
        weight = dense_weight(dense, j, theta)
        block.chosen[j] = j
        for lane in range(lanes):
            block.weights[j, lane] = weight
    add_slopes(block.lanes, block.z, block.slopes, block.weights, block.chosen, dense.shape[0], block.x.size // lanes)
    for lane in range(lanes):
        h = block.steps[1, lane]
        state[lane] = block.steps[0, lane] + theta * h
        for i in range(lane, block.x.size, lanes):
            state[lanes + i] = block.x[i] + h * block.z[i]
    normalise_in_lanes(block.lanes, state, quaternions)


@native_inline
def _is_quiet_at(single: SingleRun, block: Block, lane: int, sample: int) -> bool:
    """Store the guards of a lane at a sample; return whether all are finite, not negative, and keep their digits."""
    system, own, lanes = single[0], single[4], len(block.lanes)
    n = system.automaton.guards.out.size
    seen = guard_samples_at(own.samples[lane], 0, n).values[sample]
    for i in range(n):
        seen[i] = own.seen[i * lanes + lane]
    of = contact_constants_of(system.headers[mode_programs_at(own.modes[lane], 0).places[PROJECT] :])
    goes = mode_continues(of.table, of.state, seen)
    return bool(is_finite(seen) and goes and keeps_digits(own.seen, (n + own.f.size) * lanes + lane, lanes))
