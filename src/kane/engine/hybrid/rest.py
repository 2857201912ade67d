"""Speeds at the end of a transition: on the active rows of the new mode, and without approach of open contacts.

The normal velocities of closed contacts must be in the cone K of v_k >= 0. Impacts lead into K, and their impulses
dissipate energy. The active rows then require v_k = 0, which is a face of K. The speeds are projected onto this face in
the metric of the kinetic energy. This projection can leave K: if one end of a rocking body is held, the other end is
driven down. Then both ends come to rest, because a rock that would lift an end by less than HOP is not resolved.
Therefore each transition ends in K, with less kinetic energy or with unchanged speeds. With unchanged speeds the mode
is consistent, and no further transition follows.

A row that is nearly redundant keeps only rounding after elimination. No impulse can remove an approach velocity of this
size, so that it does not count until the gap is below -TOUCHING.

Source: Moreau, Decomposition orthogonale d'un espace hilbertien selon deux cones mutuellement polaires, C. R. Acad.
Sci. 255, 1962.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.hybrid.collisions import approaches
from kane.engine.hybrid.consistency import DECIDED, decide_slip, row_acceleration
from kane.engine.hybrid.momentum import energy_lost, opposed, project_momentum, project_speeds_by_response
from kane.engine.linear.redundant_rows import eliminate
from kane.engine.memory.constraint_codes import CONSTRAINTS
from kane.engine.memory.constraint_memory import contact_scratch_of
from kane.engine.memory.contact_codes import NONE, OPEN, SLIDING, STICKING
from kane.engine.memory.views import ReactionProblem, Transition, reaction_problem_at
from kane.engine.project.projection import select_speeds
from kane.engine.rows.embedding import Arrays, call, find_rows
from kane.engine.rows.impulses import Impulses, load_rounding, load_velocities, responds, rows_of, touches
from kane.engine.rows.mode_dynamics import Contacts, active_arrays
from kane.engine.rows.tree_response import INDEPENDENT, REDUNDANT

# A contact that would hop no higher than this comes to rest [m or rad].
HOP = 1e-12


@native_kernel
def close_slow_contacts(a: Arrays, c: Contacts, i: Impulses) -> bool:
    """Close contacts that separate so slowly that they would hop no higher than HOP; return whether there are any."""
    found = False
    for k in range(c.block.constraints):
        if i.undecided[k] == DECIDED and touches(c, k):
            normal = c.table.normal[k]
            pull, _ = row_acceleration(c, a, k, normal)
            if pull < 0.0 and i.v[normal] * i.v[normal] < -2.0 * HOP * pull:
                decide_slip(c, i, k)
                found = True
    return found


@native_kernel
def adopt_mode(c: Contacts, i: Impulses, result: Transition, inputs: Any, constants: Any, work: Any) -> int:
    """Project the speeds onto the active rows of the new mode, and select its independent speeds.

    The impulses of this projection are rounding, unless a slip or a rock was stopped. ``result`` gets the energy lost.

    Returns:
        ADOPTED, or OPPOSED if no speeds satisfy all active rows.
    """
    nc = c.block.constraints
    for k in range(nc):
        i.group[k] = NONE
    b = active_arrays(c, constants, work, False)
    by_tree = _project_speeds(b, c, i, inputs, constants, work)
    while _close_approaching(b, c, i, work):
        b = active_arrays(c, constants, work, False)
        by_tree = _project_speeds(b, c, i, inputs, constants, work) and by_tree
    for k in range(nc):
        if i.group[k] != NONE:
            c.state.status[k] = OPEN
    b = active_arrays(c, constants, work, False)
    if not by_tree:
        find_rows(b, inputs, constants, work)
        select_speeds(b)
    result.energy_lost[0] = energy_lost(b, i)
    return int(opposed(b, c, i))


@native_inline
def _project_speeds(b: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> bool:
    """Project the speeds onto the active rows, and update the velocities of all rows.

    Returns:
        Whether the tree response sufficed, so that no independent speeds were selected.
    """
    by_tree = project_speeds_by_response(b, c, i, inputs, constants, work)
    if not by_tree:
        project_momentum(b, c, i, inputs, constants, work)
    call(b, CONSTRAINTS, inputs, constants, work, b.all_rows.whole)
    load_velocities(c, i)
    return bool(by_tree)


@native_kernel
def _close_approaching(a: Arrays, c: Contacts, i: Impulses, work: Any) -> bool:
    """Activate the normal row of the first open contact that approaches, and note it in ``group``.

    A row that is nearly redundant stays inactive, because its impulses would be unbounded. If it is redundant, its
    approach no longer counts.

    Returns:
        Whether a row was activated.
    """
    nc = c.block.constraints
    for k in range(nc):
        if touches(c, k):
            c.state.armed[k] = 1
    load_rounding(c, i)
    for k in range(nc):
        if c.state.status[k] != OPEN or not approaches(c, i, k):
            continue
        if not _is_redundant(a, c, i, k, INDEPENDENT, work):
            c.state.status[k], i.group[k] = SLIDING if c.table.tangents[k] > 0 else STICKING, k
            return True
        if _is_redundant(a, c, i, k, REDUNDANT, work):
            c.state.armed[k] = 0
    return False


@native_kernel
def _is_redundant(a: Arrays, c: Contacts, i: Impulses, k: int, ratio: float, work: Any) -> bool:
    """Check whether the active rows leave at most a given ratio of the square of the normal row of contact k."""
    p = reaction_problem_at(work, contact_scratch_of(a.head, c.block.constraints, work).reactions, i.v.size, 0)
    m = 0
    for l in range(c.block.constraints):
        status = c.state.status[l]
        if l != k and status != OPEN and responds(c, l) and i.island[l] == i.island[k]:
            first, last = rows_of(c, l)
            normals = 1 if c.table.normal[l] != NONE else 0
            for row in range(first, first + normals if status == SLIDING else last):
                p.place[m] = row
                m += 1
    p.place[m] = c.table.normal[k]
    rank = _rank(i, p, m, ratio)
    return bool(m > 0 and rank != NONE and rank == _rank(i, p, m + 1, ratio))


@native_kernel
def _rank(i: Impulses, p: ReactionProblem, m: int, ratio: float) -> int:
    """Return the rank of the first m rows in ``p.place``, or NONE if elimination cannot decide it."""
    for r in range(m):
        for s in range(m):
            p.W[r, s] = i.G[p.place[r], p.place[s]]
        p.x[r] = p.W[r, r]
    return int(eliminate(p.W, p.before, p.x, p.step, p.pivots, m, (ratio, ratio, 0.0, 0.0)))
