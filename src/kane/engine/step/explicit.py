"""The native loop of explicit Runge-Kutta methods, with fixed steps or with step-size control.

Source: Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4 and II.10.
"""

from __future__ import annotations

import math

from kane.engine.call import native_inline, native_loop
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import (
    Course,
    Indices,
    InputTables,
    Scheme,
    StateEquation,
    Store,
    Tables,
    Vector,
    Watch,
)
from kane.engine.memory.run_codes import GOING, NOT_FINITE, STUCK
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import RunClock, RunCounts
from kane.engine.step.guards import clear_guard_history, evaluate_step_end, has_guards
from kane.engine.step.row_turns import double_step, halve_step, turns_too_far
from kane.engine.step.slip_directions import restore_directions, save_directions
from kane.engine.step.state_equation import has_record_before, slope
from kane.engine.step.step_ends import begin_step, end_step, project_step_end
from kane.engine.step.transitions import ACCEPTED, REPEAT, cut_step, is_full
from kane.engine.step.zeno import time_resolution

# Step-size control: ratio of the intended error to the tolerance, and bounds of the ratio of consecutive steps.
SAFETY, SHRINK, GROW = 0.9, 0.2, 8.0
# Ratio of error to tolerance that counts as zero, because its square would underflow; it occurs for bodies at rest.
VANISHING_ERROR = 1e-150


@native_loop
def integrate_explicit(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    scheme: Scheme,
    steps: int,
) -> int:
    """Take steps, and stop early if the run ends or the store has no room for further transitions.

    Args:
        system: state equation.
        tables: held and interpolated inputs, and sampled controllers.
        course: time span, steps and record times.
        watch: expressions of events.
        store: integrator state, with room for the records and events of these steps.
        scheme: Runge-Kutta method and tolerances.
        steps: number of steps, rejected ones included.

    Returns:
        GOING, NOT_FINITE, STUCK, or the reason why no transition is possible. x is the last state reached.
    """
    interpolated = tables[1]
    y, slopes, clock, counts = store.y, store.slopes, clock_of(store), counts_of(store)
    last, free = scheme.last, course.step == 0.0
    for _ in range(steps):
        if counts.ended[0] > 0 or clock.time[0] == course.until or is_full(system, store):
            break
        t, first, error = clock.time[0], counts.started[0] == 0, 0.0
        if not free:
            cut_at_stops(course, clock, counts)
        stop = course.stops[counts.stop[0]]
        ahead = stop if free else fixed_step(course, clock, counts)[1]
        status = begin_step(system, tables, watch, store, 0.5 * (t + ahead))
        if status != GOING:
            return status
        if first and free:
            first_step(system, interpolated, course, store, scheme)
        h, t1 = free_step(stop, clock, scheme.largest) if free else fixed_step(course, clock, counts)
        _evaluate_stages(system, interpolated, store, scheme, t, h, t1)

        if not is_finite(y) and not free:
            restore_directions(system, clock_of(store), system.automaton.guards.roots)
            return NOT_FINITE
        if free:
            error = _error(store, scheme, h, system.quaternions)
            if not error <= 1.0:
                if not reject_step(course, clock, counts, scheme, h, error):
                    return STUCK
                continue

        guarded = has_guards(system)
        fixed = guarded and not free
        if fixed and turns_too_far(system, store, t1, last) and halve_step(system, course, store, h):
            continue
        extend = guarded or watch.out.size > 0 or has_record_before(store, course, t1)
        if extend and last + 1 < slopes.shape[0]:
            _evaluate_dense_stages(system, interpolated, store, scheme, t, h)
        if guarded:
            found = cut_step(system, interpolated, course, store, scheme.dense, (t, h, t1))
            if found == REPEAT:
                continue
            if found != ACCEPTED:
                return found
        if free:
            accept_step(clock, counts, scheme, h, error, t1 == stop)
        end_step(system, interpolated, course, watch, store, scheme.dense, (t, h, t1), last)
        if fixed:
            double_step(course, store, fixed_step(course, clock, counts)[0])
    return GOING


@native_inline
def fixed_step(course: Course, clock: RunClock, counts: RunCounts) -> tuple[float, float]:
    """Return length and end of the next step [s]: a step of the grid, its remainder, or the length of a cut step."""
    k = counts.steps[0] + 1
    end = course.start + k * course.step if k < course.steps else course.until
    if clock.cut_step[0] != 0.0:
        return clock.cut_step[0], clock.time[0] + clock.cut_step[0]
    whole = k < course.steps and counts.off_grid[0] == 0
    return course.step if whole else end - clock.time[0], end


@native_inline
def cut_at_stops(course: Course, clock: RunClock, counts: RunCounts) -> None:
    """Cut the next fixed step at the first stop within it."""
    t, way = clock.time[0], 1.0 if course.until >= course.start else -1.0
    near = time_resolution(course)
    while counts.stop[0] + 1 < course.stops.size and (course.stops[counts.stop[0]] - t) * way <= near:
        counts.stop[0] += 1
        clear_guard_history(clock)
    stop = course.stops[counts.stop[0]]
    if (fixed_step(course, clock, counts)[1] - stop) * way > near:
        clock.cut_step[0] = stop - t


@native_inline
def free_step(stop: float, clock: RunClock, largest: float) -> tuple[float, float]:
    """Return length and end of the step to try [s]: it ends at the next stop, or leaves at least half a step to it."""
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
def accept_step(clock: RunClock, counts: RunCounts, scheme: Scheme, h: float, error: float, at_stop: bool) -> None:
    """Set the next step by PI control; a step that was cut to end at a stop does not shorten it."""
    error = max(error, 1e-10)
    integral = scheme.exponent * scheme.memory
    factor = SAFETY * error ** (0.75 * integral - scheme.exponent) * clock.last_error[0] ** integral
    wanted = h * min(GROW, max(SHRINK, factor))
    uncut = clock.uncut_step[0]
    clock.next_step[0] = uncut if abs(h) < abs(uncut) and abs(wanted) < abs(uncut) else wanted
    clock.last_error[0] = max(error, 1e-4)
    if at_stop and counts.stop[0] + 1 < 2**62:
        counts.stop[0] += 1
        clear_guard_history(clock)


@native_inline
def reject_step(course: Course, clock: RunClock, counts: RunCounts, scheme: Scheme, h: float, error: float) -> bool:
    """Set a shorter step to try; return whether it changes the time."""
    factor = max(SHRINK, SAFETY * error**-scheme.exponent) if error < math.inf else SHRINK
    clock.next_step[0] = clock.uncut_step[0] = h * factor
    clock.cut_step[0] = 0.0
    clock.last_error[0] = 1.0
    counts.rejected[0] += 1
    return bool(abs(h * factor) > time_resolution(course))


@native_inline
def _evaluate_stages(
    system: StateEquation, interpolated: Tables, store: Store, scheme: Scheme, t: float, h: float, t1: float
) -> None:
    """Write the slopes up to the last stage, and the projected end of the step into y."""
    last = scheme.last
    for s in range(1, last + 1):
        _write_stage(store, scheme, s, h, store.y)
        if s == last:
            save_directions(system, clock_of(store))
            project_step_end(system, t1, store.y)
            evaluate_step_end(system, interpolated, t1, store.y, store.slopes[s])
        else:
            slope(system, interpolated, t + scheme.nodes[s] * h, store.y, store.slopes[s])
    counts_of(store).evaluations[0] += last


@native_inline
def _evaluate_dense_stages(
    system: StateEquation, interpolated: Tables, store: Store, scheme: Scheme, t: float, h: float
) -> None:
    """Write the slopes that only the dense output reads."""
    for s in range(scheme.last + 1, store.slopes.shape[0]):
        _write_stage(store, scheme, s, h, store.z)
        slope(system, interpolated, t + scheme.nodes[s] * h, store.z, store.slopes[s])
        counts_of(store).evaluations[0] += 1


@native_inline
def _write_stage(store: Store, scheme: Scheme, s: int, h: float, out: Vector) -> None:
    """Write the state of stage s, x + h sum_j a_sj k_j over the slopes before it."""
    x, slopes = store.x, store.slopes
    for i in range(x.size):
        out[i] = x[i]
    for j in range(s):
        weight = h * scheme.coefficients[s, j]
        if weight != 0.0:
            for i in range(x.size):
                out[i] += weight * slopes[j, i]


@native_inline
def _error(store: Store, scheme: Scheme, h: float, quaternions: Indices) -> float:
    """Return the estimated error of the step over the tolerance.

    It is the largest error of a component over atol + rtol |x|. The error e of a quaternion p counts as the rotation
    vector 2 Im(conj(p) e) over atol + rtol: three angles relative to one radian. Its part along p does not count,
    because normalisation removes it. Two estimates E5 and E3 combine as E5^2 / sqrt(E5^2 + E3^2 / 100).
    """
    fine = _error_norm(store, scheme, h, quaternions, 0)
    if not fine < math.inf or fine == 0.0:
        return combined_error(fine, 0.0)
    return combined_error(fine, _error_norm(store, scheme, h, quaternions, 1))


@native_inline
def combined_error(fine: float, coarse: float) -> float:
    """Return the error of a step from its two estimates; infinite if the first is NaN."""
    if not fine < math.inf:
        return math.inf
    if fine < VANISHING_ERROR:
        return 0.0
    return fine * (fine / math.sqrt(fine * fine + 0.01 * coarse * coarse))


@native_inline
def _error_norm(store: Store, scheme: Scheme, h: float, quaternions: Indices, estimate: int) -> float:
    """Return one estimate of the error over the tolerance; infinite if it or the state is not finite."""
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
        largest = max(largest, rotation_error(y, z, start, 1) / (atol + rtol))
        z[start] = z[start + 1] = z[start + 2] = z[start + 3] = 0.0
    for i in range(x.size):
        largest = max(largest, abs(z[i]) / (atol + rtol * max(abs(x[i]), abs(y[i]))))
    return largest


@native_inline
def rotation_error(y: Vector, z: Vector, i: int, step: int) -> float:
    """Return the largest component of the rotation vector 2 Im(conj(p) e) of an error e of a quaternion p [rad].

    Args:
        y: contains p = (w, x, y, z).
        z: contains e.
        i: place of w in both.
        step: distance of the components.
    """
    j, k, m = i + step, i + 2 * step, i + 3 * step
    return 2.0 * max(
        abs(y[i] * z[j] - y[j] * z[i] - y[k] * z[m] + y[m] * z[k]),
        abs(y[i] * z[k] - y[k] * z[i] - y[m] * z[j] + y[j] * z[m]),
        abs(y[i] * z[m] - y[m] * z[i] - y[j] * z[k] + y[k] * z[j]),
    )


@native_inline
def first_step(system: StateEquation, interpolated: Tables, course: Course, store: Store, scheme: Scheme) -> None:
    """Set a first step whose explicit Euler and second-order terms are small."""
    x, y, clock, slopes = store.x, store.y, clock_of(store), store.slopes
    d0, d1 = 0.0, 0.0
    for i in range(x.size):
        scale = scheme.atol + scheme.rtol * abs(x[i])
        d0, d1 = max(d0, abs(x[i]) / scale), max(d1, abs(slopes[0, i]) / scale)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    span = course.until - course.start
    h = math.copysign(min(h if 0.0 < h < math.inf else 1e-6, abs(span)), span)  # zero if the slope is infinite
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
