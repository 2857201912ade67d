"""Views of the regions of memory. Generated from regions.py by generate.py: do not edit.

``memory`` is a pointer in native code. In Python it is an array of doubles whose last axis is the region.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.call import integer_at, integers_at, matrix_at, native_inline, vector_at

# fmt: off


class ConstraintRows(NamedTuple):
    """Outputs of the program "constraints"."""

    A: Any
    motion: Any
    whole: Any
    end: int


@native_inline
def constraint_rows_at(memory: Any, start: Any, m: Any, n: Any) -> Any:
    """Return the ConstraintRows that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + m * n
    p2 = p1 + m
    return ConstraintRows(
        matrix_at(memory, start, m, n), vector_at(memory, p1, m), vector_at(memory, start, p2 - start), p2,
    )


@native_inline
def constraint_rows_size(m: Any, n: Any) -> Any:
    """Return the number of doubles of ConstraintRows."""
    return (m * n + m)


class UnconstrainedTerms(NamedTuple):
    """Outputs of the program "unconstrained": M udot + h = A^T lambda, A udot + remainder = 0."""

    M: Any
    h: Any
    remainder: Any
    rates: Any
    whole: Any
    end: int


@native_inline
def unconstrained_terms_at(memory: Any, start: Any, m: Any, n: Any, nq: Any) -> Any:
    """Return the UnconstrainedTerms that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + (n * (n + 1) // 2)
    p2 = p1 + n
    p3 = p2 + m
    p4 = p3 + nq
    return UnconstrainedTerms(
        vector_at(memory, start, n * (n + 1) // 2), vector_at(memory, p1, n), vector_at(memory, p2, m),
        vector_at(memory, p3, nq), vector_at(memory, start, p4 - start), p4,
    )


@native_inline
def unconstrained_terms_size(m: Any, n: Any, nq: Any) -> Any:
    """Return the number of doubles of UnconstrainedTerms."""
    return ((n * (n + 1) // 2) + n + m + nq)


class Embedding(NamedTuple):
    """Outputs of the program "embedding": u = R u + e, udot = R udot + e_t."""

    conditioning: Any
    independent: Any
    u: Any
    e_t: Any
    R: Any
    end: int


@native_inline
def embedding_at(memory: Any, start: Any, n: Any) -> Any:
    """Return the Embedding that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + n
    p3 = p2 + n
    p4 = p3 + n
    p5 = p4 + n * n
    return Embedding(
        vector_at(memory, start, 1), vector_at(memory, p1, n), vector_at(memory, p2, n), vector_at(memory, p3, n),
        matrix_at(memory, p4, n, n), p5,
    )


@native_inline
def embedding_size(n: Any) -> Any:
    """Return the number of doubles of Embedding."""
    return (1 + n + n + n + n * n)


class ProjectedState(NamedTuple):
    """Outputs of the program "settle"."""

    q: Any
    u: Any
    configuration: Any
    motion: Any
    conditioning: Any
    whole: Any
    end: int


@native_inline
def projected_state_at(memory: Any, start: Any, n: Any, nq: Any) -> Any:
    """Return the ProjectedState that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + nq
    p2 = p1 + n
    p3 = p2 + 1
    p4 = p3 + 1
    p5 = p4 + 1
    return ProjectedState(
        vector_at(memory, start, nq), vector_at(memory, p1, n), vector_at(memory, p2, 1), vector_at(memory, p3, 1),
        vector_at(memory, p4, 1), vector_at(memory, start, p5 - start), p5,
    )


@native_inline
def projected_state_size(n: Any, nq: Any) -> Any:
    """Return the number of doubles of ProjectedState."""
    return (nq + n + 1 + 1 + 1)


class GapTerms(NamedTuple):
    """Outputs of the program "gaps"."""

    gap: Any
    on: Any
    off: Any
    static: Any
    kinetic: Any
    restitution: Any
    whole: Any
    end: int


@native_inline
def gap_terms_at(memory: Any, start: Any, nc: Any) -> Any:
    """Return the GapTerms that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + nc
    p2 = p1 + nc
    p3 = p2 + nc
    p4 = p3 + nc
    p5 = p4 + nc
    p6 = p5 + nc
    return GapTerms(
        vector_at(memory, start, nc), vector_at(memory, p1, nc), vector_at(memory, p2, nc), vector_at(memory, p3, nc),
        vector_at(memory, p4, nc), vector_at(memory, p5, nc), vector_at(memory, start, p6 - start), p6,
    )


@native_inline
def gap_terms_size(nc: Any) -> Any:
    """Return the number of doubles of GapTerms."""
    return (nc + nc + nc + nc + nc + nc)


class Transition(NamedTuple):
    """Outputs of the program "change": the state and the mode after a transition."""

    q: Any
    u: Any
    status: Any
    cause: Any
    kind: Any
    energy_lost: Any
    impulses: Any
    directions: Any
    statuses: Any
    end: int


@native_inline
def transition_at(memory: Any, start: Any, nc: Any, m: Any, n: Any, nq: Any) -> Any:
    """Return the Transition that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + nq
    p2 = p1 + n
    p3 = p2 + 1
    p4 = p3 + 1
    p5 = p4 + 1
    p6 = p5 + 1
    p7 = p6 + m
    p8 = p7 + nc * 2
    p9 = p8 + nc
    return Transition(
        vector_at(memory, start, nq), vector_at(memory, p1, n), vector_at(memory, p2, 1), vector_at(memory, p3, 1),
        vector_at(memory, p4, 1), vector_at(memory, p5, 1), vector_at(memory, p6, m), matrix_at(memory, p7, nc, 2),
        vector_at(memory, p8, nc), p9,
    )


@native_inline
def transition_size(nc: Any, m: Any, n: Any, nq: Any) -> Any:
    """Return the number of doubles of Transition."""
    return (nq + n + 1 + 1 + 1 + 1 + m + nc * 2 + nc)


class FactorTerms(NamedTuple):
    """Outputs of the program "factor", M = L^T D L, and what programs of rows and solutions read behind them."""

    L: Any
    inverse: Any
    scaled: Any
    z: Any
    rates: Any
    common: Any
    along: Any
    records: Any
    friction: Any
    whole: Any
    end: int


@native_inline
def factor_terms_at(memory: Any, start: Any, n: Any, nq: Any, entries: Any, shared: Any, room: Any) -> Any:
    """Return the FactorTerms that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + entries
    p2 = p1 + n
    p3 = p2 + n
    p4 = p3 + n
    p5 = p4 + nq
    p6 = p5 + shared
    p7 = p6 + 3
    p8 = p7 + room
    p9 = p8 + (n + 3)
    return FactorTerms(
        vector_at(memory, start, entries), vector_at(memory, p1, n), vector_at(memory, p2, n), vector_at(memory, p3, n),
        vector_at(memory, p4, nq), vector_at(memory, p5, shared), vector_at(memory, p6, 3), vector_at(memory, p7, room),
        vector_at(memory, p8, n + 3), vector_at(memory, start, p9 - start), p9,
    )


@native_inline
def factor_terms_size(n: Any, nq: Any, entries: Any, shared: Any, room: Any) -> Any:
    """Return the number of doubles of FactorTerms."""
    return (entries + n + n + n + nq + shared + 3 + room + (n + 3))


class Solution(NamedTuple):
    """Outputs of a compiled solution for at most m rows."""

    udot: Any
    force: Any
    good: Any
    pivot: Any
    left: Any
    whole: Any
    end: int


@native_inline
def solution_at(memory: Any, start: Any, m: Any, n: Any) -> Any:
    """Return the Solution that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + n
    p2 = p1 + m
    p3 = p2 + 1
    p4 = p3 + m
    p5 = p4 + m
    return Solution(
        vector_at(memory, start, n), vector_at(memory, p1, m), vector_at(memory, p2, 1), vector_at(memory, p3, m),
        vector_at(memory, p4, m), vector_at(memory, start, p5 - start), p5,
    )


@native_inline
def solution_size(m: Any, n: Any) -> Any:
    """Return the number of doubles of Solution."""
    return (n + m + 1 + m + m)


class ConstraintHeader(NamedTuple):
    """The beginning of the constants of native functions of constraints."""

    addresses: Any
    places: Any
    mode: int
    linear: int
    rows: int
    speeds: int
    coordinates: int
    residuals: int
    quaternions: int
    own_speeds: int
    rank: Any
    work: int
    fronts: int
    end: int


@native_inline
def constraint_header_at(memory: Any, start: Any) -> Any:
    """Return the ConstraintHeader that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 5
    p2 = p1 + 5
    p3 = p2 + 1
    p4 = p3 + 1
    p5 = p4 + 1
    p6 = p5 + 1
    p7 = p6 + 1
    p8 = p7 + 1
    p9 = p8 + 1
    p10 = p9 + 1
    p11 = p10 + 1
    p12 = p11 + 1
    p13 = p12 + 1
    return ConstraintHeader(
        integers_at(memory, start, 5), integers_at(memory, p1, 5), integer_at(memory, p2), integer_at(memory, p3),
        integer_at(memory, p4), integer_at(memory, p5), integer_at(memory, p6), integer_at(memory, p7),
        integer_at(memory, p8), integer_at(memory, p9), integers_at(memory, p10, 1), integer_at(memory, p11),
        integer_at(memory, p12), p13,
    )


@native_inline
def constraint_header_size() -> Any:
    """Return the number of doubles of ConstraintHeader."""
    return (5 + 5 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1)


class SelectionHeader(NamedTuple):
    """The beginning of the constants of compiled speed selections; from mode on it is a ConstraintHeader."""

    rhs: int
    settle: int
    numeric: int
    selections: int
    chosen: Any
    unused: Any
    mode: int
    linear: int
    rows: int
    speeds: int
    coordinates: int
    residuals: int
    quaternions: int
    own_speeds: int
    rank: Any
    work: int
    fronts: int
    end: int


@native_inline
def selection_header_at(memory: Any, start: Any) -> Any:
    """Return the SelectionHeader that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + 1
    p3 = p2 + 1
    p4 = p3 + 1
    p5 = p4 + 1
    p6 = p5 + 5
    p7 = p6 + 1
    p8 = p7 + 1
    p9 = p8 + 1
    p10 = p9 + 1
    p11 = p10 + 1
    p12 = p11 + 1
    p13 = p12 + 1
    p14 = p13 + 1
    p15 = p14 + 1
    p16 = p15 + 1
    p17 = p16 + 1
    return SelectionHeader(
        integer_at(memory, start), integer_at(memory, p1), integer_at(memory, p2), integer_at(memory, p3),
        integers_at(memory, p4, 1), integers_at(memory, p5, 5), integer_at(memory, p6), integer_at(memory, p7),
        integer_at(memory, p8), integer_at(memory, p9), integer_at(memory, p10), integer_at(memory, p11),
        integer_at(memory, p12), integer_at(memory, p13), integers_at(memory, p14, 1), integer_at(memory, p15),
        integer_at(memory, p16), p17,
    )


@native_inline
def selection_header_size() -> Any:
    """Return the number of doubles of SelectionHeader."""
    return (1 + 1 + 1 + 1 + 1 + 5 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1)


class SelectionRow(NamedTuple):
    """One compiled speed selection."""

    addresses: Any
    places: Any
    dependent: int
    mask: Any
    end: int


@native_inline
def selection_row_at(memory: Any, start: Any, n: Any) -> Any:
    """Return the SelectionRow that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 3
    p2 = p1 + 3
    p3 = p2 + 1
    p4 = p3 + n
    return SelectionRow(
        integers_at(memory, start, 3), integers_at(memory, p1, 3), integer_at(memory, p2), integers_at(memory, p3, n),
        p4,
    )


@native_inline
def selection_row_size(n: Any) -> Any:
    """Return the number of doubles of SelectionRow."""
    return (3 + 3 + 1 + n)


class ConstraintLists(NamedTuple):
    """Lists behind a ConstraintHeader; the plan of the fronts, or a ContactBlock, follows."""

    order: Any
    rows_of_residuals: Any
    quaternions: Any
    end: int


@native_inline
def constraint_lists_at(memory: Any, start: Any, n: Any, p: Any, quaternions: Any) -> Any:
    """Return the ConstraintLists that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + n
    p2 = p1 + p
    p3 = p2 + quaternions
    return ConstraintLists(
        integers_at(memory, start, n), integers_at(memory, p1, p), integers_at(memory, p2, quaternions), p3,
    )


@native_inline
def constraint_lists_size(n: Any, p: Any, quaternions: Any) -> Any:
    """Return the number of doubles of ConstraintLists."""
    return (n + p + quaternions)


class ContactBlock(NamedTuple):
    """Programs and sizes of intermittent constraints."""

    addresses: Any
    places: Any
    constraints: int
    permanent: int
    closings: int
    in_turn: int
    shared: int
    columns: int
    room: int
    entries: int
    scratch: int
    end: int


@native_inline
def contact_block_at(memory: Any, start: Any) -> Any:
    """Return the ContactBlock that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 12
    p2 = p1 + 12
    p3 = p2 + 1
    p4 = p3 + 1
    p5 = p4 + 1
    p6 = p5 + 1
    p7 = p6 + 1
    p8 = p7 + 1
    p9 = p8 + 1
    p10 = p9 + 1
    p11 = p10 + 1
    return ContactBlock(
        integers_at(memory, start, 12), integers_at(memory, p1, 12), integer_at(memory, p2), integer_at(memory, p3),
        integer_at(memory, p4), integer_at(memory, p5), integer_at(memory, p6), integer_at(memory, p7),
        integer_at(memory, p8), integer_at(memory, p9), integer_at(memory, p10), p11,
    )


@native_inline
def contact_block_size() -> Any:
    """Return the number of doubles of ContactBlock."""
    return (12 + 12 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1)


class ContactTable(NamedTuple):
    """Constants of each intermittent constraint."""

    normal: Any
    tangent: Any
    tangents: Any
    friction: Any
    law: Any
    bilateral: Any
    timed: Any
    ended: Any
    answer: Any
    answer_place: Any
    holds: Any
    holding: Any
    slide: Any
    slide_place: Any
    width: Any
    moves: Any
    moves_place: Any
    first_column: Any
    last_column: Any
    end: int


@native_inline
def contact_table_at(memory: Any, start: Any, nc: Any) -> Any:
    """Return the ContactTable that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + nc
    p2 = p1 + nc
    p3 = p2 + nc
    p4 = p3 + nc
    p5 = p4 + nc
    p6 = p5 + nc
    p7 = p6 + nc
    p8 = p7 + nc
    p9 = p8 + nc
    p10 = p9 + nc
    p11 = p10 + nc
    p12 = p11 + nc
    p13 = p12 + nc
    p14 = p13 + nc
    p15 = p14 + nc
    p16 = p15 + nc
    p17 = p16 + nc
    p18 = p17 + nc
    p19 = p18 + nc
    return ContactTable(
        integers_at(memory, start, nc), integers_at(memory, p1, nc), integers_at(memory, p2, nc),
        integers_at(memory, p3, nc), integers_at(memory, p4, nc), integers_at(memory, p5, nc),
        integers_at(memory, p6, nc), integers_at(memory, p7, nc), integers_at(memory, p8, nc),
        integers_at(memory, p9, nc), integers_at(memory, p10, nc), integers_at(memory, p11, nc),
        integers_at(memory, p12, nc), integers_at(memory, p13, nc), integers_at(memory, p14, nc),
        integers_at(memory, p15, nc), integers_at(memory, p16, nc), integers_at(memory, p17, nc),
        integers_at(memory, p18, nc), p19,
    )


@native_inline
def contact_table_size(nc: Any) -> Any:
    """Return the number of doubles of ContactTable."""
    return (nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc + nc)


class ContactState(NamedTuple):
    """Status and slip of each intermittent constraint, which change in a run."""

    status: Any
    armed: Any
    along: Any
    begun: Any
    whole: Any
    end: int


@native_inline
def contact_state_at(memory: Any, start: Any, nc: Any) -> Any:
    """Return the ContactState that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + nc
    p2 = p1 + nc
    p3 = p2 + nc * 2
    p4 = p3 + nc
    return ContactState(
        integers_at(memory, start, nc), integers_at(memory, p1, nc), matrix_at(memory, p2, nc, 2),
        vector_at(memory, p3, nc), vector_at(memory, start, p4 - start), p4,
    )


@native_inline
def contact_state_size(nc: Any) -> Any:
    """Return the number of doubles of ContactState."""
    return (nc + nc + nc * 2 + nc)


class HeldResiduals(NamedTuple):
    """Residuals of the configuration of models with intermittent constraints."""

    value: Any
    found: Any
    whole: Any
    end: int


@native_inline
def held_residuals_at(memory: Any, start: Any, p: Any) -> Any:
    """Return the HeldResiduals that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + p
    p2 = p1 + p
    return HeldResiduals(
        vector_at(memory, start, p), vector_at(memory, p1, p), vector_at(memory, start, p2 - start), p2,
    )


@native_inline
def held_residuals_size(p: Any) -> Any:
    """Return the number of doubles of HeldResiduals."""
    return (p + p)


class CompiledModes(NamedTuple):
    """Modes that have compiled equations; rows of ``CompiledModeRow`` follow."""

    numeric: Any
    modes: int
    chosen: Any
    inputs: int
    end: int


@native_inline
def compiled_modes_at(memory: Any, start: Any) -> Any:
    """Return the CompiledModes that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 4
    p2 = p1 + 1
    p3 = p2 + 1
    p4 = p3 + 1
    return CompiledModes(
        integers_at(memory, start, 4), integer_at(memory, p1), integers_at(memory, p2, 1), integer_at(memory, p3), p4,
    )


@native_inline
def compiled_modes_size() -> Any:
    """Return the number of doubles of CompiledModes."""
    return (4 + 1 + 1 + 1)


class CompiledModeRow(NamedTuple):
    """One compiled mode."""

    addresses: Any
    places: Any
    statuses: Any
    end: int


@native_inline
def compiled_mode_row_at(memory: Any, start: Any, nc: Any) -> Any:
    """Return the CompiledModeRow that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 5
    p2 = p1 + 5
    p3 = p2 + nc
    return CompiledModeRow(integers_at(memory, start, 5), integers_at(memory, p1, 5), integers_at(memory, p2, nc), p3)


@native_inline
def compiled_mode_row_size(nc: Any) -> Any:
    """Return the number of doubles of CompiledModeRow."""
    return (5 + 5 + nc)


class ChartBlock(NamedTuple):
    """Programs that change charts, right before the constants of the first program of the header."""

    guards: int
    change: int
    addresses: Any
    places: Any
    charts: int
    key: int
    end: int


@native_inline
def chart_block_at(memory: Any, start: Any) -> Any:
    """Return the ChartBlock that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + 1
    p3 = p2 + 2
    p4 = p3 + 2
    p5 = p4 + 1
    p6 = p5 + 1
    return ChartBlock(
        integer_at(memory, start), integer_at(memory, p1), integers_at(memory, p2, 2), integers_at(memory, p3, 2),
        integer_at(memory, p4), integer_at(memory, p5), p6,
    )


@native_inline
def chart_block_size() -> Any:
    """Return the number of doubles of ChartBlock."""
    return (1 + 1 + 2 + 2 + 1 + 1)


class FactorScratch(NamedTuple):
    """A matrix (m, n) and its QR factors with column pivoting."""

    A: Any
    order: Any
    diag: Any
    beta: Any
    norms: Any
    w: Any
    end: int


@native_inline
def factor_scratch_at(memory: Any, start: Any, m: Any, n: Any) -> Any:
    """Return the FactorScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + m * n
    p2 = p1 + n
    p3 = p2 + n
    p4 = p3 + n
    p5 = p4 + 2 * n
    p6 = p5 + n
    return FactorScratch(
        matrix_at(memory, start, m, n), integers_at(memory, p1, n), vector_at(memory, p2, n), vector_at(memory, p3, n),
        matrix_at(memory, p4, 2, n), vector_at(memory, p5, n), p6,
    )


@native_inline
def factor_scratch_size(m: Any, n: Any) -> Any:
    """Return the number of doubles of FactorScratch."""
    return (m * n + n + n + n + 2 * n + n)


class FrontScratch(NamedTuple):
    """What each front of closed loops works on."""

    lists: Any
    columns: Any
    own: Any
    rows: Any
    pivots: Any
    free: Any
    first_column: Any
    first_row: Any
    next_column: Any
    next_row: Any
    candidates: Any
    diag: Any
    beta: Any
    end: int


@native_inline
def front_scratch_at(memory: Any, start: Any, fronts: Any, m: Any, n: Any) -> Any:
    """Return the FrontScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + (fronts * (m + n))
    p2 = p1 + fronts
    p3 = p2 + fronts
    p4 = p3 + fronts
    p5 = p4 + fronts
    p6 = p5 + fronts
    p7 = p6 + fronts
    p8 = p7 + fronts
    p9 = p8 + n
    p10 = p9 + m
    p11 = p10 + n
    p12 = p11 + n
    p13 = p12 + n
    return FrontScratch(
        integers_at(memory, start, fronts * (m + n)), integers_at(memory, p1, fronts), integers_at(memory, p2, fronts),
        integers_at(memory, p3, fronts), integers_at(memory, p4, fronts), integers_at(memory, p5, fronts),
        integers_at(memory, p6, fronts), integers_at(memory, p7, fronts), integers_at(memory, p8, n),
        integers_at(memory, p9, m), integers_at(memory, p10, n), vector_at(memory, p11, n), vector_at(memory, p12, n),
        p13,
    )


@native_inline
def front_scratch_size(fronts: Any, m: Any, n: Any) -> Any:
    """Return the number of doubles of FrontScratch."""
    return ((fronts * (m + n)) + fronts + fronts + fronts + fronts + fronts + fronts + fronts + n + m + n + n + n)


class ConstraintScratch(NamedTuple):
    """Scratch memory of native functions of constraints."""

    state: Any
    rows: int
    free: int
    factors: int
    x: Any
    M: Any
    W: Any
    reduced: Any
    e: Any
    z: Any
    udot: Any
    gram: Any
    y: Any
    diagonal: Any
    residual: Any
    s: Any
    q: Any
    slope: Any
    own_state: Any
    own_found: int
    front_lists: int
    end: int


@native_inline
def constraint_scratch_at(memory: Any, start: Any, m: Any, n: Any, nq: Any, p: Any, fronts: Any, own: Any) -> Any:
    """Return the ConstraintScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + (1 + nq + n)
    p2 = p1 + constraint_rows_size(m, n)
    p3 = p2 + unconstrained_terms_size(m, n, nq)
    p4 = p3 + factor_scratch_size(m, n)
    p5 = p4 + m
    p6 = p5 + n * n
    p7 = p6 + n * n
    p8 = p7 + n * n
    p9 = p8 + n
    p10 = p9 + n
    p11 = p10 + n
    p12 = p11 + p * p
    p13 = p12 + p
    p14 = p13 + p
    p15 = p14 + p
    p16 = p15 + n
    p17 = p16 + nq
    p18 = p17 + nq
    p19 = p18 + (1 + nq + own)
    p20 = p19 + projected_state_size(own, nq)
    p21 = p20 + front_scratch_size(fronts, m, n)
    return ConstraintScratch(
        vector_at(memory, start, 1 + nq + n), p1, p2, p3, vector_at(memory, p4, m), matrix_at(memory, p5, n, n),
        matrix_at(memory, p6, n, n), matrix_at(memory, p7, n, n), vector_at(memory, p8, n), vector_at(memory, p9, n),
        vector_at(memory, p10, n), matrix_at(memory, p11, p, p), vector_at(memory, p12, p), vector_at(memory, p13, p),
        vector_at(memory, p14, p), vector_at(memory, p15, n), vector_at(memory, p16, nq), vector_at(memory, p17, nq),
        vector_at(memory, p18, 1 + nq + own), p19, p20, p21,
    )


@native_inline
def constraint_scratch_size(m: Any, n: Any, nq: Any, p: Any, fronts: Any, own: Any) -> Any:
    """Return the number of doubles of ConstraintScratch."""
    return (
        (1 + nq + n) + constraint_rows_size(m, n) + unconstrained_terms_size(m, n, nq) + factor_scratch_size(m, n) + m +
        n * n + n * n + n * n + n + n + n + p * p + p + p + p + n + nq + nq + (1 + nq + own) + projected_state_size(own,
        nq) + front_scratch_size(fronts, m, n)
    )


class ReactionProblem(NamedTuple):
    """A problem of reactions: a = W f + b, Signorini's and Coulomb's laws; see ``complementarity``."""

    W: Any
    b: Any
    f: Any
    row: Any
    pushes: Any
    tangents: Any
    bound: Any
    least: Any
    a: Any
    rho: Any
    K: Any
    S: Any
    x: Any
    step: Any
    shift: Any
    best: Any
    before: Any
    inner: Any
    place: Any
    unknown: Any
    pivots: Any
    end: int


@native_inline
def reaction_problem_at(memory: Any, start: Any, m: Any, k: Any) -> Any:
    """Return the ReactionProblem that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + m * m
    p2 = p1 + m
    p3 = p2 + m
    p4 = p3 + k
    p5 = p4 + k
    p6 = p5 + k
    p7 = p6 + k
    p8 = p7 + k
    p9 = p8 + m
    p10 = p9 + m
    p11 = p10 + m * m
    p12 = p11 + m * m
    p13 = p12 + m
    p14 = p13 + m
    p15 = p14 + m
    p16 = p15 + m
    p17 = p16 + m
    p18 = p17 + m
    p19 = p18 + m
    p20 = p19 + m
    p21 = p20 + m
    return ReactionProblem(
        matrix_at(memory, start, m, m), vector_at(memory, p1, m), vector_at(memory, p2, m), integers_at(memory, p3, k),
        integers_at(memory, p4, k), integers_at(memory, p5, k), vector_at(memory, p6, k), vector_at(memory, p7, k),
        vector_at(memory, p8, m), vector_at(memory, p9, m), matrix_at(memory, p10, m, m), matrix_at(memory, p11, m, m),
        vector_at(memory, p12, m), vector_at(memory, p13, m), vector_at(memory, p14, m), vector_at(memory, p15, m),
        vector_at(memory, p16, m), vector_at(memory, p17, m), integers_at(memory, p18, m), integers_at(memory, p19, m),
        integers_at(memory, p20, m), p21,
    )


@native_inline
def reaction_problem_size(m: Any, k: Any) -> Any:
    """Return the number of doubles of ReactionProblem."""
    return (m * m + m + m + k + k + k + k + k + m + m + m * m + m * m + m + m + m + m + m + m + m + m + m)


class Struck(NamedTuple):
    """Contacts that are struck together."""

    member: Any
    before: Any
    total: Any
    squeezed: Any
    end: int


@native_inline
def struck_at(memory: Any, start: Any, m: Any, k: Any) -> Any:
    """Return the Struck that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + k
    p2 = p1 + m
    p3 = p2 + m
    p4 = p3 + m
    return Struck(
        integers_at(memory, start, k), vector_at(memory, p1, m), vector_at(memory, p2, m), vector_at(memory, p3, m), p4,
    )


@native_inline
def struck_size(m: Any, k: Any) -> Any:
    """Return the number of doubles of Struck."""
    return (k + m + m + m)


class SelectionScratch(NamedTuple):
    """Scratch memory of compiled speed selections, behind that of the programs."""

    state: Any
    found: Any
    next: Any
    follows: Any
    end: int


@native_inline
def selection_scratch_at(memory: Any, start: Any, n: Any, nq: Any) -> Any:
    """Return the SelectionScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + (1 + nq + n)
    p2 = p1 + (3 + nq + n)
    p3 = p2 + (3 + nq + n)
    p4 = p3 + (4 + nq + n)
    return SelectionScratch(
        vector_at(memory, start, 1 + nq + n), vector_at(memory, p1, 3 + nq + n), vector_at(memory, p2, 3 + nq + n),
        vector_at(memory, p3, 4 + nq + n), p4,
    )


@native_inline
def selection_scratch_size(n: Any, nq: Any) -> Any:
    """Return the number of doubles of SelectionScratch."""
    return ((1 + nq + n) + (3 + nq + n) + (3 + nq + n) + (4 + nq + n))


class Impact(NamedTuple):
    """One impact at one contact; see ``impact``."""

    G: Any
    v: Any
    p: Any
    static: Any
    kinetic: Any
    end_velocity: Any
    end_impulse: Any
    series: Any
    end: int


@native_inline
def impact_at(memory: Any, start: Any) -> Any:
    """Return the Impact that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 3 * 3
    p2 = p1 + 3
    p3 = p2 + 3
    p4 = p3 + 1
    p5 = p4 + 1
    p6 = p5 + 1
    p7 = p6 + 1
    p8 = p7 + 15 * 28
    return Impact(
        matrix_at(memory, start, 3, 3), vector_at(memory, p1, 3), vector_at(memory, p2, 3), vector_at(memory, p3, 1),
        vector_at(memory, p4, 1), vector_at(memory, p5, 1), vector_at(memory, p6, 1), matrix_at(memory, p7, 15, 28), p8,
    )


@native_inline
def impact_size() -> Any:
    """Return the number of doubles of Impact."""
    return (3 * 3 + 3 + 3 + 1 + 1 + 1 + 1 + 15 * 28)


class ContactScratch(NamedTuple):
    """Scratch memory of native functions of intermittent constraints, behind ConstraintScratch."""

    every: int
    active: Any
    counted: Any
    gaps: int
    forces: Any
    F: Any
    Y: Any
    K: Any
    N: Any
    l: Any
    h: Any
    remainder: Any
    udot: Any
    J: Any
    Z: Any
    G: Any
    v: Any
    start: Any
    impulse: Any
    rounding: Any
    left: Any
    total: Any
    before: Any
    first: Any
    kept: int
    undecided: Any
    impact: int
    aimed: Any
    angle: Any
    turn: Any
    step: Any
    turns: Any
    cause: Any
    blamed: Any
    halted: Any
    jammed: Any
    E: Any
    B: Any
    H: Any
    path: Any
    group: Any
    island: Any
    struck: int
    present: Any
    lost: Any
    response: Any
    reactions: int
    end: int


@native_inline
def contact_scratch_at(memory: Any, start: Any, m: Any, n: Any, nc: Any) -> Any:
    """Return the ContactScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + constraint_rows_size(m, n)
    p2 = p1 + m
    p3 = p2 + m
    p4 = p3 + gap_terms_size(nc)
    p5 = p4 + m
    p6 = p5 + nc * n
    p7 = p6 + nc * n
    p8 = p7 + nc * nc
    p9 = p8 + nc
    p10 = p9 + m
    p11 = p10 + n
    p12 = p11 + m
    p13 = p12 + n
    p14 = p13 + m * n
    p15 = p14 + m * n
    p16 = p15 + m * m
    p17 = p16 + m
    p18 = p17 + m
    p19 = p18 + m
    p20 = p19 + m
    p21 = p20 + m
    p22 = p21 + m
    p23 = p22 + n
    p24 = p23 + n
    p25 = p24 + contact_state_size(nc)
    p26 = p25 + nc
    p27 = p26 + impact_size()
    p28 = p27 + nc
    p29 = p28 + nc
    p30 = p29 + nc
    p31 = p30 + nc
    p32 = p31 + nc * nc
    p33 = p32 + 1
    p34 = p33 + 1
    p35 = p34 + 1
    p36 = p35 + 1
    p37 = p36 + n * m
    p38 = p37 + m * m
    p39 = p38 + (m + 1) * (m + 1)
    p40 = p39 + 6 * (m + 1)
    p41 = p40 + nc
    p42 = p41 + nc
    p43 = p42 + struck_size(m, nc)
    p44 = p43 + m
    p45 = p44 + nc
    p46 = p45 + nc
    p47 = p46 + reaction_problem_size(m, nc)
    return ContactScratch(
        start, integers_at(memory, p1, m), integers_at(memory, p2, m), p3, vector_at(memory, p4, m),
        matrix_at(memory, p5, nc, n), matrix_at(memory, p6, nc, n), matrix_at(memory, p7, nc, nc),
        vector_at(memory, p8, nc), vector_at(memory, p9, m), vector_at(memory, p10, n), vector_at(memory, p11, m),
        vector_at(memory, p12, n), matrix_at(memory, p13, m, n), matrix_at(memory, p14, m, n),
        matrix_at(memory, p15, m, m), vector_at(memory, p16, m), vector_at(memory, p17, m), vector_at(memory, p18, m),
        vector_at(memory, p19, m), vector_at(memory, p20, m), vector_at(memory, p21, m), vector_at(memory, p22, n),
        vector_at(memory, p23, n), p24, integers_at(memory, p25, nc), p26, integers_at(memory, p27, nc),
        vector_at(memory, p28, nc), vector_at(memory, p29, nc), vector_at(memory, p30, nc),
        matrix_at(memory, p31, nc, nc), integers_at(memory, p32, 1), integers_at(memory, p33, 1),
        integers_at(memory, p34, 1), integers_at(memory, p35, 1), matrix_at(memory, p36, n, m),
        matrix_at(memory, p37, m, m), matrix_at(memory, p38, m + 1, m + 1), matrix_at(memory, p39, 6, m + 1),
        integers_at(memory, p40, nc), integers_at(memory, p41, nc), p42, vector_at(memory, p43, m),
        integers_at(memory, p44, nc), vector_at(memory, p45, nc), p46, p47,
    )


@native_inline
def contact_scratch_size(m: Any, n: Any, nc: Any) -> Any:
    """Return the number of doubles of ContactScratch."""
    return (
        constraint_rows_size(m, n) + m + m + gap_terms_size(nc) + m + nc * n + nc * n + nc * nc + nc + m + n + m + n + m
        * n + m * n + m * m + m + m + m + m + m + m + n + n + contact_state_size(nc) + nc + impact_size() + nc + nc + nc
        + nc + nc * nc + 1 + 1 + 1 + 1 + n * m + m * m + (m + 1) * (m + 1) + 6 * (m + 1) + nc + nc + struck_size(m, nc)
        + m + nc + nc + reaction_problem_size(m, nc)
    )


class RecordTail(NamedTuple):
    """The end of the record of a row."""

    b: Any
    square: Any
    reach: Any
    remainder: Any
    end: int


@native_inline
def record_tail_at(memory: Any, start: Any) -> Any:
    """Return the RecordTail that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + 1
    p3 = p2 + 1
    p4 = p3 + 1
    return RecordTail(
        vector_at(memory, start, 1), vector_at(memory, p1, 1), vector_at(memory, p2, 1), vector_at(memory, p3, 1), p4,
    )


@native_inline
def record_tail_size() -> Any:
    """Return the number of doubles of RecordTail."""
    return (1 + 1 + 1 + 1)


class Record(NamedTuple):
    """Record of a row a with L^-1: the program of its rows writes it."""

    y: Any
    w: Any
    b: Any
    square: Any
    reach: Any
    remainder: Any
    end: int


@native_inline
def record_at(memory: Any, start: Any, columns: Any) -> Any:
    """Return the Record that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + columns
    p2 = p1 + columns
    p3 = p2 + 1
    p4 = p3 + 1
    p5 = p4 + 1
    p6 = p5 + 1
    return Record(
        vector_at(memory, start, columns), vector_at(memory, p1, columns), vector_at(memory, p2, 1),
        vector_at(memory, p3, 1), vector_at(memory, p4, 1), vector_at(memory, p5, 1), p6,
    )


@native_inline
def record_size(columns: Any) -> Any:
    """Return the number of doubles of Record."""
    return (columns + columns + 1 + 1 + 1 + 1)


class ResponseScratch(NamedTuple):
    """Scratch memory of rows that are solved by the factor of M, behind ContactScratch."""

    given: int
    found: int
    slip_left: Any
    slip: Any
    row: Any
    S: Any
    pivot: Any
    b: Any
    square: Any
    reach: Any
    owner: Any
    group_place: Any
    group_rows: Any
    group_width: Any
    group_constraint: Any
    group_root: Any
    group_next: Any
    slot: Any
    tail: Any
    loose: Any
    Y: Any
    W: Any
    number: Any
    column: Any
    mode: Any
    velocity: Any
    end: int


@native_inline
def response_scratch_at(
        memory: Any, start: Any, m: Any, n: Any, nq: Any, nc: Any, entries: Any, shared: Any, room: Any, most: Any,
) -> Any:
    """Return the ResponseScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + factor_terms_size(n, nq, entries, shared, room)
    p2 = p1 + solution_size(most + m, n)
    p3 = p2 + nc
    p4 = p3 + nc * 2
    p5 = p4 + m
    p6 = p5 + m * m
    p7 = p6 + m
    p8 = p7 + m
    p9 = p8 + m
    p10 = p9 + m
    p11 = p10 + n
    p12 = p11 + (nc + 1)
    p13 = p12 + (nc + 1)
    p14 = p13 + (nc + 1)
    p15 = p14 + (nc + 1)
    p16 = p15 + (nc + 1)
    p17 = p16 + (nc + 1)
    p18 = p17 + (nc + 1)
    p19 = p18 + m
    p20 = p19 + m
    p21 = p20 + m * n
    p22 = p21 + n * m
    p23 = p22 + n
    p24 = p23 + n
    p25 = p24 + 1
    p26 = p25 + m * 2
    return ResponseScratch(
        start, p1, vector_at(memory, p2, nc), matrix_at(memory, p3, nc, 2), integers_at(memory, p4, m),
        matrix_at(memory, p5, m, m), vector_at(memory, p6, m), vector_at(memory, p7, m), vector_at(memory, p8, m),
        vector_at(memory, p9, m), integers_at(memory, p10, n), integers_at(memory, p11, nc + 1),
        integers_at(memory, p12, nc + 1), integers_at(memory, p13, nc + 1), integers_at(memory, p14, nc + 1),
        integers_at(memory, p15, nc + 1), integers_at(memory, p16, nc + 1), integers_at(memory, p17, nc + 1),
        integers_at(memory, p18, m), integers_at(memory, p19, m), matrix_at(memory, p20, m, n),
        matrix_at(memory, p21, n, m), integers_at(memory, p22, n), integers_at(memory, p23, n),
        integers_at(memory, p24, 1), matrix_at(memory, p25, m, 2), p26,
    )


@native_inline
def response_scratch_size(m: Any, n: Any, nq: Any, nc: Any, entries: Any, shared: Any, room: Any, most: Any) -> Any:
    """Return the number of doubles of ResponseScratch."""
    return (
        factor_terms_size(n, nq, entries, shared, room) + solution_size(most + m, n) + nc + nc * 2 + m + m * m + m + m +
        m + m + n + (nc + 1) + (nc + 1) + (nc + 1) + (nc + 1) + (nc + 1) + (nc + 1) + (nc + 1) + m + m + m * n + n * m +
        n + n + 1 + m * 2
    )


class ModeGuards(NamedTuple):
    """Outputs of the guards of a compiled mode."""

    guards: Any
    slopes: Any
    digits: Any
    forces: Any
    whole: Any
    end: int


@native_inline
def mode_guards_at(memory: Any, start: Any, m: Any, n: Any, nq: Any, nc: Any) -> Any:
    """Return the ModeGuards that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + (2 * nc)
    p2 = p1 + (nq + n)
    p3 = p2 + 3
    p4 = p3 + m
    return ModeGuards(
        vector_at(memory, start, 2 * nc), vector_at(memory, p1, nq + n), vector_at(memory, p2, 3),
        vector_at(memory, p3, m), vector_at(memory, start, p4 - start), p4,
    )


@native_inline
def mode_guards_size(m: Any, n: Any, nq: Any, nc: Any) -> Any:
    """Return the number of doubles of ModeGuards."""
    return ((2 * nc) + (nq + n) + 3 + m)


class ModeResiduals(NamedTuple):
    """Outputs of the residuals of a compiled mode."""

    configuration: Any
    motion: Any
    end: int


@native_inline
def mode_residuals_at(memory: Any, start: Any) -> Any:
    """Return the ModeResiduals that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + 1
    return ModeResiduals(vector_at(memory, start, 1), vector_at(memory, p1, 1), p2)


@native_inline
def mode_residuals_size() -> Any:
    """Return the number of doubles of ModeResiduals."""
    return (1 + 1)


class ModeStep(NamedTuple):
    """Outputs of a Newton step of a compiled mode."""

    dependence: Any
    q: Any
    end: int


@native_inline
def mode_step_at(memory: Any, start: Any, nq: Any) -> Any:
    """Return the ModeStep that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + nq
    return ModeStep(vector_at(memory, start, 1), vector_at(memory, p1, nq), p2)


@native_inline
def mode_step_size(nq: Any) -> Any:
    """Return the number of doubles of ModeStep."""
    return (1 + nq)


class ModeProjected(NamedTuple):
    """Outputs of the projection of a compiled mode."""

    dependence: Any
    u: Any
    slips: Any
    end: int


@native_inline
def mode_projected_at(memory: Any, start: Any, n: Any, nc: Any) -> Any:
    """Return the ModeProjected that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + 1
    p2 = p1 + n
    p3 = p2 + nc * 2
    return ModeProjected(vector_at(memory, start, 1), vector_at(memory, p1, n), matrix_at(memory, p2, nc, 2), p3)


@native_inline
def mode_projected_size(n: Any, nc: Any) -> Any:
    """Return the number of doubles of ModeProjected."""
    return (1 + n + nc * 2)


class ModeScratch(NamedTuple):
    """Scratch memory of compiled modes, behind ResponseScratch."""

    given: Any
    found: int
    state: Any
    before: Any
    end: int


@native_inline
def mode_scratch_at(memory: Any, start: Any, m: Any, n: Any, nq: Any, nc: Any, inputs: Any) -> Any:
    """Return the ModeScratch that begins ``start`` doubles after the start of ``memory``."""
    p1 = start + (inputs + 3 * nc)
    p2 = p1 + mode_guards_size(m, n, nq, nc)
    p3 = p2 + (1 + nq + n)
    p4 = p3 + nq
    return ModeScratch(
        vector_at(memory, start, inputs + 3 * nc), p1, vector_at(memory, p2, 1 + nq + n), vector_at(memory, p3, nq), p4,
    )


@native_inline
def mode_scratch_size(m: Any, n: Any, nq: Any, nc: Any, inputs: Any) -> Any:
    """Return the number of doubles of ModeScratch."""
    return ((inputs + 3 * nc) + mode_guards_size(m, n, nq, nc) + (1 + nq + n) + nq)
