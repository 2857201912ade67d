"""A simulated device as native programs: a handle in a hand, integrated exactly between its own ticks.

On each of its axes m x'' = f - b x' - k (x - xi(t)) - c (x' - xi'(t)) - friction, with m, b of handle and hand, the
motor's force f constant between commands, and the intention xi of the hand linear between the points of its script:
each piece is a linear equation with constants, of which the power series is summed until rounding. Where the velocity
changes its sign dry friction turns round, or holds. No integrator of the library is used.

It turns by a gimbal whose three angles, R = R_x(x_4) R_y(x_5) R_z(x_6), obey the same equation with an inertia for the
mass; a torque t is given to its motors as t . axis of each angle, where the angles are when it is written.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel, native_program, vector_at
from kane.engine.realtime.device_sample import (
    COMMAND,
    FORCE,
    MEASURED,
    ORIENTATION,
    POSITION,
    SAMPLE,
    SEQUENCE,
    TORQUE,
    WRITTEN,
)

# Places in the settings, first of forces, then at AXIS of torques: of handle and hand together MASS and LOSS, the
# viscous one; of the hand SPRING and DAMPER; dry FRICTION; QUANTUM of the encoders; LIMIT of the motors.
MASS, LOSS, SPRING, DAMPER, FRICTION, QUANTUM, LIMIT = range(7)
# Then: the period of its TICKS; LATE, by which forces act; the PART of samples that get lost; PATIENCE, after which it
# gives up a force that is not renewed; POINTS of the script; which of the six AXES it has.
AXIS = 7
TICKS, LATE, PART, PATIENCE, POINTS, AXES = range(14, 20)
SETTINGS = AXES + 6
# A point of the script: its time and six numbers.
POINT = 7
# Places in the memory: the time; the number of the next tick; positions and velocities; the force in force; the last
# sample; when a force was last written; the random numbers; how many forces wait to act, each with its time.
NOW, TICK, X, V, PUSH, LAST, RENEWED, SEED, WAITING, QUEUE = 0, 1, 2, 8, 14, 20, 30, 31, 32, 33
QUEUED, ROOM = 7, 256
MEMORY = QUEUE + QUEUED * ROOM
# A part of a piece is so short that the terms of its series fall quickly.
SHORT, TERMS = 0.5, 24
# Pieces into which dry friction may cut one stretch of time, and halvings to find where.
PIECES, HALVINGS = 64, 60
MODULUS = 2147483647


@native_inline
def _series(losses: float, stiffness: float, t: float) -> tuple[float, float, float]:
    """S, its derivative and its integral at t for S'' + losses S' + stiffness S = 0, S(0) = 0, S'(0) = 1."""
    d0, d1, power = 0.0, 1.0, 1.0  # derivatives n - 1 and n at zero; t^(n - 1)/(n - 1)!
    value, rate, integral = 0.0, 0.0, 0.0
    for n in range(1, TERMS):
        rate += d1 * power
        value += d1 * power * t / n
        integral += d1 * power * t * t / (n * (n + 1.0))
        power *= t / n
        d0, d1 = d1, -losses * d1 - stiffness * d0
    return value, rate, integral


@native_inline
def _moved(y: float, rate: float, push: float, settings: Any, t: float) -> tuple[float, float]:
    """y and y' after t seconds of m y'' + (b + c) y' + k y = push, y the way from the intention."""
    m = settings[MASS]
    losses, stiffness = (settings[LOSS] + settings[DAMPER]) / m, settings[SPRING] / m
    parts = max(1.0, math.ceil((losses + math.sqrt(stiffness)) * t / SHORT))
    S, slope, integral = _series(losses, stiffness, t / parts)
    for _ in range(int(parts)):
        y, rate = (
            y * (1.0 - stiffness * integral) + rate * S + push / m * integral,
            rate * slope - stiffness * y * S + push / m * S,
        )
    return y, rate


@native_inline
def _held(y: float, push: float, speed: float, settings: Any, t: float) -> float:
    """How long, up to t, dry friction holds a handle from which the intention goes away with this speed."""
    pull = push - settings[SPRING] * y + settings[DAMPER] * speed  # on the handle at rest
    if abs(pull) > settings[FRICTION]:
        return 0.0
    growth = settings[SPRING] * speed
    if growth == 0.0:
        return t
    return min(t, (math.copysign(settings[FRICTION], growth) - pull) / growth)


@native_inline
def _axis(x: float, v: float, force: float, intention: tuple[float, float], settings: Any, t: float) -> Any:
    """Position and velocity of one axis after t seconds under a constant force.

    Args:
        x, v: before.
        force: of the motor.
        intention: where the hand wants to be now, and with which speed it goes on.
        settings, t: of the device; how long.
    """
    at, speed = intention
    friction = settings[FRICTION]
    y, left, moves = x - at, t, False
    push = force - settings[LOSS] * speed
    for _ in range(PIECES):
        if friction > 0.0 and v == 0.0:
            still = _held(y, force, speed, settings, left)
            y -= speed * still
            left -= still
        if left <= 0.0:
            break
        way, moves = 0.0, True
        if friction > 0.0:
            way = v if v != 0.0 else force - settings[SPRING] * y + settings[DAMPER] * speed
            way = 1.0 if way > 0.0 else -1.0
        end, rate = _moved(y, v - speed, push - friction * way, settings, left)
        piece = left
        if (rate + speed) * way < 0.0:
            low, high = 0.0, left
            for _ in range(HALVINGS):
                piece = 0.5 * (low + high)
                end, rate = _moved(y, v - speed, push - friction * way, settings, piece)
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
def _intention(script: Any, points: int, t: float, axis: int) -> tuple[float, float, float]:
    """Where the hand wants to be, with which speed, and until when that speed stays."""
    k = 0
    while k < points and script[POINT * k] <= t:
        k += 1
    if points == 0:
        return 0.0, 0.0, math.inf
    if k == 0:
        return script[1 + axis], 0.0, script[0]
    last = POINT * (k - 1)
    at = last + 1 + axis
    if k == points:
        return script[at], 0.0, math.inf
    speed = (script[at + POINT] - script[at]) / (script[last + POINT] - script[last])
    return script[at] + speed * (t - script[last]), speed, script[last + POINT]


@native_inline
def _drawn(memory: Any) -> float:
    """A random number between 0 and 1 [Park & Miller 1988]."""
    memory[SEED] = float(16807 * int(memory[SEED]) % MODULUS)
    return float(memory[SEED] / MODULUS)


@native_inline
def _measure(memory: Any, settings: Any) -> None:
    """What the encoders say, unless it is lost on the way."""
    if settings[PART] > 0.0 and _drawn(memory) < settings[PART]:
        return
    memory[LAST + SEQUENCE] = memory[TICK]
    memory[LAST + MEASURED] = memory[NOW]
    for i in range(3):
        memory[LAST + POSITION + i] = _counted(memory, settings, i)
    half = 0.5 * _counted(memory, settings, 3), 0.5 * _counted(memory, settings, 4), 0.5 * _counted(memory, settings, 5)
    (a, b, c), (d, e, f) = _cosines(half), _sines(half)
    memory[LAST + ORIENTATION] = a * b * c - d * e * f
    memory[LAST + ORIENTATION + 1] = d * b * c + a * e * f
    memory[LAST + ORIENTATION + 2] = a * e * c - d * b * f
    memory[LAST + ORIENTATION + 3] = a * b * f + d * e * c


@native_inline
def _cosines(angles: Any) -> tuple[float, float, float]:
    return math.cos(angles[0]), math.cos(angles[1]), math.cos(angles[2])


@native_inline
def _sines(angles: Any) -> tuple[float, float, float]:
    return math.sin(angles[0]), math.sin(angles[1]), math.sin(angles[2])


@native_inline
def _counted(memory: Any, settings: Any, k: int) -> float:
    """What the encoder of an axis says."""
    x, quantum = memory[X + k], settings[QUANTUM + AXIS * (k // 3)]
    return float(quantum * math.floor(x / quantum + 0.5) if quantum > 0.0 else x)


@native_inline
def _motors(memory: Any, torque: Any, out: Any) -> None:
    """The torques of the gimbal's motors, along the axes of its angles."""
    ca, sa, cb, sb = math.cos(memory[X + 3]), math.sin(memory[X + 3]), math.cos(memory[X + 4]), math.sin(memory[X + 4])
    out[0] = torque[0]
    out[1] = ca * torque[1] + sa * torque[2]
    out[2] = sb * torque[0] + cb * (ca * torque[2] - sa * torque[1])


@native_kernel
def advance(memory: Any, settings: Any, script: Any, until: float) -> None:
    """Move handle and hand to a time, through ticks of the device, forces that begin to act, and its patience."""
    slack = 1e-9 * settings[TICKS]
    for _ in range(100000):
        now = memory[NOW]
        due = memory[TICK] * settings[TICKS]
        ends = memory[RENEWED] + settings[PATIENCE]
        at = min(until, due)
        if memory[WAITING] > 0.0:
            at = min(at, memory[QUEUE])
        pushing = False
        for i in range(6):
            pushing = pushing or memory[PUSH + i] != 0.0
        if pushing and ends > now:
            at = min(at, ends)
        at = max(at, now)
        for i in range(6):
            where, speed, holds = _intention(script, int(settings[POINTS]), now, i)
            at = min(at, max(holds, now))
        for i in range(6):
            if settings[AXES + i] > 0.0:
                where, speed, holds = _intention(script, int(settings[POINTS]), now, i)
                own = settings[AXIS * (i // 3) :]
                memory[X + i], memory[V + i] = _axis(
                    memory[X + i], memory[V + i], memory[PUSH + i], (where, speed), own, at - now
                )
        memory[NOW] = at
        if pushing and at >= ends:
            for i in range(6):
                memory[PUSH + i] = 0.0
        while memory[WAITING] > 0.0 and memory[QUEUE] <= at:
            for i in range(6):
                memory[PUSH + i] = memory[QUEUE + 1 + i]
            memory[WAITING] -= 1.0
            for k in range(int(memory[WAITING]) * QUEUED):
                memory[QUEUE + k] = memory[QUEUE + QUEUED + k]
        if due <= at + slack:
            memory[TICK] += 1.0
            _measure(memory, settings)
        elif at >= until:
            break


@native_program
def read_simulated(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The last sample that arrived."""
    memory, settings, script = arrays_of(inputs, constants, work)
    advance(memory, settings, script, vector_at(state, 0, 1)[0])
    sample = vector_at(out, 0, SAMPLE)
    for i in range(SAMPLE):
        sample[i] = memory[LAST + i]


@native_program
def write_simulated(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """A force that acts when its delay is over, no larger than the motor can give."""
    memory, settings, script = arrays_of(inputs, constants, work)
    given = vector_at(state, 0, COMMAND)
    advance(memory, settings, script, given[WRITTEN])
    size = 0.0
    for i in range(6):
        size += given[FORCE + i] ** 2
    if memory[WAITING] >= ROOM or not size < math.inf:
        return
    memory[RENEWED] = given[WRITTEN]
    at = QUEUE + QUEUED * int(memory[WAITING])
    memory[at] = given[WRITTEN] + settings[LATE]
    for i in range(3):
        memory[at + 1 + i] = given[FORCE + i]
    _motors(memory, given[TORQUE:], memory[at + 4 :])
    for group in range(2):
        _limit(memory[at + 1 + 3 * group :], settings[LIMIT + AXIS * group])
    memory[WAITING] += 1.0
    advance(memory, settings, script, given[WRITTEN])


@native_inline
def _limit(push: Any, most: float) -> None:
    """Three numbers, made no longer than the motors can."""
    size = math.sqrt(push[0] ** 2 + push[1] ** 2 + push[2] ** 2)
    if size > most:
        for i in range(3):
            push[i] *= most / size


@native_kernel
def arrays_of(inputs: Any, constants: Any, work: Any) -> Any:
    """Memory, settings and script of a device."""
    settings = vector_at(constants, 0, SETTINGS)
    return vector_at(work, 0, MEMORY), settings, vector_at(inputs, 0, POINT * int(settings[POINTS]))
