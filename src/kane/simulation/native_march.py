"""What the native loops of all integrators share: look-up of sampled inputs, unit quaternions, finite states."""

from __future__ import annotations

import math
from typing import Any

from kane.simulation.native_call import native_inline


@native_inline
def _sample_in_force(tables: Any, i: int, t: float) -> int:
    """The last sample of table i at or before t; the first one where there is none.

    The search starts from the previous find, because time mostly goes on in order.
    """
    times = tables.times
    k = tables.cursor[i]
    while k < tables.last[i] - 1 and t >= times[k + 1]:
        k += 1
    while k > tables.first[i] and t < times[k]:
        k -= 1
    tables.cursor[i] = k
    return int(k)


@native_inline
def hold(tables: Any, t: float, inputs: Any) -> None:
    """Write the samples in force at time t into the inputs."""
    for i in range(tables.column.size):
        inputs[tables.column[i]] = tables.values[_sample_in_force(tables, i, t)]


@native_inline
def interpolate(tables: Any, t: float, inputs: Any) -> None:
    """Write the tables at time t into the inputs, linear between samples; outside a table its ends hold."""
    times, values = tables.times, tables.values
    for i in range(tables.column.size):
        k = _sample_in_force(tables, i, t)
        value = values[k]
        if k < tables.last[i] - 1 and t > times[k]:
            value += (values[k + 1] - value) * ((t - times[k]) / (times[k + 1] - times[k]))
        inputs[tables.column[i]] = value


@native_inline
def normalise(x: Any, quaternions: Any) -> None:
    """Scale each quaternion of x to length one.

    Its length is a constant of the exact motion, so that this moves x by no more than the error of the step: the order
    of the method stays.
    """
    for start in quaternions:
        length = 0.0
        for i in range(start, start + 4):
            length += x[i] * x[i]
        length = math.sqrt(length)
        for i in range(start, start + 4):
            x[i] /= length


@native_inline
def is_finite(x: Any) -> bool:
    """Whether no component of x is NaN or infinite."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * 0.0
    return total == 0.0
