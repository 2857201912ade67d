"""The laws of contact in the islands of a Moreau-Jean time step, for its impulses or for a correction of coordinates.

In: the records of the active rows, and guesses of the impulses. v = A u_f + b are velocities, or residuals of the
configuration. Out: impulses p, velocities v+ of the rows, and the change of the speeds in the coordinates of L^-1.

    v+ = W p + v,   W = A M^-1 A^T

A ReactionProblem has the rows of one island. A unilateral contact with its tangents is a block; each other row is one.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.hybrid.collisions import clear_rounding
from kane.engine.laws.generated_laws import newton_velocity
from kane.engine.laws.newton import solve_nearby
from kane.engine.memory.constraint_memory import contact_constants_of, contact_scratch_of
from kane.engine.memory.contact_codes import COULOMB, NONE, STICKING
from kane.engine.memory.views import ReactionProblem, reaction_problem_at
from kane.engine.rows.contact_arrays import Contacts
from kane.engine.rows.impulses import Impulses
from kane.engine.rows.islands import load_island, push_island, record_of
from kane.engine.rows.row_problem import RowProblem, row_problem_of
from kane.engine.rows.tree_response import clear

# Residual of the contact laws, relative to the largest impulse, at which Newton's method ends, and the largest with
# which a step is taken. Many redundant rows, as of boxes on boxes, leave 1e-8 to 1e-5; a step errs by far more.
LAW_RESIDUAL, ADMITTED = 1e-11, 1e-4
# Slowest approach that rebounds, relative to the change of velocities by the loads of a step.
SLOW_APPROACH = 5.0
# Purposes of the problem of an island: impulses, or a correction of the configuration.
FOR_IMPULSES, FOR_CORRECTION = range(2)


@native_inline
def is_unilateral(c: Contacts, k: int) -> bool:
    """Check whether constraint k is a unilateral contact."""
    return bool(c.table.normal[k] != NONE and c.table.bilateral[k] == 0)


@native_kernel
def solve_rows(c: Contacts, i: Impulses, groups: int, h: float, purpose: int, constants: Any, work: Any) -> bool:
    """Solve all islands; the change of the speeds, or s, is v in the place of z / D; return whether all are solved."""
    k, solved = row_problem_of(constants, work), True
    clear(k.given.scaled)
    for first in range(groups):
        if k.group_root[first] == first and solved:
            solved = _solve_island(c, k, i, first, h, purpose, constants, work)
    return solved


@native_kernel
def _solve_island(
    c: Contacts, k: RowProblem, i: Impulses, first: int, h: float, purpose: int, constants: Any, work: Any
) -> bool:
    """Solve the laws of one island, and add the response to its impulses, or to lambda, to v."""
    m = load_island(k, first)
    p = _problem_of(c, k, first, m, constants, work)
    if purpose == FOR_IMPULSES:
        _load_wanted_velocities(c, k, i, first, h)
    _load_blocks(c, k, i, p, first, h, purpose)
    if not solve_nearby(p, LAW_RESIDUAL) <= ADMITTED:
        return False
    clear_rounding(p)
    for r in range(m):
        k.b[r] = p.f[r]
    push_island(k, first)
    if purpose == FOR_IMPULSES:
        _keep_impulses(k, i, p, first)
    return True


@native_kernel
def _keep_impulses(k: RowProblem, i: Impulses, p: ReactionProblem, first: int) -> None:
    """Keep the impulses of an island, and the velocities of its rows after the step."""
    g, row = first, 0
    while g != NONE:
        for own in range(k.group_rows[g]):
            at = k.row[k.slot[g] + own]
            i.impulse[at], i.v[at] = p.f[row], p.a[row] + i.wanted[at]
            row += 1
        g = k.group_next[g]


@native_inline
def _problem_of(c: Contacts, k: RowProblem, first: int, m: int, constants: Any, work: Any) -> ReactionProblem:
    """Return the ReactionProblem of an island: one block for each unilateral contact, and for each other row."""
    blocks, g = 0, first
    while g != NONE:
        l = k.group_constraint[g]
        blocks += 1 if l != NONE and is_unilateral(c, l) else k.group_rows[g]
        g = k.group_next[g]
    head = contact_constants_of(constants).head
    return reaction_problem_at(work, contact_scratch_of(head, c.block.constraints, work).reactions, m, blocks)


@native_kernel
def _load_blocks(
    c: Contacts, k: RowProblem, i: Impulses, p: ReactionProblem, first: int, h: float, purpose: int
) -> None:
    """Load the blocks of an island, and its W, b and guesses."""
    g, row, block = first, 0, 0
    while g != NONE:
        l = k.group_constraint[g]
        pushes = l != NONE and is_unilateral(c, l)
        for own in range(k.group_rows[g]):
            if own == 0 or not pushes:
                p.row[block], p.pushes[block] = row, 1 if pushes else 0
                p.tangents[block] = k.group_rows[g] - 1 if pushes else 1
                p.least[block], p.bound[block] = 0.0, _bound(c, i, l, k.row[k.slot[g] + own], h, purpose)
                block += 1
            at = k.row[k.slot[g] + own]
            if purpose == FOR_IMPULSES:
                p.f[row], p.b[row] = i.impulse[at], i.v[at] - i.wanted[at]
            else:
                p.f[row], p.b[row] = 0.0, i.residual[at] if i.residual[at] == i.residual[at] else 0.0
            row += 1
        g = k.group_next[g]
    for r in range(row):
        for s in range(row):
            p.W[r, s] = k.S[r, s]


@native_inline
def _change_by_loads(k: RowProblem, i: Impulses, first: int) -> float:
    """Return the largest change of the velocity of a row of an island by the loads of the step."""
    g, largest = first, 0.0
    while g != NONE:
        for own in range(k.group_rows[g]):
            at = k.row[k.slot[g] + own]
            largest = max(largest, abs(i.v[at] - i.start[at]))
        g = k.group_next[g]
    return largest


@native_kernel
def _load_wanted_velocities(c: Contacts, k: RowProblem, i: Impulses, first: int, h: float) -> None:
    """Compute the velocities that the rows of an island get at q_m if they do not part or slip.

    A contact that closes gets -e v_n; zero for a slow approach. Without this rule contacts would never come to rest,
    because the loads of a step make them approach, and they rebound. A bilateral row with the acceleration r at
    udot = 0 gets -h/2 r, so that its velocity vanishes at the end of the step, up to terms of order h^2.
    """
    g, slow = first, -SLOW_APPROACH * _change_by_loads(k, i, first)
    while g != NONE:
        l = k.group_constraint[g]
        pushes = l != NONE and is_unilateral(c, l)
        held = l == NONE or c.table.bilateral[l] == 1
        for own in range(k.group_rows[g]):
            at = k.row[k.slot[g] + own]
            i.wanted[at] = -0.5 * h * record_of(k, g, own).remainder[0] if held else 0.0
            if pushes and own == 0 and i.start[at] < slow:
                i.wanted[at] = newton_velocity(c.gaps.restitution[l], i.start[at])
        g = k.group_next[g]


@native_inline
def _bound(c: Contacts, i: Impulses, l: int, row: int, h: float, purpose: int) -> float:
    """Return the bound of a block: a friction coefficient, an impulse, or infinity for a row that must not move.

    A correction of the configuration has no friction, and only rows with a residual restrict it.
    """
    pushes = l != NONE and is_unilateral(c, l)
    if purpose == FOR_CORRECTION:
        return math.inf if not pushes and i.residual[row] == i.residual[row] else 0.0
    if l == NONE or c.table.bilateral[l] == 1:
        return math.inf
    bound = c.gaps.static[l] if i.kept.status[l] == STICKING else c.gaps.kinetic[l]
    if pushes:
        return float(bound if c.table.friction[l] == COULOMB else 0.0)
    return float(h * bound)
