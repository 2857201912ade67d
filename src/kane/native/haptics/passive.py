"""The loop of passive midpoint steps: what the simulation stores, loses and gets through the coupler is an identity.

With M = L L^T and w = L^T u the kinetic energy is |w|^2/2 and the equations of motion are

    w' + Q w = L^-1 (J^T f + tau - g),   Q = lower(L^-1 C L^-T) - its transpose,

Q skew because C + C^T is the rate of M: it does no work. One step takes L, C, J, tau and g where half a step leads at
the speeds of its start, and w in the middle between its ends, which one linear system determines:

    (2/T + Q + L^-1 J^T (K T/2 + B) J L^-T) w_mid = 2/T w_0 + L^-1 (J^T (K (x_h - p_0) + B v_h) + tau - g).

So |w_1|^2/2 - |w_0|^2/2 = T u_mid . (J^T f + tau - g), with f = K (x_h - p_0 - T/2 v_mid) + B (v_h - v_mid). What the
potential energy gains differs from T u_mid . g by the third power of T: that difference is taken off |w_1|^2/2, or owed
where it is not there, as at a turning point.

Source: Kim et al. 2017, doi 10.1177/0278364917731821, passive midpoint integration; its potential is another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.arrays import (
    DONE,
    GOING,
    NOT_FINITE,
    STUCK,
    TIME,
    Course,
    Indices,
    Matrix,
    StateEquation,
    Store,
    Vector,
)
from kane.native.call import call_program, native_inline, native_loop
from kane.native.explicit import fixed_step
from kane.native.state import is_finite, normalise, write_row

# Places in the ledger [J]: work of the coupler, work of all loads that have no potential, what is owed to the
# potential, kinetic energy and potential energy; and whether the last two are those of the state.
PORT, OTHER, OWED, KINETIC, POTENTIAL, KNOWN = range(6)
LEDGER = 6
# Less kinetic energy than this is rest [J].
TINY = 1e-30


class Passive(NamedTuple):
    """What passive steps need of a mechanism.

    Attributes:
        programs: addresses, with state [t, q, u] and rest = inputs: "ahead" with out = [M, C, h, g, J, v_t] where M is
            one triangle, C and J (3, n) go by rows, h = C u + g less all other forces, and v = J u + v_t is that of the
            handle; "behind" with out = [M, V, p]; "kinematics" with out = dq/dt.
        stages: of the programs, one after the other, and where each begins.
        places: where in ``stages`` each program's begins.
        ahead, behind, rates, work: outputs and scratch.
        L, A: (n, n).
        w, middle, force: (n,).
        coupling: J L^-T by rows, (3, n).
        ledger: see PORT.
        inputs: where among the inputs those of the coupler begin.
    """

    programs: Indices
    stages: Vector
    places: Indices
    ahead: Vector
    behind: Vector
    rates: Vector
    work: Vector
    L: Matrix
    A: Matrix
    w: Vector
    middle: Vector
    force: Vector
    coupling: Matrix
    ledger: Vector
    inputs: int


@native_inline
def _call(p: Any, system: Any, which: int, t: float, x: Any, out: Any) -> None:
    state = system.state
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(p.programs[which], state, system.inputs, p.stages[p.places[which] :], out, p.work)


@native_inline
def _factor(L: Any, triangle: Any) -> bool:
    """L with M = L L^T from the lower triangle of M by rows; whether M is positive."""
    n = L.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = triangle[i * (i + 1) // 2 + j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@native_inline
def _lower(L: Any, x: Any) -> None:
    """x = L^-1 x."""
    for i in range(x.size):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@native_inline
def _upper(L: Any, x: Any) -> None:
    """x = L^-T x."""
    for i in range(x.size - 1, -1, -1):
        for k in range(i + 1, x.size):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@native_inline
def _solve(A: Any, x: Any) -> None:
    """x = A^-1 x by elimination, in place; A is positive definite but for a skew part, and needs no pivoting."""
    n = x.size
    for k in range(n):
        for i in range(k + 1, n):
            part = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= part * A[k, j]
            x[i] -= part * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]


@native_inline
def _skew(p: Any, C: Any) -> None:
    """A = Q: the part below the diagonal of L^-1 C L^-T, less its transpose."""
    A, L, n = p.A, p.L, p.L.shape[0]
    for j in range(n):  # columns of L^-1 C
        for i in range(n):
            A[i, j] = C[i * n + j]
        for i in range(n):
            for k in range(i):
                A[i, j] -= L[i, k] * A[k, j]
            A[i, j] /= L[i, i]
    for i in range(n):  # rows of (L^-1 C) L^-T
        _lower(L, A[i])
    for i in range(n):
        A[i, i] = 0.0
        for j in range(i):
            A[j, i] = -A[i, j]


@native_inline
def _behind(p: Any, system: Any, t: float, x: Any) -> bool:
    """L, the potential energy and the place of the handle at a state; whether M is positive there."""
    n = p.w.size
    _call(p, system, 1, t, x, p.behind)
    p.ledger[POTENTIAL] = p.behind[n * (n + 1) // 2]
    return _factor(p.L, p.behind)


@native_inline
def _begin(p: Any, system: Any, t: float, x: Any) -> bool:
    """w and the energies at the state from which the first step goes."""
    n = p.w.size
    if not _behind(p, system, t, x):
        return False
    nq, p.ledger[KINETIC] = x.size - n, 0.0
    for i in range(n):
        p.w[i] = 0.0
        for k in range(i, n):
            p.w[i] += p.L[k, i] * x[nq + k]
        p.ledger[KINETIC] += 0.5 * p.w[i] * p.w[i]
    p.ledger[KNOWN] = 1.0
    return True


@native_inline
def _forces(p: Any, system: Any, u: Any, T: float) -> None:
    """The equations for w_mid: their matrix in A, their right-hand side in ``middle``, other loads in ``force``."""
    n, at = p.w.size, p.w.size * (p.w.size + 1) // 2
    C, h, g = p.ahead[at:], p.ahead[at + n * n :], p.ahead[at + n * n + n :]
    J, v_t, given = p.ahead[at + n * n + 2 * n :], p.ahead[at + n * n + 5 * n :], system.inputs[p.inputs :]
    K, B = given[6], given[7]
    for i in range(n):
        p.force[i] = g[i] - h[i]
        for j in range(n):
            p.force[i] += C[i * n + j] * u[j]
        p.middle[i] = p.force[i] - g[i]
    _skew(p, C)
    for r in range(3):
        push = K * (given[r] - p.behind[at + 1 + r] - 0.5 * T * v_t[r]) + B * (given[3 + r] - v_t[r])
        for j in range(n):
            p.coupling[r, j] = J[r * n + j]
            p.middle[j] += p.coupling[r, j] * push
        _lower(p.L, p.coupling[r])
    _lower(p.L, p.middle)
    for i in range(n):
        p.middle[i] += 2.0 / T * p.w[i]
        p.A[i, i] += 2.0 / T
        for j in range(n):
            for r in range(3):
                p.A[i, j] += (0.5 * K * T + B) * p.coupling[r, i] * p.coupling[r, j]


@native_inline
def _account(p: Any, system: Any, u: Any, T: float) -> None:
    """Work within the step, at the speeds u in its middle; what the loads without potential do is theirs."""
    n, at, given = u.size, u.size * (u.size + 1) // 2, system.inputs[p.inputs :]
    J, v_t = p.ahead[at + n * n + 2 * n :], p.ahead[at + n * n + 5 * n :]
    for i in range(n):
        p.ledger[OTHER] += T * u[i] * p.force[i]
    for r in range(3):
        v = v_t[r]
        for j in range(n):
            v += J[r * n + j] * u[j]
        f = given[6] * (given[r] - p.behind[at + 1 + r] - 0.5 * T * v) + given[7] * (given[3 + r] - v)
        p.ledger[PORT] += T * f * v


@native_inline
def _pay(p: Any, before: float, gained: float) -> None:
    """Take off w what the potential has gained beyond the work against it, as far as it is there; the rest is owed."""
    kinetic = 0.0
    for i in range(p.w.size):
        kinetic += 0.5 * p.w[i] * p.w[i]
    owed = p.ledger[OWED] + p.ledger[POTENTIAL] - before - gained
    if kinetic > abs(owed) + TINY:
        share = math.sqrt(1.0 - owed / kinetic)
        for i in range(p.w.size):
            p.w[i] *= share
        kinetic, owed = kinetic - owed, 0.0
    p.ledger[OWED], p.ledger[KINETIC] = owed, kinetic


@native_inline
def _passive_step(p: Any, system: Any, store: Any, t: float, T: float, t1: float) -> int:
    """From store.x to store.y."""
    x, y, z, n = store.x, store.y, store.z, p.w.size
    nq = x.size - n
    if p.ledger[KNOWN] == 0.0 and not _begin(p, system, t, x):
        return STUCK
    before, gained = p.ledger[POTENTIAL], 0.0
    _call(p, system, 2, t, x, p.rates)
    for i in range(nq):
        z[i] = x[i] + 0.5 * T * p.rates[i]
    for i in range(n):
        z[nq + i] = x[nq + i]
    normalise(z, system.quaternions)
    _call(p, system, 0, t + 0.5 * T, z, p.ahead)
    if not _factor(p.L, p.ahead):
        return STUCK
    _forces(p, system, x[nq:], T)
    _solve(p.A, p.middle)
    for i in range(n):
        p.w[i] = 2.0 * p.middle[i] - p.w[i]
    _upper(p.L, p.middle)
    _account(p, system, p.middle, T)
    at = n * (n + 1) // 2 + n * n + n
    for i in range(n):
        gained += T * p.ahead[at + i] * p.middle[i]
        z[nq + i] = p.middle[i]
    _call(p, system, 2, t + 0.5 * T, z, p.rates)
    for i in range(nq):
        y[i] = x[i] + T * p.rates[i]
    normalise(y, system.quaternions)
    if not (_behind(p, system, t1, y) and is_finite(p.w)):
        return NOT_FINITE
    _pay(p, before, gained)
    u = y[nq:]
    for i in range(n):
        u[i] = p.w[i]
    _upper(p.L, u)
    return GOING if is_finite(y) else NOT_FINITE


@native_loop
def march_passive(system: StateEquation, course: Course, store: Store, passive: Passive, steps: int) -> int:
    """Take so many steps.

    Args:
        system: a StateEquation without constraints, in one mode.
        course: of fixed steps, each of which is recorded.
        store: with room for the records.
        passive: a Passive.
        steps: how many.

    Returns:
        GOING, NOT_FINITE, or STUCK where the mass matrix is not positive.
    """
    for _ in range(steps):
        t = store.clock[TIME]
        T, t1 = fixed_step(course, store.clock, store.counts)
        status = _passive_step(passive, system, store, t, T, t1)
        if status != GOING:
            return status
        for i in range(store.x.size):
            store.x[i] = store.y[i]
        store.clock[TIME] = t1
        store.counts[DONE] += 1
        write_row(store, t1, store.y, system.settling.notes)
    return GOING
