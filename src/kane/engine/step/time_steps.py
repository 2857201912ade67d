"""Moreau-Jean time steps of a run: the native loop, one step, and its note.

A step locates no events of contacts. The contact mode after a step follows from its impulses; a run notes the steps
after which this mode differs from the mode before.
"""

from __future__ import annotations

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.contact_codes import ADOPTED, NONE, OPEN
from kane.engine.memory.loop_arguments import (
    Course,
    InputTables,
    StateEquation,
    Store,
    TimeStep,
    Watch,
)
from kane.engine.memory.run_codes import GOING, NOT_FINITE, REFUSED, TRANSITION
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of
from kane.engine.memory.views import time_step_given_at, transition_at, transition_note_at
from kane.engine.step.event_location import first_signs
from kane.engine.step.explicit import cut_at_stops, fixed_step
from kane.engine.step.sampling import take_samples
from kane.engine.step.state_equation import hold, interpolate, slope
from kane.engine.step.step_ends import end_step
from kane.engine.step.transitions import enter_mode, is_full


@native_loop
def integrate_time_steps(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    p: TimeStep,
    steps: int,
) -> int:
    """Take steps, and stop early if the run ends or the store has no room for further transitions.

    Args:
        system: state equation; ``Automaton.changed`` gets the outputs of a step that fails.
        tables: held and interpolated inputs, and sampled controllers; both are read in the middle of a step.
        course: time span, fixed steps and record times.
        watch: expressions of events.
        store: integrator state, with room for the records and events of these steps.
        p: program of a step.
        steps: number of steps.

    Returns:
        GOING, NOT_FINITE, or REFUSED if a step finds no impulses. x is the last state reached.
    """
    x, y, clock, counts = store.x, store.y, clock_of(store), counts_of(store)
    for _ in range(steps):
        if counts.ended[0] > 0 or clock.time[0] == course.until or is_full(system, store):
            break
        cut_at_stops(course, clock, counts)
        h, t1 = fixed_step(course, clock, counts)
        t, middle = clock.time[0], 0.5 * (clock.time[0] + t1)
        if not _set_inputs(system, tables, store, p, middle):
            return NOT_FINITE
        if counts.started[0] == 0:
            counts.started[0] = 1
            if watch.out.size > 0:
                first_signs(watch, system, tables[1], t, x)
        if not take_time_step(p, system, store, h):
            for i in range(p.out.size):
                system.automaton.changed[i] = p.out[i]
            return REFUSED
        if not is_finite(y):
            return NOT_FINITE
        for i in range(x.size):
            store.slopes[0, i] = (y[i] - x[i]) / h
        note = counts.transitions[0]
        if _keep_step(p):
            note_time_step(p, system, store, t1)
        first = counts.rows[0]
        end_step(system, tables[1], course, watch, store, p.dense, (t, h, t1), 0)
        _record_forces(p, x.size, first, counts.rows[0])
        if counts.transitions[0] > note:  # a terminal event ends the step before t1
            transition_note_at(store.transitions[note], 0, x.size).time[0] = clock.time[0]
    return GOING


@native_inline
def take_time_step(p: TimeStep, system: StateEquation, store: Store, h: float) -> bool:
    """Take a step of h seconds from the state of the store; y is its end. Return whether it found impulses."""
    n = store.x.size
    given = time_step_given_at(p.given, 0, n, p.rows)
    given.state[0], given.length[0] = clock_of(store).time[0], h
    for i in range(n):
        given.state[1 + i] = store.x[i]
    constants = system.stages[mode_of(system).places[TRANSITION] :]
    call_program(p.program, p.given, system.inputs, constants, p.out, system.work)
    if p.out[n] != ADOPTED:
        return False
    for i in range(n):
        store.y[i] = p.out[i]
    enter_mode(system, system.automaton.table.shape[0] - 1)  # contacts have one key; the newest row is active
    return True


@native_inline
def note_time_step(p: TimeStep, system: StateEquation, store: Store, end: float) -> None:
    """Note the step from x to y that ends at a time, and its mode."""
    n, counts = store.x.size, counts_of(store)
    note = transition_note_at(store.transitions[counts.transitions[0]], 0, n)
    counts.transitions[0] += 1
    note.time[0], note.rows[0], note.events[0] = end, counts.rows[0], counts.events[0]
    note.key_before[0] = note.key_after[0] = mode_of(system).key[0]
    for i in range(n):
        note.before[i], note.after[i] = store.x[i], store.y[i]
    for i in range(note.notes.size):
        note.notes[i] = p.out[n + 1 + i]


@native_inline
def _set_inputs(system: StateEquation, tables: InputTables, store: Store, p: TimeStep, middle: float) -> bool:
    """Set the inputs of a step, at its middle; return False if a Python function failed."""
    held, interpolated, _ = tables
    t = clock_of(store).time[0]
    if held.column.size > 0:
        take_samples(tables, system, t, store.x)
        hold(held, middle, system.inputs)
    if interpolated.column.size > 0:
        interpolate(interpolated, middle, system.inputs)
    if p.asks == 1:
        slope(system, interpolated, t, store.x, store.slopes[0])
        return is_finite(store.slopes[0])
    return True


@native_inline
def _record_forces(p: TimeStep, nx: int, first: int, last: int) -> None:
    """Write the mean forces of the rows over a step for the records that it wrote."""
    given = time_step_given_at(p.given, 0, nx, p.rows)
    for r in range(first, last):
        for row in range(p.rows):
            p.forces[r, row] = given.guess[row] / given.length[0]


@native_inline
def _keep_step(p: TimeStep) -> bool:
    """Keep the mode after a step, and its impulses as guesses for the next step; return whether the run notes the step.

    It notes a step after which the mode differs from the mode before, or within which an impact ended. The note blames
    no constraint.
    """
    step, found = transition_at(p.out, 0, p.constraints, p.rows, p.speeds, p.coordinates), False
    given = time_step_given_at(p.given, 0, p.speeds + p.coordinates, p.rows)
    for k in range(p.constraints):
        bounced = step.statuses[k] == OPEN and p.normals[k] != NONE and step.impulses[max(p.normals[k], 0)] > 0.0
        found = found or bounced or p.statuses[k] != step.statuses[k]
        p.statuses[k] = step.statuses[k]
    for row in range(p.rows):
        given.guess[row] = step.impulses[row]
    step.cause[0] = NONE
    return found
