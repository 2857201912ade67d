"""What keeps a hand safe: hostile samples, forces that begin softly and end softly, and the one final clamp."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline
from kane.engine.realtime import device_sample as sample
from kane.engine.realtime.loop_arrays import (
    ARMED,
    AXES,
    CAP,
    ENDING,
    ENDS,
    FAULT,
    FRESH,
    FROM,
    HAND,
    IDLE,
    LEAP,
    LEAPED,
    LEVEL,
    MEASURED,
    NO_FORCE,
    NO_NUMBER,
    NO_SAMPLE,
    NUMBER,
    OLDER,
    OUTSIDE,
    PERIOD,
    POWER,
    RAMP,
    REACH,
    SLEW,
    SOFT,
    SOUND,
    SPEED,
    STALE,
    STATUS,
    TURNED,
    WRITTEN,
)
from kane.engine.realtime.rotations import turn_between

# A hand may move this far beyond what its largest speed allows: encoders have steps [m].
MARGIN = 1e-3
TURN_MARGIN = 0.02  # rad
# The length of a unit quaternion that a device says differs from one by no more than half of this.
UNIT = 1e-3
# The part of a force that is no more than the rounding of times.
ROUNDING = 1e-9
# Whole numbers are told apart up to here.
LARGEST = 2.0**53


@native_inline
def fail(s: Any, fault: int, now: float) -> None:
    """Begin to end the force. It stays ended until the user arms again; the first fault is kept."""
    if s.counts[STATUS] != ARMED:
        return
    s.counts[STATUS], s.counts[FAULT] = ENDING, fault
    s.moving[ENDS] = now
    for i in range(6):
        s.moving[FROM + i] = s.moving[WRITTEN + i]


@native_inline
def _turned(s: Any, since: float) -> int:
    """Take the orientation of a sample for the hand, if it can be believed.

    Args:
        s: the circuit.
        since: how long ago the sample before was measured; zero of the first one, which may be anywhere.
    """
    got, moving, rules = s.port.sample, s.moving, s.rules
    turned, size, far = s.calls.doubles[TURNED : TURNED + 4], 0.0, 0.0
    for i in range(4):
        size += got[sample.ORIENTATION + i] ** 2
    if rules[AXES + 3] + rules[AXES + 4] + rules[AXES + 5] == 0.0:
        return SOUND
    if abs(size - 1.0) > UNIT:
        return NO_NUMBER
    turn_between(got[sample.ORIENTATION :], moving[HAND + 3 :], turned)
    for i in range(3):
        far = max(far, abs(2.0 * turned[1 + i]))
    if since > 0.0 and far > rules[LEAP + 1] * since + TURN_MARGIN:
        return LEAPED
    for i in range(3):
        moving[SPEED + 3 + i] = 2.0 * turned[1 + i] / since if since > 0.0 else 0.0
    for i in range(4):
        moving[HAND + 3 + i] = got[sample.ORIENTATION + i] / math.sqrt(size)
    return SOUND


@native_inline
def examine(s: Any, now: float) -> int:
    """Take what was read for the hand, if it is new and can be believed; else what is wrong with it.

    Returns:
        SOUND, also where nothing new came in for less than what is stale.
    """
    got, moving, rules = s.port.sample, s.moving, s.rules
    total = 0.0
    for i in range(sample.SAMPLE):
        total += got[i] * 0.0
    if total != 0.0 or abs(got[sample.SEQUENCE]) > LARGEST:
        return NO_NUMBER
    number, first = int(got[sample.SEQUENCE]), s.counts[NUMBER] == 0
    if s.counts[STATUS] == IDLE and (number < s.counts[NUMBER] or got[sample.MEASURED] < moving[MEASURED]):
        first = number > 0  # a device that has begun anew
        s.counts[NUMBER] = 0
    if number < s.counts[NUMBER] or got[sample.MEASURED] > now + rules[PERIOD]:
        return OLDER
    if number == s.counts[NUMBER]:
        # Before the next tick it would be too old.
        return NO_SAMPLE if first or now - moving[FRESH] + rules[PERIOD] > rules[STALE] else SOUND
    if not first and got[sample.MEASURED] < moving[MEASURED]:
        return OLDER
    since, far = got[sample.MEASURED] - moving[MEASURED], 0.0
    for i in range(3):
        x = got[sample.POSITION + i]
        if abs(x) > rules[REACH]:
            return OUTSIDE
        far = max(far, abs(x - moving[HAND + i]))
    if not first and far > rules[LEAP] * since + MARGIN:
        return LEAPED
    found = _turned(s, 0.0 if first else since)
    if found != SOUND:
        return found
    for i in range(3):
        x = got[sample.POSITION + i]
        moving[SPEED + i] = 0.0 if first or since <= 0.0 else (x - moving[HAND + i]) / since
        moving[HAND + i] = x
    moving[MEASURED], moving[FRESH], s.counts[NUMBER] = got[sample.MEASURED], now, number
    return NO_SAMPLE if now - moving[MEASURED] > rules[STALE] else SOUND


@native_inline
def rise(s: Any) -> None:
    """The level to which forces have risen since they were armed."""
    s.moving[LEVEL] = min(1.0, s.moving[LEVEL] + s.rules[PERIOD] / s.rules[SOFT]) if s.counts[STATUS] == ARMED else 0.0


@native_inline
def wanted_end(s: Any, now: float, wanted: Any) -> None:
    """While a force ends: the part of the last one that is left. Then nothing."""
    left = 1.0 - (now - s.moving[ENDS]) / s.rules[RAMP]
    if s.counts[STATUS] == ENDING and left <= ROUNDING:
        s.counts[STATUS] = IDLE
    for i in range(6):
        wanted[i] = s.moving[FROM + i] * left if s.counts[STATUS] == ENDING else 0.0


@native_inline
def clamp(s: Any, now: float, wanted: Any) -> None:
    """What is written: the force and torque wanted, within the limits of change, of size and of power.

    A reduction because of power is at once; all other changes are no faster than SLEW. The force before lies within
    CAP, and so does every one between it and one that does.
    """
    rules, written, size = s.rules, s.moving[WRITTEN : WRITTEN + 6], 0.0
    for i in range(6):
        size += wanted[i] * wanted[i]
    if not size < math.inf:
        fail(s, NO_FORCE, now)
        wanted_end(s, now, wanted)
    power = 0.0
    for group in range(2):
        _limit(rules, group, written[3 * group : 3 * group + 3], wanted[3 * group : 3 * group + 3])
    for i in range(6):
        power += wanted[i] * s.moving[SPEED + i]
    share = rules[POWER] / power if power > rules[POWER] else 1.0
    for i in range(6):
        written[i] = share * wanted[i]


@native_inline
def _limit(rules: Any, group: int, written: Any, wanted: Any) -> None:
    """A force or a torque within its size, and no farther from the last one than it may change."""
    size = math.sqrt(wanted[0] * wanted[0] + wanted[1] * wanted[1] + wanted[2] * wanted[2])
    share = rules[CAP + group] / size if size > rules[CAP + group] else 1.0
    change = 0.0
    for i in range(3):
        wanted[i] *= share
        change += (wanted[i] - written[i]) ** 2
    change, most = math.sqrt(change), rules[SLEW + group] * rules[PERIOD]
    share = min(1.0, most / change) if change > 0.0 else 1.0
    for i in range(3):
        # the wanted one itself where it is within reach: nothing of the old force stays by rounding
        wanted[i] = wanted[i] if share == 1.0 else written[i] + share * (wanted[i] - written[i])
