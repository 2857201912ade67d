"""Guards within a step: sampling, localization of the first negative guard, and their recent variation."""

from __future__ import annotations

import math

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import PROBES, SAMPLES, Matrix, StateEquation, Store, Tables, Vector, Watch
from kane.engine.memory.run_codes import AT_END, FIRST_PROBE, SAMPLES_BETWEEN
from kane.engine.memory.run_memory import clock_of, samples_of
from kane.engine.memory.run_regions import KEPT_ENDS
from kane.engine.memory.views import RunClock, RunCounts, guard_history_at
from kane.engine.step.event_location import (
    NO_ROOT,
    Equation,
    Span,
    evaluate_at,
    evaluate_on_interpolant,
    evaluate_projected,
    locate,
)
from kane.engine.step.state_equation import (
    slope,
)

# The search for a minimum of a guard ends at a bracket of this fraction of the step; shorter contacts are touches.
GRAZING = 1e-6
# Golden section: 1 - 1 / phi.
GOLDEN = 0.381966
# A minimum below zero by less than this ratio of the guard is rounding error: a gap that opens begins at zero.
DIP_ROUNDING = 1e-12
# A guard is not sampled within a step if its values at both ends exceed VARIED times its variation over the ends of the
# last steps. To become negative it would have to vary that many times more within this step.
VARIED = 4.0


@native_inline
def has_guards(system: StateEquation) -> bool:
    """Check whether there are transitions."""
    return bool(system.automaton.guards.out.size > 0)


@native_kernel
def evaluate_step_end(system: StateEquation, interpolated: Tables, t1: float, y: Vector, out: Vector) -> None:
    """Write the slope at the end of a step into ``out``, and the guards there into their last sample."""
    known = system.automaton.slope
    if known.size == 0 or not is_finite(y):
        slope(system, interpolated, t1, y, out)
    if has_guards(system) and is_finite(y):
        sample_end(system, interpolated, t1, y)
        for i in range(known.size):
            out[i] = known[i]


@native_inline
def slope_after_guards(system: StateEquation, interpolated: Tables, t: float, x: Vector, out: Vector) -> None:
    """Write the slope at the state at which the guards were evaluated last."""
    given = system.automaton.slope
    if given.size == 0:
        slope(system, interpolated, t, x, out)
    for i in range(given.size):
        out[i] = given[i]


@native_inline
def sample_end(system: StateEquation, interpolated: Tables, t1: float, y: Vector) -> None:
    """Evaluate the guards at the end of a step for ``first_guard``."""
    guards = system.automaton.guards
    evaluate_at(guards, system, interpolated, t1, y)
    _store_sample(guards, AT_END)


@native_inline
def is_steady(clock: RunClock, ends: Vector, span: Span) -> bool:
    """Check whether the variation of the guards over the last steps excludes negative values within this step.

    The ends of these steps must be known and must span at least the length of this step, see VARIED.

    Args:
        clock: clock of the store.
        ends: guards at the end of the step.
        span: start, length and end of the step [s].
    """
    n, passed, last = ends.size, guard_history_at(clock.history, 0, ends.size).ends, KEPT_ENDS - 1
    t, h, _ = span
    if not (passed[last, 0] == t and (t - passed[0, 0]) * h >= h * h):
        return False
    for e in range(n):
        end = ends[e]
        low = high = end
        for k in range(KEPT_ENDS):
            value = passed[k, 1 + e]
            low, high = min(low, value), max(high, value)
        if not min(end, passed[last, 1 + e]) > VARIED * (high - low):
            return False
    return True


@native_inline
def accept_guards(clock: RunClock, counts: RunCounts, ends: Vector, t1: float) -> None:
    """Store the guards at the end t1 of an accepted step in place of the oldest ones."""
    counts.missed[0] = counts.missed[0] + 1 if clock.cut_step[0] != 0.0 and counts.cuts[0] > 0 else 0
    passed, last = guard_history_at(clock.history, 0, ends.size).ends, KEPT_ENDS - 1
    for k in range(last):
        for i in range(1 + ends.size):
            passed[k, i] = passed[k + 1, i]
    passed[last, 0] = t1
    for e in range(ends.size):
        passed[last, 1 + e] = ends[e]


@native_inline
def clear_guard_history(clock: RunClock) -> None:
    """Clear the guards at the ends of the last steps, which do not predict their variation after a discontinuity."""
    clock.history[:] = math.nan


@native_inline
def first_guard(system: StateEquation, interpolated: Tables, store: Store, dense: Matrix, span: Span) -> float:
    """Return the fraction of the step just after which the first guard becomes negative.

    No guard is negative at the start of the step. ``sample_end`` has evaluated the guards at its end. Guards that are
    not steady are sampled within the step.

    Args:
        system, interpolated: as for the native loops.
        store: x before, y after the step, slopes of all stages.
        dense: coefficients of the dense output.
        span: start, length and end of the step [s].

    Returns:
        Fraction in (0, 1], NO_ROOT if no guard becomes negative, or NaN if a guard is not finite.
    """
    guards, equation = system.automaton.guards, (system, interpolated)
    n = guards.out.size
    if is_steady(clock_of(store), samples_of(guards).values[AT_END], span):
        return NO_ROOT
    first = NO_ROOT
    for probe in range(1, PROBES + 1):
        theta = probe / PROBES
        sample = AT_END if probe == PROBES else FIRST_PROBE + probe - 1
        if probe < PROBES:
            evaluate_on_interpolant(guards, equation, store, dense, span, theta)
            if not is_finite(guards.out) or is_any_negative(guards.out):
                evaluate_projected(guards, equation, store, dense, span, theta)
            _store_sample(guards, sample)
        values = samples_of(guards).values[sample]
        if not is_finite(values):
            for e in range(n):
                guards.out[e] = values[e]
            return math.nan
        first = _first_root(guards, equation, store, dense, span, (sample, theta - 1.0 / PROBES, theta))
        if first < NO_ROOT and probe < PROBES:
            return first  # the step is cut there and evaluated again
    return min(first, _first_dip(guards, equation, store, dense, span))


@native_kernel
def _first_root(
    guards: Watch, equation: Equation, store: Store, dense: Matrix, span: Span, bracket: tuple[int, float, float]
) -> float:
    """Return the fraction at which the first of the guards that are negative at the end of a bracket becomes negative.

    A guard is located only if it is negative at the earliest root found before, because many guards often become
    negative together.

    Args:
        bracket: number of the sample at the end, and the fractions at the start and the end.
    """
    sample, low, high = bracket
    n, first, evaluated = guards.out.size, NO_ROOT, False
    for e in range(n):
        if samples_of(guards).values[sample, e] < 0.0:
            if first < NO_ROOT and not evaluated:
                evaluate_projected(guards, equation, store, dense, span, first)
                evaluated = True
            if first == NO_ROOT or guards.out[e] < 0.0:
                first = locate(guards, equation, store, dense, span, (e, -1.0, low, min(first, high)))
                evaluated = False
    return first


@native_inline
def _store_sample(guards: Watch, sample: int) -> None:
    for e in range(guards.out.size):
        samples_of(guards).values[sample, e] = guards.out[e]


@native_kernel
def _first_dip(guards: Watch, equation: Equation, store: Store, dense: Matrix, span: Span) -> float:
    """Return the first fraction after which a guard is negative that is negative at no probe, or NO_ROOT.

    Two bodies may touch and separate between two probes. Their guard then has a minimum there, so that the second of
    three consecutive samples is the smallest.
    """
    n, values = guards.out.size, samples_of(guards).values
    for sample in SAMPLES_BETWEEN:
        evaluate_on_interpolant(guards, equation, store, dense, span, SAMPLES[sample])
        _store_sample(guards, sample)
    for sample in range(1, SAMPLES.size - 1):
        first, low, high = NO_ROOT, SAMPLES[sample - 1], SAMPLES[sample + 1]
        for e in range(n):
            if may_dip(values, sample, e):
                ends = values[sample - 1, e], values[sample + 1, e]
                theta = _search_negative(guards, equation, store, dense, span, (e, low, high, ends[0], ends[1]))
                if theta < NO_ROOT:
                    first = min(first, locate(guards, equation, store, dense, span, (e, -1.0, low, theta)))
        if first < NO_ROOT:
            return first
    return NO_ROOT


@native_inline
def may_dip(values: Matrix, sample: int, e: int) -> bool:
    """Check whether guard e may be negative between the neighbours of a sample: a convex guard lies above two lines.

    Args:
        values: guards at all samples, (samples, guards).
        sample: number of the sample.
        e: number of the guard.
    """
    low, middle, high = SAMPLES[sample - 1], SAMPLES[sample], SAMPLES[sample + 1]
    before, lowest, after = values[sample - 1, e], values[sample, e], values[sample + 1, e]
    fall = (before - lowest) * (high - middle) / (middle - low)
    rise = (after - lowest) * (middle - low) / (high - middle)
    return bool(lowest < before and lowest <= after and lowest <= max(fall, rise))


@native_inline
def _search_negative(
    guards: Watch,
    equation: Equation,
    store: Store,
    dense: Matrix,
    span: Span,
    where: tuple[int, float, float, float, float],
) -> float:
    """Return a fraction at which a guard is negative, by golden section search; NO_ROOT if its minimum is not negative.

    A gap that opens counts as zero, so that the search takes the earlier side if two values are equal. Lines through
    the new values and their neighbours bound a convex guard from below: the search ends if no line falls below zero.

    Args:
        guards, equation, store, dense, span: as for ``first_guard``.
        where: number of the guard, the fractions low and high, and its values there.
    """
    e, low, high, at_low, at_high = where
    while high - low > GRAZING:
        left, right = low + GOLDEN * (high - low), high - GOLDEN * (high - low)
        evaluate_on_interpolant(guards, equation, store, dense, span, left)
        at_left = guards.out[e]
        if at_left < 0.0:
            return left
        evaluate_on_interpolant(guards, equation, store, dense, span, right)
        at_right = guards.out[e]
        if at_right < 0.0:
            return right
        # for each part, the line through the two nearest values outside it
        outer, inner = (left - low) / (right - left), (right - left) / (left - low)
        left_least = at_left - max((at_right - at_left) * outer, (at_low - at_left) * inner, 0.0)
        right_least = at_right - max((at_left - at_right) * outer, (at_high - at_right) * inner, 0.0)
        if min(left_least, right_least) >= -DIP_ROUNDING * (at_left + at_right):
            return NO_ROOT
        if at_left <= at_right:
            high, at_high = right, at_right
        else:
            low, at_low = left, at_left
    return NO_ROOT


@native_inline
def update_guard_history(store: Store, guards: Watch) -> None:
    """Replace the guards at the end of the last step by those at the start of this one, as inputs may have jumped."""
    clock, last = clock_of(store), KEPT_ENDS - 1
    passed = guard_history_at(clock.history, 0, guards.out.size).ends
    if passed[last, 0] == clock.time[0]:
        for e in range(guards.out.size):
            passed[last, 1 + e] = guards.out[e]


@native_inline
def is_any_negative(values: Vector) -> bool:
    """Check whether a value is negative."""
    found = False
    for value in values:
        found = found or value < 0.0
    return found
