"""One impact at one contact: its velocity followed as a function of the normal impulse.

The velocities (normal, tangents) of the contact change by the impulses, v = v- + G p, with Coulomb's law between the
increments of the impulses: dp_t = -mu dp_n v_t / |v_t| while it slips; where the slip stops it sticks as long as the
static bound allows. In the plane the path is made of straight pieces. In space, with v_t = exp(y) (cos phi, sin phi)
and dp_n = |v_t| ds, the equations of Routh and Keller are

    dy/ds = r . g,   dphi/ds = s . g,   g = G_tn - mu G_tt r,   r = (cos phi, sin phi), s = (-sin phi, cos phi),

regular as the slip vanishes. Compression ends where the normal velocity vanishes.

Source: Routh, Dynamics of a System of Rigid Bodies, 7th ed., 1905, articles 179-198, 315; Keller, Impact with friction,
J. Appl. Mech. 53, 1986.
"""

from __future__ import annotations

import math
from typing import Any

from kane.native.call import native_kernel
from kane.native.contacts.header import NEWTON

# What an impact is made of, in a vector: G (3, 3), v (3), impulse (3), then restitution, friction static and kinetic,
# the normal velocity and impulse at which it ends (of which one is infinite), scratch.
G, V, P, STATIC_FRICTION, KINETIC_FRICTION, END_VELOCITY, END_IMPULSE = 0, 9, 12, 15, 16, 17, 18
IMPACT = 24
# Pieces of a path, steps of the integration along one, and its tolerance in a step; slip this much slower, as a
# logarithm, has stopped.
PIECES, STEPS, TOLERANCE, STOPPED = 12, 20000, 1e-13, 40.0
# How an impact ended.
DONE, IMMOVABLE, UNENDING = range(3)


@native_kernel
def length(x: float, y: float) -> float:
    """Of a vector in the plane."""
    return math.sqrt(x * x + y * y)


@native_kernel
def strike(b: Any, tangents: int, law: int, restitution: float) -> int:
    """The impulse P and the velocity V after an impact with the velocity V before it, approaching or not.

    Args:
        b: the vector; G, V and the coefficients filled.
        tangents: how many there are.
        law: POISSON or NEWTON.
        restitution: e.
    """
    approach = b[V]
    for i in range(3):
        b[P + i] = 0.0
    if not b[G] > 0.0:
        return IMMOVABLE
    b[END_VELOCITY], b[END_IMPULSE] = 0.0, math.inf
    ended = _follow(b, tangents)
    if ended != DONE or restitution == 0.0:
        return ended
    if law == NEWTON:
        b[END_VELOCITY] = max(-restitution * approach, 0.0)
    else:
        b[END_VELOCITY], b[END_IMPULSE] = math.inf, (1.0 + restitution) * b[P]
    return _follow(b, tangents)


@native_kernel
def _follow(b: Any, tangents: int) -> int:
    """The path to its end; its first piece may lead away from it, where the slip makes the approach faster."""
    started = False
    for _ in range(PIECES):
        if started and _left(b) <= 0.0:
            return DONE
        started = True
        slip = length(b[V + 1], b[V + 2]) if tangents > 0 else 0.0
        if tangents == 0 or b[KINETIC_FRICTION] == 0.0:
            return _straight(b, 0.0, 0.0, 0.0, 0.0)
        if slip > 0.0 and tangents == 1:
            x = math.copysign(1.0, b[V + 1])
            ended = _straight(b, -b[KINETIC_FRICTION] * x, 0.0, x, 0.0)
        elif slip > 0.0:
            ended = _curved(b)
        else:
            ended = _from_rest(b, tangents)
        if ended != DONE:
            return ended
    return DONE if _left(b) <= 0.0 else UNENDING


@native_kernel
def _left(b: Any) -> float:
    """What is missing at the end, negative or zero where it is reached; of the velocity or of the impulse."""
    return float(b[END_VELOCITY] - b[V] if b[END_IMPULSE] == math.inf else b[END_IMPULSE] - b[P])


@native_kernel
def _straight(b: Any, tx: float, ty: float, x: float, y: float) -> int:
    """Along (1, tx, ty) to the end, or to where the slip in the direction (x, y) stops."""
    gn = b[G] + b[G + 1] * tx + b[G + 2] * ty
    gx = b[G + 3] + b[G + 4] * tx + b[G + 5] * ty
    gy = b[G + 6] + b[G + 7] * tx + b[G + 8] * ty
    slip, slower = x * b[V + 1] + y * b[V + 2], -(x * gx + y * gy)
    stop = slip / slower if slower > 0.0 and slip > 0.0 else math.inf
    if b[END_IMPULSE] == math.inf:
        end = (b[END_VELOCITY] - b[V]) / gn if gn > 0.0 else math.inf
    else:
        end = b[END_IMPULSE] - b[P]
    p = min(max(end, 0.0), stop)
    if p == math.inf:
        return UNENDING
    b[P], b[P + 1], b[P + 2] = b[P] + p, b[P + 1] + p * tx, b[P + 2] + p * ty
    b[V], b[V + 1], b[V + 2] = b[V] + p * gn, b[V + 1] + p * gx, b[V + 2] + p * gy
    if end <= stop:
        # The end is exact: what is left over would be rounding.
        if b[END_IMPULSE] == math.inf:
            b[V] = b[END_VELOCITY]
        else:
            b[P] = b[END_IMPULSE]
    if stop <= end:
        b[V + 1] = b[V + 2] = 0.0
    return DONE


@native_kernel
def _from_rest(b: Any, tangents: int) -> int:
    """Sticking, or slip that begins in the direction in which it goes on."""
    a, c, d = b[G + 4], b[G + 5], b[G + 8]
    if tangents == 1:
        tx, ty = -b[G + 3] / a if a > 0.0 else 0.0, 0.0
    else:
        # Least solution of G_tt t = -G_tn: what cannot move takes nothing.
        determinant = a * d - c * c
        if determinant > 1e-14 * max(a, d) ** 2:
            tx = (-b[G + 3] * d + b[G + 6] * c) / determinant
            ty = (-b[G + 6] * a + b[G + 3] * c) / determinant
        else:
            trace = a + d
            tx, ty = (0.0, 0.0) if trace <= 0.0 else (-b[G + 3] / trace, -b[G + 6] / trace)
    bound = length(tx, ty)
    if bound <= b[STATIC_FRICTION]:
        return _straight(b, tx, ty, 0.0, 0.0)
    phi = math.atan2(-ty, -tx)
    if tangents == 2:
        phi = _invariant(b, phi)
    x, y = math.cos(phi), math.sin(phi) if tangents == 2 else 0.0
    mu = b[KINETIC_FRICTION]
    return _straight(b, -mu * x, -mu * y, 0.0, 0.0)


@native_kernel
def _turning(b: Any, phi: float) -> float:
    """s . g: how slip in the direction phi turns."""
    x, y, mu = math.cos(phi), math.sin(phi), b[KINETIC_FRICTION]
    gx = b[G + 3] - mu * (b[G + 4] * x + b[G + 5] * y)
    gy = b[G + 6] - mu * (b[G + 7] * x + b[G + 8] * y)
    return float(x * gy - y * gx)


@native_kernel
def _invariant(b: Any, phi: float) -> float:
    """The direction near phi in which slip that begins goes on, by the secant method."""
    before, turn_before = phi, _turning(b, phi)
    phi += 1e-3
    for _ in range(60):
        turn = _turning(b, phi)
        if turn == turn_before or abs(phi - before) < 1e-15:
            break
        step = -turn * (phi - before) / (turn - turn_before)
        before, turn_before = phi, turn
        phi += min(max(step, -0.5), 0.5)
    return phi


@native_kernel
def _curved(b: Any) -> int:
    """Slip in space to the end, or until it stops, by steps of Runge and Kutta that are compared with two halves."""
    y, phi = math.log(length(b[V + 1], b[V + 2])), math.atan2(b[V + 2], b[V + 1])
    first, p, px, py, vn = y, b[P], b[P + 1], b[P + 2], b[V]
    size = abs(b[G + 3]) + abs(b[G + 6]) + b[KINETIC_FRICTION] * (b[G + 4] + b[G + 8])
    h = 0.05 / size if size > 0.0 else 1.0
    for _ in range(STEPS):
        if abs(_turning(b, phi)) <= 1e-13 * size:
            x, z = math.cos(phi), math.sin(phi)
            return _straight(b, -b[KINETIC_FRICTION] * x, -b[KINETIC_FRICTION] * z, x, z)
        whole = _step(b, (y, phi, 0.0, 0.0, 0.0), h)
        half = _step(b, (y, phi, 0.0, 0.0, 0.0), 0.5 * h)
        found = _step(b, half, 0.5 * h)
        scale = math.exp(max(y, found[0]))
        error = max(abs(whole[0] - found[0]), abs(whole[1] - found[1]))
        error = max(error, abs(whole[2] - found[2]) * size / scale) / 15.0
        if error > TOLERANCE:
            h *= max(0.2, 0.9 * (TOLERANCE / error) ** 0.2)
            continue
        if _missing(b, p, vn, found) <= 0.0:
            share = _share(b, (y, phi, 0.0, 0.0, 0.0), h, p, vn)
            half = _step(b, (y, phi, 0.0, 0.0, 0.0), 0.5 * share * h)
            found = _step(b, half, 0.5 * share * h)
            _arrive(b, found, (p, px, py))
            if b[END_IMPULSE] == math.inf:
                b[V] = b[END_VELOCITY]
            else:
                b[P] = b[END_IMPULSE]
            return DONE
        y, phi = found[0], found[1]
        _arrive(b, found, (p, px, py))
        p, px, py, vn = b[P], b[P + 1], b[P + 2], b[V]
        if y < first - STOPPED:
            b[V + 1] = b[V + 2] = 0.0
            return DONE
        h *= min(4.0, 0.9 * (TOLERANCE / max(error, 1e-18)) ** 0.2)
    return UNENDING


@native_kernel
def _arrive(b: Any, found: Any, impulse: Any) -> None:
    """Velocities and impulses after a step."""
    y, phi, dp, dx, dy = found
    p, px, py = impulse
    b[P], b[P + 1], b[P + 2] = p + dp, px + dx, py + dy
    b[V] += b[G] * dp + b[G + 1] * dx + b[G + 2] * dy
    b[V + 1], b[V + 2] = math.exp(y) * math.cos(phi), math.exp(y) * math.sin(phi)


@native_kernel
def _missing(b: Any, p: float, vn: float, found: Any) -> float:
    """What is missing at the end after a step from the impulse p and the normal velocity vn."""
    if b[END_IMPULSE] == math.inf:
        return float(b[END_VELOCITY] - (vn + b[G] * found[2] + b[G + 1] * found[3] + b[G + 2] * found[4]))
    return float(b[END_IMPULSE] - (p + found[2]))


@native_kernel
def _share(b: Any, start: Any, h: float, p: float, vn: float) -> float:
    """The part of a step at which the end is reached, by regula falsi (Illinois)."""
    low, high = 0.0, 1.0
    below = _missing(b, p, vn, start)
    above = _missing(b, p, vn, _step(b, _step(b, start, 0.5 * h), 0.5 * h))
    side = 0
    for _ in range(80):
        if high - low < 1e-16 or above == 0.0:
            break
        share = high - above * (high - low) / (above - below) if above != below else 0.5 * (low + high)
        value = _missing(b, p, vn, _step(b, _step(b, start, 0.5 * share * h), 0.5 * share * h))
        if value <= 0.0:
            high, above = share, value
            below *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, below = share, value
            above *= 0.5 if side == -1 else 1.0
            side = -1
    return high


@native_kernel
def _step(b: Any, start: Any, h: float) -> Any:
    """One step of the classical method of Runge and Kutta of (y, phi, p_n, p_x, p_y)."""
    y, phi, p, px, py = start
    k1 = _slopes(b, y, phi)
    k2 = _slopes(b, y + 0.5 * h * k1[0], phi + 0.5 * h * k1[1])
    k3 = _slopes(b, y + 0.5 * h * k2[0], phi + 0.5 * h * k2[1])
    k4 = _slopes(b, y + h * k3[0], phi + h * k3[1])
    w = h / 6.0
    return (
        y + w * (k1[0] + 2.0 * k2[0] + 2.0 * k3[0] + k4[0]),
        phi + w * (k1[1] + 2.0 * k2[1] + 2.0 * k3[1] + k4[1]),
        p + w * (k1[2] + 2.0 * k2[2] + 2.0 * k3[2] + k4[2]),
        px + w * (k1[3] + 2.0 * k2[3] + 2.0 * k3[3] + k4[3]),
        py + w * (k1[4] + 2.0 * k2[4] + 2.0 * k3[4] + k4[4]),
    )


@native_kernel
def _slopes(b: Any, y: float, phi: float) -> Any:
    x, z, mu, speed = math.cos(phi), math.sin(phi), b[KINETIC_FRICTION], math.exp(y)
    gx = b[G + 3] - mu * (b[G + 4] * x + b[G + 5] * z)
    gy = b[G + 6] - mu * (b[G + 7] * x + b[G + 8] * z)
    return x * gx + z * gy, x * gy - z * gx, speed, -mu * x * speed, -mu * z * speed
