"""The rows of constraints in force in the metric of the mass matrix: what motions they leave, and friction beside.

With M = L L^T and w = L^T u a row a of A u = 0 reads (L^-1 a) . w = 0. Orthonormal rows Q of these span the same,
whatever depends on whatever; w - Q^T Q w is the motion nearest to w, in the metric of the kinetic energy, that they
leave.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.linear.factorizations import solve_lower_factor
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import NONE, OPEN, SLIDING, STICKING
from kane.engine.memory.run_codes import RHS
from kane.engine.memory.run_memory import mode_of

# A row of which orthogonalisation leaves less than this part depends on those before it.
DEPENDENT = 1e-9


@native_inline
def _add_row(p: Any, A: Any, row: int, count: int) -> int:
    """Make a row of A orthonormal to those that are there, twice, as once leaves rounding; how many there are then."""
    n = p.w.size
    if count == n:
        return n
    new = p.rows[count]
    for j in range(n):
        new[j] = A[row * n + j]
    solve_lower_factor(p.L, n, new)
    before = _length(new)
    for _ in range(2):
        for r in range(count):
            part = _dot(p.rows[r], new)
            for j in range(n):
                new[j] -= part * p.rows[r, j]
    left = _length(new)
    if not left > DEPENDENT * before:
        return count
    for j in range(n):
        new[j] /= left
    return count + 1


@native_inline
def _dot(a: Any, b: Any) -> float:
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@native_inline
def _length(a: Any) -> float:
    return math.sqrt(_dot(a, a))


@native_inline
def find_rows(p: Any, system: Any, A: Any) -> int:
    """Orthonormal rows of what is in force, from A by rows and L; how many. Those of candidates are in the mode."""
    count = 0
    for row in range(p.permanent):
        count = _add_row(p, A, row, count)
    if p.reactions == 0:
        return count
    c = contact_constants_of(system.headers[mode_of(system).places[RHS] :])
    for k in range(c.block.constraints):
        status, normal, tangent = c.state.status[k], c.table.normal[k], c.table.tangent[k]
        if status != OPEN and normal != NONE:
            count = _add_row(p, A, normal, count)
        if status == STICKING:
            for row in range(tangent, tangent + c.table.tangents[k]):
                count = _add_row(p, A, row, count)
    return count


@native_inline
def project(p: Any, count: int, w: Any) -> None:
    """w - Q^T Q w."""
    for r in range(count):
        part = _dot(p.rows[r], w)
        for j in range(w.size):
            w[j] -= part * p.rows[r, j]


@native_inline
def restrict(p: Any, count: int, scale: float) -> None:
    """The linear system A w = b of all speeds becomes P A P w + scale Q^T Q w = P b, whose solution has Q w = 0."""
    A, n = p.A, p.w.size
    for i in range(n):  # A P
        project(p, count, A[i])
    for r in range(count):  # P A P = A P - Q^T (Q A P)
        for j in range(n):
            part = 0.0
            for i in range(n):
                part += p.rows[r, i] * A[i, j]
            for i in range(n):
                A[i, j] -= p.rows[r, i] * part
    for r in range(count):
        for i in range(n):
            for j in range(n):
                A[i, j] += scale * p.rows[r, i] * p.rows[r, j]
    project(p, count, p.middle)


@native_inline
def friction(p: Any, system: Any, A: Any, out: Any) -> bool:
    """The generalized forces of dry friction of what slides, at the state that is set; whether anything does."""
    if p.reactions == 0:
        return False
    c, slides = contact_constants_of(system.headers[mode_of(system).places[RHS] :]), False
    for k in range(c.block.constraints):
        slides = slides or c.state.status[k] == SLIDING
    for j in range(out.size):
        out[j] = 0.0
    if not slides:
        return False
    constants = system.stages[mode_of(system).places[RHS] :]
    call_program(p.reactions, system.state, system.inputs, constants, p.forces, system.work)
    for k in range(c.block.constraints):
        if c.state.status[k] == SLIDING:
            for row in range(c.table.tangent[k], c.table.tangent[k] + c.table.tangents[k]):
                for j in range(out.size):
                    out[j] += p.forces[row] * A[row * out.size + j]
    return True
