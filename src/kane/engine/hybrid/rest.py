"""What comes to rest at an instant: speeds on the rows of the next mode, which nothing open approaches with.

At an instant coordinates stand still, and what touches asks for speeds in the cone K of v_k >= 0. Impacts lead into it,
and their impulses take energy. The rows in force ask for v_k = 0, a face of K: the speeds there are the nearest ones in
the metric of the kinetic energy. The way there may lead out of K: of two ends of a body that rocks, one is held, and
the other is driven down. Then both come to rest, since a rock that would lift an end by less than HOP is none. So each
change ends in K with less kinetic energy, or with the speeds that it had; and with the same speeds the mode found
holds, so that no change follows.

Rows in force leave little of a row that repeats them. Elimination sees nothing left below the root of REDUNDANT, so
that no impulse takes a velocity of that size away: it counts as none, until what it closes is inside by TOUCHING.

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
from kane.engine.memory.contact_codes import (
    NONE,
    OPEN,
    SLIDING,
    STICKING,
)
from kane.engine.memory.views import reaction_problem_at
from kane.engine.project.projection import select_speeds
from kane.engine.rows.embedding import call, find_rows
from kane.engine.rows.impulses import load_rounding, load_velocities, responds, rows_of, touches
from kane.engine.rows.mode_dynamics import active_arrays
from kane.engine.rows.tree_response import INDEPENDENT, REDUNDANT

# A contact that would hop no higher than this comes to rest [m or rad].
HOP = 1e-12


@native_kernel
def come_to_rest(a: Any, c: Any, i: Any, work: Any) -> bool:
    """Close what departs so slowly that it would hop no higher than HOP; whether there is any."""
    found = False
    for k in range(c.block.constraints):
        if i.undecided[k] == DECIDED and touches(c, k):
            normal = c.table.normal[k]
            pull, _ = row_acceleration(c, a, k, normal)
            slow = pull < 0.0 and i.v[normal] * i.v[normal] < -2.0 * HOP * pull
            if slow:
                decide_slip(c, i, k)
                found = True
    return found


@native_kernel
def adopt(c: Any, i: Any, result: Any, inputs: Any, constants: Any, work: Any) -> int:
    """The speeds on all rows of the new mode, and the choice of speeds that it starts with.

    Impulses are rounding but where a slip, or a rock, has been stopped. OPPOSED where no speeds keep all rows.
    """
    nc = c.block.constraints
    for k in range(nc):
        i.group[k] = NONE
    b = active_arrays(c, constants, work, False)
    quick = _put(b, c, i, inputs, constants, work)
    while _halt(b, c, i, work):
        b = active_arrays(c, constants, work, False)
        quick = _put(b, c, i, inputs, constants, work) and quick
    for k in range(nc):
        if i.group[k] != NONE:
            c.state.status[k] = OPEN
    b = active_arrays(c, constants, work, False)
    if not quick:
        find_rows(b, inputs, constants, work)
        select_speeds(b)
    result.energy_lost[0] = energy_lost(b, i)
    return opposed(b, c, i)


@native_inline
def _put(b: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """The speeds on the rows in force, and velocities of all rows; whether no speeds had to be chosen for it."""
    quick = project_speeds_by_response(b, c, i, inputs, constants, work)
    if not quick:
        project_momentum(b, c, i, inputs, constants, work)
    call(b, CONSTRAINTS, inputs, constants, work, b.all_rows.whole)
    load_velocities(c, i)
    return bool(quick)


@native_kernel
def _halt(a: Any, c: Any, i: Any, work: Any) -> bool:
    """Put the normal row of the first candidate in force that is open and approaches; whether there is any.

    A row that nearly repeats rows in force is not put there, since impulses would be without bound. If it repeats them,
    its approach does not count.
    """
    nc = c.block.constraints
    for k in range(nc):
        if touches(c, k):
            c.state.armed[k] = 1
    load_rounding(c, i)
    for k in range(nc):
        if c.state.status[k] != OPEN or not approaches(c, i, k):
            continue
        if not repeats_others(a, c, i, k, INDEPENDENT, work):
            c.state.status[k], i.group[k] = SLIDING if c.table.tangents[k] > 0 else STICKING, k
            return True
        if repeats_others(a, c, i, k, REDUNDANT, work):
            c.state.armed[k] = 0
    return False


@native_kernel
def repeats_others(a: Any, c: Any, i: Any, k: int, share: float, work: Any) -> bool:
    """Whether rows in force leave no more than a share of its square of the normal row of a candidate."""
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
    rank = _rank(i, p, m, share)
    return bool(m > 0 and rank != NONE and rank == _rank(i, p, m + 1, share))


@native_kernel
def _rank(i: Any, p: Any, m: int, share: float) -> int:
    """The rank of the first m rows listed, as elimination sees it; NONE where that is not clear."""
    for r in range(m):
        for s in range(m):
            p.W[r, s] = i.G[p.place[r], p.place[s]]
        p.x[r] = p.W[r, r]
    return int(eliminate(p.W, p.before, p.x, p.step, p.pivots, m, (share, share, 0.0, 0.0)))
