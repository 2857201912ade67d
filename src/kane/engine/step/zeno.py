"""Zeno behaviour: transitions that take no more time than rounding errors of the time."""

from __future__ import annotations

from kane.engine.call import native_inline
from kane.engine.linear.factorizations import ROUNDING
from kane.engine.memory.loop_arguments import AT_ONCE, Course, Store
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import RunCounts, transition_note_at

# Transitions count as simultaneous if they take on average at most this many times the shortest step. A guard that
# contradicts the mode found by TRANSITION ends every step after one to five times the shortest step.
ZENO_STEPS = 16.0


@native_inline
def shortest_step(course: Course, counts: RunCounts) -> float:
    """Return the shortest length of a cut step [s]: times differ, and 4 times as much after each missed guard.

    Over shorter steps the state may change by rounding errors only, so that a guard remains zero for ever.
    """
    return float(time_resolution(course) * 4.0 ** float(min(counts.missed[0], 20)))


@native_inline
def is_zeno(course: Course, store: Store, guards: int) -> bool:
    """Check whether the latest transitions, AT_ONCE and one for each guard, take no more time than rounding errors.

    Bodies that land together may cause as many transitions as they have guards within a few rounding errors.
    """
    many = AT_ONCE + guards
    first, within = counts_of(store).transitions[0] - many, ZENO_STEPS * many * time_resolution(course)
    if first < 0:
        return False
    return bool(abs(clock_of(store).time[0] - transition_note_at(store.transitions[first], 0, 0).time[0]) <= within)


@native_inline
def time_resolution(course: Course) -> float:
    """Return the length of the shortest step that changes the time reliably [s]."""
    return float(4.0 * ROUNDING * max(abs(course.start), abs(course.until)))
