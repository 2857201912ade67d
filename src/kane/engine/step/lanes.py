"""The native loop of ensembles: several trajectories side by side, each with its own time, step and error."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel, native_loop
from kane.engine.memory.loop_arguments import (
    Block,
    Course,
    Indices,
    InputTables,
    Scheme,
    StateEquation,
    Store,
    Trajectories,
    Watch,
)
from kane.engine.memory.run_codes import AT_END, FINISHED, GOING, NO_TRAJECTORY, RHS, STUCK
from kane.engine.memory.run_memory import clock_of, counts_of, lane_clock, lane_counts, mode_of, samples_of
from kane.engine.memory.views import guard_samples_at, trajectory_queue_at
from kane.engine.step.constrained_lanes import (
    LaneChoices,
    begin_constrained,
    lane_system,
    normalise_in_lanes,
    slope_in_lanes,
)
from kane.engine.step.explicit import accept_step, combined_error, first_step, free_step, reject_step
from kane.engine.step.lane_arithmetic import add_slopes, raise_to_errors
from kane.engine.step.lane_guards import land_in_lanes, look_in_lanes
from kane.engine.step.lane_projection import project_step_ends
from kane.engine.step.mode_changes import AGAIN, STANDS, change_modes, cut_step, has_guards, stand, take_slope
from kane.engine.step.state_equation import slope, wants_rows_within, write_row
from kane.engine.step.step_ends import end_step


@native_loop
def march_lanes(
    single: tuple[StateEquation, InputTables, Watch, Store, LaneChoices],
    course: Course,
    block: Block,
    trajectories: Trajectories,
    scheme: Scheme,
    queue: Indices,
    steps: int,
) -> int:
    """Take up to so many steps in all lanes; a lane whose trajectory ends goes on with the next one of the queue.

    Args:
        single: StateEquation, Tables held and interpolated, Watch and Store of one state, in which trajectories begin;
            tables and watch are empty, the store has room for all slopes of a step. Then what lanes have of their own.
        course: a Course of free steps.
        block: a Block.
        trajectories: a Trajectories.
        scheme: a Scheme.
        queue: the next place in ``order``, the end of what may be taken, and whether there may be more afterwards.
        steps: how many.

    Returns:
        How many lanes carry a trajectory. Where the queue is empty and there may be more, fewer steps are taken.
    """
    lanes = len(block.lanes)
    carried, left = 0, trajectory_queue_at(queue, 0)
    for _ in range(steps):
        carried = 0
        for lane in range(lanes):
            if block.carries[lane] == NO_TRAJECTORY and left.next[0] < left.stop[0]:
                _begin(single, course, block, trajectories, lane, trajectories.order[left.next[0]])
                left.next[0] += 1
            if block.carries[lane] != NO_TRAJECTORY and lane_counts(block, lane).slope_known[0] == 0:
                _take_first_slope(single, course, block, trajectories, scheme, lane)
            if block.carries[lane] != NO_TRAJECTORY:
                carried += 1
        if carried == 0 or (carried < lanes and left.more[0] != 0):
            break
        _stages(single, block, trajectories, scheme)
        _errors(single[0].quaternions, block, scheme)
        extend = False
        for lane in range(lanes):
            block.accepted[lane] = 0
            if block.carries[lane] != NO_TRAJECTORY:
                extend = _judge(single, course, block, trajectories, scheme, lane) or extend
        guarded = has_guards(single[0])
        if (extend or guarded) and scheme.last + 1 < block.slopes.shape[0]:
            _more_stages(single, block, scheme)
        if guarded:
            look_in_lanes(single, block, scheme.dense)
        for lane in range(lanes):
            if block.accepted[lane] == 1:
                _advance(single, course, block, trajectories, scheme, lane)
    return carried


@native_inline
def _lane(single: Any, block: Any, trajectories: Any, lane: int) -> Any:
    """One lane as a Store, without copies but of its scratch."""
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
        own.changes,
    )


@native_inline
def _alone(single: Any, block: Any, lane: int) -> Any:
    """One lane as a Store of the memory of a single run, in which its state is put; times and counts are the lane's."""
    lanes, own = len(block.lanes), single[3]
    for i in range(own.x.size):
        own.x[i] = block.x[i * lanes + lane]
    return Store(
        own.x, own.y, own.z, own.slopes, block.clock[lane], block.counts[lane], own.rows, own.found, own.changes
    )


@native_inline
def _begin(single: Any, course: Any, block: Any, trajectories: Any, lane: int, number: int) -> None:
    """Put a trajectory into a lane, at its start."""
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
    write_row(_lane(single, block, trajectories, lane), course.start, store.x, system.projection.notes)


@native_inline
def _take_first_slope(single: Any, course: Any, block: Any, trajectories: Any, scheme: Any, lane: int) -> None:
    """The slope from which a lane goes on, at the start of a trajectory or behind a guard, as ``begin_step`` has it."""
    lanes, tables, counts = len(block.lanes), single[1], lane_counts(block, lane)
    system, store = lane_system(single, block, lane), _alone(single, block, lane)
    if has_guards(system):
        counts.changes[0] = 0
        status = _change(system, tables[1], store)
        for i in range(store.x.size):
            block.x[i * lanes + lane] = store.x[i]
        if status != GOING:
            end_lane(block, trajectories, lane, status)
            return
        take_slope(system, tables[1], clock_of(store).time[0], store.x, store.slopes[0])
    else:
        slope(system, tables[1], clock_of(store).time[0], store.x, store.slopes[0])
    if counts.started[0] == 0:
        first_step(system, tables[1], course, store, scheme)
    counts.started[0] = counts.slope_known[0] = 1
    for i in range(store.x.size):
        block.slopes[0, i * lanes + lane] = store.slopes[0, i]


@native_kernel
def _change(system: Any, interpolated: Any, store: Any) -> int:
    """``change_modes`` of a lane: rare, long, and the same for any number of lanes."""
    return change_modes(system, interpolated, store)


@native_kernel
def _cut(system: Any, interpolated: Any, course: Any, store: Any, dense: Any, span: Any) -> int:
    """``cut_step`` of a lane, likewise."""
    return cut_step(system, interpolated, course, store, dense, span)


@native_inline
def end_lane(block: Any, trajectories: Any, lane: int, status: int) -> None:
    """Take a trajectory out of its lane, and note how it ended."""
    lanes, number = len(block.lanes), block.carries[lane]
    trajectories.last[number, 0] = lane_clock(block, lane).time[0]
    for i in range(trajectories.last.shape[1] - 1):
        trajectories.last[number, 1 + i] = block.x[i * lanes + lane]
    trajectories.steps[number] = lane_counts(block, lane).steps[0]
    trajectories.rejected[number] = lane_counts(block, lane).rejected[0]
    trajectories.status[number] = status
    block.carries[lane] = NO_TRAJECTORY


@native_inline
def _judge(single: Any, course: Any, block: Any, trajectories: Any, scheme: Any, lane: int) -> bool:
    """Accept the step of a lane as far as its error goes, or make it shorter; whether records lie within the step."""
    clock, counts = lane_clock(block, lane), lane_counts(block, lane)
    error = combined_error(block.sizes[0, lane], block.sizes[1, lane])
    if not error <= 1.0:
        if not reject_step(course, clock, counts, scheme, block.steps[1, lane], error):
            end_lane(block, trajectories, lane, STUCK)
        return False
    block.sizes[0, lane], block.accepted[lane] = error, 1
    return wants_rows_within(_lane(single, block, trajectories, lane), course, block.steps[2, lane])


@native_inline
def _advance(single: Any, course: Any, block: Any, trajectories: Any, scheme: Any, lane: int) -> None:
    """Record what the step of a lane passes, and go to its end; where its mode ends within, take a shorter one."""
    t, h, t1 = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
    system, tables, watch = lane_system(single, block, lane), single[1], single[2]
    if has_guards(system):
        found = _cut_lane(single, course, block, scheme, lane)
        if found == AGAIN:
            return
        if found != STANDS:
            end_lane(block, trajectories, lane, found)
            return
    store = _lane(single, block, trajectories, lane)
    at_stop = t1 == _next_stop(block, trajectories, lane)
    accept_step(clock_of(store), counts_of(store), scheme, h, block.sizes[0, lane], at_stop)
    end_step(system, tables[1], course, watch, store, scheme.dense, (t, h, t1), scheme.last)
    if t1 == course.until:
        end_lane(block, trajectories, lane, FINISHED)


@native_inline
def _cut_lane(single: Any, course: Any, block: Any, scheme: Any, lane: int) -> int:
    """``cut_step`` of a lane; where it is quiet, that it stands is known."""
    counts, lanes = lane_counts(block, lane), len(block.lanes)
    guards = single[0].automaton.guards
    n = guards.out.size
    ends = guard_samples_at(single[4].looks[lane], 0, n).values[AT_END]
    if single[4].quiet[lane] == 1:
        stand(lane_clock(block, lane), counts, ends, block.steps[2, lane])
        return STANDS
    for e in range(n):
        samples_of(guards).values[AT_END, e] = ends[e]
    system, store = lane_system(single, block, lane), _alone(single, block, lane)
    for i in range(store.y.size):
        store.y[i] = block.y[i * lanes + lane]
        for s in range(store.slopes.shape[0]):
            store.slopes[s, i] = block.slopes[s, i * lanes + lane]
    span = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
    return int(_cut(system, single[1][1], course, store, scheme.dense, span))


@native_inline
def _next_stop(block: Any, trajectories: Any, lane: int) -> float:
    """The time at which a step of a lane has to end next."""
    stops = trajectories.stops
    return float(stops[block.carries[lane] if stops.shape[0] > 1 else 0, lane_counts(block, lane).stop[0]])


@native_inline
def _stages(single: Any, block: Any, trajectories: Any, scheme: Any) -> None:
    """Choose the steps, and fill the slopes up to the last stage; y is then the end of the steps."""
    lanes, last = len(block.lanes), scheme.last
    for lane in range(lanes):
        block.steps[0, lane] = block.steps[2, lane] = lane_clock(block, lane).time[0]
        block.steps[1, lane] = 0.0
        if block.carries[lane] != NO_TRAJECTORY:
            h, t1 = free_step(_next_stop(block, trajectories, lane), lane_clock(block, lane), scheme.largest)
            block.steps[1, lane], block.steps[2, lane] = h, t1
    for s in range(1, last + 1):
        _stage(block, scheme, s)
        if s == last:
            normalise_in_lanes(block, block.state, single[0].quaternions)
            for lane in range(lanes):
                block.state[lane] = block.steps[2, lane]
            if single[4].modes.shape[0] > 0:
                project_step_ends(single, block)
            for i in range(block.y.size):
                block.y[i] = block.state[lanes + i]
        if s == last and has_guards(single[0]):
            land_in_lanes(single, block, block.slopes[s])
        else:
            slope_in_lanes(single, block, block.slopes[s])


@native_inline
def _more_stages(single: Any, block: Any, scheme: Any) -> None:
    """Fill the slopes that only the interpolant needs."""
    for s in range(scheme.last + 1, block.slopes.shape[0]):
        _stage(block, scheme, s)
        slope_in_lanes(single, block, block.slopes[s])


@native_inline
def _stage(block: Any, scheme: Any, s: int) -> None:
    """Write the state of a stage, x + h sum of the slopes before it with their weights, and its time."""
    lanes = len(block.lanes)
    for lane in range(lanes):
        block.state[lane] = block.steps[0, lane] + scheme.nodes[s] * block.steps[1, lane]
    state = block.state[lanes:]
    for i in range(block.x.size):
        state[i] = block.x[i]
    _add(block, scheme.coefficients[s], s, state)


@native_inline
def _add(block: Any, coefficients: Any, count: int, out: Any) -> None:
    """out += h sum_j coefficients[j] k_j over the first ``count`` slopes."""
    lanes, terms = len(block.lanes), 0
    for j in range(count):
        if coefficients[j] != 0.0:
            block.chosen[terms] = j
            for lane in range(lanes):
                block.weights[terms, lane] = block.steps[1, lane] * coefficients[j]
            terms += 1
    add_slopes(block.lanes, out, block.slopes, block.weights, block.chosen, terms, block.x.size // lanes)


@native_inline
def _errors(quaternions: Any, block: Any, scheme: Any) -> None:
    """Both estimates of the error over the tolerance, in every lane; see ``explicit``."""
    lanes, x, y, z = len(block.lanes), block.x, block.y, block.z
    tolerance = scheme.atol + scheme.rtol
    for estimate in range(2):
        sizes = block.sizes[estimate]
        for i in range(z.size):
            z[i] = 0.0
        for lane in range(lanes):
            sizes[lane] = 0.0
        _add(block, scheme.errors[estimate], scheme.last + 1, z)
        for start in quaternions:
            for lane in range(lanes):
                i = start * lanes + lane
                j, k, m = i + lanes, i + 2 * lanes, i + 3 * lanes
                rotation = max(
                    abs(y[i] * z[j] - y[j] * z[i] - y[k] * z[m] + y[m] * z[k]),
                    abs(y[i] * z[k] - y[k] * z[i] - y[m] * z[j] + y[j] * z[m]),
                    abs(y[i] * z[m] - y[m] * z[i] - y[j] * z[k] + y[k] * z[j]),
                )
                total = (z[i] + z[j] + z[k] + z[m]) * 0.0
                sizes[lane] = max(sizes[lane], 2.0 * rotation / tolerance) if total == 0.0 else math.inf
                z[i] = z[j] = z[k] = z[m] = 0.0
        raise_to_errors(block.lanes, sizes, x, y, z, scheme.rtol, scheme.atol, x.size // lanes)
