"""A run in the making: the system, its inputs over time, the grid of steps, the rows recorded so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.errors import ModelError

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]

# Unless told otherwise about this many states are kept: plenty for a picture, little to store.
USUAL_ROWS = 10_000


class System(NamedTuple):
    """x' = f(t, x, inputs), x = [q, u], as a compiled program with its arrays.

    Attributes:
        address: of the program with state [t, q, u], rest = inputs and out = x' (nq + n).
        state: scratch for [t, x], length 1 + nx.
        inputs: values of the inputs; those without a table stay as they are.
        stage: values that depend on parameters only.
        work: scratch of the program.
        quaternions: where in q each unit quaternion starts.
    """

    address: int
    state: Vector
    inputs: Vector
    stage: Vector
    work: Vector
    quaternions: Indices


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


class Grid(NamedTuple):
    """The steps of a fixed-step run: t_k = start + k step, the last one ending at ``until``.

    Times are products and not sums, so that they do not drift and do not depend on where a run was cut in chunks.

    Attributes:
        start, until: first and last time [s].
        step: step size [s], negative when time runs backwards.
        steps: how many.
        every: every how many of them the state is recorded; the last state always is.
    """

    start: float
    step: float
    until: float
    steps: int
    every: int

    @property
    def row_times(self) -> Vector:
        """Time of every recorded state [s]."""
        times = self.start + self.step * self.every * np.arange(self.rows, dtype=float)
        times[-1] = self.until
        return times

    @property
    def rows(self) -> int:
        """How many states are recorded, the first included."""
        return -(-self.steps // self.every) + 1

    def rows_at(self, step: int) -> int:
        """How many states are recorded once ``step`` steps are done."""
        return self.rows if step == self.steps else step // self.every + 1

    def time(self, k: int) -> float:
        """The time after k steps [s]."""
        return self.until if k == self.steps else self.start + k * self.step

    def interval(self, k: int) -> tuple[float, float]:
        """Start and length of step k [s]."""
        t = self.start + k * self.step
        return t, self.step if k + 1 < self.steps else self.until - t


def fixed_grid(start: float, until: float, dt: float, every: int | None) -> Grid:
    """The grid from start to until with steps of dt, of which the last may be shorter.

    Raises:
        ModelError: a time is not finite, dt is not positive or too small, every is not a positive whole number.
    """
    for word, value in (("start", start), ("until", until), ("dt", dt)):
        if not math.isfinite(value):
            raise ModelError(f"{word} is {value!r}; give a finite number of seconds")
    if not dt > 0.0:
        raise ModelError(f"dt is {dt!r}; give a positive step (time runs backwards where until lies before start)")
    latest = max(abs(start), abs(until))
    if latest + dt / 2 == latest:
        raise ModelError(f"dt = {dt!r} s is lost in the rounding of times near {latest!r} s; enlarge dt")
    # A span of a whole number of steps, up to rounding, has no tiny step at its end.
    steps = math.ceil(abs(until - start) / dt * (1.0 - 1e-12))
    if every is None:
        every = max(1, -(-steps // USUAL_ROWS))
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise ModelError(f"every is {every!r}; give a whole number of steps, 1 or more")
    return Grid(float(start), math.copysign(dt, until - start), float(until), steps, int(every))


@dataclass(slots=True)
class March:
    """The state of a run, advanced chunk by chunk.

    Attributes:
        system, grid: what is integrated, and over which steps.
        tables: the sampled inputs, held and interpolated.
        x: the state [q, u] after ``done`` steps.
        rows: the recorded states, (rows, nx).
        done: how many steps have been taken.
    """

    system: System
    tables: tuple[Tables, Tables]
    grid: Grid
    x: Vector
    rows: NDArray[np.float64]
    done: int = 0

    @property
    def finished(self) -> bool:
        """Whether ``until`` has been reached."""
        return self.done == self.grid.steps

    @property
    def time(self) -> float:
        """The time of x [s]."""
        return self.grid.time(self.done)

    @property
    def recorded(self) -> int:
        """How many states have been recorded."""
        return self.grid.rows_at(self.done)

    def states(self) -> NDArray[np.float64]:
        """The recorded states [t, q, u], (recorded, 1 + nx)."""
        n = self.recorded
        return np.column_stack([self.grid.row_times[:n], self.rows[:n]])
