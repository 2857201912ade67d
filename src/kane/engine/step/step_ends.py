"""How every step begins and ends, whatever the method: all native loops and methods from elsewhere share it."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_loop
from kane.engine.linear.vectors import normalise
from kane.engine.memory.loop_arguments import Course, InputTables, Matrix, StateEquation, Store, Watch
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.step.event_location import find_events, first_signs
from kane.engine.step.mode_changes import change_modes, first_guard, has_guards, look_at_end, take_slope
from kane.engine.step.sampling import take_samples
from kane.engine.step.state_equation import ends_whole, hold, project, record, slope


@native_inline
def begin_step(system: Any, tables: Any, watch: Any, store: Any, middle: float) -> int:
    """Hold the inputs of a step with this middle, change the mode where a guard is negative, fill the first slope.

    Nothing but inputs is done where the slope is known from the step before. In the first step of the run, signs from
    which events are counted are those at its start.

    Returns:
        GOING, or why the mode cannot change, see ``change_modes``.
    """
    held, interpolated, _ = tables
    first = counts_of(store).started[0] == 0
    if held.column.size > 0:
        take_samples(tables, system, clock_of(store).time[0], store.x)
        hold(held, middle, system.inputs)
    elif counts_of(store).slope_known[0] == 1:
        return GOING
    if has_guards(system):
        status = change_modes(system, interpolated, store)
        if status != GOING:
            return status
        take_slope(system, interpolated, clock_of(store).time[0], store.x, store.slopes[0])
    else:
        slope(system, interpolated, clock_of(store).time[0], store.x, store.slopes[0])
    counts_of(store).evaluations[0] += 1
    counts_of(store).slope_known[0] = 1
    if first:
        counts_of(store).started[0] = 1
        if watch.out.size > 0:
            first_signs(watch, system, interpolated, clock_of(store).time[0], store.x)
    return GOING


@native_inline
def project_step_end(system: Any, t1: float, y: Any) -> None:
    """The end of a step with quaternions of unit length and on the constraints; see ``slip_directions``."""
    normalise(y, system.quaternions)
    project(system.projection, system, t1, y)


@native_inline
def end_step(
    system: Any, interpolated: Any, course: Any, watch: Any, store: Any, dense: Any, span: Any, last: int
) -> None:
    """Events, records and the new state after a step from store.x to store.y.

    Args:
        system, interpolated, course, watch, store: as for the native loops.
        dense: the interpolant.
        span: start, length and end of the step.
        last: which of the slopes is the first one of the next step.
    """
    t, h, end = span
    if watch.out.size > 0:
        end = find_events(watch, (system, interpolated, course.until), store, dense, span)
    record(store, course, dense, (t, h, end), system)
    for i in range(store.x.size):
        store.x[i] = store.y[i]
        store.slopes[0, i] = store.slopes[last, i]
    clock_of(store).time[0] = end
    whole = ends_whole(store, course)
    counts_of(store).off_grid[0] = not whole
    counts_of(store).steps[0] += whole
    clock_of(store).cut_step[0] = 0.0
    counts_of(store).cuts[0] = 0


@native_loop
def begin_external(system: StateEquation, tables: InputTables, watch: Watch, store: Store, middle: float) -> int:
    """``begin_step`` for a step that is taken elsewhere."""
    return begin_step(system, tables, watch, store, middle)


@native_loop
def guard_external(
    system: StateEquation, tables: InputTables, store: Store, dense: Matrix, span: tuple[float, float, float]
) -> float:
    """``first_guard`` of a step that was taken elsewhere."""
    look_at_end(system, tables[1], span[2], store.y)
    return first_guard(system, tables[1], store, dense, span)


@native_loop
def end_external(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    dense: Matrix,
    span: tuple[float, float, float],
) -> None:
    """``settle_end`` and ``end_step`` for a step that was taken elsewhere; store.slopes serve the interpolant alone."""
    project_step_end(system, span[2], store.y)
    end_step(system, tables[1], course, watch, store, dense, span, 0)
