"""Accelerations and forces in a mode whose rows are independent: by how the tree responds to forces of the rows.

The programs of ``kane.formulation.quantities.responses``, compiled for the model: one for the tree, one for the rows
of each candidate, one for those of a contact that slides, and one that solves for so many rows in force. Here is only
who is called; of many rows, or speeds, ``kane.engine.rows.islands`` takes the place of the last. Rows that are
nearly dependent make that lose digits; they are left to the embedding of ``kane.engine.rows.mode_dynamics``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.linear.vectors import length
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import (
    ALWAYS,
    CAPACITIES,
    FACTOR,
    MANY_SPEEDS,
    MOST,
    NONE,
    OPEN,
    SLIDING,
    SOLUTIONS,
    SUBSTITUTION,
)
from kane.engine.memory.views import (
    factor_terms_at,
    response_scratch_at,
    row_record_at,
    row_record_size,
    solution_terms_at,
)
from kane.engine.rows.islands import DETERMINED, UNSOLVED, note_group, solve_islands

# A row whose square, without what the rows before it share with it, is less than this share of itself is nearly
# dependent on them: the digits lost then would be missed. Less than the second share is rounding, by which solutions
# leave rows out: such a row repeats those before it, and its force is indeterminate.
INDEPENDENT, REPEATED = 1e-4, 1e-13
# What is left of the acceleration of such a row, over the largest that has been taken away, is rounding.
KEPT_TOO = 1e-9
# Forces that make accelerations so many times larger than there are without them, and than are left, have lost the
# digits in between: those on what is very light beside the rest.
AMPLIFIED = 1e4
LIMITS = (INDEPENDENT, REPEATED, AMPLIFIED, KEPT_TOO)
# Slip slower than this [m/s or rad/s] is none: rounding of speeds of 1 km/s.
SLOW = 1e-13
# Friction turns slip in space the faster the slower it is: no step from rest would be short enough. Of slip that has
# less than this [m/s or rad/s] along the direction that it had, friction has the direction as if it had this much; the
# further it has turned back beyond, as at stages of a step that goes past the end of the slip, the less it turns
# friction. Steps whose errors are allowed to be larger ask for more, in what changes in a run.
LEAST_BEGUN = 1e-9
# What is across, up to this share of what is missing along, is rounding and errors of steps: its square turns friction.
BLURRED = 1e-3


class TreeResponse(NamedTuple):
    """Constants of the candidates, and the ResponseScratch of a call.

    Attributes:
        block, table, state: see ContactConstants.
        given: FactorTerms.
        found: all numbers of SolutionTerms; ``udot`` and ``force`` are its arrays.
        slip_left, slip, row, S, pivot, b, square, reach, owner, group_place, group_rows, group_width, group_constraint,
            group_root, group_next, slot, tail, exchanges, loose, Y, W, number, column, mode, velocity: see
            ResponseScratch.
        n, nq: sizes.
    """

    block: Any
    table: Any
    state: Any
    given: Any
    found: Any
    udot: Any
    force: Any
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
    exchanges: Any
    loose: Any
    Y: Any
    W: Any
    number: Any
    column: Any
    mode: Any
    velocity: Any
    n: Any
    nq: Any


@native_inline
def response_scratch_of(c: Any, work: Any) -> Any:
    """Return the ResponseScratch of a model with these ContactConstants."""
    b, m, n, nq = c.block, c.head.rows, c.head.speeds, c.head.coordinates
    return response_scratch_at(work, b.scratch, m, n, nq, b.constraints, b.entries, b.shared, b.room, MOST)


@native_inline
def response_of(constants: Any, work: Any) -> Any:
    """The Quick of a call."""
    c = contact_constants_of(constants)
    m, n, nq, b = c.head.rows, c.head.speeds, c.head.coordinates, c.block
    s = response_scratch_of(c, work)
    given = factor_terms_at(work, s.given, n, nq, b.entries, b.shared, b.room)
    found = solution_terms_at(work, s.found, MOST + m, n)
    return TreeResponse(
        b, c.table, c.state, given, found.whole, found.udot, found.force, s.slip_left, s.slip, s.row, s.S, s.pivot, s.b,
        s.square, s.reach, s.owner, s.group_place, s.group_rows, s.group_width, s.group_constraint, s.group_root,
        s.group_next, s.slot, s.tail, s.exchanges, s.loose, s.Y, s.W, s.number, s.column, s.mode, s.velocity, n, nq,
    )  # fmt: skip


@native_inline
def call_block(k: Any, which: int, state: Any, inputs: Any, out: Any, constants: Any, work: Any) -> None:
    """Call a program of the block."""
    part = vector_at(constants, k.block.places[which], 0)
    call_program(k.block.addresses[which], state, inputs, part, out, vector_at(work, 0, 0))


@native_inline
def rows_in_force(k: Any) -> Any:
    """How many rows are in force, whether contacts slide with friction, whether friction slips without any, and a key
    of the model and its mode.
    """
    m, slides, sticks, key = k.block.permanent, False, False, k.block.addresses[FACTOR]
    for c in range(k.block.constraints):
        status = k.state.status[c]
        key = 3 * key + status
        if status != OPEN:
            normals, tangents = 1 if k.table.normal[c] != NONE else 0, k.table.tangents[c]
            m += normals if status == SLIDING else normals + tangents
            slides = slides or (status == SLIDING and normals == 1 and tangents > 0)
            sticks = sticks or (status == SLIDING and normals == 0)
    return m, slides, sticks, key


@native_kernel
def slip_direction(of: Any, k: int, tangents: int, vx: float, vy: float) -> Any:
    """Return the direction of slip of a sliding candidate of a ContactState with slip velocity (vx, vy).

    A candidate with one tangent keeps its direction, also after the slip has ended. With two tangents the direction is
    that of the slip velocity, whose part along the old direction counts at least as the speed ``begun``. A candidate
    without an old direction, because a caller set its status, gets the direction of the slip velocity.
    """
    x, y = of.along[k, 0], of.along[k, 1]
    if tangents == 2:
        along = vx * x + vy * y
        begun = of.begun[k]
        missing, ahead = max(begun - along, 0.0), max(along, begun)
        vx, vy = vx - along * x, vy - along * y
        square, blur = vx * vx + vy * vy, BLURRED * missing
        across = begun * square / ((begun + missing) * (square + blur * blur + SLOW * SLOW))
        vx, vy = across * vx + ahead * x, across * vy + ahead * y
    elif x != 0.0:
        return x, y
    speed = length(vx, vy)
    return (vx / speed, vy / speed) if speed > SLOW else (x, y)


@native_inline
def slip_left(x: Any, y: Any, vx: Any, vy: Any) -> Any:
    """What is left of a slip in space that had the direction x, y; none where it goes back more than across.

    Slow slip which a load turns goes across while friction follows, however little it goes on. That is no end of it.
    """
    return x * vx + y * vy + abs(x * vy - y * vx)


@native_inline
def accelerate_by_response(
    k: Any, counted: Any, state: Any, inputs: Any, constants: Any, work: Any, forces: bool
) -> int:
    """udot and the forces of the rows in force into ``found``, those behind the speeds; how they were found.

    UNSOLVED where rows are nearly dependent or contradict each other. Where they repeat each other the forces are those
    of least norm, in each island of rows, if they are asked for or make friction.

    Args:
        k: a Quick.
        counted: what ``rows_in_force`` says.
        state, inputs, constants, work: of the call.
        forces: whether they are asked for.
    """
    m, slides, sticks, key = counted
    which, capacity = solution_for(k, m, slides)
    few = which != NONE
    if not few and k.block.addresses[SUBSTITUTION] == 0:
        return UNSOLVED
    call_block(k, FACTOR, state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    if sticks:
        _load_friction(k, state, constants, work)
    load_records(k, state, constants, work)
    k.mode[0], found = 0, UNSOLVED
    if few and _solve_few(k, m, which, capacity, forces or slides, state, constants, work):
        found = DETERMINED
        k.mode[0] = 0 if slides or sticks else key
    elif k.block.addresses[SUBSTITUTION] != 0:
        found, _ = solve_islands(k, note_groups(k), forces or slides, LIMITS)
        call_block(k, SUBSTITUTION, state, k.given.whole, k.found, constants, work)
    return int(found)


@native_inline
def _solve_few(k: Any, m: int, which: int, capacity: int, unique: bool, state: Any, constants: Any, work: Any) -> bool:
    """Accelerations and forces by a compiled solution; whether they are good."""
    clear_records(k, m, capacity)
    call_block(k, which, state, k.given.whole, k.found, constants, work)
    good = solution_terms_at(k.found, 0, capacity, k.n).good[0] == m and m < k.n
    return bool(good or _is_good(k, m, capacity, unique))


@native_inline
def clear_records(k: Any, m: int, capacity: int) -> None:
    """Set the records of a compiled solution behind the m active rows to zero."""
    size = row_record_size(k.n)
    clear(vector_at(k.given.records, m * size, (capacity - m) * size))


@native_inline
def clear(x: Any) -> None:
    """Zero."""
    for i in range(x.size):
        x[i] = 0.0


@native_inline
def solution_for(k: Any, m: int, slides: bool) -> Any:
    """The solution for so many rows, NONE where there is none, and for how many it is."""
    kind, capacity = 2, CAPACITIES[2]
    if m <= CAPACITIES[0]:
        kind, capacity = 0, CAPACITIES[0]
    elif m <= CAPACITIES[1]:
        kind, capacity = 1, CAPACITIES[1]
    which = SOLUTIONS + 2 * kind + (1 if slides else 0)
    return (which if m <= capacity and k.block.addresses[which] != 0 else NONE), capacity


@native_inline
def _load_friction(k: Any, state: Any, constants: Any, work: Any) -> None:
    """Friction that needs no normal force into z / D, before rows read it."""
    for c in range(k.block.constraints):
        if slips(k, c) and k.table.normal[c] == NONE:
            out = k.given.friction
            _call_slide(k, c, state, out, constants, work)
            for i in range(k.n):
                k.given.scaled[i] = out[i]
            _keep_slip(k, c, out, k.n)


@native_inline
def load_records(k: Any, state: Any, constants: Any, work: Any) -> None:
    """The records of the rows in force, one after the other."""
    place, given = 0, k.given.whole
    if k.block.permanent > 0:
        call_block(k, ALWAYS, state, given, k.given.records, constants, work)
        place += _length(k, k.block.permanent, k.block.columns)
    for c in range(k.block.constraints):
        status, tangents, width = k.state.status[c], k.table.tangents[c], k.table.width[c]
        if status == OPEN:
            continue
        normals = 1 if k.table.normal[c] != NONE else 0
        if status != SLIDING or tangents == 0:
            out = vector_at(k.given.records, place, 0)
            part = vector_at(constants, k.table.answer_place[c], 0)
            call_program(k.table.answer[c], state, given, part, out, vector_at(work, 0, 0))
            place += _length(k, normals + tangents, width)
        elif normals == 1:
            _call_slide(k, c, state, vector_at(k.given.records, place, 0), constants, work)
            place += _length(k, 1, width)
            _keep_slip(k, c, k.given.records, place)


@native_inline
def _length(k: Any, rows: int, width: int) -> int:
    """Of the records of so many rows, with the list of their columns."""
    return int(rows * row_record_size(width) + (width if k.n > MANY_SPEEDS else 0))


@native_kernel
def note_groups(k: Any) -> int:
    """List the groups of rows whose records are loaded, see ``kane.engine.rows.islands``; return their number."""
    groups, place = 0, 0
    if k.block.permanent > 0:
        place = note_group(k, 0, NONE, place, k.block.permanent, k.block.columns)
        groups = 1
    for c in range(k.block.constraints):
        status = k.state.status[c]
        normals, tangents = 1 if k.table.normal[c] != NONE else 0, k.table.tangents[c]
        rows = normals if status == SLIDING else normals + tangents
        if status != OPEN and rows > 0:
            place = note_group(k, groups, c, place, rows, k.table.width[c])
            groups += 1
    return groups


@native_inline
def _keep_slip(k: Any, c: int, found: Any, place: int) -> None:
    """Keep the slip that is left and its direction, which lie in ``found`` from a place on."""
    k.slip_left[c], k.slip[c, 0], k.slip[c, 1] = found[place], found[place + 1], found[place + 2]


@native_inline
def slips(k: Any, c: int) -> bool:
    """Whether friction of a candidate slips."""
    return bool(k.state.status[c] == SLIDING and k.table.tangents[c] > 0)


@native_inline
def _call_slide(k: Any, c: int, state: Any, out: Any, constants: Any, work: Any) -> None:
    """Call the program of friction that slips, which reads the factor of M, the direction that there was, and begun."""
    to, part = k.given.along, vector_at(constants, k.table.slide_place[c], 0)
    to[0], to[1], to[2] = k.state.along[c, 0], k.state.along[c, 1], k.state.begun[c]
    call_program(k.table.slide[c], state, k.given.whole, part, out, vector_at(work, 0, 0))


@native_inline
def _is_good(k: Any, m: int, capacity: int, unique: bool) -> bool:
    """Whether rows were independent or, where it makes no difference, repeated others.

    Where rows leave nothing free, embedding gives zero where there is no motion, and no difference of large forces.
    """
    found, rank, largest, repeated = solution_terms_at(k.found, 0, capacity, k.n), 0, 0.0, 0.0
    for r in range(m):
        square = row_record_at(k.given.records, r * row_record_size(k.n), k.n).square[0]
        pivot, left = found.pivot[r], found.left[r] * found.left[r] / square
        if pivot > INDEPENDENT * square:
            rank += 1
            largest = max(largest, left)
        elif not abs(pivot) <= REPEATED * square or unique:
            return False
        else:
            repeated = max(repeated, left)
    if rank == k.n or not repeated <= KEPT_TOO * KEPT_TOO * largest or not math.isfinite(largest):
        return False
    pushed, others = 0.0, 0.0
    for i in range(k.n):
        total = 0.0
        for r in range(m):
            w = row_record_at(k.given.records, r * row_record_size(k.n), k.n).w
            total += abs(w[i] * found.force[r])
        pushed = max(pushed, total)
        others = max(others, max(abs(found.udot[i]), abs(k.given.scaled[i])))
    return bool(pushed <= AMPLIFIED * others)
