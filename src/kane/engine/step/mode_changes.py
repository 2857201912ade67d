"""Changes of modes: where in a step a guard becomes negative, and what then leads to the next mode."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.loop_arguments import AT_ONCE, LOOKS, PROBES
from kane.engine.memory.run_codes import (
    ASIDE,
    AT_END,
    CHANGE,
    ENDLESS,
    FIRST_PROBE,
    GOING,
    LOOKS_BETWEEN,
    NO_GUARD,
    PROJECT,
    REFUSED,
    UNKNOWN_MODE,
)
from kane.engine.memory.run_memory import clock_of, counts_of, mode_of, samples_of
from kane.engine.memory.run_regions import KEPT_ENDS
from kane.engine.memory.views import guard_history_at, mode_change_at, mode_programs_at
from kane.engine.step.event_location import NONE, locate, look_at, probe_at, watched
from kane.engine.step.slip_directions import recall
from kane.engine.step.state_equation import call_mode, interpolate, keep_selection, project, slope
from kane.engine.step.zeno import creeps, shortest_cut

# A step is cut again until it ends at a zero of a guard as closely as times are told apart. It takes two or three; more
# are taken only where the guard is rounding itself.
MANY = 10
# A least value of a guard is looked for until its bracket is GRAZING of the step: what is negative for less touches.
GRAZING = 1e-6
GOLDEN = 0.381966
# Within a step guards are not looked at where each is, at both ends, more than so many times as large as it has varied
# over the ends of this and the last steps: it would have to vary that much more within this step than over all of them.
VARIED = 4.0
# What ``cut_step`` finds: the step stands, or is to be taken again; else a status.
STANDS, AGAIN = GOING, -1


@native_inline
def has_guards(system: Any) -> bool:
    """Whether the mode can change."""
    return bool(system.automaton.guards.out.size > 0)


@native_inline
def is_full(system: Any, store: Any) -> bool:
    """Whether the changes at one state might not fit into the store."""
    return bool(has_guards(system) and counts_of(store).changes[0] + AT_ONCE > store.changes.shape[0])


@native_kernel
def land(system: Any, interpolated: Any, t1: float, y: Any, out: Any) -> None:
    """The slope at the end of a step, and the guards there, which ``first_guard`` reads."""
    known = system.automaton.slope
    if known.size == 0 or not is_finite(y):
        slope(system, interpolated, t1, y, out)
    if has_guards(system) and is_finite(y):
        look_at_end(system, interpolated, t1, y)
        for i in range(known.size):
            out[i] = known[i]


@native_inline
def take_slope(system: Any, interpolated: Any, t: float, x: Any, out: Any) -> None:
    """The slope at a state at which guards were evaluated last."""
    given = system.automaton.slope
    if given.size == 0:
        slope(system, interpolated, t, x, out)
    for i in range(given.size):
        out[i] = given[i]


@native_inline
def look_at_end(system: Any, interpolated: Any, t1: float, y: Any) -> None:
    """Keep the guards at the end of a step for ``first_guard``."""
    guards = system.automaton.guards
    watched(guards, system, interpolated, t1, y)
    _keep_look(guards, AT_END)


@native_inline
def is_steady(clock: Any, ends: Any, span: Any) -> bool:
    """Whether no guard can be expected to become negative within the step, from how they have varied before.

    Steps before that are known, and not much shorter than this one, say so: see VARIED.

    Args:
        clock: of the store.
        ends: the guards at the end of the step.
        span: start, length and end of the step.
    """
    n, passed, last = ends.size, guard_history_at(clock.history, 0, ends.size).ends, KEPT_ENDS - 1
    t, h, _ = span
    if not (passed[last, 0] == t and (t - passed[0, 0]) * h >= h * h):
        return False
    for e in range(n):
        end = ends[e]
        low = high = end
        for k in range(KEPT_ENDS):
            value = passed[k, 1 + e]
            low, high = min(low, value), max(high, value)
        if not min(end, passed[last, 1 + e]) > VARIED * (high - low):
            return False
    return True


@native_inline
def stand(clock: Any, counts: Any, ends: Any, t1: float) -> None:
    """Keep the guards at the end t1 of a step that stands, in place of the oldest ones."""
    counts.missed[0] = counts.missed[0] + 1 if clock.cut_step[0] != 0.0 and counts.cuts[0] > 0 else 0
    passed, last = guard_history_at(clock.history, 0, ends.size).ends, KEPT_ENDS - 1
    for k in range(last):
        for i in range(1 + ends.size):
            passed[k, i] = passed[k + 1, i]
    passed[last, 0] = t1
    for e in range(ends.size):
        passed[last, 1 + e] = ends[e]


@native_inline
def forget(clock: Any) -> None:
    """Forget the guards at the ends of the last steps, because they may vary in another way from now on."""
    clock.history[:] = math.nan


@native_inline
def first_guard(system: Any, interpolated: Any, store: Any, dense: Any, span: Any) -> float:
    """The part of the step just behind which the first guard is negative; NONE, or NaN where a guard is no number.

    At the start of a step no guard is negative. Those at its end are there (``land``, ``look_at_end``); within it they
    are looked at where they are not steady.

    Args:
        system, interpolated: as for the native loops.
        store: x before, y after the step, slopes of all stages.
        dense: the interpolant.
        span: start, length and end of the step.
    """
    guards, context = system.automaton.guards, (system, interpolated)
    n = guards.out.size
    if is_steady(clock_of(store), samples_of(guards).values[AT_END], span):
        return NONE
    for probe in range(1, PROBES + 1):
        theta = probe / PROBES
        look = AT_END if probe == PROBES else FIRST_PROBE + probe - 1
        if probe < PROBES:
            look_at(guards, context, store, dense, span, theta)
            if not is_finite(guards.out) or _is_any_negative(guards.out):
                probe_at(guards, context, store, dense, span, theta)
            _keep_look(guards, look)
        seen = samples_of(guards).values[look]
        if not is_finite(seen):
            for e in range(n):
                guards.out[e] = seen[e]
            return math.nan
        first = _first_root(guards, context, store, dense, span, (look, theta - 1.0 / PROBES, theta))
        if first < NONE and probe < PROBES:
            return first  # the step is cut there, and looked at again
    return min(first, _first_dip(guards, context, store, dense, span))


@native_kernel
def _first_root(guards: Any, context: Any, store: Any, dense: Any, span: Any, bracket: Any) -> float:
    """Where the first guard becomes negative that is negative at the end of a bracket; NONE where none is.

    Of feet that stop together one after the other is looked for only as long as it is negative where the first is.
    """
    look, low, high = bracket
    n, first, looked = guards.out.size, NONE, False
    for e in range(n):
        if samples_of(guards).values[look, e] < 0.0:
            if first < NONE and not looked:
                probe_at(guards, context, store, dense, span, first)
                looked = True
            if first == NONE or guards.out[e] < 0.0:
                first = locate(guards, context, store, dense, span, (e, -1.0, low, min(first, high)))
                looked = False
    return first


@native_inline
def _keep_look(guards: Any, look: int) -> None:
    for e in range(guards.out.size):
        samples_of(guards).values[look, e] = guards.out[e]


@native_kernel
def _first_dip(guards: Any, context: Any, store: Any, dense: Any, span: Any) -> float:
    """The first place behind which a guard is negative that is negative at no probe; NONE where none is found.

    Two bodies may touch and part again between two probes. A guard that does so has a least value between them, so that
    of three looks in a row the middle one is lowest.
    """
    n, seen = guards.out.size, samples_of(guards).values
    for look in LOOKS_BETWEEN:
        look_at(guards, context, store, dense, span, LOOKS[look])
        _keep_look(guards, look)
    for look in range(1, LOOKS.size - 1):
        first, low, middle, high = NONE, LOOKS[look - 1], LOOKS[look], LOOKS[look + 1]
        for e in range(n):
            before, lowest, behind = seen[look - 1, e], seen[look, e], seen[look + 1, e]
            fall = (before - lowest) * (high - middle) / (middle - low)
            rise = (behind - lowest) * (middle - low) / (high - middle)
            # lines through two of the values bound what is convex from below
            if lowest < before and lowest <= behind and lowest <= max(fall, rise):
                theta = _below_zero(guards, context, store, dense, span, (e, low, high, before, behind))
                if theta < NONE:
                    first = min(first, locate(guards, context, store, dense, span, (e, -1.0, low, theta)))
        if first < NONE:
            return first
    return NONE


@native_inline
def _below_zero(guards: Any, context: Any, store: Any, dense: Any, span: Any, where: Any) -> float:
    """A place between low and high at which guard e is negative, by golden section; NONE where its least value is not.

    A gap counts as zero while it opens, so that on equal values the earlier side is the one to look at. Lines through
    the new values and their neighbours bound a convex guard from below: the search ends where no line reaches zero.

    Args:
        guards, context, store, dense, span: as for ``first_guard``.
        where: number of the guard, low and high, and its values there.
    """
    e, low, high, at_low, at_high = where
    while high - low > GRAZING:
        left, right = low + GOLDEN * (high - low), high - GOLDEN * (high - low)
        look_at(guards, context, store, dense, span, left)
        at_left = guards.out[e]
        if at_left < 0.0:
            return left
        look_at(guards, context, store, dense, span, right)
        at_right = guards.out[e]
        if at_right < 0.0:
            return right
        # of each part, the line through the two nearest values outside of it
        outer, inner = (left - low) / (right - left), (right - left) / (left - low)
        left_least = at_left - max((at_right - at_left) * outer, (at_low - at_left) * inner, 0.0)
        right_least = at_right - max((at_left - at_right) * outer, (at_high - at_right) * inner, 0.0)
        if min(left_least, right_least) > 0.0:
            return NONE
        if at_left <= at_right:
            high, at_high = right, at_right
        else:
            low, at_low = left, at_left
    return NONE


@native_inline
def cut_step(system: Any, interpolated: Any, course: Any, store: Any, dense: Any, span: Any) -> int:
    """Whether a step can stand as it is: no guard is negative within, or one becomes so at its very end.

    Else it is to be taken again, so long that it ends there, and looked at again: the interpolant says where, but has
    larger errors than a step. Where a step ends with a guard that is negative, the slope there is not that of the next
    step: the next step begins with a change.

    Returns:
        STANDS, AGAIN with the length to take in ``cut_step``, NO_GUARD, or ENDLESS where the changes creep.
    """
    h, counts = abs(span[1]), counts_of(store)
    part = first_guard(system, interpolated, store, dense, span)
    if part != part:
        return NO_GUARD
    if part == NONE:
        guards = system.automaton.guards
        stand(clock_of(store), counts, samples_of(guards).values[AT_END], span[2])
        return STANDS
    shortest = shortest_cut(course, counts)
    wanted = part * h + shortest
    if wanted < h - shortest and counts.cuts[0] < MANY:
        clock_of(store).cut_step[0] = math.copysign(wanted, span[1])
        counts.cuts[0] += 1
        recall(system, clock_of(store), system.automaton.guards.roots)
        return AGAIN
    if creeps(course, store, system.automaton.guards.out.size):
        recall(system, clock_of(store), system.automaton.guards.roots)
        return ENDLESS
    counts.slope_known[0], counts.missed[0] = 0, counts.missed[0] + 1
    return STANDS


@native_kernel
def change_modes(system: Any, interpolated: Any, store: Any) -> int:
    """Change the mode until no guard is negative at the state of the store; at the start of a run once in any case.

    Returns:
        GOING; UNKNOWN_MODE: Python has to append a row for the key ``wanted_key``, and may call again; REFUSED:
        what CHANGE says is in ``changed``; NO_GUARD: a guard is no number; ENDLESS.
    """
    guards, asked = system.automaton.guards, counts_of(store).started[0] == 0
    for _ in range(AT_ONCE):
        watched(guards, system, interpolated, clock_of(store).time[0], store.x)
        if not is_finite(guards.out):
            return NO_GUARD
        if not (asked or _is_any_negative(guards.out)):
            _renew(store, guards)
            return GOING
        asked = False
        status = _change_once(system, interpolated, store)
        if status != GOING:
            return status
    return ENDLESS


@native_inline
def _renew(store: Any, guards: Any) -> None:
    """The guards at the start of a step in place of those at the end of the last: inputs may have jumped."""
    clock, last = clock_of(store), KEPT_ENDS - 1
    passed = guard_history_at(clock.history, 0, guards.out.size).ends
    if passed[last, 0] == clock.time[0]:
        for e in range(guards.out.size):
            passed[last, 1 + e] = guards.out[e]


@native_inline
def _is_any_negative(values: Any) -> bool:
    found = False
    for value in values:
        found = found or value < 0.0
    return found


@native_kernel
def _change_once(system: Any, interpolated: Any, store: Any) -> int:
    """The state and the mode behind a guard; the state is then put onto the constraints of that mode."""
    x, t, automaton = store.x, clock_of(store).time[0], system.automaton
    changed, n = automaton.changed, x.size
    if interpolated.column.size > 0:
        interpolate(interpolated, t, system.inputs)
    call_mode(system, CHANGE, t, x, changed)
    key, row = int(changed[n]), -1
    if key < 0:
        return REFUSED
    for k in range(automaton.table.shape[0]):
        if mode_programs_at(automaton.table[k], 0).key[0] == key:
            row = k
    if row < 0:
        counts_of(store).wanted_key[0] = key
        return UNKNOWN_MODE
    counts_of(store).missed[0] = 0
    forget(clock_of(store))  # what was before says nothing of the next mode
    counts = counts_of(store)
    note = mode_change_at(store.changes[counts.changes[0]], 0, n)
    counts.changes[0] += 1
    note.time[0], note.rows[0], note.events[0] = t, counts.rows[0], counts.events[0]
    note.key_before[0], note.key_after[0] = mode_of(system).key[0], key
    for i in range(n):
        note.before[i], x[i] = x[i], changed[i]
    enter(system, row)
    project(system.projection, system, t, x)
    for i in range(n):
        note.after[i] = x[i]
    for i in range(note.notes.size):
        note.notes[i] = changed[n + 1 + i]
    return GOING


@native_inline
def enter(system: Any, row: int) -> None:
    """Put a row of the table in force: states looked at are settled as the run is, by a choice that is no new one."""
    places, stages = mode_of(system).places, system.stages
    for i in range(system.mode.size):
        system.mode[i] = system.automaton.table[row, i]
    for i in range(places[PROJECT], places[ASIDE]):
        stages[places[ASIDE] - places[PROJECT] + i] = stages[i]
    keep_selection(system.projection, system)
