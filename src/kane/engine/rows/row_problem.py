"""The row problem: the forces f of active constraint rows, and the motion with these forces.

    M x + h = (A + F)^T f,   a = A x + r = 0,   or by rows   a = W f + b,   W = A M^-1 (A + F)^T,   b = r - A M^-1 h.

    level           x                        h                       r           f
    ACCELERATION    udot                     loads, velocity terms   remainder   forces [N, N m]
    VELOCITY        change of the speeds u   0                       A u + b     impulses [N s, N m s]

In: the state [t, q, u], the contact mode (status of each intermittent constraint), friction coefficients. Permanent
rows are active; of a sticking contact all rows are active, of a sliding one the normal row. A row of F holds the
kinetic friction per unit of the normal force. F is zero at the level of velocities.

Out: x, one force for each active row, and SOLVED, DEPENDENT or NO_SOLUTION. Redundant forces have the least norm in
each island. The same input gives the same bits.

Three solvers take the problem, the cheapest first:

1. ``tree_response`` calls a program compiled for the model and up to 9 rows. It refuses redundant rows whose forces
   matter.
2. ``islands`` eliminates S = W island by island, from records (y = L^-T a, w, b) with M = L^T D L. It refuses rows that
   are nearly dependent, rows that contradict each other, and forces on bodies so light that digits are lost.
3. ``mode_dynamics`` embeds the rows by QR factorization, which needs no inverse of M. It takes all remaining problems:
   M may be singular if R^T M R is not, as with massless links of a loop. Its accelerations are NaN at NO_SOLUTION.

The laws of unilateral contact (``laws/newton``, ``laws/interior_point``) take the same W and b as a ReactionProblem,
with the rows, the friction coefficient and the least normal force of each contact.

Source: Gillespie 2003, section 4; Featherstone 2008, Rigid Body Dynamics Algorithms, chapter 8.
"""

from __future__ import annotations

from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import native_inline
from kane.engine.memory.constraint_memory import ContactConstants, contact_constants_of
from kane.engine.memory.contact_codes import MOST, NONE, OPEN, SLIDING
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import (
    ContactBlock,
    ContactState,
    ContactTable,
    FactorTerms,
    ResponseScratch,
    factor_terms_at,
    response_scratch_at,
    solution_terms_at,
)

# Levels of the problem.
ACCELERATION, VELOCITY = range(2)
# Results of a solver: no forces to its accuracy; each force is determined; redundant forces of least norm.
NO_SOLUTION, SOLVED, DEPENDENT = range(3)
# Redundant friction is shared as if the bound of each contact were at least this ratio of the largest force.
LEAST_BOUND = 1e-6


class RowProblem(NamedTuple):
    """Records, groups and forces of the active rows, with the constants of the intermittent constraints.

    Attributes:
        block, table, state: see ContactConstants.
        given: FactorTerms, with the records of the active rows.
        found: the SolutionTerms as one array; ``udot`` and ``force`` are parts of it.
        slip_left, slip, row, S, pivot, b, square, reach, owner, group_place, group_rows, group_width, group_constraint,
            group_root, group_next, slot, tail, exchanges, loose, Y, W, number, column, mode, velocity, signals: see
            ResponseScratch.
        n, nq: numbers of speeds and coordinates.
    """

    block: ContactBlock
    table: ContactTable
    state: ContactState
    given: FactorTerms
    found: Vector
    udot: Vector
    force: Vector
    slip_left: Vector
    slip: Matrix
    row: Indices
    S: Matrix
    pivot: Vector
    b: Vector
    square: Vector
    reach: Vector
    owner: Indices
    group_place: Indices
    group_rows: Indices
    group_width: Indices
    group_constraint: Indices
    group_root: Indices
    group_next: Indices
    slot: Indices
    tail: Indices
    exchanges: Indices
    loose: Indices
    Y: Matrix
    W: Matrix
    number: Indices
    column: Indices
    mode: Indices
    velocity: Matrix
    signals: Vector
    n: int
    nq: int


@native_inline
def response_scratch_of(c: ContactConstants, work: Any) -> ResponseScratch:
    """Return the ResponseScratch of a model with these ContactConstants."""
    b, m, n, nq = c.block, c.head.rows, c.head.speeds, c.head.coordinates
    return response_scratch_at(work, b.scratch, m, n, nq, b.constraints, b.entries, b.shared, b.room, b.inputs)


@native_inline
def row_problem_of(constants: Any, work: Any) -> RowProblem:
    """Return the RowProblem of a call.

    A kernel that few calls reach makes its own records with this function: callers that pass them would have to store
    them in every call.
    """
    c = contact_constants_of(constants)
    m, n, nq, b = c.head.rows, c.head.speeds, c.head.coordinates, c.block
    s = response_scratch_of(c, work)
    given = factor_terms_at(work, s.given, n, nq, b.entries, b.shared, b.room)
    found = solution_terms_at(work, s.found, MOST + m, n)
    return RowProblem(
        b, c.table, c.state, given, found.whole, found.udot, found.force, s.slip_left, s.slip, s.row, s.S, s.pivot, s.b,
        s.square, s.reach, s.owner, s.group_place, s.group_rows, s.group_width, s.group_constraint, s.group_root,
        s.group_next, s.slot, s.tail, s.exchanges, s.loose, s.Y, s.W, s.number, s.column, s.mode, s.velocity,
        s.signals, n, nq,
    )  # fmt: skip


class ActiveRows(NamedTuple):
    """The active rows of a contact mode.

    Attributes:
        rows: number of active rows.
        slides: whether a contact slides with friction proportional to its normal force.
        rubs: whether friction without a normal force slides.
        key: number that identifies the model and its contact mode.
    """

    rows: int
    slides: bool
    rubs: bool
    key: int


@native_inline
def active_rows_of(table: ContactTable, state: ContactState, k: int) -> Any:
    """Return the first row of a constraint and the number of its active rows, normal row first."""
    status, normal, tangents = state.status[k], table.normal[k], table.tangents[k]
    first = normal if normal != NONE else table.tangent[k]
    normals = 1 if normal != NONE else 0
    if status == OPEN:
        return first, 0
    return first, normals if status == SLIDING else normals + tangents
