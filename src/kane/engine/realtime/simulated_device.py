"""Programs of a simulated device: a handle held by a hand, integrated exactly between the ticks of its encoders.

For each axis m x'' = f - b x' - k (x - xi(t)) - c (x' - xi'(t)) - friction, with mass m and damping b of handle and
hand together. The force f of the motor is constant between commands, and the intended position xi of the hand is
linear between the points of its path. Each piece is a linear equation with constant coefficients, whose power series is
summed up to rounding. Where the velocity changes its sign, Coulomb friction reverses or holds the handle. No integrator
of the library is used.

The handle rotates in a gimbal with three angles, R = R_x(x_4) R_y(x_5) R_z(x_6), which satisfy this equation with an
inertia instead of the mass. The motor of an angle gets the component of the torque along its axis at the time of the
command.

A device with a position servo moves by lag x' = r - x, whatever the hand does. In one period its reference r moves to
a new commanded position along a straight line. Without commands the device holds its handle. Its sensor measures the
force k (xi - x) + c (xi' - x') - m x'' of hand and handle on the servo.
"""

from __future__ import annotations

import math
from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import matrix_at, native_inline, native_kernel, native_program, vector_at
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.views import (
    DeviceSample,
    SimulatedMemory,
    SimulatedSettings,
    device_command_at,
    device_sample_at,
    simulated_memory_at,
    simulated_settings_at,
)

# Largest argument of the power series, and its number of terms.
SERIES_ARGUMENT, SERIES_TERMS = 0.5, 24
# Pieces into which Coulomb friction may cut an interval, and bisections that locate the cuts.
FRICTION_PIECES, FRICTION_BISECTIONS = 64, 60
# Largest number of commands that do not act yet.
LONGEST_QUEUE = 256
# Modulus of the random numbers.
MODULUS = 2147483647


class SimulatedDevice(NamedTuple):
    """Views of the arrays of a simulated device.

    Attributes:
        memory, settings: views of its memory and of its settings.
        last: the last sample.
        path: points of the intended path, rows [t, x, y, z, three angles], (points, 7).
    """

    memory: SimulatedMemory
    settings: SimulatedSettings
    last: DeviceSample
    path: Matrix


class SimulatedAxis(NamedTuple):
    """Properties of one axis, see ``SimulatedSettings``."""

    mass: float
    viscous: float
    stiffness: float
    damping: float
    friction: float


@native_inline
def _axis(settings: SimulatedSettings, group: int) -> SimulatedAxis:
    """Return the properties of an axis: group 0 are translations, group 1 angles."""
    return SimulatedAxis(
        settings.mass[group],
        settings.viscous[group],
        settings.stiffness[group],
        settings.damping[group],
        settings.friction[group],
    )


@native_inline
def device_of(inputs: Any, constants: Any, work: Any) -> SimulatedDevice:
    """Return the views of a device from the arguments of its programs."""
    memory, settings = simulated_memory_at(work, 0, LONGEST_QUEUE), simulated_settings_at(constants, 0)
    path = matrix_at(inputs, 0, int(settings.points[0]), 7)
    return SimulatedDevice(memory, settings, device_sample_at(work, memory.last), path)


@native_inline
def _series(losses: float, stiffness: float, t: float) -> tuple[float, float, float]:
    """Return S, its derivative and its integral at t, for S'' + losses S' + stiffness S = 0, S(0) = 0, S'(0) = 1."""
    d0, d1, power = 0.0, 1.0, 1.0  # derivatives n - 1 and n at zero; t^(n - 1)/(n - 1)!
    value, rate, integral = 0.0, 0.0, 0.0
    for n in range(1, SERIES_TERMS):
        rate += d1 * power
        value += d1 * power * t / n
        integral += d1 * power * t * t / (n * (n + 1.0))
        power *= t / n
        d0, d1 = d1, -losses * d1 - stiffness * d0
    return value, rate, integral


@native_inline
def _moved(y: float, rate: float, push: float, own: SimulatedAxis, t: float) -> tuple[float, float]:
    """Return y and y' after t seconds of m y'' + (b + c) y' + k y = push, where y is the distance from xi."""
    m = own.mass
    losses, stiffness = (own.viscous + own.damping) / m, own.stiffness / m
    parts = max(1.0, math.ceil((losses + math.sqrt(stiffness)) * t / SERIES_ARGUMENT))
    S, slope, integral = _series(losses, stiffness, t / parts)
    for _ in range(int(parts)):
        y, rate = (
            y * (1.0 - stiffness * integral) + rate * S + push / m * integral,
            rate * slope - stiffness * y * S + push / m * S,
        )
    return y, rate


@native_inline
def _held(y: float, push: float, speed: float, own: SimulatedAxis, t: float) -> float:
    """Return the time, at most t, for which friction holds the handle while xi moves with this speed."""
    pull = push - own.stiffness * y + own.damping * speed  # on the handle at rest
    if abs(pull) > own.friction:
        return 0.0
    growth = own.stiffness * speed
    if growth == 0.0:
        return t
    return min(t, (math.copysign(own.friction, growth) - pull) / growth)


@native_inline
def _moved_axis(
    x: float, v: float, force: float, intention: tuple[float, float], own: SimulatedAxis, t: float
) -> tuple[float, float]:
    """Return position and velocity of one axis after t seconds with a constant force.

    Args:
        x, v: position and velocity before.
        force: force of the motor.
        intention: intended position at the start, and its velocity.
        own: properties of the axis.
        t: length of the interval [s].
    """
    at, speed = intention
    friction = own.friction
    y, left, moves = x - at, t, False
    push = force - own.viscous * speed
    for _ in range(FRICTION_PIECES):
        if friction > 0.0 and v == 0.0:
            still = _held(y, force, speed, own, left)
            y -= speed * still
            left -= still
        if left <= 0.0:
            break
        way, moves = 0.0, True
        if friction > 0.0:
            way = v if v != 0.0 else force - own.stiffness * y + own.damping * speed
            way = 1.0 if way > 0.0 else -1.0
        end, rate = _moved(y, v - speed, push - friction * way, own, left)
        piece = left
        if (rate + speed) * way < 0.0:
            low, high = 0.0, left
            for _ in range(FRICTION_BISECTIONS):
                piece = 0.5 * (low + high)
                end, rate = _moved(y, v - speed, push - friction * way, own, piece)
                if (rate + speed) * way < 0.0:
                    high = piece
                else:
                    low = piece
            rate = -speed
        y, v = end, rate + speed
        left -= piece
    if moves:
        x = y - speed * max(left, 0.0) + at + speed * t
    return x, v


@native_inline
def _intention(path: Matrix, t: float, axis: int) -> tuple[float, float, float]:
    """Return the intended position of an axis at time t, its velocity, and the time up to which it is constant."""
    k, points, column = 0, path.shape[0], 1 + axis
    while k < points and path[k, 0] <= t:
        k += 1
    if points == 0:
        return 0.0, 0.0, math.inf
    if k == 0:
        return path[0, column], 0.0, path[0, 0]
    last = k - 1
    if k == points:
        return path[last, column], 0.0, math.inf
    speed = (path[k, column] - path[last, column]) / (path[k, 0] - path[last, 0])
    return path[last, column] + speed * (t - path[last, 0]), speed, path[k, 0]


@native_inline
def _drawn(memory: SimulatedMemory) -> float:
    """Return a random number between 0 and 1 [Park & Miller 1988]."""
    memory.seed[0] = float(16807 * int(memory.seed[0]) % MODULUS)
    return float(memory.seed[0] / MODULUS)


@native_inline
def _measure(device: SimulatedDevice) -> None:
    """Read the encoders into the last sample, unless the sample is lost."""
    memory, settings, last = device.memory, device.settings, device.last
    if settings.loss[0] > 0.0 and _drawn(memory) < settings.loss[0]:
        return
    last.sequence[0], last.measured[0] = memory.tick[0], memory.now[0]
    for i in range(3):
        last.position[i] = _quantized(memory.x[i], settings.quantum[0])
        if settings.lag[0] > 0.0 and settings.axes[i] > 0.0:
            place, speed, _until = _intention(device.path, memory.now[0], i)
            pull = settings.stiffness[0] * (place - memory.x[i]) + settings.damping[0] * (speed - memory.v[i])
            last.force[i] = pull - settings.mass[0] * memory.acceleration[i]
    quantum = settings.quantum[1]
    a, d = _half_angle(_quantized(memory.x[3], quantum))
    b, e = _half_angle(_quantized(memory.x[4], quantum))
    c, f = _half_angle(_quantized(memory.x[5], quantum))
    last.orientation[0] = a * b * c - d * e * f
    last.orientation[1] = d * b * c + a * e * f
    last.orientation[2] = a * e * c - d * b * f
    last.orientation[3] = a * b * f + d * e * c


@native_inline
def _half_angle(angle: float) -> tuple[float, float]:
    """Return cosine and sine of half an angle."""
    return math.cos(0.5 * angle), math.sin(0.5 * angle)


@native_inline
def _quantized(x: float, quantum: float) -> float:
    """Return x rounded to encoder steps."""
    return float(quantum * math.floor(x / quantum + 0.5) if quantum > 0.0 else x)


@native_inline
def _set_motors(angles: Vector, torque: Vector, out: Vector) -> None:
    """Set ``out`` to the components of a torque along the axes of the gimbal."""
    ca, sa, cb, sb = math.cos(angles[0]), math.sin(angles[0]), math.cos(angles[1]), math.sin(angles[1])
    out[0] = torque[0]
    out[1] = ca * torque[1] + sa * torque[2]
    out[2] = sb * torque[0] + cb * (ca * torque[2] - sa * torque[1])


@native_inline
def _next_time(device: SimulatedDevice, until: float) -> float:
    """Return the end of the next interval: a tick, a command that begins to act, a timeout, a point of the path."""
    memory, settings, now = device.memory, device.settings, device.memory.now[0]
    at = min(until, memory.tick[0] * settings.period[0])
    if memory.pending[0] > 0.0:
        at = min(at, memory.queue[0, 0])
    if settings.lag[0] > 0.0 and memory.arrives[0] > now:
        at = min(at, memory.arrives[0])
    ends = memory.renewed[0] + settings.patience[0]
    if _is_pushing(memory) and ends > now:
        at = min(at, ends)
    at = max(at, now)
    for i in range(6):
        at = min(at, max(_intention(device.path, now, i)[2], now))
    return at


@native_inline
def _is_pushing(memory: SimulatedMemory) -> bool:
    """Return whether a motor acts or the servo moves."""
    pushing = memory.moves[0] > 0.0
    for i in range(6):
        pushing = pushing or memory.effort[i] != 0.0
    return pushing


@native_inline
def _move(device: SimulatedDevice, t: float) -> None:
    """Move the device handle for t seconds."""
    memory, settings, now, lag = device.memory, device.settings, device.memory.now[0], device.settings.lag[0]
    for i in range(6):
        if lag > 0.0 and i < 3:
            away = (memory.x[i] - memory.reference[i] + lag * memory.slope[i]) * math.exp(-t / lag)
            memory.reference[i] += memory.slope[i] * t
            memory.x[i] = memory.reference[i] - lag * memory.slope[i] + away
            memory.v[i], memory.acceleration[i] = memory.slope[i] - away / lag, away / lag**2
        elif settings.axes[i] > 0.0:
            place, speed, _until = _intention(device.path, now, i)
            memory.x[i], memory.v[i] = _moved_axis(
                memory.x[i], memory.v[i], memory.effort[i], (place, speed), _axis(settings, i // 3), t
            )


@native_inline
def _refer(memory: SimulatedMemory, command: Vector, at: float, period: float) -> None:
    """Begin to move the reference of the servo to a position, or hold the device handle.

    Args:
        memory: memory of the device.
        command: position (3), and 1 if the servo moves.
        at: time of the command [s].
        period: time in which the reference gets there [s].
    """
    moved, memory.moves[0], memory.arrives[0] = memory.moves[0], command[3], at + period
    for i in range(3):
        if moved == 0.0 or command[3] == 0.0:
            memory.reference[i] = memory.x[i]
        memory.slope[i] = command[3] * (command[i] - memory.reference[i]) / period


@native_kernel
def advance(device: SimulatedDevice, until: float) -> None:
    """Integrate up to a time, over ticks of the encoders, commands that begin to act, and their timeout."""
    memory, settings = device.memory, device.settings
    slack = 1e-9 * settings.period[0]
    for _ in range(100000):
        now, due = memory.now[0], memory.tick[0] * settings.period[0]
        at, pushing = _next_time(device, until), _is_pushing(memory)
        _move(device, at - now)
        memory.now[0] = at
        if pushing and at >= memory.renewed[0] + settings.patience[0]:
            for i in range(6):
                memory.effort[i] = 0.0
            _refer(memory, memory.effort, at, settings.period[0])
        if settings.lag[0] > 0.0 and at >= memory.arrives[0]:
            for i in range(3):
                memory.slope[i] = 0.0
        while memory.pending[0] > 0.0 and memory.queue[0, 0] <= at:
            if settings.lag[0] > 0.0:
                _refer(memory, memory.queue[0, 1:], at, settings.period[0])
            else:
                for i in range(6):
                    memory.effort[i] = memory.queue[0, 1 + i]
            memory.pending[0] -= 1.0
            for k in range(int(memory.pending[0])):
                for i in range(7):
                    memory.queue[k, i] = memory.queue[k + 1, i]
        if due <= at + slack:
            memory.tick[0] += 1.0
            _measure(device)
        elif at >= until:
            break


@native_program
def read_simulated(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Give the last sample that arrived."""
    device, sample = device_of(inputs, constants, work), device_sample_at(out, 0).whole
    advance(device, vector_at(state, 0, 1)[0])
    for i in range(sample.size):
        sample[i] = device.last.whole[i]


@native_program
def write_simulated(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Queue a command, limited by the motors, that acts after the delay; a servo gets position and ``moves``."""
    device, command = device_of(inputs, constants, work), device_command_at(state, 0)
    memory, settings = device.memory, device.settings
    advance(device, command.time[0])
    size = 0.0
    for i in range(3):
        size += command.force[i] ** 2
    for i in range(3):
        size += command.torque[i] ** 2 + command.position[i] ** 2
    if memory.pending[0] >= LONGEST_QUEUE or not size < math.inf:
        return
    memory.renewed[0] = command.time[0]
    entry = memory.queue[int(memory.pending[0])]
    entry[0] = command.time[0] + settings.delay[0]
    for i in range(3):
        entry[1 + i] = command.force[i]
    _set_motors(memory.x[3:], command.torque, entry[4:])
    for group in range(2):
        _limit_effort(entry[1 + 3 * group : 4 + 3 * group], settings.limit[group])
    if settings.lag[0] > 0.0:
        for i in range(3):
            entry[1 + i] = command.position[i]
        entry[4] = command.moves[0]
    memory.pending[0] += 1.0
    advance(device, command.time[0])


@native_inline
def _limit_effort(effort: Vector, most: float) -> None:
    """Reduce a vector of three numbers to a largest length."""
    size = math.sqrt(effort[0] ** 2 + effort[1] ** 2 + effort[2] ** 2)
    if size > most:
        for i in range(3):
            effort[i] *= most / size
