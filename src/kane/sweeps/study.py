"""``Study``: the runs of a sweep as a function from rows of values to results; it can be sent to other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from kane.array_types import Array
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.ensembles.conditions import Conditions
from kane.ensembles.simulate_many import simulate_many
from kane.errors import KaneError, ModelError
from kane.expression.node import Expr
from kane.machine.sources import sources_digest
from kane.simulation.events.event import Event, event_names
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.closed_loop import resolve_replacements
from kane.simulation.inputs.known_in_state import known_in_state
from kane.simulation.integrators.explicit import Adaptive
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.modes.set_up import set_up
from kane.simulation.schedule.course import Span
from kane.simulation.state_layout import Layout
from kane.sweeps.indicators import is_indicator
from kane.sweeps.single_runs import SingleRuns

Given = Mapping[str, Mapping[str, Any]]


def no_progress(fraction: float) -> None:
    """Show no progress."""


class ChunkResults(NamedTuple):
    """Results of consecutive runs.

    Attributes:
        first: number of the first run.
        values: outputs and first times of events, (runs,), and trajectories, (runs, times), by name; NaN where a run
            failed.
        failures: reason by number of the run.
    """

    first: int
    values: Mapping[str, Array]
    failures: Mapping[int, str]


class Ends(NamedTuple):
    """Last states of runs: time (runs,), q, u, inputs, first times of events, and recorded states (runs, times, nx)."""

    time: Array
    q: Array
    u: Array
    inputs: Array
    events: Array
    states: Array
    failures: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class Study:
    """Everything that the runs of a sweep have in common.

    Attributes:
        dyn: compiled equations.
        span: time span, and times of recorded states.
        method: integrator.
        fixed: values that are equal in all runs, by group ("q", "u", "inputs", "parameters") and name.
        drivers: expressions, sampled laws and samples that drive inputs: a dict by name, or one for all inputs.
        outputs: expressions, evaluated at the end of each run, by name.
        events: located in each run; their first times are results.
        recorded: whether the states at ``span.times`` are results.
        key: identifies the study in worker processes.
    """

    dyn: Dynamics
    span: Span
    method: Integrator
    fixed: Given
    drivers: Any
    outputs: Mapping[str, Expr]
    events: tuple[Event, ...]
    recorded: bool
    key: str = field(default_factory=lambda: uuid4().hex)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the declarations; a worker process restores and compiles them once for all chunks."""
        return restored_study, (sources_digest(), self.key, tuple(getattr(self, each.name) for each in fields(self)))

    @cached_property
    def layout(self) -> Layout:
        """Names and units."""
        return Layout.of(self.dyn.equations)

    @cached_property
    def lock(self) -> threading.Lock:
        """Held while a chunk is computed, because only one thread at a time may derive programs."""
        return threading.Lock()

    @cached_property
    def problem(self) -> InitialValueProblem:
        """Initial value problem with declared parameters."""
        return set_up(self.dyn, self.drivers, None, self.events)

    @property
    def in_lanes(self) -> bool:
        """Whether ``simulate_many`` can compute the runs: no events, and inputs from numbers and expressions only."""
        drivers = self.drivers.values() if isinstance(self.drivers, Mapping) else [self.drivers]
        return isinstance(self.method, Adaptive) and not self.events and all(isinstance(x, Expr) for x in drivers)

    @cached_property
    def output_program(self) -> CompiledFunction:
        """Program of the outputs.

        Raises:
            ModelError: an output depends on a quantity that the state does not determine.
        """
        e = self.dyn.equations
        laws = resolve_replacements(e, self.problem.plan.expressions)
        known = known_in_state(e, {f"the output {name!r}": x for name, x in self.outputs.items()}, laws, ())
        program = Program("outputs", known, state=(e.t, *e.q, *e.u), rest=e.inputs, parameters=e.parameters)
        found: CompiledFunction = self.dyn.compile(program)
        return found

    @property
    def result_names(self) -> tuple[str, ...]:
        """Names of results with one number per run: outputs, and first times of events."""
        return (*self.outputs, *event_names(self.events))

    @cached_property
    def indicators(self) -> set[str]:
        """Names of the outputs that can only be 0 or 1."""
        return {name for name, x in self.outputs.items() if is_indicator(x)}

    def prepare(self) -> None:
        """Derive and compile all programs.

        Raises:
            ModelError: an input, event or output is invalid for all runs.
        """
        if self.dyn.compiled_modes.met:
            raise ModelError(
                "kane.compile_modes(dyn) compiles modes while runs go on, so that results depend on the order of the "
                'runs; name the modes, kane.compile_modes(dyn, run.modes), or give "all"'
            )
        if self.method.fixed:
            raise ModelError(f"a sweep needs step-size control: kane.RK5() or kane.RK8(), not {self.method!r}")
        self.problem.plan.require_cover(self.span.start, self.span.until)
        if self.outputs:
            assert self.output_program

    def given(self, names: Sequence[str], rows: Array) -> dict[str, dict[str, Any] | None]:
        """Return initial states, inputs and parameters of runs, as arguments of ``simulate_many``."""
        layout = self.layout
        groups = {
            "q": layout.coordinates,
            "u": layout.speeds,
            "inputs": layout.inputs,
            "parameters": layout.parameters,
        }
        found: dict[str, dict[str, Any] | None] = {}
        for group, known in groups.items():
            varied = {name: np.array(column) for name, column in zip(names, rows.T, strict=True) if name in known}
            found[group] = {**self.fixed[group], **varied} or None
        return found

    def compute(
        self, first: int, names: Sequence[str], rows: Array, progress: Callable[[float], None] = no_progress
    ) -> ChunkResults:
        """Compute runs with rows of values, (runs, names); ``first`` is the number of the first run."""
        with self.lock:
            self.prepare()
            given = self.given(names, rows)
            try:
                ends = self._in_lanes(given, progress) if self.in_lanes else self._one_by_one(given, progress)
            except KaneError as error:
                lost = {name: np.full(len(rows), np.nan) for name in self.result_names}
                nx = (*self.layout.coordinates, *self.layout.speeds) if self.recorded else ()
                lost |= {name: np.full((len(rows), len(self._times)), np.nan) for name in nx}
                return ChunkResults(first, lost, {first + i: str(error) for i in range(len(rows))})
            return self._piece(first, given, ends)

    @property
    def _times(self) -> Array:
        assert self.span.times is not None
        return self.span.times

    def _in_lanes(self, given: Mapping[str, Any], progress: Callable[[float], None]) -> Ends:
        inputs = {**(given["inputs"] or {}), **self.drivers}
        found = simulate_many(
            self.dyn,
            until=self.span.until,
            start=self.span.start,
            integrator=self.method,
            times=self.span.times,
            progress=progress,
            **{**given, "inputs": inputs},
        )
        if found.interrupted:
            raise KeyboardInterrupt
        time, none = np.full(len(found), self.span.until), np.zeros((len(found), 0))
        states = np.concatenate([found.q, found.u], axis=2) if self.recorded else none
        return Ends(time, found.q[:, -1], found.u[:, -1], found.inputs, none, states, found.failures)

    def _one_by_one(self, given: Mapping[str, Any], progress: Callable[[float], None]) -> Ends:
        conditions = Conditions.of(self.layout, *given.values())
        runs = SingleRuns(self.problem, self.method, self.span, conditions, self.recorded)
        failures = conditions.project(self.layout, self.dyn)
        own = conditions.q, conditions.u, given["u"], conditions.parameters
        conditions.u[:] = self.problem.with_dependent(self.span.start, *own)
        runs.run(failures, progress)
        nq = conditions.q.shape[1]
        ends = runs.ends[:, 0], runs.ends[:, 1 : 1 + nq], runs.ends[:, 1 + nq :]
        return Ends(*ends, runs.inputs, runs.event_times, runs.states, dict(sorted(failures.items())))

    def _piece(self, first: int, given: Mapping[str, Any], ends: Ends) -> ChunkResults:
        values: dict[str, Array] = {}
        n, layout = len(ends.q), self.layout
        if self.outputs:
            parameters = Conditions.of(layout, ends.q, None, None, given["parameters"]).parameters
            function, state = self.output_program, np.column_stack([ends.time, ends.q, ends.u])
            inputs = np.array(np.broadcast_to(ends.inputs, (n, len(layout.inputs))))
            found = function(
                state, inputs, function.stage(np.array(np.broadcast_to(parameters, (n, parameters.shape[1]))))
            )
            found[list(ends.failures)] = np.nan
            values.update(zip(self.outputs, found.T, strict=True))
        values.update(zip(event_names(self.events), ends.events.T, strict=True))
        if self.recorded:
            names = (*layout.coordinates, *layout.speeds)
            values.update(zip(names, np.moveaxis(ends.states, 2, 0), strict=True))
        return ChunkResults(first, values, {first + i: reason for i, reason in ends.failures.items()})


_KNOWN_STUDIES: dict[str, Study] = {}  # the last study of this worker process


def restored_study(sources: str | None, key: str, values: tuple[Any, ...]) -> Study:
    """Return a study that another process sent; the same object for the same key.

    Raises:
        ModelError: this process has other sources of kane.
    """
    if sources != sources_digest():
        raise ModelError("this worker has other sources of kane than the client; install the same version on both")
    if key not in _KNOWN_STUDIES:
        _KNOWN_STUDIES.clear()
        _KNOWN_STUDIES[key] = Study(*values)
    return _KNOWN_STUDIES[key]


def compute_known(key: str, first: int, names: Sequence[str], rows: Array) -> ChunkResults | None:
    """Compute a chunk of a study that this process restored before; None if it did not."""
    study = _KNOWN_STUDIES.get(key)
    return None if study is None else study.compute(first, names, rows)
