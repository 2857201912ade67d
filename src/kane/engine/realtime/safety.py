"""Safety of the operator: validation of samples, ramps at start and end, and the clamps of force and position."""

from __future__ import annotations

import math

from kane.engine.call import native_inline
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import LoopRules
from kane.engine.realtime.loop_arrays import (
    ARMED,
    ENDING,
    FORCE_NOT_FINITE,
    FORCE_TOO_LARGE,
    NO_FAULT,
    NO_SAMPLE,
    POSITION_NOT_FINITE,
    SAMPLE_LEAPED,
    SAMPLE_NOT_FINITE,
    SAMPLE_OLDER,
    SAMPLE_OUTSIDE,
    UNARMED,
    Circuit,
)
from kane.engine.realtime.rotations import turn_between

# Distance beyond the largest speed times the time that a sample may have, because encoders have steps [m], [rad].
MARGIN, TURN_MARGIN = 1e-3, 0.02
# Largest deviation of the squared length of a quaternion from 1.
UNIT_TOLERANCE = 1e-3
# Remaining fraction of a force that counts as rounding of times.
FORCE_ENDED = 1e-9
# Largest sequence number: doubles represent all smaller whole numbers exactly.
LARGEST_SEQUENCE = 2.0**53


@native_inline
def fail(s: Circuit, fault: int, now: float) -> None:
    """Begin to end the force at time ``now`` [s], until the user arms again; later faults are ignored."""
    if s.counts.status[0] != ARMED:
        return
    s.counts.status[0], s.counts.fault[0] = ENDING, fault
    s.state.end_time[0] = now
    for i in range(6):
        s.state.end_wrench[i] = s.state.written[i]
    for i in range(3):
        s.state.end_advance[i] = s.state.advance[i]


@native_inline
def _take_force(s: Circuit) -> int:
    """Take the force of the operator from the sample of a device that measures it; return the fault."""
    got, state, rules = s.port.sample.force, s.state, s.rules
    if rules.measures[0] == 0.0:
        return NO_FAULT
    if math.sqrt(got[0] * got[0] + got[1] * got[1] + got[2] * got[2]) > rules.largest[0]:
        return FORCE_TOO_LARGE
    for i in range(3):
        state.force[i] = got[i]
    return NO_FAULT


@native_inline
def _take_orientation(s: Circuit, since: float) -> int:
    """Take the orientation of the device handle from the sample if it is valid; return the fault.

    Args:
        s: the circuit.
        since: time since the last sample [s]; zero for the first one, which may have any orientation.
    """
    got, state, rules = s.port.sample, s.state, s.rules
    turned, size, far = s.calls.scratch.rotation, 0.0, 0.0
    for i in range(4):
        size += got.orientation[i] ** 2
    if rules.axes[3] + rules.axes[4] + rules.axes[5] == 0.0:
        return NO_FAULT
    if abs(size - 1.0) > UNIT_TOLERANCE:
        return SAMPLE_NOT_FINITE
    turn_between(got.orientation, state.device[3:], turned)
    for i in range(3):
        far = max(far, abs(2.0 * turned[1 + i]))
    if since > 0.0 and far > rules.leap[1] * since + TURN_MARGIN:
        return SAMPLE_LEAPED
    for i in range(3):
        state.device_rates[3 + i] = 2.0 * turned[1 + i] / since if since > 0.0 else 0.0
    for i in range(4):
        state.device[3 + i] = got.orientation[i] / math.sqrt(size)
    return NO_FAULT


@native_inline
def examine(s: Circuit, now: float) -> int:
    """Take a new and valid sample as pose and rates of the device handle; return the fault.

    Returns:
        NO_FAULT, also without a new sample as long as the last one is not stale.
    """
    got, state, rules, last = s.port.sample, s.state, s.rules, s.counts.sequence
    total, measured = 0.0, got.measured[0]
    for i in range(got.whole.size):
        total += got.whole[i] * 0.0
    if total != 0.0 or abs(got.sequence[0]) > LARGEST_SEQUENCE:
        return SAMPLE_NOT_FINITE
    number, first = int(got.sequence[0]), last[0] == 0
    if s.counts.status[0] == UNARMED and (number < last[0] or measured < state.measured[0]):
        first = number > 0  # the device has restarted
        last[0] = 0
    if number < last[0] or measured > now + rules.period[0]:
        return SAMPLE_OLDER
    if number == last[0]:
        # The sample would be stale before the next tick.
        return NO_SAMPLE if first or now - state.received[0] + rules.period[0] > rules.stale[0] else NO_FAULT
    if not first and measured < state.measured[0]:
        return SAMPLE_OLDER
    since, far = measured - state.measured[0], 0.0
    for i in range(3):
        x = got.position[i]
        if abs(x) > rules.reach[0]:
            return SAMPLE_OUTSIDE
        far = max(far, abs(x - state.device[i]))
    if not first and far > rules.leap[0] * since + MARGIN:
        return SAMPLE_LEAPED
    found = _take_orientation(s, 0.0 if first else since)
    if found == NO_FAULT:
        found = _take_force(s)
    if found != NO_FAULT:
        return found
    for i in range(3):
        x = got.position[i]
        state.device_rates[i] = 0.0 if first or since <= 0.0 else (x - state.device[i]) / since
        state.device[i] = x
    state.measured[0], state.received[0], last[0] = measured, now, number
    return NO_SAMPLE if now - state.measured[0] > rules.stale[0] else NO_FAULT


@native_inline
def ramp_up(s: Circuit) -> None:
    """Increase the level of the forces by one tick of the ramp; it is zero while the session is not armed."""
    armed, rules, level = s.counts.status[0] == ARMED, s.rules, s.state.level
    level[0] = min(1.0, level[0] + rules.period[0] / rules.ramp_up[0]) if armed else 0.0


@native_inline
def ramp_down(s: Circuit, now: float, wanted: Vector) -> None:
    """Set ``wanted`` to the remaining fraction of the last wrench while a force ends, then to zero."""
    left = 1.0 - (now - s.state.end_time[0]) / s.rules.ramp_down[0]
    if s.counts.status[0] == ENDING and left <= FORCE_ENDED:
        s.counts.status[0] = UNARMED
    for i in range(6):
        wanted[i] = s.state.end_wrench[i] * left if s.counts.status[0] == ENDING else 0.0


@native_inline
def clamp(s: Circuit, now: float, wanted: Vector) -> None:
    """Limit the rate of change, the size and the power of the wanted wrench, and store the result in ``written``.

    A reduction because of power is immediate; all other changes respect the slew rate. The last wrench has an allowed
    size, and so has every wrench between it and another one of allowed size.

    Args:
        s: the circuit.
        now: time of the tick [s].
        wanted: force and torque on the operator, (6,) [N, N m]; overwritten.
    """
    rules, written, size = s.rules, s.state.written, 0.0
    for i in range(6):
        size += wanted[i] * wanted[i]
    if not size < math.inf:
        fail(s, FORCE_NOT_FINITE, now)
        ramp_down(s, now, wanted)
    power = 0.0
    for group in range(2):
        _limit(rules, group, written[3 * group : 3 * group + 3], wanted[3 * group : 3 * group + 3])
    for i in range(6):
        power += wanted[i] * s.state.device_rates[i]
    ratio = rules.power[0] / power if power > rules.power[0] else 1.0
    for i in range(6):
        written[i] = ratio * wanted[i]


@native_inline
def _limit(rules: LoopRules, group: int, before: Vector, wanted: Vector) -> None:
    """Limit a force or a torque, (3,), to its largest size and to the largest change from the last one."""
    size = math.sqrt(wanted[0] * wanted[0] + wanted[1] * wanted[1] + wanted[2] * wanted[2])
    ratio = rules.largest[group] / size if size > rules.largest[group] else 1.0
    change = 0.0
    for i in range(3):
        wanted[i] *= ratio
        change += (wanted[i] - before[i]) ** 2
    change, most = math.sqrt(change), rules.slew[group] * rules.period[0]
    ratio = min(1.0, most / change) if change > 0.0 else 1.0
    for i in range(3):
        # without a reduction the value stays exact, so that no rounded part of the last force remains
        wanted[i] = wanted[i] if ratio == 1.0 else before[i] + ratio * (wanted[i] - before[i])


@native_inline
def place(s: Circuit, now: float, target: Vector) -> None:
    """Limit a position of the device handle to workspace, speed and power, and store the result in ``placed``.

    While the session is not armed, the device holds its handle. At the end of a motion the last velocity falls to zero
    linearly. Velocities of the handle jump at impacts, and the operator feels it: accelerations are not limited.

    Args:
        s: the circuit.
        now: time of the tick [s].
        target: position that the device is to take, (3,) [m].
    """
    rules, state, counts, T = s.rules, s.state, s.counts, s.rules.period[0]
    if not abs(target[0]) + abs(target[1]) + abs(target[2]) < math.inf:
        fail(s, POSITION_NOT_FINITE, now)
    state.moves[0] = 0.0 if counts.status[0] == UNARMED else 1.0
    left = 1.0 - (now - state.end_time[0]) / rules.ramp_down[0]
    left = left if left > 0.0 else 0.0
    way, size, power, most = state.advance, 0.0, 0.0, rules.fast[0] * T
    for i in range(3):
        there = target[i] if counts.status[0] == ARMED else state.placed[i] + left * state.end_advance[i]
        there = state.device[i] if counts.status[0] == UNARMED else there
        way[i] = min(max(there, -rules.reach[0]), rules.reach[0]) - state.placed[i]
        size += way[i] * way[i]
        power -= state.force[i] * way[i] / T
    if counts.status[0] != UNARMED:
        most *= state.level[0] if counts.status[0] == ARMED else 1.0
        ratio = min(1.0, most / math.sqrt(size)) if size > 0.0 else 1.0
        ratio *= rules.power[0] / (ratio * power) if ratio * power > rules.power[0] else 1.0
        for i in range(3):
            way[i] *= ratio
    for i in range(3):
        state.placed[i] += way[i]
        way[i] *= state.moves[0]
