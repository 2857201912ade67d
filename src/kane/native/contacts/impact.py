"""One impact at one contact: its velocity followed as a function of the normal impulse.

The velocities (normal, tangents) of the contact change by the impulses, v = v- + G p, with Coulomb's law between the
increments of the impulses: dp_t = -mu dp_n v_t / |v_t| while it slips; where the slip stops it sticks as long as the
static bound allows. In the plane the path is made of straight pieces. In space, with v_t = E r, r = (x, y) of length
one, and dp_n = E ds, the equations of Routh and Keller are

    dE/ds = (r . g) E,   dr/ds = (n . g) n,   g = G_tn - mu G_tt r,   n = (-y, x),

regular as the slip vanishes. They are polynomials, so that the Taylor series of the path in s follow from each other
term by term; steps are as long as these converge well. Compression ends where the normal velocity vanishes.

Source: Routh, Dynamics of a System of Rigid Bodies, 7th ed., 1905, articles 179-198, 315; Keller, Impact with friction,
J. Appl. Mech. 53, 1986; Jorba & Zou, A software package for the numerical integration of ODEs by means of high-order
Taylor methods, Exp. Math. 14, 2005.
"""

from __future__ import annotations

import math
from typing import Any

from kane.native.call import native_inline, native_kernel
from kane.native.contacts.header import NEWTON

# What an impact is made of, in a vector: G (3, 3), v (3), impulse (3), then restitution, friction static and kinetic,
# the normal velocity and impulse at which it ends (of which one is infinite), Taylor series.
G, V, P, STATIC_FRICTION, KINETIC_FRICTION, END_VELOCITY, END_IMPULSE, SERIES = 0, 9, 12, 15, 16, 17, 18, 19
# Terms of a series, an even number. The series: of r, E, E r, r . g and n . g; x x, x y; (n . g) y, (n . g) x and
# (r . g) E; the integrals of E and of E r, over s.
TERMS = 28
X, Y, SPEED, SLIP_X, SLIP_Y, ALONG, ACROSS = range(SERIES, SERIES + 7 * TERMS, TERMS)
XX, XY, TURN_X, TURN_Y, FASTER = range(SERIES + 7 * TERMS, SERIES + 12 * TERMS, TERMS)
PUSHED, RUBBED_X, RUBBED_Y = range(SERIES + 12 * TERMS, SERIES + 15 * TERMS, TERMS)
IMPACT = SERIES + 15 * TERMS
# Pieces of a path, steps along one, and the share of the last terms of the series in one; parts of a step in which its
# end is looked for; slip that has become so many times slower has stopped; one that turns by less than this share of
# what turns it goes straight on.
PIECES, STEPS, TOLERANCE, PARTS, STOPPED, STRAIGHT = 12, 1000, 1e-16, 2, 2.0**-52, 1e-13
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
    if not 0.0 < b[G] < math.inf:
        return IMMOVABLE
    # In units of mass in which G is of the order of one the many terms of a series neither overflow nor vanish; units
    # that are powers of two change no digit.
    mass = 1.0
    while mass * b[G] < 1.0:
        mass *= 2.0
    while mass * b[G] > 2.0:
        mass *= 0.5
    for i in range(9):
        b[G + i] *= mass
    b[END_VELOCITY], b[END_IMPULSE] = 0.0, math.inf
    ended = _follow(b, tangents)
    if ended == DONE and restitution > 0.0:
        if law == NEWTON:
            b[END_VELOCITY] = max(-restitution * approach, 0.0)
        else:
            b[END_VELOCITY], b[END_IMPULSE] = math.inf, (1.0 + restitution) * b[P]
        ended = _follow(b, tangents)
    for i in range(3):
        b[P + i] *= mass
    return ended


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
    """Slip in space to the end, or until it stops, by steps of Taylor series."""
    first, mu = length(b[V + 1], b[V + 2]), b[KINETIC_FRICTION]
    size = abs(b[G + 3]) + abs(b[G + 6]) + mu * (b[G + 4] + b[G + 8])
    for _ in range(STEPS):
        speed = length(b[V + 1], b[V + 2])
        if not speed > STOPPED * first:
            b[V + 1] = b[V + 2] = 0.0
            return DONE
        b[X], b[Y], b[SPEED] = b[V + 1] / speed, b[V + 2] / speed, speed
        _expand(b)
        if abs(b[ACROSS]) <= STRAIGHT * size:
            return _straight(b, -mu * b[X], -mu * b[Y], b[X], b[Y])
        step = _reach(b)
        start = (b[V], b[P], b[P + 1], b[P + 2])
        end, share = -1.0, 0.0
        while share < 1.0:
            before, share = share, share + 1.0 / PARTS
            _go(b, start, share * step)
            if _left(b) <= 0.0:
                end = _find_end(b, start, before * step, share * step)
                break
        if end >= 0.0:
            _go(b, start, end)
            # The end is exact: what is left over would be rounding.
            if b[END_IMPULSE] == math.inf:
                b[V] = b[END_VELOCITY]
            else:
                b[P] = b[END_IMPULSE]
            return DONE
    return UNENDING


@native_kernel
def _expand(b: Any) -> None:
    """The series from the first terms of r and E on: each term found is multiplied with those before it."""
    mu, gxx, gxy, gyy = b[KINETIC_FRICTION], b[G + 4], b[G + 5], b[G + 8]
    for place in (XX, XY, TURN_X, TURN_Y, FASTER):
        for k in range(TERMS):
            b[place + k] = 0.0
    for k in range(TERMS):
        x, y, speed, fits = b[X + k], b[Y + k], b[SPEED + k], 2 * k < TERMS
        for j in range(min(k, TERMS - k)):
            b[XX + k + j] += 2.0 * x * b[X + j]
            b[XY + k + j] += x * b[Y + j] + y * b[X + j]
        if fits:
            b[XX + 2 * k] += x * x
            b[XY + 2 * k] += x * y
        xx, xy = b[XX + k], b[XY + k]
        yy = (1.0 if k == 0 else 0.0) - xx
        along = b[G + 3] * x + b[G + 6] * y - mu * (gxx * xx + 2.0 * gxy * xy + gyy * yy)
        across = b[G + 6] * x - b[G + 3] * y - mu * (gxy * (xx - yy) + (gyy - gxx) * xy)
        b[ALONG + k], b[ACROSS + k] = along, across
        for j in range(min(k, TERMS - k)):
            b[TURN_X + k + j] -= across * b[Y + j] + y * b[ACROSS + j]
            b[TURN_Y + k + j] += across * b[X + j] + x * b[ACROSS + j]
            b[FASTER + k + j] += along * b[SPEED + j] + speed * b[ALONG + j]
        if fits:
            b[TURN_X + 2 * k] -= across * y
            b[TURN_Y + 2 * k] += across * x
            b[FASTER + 2 * k] += along * speed
        if k == 0:
            b[SLIP_X], b[SLIP_Y] = speed * x, speed * y
        if k + 1 < TERMS:
            u, v = b[SLIP_X + k], b[SLIP_Y + k]
            b[SLIP_X + k + 1] = (b[G + 3] * speed - mu * (gxx * u + gxy * v)) / (k + 1)
            b[SLIP_Y + k + 1] = (b[G + 6] * speed - mu * (gxy * u + gyy * v)) / (k + 1)
            for place, change in ((X, TURN_X), (Y, TURN_Y), (SPEED, FASTER)):
                b[place + k + 1] = b[change + k] / (k + 1)
    for place, rate in ((PUSHED, SPEED), (RUBBED_X, SLIP_X), (RUBBED_Y, SLIP_Y)):
        for k in range(TERMS):
            b[place + k] = b[rate + k] / (k + 1)


@native_kernel
def _reach(b: Any) -> float:
    """How far the series are good: the last two terms of each are rounding of its first one."""
    reach = math.inf
    for k in range(TERMS - 2, TERMS):
        most = max(abs(b[X + k]), abs(b[Y + k]), abs(b[SPEED + k]) / b[SPEED])
        if most > 0.0:
            reach = min(reach, math.exp(math.log(TOLERANCE / most) / k))
    return reach


@native_kernel
def _go(b: Any, start: Any, s: float) -> None:
    """Velocities and impulses at s, from the normal velocity and the impulses at the start of a step."""
    vn, p, px, py = start
    x, dp = _sum_series(b, SLIP_X, s), s * _sum_series(b, PUSHED, s)
    y, share = _sum_series(b, SLIP_Y, s), -b[KINETIC_FRICTION] * s
    dx, dy = share * _sum_series(b, RUBBED_X, s), share * _sum_series(b, RUBBED_Y, s)
    b[P], b[P + 1], b[P + 2] = p + dp, px + dx, py + dy
    b[V], b[V + 1], b[V + 2] = vn + b[G] * dp + b[G + 1] * dx + b[G + 2] * dy, x, y


@native_inline
def _sum_series(b: Any, place: int, s: float) -> float:
    """A series at s, its even and its odd terms apart, so that half as many sums wait for each other."""
    even, odd, square = 0.0, 0.0, s * s
    for k in range(TERMS - 2, -1, -2):
        even, odd = even * square + b[place + k], odd * square + b[place + k + 1]
    return float(even + s * odd)


@native_kernel
def _find_end(b: Any, start: Any, low: float, high: float) -> float:
    """Where between two places of a step the end is reached, by regula falsi (Illinois)."""
    _go(b, start, low)
    below = _left(b)
    _go(b, start, high)
    above, side = _left(b), 0
    for _ in range(80):
        s = high - above * (high - low) / (above - below) if above != below else 0.5 * (low + high)
        if not low < s < high:
            return min(max(s, low), high)
        _go(b, start, s)
        value = _left(b)
        if value <= 0.0:
            high, above = s, value
            below *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, below = s, value
            above *= 0.5 if side == -1 else 1.0
            side = -1
    return high
