"""Forces of all rows in a contact mode, from the embedding: redundant forces, contradictions, and sliding friction.

In: udot_i, z and the factors of the embedding. Out: ``forces`` of all rows [N, N m], zero for inactive rows, and the
response of each sliding contact.

Source: Golub & Van Loan, Matrix Computations, 4th ed., section 5.5; Genot & Brogliato 1999 (sign of the response).
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.internal_blocks import share_within_bounds
from kane.engine.laws.slip import slip_direction
from kane.engine.linear.factorizations import factor, from_q, solve_lower
from kane.engine.linear.redundant_rows import eliminate
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.contact_codes import COULOMB, SLIDING, STICKING
from kane.engine.memory.views import FactorScratch
from kane.engine.rows.contact_arrays import Contacts
from kane.engine.rows.embedding import Arrays, find_multipliers
from kane.engine.rows.row_problem import LEAST_BOUND, RowProblem, active_rows_of

# Remaining acceleration of a row, relative to its terms, above which rows contradict each other; it is larger than
# that of redundant rows. Their forces are then unbounded [N].
CONTRADICTION, UNBOUNDED_FORCE = 1e-7, 1e30
# Accelerations below this are zero [m/s^2 or rad/s^2].
NO_ACCELERATION = 1e-10


@native_inline
def direction(c: Contacts, k: int) -> Any:
    """Return the direction of slip of a sliding constraint, see ``slip_direction``."""
    t, tangents = c.table.tangent[k], c.table.tangents[k]
    y = c.all_rows.motion[t + 1] if tangents == 2 else 0.0
    return slip_direction(c.state, k, tangents, c.all_rows.motion[t], y)


@native_inline
def name_rows(k: RowProblem) -> None:
    """List the numbers of the active rows in the order of their records."""
    m = k.block.permanent
    for r in range(m):
        k.row[r] = r
    for c in range(k.block.constraints):
        first, rows = active_rows_of(k.table, k.state, c)
        for row in range(first, first + rows):
            k.row[m] = row
            m += 1


@native_kernel
def _share_friction(c: Contacts, a: Arrays) -> None:
    """Share the redundant friction of sticking contacts by their bounds: minimize sum f^2 / (mu N).

    The factors are overwritten.
    """
    n, held, least = a.f.order.size, 0, 0.0
    for row in range(c.forces.size):
        least = max(least, LEAST_BOUND * abs(c.forces[row]))
    for j in range(n):
        a.z[j] = 0.0
    for k in range(c.block.constraints):
        if c.state.status[k] != STICKING or c.table.friction[k] != COULOMB:
            continue
        bound = c.gaps.static[k] * c.forces[c.table.normal[k]]
        for i in range(c.table.tangents[k]):
            t = c.table.tangent[k] + i
            a.x[held], c.l[held] = math.sqrt(max(bound, least)), float(t)
            for j in range(n):
                a.f.A[held, j] = a.x[held] * c.all_rows.A[t, j]
                a.z[j] += c.forces[t] * c.all_rows.A[t, j]
            held += 1
    if held == 0 or least == 0.0:
        return
    for j in range(n):
        a.f.order[j] = j
    f = FactorScratch(a.f.A[:held], a.f.order, a.f.diag, a.f.beta, a.f.norms, a.f.w, a.f.end)
    rank = factor(f, UNCHOSEN)
    # The scaled rows B have B^T g = sum of f_i a_i: g of least norm, f_i = scale_i g_i.
    for k in range(held):
        c.remainder[k] = a.z[f.order[k]] if k < rank else 0.0
    g = c.remainder[:held]
    solve_lower(f, rank, g)
    from_q(f, rank, g)
    for k in range(held):
        c.forces[int(c.l[k])] = a.x[k] * g[k]


@native_kernel
def find_forces(c: Contacts, a: Arrays, rank: int, sliding: int) -> None:
    """Compute the forces of all rows: lambda of least norm, and the friction of sliding contacts."""
    m = a.f.A.shape[0]
    for s in range(sliding):
        for i in range(rank):
            a.z[i] -= c.N[s] * c.F[s, i]
    find_multipliers(a, rank)
    for i in range(c.forces.size):
        c.forces[i] = 0.0
    for k in range(m):
        c.forces[c.active[k]] = a.x[k]
    if rank < m:
        _share_friction(c, a)
        share_within_bounds(c)
        _mark_contradictions(c, a)
    add_friction(c)


@native_kernel
def _mark_contradictions(c: Contacts, a: Arrays) -> None:
    """Set unbounded forces at rows whose acceleration no forces remove, against this acceleration.

    An example is a joint between two bars that come into line between sticking contacts. The scale is the largest sum
    of the terms of an active row, and of the accelerations of the loads alone.
    """
    n, largest = c.udot.size, 0.0
    for k in range(a.f.A.shape[0]):
        row = c.active[k]
        c.remainder[k] = a.unconstrained.remainder[row]
        size = abs(c.remainder[k])
        for j in range(n):
            entry = c.all_rows.A[row, j]
            c.remainder[k] += entry * c.udot[j]
            size += abs(entry * c.udot[j]) + abs(entry * c.h[j]) / a.unconstrained.M[j * (j + 1) // 2 + j]
        largest = max(largest, size)
    for k in range(a.f.A.shape[0]):
        if abs(c.remainder[k]) > CONTRADICTION * largest + NO_ACCELERATION:
            c.forces[c.active[k]] = -math.copysign(UNBOUNDED_FORCE, c.remainder[k])


@native_kernel
def find_responses(c: Contacts, sliding: int) -> None:
    """Compute the responses of sliding contacts: pivots of K by symmetric elimination, the largest first.

    K holds the normal accelerations per unit of each normal force with its friction, while all other active rows hold.
    Without friction it is the unit matrix. If its determinant is negative, so is a pivot. Compliant contacts of any
    stiffness are then unstable.

    Args:
        c: Contacts; K and the normal rows N of the sliding contacts are read, ``response`` is written.
        sliding: number of contacts that slide with friction proportional to their normal forces.
    """
    square, order = c.path[1], c.pivots
    for r in range(sliding):
        square[r] = 1.0
        for s in range(sliding):
            c.B[r, s] = c.K[r, s]
    eliminate(c.B, c.path[0], square, c.path[2], order, sliding, (0.0, math.inf, 0.0, 0.0))
    for s in range(sliding):
        for k in range(c.block.constraints):
            if c.table.normal[k] == int(c.N[order[s]]):
                c.response[k] = c.B[s, s]


@native_inline
def add_friction(c: Contacts) -> None:
    """Add the kinetic friction of sliding contacts to the forces, from their normal forces."""
    for k in range(c.block.constraints):
        if c.state.status[k] == SLIDING and c.table.tangents[k] > 0:
            x, y = direction(c, k)
            rub(c, k, x, y)


@native_inline
def rub(c: Contacts, k: int, x: float, y: float) -> None:
    """Store the kinetic friction of a constraint that slides in the direction (x, y)."""
    bound = c.gaps.kinetic[k]
    if c.table.friction[k] == COULOMB:
        bound *= c.forces[c.table.normal[k]]
    c.forces[c.table.tangent[k]] = -bound * x
    if c.table.tangents[k] == 2:
        c.forces[c.table.tangent[k] + 1] = -bound * y
