"""The coupler of a haptic session: the wrenches on operator and mechanism, and the energy that they exchange.

The proxy is the image of the device handle in the simulation, x_h = x_0 + s x and R_h = R R_0. The mechanism gets
f = K (x_h - p) + B (v_h - v) at the handle p, and the torque of ``rotations`` with a damper. The operator gets -c f.

A device that measures the force F of the operator takes positions instead (admittance display). Then K = 0 and
v_h = F/(c B), so that the mechanism gets F/c - B v, and the device gets the position (p - x_0)/s.
"""

from __future__ import annotations

import math

from kane.engine.call import native_inline
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import LoopCommand
from kane.engine.realtime.loop_arrays import ARMED, Circuit
from kane.engine.realtime.rotations import product, spring_torque, turn_between
from kane.engine.realtime.safety import ramp_down


@native_inline
def extrapolate_device(s: Circuit, now: float) -> None:
    """Extrapolate the pose of the device handle to the middle of the hold of the force, by the fraction ``lead``."""
    state, rules, turn = s.state, s.rules, s.calls.scratch.rotation
    seconds = rules.lead[0] * (now - state.measured[0] + rules.delay[0] + 0.5 * rules.period[0])
    for i in range(3):
        state.extrapolated[i] = state.device[i] + seconds * state.device_rates[i]
    _rotate_by(state.device_rates[3:], seconds, turn)
    product(turn, state.device[3:], state.extrapolated[3:])


@native_inline
def _rotate_by(rates: Vector, seconds: float, turn: Vector) -> None:
    """Set ``turn`` to the quaternion of a small rotation; its vector part is half the angle, as in ``turn_between``."""
    for i in range(3):
        turn[1 + i] = 0.5 * seconds * rates[i]
    turn[0] = math.sqrt(max(0.0, 1.0 - turn[1] * turn[1] - turn[2] * turn[2] - turn[3] * turn[3]))


@native_inline
def set_offset(s: Circuit) -> None:
    """Choose x_0 and R_0 so that the coupler is not stretched: the proxy is at the handle."""
    state, turned = s.state, s.calls.scratch.rotation
    for i in range(3):
        state.offset[i] = s.handle.motion.position[i] - s.rules.scale[0] * state.extrapolated[i]
    turned[0] = state.extrapolated[3]
    for i in range(1, 4):
        turned[i] = -state.extrapolated[3 + i]
    product(turned, s.handle.orientation, state.offset[3:])


@native_inline
def _find_proxy(s: Circuit) -> None:
    """Compute the pose of the proxy; along axes that are not coupled it equals the pose of the handle."""
    state, rules, proxy, motion = s.state, s.rules, s.coupling.proxy, s.handle.motion
    for i in range(3):
        there = state.offset[i] + rules.scale[0] * state.extrapolated[i]
        proxy[i] = there if rules.axes[i] > 0.0 else motion.position[i]
    if rules.axes[3] + rules.axes[4] + rules.axes[5] > 0.0:
        product(state.extrapolated[3:], state.offset[3:], proxy[3:])
    else:
        for i in range(4):
            proxy[3 + i] = s.handle.orientation[i]


@native_inline
def _find_rotation(s: Circuit) -> None:
    """Store the quaternion from the handle to the proxy in the scratch memory."""
    turn_between(s.coupling.proxy[3:], s.handle.orientation, s.calls.scratch.rotation)


@native_inline
def _stored_energy(s: Circuit) -> float:
    """Return the energy in the springs between handle and proxy [J]; needs ``_find_rotation``."""
    rules, energy, e = s.rules, 0.0, s.calls.scratch.rotation
    for i in range(3):
        stretch = s.coupling.proxy[i] - s.handle.motion.position[i]
        energy += 0.5 * rules.axes[i] * s.coupling.stiffness[0] * stretch * stretch
        energy += 2.0 * rules.axes[3 + i] * s.coupling.stiffness[1] * e[1 + i] * e[1 + i]
    return energy


@native_inline
def _pull(s: Circuit, k: int) -> float:
    """Return component k of the wrench of the coupler on the mechanism; needs ``_find_rotation``."""
    rules, coupling, motion, group = s.rules, s.coupling, s.handle.motion, k // 3
    damped = s.handle.reaction[k] + rules.axes[k] * coupling.damping[group] * (coupling.rates[k] - motion.rates[k])
    if group == 0:
        return float(rules.axes[k] * coupling.stiffness[0] * (coupling.proxy[k] - motion.position[k]) + damped)
    e = s.calls.scratch.rotation
    return float(coupling.stiffness[1] * spring_torque(e, rules.axes[3:], k - 3, -1.0) + damped)


@native_inline
def _brake(s: Circuit, group: int, wanted: Vector) -> None:
    """Add damping on the operator until the energy made by the coupler is removed (passivity controller).

    Source: Hannaford & Ryu 2002.
    """
    state, rules, fast = s.state, s.rules, 0.0
    for i in range(3 * group, 3 * group + 3):
        fast += rules.axes[i] * state.device_rates[i] ** 2
    if state.made[0] > 0.0 and fast > rules.crawl[group] ** 2:
        made = state.made[0] * rules.force_scale[group] / rules.scale[group]
        damping = min(rules.brake[group], made / (fast * rules.period[0]))
        for i in range(3 * group, 3 * group + 3):
            wanted[i] -= rules.axes[i] * damping * state.device_rates[i]


@native_inline
def is_coupled(s: Circuit) -> bool:
    """Return whether the coupler acts."""
    return bool(s.counts.status[0] == ARMED and s.counts.clutched[0] == 0)


@native_inline
def couple(s: Circuit, command: LoopCommand, now: float) -> None:
    """Compute the wrench on the mechanism, ``pull``, and the wanted wrench on the operator."""
    state, rules, coupling, wanted = s.state, s.rules, s.coupling, s.calls.scratch.wanted
    active = is_coupled(s)
    for group in range(2):
        coupling.stiffness[group] = state.level[0] * command.stiffness[group] if active else 0.0
        coupling.damping[group] = state.level[0] * command.damping[group] if active else 0.0
    for k in range(6):
        coupling.rates[k] = rules.scale[k // 3] * state.device_rates[k]
    for k in range(3):
        if rules.measures[0] > 0.0:
            coupling.rates[k] = rules.axes[k] * state.force[k] / (rules.force_scale[0] * command.damping[0])
    _find_proxy(s)
    _find_rotation(s)
    state.stored[0], e = _stored_energy(s), s.calls.scratch.rotation
    for k in range(6):
        state.pull[k] = _pull(s, k)
        soft = (1.0 - state.level[0]) * s.handle.reaction[k]  # springs already contain the level
        wanted[k] = -rules.force_scale[k // 3] * (state.pull[k] - soft)
    for i in range(3):  # the reaction of a spring with different stiffnesses about its axes is not minus its torque
        other = spring_torque(e, rules.axes[3:], i, 1.0) - spring_torque(e, rules.axes[3:], i, -1.0)
        wanted[3 + i] = rules.axes[3 + i] * (wanted[3 + i] - rules.force_scale[1] * coupling.stiffness[1] * other)
    if not active:
        state.made[0] = 0.0
        ramp_down(s, now, wanted)
        return
    for group in range(2):
        _slow_down(s, group, wanted)
    for k in range(6):
        wanted[k] *= 1.0 - rules.measures[0]


@native_inline
def find_target(s: Circuit) -> None:
    """Compute the position of the device handle at which the proxy would be at the handle.

    Along axes that are not coupled, and while nothing is coupled, it is the last position.
    """
    state, rules, target = s.state, s.rules, s.calls.scratch.target
    for i in range(3):
        there = (s.handle.motion.position[i] - state.offset[i]) / rules.scale[0]
        target[i] = there if is_coupled(s) and rules.axes[i] > 0.0 else state.placed[i]


@native_inline
def _slow_down(s: Circuit, group: int, wanted: Vector) -> None:
    """Replace the wanted force by damping above the largest speed; below it, apply the passivity controller."""
    state, rules, fast = s.state, s.rules, 0.0
    for i in range(3 * group, 3 * group + 3):
        fast += state.device_rates[i] ** 2
    if fast > rules.fast[group] ** 2:
        felt = rules.scale[group] * rules.force_scale[group] * s.coupling.damping[group]
        for i in range(3 * group, 3 * group + 3):
            wanted[i] = -rules.axes[i] * felt * state.device_rates[i]
    elif rules.brake[group] > 0.0:
        _brake(s, group, wanted)


@native_inline
def add_work_on_operator(s: Circuit) -> None:
    """Add the work of the force since the last tick, and the energy that the coupler has made.

    A written force was held. For a measured force, the mean of its values at both ends is taken.
    """
    state, rules, scratch = s.state, s.rules, s.calls.scratch
    before, wrench, way = scratch.device_before, scratch.wrench_before, scratch.displacement
    first, second = state.to_operator[0], state.to_operator[1]
    turn_between(state.device[3:], before[3:], way)
    for i in range(3):
        mean = wrench[i] if rules.measures[0] == 0.0 else 0.5 * (wrench[i] - state.force[i])
        state.to_operator[0] += mean * (state.device[i] - before[i])
        state.to_operator[1] += wrench[3 + i] * 2.0 * way[1 + i]
    _find_proxy(s)
    _find_rotation(s)
    made = rules.scale[0] / rules.force_scale[0] * (state.to_operator[0] - first)
    made += rules.scale[1] / rules.force_scale[1] * (state.to_operator[1] - second)
    state.made[0] = max(0.0, state.made[0] + made + _stored_energy(s) - state.stored[0])


@native_inline
def add_work_on_mechanism(s: Circuit) -> None:
    """Add the work in a tick: mean pull at both ends times the displacement of the handle, with the proxy held."""
    state, motion, way, given = s.state, s.handle.motion, s.calls.scratch.displacement, s.state.to_mechanism[0]
    _find_rotation(s)
    for k in range(6):
        mean = 0.5 * (state.pull[k] + _pull(s, k))
        if k == 3:
            turn_between(s.handle.orientation, state.handle[3:], way)
        state.to_mechanism[0] += mean * (motion.position[k] - state.handle[k] if k < 3 else 2.0 * way[k - 2])
    state.made[0] += state.to_mechanism[0] - given
    keep_handle(s)


@native_inline
def keep_handle(s: Circuit) -> None:
    """Store the pose of the handle, from which its displacement in the next tick is measured."""
    for i in range(3):
        s.state.handle[i] = s.handle.motion.position[i]
    for i in range(4):
        s.state.handle[3 + i] = s.handle.orientation[i]


@native_inline
def _agrees(s: Circuit) -> bool:
    """Check whether the pull with the predicted proxy differs from the present one by at most the tolerance."""
    coupling, predicted, rules, off = s.coupling, s.predicted, s.rules, s.calls.scratch.displacement
    for i in range(2):
        if predicted.stiffness[i] != coupling.stiffness[i] or predicted.damping[i] != coupling.damping[i]:
            return False
    turn_between(coupling.proxy[3:], predicted.proxy[3:], off)
    for k in range(6):
        group = k // 3
        way = coupling.proxy[k] - predicted.proxy[k] if group == 0 else 2.0 * off[k - 2]
        rate, K, B = coupling.rates[k] - predicted.rates[k], coupling.stiffness[group], coupling.damping[group]
        most = rules.tolerance[group] + rules.scale[group] * rules.crawl[group] * (rules.period[0] * K + B)
        if rules.axes[k] > 0.0 and not K * abs(way) + B * abs(rate) <= most:
            return False
    return True


@native_inline
def predict_proxy(s: Circuit, command: LoopCommand) -> None:
    """Replace the proxy by its prediction if they agree; then extrapolate the proxy to the next tick.

    Along axes that are not coupled, and about axes if none turns, the present value stays.
    """
    state, rules, T, coupling, predicted = s.state, s.rules, s.rules.period[0], s.coupling, s.predicted
    turned, way = s.calls.scratch.rotation, s.calls.scratch.displacement
    agrees = _agrees(s)
    s.counts.agrees[0] = 1 if agrees else 0
    s.counts.agreed[0] += s.counts.agrees[0]
    turns = rules.axes[3] + rules.axes[4] + rules.axes[5] > 0.0
    _rotate_by(coupling.rates[3:], T, turned)
    product(turned, coupling.proxy[3:], way)
    for i in range(7):
        known = coupling.proxy[i]
        ahead = known + T * coupling.rates[i] if i < 3 else way[i - 3]
        if agrees and (turns if i >= 3 else rules.axes[i] > 0.0):
            coupling.proxy[i] = predicted.proxy[i]
        predicted.proxy[i] = ahead
    for i in range(6):
        ahead = coupling.rates[i]
        if agrees and rules.axes[i] > 0.0:
            coupling.rates[i] = predicted.rates[i]
        predicted.rates[i] = ahead
    level = min(1.0, state.level[0] + T / rules.ramp_up[0]) if is_coupled(s) else 0.0
    for i in range(2):
        predicted.stiffness[i] = level * command.stiffness[i]
        predicted.damping[i] = level * command.damping[i]
    if agrees:
        _find_rotation(s)
        for k in range(6):
            state.pull[k] = _pull(s, k)
