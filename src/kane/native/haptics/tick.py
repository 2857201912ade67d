"""The loop of a haptic session: read, couple, clamp, write, integrate; one native function that knows no Python.

A force is written before the step that it belongs to is integrated, so that what the step costs adds nothing to the
delay that hands feel. Ticks that are late are made up for at once, with the newest sample; more than MISSED of them
end the force, and what is lost then is counted: simulated time stands still for so long and does not go slowly.

Source: Gillespie 2003, section 4.
"""

from __future__ import annotations

from typing import Any

from kane.native.arrays import DONE, GOING, KNOWN, TIME, StateEquation, Store
from kane.native.call import call_program, native_inline, native_loop
from kane.native.haptics import sample
from kane.native.haptics.loop_arrays import (
    AGE,
    ARM,
    ARMED,
    ARMED_BY,
    AS_RECORDED,
    AT,
    AXES,
    BETWEEN,
    BY_CLOCK,
    CLUTCH,
    CRAWL,
    DAMPER,
    DAMPING,
    DISARM,
    DISARMED_BY,
    ENDING,
    EVERY,
    FAST,
    FAULT,
    FORCE_SCALE,
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
    MADE,
    MARCHED,
    MEASURED,
    MISSED,
    NO_STEP,
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
    OFFSET,
    OVERRUN,
    OWN,
    PERIOD,
    PUBLISHED,
    PULL,
    RAMP,
    SCALE,
    SEIZED,
    SLEEP,
    SOUND,
    SPEED,
    SPIN,
    SPRING,
    STATUS,
    STEP,
    STIFFNESS,
    STOP,
    STORED,
    TAKE,
    TAKEN,
    TICKS,
    WATCHED,
    WORKED,
    WRITTEN,
    ZERO,
    Circuit,
    Indices,
)
from kane.native.haptics.machine import clock, exchange, fence, write_alone
from kane.native.haptics.safety import clamp, examine, fail, rise, wanted_end

# Parts into which changes of modes may cut one step.
PARTS = 200
# What ends a loop of ticks: all are done; it was told to stop; the simulation cannot go on.
ALL, STOPPED, BROKEN = range(3)


@native_inline
def _wait(calls: Any, due: int, spin: int) -> int:
    """Sleep until shortly before a time, then look at the clock until it has come; how late it is then [ns]."""
    left = due - clock(calls) - spin
    if left > 0:
        calls.words[0] = left
        call_program(calls.addresses[SLEEP], calls.doubles, calls.doubles, calls.doubles, calls.doubles, calls.doubles)
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
        for i in range(3):
            moving[OFFSET + i] = s.grip.out[i] - s.rules[SCALE] * moving[HAND + i]


@native_inline
def _look(s: Any, system: Any, store: Any) -> None:
    """Where the handle is, how fast, and the energies."""
    state = system.state
    state[0] = store.clock[TIME]
    for i in range(store.x.size):
        state[1 + i] = store.x[i]
    grip = s.grip
    call_program(grip.programs[0], state, system.inputs, grip.stage, grip.out, grip.work)
    call_program(grip.programs[1], state, system.inputs, grip.stage_of_energy, grip.energy, grip.work)


@native_inline
def _stored(s: Any) -> float:
    """The energy in the spring between the image of the hand, as it is now, and the handle."""
    moving, rules, energy = s.moving, s.rules, 0.0
    for i in range(3):
        stretch = moving[OFFSET + i] + rules[SCALE] * moving[HAND + i] - s.grip.out[i]
        energy += 0.5 * rules[AXES + i] * moving[SPRING] * stretch * stretch
    return energy


@native_inline
def _take_away(s: Any, wanted: Any) -> None:
    """Brake the hand as far as the coupler has made energy since it last took some (passivity controller).

    Source: Hannaford & Ryu 2002.
    """
    moving, rules, fast = s.moving, s.rules, 0.0
    for i in range(3):
        fast += rules[AXES + i] * moving[SPEED + i] ** 2
    if moving[MADE] > 0.0 and fast > rules[CRAWL] ** 2:
        made = moving[MADE] * rules[FORCE_SCALE] / rules[SCALE]
        damping = min(rules[TAKE], made / (fast * rules[PERIOD]))
        for i in range(3):
            wanted[i] -= rules[AXES + i] * damping * moving[SPEED + i]


@native_inline
def _couple(s: Any, command: Any, now: float, wanted: Any) -> None:
    """The force of the coupler on the mechanism, and the one that the hand is to feel."""
    moving, rules, out = s.moving, s.rules, s.grip.out
    active = s.counts[STATUS] == ARMED and s.counts[HELD] == 0
    moving[SPRING] = moving[LEVEL] * command[STIFFNESS] if active else 0.0
    moving[DAMPER] = moving[LEVEL] * command[DAMPING] if active else 0.0
    fast = 0.0
    for i in range(3):
        fast += moving[SPEED + i] ** 2
    felt = rules[SCALE] * rules[FORCE_SCALE] * moving[DAMPER]
    for i in range(3):
        axis, speed = rules[AXES + i], rules[SCALE] * moving[SPEED + i]
        moving[IMAGE + i] = moving[OFFSET + i] + rules[SCALE] * moving[HAND + i] if axis > 0.0 else out[i]
        stretch = moving[IMAGE + i] - out[i]
        moving[PULL + i] = axis * (moving[SPRING] * stretch + moving[DAMPER] * (speed - out[3 + i]))
        wanted[i] = -rules[FORCE_SCALE] * moving[PULL + i]
        if fast > rules[FAST] ** 2:
            wanted[i] = -axis * felt * moving[SPEED + i]
    moving[STORED] = _stored(s)
    if not active:
        moving[MADE] = 0.0
        wanted_end(s, now, wanted)
    elif rules[TAKE] > 0.0 and not fast > rules[FAST] ** 2:
        _take_away(s, wanted)


@native_inline
def _write(s: Any, now: float) -> None:
    """Write the force, or zero where the watchdog has stepped in."""
    for i in range(3):
        s.port.command[sample.FORCE + i] = 0.0 if s.counts[SEIZED] == 1 else s.moving[WRITTEN + i]
    if not write_alone(s, now):
        fail(s, WATCHED, now)


@native_inline
def _step(s: Any, system: Any, store: Any) -> int:
    """One step of the mechanism under the coupler, in as many parts as changes of modes cut it into."""
    at, moving, rules = s.grip.inputs, s.moving, s.rules
    for i in range(3):
        system.inputs[at + i] = moving[IMAGE + i]
        system.inputs[at + 3 + i] = rules[SCALE] * moving[SPEED + i]
    system.inputs[at + 6], system.inputs[at + 7] = moving[SPRING], moving[DAMPER]
    store.counts[KNOWN] = 0
    before, calls = store.counts[DONE], s.calls
    for _ in range(PARTS):
        call_program(calls.addresses[STEP], calls.step, calls.step, calls.step, calls.doubles, calls.doubles)
        status = calls.words[0]
        if status != GOING:
            return int(status)
        if store.counts[DONE] != before:
            return GOING
    return -1


@native_inline
def _account(s: Any, before: Any, force: Any) -> None:
    """The work on the mechanism since the last tick, by the coupler's mean force; on the hand by the force held."""
    moving, rules, out = s.moving, s.rules, s.grip.out
    to_hand, to_mechanism = moving[GIVEN_OUT], moving[GIVEN_IN]
    for i in range(3):
        after = moving[SPRING] * (moving[IMAGE + i] - out[i])
        after += moving[DAMPER] * (rules[SCALE] * moving[SPEED + i] - out[3 + i])
        mean = 0.5 * (moving[PULL + i] + rules[AXES + i] * after)
        moving[GIVEN_IN] += mean * (out[i] - moving[HANDLE + i])
        moving[HANDLE + i] = out[i]
        moving[GIVEN_OUT] += force[i] * (moving[HAND + i] - before[i])
    made = rules[SCALE] / rules[FORCE_SCALE] * (moving[GIVEN_OUT] - to_hand) + moving[GIVEN_IN] - to_mechanism
    moving[MADE] = max(0.0, moving[MADE] + made + _stored(s) - moving[STORED])


@native_inline
def _log(s: Any, row: Any, now: float, late: float) -> None:
    moving, counts = s.moving, s.counts
    row[AT], row[LATE], row[AGE] = now, late, now - moving[MEASURED]
    row[OF_STATUS], row[OF_FAULT], row[OF_LEVEL] = counts[STATUS], counts[FAULT], moving[LEVEL]
    for i in range(3):
        row[OF_FORCE + i], row[OF_PULL + i] = s.port.command[sample.FORCE + i], moving[PULL + i]
        row[OF_IMAGE + i], row[OF_HANDLE + i] = moving[IMAGE + i], s.grip.out[i]
        row[OF_HAND + i] = s.rules[SCALE] * moving[SPEED + i]
    row[OF_ENERGIES], row[OF_ENERGIES + 1] = moving[GIVEN_OUT], moving[GIVEN_IN]
    row[OF_ENERGIES + 2], row[OF_ENERGIES + 3] = s.grip.energy[0], s.grip.energy[1]
    row[OF_SETTINGS], row[OF_SETTINGS + 1] = moving[SPRING], moving[DAMPER]
    for i in range(sample.SAMPLE):
        row[OF_SAMPLE + i] = s.port.sample[i]


@native_inline
def _publish(s: Any, store: Any, now: float) -> None:
    """A snapshot for others: its number is odd while it is written, so that whoever reads it knows (sequence lock)."""
    counts, shown = s.counts, s.desk.snapshot
    counts[PUBLISHED] += 1
    fence(s.calls)
    shown[0], shown[1], shown[2], shown[3] = counts[TICKS], now, counts[STATUS], counts[FAULT]
    for i in range(3):
        shown[4 + i] = s.port.command[sample.FORCE + i]
    shown[7] = store.clock[TIME]
    for i in range(store.x.size):
        shown[8 + i] = store.x[i]
    fence(s.calls)
    counts[PUBLISHED] += 1


@native_inline
def _tick(s: Any, system: Any, store: Any, now: float, late: float, row: Any) -> int:
    """One tick; STOPPED where the command says so, BROKEN where the simulation stands and no force is left."""
    counts, moving, port = s.counts, s.moving, s.port
    before, force, wanted = s.calls.doubles[1:4], s.calls.doubles[4:7], s.calls.doubles[7:10]
    for i in range(3):
        before[i], force[i] = moving[HAND + i], port.command[sample.FORCE + i]
    s.calls.doubles[10] = now
    call_program(port.programs[0], s.calls.doubles[10:11], port.table, port.settings, port.sample, port.memory)
    first = counts[TICKS] == 0
    found = examine(s, now)
    if found != SOUND:
        fail(s, found, now)
    if late > s.rules[MISSED] * s.rules[PERIOD]:
        fail(s, OVERRUN, now)
    if counts[SEIZED] == 1:
        fail(s, WATCHED, now)
    _look(s, system, store)
    if first:
        for i in range(3):
            before[i], moving[HANDLE + i] = moving[HAND + i], s.grip.out[i]
    _account(s, before, force)
    _take_command(s, system)
    command = s.desk.slots[counts[OWN]]
    _obey(s, command, found, now)
    rise(s)
    _couple(s, command, now, wanted)
    clamp(s, now, wanted)
    _write(s, now)
    if counts[MARCHED] == GOING:
        counts[MARCHED] = _step(s, system, store)
        if counts[MARCHED] != GOING:
            fail(s, NO_STEP, now)
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
            behind = _wait(s.calls, due, pace[SPIN])
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
