"""Runs of a study that SIMD lanes cannot compute: single runs by the code of ``simulate``, several in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np

from kane.array_types import Array
from kane.ensembles.conditions import Conditions
from kane.errors import ModelError, SimulationError, warn
from kane.simulation.driver import CHUNK_SECONDS, FAILURES, advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.monitors.failure import failure_of, passages
from kane.simulation.schedule.course import Span, free_course
from kane.simulation.schedule.step_ends import Stops


@dataclass(frozen=True, eq=False)
class SingleRuns:
    """Runs with their own events and sampled laws, and arrays for their results.

    Attributes:
        problem, method, span, conditions: initial value problem, integrator, time span, and rows of initial values.
        recorded: whether states are recorded at ``span.times``.
        ends: last time and state of each run, [t, q, u], (runs, 1 + nx); NaN where a run failed, as in all arrays.
        inputs: last inputs, (runs, inputs).
        event_times: first time of each event [s], (runs, events); NaN for events that did not happen.
        states: recorded states, (runs, times, nx), NaN after the end of a run; (runs, 0) if none are recorded.
    """

    problem: InitialValueProblem
    method: Integrator
    span: Span
    conditions: Conditions
    recorded: bool
    ends: Array = field(init=False)
    inputs: Array = field(init=False)
    event_times: Array = field(init=False)
    states: Array = field(init=False)

    def __post_init__(self) -> None:
        n, nx = len(self.conditions), sum(x.shape[1] for x in (self.conditions.q, self.conditions.u))
        times: tuple[int, ...] = (0,)
        if self.recorded and self.span.times is not None:
            times = (len(self.span.times), nx)
        shapes = {
            "ends": (n, 1 + nx),
            "inputs": (n, len(self.problem.layout.inputs)),
            "event_times": (n, len(self.problem.events)),
            "states": (n, *times),
        }
        for name, shape in shapes.items():
            object.__setattr__(self, name, np.full(shape, np.nan))

    def run(self, failures: dict[int, str], progress: Callable[[float], None]) -> None:
        """Compute all runs that are not in ``failures`` yet, and enter the reason of each new failure there.

        Warns if runs may be inaccurate, as ``simulate_many`` does.
        """
        n, doubts = len(self.conditions), {}
        stop, order = threading.Event(), [i for i in range(n) if i not in failures]
        with ThreadPoolExecutor(self.problem.threads) as pool:
            runs = {pool.submit(self._run, i, stop): i for i in order}
            try:
                while left := wait(runs, timeout=CHUNK_SECONDS).not_done:
                    progress(1.0 - len(left) / n)
            finally:
                stop.set()
        for run, i in runs.items():
            error = run.exception()
            if isinstance(error, ModelError | SimulationError):
                failures[i] = str(error)
            elif error is not None:
                raise error
            elif run.result():
                doubts[i] = run.result()
        if doubts:
            first = min(doubts)
            warn(f"{len(doubts)} of {n} runs may be inaccurate; run {first} of this chunk: {doubts[first]}")

    def _run(self, i: int, stop: threading.Event) -> str:
        """Compute run i to its end; return the warning that ``simulate`` would give, or "".

        Raises:
            ModelError: the run cannot start.
            SimulationError: the run failed.
        """

        def go_on(_: float) -> None:
            if stop.is_set():
                raise KeyboardInterrupt

        go_on(0.0)
        own = self.problem.of_values(self.conditions.row("parameters", i), self.conditions.row("inputs", i))
        x = np.concatenate([self.conditions.q[i], self.conditions.u[i]])
        span = self.span
        integration = own.integration(free_course(*span, Stops(own).between(span.start, span.until)), x)
        outcome = advance_to_end(integration, monitored_advance(own, self.method), go_on)
        go_on(1.0)
        if outcome in FAILURES.values():
            raise failure_of(integration, outcome)
        record = own.numbers(integration)
        self.ends[i], self.inputs[i] = record.states[-1], record.inputs[-1]
        for event, time in record.events[1][::-1, :2]:
            self.event_times[i, int(event)] = time
        if self.recorded and span.times is not None:
            n = min(len(record.states), len(span.times))
            on_time = record.states[:n, 0] == span.times[:n]  # a terminal event ends the run between two times
            self.states[i, :n][on_time] = record.states[:n, 1:][on_time]
        return next(passages(integration), "") or record.doubt(**self.method.settings)
