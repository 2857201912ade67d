"""Forces of the rows in a mode: of least norm where they are redundant; what sticks shares friction as its bounds."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.internal_forces import share_within_bounds
from kane.engine.linear.factorizations import factor, from_q, solve_lower
from kane.engine.linear.redundant_rows import eliminate
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.contact_codes import (
    COULOMB,
    NONE,
    OPEN,
    SLIDING,
    STICKING,
)
from kane.engine.memory.views import FactorScratch
from kane.engine.rows.tree_response import slip_direction

# What is left of the acceleration of a row, over what it is made of, where rows contradict each other: more than what
# those leave that count as dependent. The force is then as good as infinite [N].
CONTRADICTED, UNBOUNDED_FORCE = 1e-7, 1e30
# Accelerations below this [m/s^2 or rad/s^2] are none.
STILL = 1e-10
# What hardly pushes takes as much of redundant friction as if it pushed with this share of the largest force.
SHARED = 1e-6


@native_inline
def direction(c: Any, k: int) -> Any:
    """The direction of slip of a sliding candidate, see ``slip_direction``."""
    t, tangents = c.table.tangent[k], c.table.tangents[k]
    y = c.all_rows.motion[t + 1] if tangents == 2 else 0.0
    return slip_direction(c.state, k, tangents, c.all_rows.motion[t], y)


@native_inline
def name_rows(k: Any) -> None:
    """The rows in force, in the order of their records."""
    m = k.block.permanent
    for r in range(m):
        k.row[r] = r
    for c in range(k.block.constraints):
        status = k.state.status[c]
        if status != OPEN:
            normals = 1 if k.table.normal[c] != NONE else 0
            first = k.table.normal[c] if normals == 1 else k.table.tangent[c]
            for r in range(normals if status == SLIDING else normals + k.table.tangents[c]):
                k.row[m] = first + r
                m += 1


@native_kernel
def _share_friction(c: Any, a: Any) -> None:
    """Redundant friction of what sticks, shared out as its bounds: the least sum of f^2 / (mu N).

    The Factors are overwritten.
    """
    n, held, least = a.f.order.size, 0, 0.0
    for row in range(c.forces.size):
        least = max(least, SHARED * abs(c.forces[row]))
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
def find_forces(c: Any, a: Any, rank: int, sliding: int) -> None:
    """Forces of all rows: lambda of least norm of those in force, friction of what slides, zero of the others."""
    n, m = a.f.order.size, a.f.A.shape[0]
    for k in range(m):
        a.x[k] = 0.0
    for i in range(rank):
        a.x[i] = a.z[i]
        for j in range(rank, n):
            a.x[i] += a.W[i, j] * a.udot[j]
        for s in range(sliding):
            a.x[i] -= c.N[s] * c.F[s, i]
    solve_lower(a.f, rank, a.x)
    from_q(a.f, rank, a.x)
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
def _mark_contradictions(c: Any, a: Any) -> None:
    """Rows whose acceleration does not vanish, whatever their forces: these are without bound, against it.

    As where two bars between sticking contacts come into line: nothing holds their joint back there. What is left is
    compared with the largest of what rows in force are made of, and of what the loads alone would make of them.
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
        if abs(c.remainder[k]) > CONTRADICTED * largest + STILL:
            c.forces[c.active[k]] = -math.copysign(UNBOUNDED_FORCE, c.remainder[k])


@native_kernel
def find_responses(c: Any, sliding: int) -> None:
    """Responses of sliding contacts: pivots of K by symmetric elimination, the largest first.

    K has the normal accelerations that normal forces make together with their friction, all other rows in force being
    kept; without friction it is the unit matrix. If its determinant is negative, so is a pivot, and compliant contacts
    are unstable, however stiff they are.

    Args:
        c: the Contacts; K and the normal rows N of the sliding contacts are read, ``response`` is written.
        sliding: number of contacts that slide with friction of their normal forces.
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
def add_friction(c: Any) -> None:
    """Kinetic friction of what slides into the forces, which have the normal ones."""
    for k in range(c.block.constraints):
        if c.state.status[k] == SLIDING and c.table.tangents[k] > 0:
            x, y = direction(c, k)
            rub(c, k, x, y)


@native_inline
def rub(c: Any, k: int, x: float, y: float) -> None:
    """Kinetic friction of what slides in this direction into the forces."""
    bound = c.gaps.kinetic[k]
    if c.table.friction[k] == COULOMB:
        bound *= c.forces[c.table.normal[k]]
    c.forces[c.table.tangent[k]] = -bound * x
    if c.table.tangents[k] == 2:
        c.forces[c.table.tangent[k] + 1] = -bound * y
