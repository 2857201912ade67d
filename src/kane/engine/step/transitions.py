"""Transitions from mode to mode: a step is cut at its first negative guard, and the next step begins in a new mode."""

from __future__ import annotations

import math

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import AT_ONCE, Course, Matrix, StateEquation, Store, Tables
from kane.engine.memory.run_codes import (
    ASIDE,
    AT_END,
    ENDLESS,
    GOING,
    NO_GUARD,
    PROJECT,
    REFUSED,
    TRANSITION,
    UNKNOWN_MODE,
)
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of, samples_of
from kane.engine.memory.views import mode_programs_at, transition_note_at
from kane.engine.step.event_location import (
    NO_ROOT,
    Span,
    evaluate_at,
)
from kane.engine.step.guards import (
    accept_guards,
    clear_guard_history,
    first_guard,
    has_guards,
    is_any_negative,
    update_guard_history,
)
from kane.engine.step.slip_directions import restore_directions
from kane.engine.step.state_equation import (
    call_mode,
    interpolate,
    keep_selection,
    project,
)
from kane.engine.step.zeno import is_zeno, shortest_step

# Largest number of cuts of a step. Two or three cuts place the end of a step at the zero of its guard, to the accuracy
# of the time. More are taken only if the guard consists of rounding errors.
MOST_CUTS = 10
# Results of ``cut_step`` besides a status: the step is accepted, or is to be repeated.
ACCEPTED, REPEAT = GOING, -1


@native_inline
def is_full(system: StateEquation, store: Store) -> bool:
    """Check whether the store may lack room for the transitions at one state."""
    return bool(has_guards(system) and counts_of(store).transitions[0] + AT_ONCE > store.transitions.shape[0])


@native_inline
def cut_step(
    system: StateEquation, interpolated: Tables, course: Course, store: Store, dense: Matrix, span: Span
) -> int:
    """Accept a step in which no guard becomes negative, or only at its end; otherwise set its length to the first root.

    The shorter step is taken and checked again, because the dense output has larger errors than a step. A step that
    ends just behind a root is accepted with ``slope_known`` zero, so that the next step begins with a transition.

    Returns:
        ACCEPTED, REPEAT with the length in ``cut_step``, NO_GUARD, or ENDLESS at Zeno behaviour.
    """
    h, counts = abs(span[1]), counts_of(store)
    fraction = first_guard(system, interpolated, store, dense, span)
    if fraction != fraction:
        return NO_GUARD
    if fraction == NO_ROOT:
        guards = system.automaton.guards
        accept_guards(clock_of(store), counts, samples_of(guards).values[AT_END], span[2])
        return ACCEPTED
    shortest = shortest_step(course, counts)
    wanted = fraction * h + shortest
    if wanted < h - shortest and counts.cuts[0] < MOST_CUTS:
        clock_of(store).cut_step[0] = math.copysign(wanted, span[1])
        counts.cuts[0] += 1
        restore_directions(system, clock_of(store), system.automaton.guards.roots)
        return REPEAT
    if is_zeno(course, store, system.automaton.guards.out.size):
        restore_directions(system, clock_of(store), system.automaton.guards.roots)
        return ENDLESS
    counts.slope_known[0], counts.missed[0] = 0, counts.missed[0] + 1
    return ACCEPTED


@native_kernel
def take_transitions(system: StateEquation, interpolated: Tables, store: Store) -> int:
    """Take transitions until no guard is negative at the state of the store; at the start of a run at least one.

    Returns:
        GOING. UNKNOWN_MODE: Python has to append a row for the key ``wanted_key``, and may call again. REFUSED: the
        program TRANSITION has found no mode, and ``changed`` contains the reason. NO_GUARD: a guard is not finite.
        ENDLESS: more than AT_ONCE transitions.
    """
    guards, asked = system.automaton.guards, counts_of(store).started[0] == 0
    for _ in range(AT_ONCE):
        evaluate_at(guards, system, interpolated, clock_of(store).time[0], store.x)
        if not is_finite(guards.out):
            return NO_GUARD
        if not (asked or is_any_negative(guards.out)):
            update_guard_history(store, guards)
            return GOING
        asked = False
        status = _take_transition(system, interpolated, store)
        if status != GOING:
            return status
    return ENDLESS


@native_kernel
def _take_transition(system: StateEquation, interpolated: Tables, store: Store) -> int:
    """Compute the state and the mode after a guard, enter the mode, project the state, and record the transition."""
    x, t, automaton = store.x, clock_of(store).time[0], system.automaton
    changed, n = automaton.changed, x.size
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    call_mode(system, TRANSITION, t, x, changed)
    key, row = int(changed[n]), -1
    if key < 0:
        return REFUSED
    for k in range(automaton.table.shape[0]):
        if mode_programs_at(automaton.table[k], 0).key[0] == key:
            row = k
    if row < 0:
        counts_of(store).wanted_key[0] = key
        return UNKNOWN_MODE
    counts = counts_of(store)
    counts.missed[0] = 0
    clear_guard_history(clock_of(store))
    note = transition_note_at(store.transitions[counts.transitions[0]], 0, n)
    counts.transitions[0] += 1
    note.time[0], note.rows[0], note.events[0] = t, counts.rows[0], counts.events[0]
    note.key_before[0], note.key_after[0] = mode_of(system).key[0], key
    for i in range(n):
        note.before[i], x[i] = x[i], changed[i]
    enter_mode(system, row)
    project(system.projection, system, t, x)
    for i in range(n):
        note.after[i] = x[i]
    for i in range(note.notes.size):
        note.notes[i] = changed[n + 1 + i]
    return GOING


@native_inline
def enter_mode(system: StateEquation, row: int) -> None:
    """Enter the mode in a row of the table; probe states get the constants of PROJECT, with its speed selection."""
    places, stages = mode_of(system).places, system.stages
    for i in range(system.mode.size):
        system.mode[i] = system.automaton.table[row, i]
    for i in range(places[PROJECT], places[ASIDE]):
        stages[places[ASIDE] - places[PROJECT] + i] = stages[i]
    keep_selection(system.projection, system)
