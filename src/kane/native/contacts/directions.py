"""Directions of slip, which settling the end of a step turns, as they were where a fixed step is cut.

Friction of slow slip reads the direction of the last step (``slip_direction``). Where a fixed step is cut and taken
again, shorter, that is the one at its start: with that of the end which has been given up, what slips by rounding there
would make friction of the next try, and its rounding friction of the one behind it. Steps that adapt keep the direction
that a try has found: where slip begins and turns at once, tries with the old one reverse what does not reverse.
"""

from __future__ import annotations

from typing import Any

from kane.native.arrays import SETTLE
from kane.native.call import native_inline
from kane.native.contacts.header import ALONG, BEFORE, CHANGING, changing_at
from kane.native.header import COMING

native_inline(changing_at)


@native_inline
def keep_directions(system: Any) -> None:
    """Keep the directions of slip with which a step was taken, before its end is settled."""
    _copy(system, ALONG, BEFORE)


@native_inline
def restore_directions(system: Any) -> None:
    """Bring them back: the step is cut."""
    _copy(system, BEFORE, ALONG)


@native_inline
def _copy(system: Any, given: int, to: int) -> None:
    if system.settling.notes.size > 0:
        start = system.mode[SETTLE + 1]
        head = system.headers[start:]
        first = start + changing_at(head, head[COMING])
        for k in range(head[COMING]):
            at = first + k * CHANGING
            system.stages[at + to] = system.stages[at + given]
            system.stages[at + to + 1] = system.stages[at + given + 1]
