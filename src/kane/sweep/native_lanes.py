"""The native loop of ensembles: several trajectories side by side, each with its own time, step and error."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.simulation.march import DONE, REJECTED, ROWS, STARTED, TIME, Indices, Store, Vector
from kane.simulation.native_call import call_program, native_inline, native_loop
from kane.simulation.native_explicit import accept_step, combined_error, first_step, free_step, reject_step
from kane.simulation.native_march import record, slope, wants_rows_within, write_row
from kane.sweep.native_vectors import add_slopes, raise_to_errors

NEXT, END, MORE = range(3)  # places in a queue
IDLE = -1
WAITING, FINISHED, STUCK = -1, 0, 2  # how a trajectory stands; STUCK as in march.Status


class Block(NamedTuple):
    """Trajectories side by side; arrays are laid out value by value, the first component of all lanes, the second, ...

    Attributes:
        lanes: a tuple as long as there are lanes, which makes their number part of the compiled loop.
        address: of the program x' = f for as many states, a LaneCode's.
        state: [t, y], what the program reads.
        rest, stage: inputs and parameter stages; where ``each`` is 0 one stage for all.
        each: whether every lane has a stage of its own.
        work: scratch of the program.
        x, y, z: the state, the end of the step, its error.
        slopes: derivatives at the stages, (stages, nx lanes).
        weights, chosen: scratch of sums over slopes, (stages, lanes) and (stages,).
        steps: start, length and end of the step of each lane, (3, lanes) [s].
        sizes: the two error estimates of each lane over the tolerance, (2, lanes).
        clock, counts: as in Store, a row for each lane.
        carries: which trajectory a lane carries, IDLE for none.
    """

    lanes: tuple[int, ...]
    address: int
    state: Vector
    rest: Vector
    stage: Vector
    each: int
    work: Vector
    x: Vector
    y: Vector
    z: Vector
    slopes: NDArray[np.float64]
    weights: NDArray[np.float64]
    chosen: Indices
    steps: NDArray[np.float64]
    sizes: NDArray[np.float64]
    clock: NDArray[np.float64]
    counts: NDArray[np.int64]
    carries: Indices


class Trajectories(NamedTuple):
    """All of an ensemble; threads write to different ones.

    Attributes:
        order: which are computed, one after the other.
        starts: initial states [q, u], (n, nx).
        inputs: (n, inputs), or one row for all.
        stages: values that depend on parameters only, (n, n_stage), or one row for all.
        rows: the record [t, q, u] of each, (n, times, 1 + nx).
        last: the last state reached [t, q, u], (n, 1 + nx).
        steps, rejected: how many, (n,).
        status: WAITING, FINISHED or STUCK, (n,).
    """

    order: Indices
    starts: NDArray[np.float64]
    inputs: NDArray[np.float64]
    stages: NDArray[np.float64]
    rows: NDArray[np.float64]
    last: NDArray[np.float64]
    steps: Indices
    rejected: Indices
    status: Indices


@native_loop
def march_lanes(
    alone: Any, tables: Any, course: Any, block: Any, trajectories: Any, scheme: Any, queue: Any, steps: int
) -> int:
    """Take up to so many steps in all lanes; a lane whose trajectory ends goes on with the next one of the queue.

    Args:
        alone: a System and a Store of one state, with room for two slopes, in which trajectories begin.
        tables: no sampled inputs, a Tables.
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
                _begin(alone, tables, course, block, trajectories, scheme, lane, trajectories.order[queue[NEXT]])
                queue[NEXT] += 1
            if block.carries[lane] != IDLE:
                carried += 1
        if carried == 0 or (carried < lanes and queue[MORE] != 0):
            break
        _stages(alone[0].quaternions, course, block, scheme)
        _errors(alone[0].quaternions, block, scheme)
        extend = False
        for lane in range(lanes):
            h, t1 = block.steps[1, lane], block.steps[2, lane]
            block.chosen[lane] = 0  # from here to the end of the step: whether the step is accepted
            if block.carries[lane] == IDLE:
                continue
            error = combined_error(block.sizes[0, lane], block.sizes[1, lane])
            clock, counts = block.clock[lane], block.counts[lane]
            if error <= 1.0:
                block.chosen[lane] = 1
            elif not reject_step(course, clock, counts, scheme, h, error):
                _end(block, trajectories, lane, STUCK)
        for lane in range(lanes):
            if block.chosen[lane] == 1:
                h, t1 = block.steps[1, lane], block.steps[2, lane]
                error = combined_error(block.sizes[0, lane], block.sizes[1, lane])
                accept_step(block.clock[lane], block.counts[lane], scheme, h, error, t1 == course.until)
                trajectory = block.carries[lane]
                extend = extend or wants_rows_within(_store(alone, block, trajectories, lane, trajectory), course, t1)
        if extend:
            _more_stages(block, scheme)
        for lane in range(lanes):
            if block.steps[0, lane] != block.steps[0, lane]:
                continue
    return carried
