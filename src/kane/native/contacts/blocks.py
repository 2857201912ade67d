"""Where what lies in outputs and scratch of native functions of candidates, for Python and native code alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.blocks import constraint_places, scratch_places
from kane.native.contacts.header import CANDIDATES, CHANGING, ENTRIES, MOST, NUMBERS, ROOM, SCRATCH, SHARED
from kane.native.contacts.impact import IMPACT
from kane.native.header import COORDINATES, ROWS, SPEEDS


class ChangePlaces(NamedTuple):
    """Outputs of "change": q (nq) and u (n) behind it; how it ended (1), the candidate that caused it (1) and the kind
    of change (1) as ``kane.native.contacts.header`` numbers them; kinetic energy lost [J] (1); the impulse of each row
    (m), or what is left of it where rows are OPPOSED; direction of slip (2 nc) and status (nc) of each candidate.
    """

    q: int
    u: int
    status: int
    cause: int
    kind: int
    energy_lost: int
    impulses: int
    directions: int
    statuses: int
    end: int


def change_places(nc: int, m: int, n: int, nq: int) -> ChangePlaces:
    """The places for nc candidates, m rows, n speeds and nq coordinates."""
    x = nq + n
    statuses = x + 4 + m + 2 * nc
    return ChangePlaces(0, nq, x, x + 1, x + 2, x + 3, x + 4, x + 4 + m, statuses, statuses + nc)


# Integers of a group of rows in ``islands``.
ITEM = 6
# Integers of a block of a problem of ``complementarity``: its first row, whether that is a normal one, and how many
# tangents follow.
BLOCK = 3
FIRST, PUSHES, TANGENTS = range(BLOCK)


def complementarity_size(m: int, k: int) -> int:
    """How many doubles a problem of m rows in k blocks takes."""
    return 3 * m * m + 13 * m + (BLOCK + 2) * k


class ContactPlaces(NamedTuple):
    """Scratch of native code of candidates, behind that of constraints; m rows, n speeds, nc candidates.

    What the program "constraints" gives; the rows in force (m), and of every row whether it is (m); what "gaps" gives;
    forces of the rows (m). Of friction: columns F and Y of each sliding contact (n each), the equations K of their
    normal forces (nc, nc) and these (nc), l (m); h, friction of given size in it (n); remainders of the rows in force
    (m); udot (n). Of impulses: columns R^T J^T and M~^-1 R^T J^T of every row (m, n each), G (m, m), velocities now and
    when the change began (m each), impulses of the impacts (m), what is rounding of velocities, and what impulses leave
    of them (m each), impulses in all (m); the speeds before a projection and when
    the change began (n each); what changes in a run as it was (5 nc); what is undecided (nc); scratch of one impact
    (IMPACT) and of directions of slip (4 nc, and nc, nc); what is noted (4). Of redundant forces:
    equations (n, m), what adds up to nothing (m, m), second derivatives (m + 1, m + 1), and scratch (6, m + 1). Of
    impacts that meet: groups and islands (nc each), members of one (nc), velocities before, impulses and velocities
    of the compression (m each). Of the search: forces in the present mode (m), whether an island is without a mode
    (nc). Of both: a problem of all rows in blocks of a candidate each. For guards: responses of sliding contacts (nc).
    """

    every: int
    active: int
    counted: int
    gaps: int
    forces: int
    F: int
    Y: int
    K: int
    N: int
    l: int
    h: int
    remainder: int
    udot: int
    J: int
    Z: int
    G: int
    v: int
    start: int
    impulse: int
    rounding: int
    left: int
    total: int
    before: int
    first: int
    kept: int
    undecided: int
    body: int
    aimed: int
    note: int
    E: int
    B: int
    H: int
    path: int
    group: int
    island: int
    member: int
    struck: int
    present: int
    lost: int
    response: int
    complementarity: int
    end: int


def contact_places(head: Any, nc: Any) -> ContactPlaces:
    """The places for a model with this header and so many candidates."""
    m, n = head[ROWS], head[SPEEDS]
    every = scratch_places(head).end
    active = every + constraint_places(m, n).end
    counted, gaps = active + m, active + 2 * m
    forces = gaps + NUMBERS * nc
    F = forces + m
    Y = F + nc * n
    K = Y + nc * n
    N = K + nc * nc
    l = N + nc
    h = l + m
    remainder = h + n
    udot = remainder + m
    J = udot + n
    Z = J + m * n
    G = Z + m * n
    v = G + m * m
    start, impulse, rounding, left, total, before = v + m, v + 2 * m, v + 3 * m, v + 4 * m, v + 5 * m, v + 6 * m
    first = before + n
    kept = first + n
    undecided = kept + CHANGING * nc
    body = undecided + nc
    aimed = body + IMPACT
    note = aimed + (4 + nc) * nc
    E = note + 4
    B = E + n * m
    H = B + m * m
    path = H + (m + 1) * (m + 1)
    group = path + 6 * (m + 1)
    island, member, struck = group + nc, group + 2 * nc, group + 3 * nc
    present = struck + 3 * m
    lost = present + m
    response, complementarity = lost + nc, lost + 2 * nc
    end = complementarity + complementarity_size(m, nc)
    return ContactPlaces(
        every, active, counted, gaps, forces, F, Y, K, N, l, h, remainder, udot, J, Z, G, v, start, impulse,
        rounding, left, total, before, first, kept, undecided, body, aimed, note, E, B, H, path, group, island,
        member, struck, present, lost, response, complementarity, end,
    )  # fmt: skip


# Behind y and w of a row in its record: b, the square y^T D^-1 y, the largest acceleration that its force can make, and
# the remainder.
B, SQUARE, REACH, REMAINDER = range(4)


class AnswerPlaces(NamedTuple):
    """What the program "factor" gives, and what programs of rows and solutions are given behind it: n speeds, nq
    coordinates.

    L below its diagonal by rows, without what is zero in every state; 1 / D, z / D and z (n each); dq/dt (nq); what
    rows share. The direction of slip that a candidate had (2). The records of rows, and room for what friction makes of
    z / D, with the slip and its direction (n + 3).
    """

    L: int
    inverse: int
    scaled: int
    z: int
    rates: int
    along: int
    records: int
    friction: int
    end: int


def record_size(columns: Any) -> Any:
    """How many numbers the record of a row has."""
    return 2 * columns + 4


def answer_places(block: Any, n: Any, nq: Any) -> AnswerPlaces:
    """The places for a model with this block, n speeds and nq coordinates."""
    inverse = block[ENTRIES]
    rates = inverse + 3 * n
    along = rates + nq + block[SHARED]
    records = along + 3
    friction = records + block[ROOM]
    return AnswerPlaces(0, inverse, inverse + n, inverse + 2 * n, rates, along, records, friction, friction + n + 3)


class SolutionPlaces(NamedTuple):
    """Outputs of a solution for m rows: udot (n), the forces (m); how many rows are independent, or -1 (1); the
    diagonal of S when it was divided by, and what was then left of b (m each).
    """

    force: int
    good: int
    pivot: int
    left: int
    end: int


def solution_places(m: int, n: int) -> SolutionPlaces:
    """The places for m rows and n speeds."""
    return SolutionPlaces(n, n + m, n + m + 1, n + 2 * m + 1, n + 3 * m + 1)


class QuickPlaces(NamedTuple):
    """Scratch of ``kane.native.contacts.quick``, behind that of ``ContactPlaces``.

    What solutions are given; what they give; what is left of the slip of each candidate,
    and the direction that it has (3 nc); the rows in force
    (m); what ``kane.native.contacts.islands`` has: S (m, m), inverse pivots, b, squares and reach of rows (m each), the
    owner of each column (n), and six integers and the first row of each candidate and of the permanent rows; where the
    record of each row has what is behind y and w (m), and which rows repeat others (m); y and w of the rows of an
    island by its columns (m, n and n, m); the number of each column in its island, and the columns of one (n each).
    The key of the mode whose records are there and were solved for, zero where there are none (1); of each row the
    velocity and what its rounding is compared with (2 m).
    """

    given: int
    found: int
    slip: int
    row: int
    S: int
    rows: int
    owner: int
    items: int
    slot: int
    tail: int
    packed: int
    number: int
    mode: int
    velocity: int
    end: int


def quick_places(head: Any, block: Any) -> QuickPlaces:
    """The places for a model with this header and block, which says where they begin."""
    n, m, nc, given = head[SPEEDS], head[ROWS], block[CANDIDATES], block[SCRATCH]
    found = given + answer_places(block, n, head[COORDINATES]).end
    slip = found + solution_places(MOST, n).end + m
    row = slip + 3 * nc
    S = row + m
    rows = S + m * m
    owner = rows + 4 * m
    items = owner + n
    slot = items + ITEM * (nc + 1)
    tail = slot + nc + 1
    packed = tail + 2 * m
    number = packed + 2 * m * n
    mode = number + 2 * n
    return QuickPlaces(
        given, found, slip, row, S, rows, owner, items, slot, tail, packed, number, mode, mode + 1, mode + 1 + 2 * m
    )  # fmt: skip
