"""The loop of inverse dynamics: the handle goes where the hand is, and what that takes is computed.

The image x of the hand is followed by y as by a mass on a spring with critical damping, y'' = W^2 (x - y) - 2 W y',
which is solved exactly over a step, so that y has a velocity and an acceleration. The handle is prescribed to be at y,
and with the rows of the constraints that hold anyway, C = [J; A],

    p(q) = y and g(q) = 0,   C u = [y'; 0],   C udot + r = [y''; 0],   C^T [f; ...] = M udot + h,

where h are velocity terms and all loads: f is the force on the handle that the motion takes. While nobody holds it, y
comes to rest without overshooting.

Source: Gillespie 2003, section 1, on inverse dynamics; Newton's method for p and g.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.linear.vectors import is_finite, normalise
from kane.engine.memory.loop_arguments import (
    DONE,
    GOING,
    STUCK,
    TIME,
    Course,
    Indices,
    Matrix,
    StateEquation,
    Store,
    Vector,
)
from kane.engine.realtime.loop_arrays import ARMED, HELD, STATUS
from kane.engine.step.explicit import fixed_step
from kane.engine.step.state_equation import write_record

# Newton's method takes so many steps at most, until what is left is less [m, rad].
TRIES, LEFT = 20, 1e-13
# What is left is accepted where it falls no more [m, rad].
ROUNDING = 1e-10
UNKNOWN, KNOWN, HOLDING = 0.0, 1.0, 2.0


class Rigid(NamedTuple):
    """What steps of inverse dynamics need of a mechanism of n speeds, whose handle is held along m axes.

    Attributes:
        program: the address of the program with state [t, q, u] and rest = inputs, and out = [p (m), g (n - m), C by
            rows, r, M by its lower triangle, h, dq/dt].
        constants, out, work: of the program.
        axes: along which axes the handle is held, (m,) of 0, 1, 2.
        follower: y (3), y' (3), y'' (3), x (3).
        follow: W [1/s].
        known: UNKNOWN, KNOWN where y and y' are those of the handle, HOLDING where x is that of the hand too, (1,).
        A: scratch of the elimination, (n, n).
        b: a right-hand side, which the solution replaces, (n,).
        reaction: force and torque on the handle, (6,).
        counts: of the loop.
        inputs: where among the inputs those of the coupler begin.
    """

    program: int
    constants: Vector
    out: Vector
    work: Vector
    axes: Indices
    follower: Vector
    follow: float
    known: Vector
    A: Matrix
    b: Vector
    reaction: Vector
    counts: Indices
    inputs: int


@native_inline
def _call(p: Any, system: Any, t: float, x: Any) -> None:
    state = system.state
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(p.program, state, system.inputs, p.constants, p.out, p.work)


@native_inline
def _solve(p: Any, transposed: bool) -> bool:
    """C x = b, or C^T x = b, by elimination with pivoting, x in the place of b; False where C is singular."""
    A, b, n, most = p.A, p.b, p.b.size, 0.0
    for i in range(n):
        for j in range(n):
            A[i, j] = p.out[n + (j * n + i if transposed else i * n + j)]
            most = max(most, abs(A[i, j]))
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if not abs(A[best, k]) > 1e-12 * most:
            return False
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            b[k], b[best] = b[best], b[k]
        for i in range(k + 1, n):
            part = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= part * A[k, j]
            b[i] -= part * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    return True


@native_inline
def _begin(p: Any, x: Any, nq: int) -> None:
    """y and y' as the handle has them, at the state at which the program was called last."""
    n = p.b.size
    for i in range(p.axes.size):
        p.follower[p.axes[i]] = p.out[i]
        rate = 0.0
        for j in range(n):
            rate += p.out[n + i * n + j] * x[nq + j]
        p.follower[3 + p.axes[i]] = rate
    p.known[0] = KNOWN


@native_inline
def _follow(p: Any, system: Any, T: float) -> None:
    """y, y' and y'' at the end of the step, within which x goes straight from where it was to where it is."""
    W, fall, f = p.follow, math.exp(-p.follow * T), p.follower
    held = p.counts[STATUS] == ARMED and p.counts[HELD] == 0
    for k in range(p.axes.size):
        i = p.axes[k]
        there = system.inputs[p.inputs + i] if held else f[i] + f[3 + i] / W
        slope = (there - f[9 + i]) / T if held and p.known[0] == HOLDING else 0.0
        away = f[i] - there + slope * (T + 2.0 / W)
        rate = f[3 + i] - slope + W * away
        f[i] = there - 2.0 * slope / W + (away + rate * T) * fall
        f[3 + i] = slope + (f[3 + i] - slope - W * rate * T) * fall
        f[6 + i] = W * W * (there - f[i]) - 2.0 * W * f[3 + i]
        f[9 + i] = there
    p.known[0] = HOLDING if held else KNOWN


@native_inline
def _place(p: Any, system: Any, t: float, y: Any, z: Any, nq: int) -> bool:
    """Coordinates in y, from those there, with which the handle is where it has to be; the speeds there are lost."""
    n, m, before = p.b.size, p.axes.size, math.inf
    for _ in range(TRIES):
        _call(p, system, t, y)
        left = 0.0
        for i in range(n):
            p.b[i] = (p.follower[p.axes[i]] if i < m else 0.0) - p.out[i]
            left = max(left, abs(p.b[i]))
        if left <= LEFT or (left <= ROUNDING and left > 0.5 * before):
            return True
        if not _solve(p, False):
            return False
        for i in range(nq):
            z[i] = y[i]
        for i in range(n):
            z[nq + i] = p.b[i]
        _call(p, system, t, z)
        rates = p.out[p.out.size - nq :]
        for i in range(nq):
            y[i] += rates[i]
        normalise(y, system.quaternions)
        before = left
    return False


@native_inline
def _react(p: Any, system: Any, t: float, y: Any, nq: int) -> bool:
    """Speeds in y from the coordinates there, and the reaction."""
    n, m = p.b.size, p.axes.size
    for i in range(n):
        p.b[i] = p.follower[3 + p.axes[i]] if i < m else 0.0
    if not _solve(p, False):
        return False
    for i in range(n):
        y[nq + i] = p.b[i]
    _call(p, system, t, y)
    r, M, h = p.out[n + n * n :], p.out[n * n + 2 * n :], p.out[n * n + 2 * n + n * (n + 1) // 2 :]
    for i in range(n):
        p.b[i] = (p.follower[6 + p.axes[i]] if i < m else 0.0) - r[i]
    if not _solve(p, False):
        return False
    udot = system.state[1 + nq :]  # the program is called no more at this state
    for i in range(n):
        udot[i] = p.b[i]
    for i in range(n):
        p.b[i] = h[i]
        for j in range(n):
            p.b[i] += M[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] * udot[j]
    if not (_solve(p, True) and is_finite(p.b) and is_finite(y)):
        return False
    for i in range(m):
        p.reaction[p.axes[i]] = p.b[i]
    return True


@native_loop
def march_rigid(system: StateEquation, course: Course, store: Store, rigid: Rigid, steps: int) -> int:
    """Take so many steps.

    Args:
        system: a StateEquation in one mode.
        course: of fixed steps, each of which is recorded.
        store: with room for the records.
        rigid: a Rigid.
        steps: how many.

    Returns:
        GOING, or STUCK where the handle cannot go where the hand is.
    """
    p, x, y, z = rigid, store.x, store.y, store.z
    nq = x.size - p.b.size
    for _ in range(steps):
        t = store.clock[TIME]
        T, t1 = fixed_step(course, store.clock, store.counts)
        _call(p, system, t, x)
        if p.known[0] == UNKNOWN:
            _begin(p, x, nq)
        _follow(p, system, T)
        rates = p.out[p.out.size - nq :]
        for i in range(nq):
            y[i] = x[i] + T * rates[i]
        for i in range(p.b.size):
            y[nq + i] = x[nq + i]
        normalise(y, system.quaternions)
        if not (_place(p, system, t1, y, z, nq) and _react(p, system, t1, y, nq)):
            return STUCK
        for i in range(x.size):
            x[i] = y[i]
        store.clock[TIME] = t1
        store.counts[DONE] += 1
        write_record(store, t1, y, system.projection.notes)
    return GOING
