"""``kane.Steppers``: many runs of one model that take steps together, in loops of the user."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import IndexRows, Vector
from kane.engine.memory.run_codes import BEGUN, CHANGED, COMPLETE
from kane.engine.step.row_steps import step_rows
from kane.ensembles.conditions import Conditions, split_inputs
from kane.ensembles.row_memory import RowMemory
from kane.errors import ModelError, SimulationError, shown
from kane.expression.number_arguments import list_argument, number, numbers, require, whole
from kane.formulation.equations import Equations
from kane.simulation.driver import tolerate_slow_slip
from kane.simulation.events.event import Event, Occurrence
from kane.simulation.exclusive_calls import OneAtATime
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.integrator import Integrator, require_integrator
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.modes.set_up import set_up
from kane.simulation.monitors.penetration import refuse_start
from kane.simulation.quick_steps import needs_python, prepared_steps, row_steps
from kane.simulation.results.contact_log import places_named
from kane.simulation.schedule.course import course_between, step_length
from kane.simulation.schedule.step_ends import Stops
from kane.simulation.state_layout import Layout
from kane.simulation.stepped_run import SteppedRun

# A step that takes less wall time than this is not divided among threads [s].
SHORT_STEP = 2e-4


class Steppers:
    """n runs of dq/dt = qdot(t, q, u), du/dt = udot(t, q, u, inputs) that advance together, one row each.

    For loops over many runs: reinforcement learning, model predictive control by samples. A step of all rows is one
    native call in each thread that ``LLVM(threads=...)`` allows. Each row equals a ``Stepper`` to the last bit, with its
    events; a row after ``reset`` equals a new one. Python completes only the steps of rows that need it, such as those
    with events of ``events=``.

    Args:
        dyn: returned by ``kane.build``.
        n: number of rows.
        q, u: initial coordinates (n, nq) and speeds (n, nu), or one row for all; or a dict from names to numbers or
            (n,) arrays. By default the neutral configuration at rest.
        inputs: constants until they are set, (n, inputs) or one row for all; or a dict from names to numbers, (n,)
            arrays or expressions of the model.
        parameters: as q, for parameters; declared defaults unless given.
        integrator: RK8() unless given; kane.RK4() or kane.MoreauJean() take one step per call.
        events: as for ``simulate``, of all rows.
        start: first time [s].

    Raises:
        ModelError: an argument is invalid, or steps of this model need Python; then use a ``Stepper`` for each run.
    """

    def __init__(
        self,
        dyn: Dynamics,
        n: int,
        *,
        q: Any = None,
        u: Any = None,
        inputs: Any = None,
        parameters: Any = None,
        integrator: Integrator | None = None,
        events: Event | Sequence[Event] = (),
        start: float = 0.0,
    ) -> None:
        require(dyn, Dynamics, "Steppers needs Dynamics, as kane.build(equations) returns")
        n = whole(n, "n", 1)
        watched = (
            (events,) if isinstance(events, Event) else list_argument(events, "events", "kane.Event(expression, ...)")
        )
        self._start = number(start, "start", "seconds")
        self._method = RK8() if integrator is None else require_integrator(integrator)
        self._alone = OneAtATime("Steppers", "make kane.Steppers for each thread; they use several threads themselves")
        constants, expressions = split_inputs(inputs)
        self._given = Conditions.of(Layout.of(dyn.equations), q, u, constants, parameters, n)
        self._problem = set_up(dyn, expressions, self._given.row("parameters", 0), watched)
        x = self._starts(np.arange(n), self._given, u)
        self._allocate(n, x)
        self._begin(np.arange(n), x)

    def __reduce__(self) -> NoReturn:
        raise ModelError(
            "Steppers cannot be copied or pickled: native code owns their memory; make others from their states: "
            "kane.Steppers(dyn, n, q=steppers.q, u=steppers.u)"
        )

    def __repr__(self) -> str:
        return f"{len(self)} Steppers of {self._problem.layout.model!r} by {self._method.name}"

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._memory.rows)

    @property
    def equations(self) -> Equations:
        """Equations that are integrated."""
        return self._problem.dyn.equations

    @property
    def time(self) -> Vector:
        """Current time of each row, (n,) [s]; ``reset`` sets it to ``start``."""
        return self._time.copy()

    @property
    def q(self) -> Array:
        """Coordinates at ``time``, (n, nq)."""
        return self._x[:, : len(self._problem.layout.coordinates)].copy()

    @property
    def u(self) -> Array:
        """Generalized speeds at ``time``, (n, nu)."""
        return self._x[:, len(self._problem.layout.coordinates) :].copy()

    @property
    def inputs(self) -> Array:
        """Current inputs, (n, inputs); ``step`` sets them."""
        return self._inputs.copy()

    @property
    def modes(self) -> tuple[str, ...]:
        """Name of the mode of each row at ``time``, as ``Stepper.mode``."""
        names = [c.name for c in self.equations.intermittents]
        found, which = np.unique(self._statuses, axis=0, return_inverse=True)
        words = [statuses_in_words(row, names) for row in found.tolist()]
        return tuple(words[k] for k in which.ravel().tolist())

    def active(self, name: str) -> NDArray[np.bool_]:
        """Return whether an intermittent constraint, or any of its parts, is active in each row, (n,).

        Raises:
            ModelError: the name is unknown.
        """
        places = places_named(name, [c.name for c in self.equations.intermittents])
        return np.asarray((self._statuses[:, places] > 0).any(axis=1))

    def events(self, row: int) -> tuple[Occurrence, ...]:
        """Return the located events and transitions of a row in its last step, in order, as ``Stepper.step`` does.

        Raises:
            ModelError: there is no such row.
        """
        (i,) = self._rows_of([row]).tolist()
        with self._alone:
            if i not in self._told:
                self._told[i] = self._complete(i) if self._steps.results[i] == CHANGED else ()
            return self._told[i]

    def step(self, dt: float, inputs: Any = None) -> NDArray[np.bool_]:
        """Integrate all rows by dt, exactly to t + dt or to a terminal event.

        Args:
            dt: length of the step [s].
            inputs: (n, inputs), or one row for all, or a dict from some names to numbers or (n,) arrays; they stay
                constant until they are set again. None leaves them.

        Returns:
            Which rows had events or transitions, (n,); ``events(row)`` has them.

        Raises:
            ModelError: dt or inputs are invalid; then no row has moved.
            SimulationError: rows failed, as ``simulate`` does; they keep the last state that they reached, and all
                other rows have taken the step.
        """
        with self._alone:
            dt = step_length(dt, float(np.abs(self._time).max()))
            if inputs is not None:
                self._inputs[:], self._known[:] = self._named_inputs(inputs), 0
            self._told.clear()
            found, failed = self._steps.results, dict[int, Exception]()
            if self._run_native(dt) == COMPLETE:
                return np.zeros(len(found), bool)
            changed = found == CHANGED
            unclear = changed & (self._statuses == self._steps.before).all(axis=1)
            for i in np.flatnonzero((found == BEGUN) | unclear).tolist():
                try:
                    self._told[i] = self._complete(i)
                    changed[i] = bool(self._told[i])
                except (ModelError, SimulationError) as error:
                    failed[i], self._told[i] = error, ()
            if failed:
                row, error = next(iter(failed.items()))
                many = f"rows {', '.join(map(str, failed))}" if len(failed) > 1 else f"row {row}"
                raise SimulationError(
                    f"{many} of {len(found)} could not take the step; all others have taken it: call "
                    f"reset({list(failed)}); row {row}: {error}"
                ) from error
            return np.asarray(changed)

    def reset(self, rows: Any, *, q: Any = None, u: Any = None) -> None:
        """Begin rows again at ``start``, with the inputs of the constructor; each equals a new ``Stepper``.

        Args:
            rows: indices of rows, or a mask of all rows, (n,).
            q, u: as for the constructor, one for each of these rows or one for all; by default the neutral
                configuration at rest.

        Raises:
            ModelError: there is no such row, or the runs cannot start there; then no row has changed.
        """
        chosen = self._rows_of(rows)
        if not len(chosen):
            return
        given = Conditions.of(self._problem.layout, q, u, None, None, len(chosen))
        given = Conditions(given.q, given.u, *(getattr(self._given, w) for w in ("inputs", "parameters")))
        with self._alone:
            self._begin(chosen, self._starts(chosen, given, u))
            for row in chosen.tolist():
                self._told[row] = ()

    def _rows_of(self, rows: Any) -> NDArray[np.int64]:
        """Return the indices of rows that the user names.

        Raises:
            ModelError: there is no such row, or one is named twice.
        """
        n, given = len(self), np.asarray(rows)
        if given.dtype == bool and given.shape == (n,):
            return np.flatnonzero(given)
        if given.size and (given.dtype.kind not in "iu" or given.ndim > 1):
            raise ModelError(f"rows are {shown(rows)}; give indices from 0 to {n - 1}, or a mask of shape ({n},)")
        chosen = given.astype(np.int64).reshape(-1)
        wrong = chosen[(chosen < 0) | (chosen >= n)]
        if len(wrong):
            raise ModelError(f"there is no row {wrong[0]}; the {n} rows are 0 to {n - 1}")
        if len(np.unique(chosen)) < len(chosen):
            raise ModelError("rows name one row twice; name each once")
        return chosen

    def _named_inputs(self, inputs: Any) -> Array:
        """Return the inputs of all rows, (n, inputs).

        Raises:
            ModelError: names the input or the row.
        """
        n, plan = len(self), self._problem.plan
        for name in plan.driven:
            if not isinstance(inputs, dict) or name in inputs:
                raise ModelError(
                    f"the input {name!r} is given by an expression; leave it out here, by a dict of others"
                )
        if isinstance(inputs, dict):
            given = Conditions.of(self._problem.layout, None, None, inputs, None, n).inputs
            wanted = self._inputs.copy()
            places = [plan.names.index(name) for name in inputs]
            wanted[:, places] = given[:, places]
        else:
            wanted = numbers(inputs, "inputs must be numbers")
            if wanted.shape not in (shapes := ((n, len(plan.names)), (len(plan.names),))):
                raise ModelError(
                    f"inputs have shape {wanted.shape}; give {shapes[0]}, one row for each run, or {shapes[1]} for all: "
                    f"{', '.join(plan.names)}"
                )
        if not np.isfinite(wanted).all():
            row, k = np.argwhere(~np.isfinite(np.broadcast_to(wanted, (n, len(plan.names)))))[0].tolist()
            raise ModelError(f"the input {plan.names[k]!r} of row {row} is not finite")
        return wanted

    def _starts(self, rows: NDArray[np.int64], given: Conditions, u: Any) -> Array:
        """Return the states x = [q, u] at which rows start, (rows, nx); ``given`` has a row for each.

        Raises:
            ModelError: names the row.
        """
        problem, t = self._problem, self._start
        parameters = given.parameters if len(given.parameters) == 1 else given.parameters[rows]
        inputs = given.inputs if len(given.inputs) == 1 else given.inputs[rows]
        given = Conditions(given.q, given.u, inputs, parameters)
        failures = given.project(problem.layout, problem.dyn)
        if not failures:
            given.u[:] = problem.with_dependent(t, given.q, given.u, u, parameters)
        x = np.column_stack([given.q, given.u])
        for k in np.flatnonzero(problem.mode_source.doubted(t, x, parameters)).tolist() if not failures else ():
            try:
                refuse_start(problem.dyn, t, given.q[k], given.u[k], given.row("parameters", k))
            except ModelError as error:
                failures[k] = str(error)
        if failures:
            k = min(failures)
            raise ModelError(f"row {rows[k]} cannot start: {failures[k]}")
        return x

    def _own(self, i: int) -> InitialValueProblem:
        """Return the problem with the parameters and the first inputs of a row."""
        return self._problem.of_values(self._given.row("parameters", i), self._given.row("inputs", i))

    def _integration(self, i: int, x: Vector) -> IntegratorState:
        """Return a new run of row i from x, with the room for its steps."""
        found = self._own(i).integration(course_between(self._start, self._start), x)
        prepared_steps(found, self._method)
        tolerate_slow_slip(found, self._method)
        if found.memory is not None:  # a first time step that changes nothing needs no note
            found.memory[1].statuses[:] = found.problem.mode_source.mode(found)
        return found

    def _allocate(self, n: int, x: Array) -> None:
        """Allocate the memory of the rows, and prepare the native calls."""
        first = self._integration(0, x[0])
        reason = needs_python(first, self._method, Stops(self._problem, inputs_vary=True))
        if reason:
            raise ModelError(f"Steppers take steps without Python, which {reason} need; use kane.Stepper for each run")
        call = prepared_steps(first, self._method)
        assert call is not None
        remembered = first.problem.mode_source.remembered(first)
        own_scratch = len(remembered) > 0 and first.memory is None  # time steps read nothing of earlier ones
        memory = self._memory = RowMemory(call, n, own_scratch=own_scratch)
        at = memory.place(remembered) if own_scratch else 0
        self._remembered = memory.rows[:, at : at + len(remembered) * own_scratch]
        self._steps = row_steps(first, self._method, call, memory.words)
        self._template, self._runs, self._told = first, dict[int, SteppedRun](), dict[int, tuple[Occurrence, ...]]()
        rows, integers, store = memory.rows, memory.rows.view(np.int64), first.store
        self._time = rows[:, memory.place(store.clock)]
        self._x = rows[:, (at := memory.place(store.x)) : at + len(store.x)]
        ni = len(first.system.inputs)
        self._inputs = rows[:, (at := memory.place(first.system.inputs)) : at + ni] if ni else np.zeros((n, 0))
        self._known = integers[:, memory.place(first.counts.slope_known)]
        at = memory.place(first.system.stages) + self._steps.statuses
        self._statuses: IndexRows = integers[:, at : at + self._steps.before.shape[1]]
        self._alike = self._problem.constraints is None  # else the memory of a run depends on its first state
        self._fresh = np.zeros((len(self._given.parameters) if self._alike else 1, memory.fresh))
        for i, row in enumerate(self._fresh if self._alike else ()):
            memory.load(row, prepared_steps(self._integration(i, x[i]), self._method).arguments)
        threads = max(1, min(n, self._problem.energy.threads))
        edges = [n * k // threads for k in range(threads + 1)]
        self._scratch = np.zeros((threads, len(first.system.work)))
        work = [0 if own_scratch else int(own.ctypes.data) for own in self._scratch]
        calls = [(work[0], 0, n), *zip(work, edges, edges[1:])]
        self._calls = [step_rows.prepared(self._steps, 0.0, *own) for own in calls]
        self._pool, self._seconds = (0, None), 0.0

    def _begin(self, rows: NDArray[np.int64], x: Array) -> None:
        """Begin rows at states x."""
        memory = self._memory
        if self._alike:
            memory.rows[rows, : memory.fresh] = self._fresh[rows if len(self._fresh) > 1 else 0]
            if self._inputs.size:
                self._inputs[rows] = self._given.inputs[rows if len(self._given.inputs) > 1 else 0]
            self._x[rows] = x
        else:
            for i, own in zip(rows.tolist(), x, strict=True):
                memory.load(memory.rows[i], prepared_steps(self._integration(i, own), self._method).arguments)
        self._remembered[rows] = 0.0
        self._steps.reals[rows, self._steps.places.step] = 0.0  # fixed steps count from here on
        self._steps.results[rows] = COMPLETE

    def _run_native(self, dt: float) -> int:
        """Take the native part of a step of all rows, in threads if it is long; return the largest result."""
        began, (whole, *parts) = time.perf_counter(), self._calls
        length = whole.place(1)
        for call in self._calls:
            call.reals[length] = dt
        if len(parts) == 1 or self._seconds < SHORT_STEP:
            worst = whole()
        else:
            owner, pool = self._pool
            if owner != os.getpid():  # a forked child has none of the threads of its parent
                from concurrent.futures import ThreadPoolExecutor  # imported late: it takes milliseconds

                pool = ThreadPoolExecutor(len(parts) - 1)
                self._pool = os.getpid(), pool
            others = [pool.submit(call) for call in parts[1:]]
            worst = max([parts[0](), *(other.result() for other in others)])
        self._seconds = time.perf_counter() - began
        return int(worst)

    def _run(self, i: int) -> SteppedRun:
        """Return row i as a single run in its own memory."""
        if i not in self._runs:
            system, tables, course, watch, store, *rest = self._memory.arguments(i)
            problem, first = self._own(i), self._template
            run = IntegratorState(system, tables, course, watch, store, {problem.key: problem})
            run.drifts = first.drifts
            if first.memory is not None:
                run.memory = (problem.contacts, rest[0])
            self._runs[i] = SteppedRun(run, self._method)
        return self._runs[i]

    def _complete(self, i: int) -> tuple[Occurrence, ...]:
        """Complete the last step of a row in Python; return its events."""
        return self._run(i).resume(self._steps, i)
