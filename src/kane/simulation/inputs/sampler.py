"""Sampled inputs of a run: their ticks, the tables of their held values, and callbacks of Python laws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Course, Indices, Sampling, Tables, Vector
from kane.errors import ModelError, SimulationError
from kane.expression.node import Expr
from kane.machine.memory import free_memory
from kane.simulation.inputs.input_plan import InputPlan

if TYPE_CHECKING:
    from kane.simulation.inputs.sampled import Sampled
    from kane.simulation.mode_source import ModeSource

# Ticks closer to the end of a fixed step than this fraction of the step count as being at its end.
ON_GRID = 1e-6
# Ticks that differ by less than this fraction are equal up to rounding.
TICK_TOLERANCE = 1e-12
# Ticks of one law that are planned first. Later plans double their number, so that the total cost stays linear.
PLANNED_TICKS = 100_000
NONE: Vector = np.zeros(0)


@dataclass(frozen=True)
class SampledLaw:
    """Sampled law with the inputs that it drives.

    Attributes:
        names, columns: names and columns of the inputs.
        sampled: the law as the user gave it.
        function: native code of a law that is an expression. None for Python laws, and for expressions whose code
            depends on the mode: ``ModeSource.answer`` evaluates these.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    sampled: Sampled
    function: ArrayFunction | None = None

    @property
    def who(self) -> str:
        """Words for messages."""
        inputs = ", ".join(map(repr, self.names))
        return f"the sampled law of the input{'s' * (len(self.names) > 1)} {inputs}"


class Answers(NamedTuple):
    """Values of a law in a run.

    Attributes:
        sampled, columns: the law as the user gave it, and the inputs that it drives.
        ticks, begins: times at which it was evaluated, and at which each value takes effect, (ticks,) [s].
        values: the value before the first tick, then those of the ticks, (1 + ticks, columns).
    """

    sampled: Sampled
    columns: tuple[int, ...]
    ticks: Vector
    begins: Vector
    values: Array


@dataclass
class _Log:
    """Answers of one law.

    Attributes:
        times, values: when each answer begins [s], and its values; the active answer first, planned ones last.
        tick: number of the first tick of the plan.
        planned: times of the ticks of the plan [s].
    """

    times: Vector
    values: Array
    tick: int = 0
    planned: Vector = field(default_factory=lambda: NONE)


@dataclass
class Sampler:
    """The sampled inputs of one run. Their ticks are planned window by window, because a run may have 1e8 of them.

    Attributes:
        laws: the sampled laws.
        start: time of the first tick without jitter [s].
        state: numbers of coordinates and speeds.
        initial: values of all inputs before the first tick.
        held: tables of the user's held samples.
        parameters: values.
        mode: row of the active mode in the native loops.
        mode_source: Python part of transitions between modes.
        tables: tables of the user's samples, followed by those of the sampled laws.
        native: ticks and laws for native loops.
        stops: times at which steps have to end [s].
        complete: whether the plan has all ticks of the course.
    """

    laws: Sequence[SampledLaw]
    start: float
    state: tuple[int, int]
    initial: Vector
    held: Tables
    parameters: Vector
    mode: Indices
    mode_source: ModeSource
    tables: Tables = field(init=False)
    native: Sampling = field(init=False)
    stops: Vector = field(init=False)
    complete: bool = field(init=False)

    def __post_init__(self) -> None:
        from kane.simulation.inputs.python_law import PythonLaw

        self._asked = [PythonLaw(i, self) for i, law in enumerate(self.laws) if law.function is None]
        self._logs = [_Log(np.array([-math.inf]), self.initial[list(law.columns)][None, :].copy()) for law in self.laws]

    def plan(self, course: Course) -> Course:
        """Plan the first ticks of a course, ``PLANNED_TICKS`` of each law; return the course with steps that end there.

        Raises:
            ModelError: the run goes backwards, fixed steps do not end at ticks, or the answers exceed the memory.
        """
        if course.until < course.start:
            raise ModelError(
                f"the input {self.laws[0].names[0]!r} is sampled, but the run goes back in time from "
                f"{course.start:.9g} s to {course.until:.9g} s; sampled laws need until after start"
            )
        self._take_back(course.start)
        self._require_memory(course)
        if course.step:
            self._require_on_grid(course)
        self._course = course
        return self._extend(0)

    def plan_further(self) -> Course:
        """Plan as many ticks again as there are, at least PLANNED_TICKS; return the course with their times."""
        self._read_back()
        return self._extend(int(self.native.next[0]))

    def _extend(self, reached: int) -> Course:
        """Plan further, where the first ``reached`` ticks of the plan were answered."""
        course, end = self._course, self._end(self._course)
        starts = [(law.sampled.period, log.tick + len(log.planned)) for law, log in zip(self.laws, self._logs)]
        most = max(PLANNED_TICKS, *(len(log.planned) for log in self._logs))
        horizon = min(end, *(self.start + period * (tick + most) for period, tick in starts))
        self.complete = horizon == end
        for law, log in zip(self.laws, self._logs, strict=True):
            self._plan_law(law.sampled, log, horizon)
        self._unite_times()
        self._lay_out(ON_GRID * course.step, reached)
        times = np.concatenate([log.planned for log in self._logs])
        self._planned = np.unique(times)
        self.stops = np.unique(np.concatenate([times, *(log.times for log in self._logs)]))
        self.stops = self.stops[(self.stops > course.start) & (self.stops < course.until)]
        if course.step:
            return course
        return course._replace(stops=np.unique(np.concatenate([course.stops, self.stops])))

    def steps_within_plan(self, t: float) -> int:
        """Return the largest number of steps from t [s] that surely ends before unplanned ticks: steps end at ticks."""
        return len(self._planned) - int(np.searchsorted(self._planned, t + self.native.slack[0], side="right"))

    def fill(self, given: Array, middle: Vector) -> None:
        """Write the values held in steps with these midpoints into the columns of sampled inputs, (times, inputs)."""
        self._read_back()
        for law, log in zip(self.laws, self._logs, strict=True):
            k = np.searchsorted(log.times, middle, side="right") - 1
            given[:, list(law.columns)] = log.values[k]

    def answers(self) -> list[Answers]:
        """Return the values of each law in a completed run that was planned once."""
        self._read_back()
        ticks = [self.native.times[self.native.law == i] for i in range(len(self.laws))]
        return [
            Answers(law.sampled, law.columns, asked, log.times[1:], log.values)
            for law, log, asked in zip(self.laws, self._logs, ticks, strict=True)
        ]

    def raise_kept(self) -> None:
        """Raise the exception of a Python law; a repeated step evaluates the law again at that tick.

        Raises:
            SimulationError: names the input, the time and the exception; KeyboardInterrupt is raised unchanged.
        """
        failed = next((asked for asked in self._asked if asked.kept), None)
        if failed is None:
            return
        error, t, who = failed.kept[0], failed.time, failed.law.who
        self._take_back_ticks()
        if not isinstance(error, Exception):
            raise error
        message = f"{type(error).__name__}: {error}" if not isinstance(error, ModelError) else str(error)
        raise SimulationError(f"{who} failed at t = {t:.9g} s: {message}") from error

    def _take_back_ticks(self) -> None:
        """Schedule the ticks from the first failure on again, and restore the inputs held before it."""
        native, values = self.native, self.tables.values
        end = int(native.next[0])
        message = values[self.tables.first[native.table[native.law[:end]]] + native.place[:end]]
        failure = native.times[np.isnan(message).argmax()]
        begin = int(np.searchsorted(native.times[:end], failure - 2.0 * native.slack[0]))
        for k in range(begin, end):
            for table in range(native.table[native.law[k]], native.table[native.law[k] + 1]):
                place = self.tables.first[table] + native.place[k]
                values[place : min(place + 2, self.tables.last[table])] = values[place - 1]
        native.next[0] = begin
        for asked in self._asked:
            asked.forget()

    def _read_back(self) -> None:
        """Copy the values that native loops stored in the tables."""
        if not hasattr(self, "native"):
            return
        for i, log in enumerate(self._logs):
            first = self.native.table[i]
            tables = range(first, first + log.values.shape[1])
            for column, table in enumerate(tables):
                a, b = self.tables.first[table], self.tables.last[table]
                log.values[:, column] = self.tables.values[a:b]

    def _take_back(self, now: float) -> None:
        """Discard values that are no longer held at a time, and planned ticks that were not reached."""
        self._read_back()
        for i, log in enumerate(self._logs):
            if not len(log.planned):
                continue
            reached = int((self.native.law[: self.native.next[0]] == i).sum())
            end = len(log.times) - (len(log.planned) - reached)
            begin = max(int(np.searchsorted(log.times[:end], now, side="right")) - 1, 0)
            log.times, log.values = log.times[begin:end], log.values[begin:end]
            log.tick, log.planned = log.tick + reached, NONE

    def _end(self, course: Course) -> float:
        """The time before which all ticks of a course lie [s]."""
        return course.until - ON_GRID * course.step

    def _plan_law(self, sampled: Sampled, log: _Log, horizon: float) -> None:
        """Append the ticks of a law before the horizon [s] to its log, with room for the answers."""
        first = log.tick + len(log.planned)
        last = max(math.ceil((horizon - self.start) / sampled.period) + 1, first)
        ticks = sampled.ticks(self.start, first, last)
        ticks = ticks[ticks < horizon]
        log.planned = np.concatenate([log.planned, ticks])
        log.times = np.concatenate([log.times, ticks + sampled.delay])
        log.values = np.concatenate([log.values, np.repeat(log.values[-1:], len(ticks), axis=0)])

    def _unite_times(self) -> None:
        """Make times equal that differ by rounding alone, such as 3 x 0.05 and 5 x 0.03, in ticks and answers."""
        every = np.unique(np.concatenate([x for log in self._logs for x in (log.planned, log.times)]))
        first = np.concatenate([[True], np.diff(every) > TICK_TOLERANCE * np.maximum(1.0, np.abs(every[1:]))])
        one = every[first][np.cumsum(first) - 1]
        for log in self._logs:
            log.times = one[np.searchsorted(every, log.times)]
            log.planned = one[np.searchsorted(every, log.planned)]

    def _require_memory(self, course: Course) -> None:
        """Raise ModelError if ticks and answers of the whole course, two copies of them, exceed the free memory."""
        span = self._end(course) - self.start
        numbers = sum((2 + 2 * len(law.columns)) * span / law.sampled.period for law in self.laws)
        if 16.0 * numbers > free_memory():
            raise ModelError("the ticks of sampled laws do not fit in memory; enlarge the periods")

    def _require_on_grid(self, course: Course) -> None:
        """Raise ModelError unless fixed steps end at the ticks: the first ``PLANNED_TICKS`` ticks and the last one."""
        end = self._end(course)
        for law, log in zip(self.laws, self._logs, strict=True):
            s = law.sampled
            last = max(math.ceil((end - self.start) / s.period), log.tick)
            first = s.ticks(self.start, log.tick, min(last, log.tick + PLANNED_TICKS))
            ticks = np.concatenate([first, s.ticks(self.start, max(last - 1, log.tick), last)])
            at = np.concatenate([ticks, ticks + s.delay])
            at = at[at < course.until]
            steps = (at - course.start) / course.step
            if not (np.abs(steps - np.round(steps)) < ON_GRID).all():
                late = "".join(f", {word} {x:.9g} s" for word, x in (("delay", s.delay), ("jitter", s.jitter)) if x)
                raise ModelError(
                    f"the input {law.names[0]!r} is sampled with the period {s.period:.9g} s{late}, but fixed steps of "
                    f"{course.step:.9g} s do not end there; give a step that divides these times, or an integrator "
                    "with step-size control"
                )

    def _lay_out(self, slack: float, reached: int) -> None:
        """Write tables and ticks as native loops read them; ``reached`` of the ticks were answered."""
        ticks = [log.planned for log in self._logs]
        count = [len(law.columns) for law in self.laws]
        table = len(self.held.column) + np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        logs = [(log.times, column) for log in self._logs for column in log.values.T]
        self.tables = append_tables(self.held, [c for law in self.laws for c in law.columns], logs)
        times = np.concatenate([NONE, *ticks])
        law = np.repeat(np.arange(len(ticks)), [len(t) for t in ticks])
        # The value of a tick is stored after the values that the log had before.
        places = [len(log.times) - len(t) + np.arange(len(t)) for log, t in zip(self._logs, ticks, strict=True)]
        order = np.argsort(times, kind="stable")
        functions = [law.function for law in self.laws]
        stages = [f.stage(self.parameters) if f else NONE for f in functions]
        python = iter(self._asked)
        self.native = Sampling(
            address=np.array([f.address if f else next(python).address for f in functions], dtype=np.int64),
            constants=np.concatenate([NONE, *stages]),
            first_constant=np.concatenate([[0], np.cumsum([len(s) for s in stages])]).astype(np.int64),
            out=np.zeros(max(count)),
            work=np.zeros(max(f.n_work if f else 0 for f in functions)),
            table=table,
            times=times[order],
            law=law[order].astype(np.int64),
            place=np.concatenate([np.zeros(0, np.int64), *places])[order].astype(np.int64),
            next=np.array([reached], np.int64),
            slack=np.array([slack]),
        )


def compile_laws(
    dyn: Dynamics, plan: InputPlan, input_program: Mapping[Expr, Expr], unknown: Sequence[str]
) -> tuple[SampledLaw, ...]:
    """Return the sampled laws of a plan, expressions compiled; arguments as for ``compile_events``.

    Raises:
        ModelError: an expression belongs to another model, or depends on a quantity that the state does not determine.
    """
    e, made = dyn.equations, []
    for columns, sampled in plan.sampled_laws.items():
        names, function = tuple(plan.names[c] for c in columns), None
        if isinstance(sampled.law, Expr):
            from kane.codegen.programs.program import Program
            from kane.simulation.inputs.known_in_state import known_in_state

            who = f"the sampled law of the input {names[0]!r}"  # an expression drives one input
            outputs = known_in_state(e, {who: sampled.law}, input_program, unknown)
            state = (e.t, *e.q, *e.u)
            function = dyn.compile(Program(who, outputs, state=state, rest=e.inputs, parameters=e.parameters))
        made.append(SampledLaw(names, columns, sampled, function))
    return tuple(made)


def nothing_sampled() -> Sampling:
    """Return the arrays for native loops if no law is sampled."""
    one, none = np.zeros(1, np.int64), np.zeros(0, np.int64)
    return Sampling(none, NONE, one, NONE, NONE, one, NONE, none, none, one.copy(), np.zeros(1))


def append_tables(held: Tables, columns: Sequence[int], logs: Sequence[tuple[Vector, Vector]]) -> Tables:
    """Append tables of some columns, with their times and values, to the user's tables."""
    lengths = np.concatenate([held.last - held.first, [len(times) for times, _ in logs]]).astype(np.int64)
    last = np.cumsum(lengths)
    return Tables(
        np.concatenate([held.column, columns]).astype(np.int64),
        last - lengths,
        last,
        last - lengths,
        np.concatenate([held.times, *(times for times, _ in logs)]),
        np.concatenate([held.values, *(values for _, values in logs)]),
    )
