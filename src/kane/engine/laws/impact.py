"""One impact with friction at one contact: integration of its velocity over the normal impulse.

The velocity of the contact (normal, tangents) changes with the impulse by v = v- + G p. While the contact slips,
Coulomb's law for the increments is dp_t = -mu dp_n v_t / |v_t|. After the slip stops, the contact sticks as long as the
static friction cone contains the impulse increments. With one tangent, the path is piecewise linear. With two tangents,
let v_t = E r with the slip direction r = (x, y), |r| = 1, and dp_n = E ds. The equations of Routh and Keller are

    dE/ds = (r . g) E,   dr/ds = (n . g) n,   g = G_tn - mu G_tt r,   n = (-y, x).

They remain regular as the slip vanishes. Because they are polynomials, recurrences give the Taylor coefficients of the
path in s. The convergence of the series limits the step length. Compression ends when the normal velocity is zero.

Expansion ends at a velocity (Newton), at an impulse (Poisson), or at a work of the normal impulse (Stronge):

    W = int v_n dp_n,   W_expansion = -e^2 W_compression.

Friction dissipates energy along the whole path. Stronge's impact therefore loses at least the energy
(e^2 - 1) W_compression >= 0.

Source: Routh, Dynamics of a System of Rigid Bodies, 7th ed., 1905, articles 179-198, 315; Keller, Impact with friction,
J. Appl. Mech. 53, 1986; Jorba & Zou, A software package for the numerical integration of ODEs by means of high-order
Taylor methods, Exp. Math. 14, 2005; Stronge, Rigid body collisions with friction, Proc. R. Soc. Lond. A 431, 1990.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.generated_laws import newton_velocity, poisson_impulse, stronge_work
from kane.engine.linear.vectors import length
from kane.engine.memory.contact_codes import NEWTON, STRONGE
from kane.engine.memory.impact_codes import (
    ACROSS,
    ALONG,
    DEPARTURE,
    NORMAL_INTEGRAL,
    RUBBED_X,
    RUBBED_Y,
    SLIP_X,
    SLIP_Y,
    SPEED,
    SPEED_GROWTH,
    TURN_X,
    TURN_Y,
    WORK,
    XX,
    XY,
    X,
    Y,
)
from kane.engine.memory.scratch import TERMS

# PIECES: largest number of pieces of a path. SERIES_STEPS: largest number of Taylor steps in one piece.
# TOLERANCE: relative size of the last terms of a series at the step end. PARTS: subintervals of a step that are tested
# for the end of the phase. STOPPED: slip speed relative to the start of the piece, below which the slip is zero.
# STRAIGHT: |n . g| relative to the bound of |g|, below which the slip direction is constant.
PIECES, SERIES_STEPS, TOLERANCE, PARTS, STOPPED, STRAIGHT = 12, 1000, 1e-16, 2, 2.0**-52, 1e-13
# Results of an impact: computed; G_nn not positive or not finite; no end of the path within the limits.
DONE, IMMOVABLE, UNENDING = range(3)


@native_kernel
def strike(b: Any, tangents: int, law: int, restitution: float) -> int:
    """Compute the impulse p [N s] and the velocity v [m/s] after an impact.

    Args:
        b: Impact with G [1/kg], the friction coefficients, and v before the impact, approaching or not. The function
            writes p and v, and multiplies G by a power of two.
        tangents: number of tangents with friction, 0 to 2.
        law: POISSON, NEWTON or STRONGE.
        restitution: coefficient of restitution, 0 to 1.

    Returns:
        DONE, IMMOVABLE or UNENDING.
    """
    approach = b.v[0]
    for i in range(3):
        b.p[i] = 0.0
    if not 0.0 < b.G[0, 0] < math.inf:
        return IMMOVABLE
    # Scale the unit of mass so that 1 <= G_nn <= 2, because high-order Taylor coefficients could overflow or underflow.
    # A power of two causes no rounding errors.
    mass = 1.0
    while mass * b.G[0, 0] < 1.0:
        mass *= 2.0
    while mass * b.G[0, 0] > 2.0:
        mass *= 0.5
    for i in range(3):
        for j in range(3):
            b.G[i, j] *= mass
    b.end_velocity[0], b.end_impulse[0], b.end_work[0] = 0.0, math.inf, math.inf
    b.work[0] = 0.0 if law == STRONGE else math.nan
    ended = _follow(b, tangents)
    if ended == DONE and restitution > 0.0:
        if law == NEWTON:
            b.end_velocity[0] = newton_velocity(restitution, approach)
        elif law == STRONGE:
            b.end_velocity[0], b.end_work[0], b.work[0] = math.inf, stronge_work(restitution, b.work[0]), 0.0
        else:
            b.end_velocity[0], b.end_impulse[0] = math.inf, b.p[0] + poisson_impulse(restitution, b.p[0])
        ended = _follow(b, tangents)
    for i in range(3):
        b.p[i] *= mass
    return ended


@native_kernel
def _follow(b: Any, tangents: int) -> int:
    """Follow the path to the end of the phase; return DONE or UNENDING.

    The first piece precedes the test for the end, because sliding friction may first increase the approach velocity.
    """
    started = False
    for _ in range(PIECES):
        if started and _left(b) <= 0.0:
            return DONE
        started = True
        slip = length(b.v[1], b.v[2]) if tangents > 0 else 0.0
        if tangents == 0 or b.kinetic[0] == 0.0:
            return _straight(b, 0.0, 0.0, 0.0, 0.0)
        if slip > 0.0 and tangents == 1:
            x = math.copysign(1.0, b.v[1])
            ended = _straight(b, -b.kinetic[0] * x, 0.0, x, 0.0)
        elif slip > 0.0:
            ended = _curved(b)
        else:
            ended = _from_rest(b, tangents)
        if ended != DONE:
            return ended
    return DONE if _left(b) <= 0.0 else UNENDING


@native_kernel
def _left(b: Any) -> float:
    """Return the normal velocity, impulse or work that remains to the end of the phase; <= 0 at the end."""
    if b.end_work[0] != math.inf:
        return float(b.end_work[0] - b.work[0])
    return float(b.end_velocity[0] - b.v[0] if b.end_impulse[0] == math.inf else b.end_impulse[0] - b.p[0])


@native_kernel
def _end_exactly(b: Any) -> None:
    """Write the exact value at the end of the phase, so that no rounding error remains."""
    if b.end_work[0] != math.inf:
        b.work[0] = b.end_work[0]
    elif b.end_impulse[0] == math.inf:
        b.v[0] = b.end_velocity[0]
    else:
        b.p[0] = b.end_impulse[0]


@native_kernel
def _left_straight(b: Any, gn: float) -> float:
    """Return the normal impulse until the phase ends, with gn = dv_n / dp_n; infinite if the phase does not end."""
    if b.end_work[0] != math.inf:
        # The work v_n p + gn p^2 / 2 is the remaining work W: p = 2 W / (v_n + sqrt(v_n^2 + 2 gn W)).
        v, left = b.v[0], b.end_work[0] - b.work[0]
        square = v * v + 2.0 * gn * left
        if square < 0.0 or (v <= 0.0 and gn <= 0.0):
            return math.inf
        root = math.sqrt(square)
        return float(2.0 * left / (v + root) if v > 0.0 else (root - v) / gn)
    if b.end_impulse[0] == math.inf:
        return float((b.end_velocity[0] - b.v[0]) / gn if gn > 0.0 else math.inf)
    return float(b.end_impulse[0] - b.p[0])


@native_kernel
def _straight(b: Any, tx: float, ty: float, x: float, y: float) -> int:
    """Follow the impulse direction (1, tx, ty) until the phase ends or the slip along (x, y) stops.

    Returns:
        DONE, or UNENDING if neither happens.
    """
    gn = b.G[0, 0] + b.G[0, 1] * tx + b.G[0, 2] * ty
    gx = b.G[1, 0] + b.G[1, 1] * tx + b.G[1, 2] * ty
    gy = b.G[2, 0] + b.G[2, 1] * tx + b.G[2, 2] * ty
    slip, slower = x * b.v[1] + y * b.v[2], -(x * gx + y * gy)
    stop = slip / slower if slower > 0.0 and slip > 0.0 else math.inf
    end = _left_straight(b, gn)
    p = min(max(end, 0.0), stop)
    if p == math.inf:
        return UNENDING
    b.work[0] += p * (b.v[0] + 0.5 * p * gn)
    b.p[0], b.p[1], b.p[2] = b.p[0] + p, b.p[1] + p * tx, b.p[2] + p * ty
    b.v[0], b.v[1], b.v[2] = b.v[0] + p * gn, b.v[1] + p * gx, b.v[2] + p * gy
    if end <= stop:
        _end_exactly(b)
    if stop <= end:
        b.v[1] = b.v[2] = 0.0
    return DONE


@native_kernel
def _from_rest(b: Any, tangents: int) -> int:
    """Continue from zero slip: stick inside the static friction cone, otherwise slip in a constant direction."""
    a, c, d = b.G[1, 1], b.G[1, 2], b.G[2, 2]
    if tangents == 1:
        tx, ty = -b.G[1, 0] / a if a > 0.0 else 0.0, 0.0
    else:
        # Minimum-norm solution of G_tt t = -G_tn: directions without mobility receive no impulse.
        determinant = a * d - c * c
        if determinant > 1e-14 * max(a, d) ** 2:
            tx = (-b.G[1, 0] * d + b.G[2, 0] * c) / determinant
            ty = (-b.G[2, 0] * a + b.G[1, 0] * c) / determinant
        else:
            trace = a + d
            tx, ty = (0.0, 0.0) if trace <= 0.0 else (-b.G[1, 0] / trace, -b.G[2, 0] / trace)
    bound = length(tx, ty)
    if bound <= b.static[0]:
        return _straight(b, tx, ty, 0.0, 0.0)
    phi = math.atan2(-ty, -tx)
    if tangents == 2:
        phi = _invariant(b, phi)
    x, y = math.cos(phi), math.sin(phi) if tangents == 2 else 0.0
    mu = b.kinetic[0]
    return _straight(b, -mu * x, -mu * y, 0.0, 0.0)


@native_kernel
def _turning(b: Any, phi: float) -> float:
    """Return n . g [1/kg] for slip in the direction phi [rad]; zero if the slip direction is constant."""
    x, y, mu = math.cos(phi), math.sin(phi), b.kinetic[0]
    gx = b.G[1, 0] - mu * (b.G[1, 1] * x + b.G[1, 2] * y)
    gy = b.G[2, 0] - mu * (b.G[2, 1] * x + b.G[2, 2] * y)
    return float(x * gy - y * gx)


@native_kernel
def _invariant(b: Any, phi: float) -> float:
    """Return the angle [rad] near phi of the slip direction with n . g = 0, by the secant method."""
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
    """Follow slip along two tangents by Taylor steps until the phase or the slip ends; return DONE or UNENDING."""
    first, mu = length(b.v[1], b.v[2]), b.kinetic[0]
    size = abs(b.G[1, 0]) + abs(b.G[2, 0]) + mu * (b.G[1, 1] + b.G[2, 2])
    for _ in range(SERIES_STEPS):
        speed = length(b.v[1], b.v[2])
        if not speed > STOPPED * first:
            b.v[1] = b.v[2] = 0.0
            return DONE
        b.series[X, 0], b.series[Y, 0], b.series[SPEED, 0] = b.v[1] / speed, b.v[2] / speed, speed
        _expand(b)
        if abs(b.series[ACROSS, 0]) <= STRAIGHT * size:
            return _straight(b, -mu * b.series[X, 0], -mu * b.series[Y, 0], b.series[X, 0], b.series[Y, 0])
        if not math.isnan(b.work[0]):
            _expand_work(b)
        step = _reach(b)
        start = (b.v[0], b.p[0], b.p[1], b.p[2], b.work[0])
        end, share = -1.0, 0.0
        while share < 1.0:
            before, share = share, share + 1.0 / PARTS
            _go(b, start, share * step)
            if _left(b) <= 0.0:
                end = _find_end(b, start, before * step, share * step)
                break
        if end >= 0.0:
            _go(b, start, end)
            _end_exactly(b)
            return DONE
    return UNENDING


@native_kernel
def _expand(b: Any) -> None:
    """Compute the Taylor coefficients of all series from the first coefficients of r and E.

    The loop adds the products of each new coefficient with all earlier coefficients to the Cauchy products.
    """
    mu, gxx, gxy, gyy = b.kinetic[0], b.G[1, 1], b.G[1, 2], b.G[2, 2]
    for place in (XX, XY, TURN_X, TURN_Y, SPEED_GROWTH):
        for k in range(TERMS):
            b.series[place, k] = 0.0
    for k in range(TERMS):
        x, y, speed, fits = b.series[X, k], b.series[Y, k], b.series[SPEED, k], 2 * k < TERMS
        for j in range(min(k, TERMS - k)):
            b.series[XX, k + j] += 2.0 * x * b.series[X, j]
            b.series[XY, k + j] += x * b.series[Y, j] + y * b.series[X, j]
        if fits:
            b.series[XX, 2 * k] += x * x
            b.series[XY, 2 * k] += x * y
        xx, xy = b.series[XX, k], b.series[XY, k]
        yy = (1.0 if k == 0 else 0.0) - xx
        along = b.G[1, 0] * x + b.G[2, 0] * y - mu * (gxx * xx + 2.0 * gxy * xy + gyy * yy)
        across = b.G[2, 0] * x - b.G[1, 0] * y - mu * (gxy * (xx - yy) + (gyy - gxx) * xy)
        b.series[ALONG, k], b.series[ACROSS, k] = along, across
        for j in range(min(k, TERMS - k)):
            b.series[TURN_X, k + j] -= across * b.series[Y, j] + y * b.series[ACROSS, j]
            b.series[TURN_Y, k + j] += across * b.series[X, j] + x * b.series[ACROSS, j]
            b.series[SPEED_GROWTH, k + j] += along * b.series[SPEED, j] + speed * b.series[ALONG, j]
        if fits:
            b.series[TURN_X, 2 * k] -= across * y
            b.series[TURN_Y, 2 * k] += across * x
            b.series[SPEED_GROWTH, 2 * k] += along * speed
        if k == 0:
            b.series[SLIP_X, 0], b.series[SLIP_Y, 0] = speed * x, speed * y
        if k + 1 < TERMS:
            u, v = b.series[SLIP_X, k], b.series[SLIP_Y, k]
            b.series[SLIP_X, k + 1] = (b.G[1, 0] * speed - mu * (gxx * u + gxy * v)) / (k + 1)
            b.series[SLIP_Y, k + 1] = (b.G[2, 0] * speed - mu * (gxy * u + gyy * v)) / (k + 1)
            for place, change in ((X, TURN_X), (Y, TURN_Y), (SPEED, SPEED_GROWTH)):
                b.series[place, k + 1] = b.series[change, k] / (k + 1)
    for place, rate in ((NORMAL_INTEGRAL, SPEED), (RUBBED_X, SLIP_X), (RUBBED_Y, SLIP_Y)):
        for k in range(TERMS):
            b.series[place, k] = b.series[rate, k] / (k + 1)


@native_kernel
def _expand_work(b: Any) -> None:
    """Compute the Taylor coefficients of v_n and of the work of the normal impulse, int v_n E ds."""
    mu = b.kinetic[0]
    b.series[DEPARTURE, 0] = b.v[0]
    for k in range(TERMS):
        if k + 1 < TERMS:
            rubbed = b.G[0, 1] * b.series[SLIP_X, k] + b.G[0, 2] * b.series[SLIP_Y, k]
            b.series[DEPARTURE, k + 1] = (b.G[0, 0] * b.series[SPEED, k] - mu * rubbed) / (k + 1)
        power = 0.0
        for j in range(k + 1):
            power += b.series[DEPARTURE, j] * b.series[SPEED, k - j]
        b.series[WORK, k] = power / (k + 1)


@native_kernel
def _reach(b: Any) -> float:
    """Return the step length in s at which the last two terms of r and E are at most TOLERANCE times |r| and E."""
    reach = math.inf
    for k in range(TERMS - 2, TERMS):
        most = max(abs(b.series[X, k]), abs(b.series[Y, k]), abs(b.series[SPEED, k]) / b.series[SPEED, 0])
        if most > 0.0:
            reach = min(reach, math.exp(math.log(TOLERANCE / most) / k))
    return reach


@native_kernel
def _go(b: Any, start: Any, s: float) -> None:
    """Write velocity, impulse and work at s; ``start`` has the normal velocity, the impulses and the work at s = 0."""
    vn, p, px, py, work = start
    x, dp = _sum_series(b, SLIP_X, s), s * _sum_series(b, NORMAL_INTEGRAL, s)
    y, share = _sum_series(b, SLIP_Y, s), -b.kinetic[0] * s
    dx, dy = share * _sum_series(b, RUBBED_X, s), share * _sum_series(b, RUBBED_Y, s)
    b.p[0], b.p[1], b.p[2] = p + dp, px + dx, py + dy
    b.v[0], b.v[1], b.v[2] = vn + b.G[0, 0] * dp + b.G[0, 1] * dx + b.G[0, 2] * dy, x, y
    if not math.isnan(work):
        b.work[0] = work + s * _sum_series(b, WORK, s)


@native_inline
def _sum_series(b: Any, place: int, s: float) -> float:
    """Return the value of a series at s; separate sums of even and odd terms halve the chain of dependent sums."""
    even, odd, square = 0.0, 0.0, s * s
    for k in range(TERMS - 2, -1, -2):
        even, odd = even * square + b.series[place, k], odd * square + b.series[place, k + 1]
    return float(even + s * odd)


@native_kernel
def _find_end(b: Any, start: Any, low: float, high: float) -> float:
    """Return s of the end of the phase, between ``low`` and ``high``, by regula falsi (Illinois algorithm)."""
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
