"""The loop of passive midpoint steps: what the simulation stores, loses and gets through the coupler is an identity.

With M = L L^T and w = L^T u the kinetic energy is |w|^2/2 and the equations of motion are

    w' + Q w = L^-1 (J^T f + tau - g),   Q = lower(L^-1 C L^-T) - its transpose,

Q skew because C + C^T is the rate of M: it does no work. One step takes L, C, J, tau and g where half a step leads at
the speeds of its start, and w in the middle between its ends, which one linear system determines:

    (2/T + Q + L^-1 J^T (K T/2 + B) J L^-T) w_mid = 2/T w_0 + L^-1 (J^T (K (x_h - p_0) + B v_h) + tau - g),

with the velocity and the angular velocity of the handle in J; of the spring between orientations K (x_h - p_0) is its
torque at the start of the step.

So |w_1|^2/2 - |w_0|^2/2 = T u_mid . (J^T f + tau - g), with f = K (x_h - p_0 - T/2 v_mid) + B (v_h - v_mid).

Constraints in force, A u = 0, permanent ones and those of the mode, restrict w_mid to the motions that they leave,
P w = w with the orthogonal projector P: the system is P (...) P w_mid + Q^T Q w_mid = P (...), and their forces do no
work. Dry friction of what slides is a load, by the normal forces at the start of the step; it only takes. At the end
coordinates are put onto the constraints and w onto the motions that are left there.

What energy there is at the end beyond the work of coupler and loads, of the third power of T where nothing slides, is
taken off w_1 or given to it, all speeds in one proportion; where there is no motion, as at a turning point, it is owed.

Source: Kim et al. 2017, doi 10.1177/0278364917731821, passive midpoint integration; its potential is another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import call_program, native_inline, native_loop
from kane.engine.linear.small_systems import factor, lower, solve, upper
from kane.engine.linear.vectors import is_finite, normalise
from kane.engine.memory.loop_arguments import (
    CHANGED,
    GOING,
    NOT_FINITE,
    STUCK,
    TIME,
    Course,
    Indices,
    InputTables,
    Matrix,
    StateEquation,
    Store,
    Vector,
    Watch,
)
from kane.engine.realtime.rotations import quaternion_of, spring_torque, turn_between
from kane.engine.realtime.tangent_rows import find_rows, friction, project, restrict
from kane.engine.step.explicit import fixed_step
from kane.engine.step.guards import has_guards, sample_end
from kane.engine.step.slip_directions import save_directions
from kane.engine.step.step_ends import begin_step, end_step, project_step_end
from kane.engine.step.transitions import ACCEPTED, REPEAT, cut_step, is_full

# Places in the ledger [J]: work of the coupler, work of all loads that have no potential, what is owed to the
# potential, kinetic energy and potential energy; whether the last two are those of the state; what
# changes of modes took.
PORT, OTHER, OWED, KINETIC, POTENTIAL, KNOWN, LOST = range(7)
LEDGER = 7
# Numbers that say where a handle is: its position and rotation matrix. Less kinetic energy than TINY is rest [J].
PLACE, TINY = 12, 1e-30


class Passive(NamedTuple):
    """What passive steps need of a mechanism.

    Attributes:
        programs: addresses, with state [t, q, u] and rest = inputs: "ahead" with out = [M, C, h, g, J, v_t] where M is
            one triangle, C and J (6, n) go by rows, h = C u + g less all other forces, and v = J u + v_t is that of the
            handle; "behind" with out = [M, V, p, R]; "kinematics" with out = dq/dt.
        stages: of the programs, one after the other, and where each begins.
        places: where in ``stages`` each program's begins.
        ahead, behind, rates, work: outputs and scratch.
        L, A: (n, n).
        w, middle, force: (n,).
        coupling: J L^-T by rows, (6, n).
        push: force and torque of the coupler if the handle did not move in the step, (6,).
        turns: scratch for two quaternions.
        axes: about which of its axes the coupler turns, as 0 and 1, (3,).
        ledger: see PORT.
        trial, end: the ledger and w at the end of a step that is tried.
        place: the position of the handle and its rotation matrix, at the start of the step.
        rubbing: generalized forces of dry friction.
        rows: orthonormal rows of the constraints in force, see ``kane.engine.realtime.tangent_rows``, (n, n).
        forces: of all rows of constraints.
        parabola: the interpolant of a step, see ``_leave_slopes``.
        inputs: where among the inputs those of the coupler begin.
        permanent: how many rows are always in force.
        reactions: the address of the program of the forces of rows; zero where none come and go.
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
    push: Vector
    turns: Vector
    axes: Vector
    ledger: Vector
    trial: Vector
    end: Vector
    place: Vector
    rubbing: Vector
    rows: Matrix
    forces: Vector
    parabola: Matrix
    inputs: int
    permanent: int
    reactions: int


@native_inline
def _call(p: Any, system: Any, which: int, t: float, x: Any, out: Any) -> None:
    state = system.state
    state[0] = t
    for i in range(x.size):
        state[1 + i] = x[i]
    call_program(p.programs[which], state, system.inputs, p.stages[p.places[which] :], out, p.work)


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
        lower(L, A[i])
    for i in range(n):
        A[i, i] = 0.0
        for j in range(i):
            A[j, i] = -A[i, j]


@native_inline
def _look_behind(p: Any, system: Any, t: float, x: Any, ledger: Any) -> bool:
    """L and the potential energy at a state; whether M is positive there."""
    n = p.w.size
    _call(p, system, 1, t, x, p.behind)
    ledger[POTENTIAL] = p.behind[n * (n + 1) // 2]
    return factor(p.L, p.behind)


@native_inline
def _keep_place(p: Any) -> None:
    """Where the handle is, at the state that was looked at."""
    n = p.w.size
    for i in range(PLACE):
        p.place[i] = p.behind[n * (n + 1) // 2 + 1 + i]


@native_inline
def _begin(p: Any, system: Any, t: float, x: Any) -> bool:
    """w and the energies at the state from which a step goes that no step has led to."""
    n = p.w.size
    if not _look_behind(p, system, t, x, p.ledger):
        return False
    _keep_place(p)
    nq, p.ledger[KINETIC] = x.size - n, 0.0
    for i in range(n):
        p.w[i] = 0.0
        for k in range(i, n):
            p.w[i] += p.L[k, i] * x[nq + k]
        p.ledger[KINETIC] += 0.5 * p.w[i] * p.w[i]
    p.ledger[KNOWN] = 1.0
    return True


@native_inline
def _changed(p: Any, system: Any, t: float, x: Any) -> bool:
    """After a change of the mode: what it took of the energy is lost."""
    had = p.ledger[KINETIC] + p.ledger[POTENTIAL]
    found = _begin(p, system, t, x)
    p.ledger[LOST] += had - p.ledger[KINETIC] - p.ledger[POTENTIAL]
    return found


@native_inline
def _push(p: Any, system: Any, T: float, v_t: Any) -> None:
    """Force and torque of the coupler at a handle whose velocities are v_t, those that are there without any speeds."""
    given, place, own, e = system.inputs[p.inputs :], p.place, p.turns[:4], p.turns[4:8]
    quaternion_of(place[3:], own)
    turn_between(given[3:], own, e)
    for r in range(6):
        p.push[r] = given[15 + r // 3] * given[7 + r] - _yield(p, system, T, r) * v_t[r]
    for i in range(3):
        p.push[i] += given[13] * (given[i] - place[i])
        p.push[3 + i] += given[14] * spring_torque(e, p.axes, i, -1.0)


@native_inline
def _yield(p: Any, system: Any, T: float, r: int) -> float:
    """By how much force or torque r falls where the handle goes faster: K T/2 + B."""
    given = system.inputs[p.inputs :]
    return float(0.5 * T * given[13 + r // 3] + given[15 + r // 3])


@native_inline
def _forces(p: Any, system: Any, u: Any, T: float) -> None:
    """The equations for w_mid: their matrix in A, their right-hand side in ``middle``, other loads in ``force``."""
    n, at = p.w.size, p.w.size * (p.w.size + 1) // 2
    C, h, g = p.ahead[at:], p.ahead[at + n * n :], p.ahead[at + n * n + n :]
    J, v_t = p.ahead[at + n * n + 2 * n :], p.ahead[at + n * n + 8 * n :]
    for i in range(n):
        p.force[i] = g[i] - h[i]
        for j in range(n):
            p.force[i] += C[i * n + j] * u[j]
        p.middle[i] = p.force[i] - g[i]
    friction(p, system, p.ahead[at + n * n + 8 * n + 6 :], p.rubbing)
    _skew(p, C)
    _push(p, system, T, v_t)
    for r in range(6):
        for j in range(n):
            p.coupling[r, j] = J[r * n + j]
            p.middle[j] += p.coupling[r, j] * p.push[r]
        lower(p.L, p.coupling[r])
    for i in range(n):
        p.middle[i] += p.rubbing[i]
    lower(p.L, p.middle)
    for i in range(n):
        p.middle[i] += 2.0 / T * p.w[i]
        p.A[i, i] += 2.0 / T
        for j in range(n):
            for r in range(6):
                p.A[i, j] += _yield(p, system, T, r) * p.coupling[r, i] * p.coupling[r, j]
    count = find_rows(p, system, p.ahead[at + n * n + 8 * n + 6 :])
    if count > 0:
        restrict(p, count, 2.0 / T)


@native_inline
def _account(p: Any, system: Any, u: Any, T: float) -> None:
    """Work within the step, at the speeds u in its middle; what the loads without potential do is theirs.

    Friction takes: where the slip turned round within the step, what its force would have given is not taken for work.
    """
    n, at, rubbed = u.size, u.size * (u.size + 1) // 2, 0.0
    J, v_t = p.ahead[at + n * n + 2 * n :], p.ahead[at + n * n + 8 * n :]
    for i in range(n):
        p.trial[OTHER] += T * u[i] * p.force[i]
        rubbed += T * u[i] * p.rubbing[i]
    p.trial[OTHER] += min(rubbed, 0.0)
    for r in range(6):
        v = 0.0
        for j in range(n):
            v += J[r * n + j] * u[j]
        p.trial[PORT] += T * (p.push[r] - _yield(p, system, T, r) * v) * (v_t[r] + v)


@native_inline
def _pay(p: Any) -> None:
    """Take off w_1 what there is of energy beyond what was done as work, as far as it can be; the rest is owed."""
    kinetic, had, has = 0.0, p.ledger, p.trial
    for i in range(p.end.size):
        kinetic += 0.5 * p.end[i] * p.end[i]
    owed = had[OWED] + (kinetic - had[KINETIC]) + (has[POTENTIAL] - had[POTENTIAL])
    owed -= has[PORT] - had[PORT] + has[OTHER] - had[OTHER]
    if kinetic > abs(owed) + TINY:
        share = math.sqrt(1.0 - owed / kinetic)
        for i in range(p.end.size):
            p.end[i] *= share
        kinetic, owed = kinetic - owed, 0.0
    has[OWED], has[KINETIC] = owed, kinetic


@native_inline
def _try_step(p: Any, system: Any, store: Any, t: float, T: float, t1: float) -> int:
    """From store.x to store.y, with w_1 in ``end`` and the ledger in ``trial``, as it may be taken again, shorter."""
    x, y, z, n = store.x, store.y, store.z, p.w.size
    nq, at = x.size - n, p.w.size * (p.w.size + 1) // 2
    for i in range(LEDGER):
        p.trial[i] = p.ledger[i]
    _call(p, system, 2, t, x, p.rates)
    for i in range(nq):
        store.slopes[0, i] = p.rates[i]
        z[i] = x[i] + 0.5 * T * p.rates[i]
    for i in range(n):
        z[nq + i] = x[nq + i]
    normalise(z, system.quaternions)
    _call(p, system, 0, t + 0.5 * T, z, p.ahead)
    if not factor(p.L, p.ahead):
        return STUCK
    _forces(p, system, x[nq:], T)
    solve(p.A, p.middle)
    for i in range(n):
        p.end[i] = 2.0 * p.middle[i] - p.w[i]
    upper(p.L, p.middle)
    _account(p, system, p.middle, T)
    for i in range(n):
        z[nq + i] = p.middle[i]
        y[nq + i] = p.middle[i]
    _call(p, system, 2, t + 0.5 * T, z, p.rates)
    for i in range(nq):
        y[i] = x[i] + T * p.rates[i]
    if not (is_finite(y) and is_finite(p.end)):
        return NOT_FINITE
    save_directions(system, store.clock)
    project_step_end(system, t1, y)
    if not _look_behind(p, system, t1, y, p.trial):
        return STUCK
    project(p, find_rows(p, system, p.behind[at + 1 + PLACE :]), p.end)
    _pay(p)
    u = y[nq:]
    for i in range(n):
        u[i] = p.end[i]
    upper(p.L, u)
    return GOING if is_finite(y) else NOT_FINITE


@native_inline
def _leave_slopes(p: Any, store: Any, T: float) -> None:
    """What ``parabola`` makes the way within the step of, as steps of other lengths from here would make it nearly:
    speeds go along a straight line, coordinates begin with dq/dt, which is there already.
    """
    x, y, slopes = store.x, store.y, store.slopes
    for i in range(x.size):
        slopes[1, i] = (y[i] - x[i]) / T
        if i >= x.size - p.w.size:
            slopes[0, i] = slopes[1, i]


@native_inline
def _adopt(p: Any) -> None:
    """The step stands."""
    for i in range(p.w.size):
        p.w[i] = p.end[i]
    for i in range(LEDGER):
        p.ledger[i] = p.trial[i]
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
    """Take up to so many steps; see ``integrate_explicit``.

    Args:
        system: a StateEquation.
        tables: the sampled inputs.
        course: of fixed steps.
        watch: a Watch.
        store: with room for the records and two slopes.
        passive: a Passive.
        steps: how many.

    Returns:
        GOING, NOT_FINITE, STUCK where the mass matrix is not positive, or why a mode cannot change.
    """
    p, clock, counts = passive, store.clock, store.counts
    for _ in range(steps):
        if clock[TIME] == course.until or is_full(system, store):
            break
        t, changes = clock[TIME], counts[CHANGED]
        status = begin_step(system, tables, watch, store, 0.5 * (t + fixed_step(course, clock, counts)[1]))
        if status != GOING:
            return status
        fresh = p.ledger[KNOWN] == 0.0
        if (fresh and not _begin(p, system, t, store.x)) or (
            counts[CHANGED] != changes and not fresh and not _changed(p, system, t, store.x)
        ):
            return STUCK
        T, t1 = fixed_step(course, clock, counts)
        status = _try_step(p, system, store, t, T, t1)
        if status != GOING:
            return status
        _leave_slopes(p, store, T)
        if has_guards(system):
            sample_end(system, tables[1], t1, store.y)
            found = cut_step(system, tables[1], course, store, p.parabola, (t, T, t1))
            if found == REPEAT:
                continue
            if found != ACCEPTED:
                return found
        _adopt(p)
        end_step(system, tables[1], course, watch, store, p.parabola, (t, T, t1), 1)
    return GOING
