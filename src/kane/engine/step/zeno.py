"""Steps and changes that take no more time than rounding."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline
from kane.engine.memory.loop_arguments import AT_ONCE
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import mode_change_at

ROUNDING = 2.0**-52
# Changes count as changes at one instant where each takes, on average, at most this many of the shortest steps. A guard
# that contradicts the mode which ``change`` finds ends every step after one to five of them.
CREEPING = 16.0


@native_inline
def shortest_cut(course: Any, counts: Any) -> float:
    """How short a cut step may be: times are told apart, and four times as long with each one that missed its guard.

    Over steps in which the state moves by some units in its last place a guard may stay at zero for good.
    """
    return float(_least_cut(course) * 4.0 ** float(min(counts.missed[0], 20)))


@native_inline
def creeps(course: Any, store: Any, guards: int) -> bool:
    """Check whether the latest changes take no more time than rounding: AT_ONCE, and one for each guard.

    Bodies that land together may change as often as they have guards, within a few roundings of the time.
    """
    many = AT_ONCE + guards
    first, within = counts_of(store).changes[0] - many, CREEPING * many * _least_cut(course)
    return bool(
        first >= 0 and abs(clock_of(store).time[0] - mode_change_at(store.changes[first], 0, 0).time[0]) <= within
    )


@native_inline
def _least_cut(course: Any) -> float:
    """Return the length of a step over which times are told apart [s]."""
    return float(4.0 * ROUNDING * max(abs(course.start), abs(course.until)))
