"""The native loop of ensembles: several trajectories side by side, each with its own time, step and error."""

from __future__ import annotations

import math
from typing import Any

from kane.native.arrays import (
    DONE,
    END,
    FINISHED,
    IDLE,
    MORE,
    NEXT,
    REJECTED,
    RHS,
    STARTED,
    STUCK,
    TIME,
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
from kane.native.call import call_program, native_inline, native_loop
from kane.native.explicit import accept_step, combined_error, first_step, free_step, reject_step
from kane.native.state import slope, wants_rows_within, write_row
from kane.native.step import end_step
from kane.native.vectors import add_slopes, raise_to_errors


@native_loop
def march_lanes(
    single: tuple[StateEquation, InputTables, Watch, Store],
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
            tables and watch are empty, the store has room for two slopes.
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
    carried = 0
    for _ in range(steps):
        carried = 0
        for lane in range(lanes):
            if block.carries[lane] == IDLE and queue[NEXT] < queue[END]:
                _begin(single, course, block, trajectories, scheme, lane, trajectories.order[queue[NEXT]])
                queue[NEXT] += 1
            if block.carries[lane] != IDLE:
                carried += 1
        if carried == 0 or (carried < lanes and queue[MORE] != 0):
            break
        _stages(single[0].quaternions, course, block, scheme)
        _errors(single[0].quaternions, block, scheme)
        extend = False
        for lane in range(lanes):
            block.accepted[lane] = 0
            if block.carries[lane] != IDLE:
                extend = _judge(single, course, block, trajectories, scheme, lane) or extend
        if extend and scheme.last + 1 < block.slopes.shape[0]:
            _more_stages(block, scheme)
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
def _begin(single: Any, course: Any, block: Any, trajectories: Any, scheme: Any, lane: int, number: int) -> None:
    """Put a trajectory into a lane: its first slope and first step are those of a run of its own."""
    system, tables, _, store = single
    lanes, n = len(block.lanes), store.x.size
    inputs = trajectories.inputs[number if trajectories.inputs.shape[0] > 1 else 0]
    stage = trajectories.stages[number if trajectories.stages.shape[0] > 1 else 0]
    for i in range(inputs.size):
        system.inputs[i] = block.rest[i * lanes + lane] = inputs[i]
    for i in range(stage.size):
        system.stages[system.mode[RHS + 1] + i] = stage[i]
        if block.each != 0:
            block.stage[i * lanes + lane] = stage[i]
    for i in range(n):
        store.x[i] = trajectories.starts[number, i]
    store.clock[TIME] = course.start
    slope(system, tables[1], course.start, store.x, store.slopes[0])
    first_step(system, tables[1], course, store, scheme)
    for i in range(n):
        block.x[i * lanes + lane] = store.x[i]
        block.slopes[0, i * lanes + lane] = store.slopes[0, i]
    for i in range(store.clock.size):
        block.clock[lane, i] = store.clock[i]
    for i in range(store.counts.size):
        block.counts[lane, i] = 0
    block.counts[lane, STARTED] = 1
    block.carries[lane] = number
    write_row(_lane(single, block, trajectories, lane), course.start, store.x, system.settling.notes)


@native_inline
def end_lane(block: Any, trajectories: Any, lane: int, status: int) -> None:
    """Take a trajectory out of its lane, and note how it ended."""
    lanes, number = len(block.lanes), block.carries[lane]
    trajectories.last[number, 0] = block.clock[lane, TIME]
    for i in range(trajectories.last.shape[1] - 1):
        trajectories.last[number, 1 + i] = block.x[i * lanes + lane]
    trajectories.steps[number] = block.counts[lane, DONE]
    trajectories.rejected[number] = block.counts[lane, REJECTED]
    trajectories.status[number] = status
    block.carries[lane] = IDLE


@native_inline
def _judge(single: Any, course: Any, block: Any, trajectories: Any, scheme: Any, lane: int) -> bool:
    """Accept the step of a lane or make it shorter; whether records lie within the step."""
    h, t1 = block.steps[1, lane], block.steps[2, lane]
    clock, counts = block.clock[lane], block.counts[lane]
    error = combined_error(block.sizes[0, lane], block.sizes[1, lane])
    if not error <= 1.0:
        if not reject_step(course, clock, counts, scheme, h, error):
            end_lane(block, trajectories, lane, STUCK)
        return False
    accept_step(clock, counts, scheme, h, error, t1 == course.until)
    block.accepted[lane] = 1
    return wants_rows_within(_lane(single, block, trajectories, lane), course, t1)


@native_inline
def _advance(single: Any, course: Any, block: Any, trajectories: Any, scheme: Any, lane: int) -> None:
    """Record what the step of a lane passes, and go to its end."""
    t, h, t1 = block.steps[0, lane], block.steps[1, lane], block.steps[2, lane]
    system, tables, watch, _ = single
    store = _lane(single, block, trajectories, lane)
    end_step(system, tables[1], course, watch, store, scheme.dense, (t, h, t1), scheme.last)
    if t1 == course.until:
        end_lane(block, trajectories, lane, FINISHED)


@native_inline
def _stages(quaternions: Any, course: Any, block: Any, scheme: Any) -> None:
    """Choose the steps, and fill the slopes up to the last stage; y is then the end of the steps."""
    lanes, last = len(block.lanes), scheme.last
    for lane in range(lanes):
        block.steps[0, lane] = block.steps[2, lane] = block.clock[lane, TIME]
        block.steps[1, lane] = 0.0
        if block.carries[lane] != IDLE:
            h, t1 = free_step(course, block.clock[lane], block.counts[lane], scheme.largest)
            block.steps[1, lane], block.steps[2, lane] = h, t1
    for s in range(1, last + 1):
        _stage(block, scheme, s)
        if s == last:
            _normalise(block, quaternions)
            for lane in range(lanes):
                block.state[lane] = block.steps[2, lane]
            for i in range(block.y.size):
                block.y[i] = block.state[lanes + i]
        call_program(block.address, block.state, block.rest, block.stage, block.slopes[s], block.work)


@native_inline
def _more_stages(block: Any, scheme: Any) -> None:
    """Fill the slopes that only the interpolant needs."""
    for s in range(scheme.last + 1, block.slopes.shape[0]):
        _stage(block, scheme, s)
        call_program(block.address, block.state, block.rest, block.stage, block.slopes[s], block.work)


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
def _normalise(block: Any, quaternions: Any) -> None:
    """Scale each quaternion of the state to length one, see ``state.normalise``."""
    lanes = len(block.lanes)
    for start in quaternions:
        for lane in range(lanes):
            first, length = (1 + start) * lanes + lane, 0.0
            for i in range(first, first + 4 * lanes, lanes):
                length += block.state[i] * block.state[i]
            length = math.sqrt(length) if length > 0.0 else math.nan  # zero in idle lanes; dividing by it would raise
            for i in range(first, first + 4 * lanes, lanes):
                block.state[i] /= length


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
