"""Threads that share the trajectories of an ensemble, each with lanes of its own."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.native.arrays import (
    CLOCK,
    COUNTS,
    END,
    IDLE,
    MORE,
    NEXT,
    STALLED,
    TIME,
    WAITING,
    Block,
    Course,
    Trajectories,
    Vector,
)
from kane.native.lanes import end_lane, march_lanes
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.march import March, new_store
from kane.simulation.pace import WINDOW, Pace
from kane.simulation.problem import Problem
from kane.simulation.run import CHUNK_SECONDS, FIRST_CHUNK

# Trajectories that a thread takes at a time: enough that taking them costs nothing, few enough that all end together.
PORTION = 64
_LINE = 8  # doubles in a cache line


@dataclass(frozen=True)
class Workers:
    """All that the threads of an ensemble need to know.

    Attributes:
        problem: what is integrated.
        course: from when to when, and the times of records.
        method: the integrator.
        trajectories: what they work on.
        own_stages: whether parameters differ from trajectory to trajectory.
        single_run: a trajectory, by its number, as a run of its own at the last state that was noted.
    """

    problem: Problem
    course: Course
    method: Explicit
    trajectories: Trajectories
    own_stages: bool
    single_run: Callable[[int], tuple[Problem, March]]

    def run(self, progress: Callable[[float], None]) -> bool:
        """Compute all trajectories.

        Returns:
            Whether they came to their ends; Ctrl-C leaves some WAITING.
        """
        rhs, n = self.problem.rhs, len(self.trajectories.order)
        code = rhs.lanes(each=self.own_stages)
        threads = max(1, min(rhs.threads, -(-n // (code.width if code else 1))))
        portions, stop = itertools.count(), threading.Event()
        size = max(1, min(PORTION, n // (8 * threads)))
        with ThreadPoolExecutor(threads) as pool:
            workers = [pool.submit(self._work, code, portions, size, stop) for _ in range(threads)]
            try:
                while wait(workers, timeout=CHUNK_SECONDS, return_when=FIRST_EXCEPTION).not_done:
                    if any(worker.done() and worker.exception() for worker in workers):
                        break
                    progress(1.0 - float(np.count_nonzero(self.trajectories.status == WAITING)) / max(n, 1))
            except KeyboardInterrupt:
                return False
            finally:
                stop.set()
        for worker in workers:
            worker.result()
        return True

    def _work(self, code: LaneCode | None, portions: Any, size: int, stop: threading.Event) -> None:
        """Carry portion after portion, until there is none left or Ctrl-C."""
        arrays, n = scheme(self.method), len(self.trajectories.order)
        single = self._single()
        block = new_block(self.problem, code, len(arrays.nodes))
        queue, steps = np.zeros(3, np.int64), FIRST_CHUNK
        paces: dict[int, Pace] = {}
        queue[MORE] = 1
        while not stop.is_set():
            if queue[NEXT] == queue[END] and queue[MORE]:
                first = next(portions) * size
                queue[:] = min(first, n), min(first + size, n), first < n
            began = time.perf_counter()
            carried = march_lanes(single, self.course, block, self.trajectories, arrays, queue, steps)
            if carried == 0 and not queue[MORE]:
                break
            self._give_up_the_lost(block, paces)
            took = max(time.perf_counter() - began, 1e-9)
            # Only a call that was long says how long a step takes; the first one may load or compile the loop.
            steps = max(1, min(int(steps * min(max(CHUNK_SECONDS / took, 0.5), 2.0)), WINDOW))

    def _give_up_the_lost(self, block: Block, paces: dict[int, Pace]) -> None:
        """End trajectories that get nowhere; ``paces`` are those of the trajectories in the lanes."""
        carried = {number: lane for lane, number in enumerate(block.carries.tolist()) if number != IDLE}
        for number in paces.keys() - carried.keys():
            del paces[number]
        for number, lane in carried.items():
            pace = paces.setdefault(number, Pace(self.course, self.course.start))
            if pace.is_lost(block.clock[lane], block.counts[lane], partial(self._chatters, block, lane, number)):
                end_lane(block, self.trajectories, lane, STALLED)

    def _chatters(self, block: Block, lane: int, number: int) -> bool:
        last = self.trajectories.last[number]
        last[0], last[1:] = block.clock[lane, TIME], block.x[lane :: len(block.lanes)]
        problem, march = self.single_run(number)
        return problem.chatters(march)

    def _single(self) -> tuple[Any, ...]:
        """StateEquation, tables, events and Store of one state."""
        problem = self.problem
        nx = len(problem.layout.coordinates) + len(problem.layout.speeds)
        march = problem.march(self.course, np.zeros(nx))
        store = new_store(self.course.start, np.zeros(nx), 1)._replace(slopes=np.zeros((2, nx)))
        return march.system, march.tables, march.watch, store


def new_block(problem: Problem, code: LaneCode | None, stages: int) -> Block:
    """A block of idle lanes; a single one where the machine has no lanes.

    Args:
        problem: what is integrated.
        code: of its program in lanes.
        stages: how many slopes the method takes.
    """
    rhs = problem.rhs
    width = code.width if code else 1
    each = int(code.each) if code else 1
    nx, n_work = rhs.n_out, code.n_work if code else rhs.n_work
    stage = _aligned(rhs.n_stage * width) if each else rhs.stage(problem.parameters)
    return Block(
        lanes=(0,) * width,
        address=code.address if code else rhs.address,
        state=_aligned(rhs.n_state * width),
        rest=_aligned(rhs.n_rest * width),
        stage=stage,
        each=each,
        work=_aligned(n_work),
        x=_aligned(nx * width),
        y=_aligned(nx * width),
        z=_aligned(nx * width),
        slopes=_aligned(stages * nx * width).reshape(stages, nx * width),
        weights=_aligned(stages * width).reshape(stages, width),
        chosen=np.zeros(stages, np.int64),
        steps=np.zeros((3, width)),
        sizes=_aligned(2 * width).reshape(2, width),
        clock=np.zeros((width, CLOCK)),
        counts=np.zeros((width, COUNTS), np.int64),
        carries=np.full(width, IDLE),
        accepted=np.zeros(width, np.int64),
    )


def _aligned(n: int) -> Vector:
    """Zeros that begin a cache line, as vectors are read fastest."""
    memory = np.zeros(n + _LINE)
    first = -(memory.ctypes.data // 8) % _LINE
    return memory[first : first + n]
