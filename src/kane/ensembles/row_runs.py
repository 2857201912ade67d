"""Runs in rows of memory, and the native calls that take their steps in threads."""

from __future__ import annotations

import os
import time
from concurrent.futures import Executor
from typing import final

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import COMPLETE, PROJECT
from kane.engine.rows.row_problem import row_problem_of
from kane.engine.step.row_steps import step_rows
from kane.ensembles.row_memory import RowMemory
from kane.simulation.events.event import Occurrence
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.mode_table import stage_in_force
from kane.simulation.quick_steps import row_steps
from kane.simulation.stepped_run import SteppedRun, resume

# A step of all rows that takes less time than this is not divided among threads [s].
SHORT_STEP = 5e-4


@final
class RowRuns:
    """n runs of one problem.

    Attributes:
        steps: their native steps; ``steps.results`` has the results of the last one.
        time, x, inputs, statuses, constants: views of all rows: time (n,), state (n, nx), inputs, statuses of
            intermittent constraints, and constants of the program PROJECT.
        slope_known: whether the slope at x is known, (n,).
        mean_forces: mean forces of the constraint rows over the last time step, (n, rows); None for other methods.
    """

    def __init__(self, first: IntegratorState, call: PreparedCall, method: Integrator, n: int) -> None:
        """Allocate the memory of n runs like the first, whose steps are native calls."""
        problem, system, store = first.problem, first.system, first.store
        own_scratch = problem.contacts is not None and first.memory is None  # time steps remember nothing
        constants = stage_in_force(system, PROJECT, problem.project) if problem.project else np.zeros(0)
        remembered = row_problem_of(constants, system.work).mode if own_scratch else np.zeros(0)
        self._memory, self._first, self._method = RowMemory(call, n, own_scratch=own_scratch), first, method
        columns, self._runs = self._memory.columns, dict[int, SteppedRun]()
        self.steps = row_steps(first, method, call, self._memory.words)
        self.time, self.x = columns(store.clock[:1])[:, 0], columns(store.x)
        self.inputs, self.slope_known = columns(system.inputs), columns(first.counts.slope_known)
        self.statuses: NDArray[np.int64] = columns(problem.mode_source.mode(first))
        self.constants, self._remembered = columns(constants), columns(remembered)
        self.mean_forces = None if first.memory is None else columns(first.memory[1].forces[1])
        threads = max(1, min(n, problem.threads))
        edges = [n * k // threads for k in range(threads + 1)]
        self._scratch = np.zeros((threads, len(system.work)))
        work = [0 if own_scratch else int(own.ctypes.data) for own in self._scratch]
        parts = [(work[0], 0, n), *zip(work, edges, edges[1:], strict=False)]
        self._calls = [step_rows.prepared(self.steps, 0.0, *part) for part in parts]
        self._length, self._owner, self._seconds = self._calls[0].place(1), 0, 0.0
        self._pool: Executor | None = None

    def fresh(self, call: PreparedCall) -> Vector:
        """Return the memory of a run at its start, whose steps are this call."""
        row = np.zeros(self._memory.fresh)
        self._memory.load(row, call.arguments)
        return row

    def begin(self, rows: NDArray[np.int64], fresh: Array) -> None:
        """Begin rows with the memory of runs at their start, (rows, doubles) or (doubles,)."""
        self._memory.rows[rows, : self._memory.fresh] = fresh
        self._remembered[rows] = 0.0
        self.steps.reals[rows, self.steps.places.step] = 0.0  # fixed steps are counted from here on
        self.steps.results[rows] = COMPLETE

    def step(self, dt: float) -> int:
        """Take the native part of a step of all rows, in threads if it is long; return the largest result."""
        began, (whole, *parts) = time.perf_counter(), self._calls
        for call in self._calls:
            call.reals[self._length] = dt
        if len(parts) == 1 or self._seconds < SHORT_STEP:
            worst = whole()
            self._seconds = time.perf_counter() - began
            return int(worst)
        others, own = [self._threads().submit(call) for call in parts[1:]], parts[0]()
        self._seconds = (time.perf_counter() - began) * len(parts)
        return int(max(own, *(other.result() for other in others)))

    def _threads(self) -> Executor:
        if self._pool is None or self._owner != os.getpid():  # a forked child has none of the threads of its parent
            from concurrent.futures import ThreadPoolExecutor  # imported late: it takes milliseconds

            self._pool, self._owner = ThreadPoolExecutor(len(self._calls) - 2), os.getpid()
        return self._pool

    def complete(self, i: int, problem: InitialValueProblem) -> tuple[Occurrence, ...]:
        """Complete or check the last step of a row in Python, as a run of the problem; return its events.

        Raises:
            SimulationError: as ``simulate``.
        """
        if i not in self._runs:
            system, tables, course, watch, store, rest, _ = self._memory.arguments(i)
            run = IntegratorState(system, tables, course, watch, store, {problem.key: problem})
            run.drifts = self._first.drifts
            run.memory = None if self._first.memory is None else (problem.contacts, rest)
            self._runs[i] = SteppedRun(run, self._method)
        return resume(self._runs[i], self.steps, i)
