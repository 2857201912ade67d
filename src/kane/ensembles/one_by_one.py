"""Trajectories under constraints, computed as single runs by the code of ``simulate``, several at a time in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import field
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Course, Trajectories
from kane.engine.memory.run_codes import FINISHED, STUCK, WAITING
from kane.ensembles.conditions import Conditions, course_of
from kane.errors import ModelError, SimulationError
from kane.simulation.driver import CHUNK_SECONDS, FAILURES, advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import Outcome
from kane.simulation.integrators.explicit import Adaptive
from kane.simulation.monitors.failure import explain, passages


@dataclass(frozen=True)
class OneByOne:
    """Threads that compute single runs, and their results.

    With numerically embedded constraints SIMD lanes save no time: speed selection and number of projection steps differ
    from state to state.

    Attributes:
        problem, conditions, course, method: initial value problem, initial states, time span and integrator.
        trajectories: arrays that the threads fill.
        failures: reason of failure by index of the trajectory.
        doubts: warning that ``simulate`` would give, by index of the trajectory.
        met: modes that the trajectories encountered; they are compiled at the end, for later runs.
    """

    problem: InitialValueProblem
    conditions: Conditions
    course: Course
    method: Adaptive
    trajectories: Trajectories
    failures: dict[int, str] = field(default_factory=dict)
    doubts: dict[int, str] = field(default_factory=dict)
    met: list[Any] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """Number of threads that the target allows."""
        return self.problem.energy.threads

    def run(self, progress: Callable[[float], None]) -> bool:
        """Compute all trajectories.

        Returns:
            Whether all were computed; Ctrl-C leaves some WAITING.
        """
        stop, order = threading.Event(), self.trajectories.order.tolist()
        with ThreadPoolExecutor(self.threads) as pool:
            runs = [pool.submit(self._carry, i, stop) for i in order]
            try:
                while wait(runs, timeout=CHUNK_SECONDS).not_done:
                    progress(1.0 - float(np.count_nonzero(self.trajectories.status == WAITING)) / len(order))
            except KeyboardInterrupt:
                return False
            finally:
                stop.set()
        for run in runs:
            run.result()
        self.problem.mode_source.meet(dict.fromkeys(self.met))
        return True

    def _carry(self, i: int, stop: threading.Event) -> None:
        """Compute trajectory i to its end, unless it is stopped."""

        def go_on(_: float) -> None:
            if stop.is_set():
                raise KeyboardInterrupt

        own = self.problem.of_values(self.conditions.row("parameters", i), self.conditions.row("inputs", i))
        found = self.trajectories
        if stop.is_set():
            return
        try:
            integration = own.integration(course_of(self.course, found, i), found.starts[i])
            outcome = advance_to_end(integration, monitored_advance(own, self.method), go_on)
            found.steps[i], found.rejected[i] = integration.counts.steps[0], integration.counts.rejected[0]
            if outcome in FAILURES.values():
                raise explain(integration, outcome)
            if outcome is Outcome.INTERRUPTED:
                return
            record = own.numbers(integration)
        except (ModelError, SimulationError) as error:
            self.failures[i], found.status[i] = str(error), STUCK
            return
        self.met.extend(own.mode_source.met(integration, record))
        found.rows[i, :, : record.states.shape[1]], found.status[i] = record.states, FINISHED
        doubt = next(passages(integration), "") or record.doubt(**self.method.settings)
        if doubt:
            self.doubts[i] = doubt
