"""The course of a run from what the user asked for: steps, times of records, stops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kane.errors import ModelError
from kane.simulation.march import Course, Tables, Vector

# Unless told otherwise about this many states of fixed steps are kept: plenty for a picture, little to store.
USUAL_ROWS = 10_000
# Where steps are free the records are interpolated, and lie this many equal parts of the span apart.
USUAL_PARTS = 1_000


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


def fixed_course(start: float, until: float, dt: float, every: int | None, times: Vector | None) -> Course:
    """From start to until with steps of dt, of which the last may be shorter.

    Raises:
        ModelError: a time is not finite, dt is not positive or too small, every is not a positive whole number.
    """
    _check_times(start, until)
    if not math.isfinite(dt):
        raise ModelError(f"dt is {dt!r}; give a finite number of seconds")
    if not dt > 0.0:
        raise ModelError(f"dt is {dt!r}; give a positive step (time runs backwards where until lies before start)")
    latest = max(abs(start), abs(until))
    if latest + dt / 2 == latest:
        raise ModelError(f"dt = {dt!r} s is lost in the rounding of times near {latest!r} s; enlarge dt")
    # A span of a whole number of steps, up to rounding, has no tiny step at its end.
    steps = math.ceil(abs(until - start) / dt * (1.0 - 1e-12))
    if every is None and times is None:
        every = max(1, -(-steps // USUAL_ROWS))
    stops = np.array([until], dtype=float)
    step = math.copysign(dt, until - start)
    return Course(float(start), float(until), step, steps, _every(every), _records(times), stops)


def free_course(
    start: float, until: float, every: int | None, times: Vector | None, tables: Sequence[Tables]
) -> Course:
    """From start to until with steps that the integrator chooses, ending at every sample of an input.

    Raises:
        ModelError: a time is not finite, every is not a positive whole number.
    """
    _check_times(start, until)
    if every is None and times is None:
        times = np.linspace(start, until, USUAL_PARTS + 1 if until != start else 1)
    samples = np.unique(np.concatenate([np.zeros(0), *(table.times for table in tables)]))
    inside = samples[(samples > min(start, until)) & (samples < max(start, until))]
    stops = np.append(inside if until >= start else inside[::-1], float(until))
    return Course(float(start), float(until), 0.0, 0, _every(every), _records(times), stops)


def record_times(times: Any, start: float, until: float) -> Vector | None:
    """The times at which the user wants records, between start and until; None where nothing was asked.

    Raises:
        ModelError: not numbers, not in the order of the run, outside the span.
    """
    if times is None:
        return None
    try:
        wanted = np.array(times, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"times must be numbers, not {times!r}") from None
    if wanted.ndim != 1 or not np.isfinite(wanted).all():
        raise ModelError(f"times must be one row of finite numbers; got shape {wanted.shape}")
    forward = 1.0 if until >= start else -1.0
    if not (np.diff(wanted) * forward > 0.0).all():
        raise ModelError("times must go from start to until without repeats; sort them")
    if wanted.size and ((wanted[0] - start) * forward < 0.0 or (until - wanted[-1]) * forward < 0.0):
        raise ModelError(f"times must lie between start = {start!r} s and until = {until!r} s")
    first = [] if wanted.size and wanted[0] == start else [float(start)]
    last = [] if until in (start, *wanted[-1:]) else [float(until)]
    return np.concatenate([first, wanted, last])


def _check_times(start: float, until: float) -> None:
    for word, value in (("start", start), ("until", until)):
        if not math.isfinite(value):
            raise ModelError(f"{word} is {value!r}; give a finite number of seconds")


def _every(every: int | None) -> int:
    """Zero where records are made at given times."""
    if every is None:
        return 0
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise ModelError(f"every is {every!r}; give a whole number of steps, 1 or more")
    return int(every)


def _records(times: Vector | None) -> Vector:
    return np.zeros(0) if times is None else times
