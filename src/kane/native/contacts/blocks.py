"""Where what lies in outputs and scratch of native functions of candidates, for Python and native code alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.blocks import constraint_places, scratch_places
from kane.native.contacts.header import MOST, NUMBERS
from kane.native.header import COORDINATES, ROWS, SPEEDS


class ChangePlaces(NamedTuple):
    """Outputs of "change": q (nq) and u (n) behind it; how it ended (1), the candidate that caused it (1) and the kind
    of change (1) as ``kane.native.contacts.header`` numbers them; kinetic energy lost [J] (1); the impulse of each row
    (m), or what is left of it where rows are OPPOSED; the status of each candidate (nc).
    """

    q: int
    u: int
    status: int
    cause: int
    kind: int
    energy_lost: int
    impulses: int
    statuses: int
    end: int


def change_places(nc: int, m: int, n: int, nq: int) -> ChangePlaces:
    """The places for nc candidates, m rows, n speeds and nq coordinates."""
    x = nq + n
    return ChangePlaces(0, nq, x, x + 1, x + 2, x + 3, x + 4, x + 4 + m, x + 4 + m + nc)


class ContactPlaces(NamedTuple):
    """Scratch of native code of candidates, behind that of constraints; m rows, n speeds, nc candidates.

    What the program "constraints" gives; the rows in force (m), and of every row whether it is (m); what "gaps" gives;
    forces of the rows (m). Of friction: columns F and Y of each sliding contact (n each), the equations K of their
    normal forces (nc, nc) and these (nc), l (m); h, friction of given size in it (n); remainders of the rows in force
    (m); udot (n). Of impulses: columns R^T J^T and M~^-1 R^T J^T of every row (m, n each), G (m, m), velocities now and
    when the change began (m each), impulses of the impacts and in all (m each); the speeds before a projection and when
    the change began (n each); what changes in a run as it was (4 nc); what is undecided (nc); scratch of one impact
    (24) and of directions of slip (4 nc, and nc, nc); what is noted (3). Of redundant forces:
    equations (n, m), what adds up to nothing (m, m), second derivatives (m + 1, m + 1), and scratch (6, m + 1).
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
    end: int


def contact_places(head: Any, nc: Any) -> ContactPlaces:
    """The places for a model with this header and so many candidates."""
    m, n = head[ROWS], head[SPEEDS]
    every = scratch_places(head).end
    active = every + constraint_places(m, n).end
    counted = active + m
    gaps = counted + m
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
    start = v + m
    impulse = start + m
    total = impulse + m
    before = total + m
    first = before + n
    kept = first + n
    undecided = kept + 4 * nc
    body = undecided + nc
    aimed = body + 24
    note = aimed + (4 + nc) * nc
    E = note + 3
    B = E + n * m
    H = B + m * m
    path = H + (m + 1) * (m + 1)
    end = path + 6 * (m + 1)
    return ContactPlaces(
        every, active, counted, gaps, forces, F, Y, K, N, l, h, remainder, udot, J, Z, G, v, start, impulse, total,
        before, first, kept, undecided, body, aimed, note, E, B, H, path, end,
    )  # fmt: skip


class AnswerPlaces(NamedTuple):
    """What the program "factor" gives, and what solutions are given behind it: n speeds, nq coordinates.

    L below its diagonal by rows (n (n - 1) / 2), 1 / D and z (n each); dq/dt (nq). Of MOST rows the remainders, x and y
    (n each).
    """

    L: int
    inverse: int
    z: int
    rates: int
    remainder: int
    x: int
    y: int
    end: int


def answer_places(n: int, nq: int) -> AnswerPlaces:
    """The places for n speeds and nq coordinates."""
    inverse = n * (n - 1) // 2
    rates = inverse + 2 * n
    x = rates + nq + MOST
    return AnswerPlaces(0, inverse, inverse + n, rates, rates + nq, x, x + MOST * n, x + 2 * MOST * n)


class SolutionPlaces(NamedTuple):
    """Outputs of a solution for m rows: udot (n), the forces (m); the diagonal of S when it was divided by, and before
    (m each); what is left of the accelerations of the rows (m); what the forces make of v in udot = L^-1 v (n).
    """

    force: int
    pivot: int
    square: int
    left: int
    pushed: int
    end: int


def solution_places(m: int, n: int) -> SolutionPlaces:
    """The places for m rows and n speeds."""
    return SolutionPlaces(n, n + m, n + 2 * m, n + 3 * m, n + 4 * m, 2 * n + 4 * m)


class QuickPlaces(NamedTuple):
    """Scratch of ``kane.native.contacts.quick``, behind that of ``ContactPlaces``.

    What solutions are given, and behind it room for what the program of the rows of one candidate gives: of each y (n),
    then their remainders, A u + b, and kinetic friction (1). What solutions give. The rows in force (MOST).
    """

    given: int
    found: int
    row: int
    end: int


def quick_places(head: Any, nc: Any) -> QuickPlaces:
    """The places for a model with this header and so many candidates."""
    m, n = head[ROWS], head[SPEEDS]
    given = contact_places(head, nc).end
    found = given + answer_places(n, head[COORDINATES]).end + m * (n + 2) + 1
    row = found + solution_places(MOST, n).end
    return QuickPlaces(given, found, row, row + MOST)
