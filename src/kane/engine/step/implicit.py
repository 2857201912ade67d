"""The native loop of implicit Runge-Kutta methods of fixed steps, solved by iteration."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_loop
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import Course, InputTables, Scheme, StateEquation, Store, Watch
from kane.engine.memory.run_codes import GOING, NOT_FINITE
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.step.explicit import divide_step, fixed_step
from kane.engine.step.kinks import double_step, halve_step, misses_turn
from kane.engine.step.mode_changes import AGAIN, STANDS, cut_step, has_guards, is_full, land
from kane.engine.step.slip_directions import recall, remember
from kane.engine.step.state_equation import slope
from kane.engine.step.step_ends import begin_step, end_step, project_step_end

ITERATIONS = 100
ROUNDING = 2.0**-52
# Below this share of the state, iterations that come no closer have met rounding.
NEAR = 1e-12


@native_loop
def march_implicit(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    scheme: Scheme,
    steps: int,
) -> int:
    """Take up to so many steps.

    Slopes: row 0 at the start of the step, then the stages, which depend on one another, then at the end.

    Args:
        system: a StateEquation.
        tables: the sampled inputs, held and interpolated, each a Tables, and a Sampling.
        course: a Course of fixed steps.
        watch: a Watch.
        store: a Store with room for the records and events of these steps.
        scheme: a Scheme.
        steps: how many.

    Returns:
        GOING, NOT_FINITE where the iteration does not converge, the step being too long for it, or why a mode cannot
        change. Fewer steps are taken where the store of changes is full.
    """
    interpolated = tables[1]
    x, y, slopes, clock, counts = store.x, store.y, store.slopes, clock_of(store), counts_of(store)
    last, guarded = scheme.last, has_guards(system)
    order = 2 * (last - 1)  # of Gauss' methods
    for _ in range(steps):
        if counts.ended[0] > 0 or clock.time[0] == course.until or is_full(system, store):
            break
        t = clock.time[0]
        divide_step(course, clock, counts)
        status = begin_step(system, tables, watch, store, 0.5 * (t + fixed_step(course, clock, counts)[1]))
        if status != GOING:
            return status
        h, t1 = fixed_step(course, clock, counts)
        for s in range(1, last):
            for i in range(x.size):
                slopes[s, i] = slopes[0, i]

        remember(system, clock)
        if not _solve(system, interpolated, store, scheme, t, h):
            if guarded and halve_step(system, course, store, h):
                continue
            return NOT_FINITE
        _stage(store, scheme, last, h)
        project_step_end(system, t1, y)
        if not is_finite(y):
            recall(system, clock, system.automaton.guards.roots)
            return NOT_FINITE
        land(system, interpolated, t1, y, slopes[last])
        counts.evaluations[0] += 1
        if guarded and misses_turn(system, store, t1, order) and halve_step(system, course, store, h):
            continue
        if guarded:
            found = cut_step(system, interpolated, course, store, scheme.dense, (t, h, t1))
            if found == AGAIN:
                continue
            if found != STANDS:
                return found
        end_step(system, interpolated, course, watch, store, scheme.dense, (t, h, t1), last)
        if guarded:
            double_step(course, store, fixed_step(course, clock, counts)[0])
    return GOING


@native_inline
def _solve(system: Any, interpolated: Any, store: Any, scheme: Any, t: float, h: float) -> bool:
    """Iterate the slopes of the stages until only rounding moves them; whether that came about."""
    x, y, z, slopes = store.x, store.y, store.z, store.slopes
    before = 1e300
    for _ in range(ITERATIONS):
        change, size = 0.0, 0.0
        for s in range(1, scheme.last):
            _stage(store, scheme, s, h)
            slope(system, interpolated, t + scheme.nodes[s] * h, y, z)
            counts_of(store).evaluations[0] += 1
            if not is_finite(z):
                return False
            for i in range(x.size):
                change = max(change, abs(h * (z[i] - slopes[s, i])))
                size = max(size, abs(y[i]))
                slopes[s, i] = z[i]
        if change <= ROUNDING * size or (change >= before and change <= NEAR * size):
            return True
        before = change
    return False


@native_inline
def _stage(store: Any, scheme: Any, s: int, h: float) -> None:
    """y = x + h sum of the slopes of the stages with their weights in row s."""
    x, y, slopes = store.x, store.y, store.slopes
    for i in range(x.size):
        total = 0.0
        for j in range(1, scheme.last):
            total += scheme.coefficients[s, j] * slopes[j, i]
        y[i] = x[i] + h * total
