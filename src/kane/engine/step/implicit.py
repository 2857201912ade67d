"""The native loop of implicit Runge-Kutta methods with fixed steps, solved by fixed-point iteration."""

from __future__ import annotations

from kane.engine.call import native_inline, native_loop
from kane.engine.linear.factorizations import ROUNDING
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import Course, InputTables, Scheme, StateEquation, Store, Tables, Watch
from kane.engine.memory.run_codes import GOING, NOT_FINITE
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.step.explicit import cut_at_stops, fixed_step
from kane.engine.step.guards import evaluate_step_end, has_guards
from kane.engine.step.row_turns import double_step, halve_step, turns_too_far
from kane.engine.step.slip_directions import restore_directions, save_directions
from kane.engine.step.state_equation import slope
from kane.engine.step.step_ends import begin_step, end_step, project_step_end
from kane.engine.step.transitions import ACCEPTED, REPEAT, cut_step, is_full

# Largest number of fixed-point iterations.
FIXED_POINT_ITERATIONS = 100
# Ratio of the change to the state below which iterations that come no closer consist of rounding errors.
ROUNDED_CHANGE = 1e-12


@native_loop
def integrate_implicit(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    scheme: Scheme,
    steps: int,
) -> int:
    """Take steps, and stop early if the run ends or the store has no room for further transitions.

    Row 0 of the slopes is the slope at the start of the step. The slopes of the stages and the slope at the end follow.

    Args:
        system: state equation.
        tables: held and interpolated inputs, and sampled controllers.
        course: time span, fixed steps and record times.
        watch: expressions of events.
        store: integrator state, with room for the records and events of these steps.
        scheme: Gauss method.
        steps: number of steps.

    Returns:
        GOING, NOT_FINITE if the iteration does not converge because the step is too long, or the reason why no
        transition is possible.
    """
    interpolated = tables[1]
    x, y, slopes, clock, counts = store.x, store.y, store.slopes, clock_of(store), counts_of(store)
    last, guarded = scheme.last, has_guards(system)
    order = 2 * (last - 1)
    for _ in range(steps):
        if counts.ended[0] > 0 or clock.time[0] == course.until or is_full(system, store):
            break
        t = clock.time[0]
        cut_at_stops(course, clock, counts)
        status = begin_step(system, tables, watch, store, 0.5 * (t + fixed_step(course, clock, counts)[1]))
        if status != GOING:
            return status
        h, t1 = fixed_step(course, clock, counts)
        for s in range(1, last):
            for i in range(x.size):
                slopes[s, i] = slopes[0, i]

        save_directions(system, clock)
        if not _solve_stages(system, interpolated, store, scheme, t, h):
            if guarded and halve_step(system, course, store, h):
                continue
            return NOT_FINITE
        _write_gauss_stage(store, scheme, last, h)
        project_step_end(system, t1, y)
        if not is_finite(y):
            restore_directions(system, clock, system.automaton.guards.roots)
            return NOT_FINITE
        evaluate_step_end(system, interpolated, t1, y, slopes[last])
        counts.evaluations[0] += 1
        if guarded and turns_too_far(system, store, t1, order) and halve_step(system, course, store, h):
            continue
        if guarded:
            found = cut_step(system, interpolated, course, store, scheme.dense, (t, h, t1))
            if found == REPEAT:
                continue
            if found != ACCEPTED:
                return found
        end_step(system, interpolated, course, watch, store, scheme.dense, (t, h, t1), last)
        if guarded:
            double_step(course, store, fixed_step(course, clock, counts)[0])
    return GOING


@native_inline
def _solve_stages(
    system: StateEquation, interpolated: Tables, store: Store, scheme: Scheme, t: float, h: float
) -> bool:
    """Iterate the slopes of the stages until they change by rounding errors only; return whether they converge."""
    x, y, z, slopes = store.x, store.y, store.z, store.slopes
    before = 1e300
    for _ in range(FIXED_POINT_ITERATIONS):
        change, size = 0.0, 0.0
        for s in range(1, scheme.last):
            _write_gauss_stage(store, scheme, s, h)
            slope(system, interpolated, t + scheme.nodes[s] * h, y, z)
            counts_of(store).evaluations[0] += 1
            if not is_finite(z):
                return False
            for i in range(x.size):
                change = max(change, abs(h * (z[i] - slopes[s, i])))
                size = max(size, abs(y[i]))
                slopes[s, i] = z[i]
        if change <= ROUNDING * size or (change >= before and change <= ROUNDED_CHANGE * size):
            return True
        before = change
    return False


@native_inline
def _write_gauss_stage(store: Store, scheme: Scheme, s: int, h: float) -> None:
    """Write y = x + h sum_j a_sj k_j over the slopes of the stages."""
    x, y, slopes = store.x, store.y, store.slopes
    for i in range(x.size):
        total = 0.0
        for j in range(1, scheme.last):
            total += scheme.coefficients[s, j] * slopes[j, i]
        y[i] = x[i] + h * total
