"""The loop of passive midpoint steps: stored energy, losses and the work of the coupler balance exactly.

With M = L L^T and w = L^T u the kinetic energy is |w|^2/2 and the equations of motion are

    w' + Q w = L^-1 (J^T f + tau - g),   Q = lower(L^-1 C L^-T) - its transpose.

Q is skew because C + C^T = dM/dt, and does no work. A step evaluates L, C, J, tau and g half a step ahead at the speeds
of its start. One linear system determines w at its middle:

    (2/T + Q + L^-1 J^T (K T/2 + B) J L^-T) w_mid = 2/T w_0 + L^-1 (J^T (K (x_h - p_0) + B v_h) + tau - g).

J contains the velocity and the angular velocity of the handle. For the spring between orientations, K (x_h - p_0) is
its torque at the start of the step. So |w_1|^2/2 - |w_0|^2/2 = T u_mid . (J^T f + tau - g) with
f = K (x_h - p_0 - T/2 v_mid) + B (v_h - v_mid).

Active constraint rows, A u = 0, restrict w_mid to the motions that they allow, P w = w with an orthogonal projector P.
The system becomes P (...) P w_mid + Q^T Q w_mid = P (...), and the reactions do no work. Kinetic friction is a load
with the normal forces at the start of the step, and only dissipates. The end of the step is projected: q onto the
constraints and w onto the allowed motions.

The energy that the end of the step has beyond the work is of order T^3 without sliding. A common factor on all speeds
removes or adds it. At rest, as at a turning point, it is owed.

Source: Kim et al. 2017, doi 10.1177/0278364917731821, passive midpoint integration, with a different potential.
"""

from __future__ import annotations

import math

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.linear.elimination import solve_square
from kane.engine.linear.factorizations import factor_triangle, solve_lower_factor, solve_upper_factor
from kane.engine.linear.vectors import is_finite, normalise
from kane.engine.memory.loop_arguments import Course, InputTables, Matrix, StateEquation, Store, Vector, Watch
from kane.engine.memory.run_codes import GOING, NOT_FINITE, STUCK
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import PassiveLedger, coupler_inputs_at
from kane.engine.realtime.passive_arrays import MIDPOINT, RATES_OF_Q, STEP_END, Passive
from kane.engine.realtime.rotations import quaternion_of, spring_torque, turn_between
from kane.engine.realtime.tangent_rows import find_active_rows, friction, project_motion, restrict
from kane.engine.step.explicit import fixed_step
from kane.engine.step.guards import has_guards, sample_end
from kane.engine.step.slip_directions import save_directions
from kane.engine.step.step_ends import begin_step, end_step, project_step_end
from kane.engine.step.transitions import ACCEPTED, REPEAT, cut_step, is_full

# Kinetic energy below which the mechanism counts as resting [J].
REST_ENERGY = 1e-30


@native_inline
def _call(p: Passive, system: StateEquation, which: int, t: float, x: Vector, out: Vector) -> None:
    """Call a program of the step at the state x."""
    state = system.state
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(p.programs[which], state, system.inputs, p.stages[p.places[which] :], out, p.work)


@native_inline
def _set_skew(p: Passive, C: Matrix) -> None:
    """Set A = Q, the part of L^-1 C L^-T below the diagonal less its transpose."""
    A, L, n = p.A, p.L, p.L.shape[0]
    for j in range(n):  # columns of L^-1 C
        for i in range(n):
            A[i, j] = C[i, j]
        for i in range(n):
            for k in range(i):
                A[i, j] -= L[i, k] * A[k, j]
            A[i, j] /= L[i, i]
    for i in range(n):  # rows of (L^-1 C) L^-T
        solve_lower_factor(L, n, A[i])
    for i in range(n):
        A[i, i] = 0.0
        for j in range(i):
            A[j, i] = -A[i, j]


@native_inline
def _evaluate_end(p: Passive, system: StateEquation, t: float, x: Vector, ledger: PassiveLedger) -> bool:
    """Compute L and the potential energy at the state x; return whether the mass matrix is positive definite."""
    _call(p, system, STEP_END, t, x, p.step_end.whole)
    ledger.potential[0] = p.step_end.potential[0]
    return bool(factor_triangle(p.step_end.M, p.L))


@native_inline
def _keep_place(p: Passive) -> None:
    """Store the place of the handle at the last evaluated state."""
    for i in range(p.place.size):
        p.place[i] = p.step_end.place[i]


@native_inline
def _begin(p: Passive, system: StateEquation, t: float, x: Vector) -> bool:
    """Compute w and the energies at a state that no step has led to; return False for a singular mass matrix."""
    n = p.w.size
    if not _evaluate_end(p, system, t, x, p.ledger):
        return False
    _keep_place(p)
    nq, p.ledger.kinetic[0] = x.size - n, 0.0
    for i in range(n):
        p.w[i] = 0.0
        for k in range(i, n):
            p.w[i] += p.L[k, i] * x[nq + k]
        p.ledger.kinetic[0] += 0.5 * p.w[i] * p.w[i]
    p.ledger.known[0] = 1.0
    return True


@native_inline
def _begin_mode(p: Passive, system: StateEquation, t: float, x: Vector) -> bool:
    """Begin at the state after a transition, and enter the lost energy; return as ``_begin``."""
    had = p.ledger.kinetic[0] + p.ledger.potential[0]
    found = _begin(p, system, t, x)
    p.ledger.lost[0] += had - p.ledger.kinetic[0] - p.ledger.potential[0]
    return found


@native_inline
def _push(p: Passive, system: StateEquation, T: float, v_t: Vector) -> None:
    """Compute the wrench of the coupler at a handle with the rates v_t, which it has without speeds."""
    given, place, own, e = coupler_inputs_at(system.inputs, p.inputs), p.place, p.turns[:4], p.turns[4:8]
    quaternion_of(place[3:], own)
    turn_between(given.proxy[3:], own, e)
    for r in range(6):
        p.push[r] = given.damping[r // 3] * given.rates[r] - _impedance(p, system, T, r) * v_t[r]
    for i in range(3):
        p.push[i] += given.stiffness[0] * (given.proxy[i] - place[i])
        p.push[3 + i] += given.stiffness[1] * spring_torque(e, p.axes, i, -1.0)


@native_inline
def _impedance(p: Passive, system: StateEquation, T: float, r: int) -> float:
    """Return K T/2 + B, by which component r of the wrench falls per rate of the handle."""
    given = coupler_inputs_at(system.inputs, p.inputs)
    return float(0.5 * T * given.stiffness[r // 3] + given.damping[r // 3])


@native_inline
def _set_up_system(p: Passive, system: StateEquation, u: Vector, T: float) -> None:
    """Set up the linear system of w_mid: matrix in A, right-hand side in ``middle``, other loads in ``force``."""
    n, terms = p.w.size, p.midpoint
    for i in range(n):
        p.force[i] = terms.g[i] - terms.h[i]
        for j in range(n):
            p.force[i] += terms.C[i, j] * u[j]
        p.middle[i] = p.force[i] - terms.g[i]
    friction(p, system, terms.A, p.rubbing)
    _set_skew(p, terms.C)
    _push(p, system, T, terms.v_t)
    for r in range(6):
        for j in range(n):
            p.coupling[r, j] = terms.J[r, j]
            p.middle[j] += p.coupling[r, j] * p.push[r]
        solve_lower_factor(p.L, n, p.coupling[r])
    for i in range(n):
        p.middle[i] += p.rubbing[i]
    solve_lower_factor(p.L, n, p.middle)
    for i in range(n):
        p.middle[i] += 2.0 / T * p.w[i]
        p.A[i, i] += 2.0 / T
        for j in range(n):
            for r in range(6):
                p.A[i, j] += _impedance(p, system, T, r) * p.coupling[r, i] * p.coupling[r, j]
    count = find_active_rows(p, system, terms.A)
    if count > 0:
        restrict(p, count, 2.0 / T)


@native_inline
def _add_work(p: Passive, system: StateEquation, u: Vector, T: float) -> None:
    """Add the work of coupler and other loads in the step, with the speeds u at its middle.

    Friction only dissipates: if the slip reverses within the step, its positive work is not counted.
    """
    terms, rubbed = p.midpoint, 0.0
    for i in range(u.size):
        p.trial.other[0] += T * u[i] * p.force[i]
        rubbed += T * u[i] * p.rubbing[i]
    p.trial.other[0] += min(rubbed, 0.0)
    for r in range(6):
        v = 0.0
        for j in range(u.size):
            v += terms.J[r, j] * u[j]
        p.trial.coupler[0] += T * (p.push[r] - _impedance(p, system, T, r) * v) * (terms.v_t[r] + v)


@native_inline
def _balance(p: Passive) -> None:
    """Scale w_1 so that the energy equals the work done, as far as there is kinetic energy; the rest is owed."""
    kinetic, had, has = 0.0, p.ledger, p.trial
    for i in range(p.end.size):
        kinetic += 0.5 * p.end[i] * p.end[i]
    owed = had.owed[0] + (kinetic - had.kinetic[0]) + (has.potential[0] - had.potential[0])
    owed -= has.coupler[0] - had.coupler[0] + has.other[0] - had.other[0]
    if kinetic > abs(owed) + REST_ENERGY:
        ratio = math.sqrt(1.0 - owed / kinetic)
        for i in range(p.end.size):
            p.end[i] *= ratio
        kinetic, owed = kinetic - owed, 0.0
    has.owed[0], has.kinetic[0] = owed, kinetic


@native_inline
def _try_step(p: Passive, system: StateEquation, store: Store, t: float, T: float, t1: float) -> int:
    """Compute store.y from store.x, w_1 in ``end`` and the ledger in ``trial``; a cut step may replace the result."""
    x, y, z, n = store.x, store.y, store.z, p.w.size
    nq = x.size - n
    for i in range(p.trial.whole.size):
        p.trial.whole[i] = p.ledger.whole[i]
    _call(p, system, RATES_OF_Q, t, x, p.rates)
    for i in range(nq):
        store.slopes[0, i] = p.rates[i]
        z[i] = x[i] + 0.5 * T * p.rates[i]
    for i in range(n):
        z[nq + i] = x[nq + i]
    normalise(z, system.quaternions)
    _call(p, system, MIDPOINT, t + 0.5 * T, z, p.midpoint.whole)
    if not factor_triangle(p.midpoint.M, p.L):
        return STUCK
    _set_up_system(p, system, x[nq:], T)
    solve_square(p.A, n, p.pivots, p.middle)
    for i in range(n):
        p.end[i] = 2.0 * p.middle[i] - p.w[i]
    solve_upper_factor(p.L, n, p.middle)
    _add_work(p, system, p.middle, T)
    for i in range(n):
        z[nq + i] = p.middle[i]
        y[nq + i] = p.middle[i]
    _call(p, system, RATES_OF_Q, t + 0.5 * T, z, p.rates)
    for i in range(nq):
        y[i] = x[i] + T * p.rates[i]
    if not (is_finite(y) and is_finite(p.end)):
        return NOT_FINITE
    save_directions(system, clock_of(store))
    project_step_end(system, t1, y)
    if not _evaluate_end(p, system, t1, y, p.trial):
        return STUCK
    project_motion(p, find_active_rows(p, system, p.step_end.A), p.end)
    _balance(p)
    u = y[nq:]
    for i in range(n):
        u[i] = p.end[i]
    solve_upper_factor(p.L, n, u)
    return GOING if is_finite(y) else NOT_FINITE


@native_inline
def _store_slopes(p: Passive, store: Store, T: float) -> None:
    """Store slopes for the interpolant ``parabola``: speeds are linear in time, coordinates begin with dq/dt.

    The interpolant approximates shorter steps from the same state.
    """
    x, y, slopes = store.x, store.y, store.slopes
    for i in range(x.size):
        slopes[1, i] = (y[i] - x[i]) / T
        if i >= x.size - p.w.size:
            slopes[0, i] = slopes[1, i]


@native_inline
def _accept(p: Passive) -> None:
    """Accept the step: its end is the start of the next one."""
    for i in range(p.w.size):
        p.w[i] = p.end[i]
    for i in range(p.trial.whole.size):
        p.ledger.whole[i] = p.trial.whole[i]
    _keep_place(p)


@native_loop
def march_passive(
    system: StateEquation,
    tables: InputTables,
    course: Course,
    watch: Watch,
    store: Store,
    passive: Passive,
    steps: int,
) -> int:
    """Take steps, at most up to the end of the course; see ``integrate_explicit``.

    Args:
        system, tables, watch: as in ``integrate_explicit``.
        course: a course of fixed steps.
        store: with room for the records and two slopes.
        passive: arrays of the steps.
        steps: number of steps.

    Returns:
        GOING, NOT_FINITE, STUCK if the mass matrix is not positive definite, or the cause of a failed transition.
    """
    p, clock, counts = passive, clock_of(store), counts_of(store)
    for _ in range(steps):
        if clock.time[0] == course.until or is_full(system, store):
            break
        t, changes = clock.time[0], counts.transitions[0]
        status = begin_step(system, tables, watch, store, 0.5 * (t + fixed_step(course, clock, counts)[1]))
        if status != GOING:
            return status
        fresh = p.ledger.known[0] == 0.0
        if (fresh and not _begin(p, system, t, store.x)) or (
            counts.transitions[0] != changes and not fresh and not _begin_mode(p, system, t, store.x)
        ):
            return STUCK
        T, t1 = fixed_step(course, clock, counts)
        status = _try_step(p, system, store, t, T, t1)
        if status != GOING:
            return status
        _store_slopes(p, store, T)
        if has_guards(system):
            sample_end(system, tables[1], t1, store.y)
            found = cut_step(system, tables[1], course, store, p.parabola, (t, T, t1))
            if found == REPEAT:
                continue
            if found != ACCEPTED:
                return found
        _accept(p)
        end_step(system, tables[1], course, watch, store, p.parabola, (t, T, t1), 1)
    return GOING
