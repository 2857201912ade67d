"""Time span, steps, stops and times of records of a run, from the user's arguments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.deferred import NamedTuple
from kane.engine.memory.loop_arguments import Course, Vector
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, numbers, whole

if TYPE_CHECKING:
    from kane.simulation.schedule.step_ends import Stops

# By default about this many states are recorded with fixed steps: enough for a plot, and small to store.
USUAL_ROWS = 10_000
# With step-size control the default records are interpolated at the ends of this many equal parts of the span.
USUAL_PARTS = 1_000
NEVER: Vector = np.zeros(0)


class Span(NamedTuple):
    """Time span of a run and its records.

    Attributes:
        start, until: first and last time [s].
        every: record every n-th step; None if records are at ``times`` or the defaults apply.
        times: times of records; None for the default times, or if ``every`` is given.
    """

    start: float
    until: float
    every: int | None
    times: Vector | None

    @classmethod
    def of(cls, start: Any, until: Any, every: Any, times: Any) -> Span:
        """Check the user's arguments.

        Raises:
            ModelError: a time is not a finite number, ``every`` is not a positive integer, or both times and every are
                given.
        """
        if times is not None and every is not None:
            raise ModelError("times and every both say when to record; leave one of them out")
        start, until = number(start, "start", "seconds"), number(until, "until", "seconds")
        number(until - start, "the span from start to until", "seconds")
        return cls(start, until, None if every is None else whole(every, "every", 1), record_times(times, start, until))


def fixed_course(
    start: float, until: float, dt: float, every: int | None, times: Vector | None, *, stops: Stops | None = None
) -> Course:
    """Return a course from start to until with steps of dt.

    The last step may be shorter, and so may steps that contain bends of expressions of time (``Stops.within_steps``).

    Raises:
        ModelError: dt is not positive or too small.
    """
    dt = step_length(dt, max(abs(start), abs(until)))
    # If the span is a whole number of steps up to rounding, no tiny step is added at its end.
    steps = math.ceil(abs(until - start) / dt * (1.0 - 1e-12))
    if every is None and times is None:
        every = max(1, -(-steps // USUAL_ROWS))
    within = select_stops(start, until, stops.within_steps(start, until, dt) if stops else NEVER)
    step = math.copysign(dt, until - start)
    return Course(start, until, step, steps, every or 0, _records(times), within)


def grid_course(start: float, dt: float, k: int, bends: Vector = NEVER) -> Course:
    """Return the course of only the k-th step of length dt, counted from ``start``; it records only its end."""
    until = start + k * dt
    return Course(start, until, dt, k + 1, 0, NEVER, select_stops(until - dt, until, bends))


def course_between(start: float, until: float, stops: Vector = NEVER) -> Course:
    """Return a course from start to until with step-size control; it records only its end."""
    return free_course(start, until, None, NEVER, stops)


def step_length(dt: Any, latest: float) -> float:
    """Return dt as a positive number that is not lost in the rounding of times near ``latest``.

    Raises:
        ModelError: dt is not positive, or too small.
    """
    dt = number(dt, "dt", "seconds")
    if not dt > 0.0:
        raise ModelError(f"dt is {shown(dt)}; give a positive step (time runs backwards if until is before start)")
    if abs(latest) + dt / 2 == abs(latest):
        raise ModelError(f"dt = {shown(dt)} s is lost in the rounding of times near {shown(latest)} s; enlarge dt")
    return dt


def free_course(start: float, until: float, every: int | None, times: Vector | None, stops: Vector = NEVER) -> Course:
    """Return a course from start to until with step-size control, whose steps end at every stop."""
    if every is None and times is None:
        times = np.linspace(start, until, USUAL_PARTS + 1 if until != start else 1)
    return Course(start, until, 0.0, 0, every or 0, _records(times), select_stops(start, until, stops))


def select_stops(start: float, until: float, times: Vector) -> Vector:
    """Return the increasing ``times`` strictly inside the span, in the order of the run, followed by the end."""
    found = times[(times > min(start, until)) & (times < max(start, until))]
    return np.append(found if until >= start else found[::-1], float(until))


def record_times(times: Any, start: float, until: float) -> Vector | None:
    """Return the times of records requested by the user, with start and until; None if none were requested.

    Raises:
        ModelError: times are not numbers, not in the order of the run, or outside the span.
    """
    if times is None:
        return None
    wanted = np.array(numbers(times, "times must be numbers"))
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise ModelError(f"times must be a one-dimensional array of finite numbers; got shape {wanted.shape}")
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
