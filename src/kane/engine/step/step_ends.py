"""Start and end of a step, for all native loops and for methods of other libraries."""

from __future__ import annotations

from kane.engine.call import native_inline, native_loop
from kane.engine.linear.vectors import normalise
from kane.engine.memory.loop_arguments import Course, InputTables, Matrix, StateEquation, Store, Tables, Vector, Watch
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.step.event_location import Span, find_events, first_signs
from kane.engine.step.guards import first_guard, has_guards, sample_end, slope_after_guards
from kane.engine.step.sampling import take_samples
from kane.engine.step.state_equation import ends_on_grid, hold, project, slope, write_records
from kane.engine.step.transitions import take_transitions


@native_inline
def begin_step(system: StateEquation, tables: InputTables, watch: Watch, store: Store, middle: float) -> int:
    """Set the held inputs, take transitions, and evaluate the first slope unless the last step has left it.

    The first step of a run also stores the signs of the events.

    Args:
        system, tables, watch, store: as for the native loops.
        middle: time in the middle of the step, at which held inputs are read [s].

    Returns:
        GOING, or the status of ``take_transitions``.
    """
    held, interpolated, _ = tables
    first = counts_of(store).started[0] == 0
    if held.column.size > 0:
        take_samples(tables, system, clock_of(store).time[0], store.x)
        hold(held, middle, system.inputs)
    elif counts_of(store).slope_known[0] == 1:  # then no guard is negative
        return GOING
    if has_guards(system):
        status = take_transitions(system, interpolated, store)
        if status != GOING:
            return status
        slope_after_guards(system, interpolated, clock_of(store).time[0], store.x, store.slopes[0])
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
def project_step_end(system: StateEquation, t1: float, y: Vector) -> None:
    """Scale the quaternions of the end of a step to unit length and project it; see ``slip_directions``."""
    normalise(y, system.quaternions)
    project(system.projection, system, t1, y)


@native_inline
def end_step(
    system: StateEquation,
    interpolated: Tables,
    course: Course,
    watch: Watch,
    store: Store,
    dense: Matrix,
    span: Span,
    last: int,
) -> None:
    """Find the events of a step from store.x to store.y, write its records, and set the new state.

    Args:
        system, interpolated, course, watch, store: as for the native loops.
        dense: coefficients of the dense output.
        span: start, length and end of the step [s].
        last: number of the slope that is the first one of the next step.
    """
    t, h, end = span
    if watch.out.size > 0:
        end = find_events(watch, (system, interpolated, course.until), store, dense, span)
    write_records(store, course, dense, (t, h, end), system)
    for i in range(store.x.size):
        store.x[i] = store.y[i]
        store.slopes[0, i] = store.slopes[last, i]
    clock_of(store).time[0] = end
    whole = ends_on_grid(store, course)
    counts_of(store).off_grid[0] = not whole
    counts_of(store).steps[0] += whole
    clock_of(store).cut_step[0] = 0.0
    counts_of(store).cuts[0] = 0


@native_loop
def begin_external(system: StateEquation, tables: InputTables, watch: Watch, store: Store, middle: float) -> int:
    """Call ``begin_step`` for a step of another library."""
    return begin_step(system, tables, watch, store, middle)


@native_loop
def guard_external(
    system: StateEquation, tables: InputTables, store: Store, dense: Matrix, span: tuple[float, float, float]
) -> float:
    """Return ``first_guard`` of a step of another library."""
    sample_end(system, tables[1], span[2], store.y)
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
    """Call ``project_step_end`` and ``end_step`` for a step of another library.

    Only the dense output reads store.slopes.
    """
    project_step_end(system, span[2], store.y)
    end_step(system, tables[1], course, watch, store, dense, span, 0)
