"""``kane.Steppers``: many runs of one model that take steps together, in loops of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.dynamics import Dynamics
from kane.engine.call import PreparedCall
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import BEGUN, CHANGED, COMPLETE
from kane.ensembles.conditions import Conditions, split_inputs
from kane.ensembles.row_runs import RowRuns
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
from kane.simulation.modes.contact_records import forces_at
from kane.simulation.modes.set_up import set_up
from kane.simulation.monitors.penetration import refuse_start
from kane.simulation.quick_steps import native_steps
from kane.simulation.results.contact_log import ForcesByName, places_named
from kane.simulation.schedule.course import course_between, step_length
from kane.simulation.schedule.step_ends import Stops
from kane.simulation.state_layout import Layout
from kane.simulation.stepped_run import problem_of, steps_of
from kane.simulation.stepper import Stepper


class Steppers:
    """n runs of dq/dt = qdot(t, q, u), du/dt = udot(t, q, u, inputs) that advance together, one row each.

    For loops over many runs: reinforcement learning, model predictive control by samples. A step of all rows is one
    native call in each thread that ``LLVM(threads=...)`` allows. Each row equals a ``Stepper`` to the last bit, events
    included; after ``reset`` it equals a new one. Python completes only the steps of rows that need it, such as those
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
        self._given = Conditions.of(Layout.of(dyn.equations), q, u, constants, parameters, n=n)
        self._problem = set_up(dyn, expressions, self._given.row("parameters", 0), watched)
        self._stops, self._told = Stops(self._problem, inputs_vary=True), dict[int, tuple[Occurrence, ...]]()
        rows = np.arange(n)
        x = self._starts(rows, self._given, u)
        self._runs = RowRuns(*self._new(0, x[0]), self._method, n)
        each = range(len(self._given.parameters))
        alike = self._problem.constraints is None
        self._alike = np.array([self._runs.fresh(self._new(i, x[i])[1]) for i in each]) if alike else None
        self._begin(rows, x)

    def __reduce__(self) -> NoReturn:
        raise ModelError(
            "Steppers cannot be copied or pickled: native code owns their memory; make others from their states: "
            "kane.Steppers(dyn, n, q=steppers.q, u=steppers.u)"
        )

    def __repr__(self) -> str:
        return f"{len(self)} Steppers of {self._problem.layout.model!r} by {self._method.name}"

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._runs.x)

    @property
    def equations(self) -> Equations:
        """Equations that are integrated."""
        return self._problem.dyn.equations

    @property
    def time(self) -> Vector:
        """Current time of each row, (n,) [s]; ``reset`` sets it to ``start``."""
        return self._runs.time.copy()

    @property
    def q(self) -> Array:
        """Coordinates at ``time``, (n, nq)."""
        return self._runs.x[:, : len(self._problem.layout.coordinates)].copy()

    @property
    def u(self) -> Array:
        """Generalized speeds at ``time``, (n, nu)."""
        return self._runs.x[:, len(self._problem.layout.coordinates) :].copy()

    @property
    def inputs(self) -> Array:
        """Current inputs, (n, inputs); ``step`` sets them."""
        return self._runs.inputs.copy()

    @property
    def modes(self) -> tuple[str, ...]:
        """Name of the mode of each row at ``time``, as ``Stepper.mode``."""
        names = [c.name for c in self.equations.intermittents]
        found, which = np.unique(self._runs.statuses, axis=0, return_inverse=True)
        words = [statuses_in_words(row, names) for row in found.tolist()]
        return tuple(words[k] for k in which.ravel().tolist())

    def active(self, name: str) -> NDArray[np.bool_]:
        """Return whether an intermittent constraint, or any of its parts, is active in each row, (n,).

        Raises:
            ModelError: the name is unknown.
        """
        places = places_named(name, [c.name for c in self.equations.intermittents])
        return np.asarray((self._runs.statuses[:, places] > 0).any(axis=1))

    @property
    def reactions(self) -> dict[str, Array]:
        """Forces of intermittent constraints at ``time``, by name, (n, rows) each, as in ``Trajectory.reactions``.

        With kane.MoreauJean() they are means over the last step of the row, zero before it.
        """
        runs, given, eqs = self._runs, self._given, self.equations
        forces, contacts = runs.mean_forces, self._problem.contacts
        if forces is None and contacts is not None:
            states, state = np.column_stack([runs.time, runs.x]), contact_constants_of(runs.constants).state
            forces = forces_at(contacts, states, runs.inputs, given.parameters, (state.status, state.along))
        parts = zip(eqs.intermittents, eqs.intermittent_places, strict=True)
        return ForcesByName({c.name: forces[:, place].copy() for c, place in parts} if forces is not None else {})

    def events(self, row: int) -> tuple[Occurrence, ...]:
        """Return the located events and transitions of a row in its last step, in order, as ``Stepper.step`` does.

        Raises:
            ModelError: there is no such row.
        """
        (i,) = self._rows_of([row]).tolist()
        with self._alone:
            if i not in self._told:
                self._told[i] = self._runs.complete(i, self._own(i)) if self._runs.steps.results[i] == CHANGED else ()
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
            dt = step_length(dt, float(np.abs(self._runs.time).max()))
            if inputs is not None:
                self._runs.inputs[:], self._runs.slope_known[:] = self._named_inputs(inputs), 0
            self._told.clear()
            found, failed = self._runs.steps.results, dict[int, str]()
            if self._runs.step(dt) == COMPLETE:
                return np.zeros(len(found), bool)
            changed = found == CHANGED
            unclear = changed & (self._runs.statuses == self._runs.steps.before).all(axis=1)
            for i in np.flatnonzero((found == BEGUN) | unclear).tolist():
                try:
                    self._told[i] = self._runs.complete(i, self._own(i))
                    changed[i] = bool(self._told[i])
                except (ModelError, SimulationError) as error:
                    failed[i], self._told[i] = str(error), ()
            if failed:
                raise SimulationError(
                    f"{len(failed)} of {len(found)} rows could not take the step, all others have taken it: call "
                    f"reset({list(failed)}); row {min(failed)}: {failed[min(failed)]}"
                )
            return np.asarray(changed)

    def reset(self, rows: Any, *, q: Any = None, u: Any = None, like: Stepper | None = None) -> None:
        """Begin rows again at ``start``, with the inputs of the constructor; each equals a new ``Stepper``.

        Args:
            rows: indices of rows, or a mask of all rows, (n,).
            q, u: as for the constructor, one for each of these rows or one for all; by default the neutral
                configuration at rest.
            like: stepper of the same Dynamics, integrator and kinds of inputs. The rows continue its run, from its
                time, state, inputs and contact mode, instead of beginning again.

        Raises:
            ModelError: there is no such row, the runs cannot start there, or ``like`` differs; then no row has changed.
        """
        chosen = self._rows_of(rows)
        with self._alone:
            if like is not None:
                if q is not None or u is not None:
                    raise ModelError("give either q and u of the rows, or like=stepper")
                self._runs.begin(chosen, self._runs.fresh(self._steps_of(like, chosen)))
            elif len(chosen):
                given = Conditions.of(self._problem.layout, q, u, None, None, n=len(chosen))
                given = Conditions(given.q, given.u, self._given.inputs, self._given.parameters)
                self._begin(chosen, self._starts(chosen, given, u))
            self._told.update(dict.fromkeys(chosen.tolist(), ()))

    def _steps_of(self, like: Stepper, rows: NDArray[np.int64]) -> PreparedCall:
        """Return the native call of a stepper, in whose memory rows find their state.

        Raises:
            ModelError: the stepper has other equations, another integrator, other events, or other parameters.
        """
        require(like, Stepper, "like= needs a kane.Stepper of the same Dynamics")
        own, other = self._problem, problem_of(like)
        alike = own.dyn is other.dyn and (own.plan.driven, own.events) == (other.plan.driven, other.events)
        call = steps_of(like, self._method) if alike else None
        if call is None or other.plan.needs_python or other.laws or other.key != own.key:
            raise ModelError(
                f"{like!r} is not like these {self!r}: give a stepper of the same Dynamics, integrator, events and "
                "expressions of inputs"
            )
        for i in rows.tolist():
            if not np.array_equal(self._given.row("parameters", i), other.parameters):
                raise ModelError(f"row {i} and {like!r} have different parameters")
        return call

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
            given = Conditions.of(self._problem.layout, None, None, inputs, None, n=n).inputs
            wanted = self._runs.inputs.copy()
            places = [plan.names.index(name) for name in inputs]
            wanted[:, places] = given[:, places]
        else:
            wanted = numbers(inputs, "inputs must be numbers")
            if wanted.shape not in (shapes := ((n, len(plan.names)), (len(plan.names),))):
                raise ModelError(
                    f"inputs have shape {wanted.shape}; give {shapes[0]}, one row for each run, or {shapes[1]} for "
                    f"all: {', '.join(plan.names)}"
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

    def _begin(self, rows: NDArray[np.int64], x: Array) -> None:
        """Begin rows at states x = [q, u]."""
        if self._alike is None:  # the memory of a run under permanent constraints depends on its first state
            fresh = np.array([self._runs.fresh(self._new(*start)[1]) for start in zip(rows.tolist(), x, strict=True)])
            self._runs.begin(rows, fresh)
            return
        self._runs.begin(rows, self._alike[rows if len(self._alike) > 1 else 0])
        self._runs.x[rows] = x
        if self._runs.inputs.size:
            self._runs.inputs[rows] = self._given.inputs[rows if len(self._given.inputs) > 1 else 0]

    def _new(self, i: int, x: Vector) -> tuple[IntegratorState, PreparedCall]:
        """Return a new run of row i from x, and its native call.

        Raises:
            ModelError: names the row.
        """
        try:
            found = self._own(i).integration(course_between(self._start, self._start), x)
        except ModelError as error:
            raise ModelError(f"row {i} cannot start: {error}") from error
        call = native_steps(found, self._method, self._stops)
        if isinstance(call, str):
            raise ModelError(f"Steppers take native steps only, and not {call}; use kane.Stepper for each run")
        tolerate_slow_slip(found, self._method)
        if found.memory is not None:  # a first time step that changes nothing needs no note
            found.memory[1].statuses[:] = found.problem.mode_source.mode(found)
        return found, call
