"""Integrator state of a run: system, input tables, course of steps and records, and results."""

from __future__ import annotations

import math
from dataclasses import field
from enum import Enum, IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.engine.memory import run_codes as codes
from kane.engine.memory.loop_arguments import (
    AT_ONCE,
    NO_NOTES,
    PROBES,
    Course,
    Sampling,
    StateEquation,
    Store,
    Tables,
    Vector,
    Watch,
)
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of
from kane.engine.memory.views import (
    ModePrograms,
    RunClock,
    RunCounts,
    guard_history_size,
    run_clock_size,
    run_counts_size,
    transition_note_at,
    transition_note_size,
)
from kane.engine.step.state_equation import write_record
from kane.errors import ModelError

if TYPE_CHECKING:
    from kane.simulation.initial_value_problem import InitialValueProblem
    from kane.simulation.inputs.python_inputs import PythonInputs
    from kane.simulation.inputs.sampler import Sampler


class Status(IntEnum):
    """Result of a chunk of steps, as native loops return it; only ``monitored_advance`` returns STALLED."""

    GOING = codes.GOING
    NOT_FINITE = codes.NOT_FINITE
    STUCK = codes.STUCK
    STALLED = codes.STALLED
    UNKNOWN_MODE = codes.UNKNOWN_MODE
    REFUSED = codes.REFUSED
    NO_GUARD = codes.NO_GUARD
    ENDLESS = codes.ENDLESS


class Outcome(Enum):
    """Result of a run."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    NOT_FINITE = "not finite"
    STUCK = "stuck"
    STALLED = "stalled"
    REFUSED = "refused"
    NO_GUARD = "no guard"
    ENDLESS = "endless"


class StoredTransitions(NamedTuple):
    """Transitions of a run as native loops store them, one row each; the arrays are views of ``Store.transitions``.

    Attributes:
        time: (transitions,) [s].
        rows, found: numbers of records and of located events before each transition.
        key_before, key_after: keys of the modes.
        before, after: states x = [q, u] in the coordinates of each mode, (transitions, nx).
        notes: outputs of the program "transition" after its status, (transitions, notes).
    """

    time: Vector
    rows: Vector
    found: Vector
    key_before: Vector
    key_after: Vector
    before: Array
    after: Array
    notes: Array

    @classmethod
    def of(cls, changes: Array, nx: int) -> StoredTransitions:
        """Return the columns of rows of ``Store.transitions``; nx is the length of a state."""
        of = transition_note_at(changes, 0, nx)
        time, rows, events = of.time[:, 0], of.rows[:, 0], of.events[:, 0]
        return cls(time, rows, events, of.key_before[:, 0], of.key_after[:, 0], of.before, of.after, of.notes)


class Stretch(NamedTuple):
    """Interval of a run in one mode: key, slices of records and events, and the states [t, q, u] at both ends."""

    key: int
    rows: slice
    found: slice
    begin: Vector
    end: Vector


@dataclass(slots=True)
class IntegratorState:
    """Integrator state of a run, advanced in chunks of steps.

    Attributes:
        system: equations that are integrated.
        tables: input samples, with zero-order hold and interpolated, and the sampled laws that fill some of them.
        course: steps and times of records.
        watch: events.
        store: arrays that change during the run.
        problems: initial value problem of each mode that the run entered, by key.
        slow: evaluates inputs that are Python functions, which slows the run.
        sampler: plans the ticks of sampled laws.
        memory: other data that an integrator keeps between chunks.
        near: warning that fixed steps passed near a singularity; may be empty.
        drifts: whether the method keeps constraints only up to its error, so that records may violate them.
        clock, counts: views of the clock and the counters of the store.
        mode: view of the active mode of the system.
    """

    system: StateEquation
    tables: tuple[Tables, Tables, Sampling]
    course: Course
    watch: Watch
    store: Store
    problems: dict[int, InitialValueProblem]
    slow: PythonInputs | None = None
    sampler: Sampler | None = None
    memory: Any = None
    near: str = ""
    drifts: bool = False
    clock: RunClock = field(init=False)
    counts: RunCounts = field(init=False)
    mode: ModePrograms = field(init=False)

    def __post_init__(self) -> None:
        self.clock, self.counts, self.mode = clock_of(self.store), counts_of(self.store), mode_of(self.system)

    @property
    def step_arguments(self) -> tuple[StateEquation, tuple[Tables, Tables, Sampling], Course, Watch, Store]:
        """First arguments of the native loops of steps."""
        return self.system, self.tables, self.course, self.watch, self.store

    @property
    def x(self) -> Vector:
        """The state [q, u] at ``time``."""
        return self.store.x

    @property
    def time(self) -> float:
        """Time of x [s]."""
        return float(self.clock.time[0])

    @property
    def problem(self) -> InitialValueProblem:
        """Initial value problem of the active mode."""
        return self.problems[int(self.mode.key[0])]

    @property
    def finished(self) -> bool:
        """Whether ``until`` or a terminal event has been reached."""
        return bool(self.counts.ended[0]) or self.time == self.course.until

    @property
    def tried(self) -> int:
        """Number of accepted and rejected steps."""
        return int(self.counts.steps[0] + self.counts.rejected[0])

    @property
    def fraction(self) -> float:
        """Completed fraction of the run."""
        span = self.course.until - self.course.start
        return 1.0 if self.finished else (self.time - self.course.start) / span

    def go(self, course: Course) -> None:
        """Start a new course, including the ticks of sampled laws."""
        if self.sampler is not None:
            course = self.sampler.plan(course)
            self.tables = self.sampler.tables, self.tables[1], self.sampler.native
        self.course = course

    def steps_within_plan(self, steps: int) -> int:
        """Return the number of steps to take: ``steps``, or fewer that pass no tick of sampled laws beyond the plan.

        If no tick is left in the plan, further ticks are planned first.
        """
        if self.sampler is None or self.sampler.complete:
            return steps
        ahead = self.sampler.steps_within_plan(self.time)
        if not ahead:
            self.course = self.sampler.plan_further()
            self.tables = self.sampler.tables, self.tables[1], self.sampler.native
            return self.steps_within_plan(steps)
        return min(steps, ahead)

    def make_room(self, steps: int, stages: int) -> None:
        """Enlarge the arrays if ``steps`` more steps with this many stages might not fit."""
        store, counts = self.store, self.counts
        wanted = counts.rows[0] + (steps // self.course.every + 2 if self.course.every else 0)
        if len(store.rows) < wanted:
            store = store._replace(rows=_enlarged(store.rows, max(2 * len(store.rows), wanted)))
        wanted = counts.events[0] + PROBES * len(self.watch.out) * steps
        if len(store.found) < wanted and len(self.watch.out):
            store = store._replace(found=_enlarged(store.found, max(2 * len(store.found), wanted)))
        wanted = counts.transitions[0] + 2 * AT_ONCE
        if len(store.transitions) < wanted and len(self.system.automaton.guards.out):
            store = store._replace(transitions=_enlarged(store.transitions, 2 * wanted))
        if len(store.slopes) < stages:
            store = store._replace(slopes=np.zeros((stages, len(store.x))))
        self.store = store

    def record_now(self) -> None:
        """Record the current state unless it is recorded already."""
        if self.store.rows[self.counts.rows[0] - 1, 0] != self.time:
            write_record(self.store, self.time, self.x, self.system.projection.notes)

    @property
    def way(self) -> float:
        """1 if time runs forwards, -1 if it runs backwards."""
        return math.copysign(1.0, self.course.until - self.course.start)

    @property
    def transitions(self) -> StoredTransitions:
        """All transitions since the first record."""
        return StoredTransitions.of(self.store.transitions[: self.counts.transitions[0]], len(self.x))

    def stretches(self) -> list[Stretch]:
        """Return the intervals between changes of the mode's key, since the first record."""
        counts, begin, end = self.counts, self.store.rows[0, : 1 + len(self.x)], np.array([self.time, *self.x])
        if counts.transitions[0] == 0:
            whole = slice(0, int(counts.rows[0])), slice(0, int(counts.events[0]))
            return [Stretch(int(self.mode.key[0]), *whole, begin, end)]
        of = self.transitions
        of = StoredTransitions(*(column[of.key_before != of.key_after] for column in of))
        begins = [begin, *np.column_stack([of.time, of.after])]
        ends = [*np.column_stack([of.time, of.before]), end]
        keys = [*of.key_before.astype(int).tolist(), int(self.mode.key[0])]
        rows, found = (
            [slice(*pair) for pair in pairwise([0, *passed.astype(int).tolist(), total[0]])]
            for passed, total in ((of.rows, counts.rows), (of.found, counts.events))
        )
        return [Stretch(*parts) for parts in zip(keys, rows, found, begins, ends, strict=True)]

    def states(self) -> Array:
        """Return the recorded states [t, q, u], (recorded, 1 + nx)."""
        return self.store.rows[: self.counts.rows[0], : 1 + len(self.x)].copy()

    def notes(self) -> Array:
        """Return the projection diagnostics at recorded states, (recorded, 4), or (recorded, 0) without constraints."""
        return self.store.rows[: self.counts.rows[0], 1 + len(self.x) :].copy()

    def located_events(self) -> Array:
        """Return the located events as rows [index of the event, t, q, u], in the order of the run."""
        found = self.store.found[: self.counts.events[0]]
        return found[np.argsort(found[:, 1] * self.way, kind="stable")]


def new_store(
    start: float, x: Vector, rows: int, notes: Vector = NO_NOTES, of_changes: int = 0, *, guards: int = 0, kept: int = 0
) -> Store:
    """Allocate the store of a run that starts from x, with the first record, but with zero clock and counters.

    Args:
        start, x: first time and state.
        rows: number of records.
        notes: projection diagnostics, stored after each record.
        of_changes: number of diagnostics of each transition.
        guards: number of guards.
        kept: number of doubles, besides x, saved at the start of each step; see ``kane.engine.memory``.
    """
    n = len(x)
    history = guard_history_size(guards) + kept
    clock, counts = np.zeros(run_clock_size() + history), np.zeros(run_counts_size(), dtype=np.int64)
    record = _enlarged(np.concatenate([[start], x, notes])[None, :], rows)
    found, changes = np.empty((0, 2 + n)), np.empty((0, transition_note_size(n) + of_changes))
    return Store(x.copy(), np.zeros(n), np.zeros(n), np.zeros((0, n)), clock, counts, record, found, changes)


def _enlarged(rows: Array, length: int) -> Array:
    try:
        larger = np.empty((length, rows.shape[1]))
    except (MemoryError, ValueError):
        raise ModelError(f"{length} states do not fit in memory; enlarge every, or leave it out") from None
    larger[: len(rows)] = rows
    return larger
