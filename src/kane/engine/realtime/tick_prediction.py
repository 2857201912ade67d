"""The next tick, taken before it is due: where its contacts will meet is found, and what follows from that.

While a loop would sleep the next tick is taken on copies, with the hand where it will be if it goes on as it goes: the
predictor of Gillespie's multi-rate scheme. Where the hand is then as it was foreseen, as nearly as its encoders tell
and a hundredth of the largest force allows, the mechanism gets the image that was foreseen, whether there was time to
try the tick or not: what a session does follows from samples and commands alone. If there was time, the copies are
what the tick would lead to, bit for bit, and become the state. If there was not, or the hand went elsewhere, the tick
takes its own step. What the hand feels is always of the hand as it is.

Source: Gillespie 2003, end of section 4.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.memory.loop_arguments import (
    AT_ONCE,
    CHANGE_FOUND,
    CHANGE_ROWS,
    CHANGED,
    DONE,
    FOUND,
    GOING,
    KNOWN,
    ROWS,
)
from kane.engine.realtime.loop_arrays import (
    ADOPTED,
    AGREES,
    DAMPER,
    FORESEEN,
    FORETOLD,
    IMAGE,
    MARCHED,
    RATE,
    REFUSED,
    SPRING,
    STEP,
    TICKS,
    TRIED,
    TRIED_PARTS,
    TRYING,
    UNTRIED,
)
from kane.engine.realtime.machine_calls import clock
from kane.engine.step.guards import has_guards

# Parts into which changes of modes may cut one step.
PARTS = 200
# A time of the clock that does not come.
NEVER = 2**62


@native_inline
def drive(s: Any, system: Any, store: Any) -> None:
    """The inputs of the coupler for the next step."""
    at, moving, inputs = s.grip.inputs, s.moving, system.inputs
    for i in range(7):
        inputs[at + i] = moving[IMAGE + i]
    for i in range(6):
        inputs[at + 7 + i] = moving[RATE + i]
    for group in range(2):
        inputs[at + 13 + group], inputs[at + 15 + group] = moving[SPRING + group], moving[DAMPER + group]
    store.counts[KNOWN] = 0


@native_inline
def _copy(source: Any, target: Any) -> None:
    for i in range(source.size):
        target[i] = source[i]


@native_inline
def _carry(system: Any, store: Any, to: Any, into: Any) -> None:
    """What a step moves, but for rows and inputs."""
    _copy(store.x, into.x)
    _copy(store.clock, into.clock)
    _copy(store.counts, into.counts)
    _copy(system.mode, to.mode)
    _copy(system.stages, to.stages)
    _copy(system.projection.kept, to.projection.kept)
    _copy(system.projection.notes, to.projection.notes)
    _copy(system.projection.least, to.projection.least)
    _copy(system.aside.kept, to.aside.kept)
    _copy(system.aside.notes, to.aside.notes)


@native_inline
def try_tick(s: Any, system: Any, store: Any, until: int) -> None:
    """Take the next step on the copies, as far as a time of the clock allows [ns]; nothing of the session changes."""
    a, counts = s.ahead, s.counts
    if counts[MARCHED] != GOING or counts[TICKS] == 0:
        return
    _carry(system, store, a.system, a.store)
    _copy(system.inputs, a.system.inputs)
    _copy(a.moves[0], a.copies[0])
    _copy(a.moves[1], a.copies[1])
    _copy(a.moves[2], a.copies[2])
    for i in range(s.moving.size - FORESEEN):
        a.system.inputs[s.grip.inputs + i] = s.moving[FORESEEN + i]
    of = a.store.counts
    of[ROWS] = of[FOUND] = of[CHANGED] = of[KNOWN] = 0
    counts[TRIED], counts[TRIED_PARTS] = TRYING, 0
    _go_on(s, store, until)


@native_inline
def _go_on(s: Any, store: Any, until: int) -> None:
    """Parts of the step on the copies, until it is done, cannot go on, or a time of the clock has come."""
    a, calls, counts = s.ahead, s.calls, s.counts
    while counts[TRIED] == TRYING:
        call_program(calls.addresses[STEP], a.step, a.step, a.step, calls.doubles, calls.doubles)
        counts[TRIED_PARTS] += 1
        if calls.words[0] != GOING:
            counts[TRIED] = REFUSED
        elif a.store.counts[DONE] != store.counts[DONE]:
            counts[TRIED] = FORETOLD
        elif counts[TRIED_PARTS] == PARTS:
            counts[TRIED] = REFUSED
        if until != NEVER and clock(calls) >= until:
            return


@native_inline
def adopt(s: Any, system: Any, store: Any) -> bool:
    """Make what was tried the state, where the tick gets the inputs with which it was tried; whether it did."""
    a, counts = s.ahead, s.counts
    if counts[TRIED] == UNTRIED or counts[AGREES] == 0:
        return False
    for i in range(s.grip.inputs):
        if a.system.inputs[i] != system.inputs[i]:
            return False
    _go_on(s, store, NEVER)
    rows, found, changed = store.counts[ROWS], store.counts[FOUND], store.counts[CHANGED]
    new, full = a.store.counts, changed + a.store.counts[CHANGED] + AT_ONCE > store.changes.shape[0]
    if counts[TRIED] != FORETOLD or (has_guards(system) and full):
        return False
    for k in range(new[ROWS]):
        _copy(a.store.rows[k], store.rows[rows + k])
    for k in range(new[CHANGED]):
        _copy(a.store.changes[k], store.changes[changed + k])
        store.changes[changed + k, CHANGE_ROWS] += rows
        store.changes[changed + k, CHANGE_FOUND] += found
    _carry(a.system, a.store, system, store)
    store.counts[ROWS], store.counts[FOUND], store.counts[CHANGED] = rows + new[ROWS], found, changed + new[CHANGED]
    _copy(a.copies[0], a.moves[0])
    _copy(a.copies[1], a.moves[1])
    _copy(a.copies[2], a.moves[2])
    counts[ADOPTED] += 1
    return True
