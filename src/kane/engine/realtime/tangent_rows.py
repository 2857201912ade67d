"""Active constraint rows in the metric of the mass matrix: the motions that they allow, and Coulomb friction.

With M = L L^T and w = L^T u, a row a of A u = 0 is (L^-1 a) . w = 0. Orthonormal rows Q span all active rows, also
linearly dependent ones. w - Q^T Q w is the allowed motion that is nearest to w in kinetic energy.
"""

from __future__ import annotations

import math

from kane.engine.call import call_program, native_inline
from kane.engine.linear.factorizations import solve_lower_factor
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import NONE, OPEN, SLIDING, STICKING
from kane.engine.memory.loop_arguments import Matrix, StateEquation, Vector
from kane.engine.memory.run_codes import RHS
from kane.engine.memory.run_memory import mode_of
from kane.engine.realtime.passive_arrays import Passive

# Relative length after orthogonalisation below which a row counts as linearly dependent on earlier rows.
LEAST_NEW_PART = 1e-9


@native_inline
def _add_row(p: Passive, A: Matrix, row: int, count: int) -> int:
    """Append a row of A, orthonormalized twice because of rounding; return the number of orthonormal rows."""
    n = p.w.size
    if count == n:
        return n
    new = p.rows[count]
    for j in range(n):
        new[j] = A[row, j]
    solve_lower_factor(p.L, n, new)
    before = _length(new)
    for _ in range(2):
        for r in range(count):
            part = _dot(p.rows[r], new)
            for j in range(n):
                new[j] -= part * p.rows[r, j]
    left = _length(new)
    if not left > LEAST_NEW_PART * before:
        return count
    for j in range(n):
        new[j] /= left
    return count + 1


@native_inline
def _dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@native_inline
def _length(a: Vector) -> float:
    """Return the Euclidean norm."""
    return math.sqrt(_dot(a, a))


@native_inline
def find_active_rows(p: Passive, system: StateEquation, A: Matrix) -> int:
    """Compute orthonormal rows that span the active rows of A, with the factor L; return their number.

    Permanent rows are always active; the contact mode has the status of intermittent constraints.
    """
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
def project_motion(p: Passive, count: int, w: Vector) -> None:
    """Replace w by the allowed motion w - Q^T Q w."""
    for r in range(count):
        part = _dot(p.rows[r], w)
        for j in range(w.size):
            w[j] -= part * p.rows[r, j]


@native_inline
def restrict(p: Passive, count: int, scale: float) -> None:
    """Restrict the system A w = b to the allowed motions.

    With P = 1 - Q^T Q the new system is P A P w + scale Q^T Q w = P b.
    """
    A, n = p.A, p.w.size
    for i in range(n):  # A P
        project_motion(p, count, A[i])
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
    project_motion(p, count, p.middle)


@native_inline
def friction(p: Passive, system: StateEquation, A: Matrix, out: Vector) -> bool:
    """Set ``out`` to the generalized forces of kinetic friction at the present state; return whether a contact slides.

    Without intermittent constraints ``out`` stays as it is.
    """
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
                    out[j] += p.forces[row] * A[row, j]
    return True
