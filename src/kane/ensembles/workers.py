"""Threads that compute the trajectories of an ensemble, each in its own SIMD lanes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Block, Course, Trajectories
from kane.engine.memory.run_codes import NO_TRAJECTORY, STALLED, WAITING
from kane.engine.memory.run_memory import lane_clock, lane_counts
from kane.engine.memory.views import run_counts_size, trajectory_queue_at, trajectory_queue_size
from kane.engine.step.lanes import end_lane, integrate_lanes
from kane.ensembles.projected_lanes import ProjectedLanes, aligned, nothing_projected
from kane.simulation.driver import CHUNK_SECONDS, FIRST_CHUNK
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.monitors.failure import chattering
from kane.simulation.monitors.stall_detection import FIRST_WINDOW_STEPS, WINDOW_STEPS, StallDetector

# Trajectories that a thread takes at once: enough to make scheduling cheap, and few, so that all threads end together.
PORTION = 64


@dataclass(frozen=True)
class Workers:
    """Threads of an ensemble, and the data that they share.

    Attributes:
        problem: initial value problem.
        course: time span and times of records.
        method: integrator.
        trajectories: arrays that the threads fill.
        own_stages: whether parameters differ from trajectory to trajectory.
        single_run: returns a trajectory, by its index, as a single run at its last stored state.
        projected: data that lanes need under constraints; None without constraints.
    """

    problem: InitialValueProblem
    course: Course
    method: Explicit
    trajectories: Trajectories
    own_stages: bool
    single_run: Callable[[int], IntegratorState]
    projected: ProjectedLanes | None = None

    def run(self, progress: Callable[[float], None]) -> bool:
        """Compute all trajectories.

        Returns:
            Whether all were computed; Ctrl-C leaves some WAITING.
        """
        n = len(self.trajectories.order)
        code = self.projected.slope if self.projected else self.problem.rhs.lanes(each=self.own_stages)
        threads = max(1, min(self.problem.energy.threads, -(-n // (code.width if code else 1))))
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
        """Compute portions of trajectories until none are left or the run is stopped."""
        arrays, n = scheme(self.method), len(self.trajectories.order)
        single = self._single(len(arrays.nodes))
        block = new_block(self.problem, code, len(arrays.nodes), len(single[3].clock))
        if self.projected is not None:
            rest = aligned(len(block.inputs) + self.projected.reads * len(block.lanes))
            work = aligned(self.projected.n_work)
            block = block._replace(each=0, inputs=rest, work=work)
        queue, steps = np.zeros(trajectory_queue_size(), np.int64), FIRST_CHUNK
        left = trajectory_queue_at(queue, 0)
        paces: dict[int, StallDetector] = {}
        left.more[0] = 1
        while not stop.is_set():
            if left.next[0] == left.stop[0] and left.more[0]:
                first = next(portions) * size
                left.next[0], left.stop[0], left.more[0] = min(first, n), min(first + size, n), first < n
            began = time.perf_counter()
            # No trajectory continues beyond its next stall check: checks are at the same states as in a single run.
            ahead = min(
                [
                    FIRST_WINDOW_STEPS,
                    *(paces[k].left(lane_counts(block, lane)) for lane, k in _carried(block) if k in paces),
                ]
            )
            carried = integrate_lanes(single, self.course, block, self.trajectories, arrays, queue, min(steps, ahead))
            if carried == 0 and not left.more[0]:
                break
            self._give_up_the_lost(block, paces)
            took = max(time.perf_counter() - began, 1e-9)
            # Adjust the steps per call gradually: a single call time may include loading or compiling the loop.
            steps = max(1, min(int(steps * min(max(CHUNK_SECONDS / took, 0.5), 2.0)), WINDOW_STEPS))

    def _give_up_the_lost(self, block: Block, paces: dict[int, StallDetector]) -> None:
        """End stalled trajectories; ``paces`` are the stall detectors of the trajectories in the lanes."""
        carried = {number: lane for lane, number in _carried(block)}
        for number in paces.keys() - carried.keys():
            del paces[number]
        for number, lane in carried.items():
            pace = paces.setdefault(number, StallDetector(self.course, self.course.start))
            if pace.is_lost(
                lane_clock(block, lane), lane_counts(block, lane), partial(self._chatters, block, lane, number)
            ):
                end_lane(block, self.trajectories, lane, STALLED)

    def _chatters(self, block: Block, lane: int, number: int) -> bool:
        if self.projected is not None and self.projected.may_pass:
            return True  # lanes do not know the contact mode; ``simulate`` repeats this trajectory and checks it
        last = self.trajectories.last[number]
        last[0], last[1:] = lane_clock(block, lane).time[0], block.x[lane :: len(block.lanes)]
        return chattering(self.single_run(number)) is not None

    def _single(self, stages: int) -> tuple[Any, ...]:
        """Return the StateEquation, tables, events, a Store for one state, and data of the lanes."""
        first = int(self.trajectories.order[0])
        x, problem = self.trajectories.starts[first], self.projected.own(first) if self.projected else self.problem
        integration = problem.integration(self.course, x)
        integration.make_room(1, stages)
        system, choices = (
            self.projected.lanes(integration.system) if self.projected else (integration.system, nothing_projected())
        )
        return system, integration.tables, integration.watch, integration.store, choices


def _carried(block: Block) -> Iterator[tuple[int, int]]:
    """Yield the lanes that carry a trajectory, each with the index of the trajectory."""
    return ((lane, number) for lane, number in enumerate(block.carries.tolist()) if number != NO_TRAJECTORY)


def new_block(problem: InitialValueProblem, code: LaneCode | None, stages: int, clock: int) -> Block:
    """Allocate a block of idle lanes; a single lane if the machine has no SIMD lanes.

    Args:
        problem: initial value problem.
        code: its right-hand side in lanes.
        stages: number of slopes of the method.
        clock: length of the clock of a Store.
    """
    rhs = problem.rhs
    width = code.width if code else 1
    each = int(code.each) if code else 1
    nx, n_work = rhs.n_out, code.n_work if code else rhs.n_work
    stage = aligned(rhs.n_stage * width) if each else rhs.stage(problem.parameters)
    return Block(
        lanes=(0,) * width,
        address=code.address if code else rhs.address,
        state=aligned(rhs.n_state * width),
        inputs=aligned(rhs.n_rest * width),
        constants=stage,
        each=each,
        work=aligned(n_work),
        x=aligned(nx * width),
        y=aligned(nx * width),
        z=aligned(nx * width),
        slopes=aligned(stages * nx * width).reshape(stages, nx * width),
        weights=aligned(stages * width).reshape(stages, width),
        chosen=np.zeros(stages, np.int64),
        steps=np.zeros((3, width)),
        sizes=aligned(2 * width).reshape(2, width),
        clock=np.zeros((width, clock)),
        counts=np.zeros((width, run_counts_size()), np.int64),
        carries=np.full(width, NO_TRAJECTORY),
        accepted=np.zeros(width, np.int64),
    )
