"""The native loop of the classical Runge-Kutta method of order four."""

from __future__ import annotations

from typing import Any

from kane.simulation.native_call import call_program, native_loop
from kane.simulation.native_march import hold, interpolate, is_finite, normalise


@native_loop
def march_rk4(system: Any, tables: Any, grid: Any, span: Any, arrays: Any) -> int:
    """Take the steps span[0] <= k < span[1] of the grid, recording every state whose number ``every`` divides.

    Args:
        system: a System.
        tables: the sampled inputs, held and interpolated, each a Tables.
        grid: the Grid.
        span: numbers of the first step and of the one after the last.
        arrays: x, the state, replaced by the one reached; three scratch vectors of its length; rows, the record, whose
            row k // every holds state k, and whose last row holds the last state.

    Returns:
        The number of the step reached: span[1], or the step whose end is not finite, x being the state at its start.
    """
    x, y, slope, total, rows = arrays
    address, state, inputs, stage, work, quaternions = system
    start, step, until, steps, every = grid
    held, interpolated = tables
    n_held, n_interpolated = held.column.size, interpolated.column.size
    until_record = every - span[0] % every
    n = x.size
    for k in range(span[0], span[1]):
        t = start + k * step
        h = step if k + 1 < steps else until - t
        half, middle = 0.5 * h, t + 0.5 * h
        # A held value belongs to the whole step: its middle is clear of the rounding of sample times.
        if n_held > 0:
            hold(held, middle, inputs)

        if n_interpolated > 0:
            interpolate(interpolated, t, inputs)
        state[0] = t
        for i in range(n):
            state[1 + i] = x[i]
        call_program(address, state, inputs, stage, slope, work)
        if n_interpolated > 0:
            interpolate(interpolated, middle, inputs)
        state[0] = middle
        for i in range(n):
            total[i] = slope[i]
            state[1 + i] = x[i] + half * slope[i]
        call_program(address, state, inputs, stage, slope, work)
        for i in range(n):
            total[i] += 2.0 * slope[i]
            state[1 + i] = x[i] + half * slope[i]
        call_program(address, state, inputs, stage, slope, work)
        if n_interpolated > 0:
            interpolate(interpolated, t + h, inputs)
        state[0] = t + h
        for i in range(n):
            total[i] += 2.0 * slope[i]
            state[1 + i] = x[i] + h * slope[i]
        call_program(address, state, inputs, stage, slope, work)
        for i in range(n):
            y[i] = x[i] + h / 6.0 * (total[i] + slope[i])

        normalise(y, quaternions)
        if not is_finite(y):
            return k
        for i in range(n):
            x[i] = y[i]
        until_record -= 1
        if until_record == 0 or k + 1 == steps:
            until_record = every
            row = (k + every) // every
            for i in range(n):
                rows[row, i] = x[i]
    return span[1]
