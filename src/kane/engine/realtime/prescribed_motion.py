"""The loop of inverse dynamics: the handle follows the proxy, and the required force is computed.

A point y follows the position x of the proxy like a mass on a critically damped spring, y'' = W^2 (x - y) - 2 W y'. The
equation is solved exactly over a step, so that y has a velocity and an acceleration. The handle is prescribed to be at
y. With the constraint rows A and C = [J; A],

    p(q) = y and g(q) = 0,   C u = [y'; 0],   C udot + r = [y''; 0],   C^T [f; ...] = M udot + h,

where h contains velocity terms and all loads, and f is the force on the handle that the motion requires. Without
coupling, y comes to rest without overshooting.

Source: Gillespie 2003, section 1, on inverse dynamics. Newton's method solves p(q) = y and g(q) = 0.
"""

from __future__ import annotations

import math

from kane.deferred import NamedTuple
from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.linear.elimination import solve_square
from kane.engine.linear.vectors import is_finite, normalise
from kane.engine.memory.loop_arguments import Course, Indices, Matrix, StateEquation, Store, Vector
from kane.engine.memory.run_codes import GOING, STUCK
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import Follower, LoopCounts, PrescribedTerms, coupler_inputs_at
from kane.engine.realtime.loop_arrays import ARMED
from kane.engine.step.explicit import fixed_step
from kane.engine.step.state_equation import write_record

# Largest number of Newton steps; residual below which they end [m, rad].
NEWTON_STEPS, NEWTON_RESIDUAL = 20, 1e-13
# Residual that is accepted if it no longer decreases [m, rad].
ROUNDED_NEWTON_RESIDUAL = 1e-10
# Relative pivot below which C is singular.
SINGULAR_PIVOT = 1e-12
# Statuses of the follower: not set; y and y' are set; the last proxy is known too.
FOLLOWER_UNKNOWN, FOLLOWER_AT_HANDLE, FOLLOWER_COUPLED = 0.0, 1.0, 2.0


class Rigid(NamedTuple):
    """Arrays of inverse dynamics for a mechanism of n speeds, whose handle is held along m axes.

    Attributes:
        program: address of the program with state [t, q, u], rest = inputs and out = ``PrescribedTerms``.
        constants, work: constants and scratch memory of the program.
        terms: output of the program.
        axes: axes along which the handle is held, (m,) of 0, 1, 2.
        follower: y with its derivatives, and the last proxy.
        follow: W [1/s].
        known: status of the follower, (1,).
        A, pivots: scratch memory of the elimination, (n, n) and (n,).
        b: right-hand side, which the solution replaces, (n,).
        reaction: force and torque on the handle, (6,).
        counts: integers of the session.
        inputs: index of the first input of the coupler.
    """

    program: int
    constants: Vector
    terms: PrescribedTerms
    work: Vector
    axes: Indices
    follower: Follower
    follow: float
    known: Vector
    A: Matrix
    pivots: Indices
    b: Vector
    reaction: Vector
    counts: LoopCounts
    inputs: int


@native_inline
def _evaluate(p: Rigid, system: StateEquation, t: float, x: Vector) -> None:
    """Compute the terms at a state."""
    state = system.state
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(p.program, state, system.inputs, p.constants, p.terms.whole, p.work)


@native_inline
def _solve(p: Rigid, transposed: bool) -> bool:
    """Replace b by the solution of C x = b, or C^T x = b; return False if C is singular."""
    n = p.b.size
    for i in range(n):
        for j in range(n):
            p.A[i, j] = p.terms.C[j, i] if transposed else p.terms.C[i, j]
    return bool(solve_square(p.A, n, p.pivots, p.b) == n)


@native_inline
def _begin(p: Rigid, x: Vector, nq: int) -> None:
    """Set y and y' to position and velocity of the handle at the last evaluated state."""
    n = p.b.size
    for i in range(p.axes.size):
        p.follower.y[p.axes[i]] = p.terms.position[i]
        rate = 0.0
        for j in range(n):
            rate += p.terms.C[i, j] * x[nq + j]
        p.follower.rate[p.axes[i]] = rate
    p.known[0] = FOLLOWER_AT_HANDLE


@native_inline
def _follow(p: Rigid, system: StateEquation, T: float) -> None:
    """Compute y, y' and y'' at the end of a step in which the proxy moves with constant velocity."""
    W, fall, f, proxy = p.follow, math.exp(-p.follow * T), p.follower, coupler_inputs_at(system.inputs, p.inputs).proxy
    held = p.counts.status[0] == ARMED and p.counts.clutched[0] == 0
    for k in range(p.axes.size):
        i = p.axes[k]
        there = proxy[i] if held else f.y[i] + f.rate[i] / W
        slope = (there - f.proxy[i]) / T if held and p.known[0] == FOLLOWER_COUPLED else 0.0
        away = f.y[i] - there + slope * (T + 2.0 / W)
        rate = f.rate[i] - slope + W * away
        f.y[i] = there - 2.0 * slope / W + (away + rate * T) * fall
        f.rate[i] = slope + (f.rate[i] - slope - W * rate * T) * fall
        f.acceleration[i] = W * W * (there - f.y[i]) - 2.0 * W * f.rate[i]
        f.proxy[i] = there
    p.known[0] = FOLLOWER_COUPLED if held else FOLLOWER_AT_HANDLE


@native_inline
def _place(p: Rigid, system: StateEquation, t: float, y: Vector, z: Vector, nq: int) -> bool:
    """Correct the coordinates in y by Newton's method so that the handle is at its place; return whether it converged.

    The speeds in y are overwritten, z is scratch memory.
    """
    n, m, before = p.b.size, p.axes.size, math.inf
    for _ in range(NEWTON_STEPS):
        _evaluate(p, system, t, y)
        left = 0.0
        for i in range(n):
            p.b[i] = (p.follower.y[p.axes[i]] if i < m else 0.0) - p.terms.position[i]
            left = max(left, abs(p.b[i]))
        if left <= NEWTON_RESIDUAL or (left <= ROUNDED_NEWTON_RESIDUAL and left > 0.5 * before):
            return True
        if not _solve(p, False):
            return False
        for i in range(nq):
            z[i] = y[i]
        for i in range(n):
            z[nq + i] = p.b[i]
        _evaluate(p, system, t, z)
        for i in range(nq):
            y[i] += p.terms.rates[i]
        normalise(y, system.quaternions)
        before = left
    return False


@native_inline
def _react(p: Rigid, system: StateEquation, t: float, y: Vector, nq: int) -> bool:
    """Compute the speeds in y from its coordinates, and the reaction; return False if they are not determined."""
    n, m = p.b.size, p.axes.size
    for i in range(n):
        p.b[i] = p.follower.rate[p.axes[i]] if i < m else 0.0
    if not _solve(p, False):
        return False
    for i in range(n):
        y[nq + i] = p.b[i]
    _evaluate(p, system, t, y)
    M = p.terms.M
    for i in range(n):
        p.b[i] = (p.follower.acceleration[p.axes[i]] if i < m else 0.0) - p.terms.r[i]
    if not _solve(p, False):
        return False
    udot = system.state[1 + nq :]  # scratch memory: the program is not called again at this state
    for i in range(n):
        udot[i] = p.b[i]
    for i in range(n):
        p.b[i] = p.terms.h[i]
        for j in range(n):
            p.b[i] += M[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] * udot[j]
    if not (_solve(p, True) and is_finite(p.b) and is_finite(y)):
        return False
    for i in range(m):
        p.reaction[p.axes[i]] = p.b[i]
    return True


@native_loop
def march_rigid(system: StateEquation, course: Course, store: Store, rigid: Rigid, steps: int) -> int:
    """Take steps.

    Args:
        system: a state equation in one mode.
        course: a course of fixed steps, each of which is recorded.
        store: with room for the records.
        rigid: arrays of the steps.
        steps: number of steps.

    Returns:
        GOING, or STUCK if the handle cannot follow the proxy.
    """
    p, x, y, z = rigid, store.x, store.y, store.z
    nq = x.size - p.b.size
    for _ in range(steps):
        t = clock_of(store).time[0]
        T, t1 = fixed_step(course, clock_of(store), counts_of(store))
        _evaluate(p, system, t, x)
        if p.known[0] == FOLLOWER_UNKNOWN:
            _begin(p, x, nq)
        _follow(p, system, T)
        for i in range(nq):
            y[i] = x[i] + T * p.terms.rates[i]
        for i in range(p.b.size):
            y[nq + i] = x[nq + i]
        normalise(y, system.quaternions)
        if not (_place(p, system, t1, y, z, nq) and _react(p, system, t1, y, nq)):
            return STUCK
        for i in range(x.size):
            x[i] = y[i]
        clock_of(store).time[0] = t1
        counts_of(store).steps[0] += 1
        write_record(store, t1, y, system.projection.notes)
    return GOING
