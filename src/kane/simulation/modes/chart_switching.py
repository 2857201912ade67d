"""Charts as modes: the key has a bit for each joint that is in its other chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.expression.functions import select
from kane.simulation.events.event import Event
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.input_plan import plan_inputs
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.mode_source import ModeSource
from kane.simulation.modes.atlas import Atlas
from kane.simulation.modes.charts import Charts, refuse_references
from kane.simulation.results.record import ChartSwitch, Record
from kane.simulation.state_layout import Layout

# Joints with a guard below this change charts together with the joint whose guard is negative. Guards are squares of
# sines, in which rounding is far smaller.
TOGETHER = 1e-9


class ChartSwitching(ModeSource):
    """Mode source of a run that changes charts."""

    def __init__(self, dyn: Dynamics, charts: Charts, inputs: Any, parameters: Any, events: Sequence[Event]) -> None:
        """Take Dynamics with inputs, parameters and events, as ``simulate`` does.

        Raises:
            ModelError: no joint can change charts, or an expression refers to coordinates of a joint that does.
        """
        if not isinstance(charts, Charts):
            raise ModelError(f"charts is {shown(charts)}; give kane.Charts()")
        equations, layout = dyn.equations, Layout.of(dyn.equations)
        mode_source = charts.mode_source(equations)
        refuse_references(equations, mode_source, plan_inputs(inputs, layout.inputs, layout.input_defaults), events)
        self.atlas, self._posed = Atlas(dyn, mode_source, charts.within), (inputs, parameters, events)
        self._problems: dict[int, InitialValueProblem] = {}
        # Last state in declared coordinates, and whether a chart has changed; both again for the sampled laws.
        self._last, self._changed = np.zeros(0), False
        # Values of ``_last`` and ``_changed`` before the last call of ``declared``, and its arguments.
        self._before: tuple[Vector, bool, list[Array]] = self._last, self._changed, []
        self._seen, self._left = np.zeros(0), False
        self._laws: dict[int, list[tuple[ArrayFunction, Vector] | None]] = {}

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {"charts_within": self.atlas.within}

    def problem(self, key: int) -> InitialValueProblem:
        if key not in self._problems:
            posed = self.posed(key)
            guards, change = self.programs(posed.dyn, key)
            self._problems[key] = replace(
                posed, guards=posed.dyn.compile(guards), transition=posed.dyn.compile(change), mode_source=self
            )
        return self._problems[key]

    def posed(self, key: int) -> InitialValueProblem:
        """Return the initial value problem in the charts of a key, without guards and transitions."""
        posed = InitialValueProblem.of(self.atlas.dynamics(key), *self._posed)
        functions = [law.function for law in posed.laws]
        self._laws[key] = [(f, f.stage(posed.parameters)) if f else None for f in functions]
        return replace(posed, laws=tuple(replace(law, function=None) for law in posed.laws), key=key)

    def start(self, problem: InitialValueProblem, t: float, q: Any, u: Any) -> tuple[InitialValueProblem, Vector]:
        mode_source, x = problem.mode_source, problem.named_state(t, q, u)
        key, self._last, self._seen = self.atlas.regular(x), x, x
        problem, x = mode_source.problem(key), self.atlas.carried(x, key)
        problem.layout.require_regular(x)
        return problem, x

    def seen(self, key: int, x: Vector) -> Vector:
        """See ``ModeSource``; angles continue from the previous call."""
        self._left = self._left or key != 0
        self._seen = self.atlas.declared(x[None], key, self._seen)[0] if self._left else x
        return self._seen.copy()

    def answer(self, law: int, key: int, state: Vector, inputs: Vector) -> Vector:
        coded = self._laws[key][law]
        assert coded is not None
        function, stage = coded
        return function(state, inputs, stage)

    def declared(self, integration: IntegratorState, states: Array, found: Array) -> tuple[Array, Array, Vector]:
        """See ``ModeSource``; angles continue from the state before. States before the first change do not change."""
        stretches = integration.stretches()
        courses = [np.vstack([states[s.rows], found[s.found]]) for s in stretches]
        self._before = self._last, self._changed, courses
        converted, self._last = self._converted(integration, courses)
        self._changed = self._changed or any(s.key != 0 for s in stretches)
        states, found = states.copy(), found.copy()
        for stretch, course in zip(stretches, converted, strict=True):
            n = len(states[stretch.rows])
            states[stretch.rows], found[stretch.found] = course[:n], course[n:]
        return states, found, self._last

    def beside(self, integration: IntegratorState, states: Sequence[Array]) -> list[Array]:
        """Convert further states [t, q, u] of each stretch like the states of the last call of ``declared``."""
        known = self._before[2]
        converted, _ = self._converted(integration, [np.vstack(both) for both in zip(known, states, strict=True)])
        return [course[len(before) :] for before, course in zip(known, converted, strict=True)]

    def _converted(self, integration: IntegratorState, courses: Sequence[Array]) -> tuple[list[Array], Vector]:
        """Convert states [t, q, u] of each stretch of a run, in any order, to declared coordinates.

        The last state of the run is returned as well.
        """
        converted, (last, changed, _) = [], self._before
        for stretch, given in zip(integration.stretches(), courses, strict=True):
            course = np.vstack([stretch.begin, given, stretch.end])
            order = np.argsort(course[:, 0] * integration.way, kind="stable")
            changed = changed or stretch.key != 0
            if changed:
                course[order, 1:] = self.atlas.declared(course[order, 1:], stretch.key, last)
            converted.append(course[1:-1])
            last = course[-1, 1:]
        return converted, last

    def told(self, integration: IntegratorState, record: Record) -> Record:
        names, found = record.events
        states, at_events, _ = self.declared(integration, record.states, found[:, 1:])
        self._last, self._changed, _ = self._before  # a run that fails is recorded again, with fewer records
        return replace(
            record,
            layout=Layout.of(self.atlas.dynamics(0).equations),
            states=states,
            events=(names, np.column_stack([found[:, :1], at_events])),
            switches=tuple(self._switches(integration)),
        )

    def _switches(self, integration: IntegratorState) -> Iterator[ChartSwitch]:
        before = 0
        for stretch in integration.stretches():
            for place in self.atlas.places:
                if place.is_elsewhere(before) != place.is_elsewhere(stretch.key):
                    title = place.chart(not place.is_elsewhere(stretch.key)).title
                    yield ChartSwitch(float(stretch.begin[0]), place.connection.name, title)
            before = stretch.key

    def programs(self, dyn: Dynamics, key: int) -> tuple[Program, Program]:
        """Return the programs of guards and transition: joints near a singularity change to their other chart."""
        e, atlas = dyn.equations, self.atlas
        x, following, guards = [*e.q, *e.u], [*e.q, *e.u], []
        next_key: Any = e.t.arena.constant(float(key))
        for place in atlas.places:
            elsewhere = place.is_elsewhere(key)
            chart = place.chart(elsewhere)
            guards.append(chart.beyond(x[place.q], atlas.within))
            near = guards[-1] < TOGETHER
            q, u = chart.carry(x[place.q], [] if place.u is None else x[place.u])
            following[place.q] = [select(near, *pair) for pair in zip(q, x[place.q], strict=True)]
            if place.u is not None:
                following[place.u] = [select(near, *pair) for pair in zip(u, x[place.u], strict=True)]
            next_key = next_key + select(near, -place.bit if elsewhere else place.bit, 0.0)
        arrays: dict[str, Any] = {"state": (e.t, *x), "rest": e.inputs, "parameters": e.parameters}
        return Program("guards", guards, **arrays), Program("change", [*following, next_key], **arrays)
