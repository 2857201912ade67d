"""Internal forces of active rows from the islands of a RowProblem, without a factorization of A.

A row that elimination of S = A M^-1 A^T finds redundant has a null vector n, A^T n = 0, on the rows before it.
"""

from __future__ import annotations

from kane.engine.call import matrix_at, native_inline, native_kernel
from kane.engine.laws.internal_blocks import share_in_blocks
from kane.engine.linear.redundant_rows import NONE, eliminate, find_left_null
from kane.engine.memory.contact_codes import SLIDING
from kane.engine.memory.loop_arguments import Matrix
from kane.engine.rows.contact_arrays import Contacts
from kane.engine.rows.islands import load_island
from kane.engine.rows.row_forces import name_rows
from kane.engine.rows.row_problem import RowProblem

# Entries of null vectors below this are rounding error; the row itself has 1.
UNTOUCHED = 1e-10


@native_kernel
def share_in_islands(c: Contacts, k: RowProblem, rows: int, limits: tuple[float, float, float, float]) -> bool:
    """Move redundant forces into their bounds, see ``share_in_blocks``; return whether they keep them.

    Args:
        c: Contacts with the forces of all rows.
        k: RowProblem with solved islands.
        rows: number of active rows.
        limits: see ``solve_islands``.
    """
    Z = matrix_at(c.redundant, 0, k.n, c.forces.size)
    found = _find_internal_forces(k, Z, rows, limits)
    if found == NONE or _changes_sliding(c, Z, found):
        return False
    return bool(share_in_blocks(c, Z, found))


@native_kernel
def _find_internal_forces(k: RowProblem, Z: Matrix, rows: int, limits: tuple[float, float, float, float]) -> int:
    """Find the internal forces of all islands in the first rows of Z; return their number, NONE if they do not fit."""
    name_rows(k)
    found, first, counted = 0, -1, 0
    while counted < rows:
        first += 1
        counted += k.group_rows[first]
        if k.group_root[first] != first:
            continue
        m = load_island(k, first)
        rank = eliminate(k.S, k.pivot, k.square, k.b, k.loose, m, limits)
        if rank == NONE or found + m - rank > Z.shape[0]:
            return NONE
        _number_rows(k, first)
        for d in range(rank, m):
            find_left_null(k.S, k.pivot, d, rank)
            for row in range(Z.shape[1]):
                Z[found, row] = 0.0
            Z[found, k.exchanges[k.loose[d]]] = 1.0
            for i in range(rank):
                if abs(k.S[d, i]) > UNTOUCHED:
                    Z[found, k.exchanges[k.loose[i]]] = k.S[d, i]
            found += 1
    return found


@native_inline
def _number_rows(k: RowProblem, first: int) -> None:
    """List the numbers of the rows of an island in ``exchanges``."""
    i, r = first, 0
    while i != NONE:
        for own in range(k.group_rows[i]):
            k.exchanges[r] = k.row[k.slot[i] + own]
            r += 1
        i = k.group_next[i]


@native_kernel
def _changes_sliding(c: Contacts, Z: Matrix, found: int) -> bool:
    """Check whether an internal force acts on the normal row of a sliding contact, whose friction would change."""
    for k in range(c.block.constraints):
        normal = c.table.normal[k]
        for j in range(found if c.state.status[k] == SLIDING and normal != NONE else 0):
            if Z[j, normal] != 0.0:
                return True
    return False
