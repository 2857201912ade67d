"""What keeps a hand safe: hostile samples, forces that begin softly and end softly, and the one final clamp."""

from __future__ import annotations

import math
from typing import Any

from kane.native.call import native_inline
from kane.native.haptics import sample
from kane.native.haptics.loop_arrays import (
    ARMED,
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
    WRITTEN,
)

# A hand may move this far beyond what its largest speed allows: encoders have steps [m].
MARGIN = 1e-3
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
    for i in range(3):
        s.moving[FROM + i] = s.moving[WRITTEN + i]


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
    for i in range(3):
        wanted[i] = s.moving[FROM + i] * left if s.counts[STATUS] == ENDING else 0.0


@native_inline
def clamp(s: Any, now: float, wanted: Any) -> None:
    """The force that is written: the one wanted, within the limits of change, of size and of power.

    A reduction because of power is at once; all other changes are no faster than SLEW. The force before lies within
    CAP, and so does every one between it and one that does.
    """
    rules, written = s.rules, s.moving[WRITTEN : WRITTEN + 3]
    size = math.sqrt(wanted[0] * wanted[0] + wanted[1] * wanted[1] + wanted[2] * wanted[2])
    if not size < math.inf:
        fail(s, NO_FORCE, now)
        wanted_end(s, now, wanted)
        size = 0.0
    share = rules[CAP] / size if size > rules[CAP] else 1.0
    change = 0.0
    for i in range(3):
        wanted[i] *= share
        change += (wanted[i] - written[i]) ** 2
    change, most = math.sqrt(change), rules[SLEW] * rules[PERIOD]
    share, power = min(1.0, most / change) if change > 0.0 else 1.0, 0.0
    for i in range(3):
        # the wanted one itself where it is within reach: nothing of the old force stays by rounding
        wanted[i] = wanted[i] if share == 1.0 else written[i] + share * (wanted[i] - written[i])
        power += wanted[i] * s.moving[SPEED + i]
    share = rules[POWER] / power if power > rules[POWER] else 1.0
    for i in range(3):
        written[i] = share * wanted[i]
