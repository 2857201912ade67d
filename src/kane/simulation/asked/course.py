"""The course of a run from what the user asked for: steps, times of records, stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import number, numbers, whole
from kane.native.arrays import Course, Vector

if TYPE_CHECKING:
    from kane.simulation.asked.stops import Stops

# Unless told otherwise about this many states of fixed steps are kept: plenty for a picture, little to store.
USUAL_ROWS = 10_000
# Where steps are free the records are interpolated, and lie this many equal parts of the span apart.
USUAL_PARTS = 1_000
NEVER: Vector = np.zeros(0)


class Span(NamedTuple):
    """From when to when, and what is recorded.

    Attributes:
        start, until: first and last time [s].
        every: every how many steps; None where at ``times``.
        times: of the records; None for the usual ones, or where steps are counted.
    """

    start: float
    until: float
    every: int | None
    times: Vector | None

    @classmethod
    def of(cls, start: Any, until: Any, every: Any, times: Any) -> Span:
        """What the user asked for.

        Raises:
            ModelError: a time is not a finite number, every is no positive whole number, or times and every are given.
        """
        if times is not None and every is not None:
            raise ModelError("times and every both say when to record; leave one of them out")
        start, until = number(start, "start", "seconds"), number(until, "until", "seconds")
        number(until - start, "the span from start to until", "seconds")
        return cls(start, until, None if every is None else whole(every, "every", 1), record_times(times, start, until))


def fixed_course(
    start: float, until: float, dt: float, every: int | None, times: Vector | None, *, stops: Stops | None = None
) -> Course:
    """From start to until with steps of dt, of which the last may be shorter, and those within which there are bends.

    Raises:
        ModelError: dt is not positive or too small.
    """
    dt = step_length(dt, max(abs(start), abs(until)))
    # A span of a whole number of steps, up to rounding, has no tiny step at its end.
    steps = math.ceil(abs(until - start) / dt * (1.0 - 1e-12))
    if every is None and times is None:
        every = max(1, -(-steps // USUAL_ROWS))
    within = inside(start, until, stops.within_steps(start, until, dt) if stops else NEVER)
    step = math.copysign(dt, until - start)
    return Course(start, until, step, steps, every or 0, _records(times), within)


def grid_course(start: float, dt: float, k: int, bends: Vector = NEVER) -> Course:
    """The k-th step, and no more, of those of dt from start; nothing is recorded but its end."""
    until = start + k * dt
    return Course(start, until, dt, k + 1, 0, NEVER, inside(until - dt, until, bends))


def ahead_course(start: float, until: float, stops: Vector = NEVER) -> Course:
    """From start to until with steps that the integrator chooses; nothing is recorded but the end."""
    return free_course(start, until, None, NEVER, stops)


def step_length(dt: Any, latest: float) -> float:
    """dt as a positive number, which tells times near ``latest`` apart.

    Raises:
        ModelError: it is not.
    """
    dt = number(dt, "dt", "seconds")
    if not dt > 0.0:
        raise ModelError(f"dt is {shown(dt)}; give a positive step (time runs backwards where until lies before start)")
    if abs(latest) + dt / 2 == abs(latest):
        raise ModelError(f"dt = {shown(dt)} s is lost in the rounding of times near {shown(latest)} s; enlarge dt")
    return dt


def free_course(start: float, until: float, every: int | None, times: Vector | None, stops: Vector = NEVER) -> Course:
    """From start to until with steps that the integrator chooses, ending at every stop."""
    if every is None and times is None:
        times = np.linspace(start, until, USUAL_PARTS + 1 if until != start else 1)
    return Course(start, until, 0.0, 0, every or 0, _records(times), inside(start, until, stops))


def inside(start: float, until: float, times: Vector) -> Vector:
    """The increasing times that lie inside, in the order of the run, then the end."""
    found = times[(times > min(start, until)) & (times < max(start, until))]
    return np.append(found if until >= start else found[::-1], float(until))


def record_times(times: Any, start: float, until: float) -> Vector | None:
    """The times at which the user wants records, between start and until; None where nothing was asked.

    Raises:
        ModelError: not numbers, not in the order of the run, outside the span.
    """
    if times is None:
        return None
    wanted = np.array(numbers(times, "times must be numbers"))
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise ModelError(f"times must be one row of finite numbers; got shape {wanted.shape}")
    forward = 1.0 if until >= start else -1.0
    if not (np.diff(wanted) * forward > 0.0).all():
        raise ModelError("times must go from start to until without repeats; sort them")
    if wanted.size and ((wanted[0] - start) * forward < 0.0 or (until - wanted[-1]) * forward < 0.0):
        raise ModelError(f"times must lie between start = {shown(start)} s and until = {shown(until)} s")
    first = [] if wanted.size and wanted[0] == start else [float(start)]
    last = [] if until in (start, *wanted[-1:]) else [float(until)]
    return np.concatenate([first, wanted, last])


def _records(times: Vector | None) -> Vector:
    return NEVER if times is None else times
