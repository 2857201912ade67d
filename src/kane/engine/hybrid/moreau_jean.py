"""One step of Moreau and Jean as a native program: over a short time the laws are kept that no accelerations keep.

Over a step of h seconds from q, u, with h f the impulse of all forces,

    M (u+ - u) = h f + A^T p,   0 <= v_n+, p_n >= 0, one of them zero, Coulomb's law between p_t and v_t+,
    q+ = q + h qdot(q, u+),

for the contacts that touch, or would within the step; what holds both ways, and what sticks in a joint, is held. There
is a solution where friction leaves none for accelerations (Painleve), and the step passes over whatever happens within
it, as impacts that accumulate. Its impulses take energy; what the step misses is of the order of h^2.

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988; Jean, The non-smooth contact
dynamics method, Comput. Methods Appl. Mech. Eng. 177, 1999; Genot & Brogliato, New results on Painleve paradoxes,
Eur. J. Mech. A 18, 1999.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel, native_program, vector_at
from kane.engine.hybrid.collisions import approaches, find_groups, strike_together
from kane.engine.hybrid.consistency import moves
from kane.engine.hybrid.momentum import add_impulses, load_impulses, project_momentum
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.constraint_codes import UNCONSTRAINED
from kane.engine.memory.contact_codes import (
    ADOPTED,
    JAMMED,
    NO_MODE,
    NONE,
    OPEN,
    SLIDING,
    STICKING,
)
from kane.engine.memory.views import transition_at
from kane.engine.project.projection import select_speeds
from kane.engine.rows.contact_arrays import contacts_of
from kane.engine.rows.embedding import call, find_rows
from kane.engine.rows.impulses import impulses_of, load_rounding, load_velocities, rows_of
from kane.engine.rows.mode_dynamics import accelerate, active_arrays, copy_state, find_gaps

# A kind of change besides those of ``excursion``: what was stepped over.
STEPPED = JAMMED + 1


@native_program
def step_over(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The step from [t, q, u] over as many seconds as the number behind the state says.

    Coordinates come out as they are, neither on the constraints nor of unit quaternions. Outputs are those of "change",
    of kind STEPPED. Where no impulses are found, NO_MODE among them, the mode of the stage stays as it was.
    """
    c = contacts_of(constants, work)
    a = active_arrays(c, constants, work, False)
    copy_state(a, state)
    i, h = impulses_of(a, c, work), vector_at(state, a.state.size, 1)[0]
    n = a.head.speeds
    for j in range(n):
        i.first[j] = a.state[a.state.size - n + j]
    for j in range(c.state.whole.size):
        i.kept.whole[j] = c.state.whole[j]
    for row in range(i.total.size):
        i.total[row] = 0.0
    i.cause[0], i.blamed[0], i.halted[0] = NONE, NONE, 0
    find_gaps(c, a, inputs, constants, work)
    find_rows(a, inputs, constants, work)
    _open(c)
    b = active_arrays(c, constants, work, False)
    rank = project_momentum(b, c, i, inputs, constants, work)
    accelerate(c, b, rank)
    for j in range(n):
        b.state[b.state.size - n + j] += h * c.udot[j]
    rank = project_momentum(b, c, i, inputs, constants, work)
    find_rows(b, inputs, constants, work)
    _look_ahead(c, h)
    load_rounding(c, i)
    load_impulses(b, c, i, rank)
    for row in range(i.v.size):
        i.start[row] = i.v[row]
    solved = _strike(b, c, i, work)
    if solved:
        add_impulses(b, c, i, rank)
        call(b, UNCONSTRAINED, inputs, constants, work, b.unconstrained.whole)
        find_rows(b, inputs, constants, work)
        load_velocities(c, i)
        _decide(c, i)
        for j in range(b.unconstrained.rates.size):
            b.state[1 + j] += h * b.unconstrained.rates[j]
        solved = is_finite(b.state)
    if solved:
        _select_speeds(c, inputs, constants, work)
    else:
        for j in range(c.state.whole.size):
            c.state.whole[j] = i.kept.whole[j]
    result = transition_at(out, 0, c.block.constraints, i.v.size, n, b.head.coordinates)
    _describe(c, i, b.state, result, ADOPTED if solved else NO_MODE)


@native_inline
def _select_speeds(c: Any, inputs: Any, constants: Any, work: Any) -> None:
    """The choice of speeds with which the mode behind the step starts."""
    d = active_arrays(c, constants, work, False)
    find_rows(d, inputs, constants, work)
    select_speeds(d)


@native_kernel
def _pushes(c: Any, k: int) -> bool:
    return bool(c.table.normal[k] != NONE and c.table.bilateral[k] == 0)


@native_kernel
def _open(c: Any) -> None:
    """Contacts are open until impulses say otherwise; what was closed has no gap."""
    for k in range(c.block.constraints):
        if _pushes(c, k) and c.state.status[k] != OPEN:
            c.state.status[k] = OPEN
            c.gaps.gap[k] = 0.0


@native_kernel
def _look_ahead(c: Any, h: float) -> None:
    """GapTerms as they would be at the end of the step if nothing pushed, where they become smaller."""
    for k in range(c.block.constraints):
        if _pushes(c, k):
            c.gaps.gap[k] += h * min(0.0, c.all_rows.motion[c.table.normal[k]])


@native_kernel
def _strike(a: Any, c: Any, i: Any, work: Any) -> bool:
    """Impulses of all contacts, one problem for those that feel each other; whether there are any, and were found."""
    find_groups(c, i)
    found = False
    for k in range(c.block.constraints):
        found = found or i.group[k] != NONE
        if approaches(c, i, k) and not strike_together(a, c, i, k, False, work):
            return False
    return found


@native_kernel
def _decide(c: Any, i: Any) -> None:
    """Statuses behind the step, by impulses and velocities; the contact with the largest impulse is the cause."""
    most = 0.0
    for k in range(c.block.constraints):
        if not _pushes(c, k):
            continue
        pushed = i.impulse[c.table.normal[k]]
        if pushed > 0.0:
            c.state.status[k] = SLIDING if moves(c, i, k) else STICKING
        if pushed > most:
            most, i.cause[0] = pushed, k


@native_kernel
def _describe(c: Any, i: Any, x: Any, result: Any, ended: int) -> None:
    """What the step has come to, and what its impulses have taken, - p (v- + v+) / 2."""
    for j in range(result.q.size):
        result.q[j] = x[1 + j]
    for j in range(result.u.size):
        result.u[j] = x[1 + result.q.size + j]
    result.status[0], result.cause[0], result.kind[0] = ended, i.cause[0], STEPPED
    lost = 0.0
    for k in range(c.block.constraints):
        first, last = rows_of(c, k)
        for row in range(first, last):
            if _pushes(c, k):
                lost -= 0.5 * i.impulse[row] * (i.start[row] + i.v[row])
        result.statuses[k] = c.state.status[k]
        result.directions[k, 0], result.directions[k, 1] = c.state.along[k, 0], c.state.along[k, 1]
    for row in range(i.total.size):
        result.impulses[row] = i.total[row]
    result.energy_lost[0] = lost
