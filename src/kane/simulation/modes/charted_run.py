"""A run from chart to chart, one leg after the other, put together as one record in the declared coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.native.arrays import ENDED, Course, Vector
from kane.simulation.asked.course import Span, free_course
from kane.simulation.asked.events import Event, event_names
from kane.simulation.asked.inputs import plan_inputs
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.layout import Layout
from kane.simulation.march import March, Status
from kane.simulation.modes.atlas import Atlas, Combination
from kane.simulation.modes.charts import Charts, refuse_references
from kane.simulation.problem import Problem
from kane.simulation.recorded.record import ChartSwitch, Record
from kane.simulation.run import Advance, Outcome, run_march

# So many steps of a leg at most are integrated again, to end where charts are switched.
AT_ONCE = 32


@dataclass
class ChartedRun:
    """A run that changes charts.

    Attributes:
        atlas: the system in every combination of charts.
        pose: from Dynamics and events to a problem.
        method: the integrator.
        events: the user's.
        span: of the run.
        records: of the legs so far, in declared coordinates.
        switches: when which joint went where.
        last: the last state so far, in declared coordinates.
        before: time and state where the last few steps began, in the charts in force.
    """

    atlas: Atlas
    pose: Callable[[Dynamics, Sequence[Event]], Problem]
    method: Integrator
    events: Sequence[Event]
    span: Span
    records: list[Record] = field(default_factory=list)
    switches: list[ChartSwitch] = field(default_factory=list)
    last: Vector = field(default_factory=lambda: np.zeros(0))
    before: tuple[float, Vector] = field(default_factory=lambda: (0.0, np.zeros(0)))

    @classmethod
    def of(
        cls, dyn: Dynamics, charts: Charts, method: Integrator, span: Span, *, posed: tuple[Any, Any, Sequence[Event]]
    ) -> ChartedRun:
        """The run of what is ``posed`` to Dynamics: inputs, parameters and events, as ``simulate`` takes them.

        Raises:
            ModelError: nothing can switch, something refers to what would, or the integrator's steps are fixed.
        """
        if not isinstance(charts, Charts):
            raise ModelError(f"charts is {shown(charts)}; give kane.Charts()")
        if method.fixed:
            raise ModelError(
                f"{method.name} takes fixed steps, which do not end where charts are switched; give an integrator that "
                "chooses its steps, such as kane.RK8(), and leave dt out"
            )
        inputs, parameters, events = posed
        equations, layout = dyn.equations, Layout.of(dyn.equations)
        switching = charts.switching(equations)
        refuse_references(equations, switching, plan_inputs(inputs, layout.inputs, layout.input_defaults), events)

        def pose(other: Dynamics, watched: Sequence[Event]) -> Problem:
            return Problem.of(other, inputs, parameters, watched)

        return cls(Atlas(dyn, switching, charts.within), pose, method, events, span)

    @property
    def attributes(self) -> dict[str, Any]:
        """How charts were switched."""
        return {"charts_within": self.atlas.within}

    def run(self, q: Any, u: Any, progress: Callable[[float], None]) -> tuple[Problem, March, Outcome]:
        """Go from start to until, or to a terminal event.

        Returns:
            The problem and the march of the last leg, and how it ended.

        Raises:
            ModelError, SimulationError: as ``simulate``.
        """
        charts, t = self.atlas.declared, self.span.start
        problems = {charts: self._problem(charts)}
        self.last = x = problems[charts].named_state(t, q, u)
        while True:
            charts, x = self._regular(charts, t, x)
            if charts not in problems:
                problems[charts] = self._problem(charts)
            problem = problems[charts]
            if not self.records:
                problem.layout.require_regular(x)
            march = problem.march(self._course(problem, t), x)
            outcome = run_march(march, self._advance(problem), self._share(progress, t))
            if outcome in (Outcome.FINISHED, Outcome.INTERRUPTED):
                self._keep(charts, problem.record(march))
            if outcome is not Outcome.FINISHED or not self._goes_on(march):
                return problem, march, outcome
            last = self._integrated(problem, march.time)
            outcome = run_march(last, problem.advance(self.method), lambda _: None)
            if outcome is not Outcome.FINISHED:
                return problem, last, outcome
            t, x = last.time, last.x

    def _problem(self, charts: Combination) -> Problem:
        return self.pose(self.atlas.dynamics(charts), [*self.events, *self.atlas.events(charts)])

    @property
    def layout(self) -> Layout:
        """Of the declared coordinates."""
        return Layout.of(self.atlas.dynamics(self.atlas.declared).equations)

    @property
    def record(self) -> Record:
        """All legs together; the last state of each is the first of the next."""
        kept = [self._kept(k) for k in range(len(self.records))]
        columns = ("states", "inputs", "energy", "constraints")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(r, name)[rows] for r, rows in zip(self.records, kept, strict=True)])
            for name in columns
        }
        found = np.concatenate([r.events[1] for r in self.records])
        events = (event_names(self.events), found)
        return Record(
            self.layout, parameters=self.records[0].parameters, events=events, switches=tuple(self.switches), **joined
        )

    def _regular(self, charts: Combination, t: float, x: Vector) -> tuple[Combination, Vector]:
        """The charts in which x can go on, and x in them."""
        wanted = self.atlas.regular(charts, x)
        for place, here, there in zip(self.atlas.places, charts, wanted, strict=True):
            if here != there:
                title = place.chart(False).title if there else place.chart(True).title
                self.switches.append(ChartSwitch(t, place.connection.name, title))
        return wanted, self.atlas.converted(x[None, :], charts, wanted, self.last)[0]

    def _advance(self, problem: Problem) -> Advance:
        """The method's, a few steps at a time; where they began is kept."""
        advance = problem.advance(self.method)

        def short(march: March, steps: int) -> Status:
            self.before = march.time, march.x.copy()
            return advance(march, min(steps, AT_ONCE))

        return short

    def _integrated(self, problem: Problem, until: float) -> March:
        """A march to the end of a leg from shortly before, of which a step ends there.

        Events are found on interpolants, whose errors would add up with the switches.
        """
        t, x = self.before
        course = free_course(t, until, None, np.array([t]), problem.plan.tables())
        return replace(problem, events=(), signals=None).march(course, x)

    def _course(self, problem: Problem, t: float) -> Course:
        span, times = self.span, self._wanted
        if times is not None:
            left = times[(times > t) if span.until >= span.start else (times < t)]
            times = np.concatenate([[t], left])
        return free_course(t, span.until, span.every, times, problem.plan.tables())

    @property
    def _wanted(self) -> Vector | None:
        """The times of the records; None where steps are counted."""
        return free_course(*self.span, ()).times if self.span.every is None else None

    def _share(self, progress: Callable[[float], None], t: float) -> Callable[[float], None]:
        """Progress of a leg as progress of the run."""
        start, whole = self.span.start, (self.span.until - self.span.start) or 1.0
        return lambda part: progress((t + part * (self.span.until - t) - start) / whole)

    def _keep(self, charts: Combination, record: Record) -> None:
        def declared(states: NDArray[np.float64], last: Vector) -> NDArray[np.float64]:
            return self.atlas.converted(states, charts, self.atlas.declared, last)

        states = record.states.copy()
        states[:, 1:] = declared(states[:, 1:], self.last)
        found = record.events[1][record.events[1][:, 0] < len(self.events)].copy()
        for row in found:
            before = states[np.argmin(np.abs(states[:, 0] - row[1])), 1:]
            row[2:] = declared(row[None, 2:], before)[0]
        constraints = record.constraints.copy()
        if constraints.size and self.records:
            constraints[:, -1] += self.records[-1].constraints[-1, -1]
        self.last = states[-1, 1:]
        self.records.append(replace(record, states=states, events=((), found), constraints=constraints))

    def _kept(self, leg: int) -> NDArray[np.bool_]:
        """Which rows of a leg are what the user asked for."""
        t, wanted = self.records[leg].states[:, 0], self._wanted
        kept = np.full(len(t), True) if wanted is None else np.isin(t, wanted)
        kept[-1] = leg == len(self.records) - 1
        return kept

    def _goes_on(self, march: March) -> bool:
        """Whether the leg ended because a joint came near a singularity, and nothing else ends the run there."""
        if not march.store.counts[ENDED] or march.time == self.span.until:
            return False
        found = march.occurrences()
        ending = [int(number) for number in found[found[:, 1] == march.time, 0]]
        users = len(self.events)
        over = any(number < users and self.events[number].terminal for number in ending)
        return not over and any(number >= users for number in ending)
