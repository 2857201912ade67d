"""A run in the making: the system, its inputs over time, the course of steps and records, what has been recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.errors import ModelError

if TYPE_CHECKING:
    from kane.codegen.jit.compiled import CompiledFunction
    from kane.codegen.programs.program import Program
    from kane.simulation.python_inputs import PythonInputs

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

# Places in ``Store.clock``: the time of x, the next step to try, the last error over the tolerance, and the step before
# it was cut short to end at a stop.
TIME, NEXT_STEP, LAST_ERROR, UNCUT_STEP = range(4)
# Places in ``Store.counts``.
DONE, ROWS, FOUND, STOP, EVALUATIONS, REJECTED, STARTED, ENDED = range(8)

# An interpolated step is probed for events at this many equal parts.
PROBES = 4


# Places in ``Settling.notes``: the largest residuals of configuration and motion as they were found, before the
# correction, the conditioning of the independent speeds, and how often these were chosen anew.
CONFIGURATION, MOTION, CONDITIONING, SWITCHES = range(4)


class Settling(NamedTuple):
    """What puts a state onto the constraints, as a native program with its arrays.

    Attributes:
        address: of the program with state [t, q, u], rest = inputs and out = [q, u, residual of the configuration,
            residual of the motion, conditioning]; zero where there are no constraints.
        stage: values that depend on parameters, and the choice of independent speeds where it is kept there.
        out, work: its arrays.
        choice: the part of the stage that changes when independent speeds are chosen anew.
        kept: ``choice`` as it was.
        notes: see CONFIGURATION, MOTION, CONDITIONING, SWITCHES; empty where there are no constraints.
    """

    address: int
    stage: Vector
    out: Vector
    work: Vector
    choice: Indices
    kept: Indices
    notes: Vector


class System(NamedTuple):
    """x' = f(t, x, inputs), x = [q, u], as a compiled program with its arrays.

    Attributes:
        address: of the program with state [t, q, u], rest = inputs and out = x' (nq + n).
        state: scratch for [t, x], length 1 + nx.
        inputs: values of the inputs; those without a table stay as they are.
        stage: values that depend on parameters only.
        work: scratch of the program.
        quaternions: where in q each unit quaternion starts.
        settling: what puts the end of each step onto the constraints; its choice of speeds is the one in force.
        aside: the same for states looked at within a step, with a choice of its own, so that looking changes nothing.
    """

    address: int
    state: Vector
    inputs: Vector
    stage: Vector
    work: Vector
    quaternions: Indices
    settling: Settling
    aside: Settling


class Tables(NamedTuple):
    """Sampled inputs, one after the other: table i has the samples first[i] <= k < last[i].

    Attributes:
        column: the input that table i drives.
        first, last: its samples in ``times`` and ``values``.
        cursor: the sample in force at the previous look-up, from which the next one starts.
        times, values: the samples of all tables [s, N m or N].
    """

    column: Indices
    first: Indices
    last: Indices
    cursor: Indices
    times: Vector
    values: Vector


class Course(NamedTuple):
    """Where a run goes from, to and through.

    Fixed steps lie at t_k = start + k step, the last one ending at ``until``. Times are products and not sums, so that
    they do not drift and do not depend on where a run was cut in chunks.

    Attributes:
        start, until: first and last time [s].
        step: length of fixed steps [s], negative when time runs backwards; zero where the integrator chooses.
        steps: how many fixed steps.
        every: every how many steps the state is recorded (the last state always is); zero: at ``times``.
        times: of the records, the first one included, in the order of the run [s].
        stops: times at which steps have to end, because an input is not smooth there; the last is ``until`` [s].
    """

    start: float
    until: float
    step: float
    steps: int
    every: int
    times: Vector
    stops: Vector


class Watch(NamedTuple):
    """Expressions whose sign changes are looked for, as a compiled program with its arrays; one entry an event.

    Attributes:
        address: of the program with state [t, q, u], rest = inputs, out = the expressions.
        stage, out, work: its arrays.
        signs: the last sign of each that was not zero; zero before there was one.
        directions: 1 for changes to positive only, -1 to negative only, 0 for both.
        terminal: 1 where the run ends.
        roots: scratch, where in a step each one changes sign.
    """

    address: int
    stage: Vector
    out: Vector
    work: Vector
    signs: Vector
    directions: Vector
    terminal: Vector
    roots: Vector


class Store(NamedTuple):
    """What moves in a run, and all that survives from one chunk of steps to the next.

    Attributes:
        x: the state [q, u].
        y, z: scratch of its length.
        slopes: derivatives at the stages of a step, (stages, nx); the first is that at x, once ``counts[STARTED]``.
        clock: time and step sizes, see TIME, NEXT_STEP, LAST_ERROR, UNCUT_STEP.
        counts: see DONE, ROWS, FOUND, STOP, EVALUATIONS, REJECTED, STARTED, ENDED.
        rows: recorded states [t, q, u], with the notes of settling behind them where there are constraints.
        found: events [number of the event, t, q, u].
    """

    x: Vector
    y: Vector
    z: Vector
    slopes: NDArray[np.float64]
    clock: Vector
    counts: Indices
    rows: NDArray[np.float64]
    found: NDArray[np.float64]


class Status(IntEnum):
    """How a chunk of steps ended; native loops return the number, but for the last, which only ``Problem`` sees."""

    GOING = 0
    NOT_FINITE = 1
    STUCK = 2
    STALLED = 3


NO_NOTES: Vector = np.zeros(0)


@dataclass(slots=True)
class March:
    """The state of a run, advanced chunk by chunk.

    Attributes:
        system: what is integrated.
        tables: the sampled inputs, held and interpolated.
        course: over which steps, and what is recorded.
        watch: events.
        store: what moves.
        rhs: the program of the system, and ``compile``, which makes others of its leaves.
        parameters: values.
        slow: what calls the inputs that are Python functions.
        memory: what an integrator keeps from chunk to chunk that is no array.
    """

    system: System
    tables: tuple[Tables, Tables]
    course: Course
    watch: Watch
    store: Store
    rhs: CompiledFunction
    compile: Callable[[Program], CompiledFunction]
    parameters: Vector
    slow: PythonInputs | None = None
    memory: Any = None

    @property
    def x(self) -> Vector:
        """The state [q, u] at ``time``."""
        return self.store.x

    @property
    def time(self) -> float:
        """The time of x [s]."""
        return float(self.store.clock[TIME])

    @property
    def finished(self) -> bool:
        """Whether ``until`` or a terminal event has been reached."""
        return bool(self.store.counts[ENDED]) or self.time == self.course.until

    @property
    def fraction(self) -> float:
        """How much of the way to ``until`` is done."""
        span = self.course.until - self.course.start
        return 1.0 if self.finished else (self.time - self.course.start) / span

    def make_room(self, steps: int, stages: int) -> None:
        """Enlarge the arrays where ``steps`` more steps of so many stages might not fit."""
        store, counts = self.store, self.store.counts
        wanted = counts[ROWS] + (steps // self.course.every + 2 if self.course.every else 0)
        if len(store.rows) < wanted:
            store = store._replace(rows=_enlarged(store.rows, max(2 * len(store.rows), wanted)))
        wanted = counts[FOUND] + PROBES * len(self.watch.out) * steps
        if len(store.found) < wanted and len(self.watch.out):
            store = store._replace(found=_enlarged(store.found, max(2 * len(store.found), wanted)))
        if len(store.slopes) < stages:
            store = store._replace(slopes=np.zeros((stages, len(store.x))))
        self.store = store

    def states(self) -> NDArray[np.float64]:
        """The recorded states [t, q, u], (recorded, 1 + nx)."""
        return self.store.rows[: self.store.counts[ROWS], : 1 + len(self.x)].copy()

    def notes(self) -> NDArray[np.float64]:
        """The notes of settling at the recorded states, (recorded, 4), or (recorded, 0) without constraints."""
        return self.store.rows[: self.store.counts[ROWS], 1 + len(self.x) :].copy()

    def occurrences(self) -> NDArray[np.float64]:
        """The events found [number, t, q, u], in the order of the run."""
        found = self.store.found[: self.store.counts[FOUND]]
        order = np.argsort(found[:, 1] * math.copysign(1.0, self.course.until - self.course.start), kind="stable")
        return found[order]


def new_store(start: float, x: Vector, rows: int, notes: Vector = NO_NOTES) -> Store:
    """The store of a run that starts from x, with room for so many records, the first one made."""
    n = len(x)
    clock, counts = np.zeros(4), np.zeros(8, dtype=np.int64)
    clock[TIME], counts[ROWS] = start, 1
    record = _enlarged(np.concatenate([[start], x, notes])[None, :], rows)
    return Store(x.copy(), np.zeros(n), np.zeros(n), np.zeros((0, n)), clock, counts, record, np.empty((0, 2 + n)))


def _enlarged(rows: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    try:
        larger = np.empty((length, rows.shape[1]))
    except (MemoryError, ValueError):
        raise ModelError(f"{length} states do not fit in memory; enlarge every, or leave it out") from None
    larger[: len(rows)] = rows
    return larger
