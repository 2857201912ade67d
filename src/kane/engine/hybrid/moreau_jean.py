"""One Moreau-Jean time step as a native program, for states without consistent accelerations.

Over a step of h seconds from q, u, with h f the impulse of all forces,

    M (u+ - u) = h f + A^T p,   v_n+ >= 0, p_n >= 0, v_n+ p_n = 0, Coulomb's law between p_t and v_t+,
    q+ = q + h qdot(q, u+),

for the contacts that are closed at the start or would close within the step. Bilateral constraints and sticking joints
remain active. A solution exists where friction allows no accelerations (Painleve), and the step integrates through all
events within it, such as accumulating impacts. Its impulses dissipate energy. Its error is of order h^2.

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988; Jean, The non-smooth contact
dynamics method, Comput. Methods Appl. Mech. Eng. 177, 1999; Genot & Brogliato, New results on Painleve paradoxes,
Eur. J. Mech. A 18, 1999.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel, native_program, vector_at
from kane.engine.hybrid.collisions import approaches, group_closed_contacts, strike_together
from kane.engine.hybrid.consistency import is_slipping
from kane.engine.hybrid.momentum import add_impulses, load_impulses, project_momentum
from kane.engine.hybrid.transition import begin, report_mode, report_state, restore_mode
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.constraint_codes import UNCONSTRAINED
from kane.engine.memory.contact_codes import ADOPTED, MOREAU_JEAN_STEP, NO_MODE, NONE, OPEN, SLIDING, STICKING
from kane.engine.memory.views import transition_at
from kane.engine.project.projection import select_speeds
from kane.engine.rows.contact_arrays import contacts_of
from kane.engine.rows.embedding import Arrays, call, find_rows
from kane.engine.rows.impulses import Impulses, impulses_of, load_rounding, load_velocities, rows_of
from kane.engine.rows.mode_dynamics import Contacts, accelerate, active_arrays, copy_state, find_gaps


@native_program
def moreau_jean_step(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Take one step from [t, q, u, h], where h is its length [s].

    The outputs are a Transition of kind MOREAU_JEAN_STEP. Its coordinates are not projected onto the constraints, and
    its quaternions are not normalized. If no impulses are found, its status is NO_MODE and the ContactState keeps its
    value.
    """
    c = contacts_of(constants, work)
    a = active_arrays(c, constants, work, False)
    copy_state(a, state)
    i, h = impulses_of(a, c, work), vector_at(state, a.state.size, 1)[0]
    n = a.head.speeds
    begin(a, c, i)
    find_gaps(c, a, inputs, constants, work)
    find_rows(a, inputs, constants, work)
    _open_contacts(c)
    b = active_arrays(c, constants, work, False)
    rank = project_momentum(b, c, i, inputs, constants, work)
    accelerate(c, b, rank)
    for j in range(n):
        b.state[b.state.size - n + j] += h * c.udot[j]
    rank = project_momentum(b, c, i, inputs, constants, work)
    find_rows(b, inputs, constants, work)
    _predict_gaps(c, h)
    load_rounding(c, i)
    load_impulses(b, c, i, rank)
    for row in range(i.v.size):
        i.start[row] = i.v[row]
    solved = _solve_impulses(b, c, i, work)
    if solved:
        add_impulses(b, c, i, rank)
        call(b, UNCONSTRAINED, inputs, constants, work, b.unconstrained.whole)
        find_rows(b, inputs, constants, work)
        load_velocities(c, i)
        _read_statuses(c, i)
        for j in range(b.unconstrained.rates.size):
            b.state[1 + j] += h * b.unconstrained.rates[j]
        solved = is_finite(b.state)
    if solved:
        d = active_arrays(c, constants, work, False)
        find_rows(d, inputs, constants, work)
        select_speeds(d)
    else:
        restore_mode(c, i)
    result = transition_at(out, 0, c.block.constraints, i.v.size, n, b.head.coordinates)
    report_state(b.state, result)
    report_mode(c, result)
    result.status[0], result.cause[0] = ADOPTED if solved else NO_MODE, i.cause[0]
    result.kind[0], result.energy_lost[0] = MOREAU_JEAN_STEP, _sum_energy_lost(c, i)
    for row in range(i.total.size):
        result.impulses[row] = i.total[row]


@native_inline
def _is_unilateral(c: Contacts, k: int) -> bool:
    """Check whether constraint k is a unilateral contact."""
    return bool(c.table.normal[k] != NONE and c.table.bilateral[k] == 0)


@native_kernel
def _open_contacts(c: Contacts) -> None:
    """Open all contacts, because impulses decide their statuses; set the gaps of the active ones to zero."""
    for k in range(c.block.constraints):
        if _is_unilateral(c, k) and c.state.status[k] != OPEN:
            c.state.status[k] = OPEN
            c.gaps.gap[k] = 0.0


@native_kernel
def _predict_gaps(c: Contacts, h: float) -> None:
    """Reduce each closing gap to its value at the end of the step without impulses."""
    for k in range(c.block.constraints):
        if _is_unilateral(c, k):
            c.gaps.gap[k] += h * min(0.0, c.all_rows.motion[c.table.normal[k]])


@native_kernel
def _solve_impulses(a: Arrays, c: Contacts, i: Impulses, work: Any) -> bool:
    """Solve for the impulses of all closed contacts, one problem for each coupled group.

    Returns:
        Whether there are closed contacts, and all problems were solved.
    """
    group_closed_contacts(c, i)
    found = False
    for k in range(c.block.constraints):
        found = found or i.group[k] != NONE
        if approaches(c, i, k) and not strike_together(a, c, i, k, False, work):
            return False
    return found


@native_kernel
def _read_statuses(c: Contacts, i: Impulses) -> None:
    """Set the statuses after the step from impulses and velocities; the largest normal impulse is the cause."""
    most = 0.0
    for k in range(c.block.constraints):
        if not _is_unilateral(c, k):
            continue
        pushed = i.impulse[c.table.normal[k]]
        if pushed > 0.0:
            c.state.status[k] = SLIDING if is_slipping(c, i, k) else STICKING
        if pushed > most:
            most, i.cause[0] = pushed, k


@native_kernel
def _sum_energy_lost(c: Contacts, i: Impulses) -> float:
    """Return the energy that the contact impulses dissipate [J]: the sum of -p (v- + v+) / 2."""
    lost = 0.0
    for k in range(c.block.constraints):
        first, last = rows_of(c, k)
        for row in range(first, last):
            if _is_unilateral(c, k):
                lost -= 0.5 * i.impulse[row] * (i.start[row] + i.v[row])
    return lost
