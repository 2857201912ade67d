"""Parts of all native loops: inputs, slopes, projection, dense output, and records."""

from __future__ import annotations

from kane.engine.call import call_program, native_inline
from kane.engine.linear.vectors import is_finite, normalise
from kane.engine.memory.loop_arguments import Course, Indices, Matrix, Projection, StateEquation, Store, Tables, Vector
from kane.engine.memory.run_codes import RHS
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of, notes_of
from kane.engine.memory.views import constraint_header_at, constraint_lists_at, projection_residuals_at


@native_inline
def _current_sample(tables: Tables, i: int, t: float) -> int:
    """Return the last sample of table i at or before time t, or its first sample.

    The search starts at the last result, because times mostly increase.
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
def hold(tables: Tables, t: float, inputs: Vector) -> None:
    """Write the samples of held inputs at time t into the inputs."""
    for i in range(tables.column.size):
        inputs[tables.column[i]] = tables.values[_current_sample(tables, i, t)]


@native_inline
def interpolate(tables: Tables, t: float, inputs: Vector) -> None:
    """Write the tables at time t into the inputs, linear between samples and constant outside a table."""
    times, values = tables.times, tables.values
    for i in range(tables.column.size):
        k = _current_sample(tables, i, t)
        value = values[k]
        if k < tables.last[i] - 1 and t > times[k]:
            value += (values[k + 1] - value) * ((t - times[k]) / (times[k + 1] - times[k]))
        inputs[tables.column[i]] = value


@native_inline
def call_mode(system: StateEquation, program: int, t: float, x: Vector, out: Vector) -> None:
    """Call a program of the present mode at time t and state x with the present inputs."""
    state, mode = system.state, mode_of(system)
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(mode.addresses[program], state, system.inputs, system.stages[mode.places[program] :], out, system.work)


@native_inline
def project(projection: Projection, system: StateEquation, t: float, x: Vector) -> None:
    """Project the state x at time t onto the constraints and write the notes; a state that is not finite stays.

    The exact motion satisfies the constraints. A step misses them by its error, so that projection moves the state by
    no more than this error and preserves the order of the method.
    """
    if projection.notes.size == 0 or not is_finite(x):
        return
    call_mode(system, projection.program, t, x, projection.out)
    for i in range(x.size):
        x[i] = projection.out[i]
    notes, found = notes_of(projection), projection_residuals_at(projection.out, x.size)
    notes.configuration[0], notes.motion[0] = found.configuration[0], found.motion[0]
    notes.conditioning[0] = found.conditioning[0]
    if keep_selection(projection, system):
        notes.switches[0] += 1.0
    if projection.least.size > 0 and notes.conditioning[0] < projection.least[0]:
        projection.least[0], projection.least[1] = notes.conditioning[0], t
        for i in range(x.size):
            projection.least[2 + i] = x[i]


@native_inline
def keep_selection(projection: Projection, system: StateEquation) -> bool:
    """Store the present speed selection; return whether it has changed."""
    if projection.kept.size == 0:
        return False
    head = constraint_header_at(system.headers, mode_of(system).places[projection.program])
    order, kept = constraint_lists_at(system.headers, head.end, head.speeds, 0, 0).order, projection.kept
    changed = kept[0] != head.rank[0]
    kept[0] = head.rank[0]
    for j in range(order.size):
        changed = changed or kept[1 + j] != order[j]
        kept[1 + j] = order[j]
    return bool(changed)


@native_inline
def slope(system: StateEquation, interpolated: Tables, t: float, x: Vector, out: Vector) -> None:
    """Write f(t, x) with the interpolated inputs at time t; held inputs keep their values."""
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    call_mode(system, RHS, t, x, out)


@native_inline
def dense_weight(dense: Matrix, j: int, theta: float) -> float:
    """Return the weight b_j(theta) = sum_m dense[j, m] theta^(m + 1) of slope j in the dense output."""
    weight = 0.0
    for m in range(dense.shape[1] - 1, -1, -1):
        weight = (weight + dense[j, m]) * theta
    return weight


@native_inline
def interpolate_state(store: Store, dense: Matrix, h: float, theta: float, quaternions: Indices, out: Vector) -> None:
    """Write the dense output x + h sum_j k_j b_j(theta) at a fraction theta of a step of h seconds."""
    x, slopes = store.x, store.slopes
    for i in range(x.size):
        out[i] = 0.0
    for j in range(dense.shape[0]):
        weight = dense_weight(dense, j, theta)
        for i in range(x.size):
            out[i] += weight * slopes[j, i]
    for i in range(x.size):
        out[i] = x[i] + h * out[i]
    normalise(out, quaternions)


@native_inline
def write_record(store: Store, t: float, x: Vector, notes: Vector) -> None:
    """Append a record of the state x at time t, with the notes of its projection."""
    row = counts_of(store).rows[0]
    store.rows[row, 0] = t
    for i in range(x.size):
        store.rows[row, 1 + i] = x[i]
    for i in range(notes.size):
        store.rows[row, 1 + x.size + i] = notes[i]
    counts_of(store).rows[0] = row + 1


@native_inline
def has_record_before(store: Store, course: Course, t1: float) -> bool:
    """Check whether the time of the next record is before the end t1 of the step."""
    row = counts_of(store).rows[0]
    return bool(
        course.every == 0 and row < course.times.size and (t1 - course.times[row]) * _time_direction(course) > 0.0
    )


@native_inline
def write_records(
    store: Store, course: Course, dense: Matrix, span: tuple[float, float, float], system: StateEquation
) -> None:
    """Append the records within the step from store.x to store.y.

    Args:
        span: start, length and end of the step [s]. The end is before start + length if an event ended the run there;
            the end is then recorded.
    """
    t, h, t1 = span
    last = counts_of(store).ended[0] > 0 or t1 == course.until
    if course.every > 0:
        if last or (ends_on_grid(store, course) and (counts_of(store).steps[0] + 1) % course.every == 0):
            write_record(store, t1, store.y, system.projection.notes)
        return
    while has_record_before(store, course, t1):
        at = course.times[counts_of(store).rows[0]]
        interpolate_state(store, dense, h, (at - t) / h, system.quaternions, store.z)
        project_probe(system, at, store.z)
        write_record(store, at, store.z, system.aside.notes)
    row = counts_of(store).rows[0]
    if last or (row < course.times.size and course.times[row] == t1):
        write_record(store, t1, store.y, system.projection.notes)


@native_inline
def ends_on_grid(store: Store, course: Course) -> bool:
    """Check whether a step counts: all steps except fixed steps that are cut before the grid."""
    return bool(course.step == 0.0 or clock_of(store).cut_step[0] == 0.0)


@native_inline
def project_probe(system: StateEquation, t: float, x: Vector) -> None:
    """Project a probe state, with the number of changes of the speed selection of the run."""
    project(system.aside, system, t, x)
    if system.aside.notes.size > 0:
        notes_of(system.aside).switches[0] = notes_of(system.projection).switches[0]


@native_inline
def _time_direction(course: Course) -> float:
    """Return 1 if the time increases, -1 if it decreases."""
    return 1.0 if course.until >= course.start else -1.0
