"""The coupler of a haptic session: what pulls hand and mechanism, and the energy that goes through it."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline
from kane.engine.realtime.loop_arrays import (
    AGREED,
    AGREES,
    AHEAD,
    ARMED,
    AXES,
    BEFORE,
    BEHIND,
    CRAWL,
    DAMPER,
    DAMPING,
    FAST,
    FELT,
    FORCE_SCALE,
    FORCED,
    FORESEEN,
    GIVEN_IN,
    GIVEN_OUT,
    HAND,
    HANDLE,
    HELD,
    IMAGE,
    LEAD,
    LEVEL,
    MADE,
    MEASURED,
    MOTION,
    OFFSET,
    PERIOD,
    PULL,
    RATE,
    SCALE,
    SOFT,
    SPEED,
    SPRING,
    STATUS,
    STIFFNESS,
    STORED,
    TAKE,
    TURNED,
    TWISTED,
    WANTED,
)
from kane.engine.realtime.rotations import product, spring_torque, turn_between
from kane.engine.realtime.safety import wanted_end


@native_inline
def look_ahead(s: Any, now: float) -> None:
    """Where the hand will be in the middle of the time in which the force acts, as far as the age is made up for."""
    moving, rules, turn = s.moving, s.rules, s.calls.doubles[TURNED : TURNED + 4]
    ahead = rules[LEAD] * (now - moving[MEASURED] + rules[BEHIND] + 0.5 * rules[PERIOD])
    for i in range(3):
        moving[AHEAD + i] = moving[HAND + i] + ahead * moving[SPEED + i]
    _small_turn(moving[SPEED + 3 :], ahead, turn)
    product(turn, moving[HAND + 3 :], moving[AHEAD + 3 :])


@native_inline
def _small_turn(rates: Any, seconds: float, turn: Any) -> None:
    """The quaternion of a turn at these rates for so long; half of the angle, as ``turn_between`` says it."""
    for i in range(3):
        turn[1 + i] = 0.5 * seconds * rates[i]
    turn[0] = math.sqrt(max(0.0, 1.0 - turn[1] * turn[1] - turn[2] * turn[2] - turn[3] * turn[3]))


@native_inline
def take_together(s: Any) -> None:
    """Choose what takes the hand to its image so that the coupler is without stretch: x_0, and the turn q*_hand q."""
    moving, turned = s.moving, s.calls.doubles[TURNED : TURNED + 4]
    for i in range(3):
        moving[OFFSET + i] = s.grip.out[i] - s.rules[SCALE] * moving[AHEAD + i]
    turned[0] = moving[AHEAD + 3]
    for i in range(1, 4):
        turned[i] = -moving[AHEAD + 3 + i]
    product(turned, s.grip.turn, moving[OFFSET + 3 :])


@native_inline
def _find_image(s: Any) -> None:
    """The image of the hand as it is now; along axes that are not coupled it is where the handle is."""
    moving, rules = s.moving, s.rules
    for i in range(3):
        there = moving[OFFSET + i] + rules[SCALE] * moving[AHEAD + i]
        moving[IMAGE + i] = there if rules[AXES + i] > 0.0 else s.grip.out[i]
    if rules[AXES + 3] + rules[AXES + 4] + rules[AXES + 5] > 0.0:
        product(moving[AHEAD + 3 :], moving[OFFSET + 3 :], moving[IMAGE + 3 :])
    else:
        for i in range(4):
            moving[IMAGE + 3 + i] = s.grip.turn[i]


@native_inline
def _find_turn(s: Any) -> None:
    """Leave in the scratch what turns the handle into the image of the hand, as a quaternion."""
    turn_between(s.moving[IMAGE + 3 :], s.grip.turn, s.calls.doubles[TURNED : TURNED + 4])


@native_inline
def _stored(s: Any) -> float:
    """The energy in the springs between the image of the hand and the handle, with the turn that was found."""
    moving, rules, energy, e = s.moving, s.rules, 0.0, s.calls.doubles[TURNED : TURNED + 4]
    for i in range(3):
        stretch = moving[IMAGE + i] - s.grip.out[i]
        energy += 0.5 * rules[AXES + i] * moving[SPRING] * stretch * stretch
        energy += 2.0 * rules[AXES + 3 + i] * moving[SPRING + 1] * e[1 + i] * e[1 + i]
    return energy


@native_inline
def _pull(s: Any, k: int) -> float:
    """Component k of force and torque of the coupler on the mechanism, with the turn that was found."""
    moving, rules, out, group = s.moving, s.rules, s.grip.out, k // 3
    damped = s.grip.reaction[k] + rules[AXES + k] * moving[DAMPER + group] * (moving[RATE + k] - out[MOTION + k])
    if group == 0:
        return float(rules[AXES + k] * moving[SPRING] * (moving[IMAGE + k] - out[k]) + damped)
    e = s.calls.doubles[TURNED : TURNED + 4]
    return float(moving[SPRING + 1] * spring_torque(e, rules[AXES + 3 :], k - 3, -1.0) + damped)


@native_inline
def _take_away(s: Any, group: int, wanted: Any) -> None:
    """Brake the hand as far as the coupler has made energy since it last took some (passivity controller).

    Source: Hannaford & Ryu 2002.
    """
    moving, rules, fast = s.moving, s.rules, 0.0
    for i in range(3 * group, 3 * group + 3):
        fast += rules[AXES + i] * moving[SPEED + i] ** 2
    if moving[MADE] > 0.0 and fast > rules[CRAWL + group] ** 2:
        made = moving[MADE] * rules[FORCE_SCALE + group] / rules[SCALE + group]
        damping = min(rules[TAKE + group], made / (fast * rules[PERIOD]))
        for i in range(3 * group, 3 * group + 3):
            wanted[i] -= rules[AXES + i] * damping * moving[SPEED + i]


@native_inline
def is_active(s: Any) -> bool:
    """Whether the coupler pulls."""
    return bool(s.counts[STATUS] == ARMED and s.counts[HELD] == 0)


@native_inline
def couple(s: Any, command: Any, now: float) -> None:
    """The pull of the coupler on the mechanism, and the force and torque that the hand is to feel."""
    moving, rules, wanted = s.moving, s.rules, s.calls.doubles[WANTED : WANTED + 6]
    active = is_active(s)
    for group in range(2):
        moving[SPRING + group] = moving[LEVEL] * command[STIFFNESS + group] if active else 0.0
        moving[DAMPER + group] = moving[LEVEL] * command[DAMPING + group] if active else 0.0
    for k in range(6):
        moving[RATE + k] = rules[SCALE + k // 3] * moving[SPEED + k]
    _find_image(s)
    _find_turn(s)
    moving[STORED], e = _stored(s), s.calls.doubles[TURNED : TURNED + 4]
    for k in range(6):
        moving[PULL + k] = _pull(s, k)
        soft = (1.0 - moving[LEVEL]) * s.grip.reaction[k]  # springs have the level to which forces have risen in them
        wanted[k] = -rules[FORCE_SCALE + k // 3] * (moving[PULL + k] - soft)
    for i in range(3):  # of springs with other stiffnesses about each axis hands feel another torque than the mechanism
        other = spring_torque(e, rules[AXES + 3 :], i, 1.0) - spring_torque(e, rules[AXES + 3 :], i, -1.0)
        wanted[3 + i] = rules[AXES + 3 + i] * (wanted[3 + i] - rules[FORCE_SCALE + 1] * moving[SPRING + 1] * other)
    if not active:
        moving[MADE] = 0.0
        wanted_end(s, now, wanted)
        return
    for group in range(2):
        _slow_down(s, group, wanted)


@native_inline
def _slow_down(s: Any, group: int, wanted: Any) -> None:
    """Above the speed that is too fast for a spring: damping only. Below it: the brake, where there is one."""
    moving, rules, fast = s.moving, s.rules, 0.0
    for i in range(3 * group, 3 * group + 3):
        fast += moving[SPEED + i] ** 2
    if fast > rules[FAST + group] ** 2:
        felt = rules[SCALE + group] * rules[FORCE_SCALE + group] * moving[DAMPER + group]
        for i in range(3 * group, 3 * group + 3):
            wanted[i] = -rules[AXES + i] * felt * moving[SPEED + i]
    elif rules[TAKE + group] > 0.0:
        _take_away(s, group, wanted)


@native_inline
def account_for_hand(s: Any) -> None:
    """The work on the hand since the last tick, by the force held; and what the coupler has made up to now."""
    moving, rules, d = s.moving, s.rules, s.calls.doubles
    before, force, way = d[BEFORE : BEFORE + 7], d[FORCED : FORCED + 6], d[TWISTED : TWISTED + 4]
    first, second = moving[GIVEN_OUT], moving[GIVEN_OUT + 1]
    turn_between(moving[HAND + 3 :], before[3:], way)
    for i in range(3):
        moving[GIVEN_OUT] += force[i] * (moving[HAND + i] - before[i])
        moving[GIVEN_OUT + 1] += force[3 + i] * 2.0 * way[1 + i]
    _find_image(s)
    _find_turn(s)
    made = rules[SCALE] / rules[FORCE_SCALE] * (moving[GIVEN_OUT] - first)
    made += rules[SCALE + 1] / rules[FORCE_SCALE + 1] * (moving[GIVEN_OUT + 1] - second)
    moving[MADE] = max(0.0, moving[MADE] + made + _stored(s) - moving[STORED])


@native_inline
def account_for_mechanism(s: Any) -> None:
    """The work on the mechanism in a tick, by the mean of the pull at both ends, with the image as it was held."""
    moving, out, way, given = s.moving, s.grip.out, s.calls.doubles[TWISTED : TWISTED + 4], s.moving[GIVEN_IN]
    _find_turn(s)
    for k in range(6):
        mean = 0.5 * (moving[PULL + k] + _pull(s, k))
        if k == 3:
            turn_between(s.grip.turn, moving[HANDLE + 3 :], way)
        moving[GIVEN_IN] += mean * (out[k] - moving[HANDLE + k] if k < 3 else 2.0 * way[k - 2])
    moving[MADE] += moving[GIVEN_IN] - given
    be_at_handle(s)


@native_inline
def be_at_handle(s: Any) -> None:
    """From here the handle moves next."""
    for i in range(3):
        s.moving[HANDLE + i] = s.grip.out[i]
    for i in range(4):
        s.moving[HANDLE + 3 + i] = s.grip.turn[i]


@native_inline
def _agrees(s: Any) -> bool:
    """Whether the mechanism would feel the hand as it was foreseen nearly as it feels the hand as it is."""
    moving, rules, off = s.moving, s.rules, s.calls.doubles[TWISTED : TWISTED + 4]
    for i in range(2):
        if moving[FORESEEN + 13 + i] != moving[SPRING + i] or moving[FORESEEN + 15 + i] != moving[DAMPER + i]:
            return False
    turn_between(moving[IMAGE + 3 :], moving[FORESEEN + 3 :], off)
    for k in range(6):
        group = k // 3
        way = moving[IMAGE + k] - moving[FORESEEN + k] if group == 0 else 2.0 * off[k - 2]
        rate, K, B = moving[RATE + k] - moving[FORESEEN + 7 + k], moving[SPRING + group], moving[DAMPER + group]
        most = rules[FELT + group] + rules[SCALE + group] * rules[CRAWL + group] * (rules[PERIOD] * K + B)
        if rules[AXES + k] > 0.0 and not K * abs(way) + B * abs(rate) <= most:
            return False
    return True


@native_inline
def foresee(s: Any, command: Any) -> None:
    """Take the image of the hand as it was foreseen, where it agrees with the hand; then foresee the next one."""
    moving, rules, T = s.moving, s.rules, s.rules[PERIOD]
    turned, way = s.calls.doubles[TURNED : TURNED + 4], s.calls.doubles[TWISTED : TWISTED + 4]
    agrees = _agrees(s)
    s.counts[AGREES] = 1 if agrees else 0
    s.counts[AGREED] += s.counts[AGREES]
    turns = rules[AXES + 3] + rules[AXES + 4] + rules[AXES + 5] > 0.0
    _small_turn(moving[RATE + 3 :], T, turned)
    product(turned, moving[IMAGE + 3 :], way)
    for i in range(13):
        known = moving[IMAGE + i] if i < 7 else moving[RATE + i - 7]
        taken = turns if 3 <= i < 7 else rules[AXES + (i if i < 3 else i - 7)] > 0.0
        ahead = known + T * moving[RATE + i] if i < 3 else (way[i - 3] if i < 7 else known)
        if agrees and taken:
            known = moving[FORESEEN + i]
        moving[FORESEEN + i] = ahead
        if i < 7:
            moving[IMAGE + i] = known
        else:
            moving[RATE + i - 7] = known
    level = min(1.0, moving[LEVEL] + T / rules[SOFT]) if is_active(s) else 0.0
    for i in range(2):
        moving[FORESEEN + 13 + i], moving[FORESEEN + 15 + i] = (
            level * command[STIFFNESS + i],
            level * command[DAMPING + i],
        )
    if agrees:
        _find_turn(s)
        for k in range(6):
            moving[PULL + k] = _pull(s, k)
