"""Contacts: the constants and the scratch memory of the intermittent constraints in a call."""

from __future__ import annotations

from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import native_inline, vector_at
from kane.engine.memory.constraint_memory import contact_constants_of, contact_scratch_of
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import (
    ConstraintRows,
    ContactBlock,
    ContactState,
    ContactTable,
    GapTerms,
    HeldResiduals,
    constraint_rows_at,
    factor_scratch_size,
    gap_terms_at,
)


class Contacts(NamedTuple):
    """Constants and scratch memory of the intermittent constraints in a call.

    Attributes:
        block, table, state, held: see ContactConstants.
        all_rows, gaps: ConstraintRows of all rows, and GapTerms.
        active, row_mask, forces, F, Y, K, N, l, h, remainder, udot, pivots, redundant, B, H, path, response: see
            ContactScratch; ``redundant`` is the memory of a FactorScratch. The response is 1.0 if all rows are
            independent, see ``find_responses``.
    """

    block: ContactBlock
    table: ContactTable
    state: ContactState
    held: HeldResiduals
    all_rows: ConstraintRows
    gaps: GapTerms
    active: Indices
    row_mask: Indices
    forces: Vector
    F: Matrix
    Y: Matrix
    K: Matrix
    N: Vector
    l: Vector
    h: Vector
    remainder: Vector
    udot: Vector
    pivots: Indices
    redundant: Vector
    B: Matrix
    H: Matrix
    path: Matrix
    response: Vector


@native_inline
def contacts_of(constants: Any, work: Any) -> Contacts:
    """Return the Contacts of a call."""
    c = contact_constants_of(constants)
    m, n, nc = c.head.rows, c.head.speeds, c.block.constraints
    s = contact_scratch_of(c.head, nc, work)
    redundant = vector_at(work, s.redundant, factor_scratch_size(n, m))
    all_rows, gaps = constraint_rows_at(work, s.all_rows, m, n), gap_terms_at(work, s.gaps, nc)
    return Contacts(
        c.block, c.table, c.state, c.held, all_rows, gaps, s.active, s.row_mask, s.forces, s.F, s.Y, s.K, s.N, s.l, s.h,
        s.remainder, s.udot, s.pivots, redundant, s.B, s.H, s.path, s.response,
    )  # fmt: skip
