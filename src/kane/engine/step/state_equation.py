"""What the native loops of all integrators share: inputs, slopes, unit quaternions, interpolation, records."""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.linear.vectors import is_finite, normalise
from kane.engine.memory.run_codes import RHS
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of, notes_of
from kane.engine.memory.views import constraint_header_at, constraint_lists_at, projection_residuals_at


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
def call_mode(system: Any, program: int, t: float, x: Any, out: Any) -> None:
    """Call a program of the mode in force at time t and state x, with the inputs as they are."""
    state, mode = system.state, mode_of(system)
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(mode.addresses[program], state, system.inputs, system.stages[mode.places[program] :], out, system.work)


@native_inline
def project(projection: Any, system: Any, t: float, x: Any) -> None:
    """Put the state x at time t onto the constraints, where there are any, and note what was found.

    What the exact motion satisfies, a step misses by its error, and that is how far the state is moved: the order of
    the method stays. A state that is not finite stays as it is.
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
def keep_selection(projection: Any, system: Any) -> bool:
    """Take note of the choice of independent speeds in force; whether it is another one than before."""
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
def slope(system: Any, interpolated: Any, t: float, x: Any, out: Any) -> None:
    """Write f(t, x) with the inputs of time t; held ones stay as they are."""
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    call_mode(system, RHS, t, x, out)


@native_inline
def between(store: Any, dense: Any, h: float, theta: float, quaternions: Any, out: Any) -> None:
    """Write the state at the part theta of the step of h seconds that starts from x.

    x + h sum_j k_j b_j(theta), where b_j(theta) = sum_m dense[j, m] theta^(m + 1).
    """
    x, slopes = store.x, store.slopes
    for i in range(x.size):
        out[i] = 0.0
    for j in range(dense.shape[0]):
        weight = 0.0
        for m in range(dense.shape[1] - 1, -1, -1):
            weight = (weight + dense[j, m]) * theta
        for i in range(x.size):
            out[i] += weight * slopes[j, i]
    for i in range(x.size):
        out[i] = x[i] + h * out[i]
    normalise(out, quaternions)


@native_inline
def write_row(store: Any, t: float, x: Any, notes: Any) -> None:
    """Record the state x at time t, and what settling it has noted."""
    row = counts_of(store).rows[0]
    store.rows[row, 0] = t
    for i in range(x.size):
        store.rows[row, 1 + i] = x[i]
    for i in range(notes.size):
        store.rows[row, 1 + x.size + i] = notes[i]
    counts_of(store).rows[0] = row + 1


@native_inline
def wants_rows_within(store: Any, course: Any, t1: float) -> bool:
    """Whether a record lies strictly before the end t1 of the step."""
    row = counts_of(store).rows[0]
    return bool(course.every == 0 and row < course.times.size and (t1 - course.times[row]) * _way(course) > 0.0)


@native_inline
def record(store: Any, course: Any, dense: Any, span: Any, system: Any) -> None:
    """Record what the step passes: store.x to store.y, span = its start, its length and its end.

    The end may lie before start + length, where an event ended the run: it is then recorded.
    """
    t, h, t1 = span
    last = counts_of(store).ended[0] > 0 or t1 == course.until
    if course.every > 0:
        if last or (ends_whole(store, course) and (counts_of(store).steps[0] + 1) % course.every == 0):
            write_row(store, t1, store.y, system.projection.notes)
        return
    while wants_rows_within(store, course, t1):
        at = course.times[counts_of(store).rows[0]]
        between(store, dense, h, (at - t) / h, system.quaternions, store.z)
        look_aside(system, at, store.z)
        write_row(store, at, store.z, system.aside.notes)
    row = counts_of(store).rows[0]
    if last or (row < course.times.size and course.times[row] == t1):
        write_row(store, t1, store.y, system.projection.notes)


@native_inline
def ends_whole(store: Any, course: Any) -> bool:
    """Whether a step counts: all do, but those of fixed steps that were cut to end before the grid."""
    return bool(course.step == 0.0 or clock_of(store).cut_step[0] == 0.0)


@native_inline
def look_aside(system: Any, t: float, x: Any) -> None:
    """Put a state that is only looked at onto the constraints; it counts as many switches as the run."""
    project(system.aside, system, t, x)
    if system.aside.notes.size > 0:
        notes_of(system.aside).switches[0] = notes_of(system.projection).switches[0]


@native_inline
def _way(course: Any) -> float:
    """1 where time runs forwards, -1 where backwards."""
    return 1.0 if course.until >= course.start else -1.0
