"""The loop of a haptic session: read, couple, clamp, write, integrate; one native function that knows no Python.

A force is written before the step that it belongs to is integrated, so that what the step costs adds nothing to the
delay that hands feel. Ticks that are late are made up for at once, with the newest sample; more than MISSED of them
end the force, and what is lost then is counted: simulated time stands still for so long and does not go slowly.

Source: Gillespie 2003, section 4.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.memory.loop_arguments import StateEquation, Store
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.realtime import device_sample as sample
from kane.engine.realtime.coupler import (
    account_for_hand,
    account_for_mechanism,
    be_at_handle,
    couple,
    foresee,
    look_ahead,
    take_together,
)
from kane.engine.realtime.loop_arrays import (
    AGE,
    ARM,
    ARMED,
    ARMED_BY,
    AS_RECORDED,
    AT,
    BEFORE,
    BEHIND,
    BETWEEN,
    BY_CLOCK,
    CLUTCH,
    DAMPER,
    DISARM,
    DISARMED_BY,
    EARLY,
    ENDING,
    EVERY,
    FAULT,
    FORCED,
    FULL,
    GIVEN,
    GIVEN_IN,
    GIVEN_OUT,
    GONE,
    HAND,
    HANDLE,
    HELD,
    HOW,
    IDLE,
    IMAGE,
    LATE,
    LEVEL,
    LOST,
    MARCHED,
    MATRIX,
    MEASURED,
    MISSED,
    NO_STEP,
    NOW,
    OF_ENERGIES,
    OF_FAULT,
    OF_FORCE,
    OF_HAND,
    OF_HANDLE,
    OF_IMAGE,
    OF_LEVEL,
    OF_PULL,
    OF_SAMPLE,
    OF_SETTINGS,
    OF_STATUS,
    OVERRUN,
    OWN,
    PERIOD,
    PUBLISHED,
    PULL,
    RAMP,
    RATE,
    SEIZED,
    SLEEP,
    SOUND,
    SPIN,
    SPRING,
    STATUS,
    STEP,
    STOP,
    TAKEN,
    TICKS,
    TOO_MANY,
    TRIED,
    UNTRIED,
    WANTED,
    WATCHED,
    WORKED,
    WRITTEN,
    ZERO,
    Circuit,
    Indices,
)
from kane.engine.realtime.machine_calls import clock, exchange, fence, write_alone
from kane.engine.realtime.moreau_jean_tick import pass_over
from kane.engine.realtime.rotations import quaternion_of
from kane.engine.realtime.safety import clamp, examine, fail, rise
from kane.engine.realtime.tick_prediction import PARTS, adopt, drive, try_tick

# What ends a loop of ticks: all are done; it was told to stop; the simulation cannot go on.
ALL, STOPPED, BROKEN = range(3)


@native_inline
def _sleep(calls: Any, until: int) -> None:
    """Sleep until a time; not at all where it has come."""
    left = until - clock(calls)
    if left > 0:
        calls.words[0] = left
        call_program(calls.addresses[SLEEP], calls.doubles, calls.doubles, calls.doubles, calls.doubles, calls.doubles)


@native_inline
def _wait(s: Any, system: Any, store: Any, pace: Any, due: int) -> int:
    """Until a time: asleep, then trying the tick that is due, then looking at the clock; how late it is then [ns]."""
    calls, spin, early = s.calls, pace[SPIN], pace[EARLY]
    _sleep(calls, due - spin - early)
    if early > 0:
        try_tick(s, system, store, due - spin)
    late = clock(calls) - due
    while late < 0:
        late = clock(calls) - due
    return late


@native_inline
def _take_command(s: Any, system: Any) -> None:
    """Put a new command in force, where there is one, and write it down."""
    counts, desk = s.counts, s.desk
    new = False
    if desk.script.shape[0] > 0:
        k = counts[TAKEN]
        if k < desk.script.shape[0] and desk.script[k, 0] <= counts[TICKS]:
            for i in range(desk.slots.shape[1]):
                desk.slots[counts[OWN], i] = desk.script[k, 1 + i]
            new = True
    elif counts[BETWEEN] >= FULL:
        counts[OWN] = exchange(s, BETWEEN, counts[OWN]) - FULL
        new = True
    command = desk.slots[counts[OWN]]
    if new:
        for i in range(command.size - GIVEN):
            system.inputs[i] = command[GIVEN + i]
        if counts[TAKEN] < desk.taken.shape[0]:
            row = desk.taken[counts[TAKEN]]
            row[0] = counts[TICKS]
            for i in range(command.size):
                row[1 + i] = command[i]
        counts[TAKEN] += 1


@native_inline
def _obey(s: Any, command: Any, found: int, now: float) -> None:
    """Arm, disarm, clutch: wherever hand and mechanism are taken together the coupler is without stretch."""
    counts, moving = s.counts, s.moving
    together = False
    if int(command[DISARM]) != counts[DISARMED_BY]:
        counts[DISARMED_BY] = int(command[DISARM])
        fail(s, SOUND, now)
    if int(command[ARM]) != counts[ARMED_BY] and counts[STATUS] != ENDING:
        counts[ARMED_BY] = int(command[ARM])
        if counts[STATUS] == IDLE and counts[MARCHED] == GOING and command[ARM] > command[DISARM]:
            counts[FAULT] = found
            if found == SOUND:
                counts[STATUS], counts[SEIZED], moving[LEVEL], together = ARMED, 0, 0.0, True
    held = command[CLUTCH] != 0.0
    together = together or (counts[HELD] == 1 and not held)
    counts[HELD] = 1 if held else 0
    if together:
        take_together(s)


@native_inline
def _look(s: Any, system: Any, store: Any) -> None:
    """Where the handle is, how it is turned, how fast, and the energies."""
    state = system.state
    state[0] = clock_of(store).time[0]
    for i in range(store.x.size):
        state[1 + i] = store.x[i]
    grip = s.grip
    call_program(grip.programs[0], state, system.inputs, grip.constants, grip.out, grip.work)
    quaternion_of(grip.out[MATRIX:], grip.turn)
    call_program(grip.programs[1], state, system.inputs, grip.constants_of_energy, grip.energy, grip.work)


@native_inline
def _write(s: Any, now: float) -> None:
    """Write force and torque, or zero where the watchdog has stepped in."""
    for i in range(6):
        s.port.command[sample.FORCE + i] = 0.0 if s.counts[SEIZED] == 1 else s.moving[WRITTEN + i]
    if not write_alone(s, now):
        fail(s, WATCHED, now)


@native_inline
def _step(s: Any, system: Any, store: Any) -> int:
    """One step of the mechanism under the coupler, in as many parts as changes of modes cut it into."""
    drive(s, system, store)
    if adopt(s, system, store):
        return GOING
    before, calls, status = counts_of(store).steps[0], s.calls, TOO_MANY
    for _ in range(PARTS):
        call_program(calls.addresses[STEP], calls.step, calls.step, calls.step, calls.doubles, calls.doubles)
        if calls.words[0] != GOING:
            status = int(calls.words[0])
            break
        if counts_of(store).steps[0] != before:
            return GOING
    return pass_over(s, system, store, status)


@native_inline
def _log(s: Any, row: Any, now: float, late: float) -> None:
    moving, counts = s.moving, s.counts
    row[AT], row[LATE], row[AGE] = now, late, now - moving[MEASURED] + s.rules[BEHIND]
    row[OF_STATUS], row[OF_FAULT], row[OF_LEVEL] = counts[STATUS], counts[FAULT], moving[LEVEL]
    for i in range(6):
        row[OF_FORCE + i], row[OF_PULL + i] = s.port.command[sample.FORCE + i], moving[PULL + i]
        row[OF_HAND + i] = moving[RATE + i]
    for i in range(7):
        row[OF_IMAGE + i] = moving[IMAGE + i]
    for group in range(2):
        row[OF_SETTINGS + group], row[OF_SETTINGS + 2 + group] = moving[SPRING + group], moving[DAMPER + group]
    for i in range(sample.SAMPLE):
        row[OF_SAMPLE + i] = s.port.sample[i]


@native_inline
def _note_energies(s: Any, at: Any) -> None:
    """Given to the hand by forces and to the mechanism, kinetic, potential, given to the hand by torques."""
    moving = s.moving
    at[0], at[1], at[4] = moving[GIVEN_OUT], moving[GIVEN_IN], moving[GIVEN_OUT + 1]
    at[2], at[3] = s.grip.energy[0], s.grip.energy[1]


@native_inline
def _publish(s: Any, store: Any, now: float) -> None:
    """A snapshot for others: its number is odd while it is written, so that whoever reads it knows (sequence lock)."""
    counts, shown = s.counts, s.desk.snapshot
    counts[PUBLISHED] += 1
    fence(s.calls)
    shown[0], shown[1], shown[2], shown[3] = counts[TICKS], now, counts[STATUS], counts[FAULT]
    for i in range(6):
        shown[4 + i] = s.port.command[sample.FORCE + i]
    _note_energies(s, shown[10:])
    shown[15] = clock_of(store).time[0]
    for i in range(store.x.size):
        shown[16 + i] = store.x[i]
    fence(s.calls)
    counts[PUBLISHED] += 1


@native_inline
def _begin_account(s: Any) -> None:
    """At the first tick neither hand nor handle has come from anywhere."""
    for i in range(7):
        s.calls.doubles[BEFORE + i] = s.moving[HAND + i]
    be_at_handle(s)


@native_inline
def _tick(s: Any, system: Any, store: Any, now: float, late: float, row: Any) -> int:
    """One tick; STOPPED where the command says so, BROKEN where the simulation stands and no force is left."""
    counts, moving, port = s.counts, s.moving, s.port
    scratch = s.calls.doubles
    for i in range(7):
        scratch[BEFORE + i] = moving[HAND + i]
    for i in range(6):
        scratch[FORCED + i] = port.command[sample.FORCE + i]
    scratch[NOW] = now
    call_program(port.programs[0], scratch[NOW : NOW + 1], port.table, port.settings, port.sample, port.memory)
    found = examine(s, now)
    look_ahead(s, now)
    if found != SOUND:
        fail(s, found, now)
    if late > s.rules[MISSED] * s.rules[PERIOD]:
        fail(s, OVERRUN, now)
    if counts[SEIZED] == 1:
        fail(s, WATCHED, now)
    if counts[TICKS] == 0:
        _look(s, system, store)
        _begin_account(s)
    account_for_hand(s)
    _note_energies(s, row[OF_ENERGIES:])
    for i in range(7):
        row[OF_HANDLE + i] = moving[HANDLE + i]
    _take_command(s, system)
    command = s.desk.slots[counts[OWN]]
    _obey(s, command, found, now)
    rise(s)
    couple(s, command, now)
    clamp(s, now, scratch[WANTED : WANTED + 6])
    _write(s, now)
    foresee(s, command)
    if counts[MARCHED] == GOING:
        counts[MARCHED] = _step(s, system, store)
        if counts[MARCHED] != GOING:
            fail(s, NO_STEP, now)
    counts[TRIED] = UNTRIED
    _look(s, system, store)
    account_for_mechanism(s)
    _log(s, row, now, late)
    counts[TICKS] += 1
    _publish(s, store, now)
    if counts[STATUS] != IDLE:
        return ALL
    if counts[MARCHED] != GOING:
        return BROKEN
    return STOPPED if command[STOP] != 0.0 else ALL


@native_loop
def run_ticks(circuit: Circuit, system: StateEquation, store: Store, pace: Indices, ticks: int) -> int:
    """So many ticks, see above.

    Args:
        circuit: a Circuit, whose log has a row for each tick of it so far and of these.
        system, store: of the march that ``calls.step`` advances.
        pace: see HOW.
        ticks: how many; the force ends within them.

    Returns:
        ALL, STOPPED or BROKEN.
    """
    s, rules, counts = circuit, circuit.rules, circuit.counts
    ending = int(rules[RAMP] / rules[PERIOD]) + 2
    for left in range(ticks, 0, -1):
        k = counts[TICKS]
        now, late, began = k * rules[PERIOD] + pace[GONE] * 1e-9, 0.0, 0
        if pace[HOW] == BY_CLOCK:
            due = pace[ZERO] + k * pace[EVERY]
            behind = _wait(s, system, store, pace, due)
            began = due + behind
            late = behind * 1e-9
            now += late
            if late > rules[MISSED] * rules[PERIOD]:
                whole = behind // pace[EVERY]
                counts[LOST] += whole
                pace[ZERO] += whole * pace[EVERY]
                pace[GONE] += whole * pace[EVERY]
        elif pace[HOW] == AS_RECORDED:
            now, late = s.desk.recorded[k, AT], s.desk.recorded[k, LATE]
        if left <= ending:
            fail(s, SOUND, now)
        row = s.desk.log[k]
        end = _tick(s, system, store, now, late, row)
        if pace[HOW] == BY_CLOCK:
            row[WORKED] = (clock(s.calls) - began) * 1e-9
        if end != ALL:
            return end
    return ALL
