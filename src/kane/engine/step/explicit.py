"""The native loop of explicit Runge-Kutta methods, of fixed steps and of steps that the error controls."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_loop
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import Course, InputTables, Scheme, StateEquation, Store, Watch
from kane.engine.memory.run_codes import GOING, NOT_FINITE, STUCK
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.step.kinks import double_step, halve_step, misses_turn
from kane.engine.step.mode_changes import AGAIN, STANDS, cut_step, forget, has_guards, is_full, land
from kane.engine.step.slip_directions import recall, remember
from kane.engine.step.state_equation import slope, wants_rows_within
from kane.engine.step.step_ends import begin_step, end_step, project_step_end

# Step control: a step aims below the tolerance, and changes by no more than these factors.
SAFETY, SHRINK, GROW = 0.9, 0.2, 8.0
ROUNDING = 2.0**-52
# Errors over the tolerance whose squares would be lost, as of bodies at rest, are none.
NEGLIGIBLE = 1e-150


@native_loop
def march_explicit(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    scheme: Scheme,
    steps: int,
) -> int:
    """Take up to so many steps, rejected ones included.

    Args:
        system: a StateEquation.
        tables: the sampled inputs, held and interpolated, each a Tables, and a Sampling.
        course: a Course.
        watch: a Watch.
        store: a Store with room for the records and events of these steps.
        scheme: a Scheme.
        steps: how many.

    Returns:
        GOING, NOT_FINITE, STUCK, or why a mode cannot change; x is always the last state that was reached. Fewer steps
        are taken where the store of changes is full.
    """
    interpolated = tables[1]
    y, slopes, clock, counts = store.y, store.slopes, clock_of(store), counts_of(store)
    last, free = scheme.last, course.step == 0.0
    for _ in range(steps):
        if counts.ended[0] > 0 or clock.time[0] == course.until or is_full(system, store):
            break
        t, first, error = clock.time[0], counts.started[0] == 0, 0.0
        if not free:
            divide_step(course, clock, counts)
        stop = course.stops[counts.stop[0]]
        ahead = stop if free else fixed_step(course, clock, counts)[1]
        status = begin_step(system, tables, watch, store, 0.5 * (t + ahead))
        if status != GOING:
            return status
        if first and free:
            first_step(system, interpolated, course, store, scheme)
        h, t1 = free_step(stop, clock, scheme.largest) if free else fixed_step(course, clock, counts)
        _stages(system, interpolated, store, scheme, t, h, t1)

        if not is_finite(y) and not free:
            recall(system, clock_of(store), system.automaton.guards.roots)
            return NOT_FINITE
        if free:
            error = _error(store, scheme, h, system.quaternions)
            if not error <= 1.0:
                if not reject_step(course, clock, counts, scheme, h, error):
                    return STUCK
                continue

        guarded = has_guards(system)
        fixed = guarded and not free
        if fixed and misses_turn(system, store, t1, last) and halve_step(system, course, store, h):
            continue
        extend = guarded or watch.out.size > 0 or wants_rows_within(store, course, t1)
        if extend and last + 1 < slopes.shape[0]:
            _extra_stages(system, interpolated, store, scheme, t, h)
        if guarded:
            found = cut_step(system, interpolated, course, store, scheme.dense, (t, h, t1))
            if found == AGAIN:
                continue
            if found != STANDS:
                return found
        if free:
            accept_step(clock, counts, scheme, h, error, t1 == stop)
        end_step(system, interpolated, course, watch, store, scheme.dense, (t, h, t1), last)
        if fixed:
            double_step(course, store, fixed_step(course, clock, counts)[0])
    return GOING


@native_inline
def fixed_step(course: Any, clock: Any, counts: Any) -> tuple[float, float]:
    """Length and end of the next step of the grid, of what is left of it, or of the part to which it is cut."""
    k = counts.steps[0] + 1
    end = course.start + k * course.step if k < course.steps else course.until
    if clock.cut_step[0] != 0.0:
        return clock.cut_step[0], clock.time[0] + clock.cut_step[0]
    whole = k < course.steps and counts.off_grid[0] == 0
    return course.step if whole else end - clock.time[0], end


@native_inline
def divide_step(course: Any, clock: Any, counts: Any) -> None:
    """Cut a step of the grid, or the part to which it is cut, so that it ends at the next stop within."""
    t, way = clock.time[0], 1.0 if course.until >= course.start else -1.0
    near = 4.0 * ROUNDING * max(abs(course.start), abs(course.until))
    while counts.stop[0] + 1 < course.stops.size and (course.stops[counts.stop[0]] - t) * way <= near:
        counts.stop[0] += 1
        forget(clock)
    stop = course.stops[counts.stop[0]]
    if (fixed_step(course, clock, counts)[1] - stop) * way > near:
        clock.cut_step[0] = stop - t


@native_inline
def free_step(stop: float, clock: Any, largest: float) -> tuple[float, float]:
    """Length and end of the step to try: the wanted one, or what ends at the next stop, in two halves if need be."""
    t, h = clock.time[0], clock.next_step[0]
    if clock.cut_step[0] != 0.0:
        return clock.cut_step[0], t + clock.cut_step[0]
    if abs(h) > largest:
        h = math.copysign(largest, h)
    clock.uncut_step[0] = h
    left = stop - t
    if abs(left) <= 1.0000001 * abs(h):
        return left, stop
    if abs(left) < 2.0 * abs(h):
        h = 0.5 * left
    return h, t + h


@native_inline
def accept_step(clock: Any, counts: Any, scheme: Any, h: float, error: float, at_stop: bool) -> None:
    """The next step by PI control, no shorter than what was wanted before this one was cut to end at a stop."""
    error = max(error, 1e-10)
    share = scheme.exponent * scheme.memory
    factor = SAFETY * error ** (0.75 * share - scheme.exponent) * clock.last_error[0] ** share
    wanted = h * min(GROW, max(SHRINK, factor))
    uncut = clock.uncut_step[0]
    clock.next_step[0] = uncut if abs(h) < abs(uncut) and abs(wanted) < abs(uncut) else wanted
    clock.last_error[0] = max(error, 1e-4)
    if at_stop and counts.stop[0] + 1 < 2**62:
        counts.stop[0] += 1
        forget(clock)


@native_inline
def reject_step(course: Any, clock: Any, counts: Any, scheme: Any, h: float, error: float) -> bool:
    """A shorter step to try; whether times are still told apart with it."""
    factor = max(SHRINK, SAFETY * error**-scheme.exponent) if error < math.inf else SHRINK
    clock.next_step[0] = clock.uncut_step[0] = h * factor
    clock.cut_step[0] = 0.0
    clock.last_error[0] = 1.0
    counts.rejected[0] += 1
    return bool(abs(h * factor) > 4.0 * ROUNDING * max(abs(course.start), abs(course.until)))


@native_inline
def _stages(system: Any, interpolated: Any, store: Any, scheme: Any, t: float, h: float, t1: float) -> None:
    """Fill the slopes up to the last stage; y is then the end of the step, of unit quaternions, on the constraints."""
    last = scheme.last
    for s in range(1, last + 1):
        _combine(store, scheme, s, h, store.y)
        if s == last:
            remember(system, clock_of(store))
            project_step_end(system, t1, store.y)
            land(system, interpolated, t1, store.y, store.slopes[s])
        else:
            slope(system, interpolated, t + scheme.nodes[s] * h, store.y, store.slopes[s])
    counts_of(store).evaluations[0] += last


@native_inline
def _extra_stages(system: Any, interpolated: Any, store: Any, scheme: Any, t: float, h: float) -> None:
    """Fill the slopes that only the interpolant needs."""
    for s in range(scheme.last + 1, store.slopes.shape[0]):
        _combine(store, scheme, s, h, store.z)
        slope(system, interpolated, t + scheme.nodes[s] * h, store.z, store.slopes[s])
        counts_of(store).evaluations[0] += 1


@native_inline
def _combine(store: Any, scheme: Any, s: int, h: float, out: Any) -> None:
    """x + h sum of the slopes before stage s with their weights."""
    x, slopes = store.x, store.slopes
    for i in range(x.size):
        out[i] = x[i]
    for j in range(s):
        weight = h * scheme.coefficients[s, j]
        if weight != 0.0:
            for i in range(x.size):
                out[i] += weight * slopes[j, i]


@native_inline
def _error(store: Any, scheme: Any, h: float, quaternions: Any) -> float:
    """The estimated error of the step over the tolerance.

    The largest over the components, each over atol + rtol |x|. The error e of a quaternion p counts as the rotation
    vector 2 Im(conj(p) e), over atol + rtol: three angles, against one radian; along p, where normalising removes it,
    it does not count. Two estimates E5 and E3 combine as E5^2 / sqrt(E5^2 + E3^2 / 100) [Hairer, Norsett & Wanner,
    Solving Ordinary Differential Equations I, II.10].
    """
    fine = _size(store, scheme, h, quaternions, 0)
    if not fine < math.inf or fine == 0.0:
        return combined_error(fine, 0.0)
    return combined_error(fine, _size(store, scheme, h, quaternions, 1))


@native_inline
def combined_error(fine: float, coarse: float) -> float:
    """The error of a step from its two estimates; infinite where the first is no number."""
    if not fine < math.inf:
        return math.inf
    if fine < NEGLIGIBLE:
        return 0.0
    return fine * (fine / math.sqrt(fine * fine + 0.01 * coarse * coarse))


@native_inline
def _size(store: Any, scheme: Any, h: float, quaternions: Any, estimate: int) -> float:
    """One estimate of the error over the tolerance; infinite where it is no number."""
    x, y, z, slopes = store.x, store.y, store.z, store.slopes
    rtol, atol = scheme.rtol, scheme.atol
    for i in range(x.size):
        z[i] = 0.0
    for j in range(scheme.last + 1):
        weight = h * scheme.errors[estimate, j]
        if weight != 0.0:
            for i in range(x.size):
                z[i] += weight * slopes[j, i]
    if not (is_finite(z) and is_finite(y)):
        return math.inf
    largest = 0.0
    for start in quaternions:
        w, a, b, c = y[start], y[start + 1], y[start + 2], y[start + 3]
        ew, ea, eb, ec = z[start], z[start + 1], z[start + 2], z[start + 3]
        rotation = max(
            abs(w * ea - a * ew - b * ec + c * eb),
            abs(w * eb - b * ew - c * ea + a * ec),
            abs(w * ec - c * ew - a * eb + b * ea),
        )
        largest = max(largest, 2.0 * rotation / (atol + rtol))
        z[start] = z[start + 1] = z[start + 2] = z[start + 3] = 0.0
    for i in range(x.size):
        largest = max(largest, abs(z[i]) / (atol + rtol * max(abs(x[i]), abs(y[i]))))
    return largest


@native_inline
def first_step(system: Any, interpolated: Any, course: Any, store: Any, scheme: Any) -> None:
    """A first step whose explicit Euler and second-order terms are small [Hairer, Norsett & Wanner, II.4]."""
    x, y, clock, slopes = store.x, store.y, clock_of(store), store.slopes
    d0, d1 = 0.0, 0.0
    for i in range(x.size):
        scale = scheme.atol + scheme.rtol * abs(x[i])
        d0, d1 = max(d0, abs(x[i]) / scale), max(d1, abs(slopes[0, i]) / scale)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    span = course.until - course.start
    h = math.copysign(min(h if 0.0 < h < math.inf else 1e-6, abs(span)), span)  # zero where the slope is infinite
    for i in range(x.size):
        y[i] = x[i] + h * slopes[0, i]
    slope(system, interpolated, clock.time[0] + h, y, slopes[1])
    counts_of(store).evaluations[0] += 1
    d2 = 0.0
    for i in range(x.size):
        d2 = max(d2, abs(slopes[1, i] - slopes[0, i]) / (scheme.atol + scheme.rtol * abs(x[i])) / abs(h))
    steepest = max(d1, d2)
    second = max(1e-6, abs(h) * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** scheme.exponent
    first = min(100.0 * abs(h), second) if second > 0.0 and second < math.inf else abs(h)
    clock.next_step[0] = math.copysign(min(first, abs(span)), span)
    clock.last_error[0] = 1.0
