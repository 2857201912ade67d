"""Constraints that come and go where gimbals change their angles besides, as native programs over the one stage.

Guards are those of the charts, then those of the candidates. A guard of a chart that is negative changes the charts and
nothing else: statuses, directions of slip and what is armed are of bodies, whatever angles these are described by, and
go into the stage of the next charts (``kane.simulation.modes.charted_contacts``).

A block of 64-bit integers lies right before the stage of the first program of the header.
"""

from __future__ import annotations

from typing import Any

from kane.native.call import call_program, integers_at, native_inline, native_program, vector_at
from kane.native.contacts.blocks import change_places
from kane.native.contacts.header import (
    ADOPTED,
    ALONG,
    BLOCK,
    CANDIDATES,
    CHANGING,
    NONE,
    NOTHING,
    STATUS,
    block_at,
    changing_at,
)
from kane.native.header import CONSTRAINTS, COORDINATES, HEADER, ROWS, SPEEDS, STAGES

# Addresses of the guards and of the change of the candidates alone; addresses and places of the stages of the guards of
# the charts and of their change; how many charts there are; the key of those in force.
GUARDS, CHANGE, NEAR, CARRY, CHARTS, KEY = 0, 1, 2, 4, 6, 7
CHARTED = 8


for places in (block_at, changing_at, change_places):
    native_inline(places)


@native_inline
def _charts_at(stage: Any) -> int:
    """Where in a stage the block starts."""
    return int(integers_at(stage, 0, HEADER)[STAGES + CONSTRAINTS] - CHARTED)


@native_inline
def _call(address: int, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Call a program, from pointers."""
    given, place, result = vector_at(rest, 0, 0), vector_at(stage, 0, 0), vector_at(out, 0, 0)
    call_program(address, vector_at(state, 0, 0), given, place, result, vector_at(work, 0, 0))


@native_inline
def _call_own(c: Any, which: int, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Call a program of the charts."""
    given, place, result = vector_at(rest, 0, 0), vector_at(stage, c[which + 1], 0), vector_at(out, 0, 0)
    call_program(c[which], vector_at(state, 0, 0), given, place, result, vector_at(work, 0, 0))


@native_program
def guards(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """A number for each chart, then what the guards of the candidates give."""
    c = integers_at(stage, _charts_at(stage), CHARTED)
    _call_own(c, NEAR, state, rest, stage, out, work)
    given, place, behind = vector_at(rest, 0, 0), vector_at(stage, 0, 0), vector_at(out, c[CHARTS], 0)
    call_program(c[GUARDS], vector_at(state, 0, 0), given, place, behind, vector_at(work, 0, 0))


@native_program
def change(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Other charts where a guard of theirs is negative, else an excursion; see ``ChangePlaces``."""
    c = integers_at(stage, _charts_at(stage), CHARTED)
    near = vector_at(out, 0, c[CHARTS])
    _call_own(c, NEAR, state, rest, stage, out, work)
    beside = False
    for guard in near:
        beside = beside or guard < 0.0
    head = integers_at(stage, 0, HEADER)
    nc = integers_at(stage, block_at(head), BLOCK)[CANDIDATES]
    at = change_places(nc, head[ROWS], head[SPEEDS], head[COORDINATES])
    result = vector_at(out, 0, at.end)
    if not beside:
        _call(c[CHANGE], state, rest, stage, out, work)
        if result[at.status] == ADOPTED:
            result[at.status] = c[KEY]
        return
    _call_own(c, CARRY, state, rest, stage, out, work)
    for place in range(at.cause, at.directions):
        result[place] = 0.0
    result[at.cause], result[at.kind] = NONE, NOTHING
    first = changing_at(head, nc)
    changing, along = integers_at(stage, first, CHANGING * nc), vector_at(stage, first, CHANGING * nc)
    for k in range(nc):
        result[at.directions + 2 * k] = along[k * CHANGING + ALONG]
        result[at.directions + 2 * k + 1] = along[k * CHANGING + ALONG + 1]
        result[at.statuses + k] = changing[k * CHANGING + STATUS]
