"""The native loop of ensembles: trajectories in SIMD lanes, each with its own time, step and error.

Only stages, errors, guards and dense output are evaluated in all lanes together. The other parts are those of a single
trajectory (``explicit``, ``step_ends``, ``transitions``), called lane by lane. The whole loop of a single trajectory is
separate, because this loop with one lane is 22 to 34 % slower.
"""

from __future__ import annotations

import math

from kane.engine.call import native_inline, native_kernel, native_loop
from kane.engine.memory.loop_arguments import (
    Block,
    Course,
    Indices,
    InputTables,
    Matrix,
    Scheme,
    StateEquation,
    Store,
    Tables,
    Trajectories,
    Vector,
    Watch,
)
from kane.engine.memory.run_codes import AT_END, FINISHED, GOING, NO_TRAJECTORY, RHS, STUCK
from kane.engine.memory.run_memory import clock_of, counts_of, lane_clock, lane_counts, mode_of, samples_of
from kane.engine.memory.views import guard_samples_at, trajectory_queue_at
from kane.engine.step.constrained_lanes import LaneData, SingleRun, begin_constrained, lane_system, slope_in_lanes
from kane.engine.step.event_location import Span
from kane.engine.step.explicit import (
    accept_step,
    combined_error,
    first_step,
    free_step,
    reject_step,
    rotation_error,
)
from kane.engine.step.guards import accept_guards, has_guards
from kane.engine.step.lane_arithmetic import add_slopes, normalise_in_lanes, raise_to_errors
from kane.engine.step.lane_guards import evaluate_step_ends, sample_guards
from kane.engine.step.lane_projection import project_step_ends
from kane.engine.step.state_equation import has_record_before, write_record
from kane.engine.step.step_ends import begin_step, end_step
from kane.engine.step.transitions import ACCEPTED, REPEAT, cut_step


@native_loop
def integrate_lanes(
    single: tuple[StateEquation, InputTables, Watch, Store, LaneData],
    course: Course,
    block: Block,
    trajectories: Trajectories,
    scheme: Scheme,
    queue: Indices,
    steps: int,
) -> int:
    """Take steps in all lanes; a lane whose trajectory ends continues with the next trajectory of the queue.

    Args:
        single: StateEquation, input tables, Watch and Store of a single trajectory, and the data of the lanes. Tables
            and Watch are empty. The Store has room for all slopes of a step.
        course: time span and record times, without fixed steps.
        block: arrays of the lanes.
        trajectories: all trajectories.
        scheme: Runge-Kutta method and tolerances.
        queue: next place in ``order``, the end of the part to be computed, and whether other parts may follow.
        steps: number of steps. Fewer are taken if a lane is idle while other parts may follow.

    Returns:
        Number of lanes that carry a trajectory.
    """
    lanes = len(block.lanes)
    carried, left = 0, trajectory_queue_at(queue, 0)
    for _ in range(steps):
        carried = 0
        for lane in range(lanes):
            if block.carries[lane] == NO_TRAJECTORY and left.next[0] < left.stop[0]:
                _begin_trajectory(single, course, block, trajectories, lane, trajectories.order[left.next[0]])
                left.next[0] += 1
            if block.carries[lane] != NO_TRAJECTORY and lane_counts(block, lane).slope_known[0] == 0:
                _take_first_slope(single, course, block, trajectories, scheme, lane)
            if block.carries[lane] != NO_TRAJECTORY:
                carried += 1
        if carried == 0 or (carried < lanes and left.more[0] != 0):
            break
        _evaluate_stages_in_lanes(single, block, trajectories, scheme)
        _estimate_errors(single[0].quaternions, block, scheme)
        extend = False
        for lane in range(lanes):
            block.accepted[lane] = 0
            if block.carries[lane] != NO_TRAJECTORY:
                extend = _check_error(single, course, block, trajectories, scheme, lane) or extend
        guarded = has_guards(single[0])
        if (extend or guarded) and scheme.last + 1 < block.slopes.shape[0]:
            _evaluate_dense_stages_in_lanes(single, block, scheme)
        if guarded:
            sample_guards(single, block, scheme.dense)
        for lane in range(lanes):
            if block.accepted[lane] == 1:
                _advance(single, course, block, trajectories, scheme, lane)
    return carried


@native_inline
def _store_of(single: SingleRun, block: Block, trajectories: Trajectories, lane: int) -> Store:
    """Return a Store of views of one lane, with the scratch of the single trajectory."""
    lanes, own = len(block.lanes), single[3]
    return Store(
        block.x[lane::lanes],
        block.y[lane::lanes],
        own.z,
        block.slopes[:, lane::lanes],
        block.clock[lane],
        block.counts[lane],
        trajectories.rows[block.carries[lane]],
        own.found,
        own.transitions,
    )


@native_inline
def _copy_of(single: SingleRun, block: Block, lane: int) -> Store:
    """Return the Store of the single trajectory with a copy of the state of one lane, and the clock of the lane."""
    lanes, own = len(block.lanes), single[3]
    for i in range(own.x.size):
        own.x[i] = block.x[i * lanes + lane]
    return Store(
        own.x, own.y, own.z, own.slopes, block.clock[lane], block.counts[lane], own.rows, own.found, own.transitions
    )


@native_inline
def _begin_trajectory(
    single: SingleRun, course: Course, block: Block, trajectories: Trajectories, lane: int, number: int
) -> None:
    """Load the start of a trajectory into a lane."""
    lanes, store = len(block.lanes), single[3]
    inputs = trajectories.inputs[number if trajectories.inputs.shape[0] > 1 else 0]
    constants = trajectories.stages[number if trajectories.stages.shape[0] > 1 else 0]
    for i in range(inputs.size):
        single[0].inputs[i] = block.inputs[i * lanes + lane] = inputs[i]
    for i in range(store.x.size):
        store.x[i] = trajectories.starts[number, i]
    for i in range(block.counts.shape[1]):
        block.counts[lane, i] = 0
    for i in range(block.clock.shape[1]):
        block.clock[lane, i] = 0.0
    lane_clock(block, lane).time[0] = clock_of(store).time[0] = course.start
    system = lane_system(single, block, lane)
    for i in range(constants.size):
        system.stages[mode_of(system).places[RHS] + i] = constants[i]
        if block.each != 0:
            block.constants[i * lanes + lane] = constants[i]
    if single[4].modes.shape[0] > 0:
        begin_constrained(system, single[4], lane, store, constants)
    for i in range(store.x.size):
        block.x[i * lanes + lane] = store.x[i]
    block.carries[lane] = number
    write_record(_store_of(single, block, trajectories, lane), course.start, store.x, system.projection.notes)


@native_inline
def _take_first_slope(
    single: SingleRun, course: Course, block: Block, trajectories: Trajectories, scheme: Scheme, lane: int
) -> None:
    """Begin a step of one lane at the start of a trajectory or after a guard; choose the first step of a trajectory."""
    lanes, tables, counts = len(block.lanes), single[1], lane_counts(block, lane)
    system, store, first = lane_system(single, block, lane), _copy_of(single, block, lane), counts.started[0] == 0
    counts.transitions[0] = 0
    status = begin_step(system, tables, single[2], store, clock_of(store).time[0])
    for i in range(store.x.size):
        block.x[i * lanes + lane] = store.x[i]
    if status != GOING:
        end_lane(block, trajectories, lane, status)
        return
    if first:
        first_step(system, tables[1], course, store, scheme)
    for i in range(store.x.size):
        block.slopes[0, i * lanes + lane] = store.slopes[0, i]


@native_kernel
def _cut(system: StateEquation, interpolated: Tables, course: Course, store: Store, dense: Matrix, span: Span) -> int:
    """Call ``cut_step``, which is long and rarely needed, as a kernel."""
    return cut_step(system, interpolated, course, store, dense, span)


@native_inline
def end_lane(block: Block, trajectories: Trajectories, lane: int, status: int) -> None:
    """Store the last state and the status of the trajectory of a lane, and set the lane idle."""
    lanes, number = len(block.lanes), block.carries[lane]
    trajectories.last[number, 0] = lane_clock(block, lane).time[0]
    for i in range(trajectories.last.shape[1] - 1):
        trajectories.last[number, 1 + i] = block.x[i * lanes + lane]
    trajectories.steps[number] = lane_counts(block, lane).steps[0]
    trajectories.rejected[number] = lane_counts(block, lane).rejected[0]
    trajectories.status[number] = status
    block.carries[lane] = NO_TRAJECTORY


@native_inline
def _check_error(
    single: SingleRun, course: Course, block: Block, trajectories: Trajectories, scheme: Scheme, lane: int
) -> bool:
    """Accept the step of a lane if its error permits, or shorten it; return whether records are due within the step."""
    clock, counts = lane_clock(block, lane), lane_counts(block, lane)
    error = combined_error(block.sizes[0, lane], block.sizes[1, lane])
    if not error <= 1.0:
        if not reject_step(course, clock, counts, scheme, block.steps[1, lane], error):
            end_lane(block, trajectories, lane, STUCK)
        return False
    block.sizes[0, lane], block.accepted[lane] = error, 1
    return has_record_before(_store_of(single, block, trajectories, lane), course, block.steps[2, lane])


@native_inline
def _advance(
    single: SingleRun, course: Course, block: Block, trajectories: Trajectories, scheme: Scheme, lane: int
) -> None:
    """Write the records within the step of a lane and set its end state, or cut the step at a guard."""
    t, h, t1 = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
    system, tables, watch = lane_system(single, block, lane), single[1], single[2]
    if has_guards(system):
        found = _cut_lane(single, course, block, scheme, lane)
        if found == REPEAT:
            return
        if found != ACCEPTED:
            end_lane(block, trajectories, lane, found)
            return
    store = _store_of(single, block, trajectories, lane)
    at_stop = t1 == _next_stop(block, trajectories, lane)
    accept_step(clock_of(store), counts_of(store), scheme, h, block.sizes[0, lane], at_stop)
    end_step(system, tables[1], course, watch, store, scheme.dense, (t, h, t1), scheme.last)
    if t1 == course.until:
        end_lane(block, trajectories, lane, FINISHED)


@native_inline
def _cut_lane(single: SingleRun, course: Course, block: Block, scheme: Scheme, lane: int) -> int:
    """Return the result of ``cut_step`` for a lane; the step of a quiet lane is accepted."""
    counts, lanes = lane_counts(block, lane), len(block.lanes)
    guards = single[0].automaton.guards
    n = guards.out.size
    ends = guard_samples_at(single[4].samples[lane], 0, n).values[AT_END]
    if single[4].quiet[lane] == 1:
        accept_guards(lane_clock(block, lane), counts, ends, block.steps[2, lane])
        return ACCEPTED
    for e in range(n):
        samples_of(guards).values[AT_END, e] = ends[e]
    system, store = lane_system(single, block, lane), _copy_of(single, block, lane)
    for i in range(store.y.size):
        store.y[i] = block.y[i * lanes + lane]
        for s in range(store.slopes.shape[0]):
            store.slopes[s, i] = block.slopes[s, i * lanes + lane]
    span = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
    return int(_cut(system, single[1][1], course, store, scheme.dense, span))


@native_inline
def _next_stop(block: Block, trajectories: Trajectories, lane: int) -> float:
    """Return the next time at which a step of a lane has to end [s]."""
    stops = trajectories.stops
    return float(stops[block.carries[lane] if stops.shape[0] > 1 else 0, lane_counts(block, lane).stop[0]])


@native_inline
def _evaluate_stages_in_lanes(single: SingleRun, block: Block, trajectories: Trajectories, scheme: Scheme) -> None:
    """Choose the steps, and write the slopes up to the last stage, and the projected ends of the steps into y."""
    lanes, last = len(block.lanes), scheme.last
    for lane in range(lanes):
        block.steps[0, lane] = block.steps[2, lane] = lane_clock(block, lane).time[0]
        block.steps[1, lane] = 0.0
        if block.carries[lane] != NO_TRAJECTORY:
            h, t1 = free_step(_next_stop(block, trajectories, lane), lane_clock(block, lane), scheme.largest)
            block.steps[1, lane], block.steps[2, lane] = h, t1
    for s in range(1, last + 1):
        _write_stage_in_lanes(block, scheme, s)
        if s == last:
            normalise_in_lanes(block.lanes, block.state, single[0].quaternions)
            for lane in range(lanes):
                block.state[lane] = block.steps[2, lane]
            if single[4].modes.shape[0] > 0:
                project_step_ends(single, block)
            for i in range(block.y.size):
                block.y[i] = block.state[lanes + i]
        if s == last and has_guards(single[0]):
            evaluate_step_ends(single, block, block.slopes[s])
        else:
            slope_in_lanes(single, block, block.slopes[s])


@native_inline
def _evaluate_dense_stages_in_lanes(single: SingleRun, block: Block, scheme: Scheme) -> None:
    """Write the slopes that only the dense output reads."""
    for s in range(scheme.last + 1, block.slopes.shape[0]):
        _write_stage_in_lanes(block, scheme, s)
        slope_in_lanes(single, block, block.slopes[s])


@native_inline
def _write_stage_in_lanes(block: Block, scheme: Scheme, s: int) -> None:
    """Write the time and the state of stage s, x + h sum_j a_sj k_j over the slopes before it."""
    lanes = len(block.lanes)
    for lane in range(lanes):
        block.state[lane] = block.steps[0, lane] + scheme.nodes[s] * block.steps[1, lane]
    state = block.state[lanes:]
    for i in range(block.x.size):
        state[i] = block.x[i]
    _add_weighted_slopes(block, scheme.coefficients[s], s, state)


@native_inline
def _add_weighted_slopes(block: Block, coefficients: Vector, count: int, out: Vector) -> None:
    """Add h sum_j coefficients[j] k_j over the first ``count`` slopes to ``out``."""
    lanes, terms = len(block.lanes), 0
    for j in range(count):
        if coefficients[j] != 0.0:
            block.chosen[terms] = j
            for lane in range(lanes):
                block.weights[terms, lane] = block.steps[1, lane] * coefficients[j]
            terms += 1
    add_slopes(block.lanes, out, block.slopes, block.weights, block.chosen, terms, block.x.size // lanes)


@native_inline
def _estimate_errors(quaternions: Indices, block: Block, scheme: Scheme) -> None:
    """Write both estimates of the error over the tolerance in all lanes; see ``explicit``."""
    lanes, x, y, z = len(block.lanes), block.x, block.y, block.z
    tolerance = scheme.atol + scheme.rtol
    for estimate in range(2):
        sizes = block.sizes[estimate]
        for i in range(z.size):
            z[i] = 0.0
        for lane in range(lanes):
            sizes[lane] = 0.0
        _add_weighted_slopes(block, scheme.errors[estimate], scheme.last + 1, z)
        for start in quaternions:
            for lane in range(lanes):
                i = start * lanes + lane
                j, k, m = i + lanes, i + 2 * lanes, i + 3 * lanes
                error = rotation_error(y, z, i, lanes) / tolerance
                total = (z[i] + z[j] + z[k] + z[m]) * 0.0
                sizes[lane] = max(sizes[lane], error) if total == 0.0 else math.inf
                z[i] = z[j] = z[k] = z[m] = 0.0
        raise_to_errors(block.lanes, sizes, x, y, z, scheme.rtol, scheme.atol, x.size // lanes)
