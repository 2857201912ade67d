"""The mode after a change: the present one, with flips of what fails, or what all laws at once ask for.

A mode is adopted where the conditions of ``mode`` hold, whoever has proposed it. Where there is more than one, that is
the first that is met on the way from the present one: with friction the next mode depends on the one before. Contacts
that do not feel each other are islands: each goes its way as it would without the others.

Source: Gillespie 2003, section 4 and Fig. 2; Glocker & Pfeiffer, Multibody Dynamics with Unilateral Contacts, 1996.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.hybrid.collisions import count_members, tie_groups
from kane.engine.hybrid.consistency import (
    DECIDED,
    EXACT,
    MOVING,
    SEARCHED,
    STILL,
    accelerates_by_response,
    contradicted,
    factor_rows,
    flip,
    force_scale,
    row_acceleration,
    try_mode,
    turn_left,
    worst,
)
from kane.engine.laws.generated_laws import coulomb_ratio
from kane.engine.laws.least_reactions import shorten
from kane.engine.laws.newton import ADOPTABLE, solve_complementarity
from kane.engine.linear.elimination import solve_square
from kane.engine.linear.vectors import is_finite, length
from kane.engine.memory.constraint_memory import contact_scratch_of
from kane.engine.memory.contact_codes import (
    NONE,
    OPEN,
    SLIDING,
    STICKING,
    THRESHOLDS,
)
from kane.engine.memory.views import reaction_problem_at
from kane.engine.rows.mode_dynamics import accelerate_reduced, in_force, reduce_rows
from kane.engine.rows.row_forces import find_forces

# What fails most in an island is flipped so often at most from the present mode; so often a candidate from the one that
# all laws at once ask for, whose reactions may be others where rows repeat others.
FLIPS = 4
# Directions of slip that begin are aimed this often, with differences of this angle and steps of no more than that.
AIMS, AIM_STEP, LONGEST = 12, 1e-6, 0.5
# Forces from here on are none to start from.
ENORMOUS = 1e20


@native_kernel
def search(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """The mode that the conditions hold in, from the present statuses on; whether there is one."""
    find_islands(c, i)
    if _flip_what_fails(a, c, i, inputs, constants, work, True):
        return True
    _ask_all_laws(a, c, i, inputs, constants, work)
    return bool(_flip_what_fails(a, c, i, inputs, constants, work, False))


@native_kernel
def find_islands(c: Any, i: Any) -> None:
    """Groups of what is undecided: what forces of one island do, no other one feels."""
    for k in range(c.block.constraints):
        i.group[k] = k if i.undecided[k] != DECIDED else NONE
        i.lost[k] = 1
    tie_groups(c, i)


@native_kernel
def _flip_what_fails(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any, present: bool) -> bool:
    """Flip in each island the candidate that fails most, again and again; whether a mode is met in which none does."""
    for attempt in range(FLIPS * (1 if present else c.block.constraints) + 1):
        find_accelerations(a, c, i, inputs, constants, work)
        if present and attempt == 0:
            for row in range(c.forces.size):
                i.present[row] = c.forces[row]
        held = contradicted(c, i)
        if held != NONE:
            i.blamed[0] = held
            for k in range(c.block.constraints):
                i.lost[k] = 1
            return False
        failed, flipped = _flip_in_islands(a, c, i, attempt, present)
        if failed == NONE and is_finite(c.udot):
            return True
        i.blamed[0] = max(failed, 0)
        if present and attempt == 0 and i.cause[0] == NONE:
            i.cause[0] = failed
        if not flipped:
            return False
    return False


@native_kernel
def _flip_in_islands(a: Any, c: Any, i: Any, attempt: int, present: bool) -> Any:
    """What fails most of all, NONE where nothing does; whether an island had a flip left for what fails most there."""
    failed, most, flipped, scale = NONE, 0.0, False, force_scale(c, a)
    for island in range(c.block.constraints):
        if i.group[island] != island:
            continue
        k, share, wanted = worst(c, i, a, island, scale)
        i.lost[island] = 1 if k != NONE else 0
        if k == NONE:
            continue
        if not share <= most:
            failed, most = k, share
        if attempt < FLIPS * (1 if present else count_members(c, i, island)):
            flip(c, i, k, wanted)
            flipped = True
    return failed, flipped


@native_kernel
def _ask_all_laws(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Statuses and directions of slip of the reactions that Signorini's and Coulomb's laws ask for all at once, in each
    island without a mode.

    What has to slip with its static friction then does so with its kinetic one, and all are asked again.
    """
    nc = c.block.constraints
    for k in range(nc):
        if i.group[k] != NONE and i.lost[i.group[k]] == 1 and has_block(c, i, k):
            c.state.status[k] = OPEN
    try_mode(c, a, inputs, constants, work)
    for island in range(nc):
        if i.group[island] != island or i.lost[island] == 0:
            continue
        m, blocks = _measure(c, i, island)
        p = reaction_problem_at(work, contact_scratch_of(a.head, nc, work).reactions, m, blocks)
        _load_blocks(a, c, i, p, island)
        for r in range(m):
            for s in range(m):
                p.W[r, s] = i.G[p.place[r], p.place[s]]
        _load_slips(c, i, p, island)
        for _ in range(blocks + 1):
            if solve_complementarity(p) <= ADOPTABLE:
                shorten(p)
            if not _loosen(c, i, p, island):
                break
        _read_statuses(c, i, p, island)


@native_inline
def has_block(c: Any, i: Any, k: int) -> bool:
    """Whether the reaction of what is undecided is unknown: not where friction of a given size slips."""
    return bool(i.undecided[k] == STILL or c.table.friction[k] != THRESHOLDS)


@native_kernel
def _measure(c: Any, i: Any, island: int) -> Any:
    """How many rows and blocks the problem of an island has."""
    m, blocks = 0, 0
    for k in range(c.block.constraints):
        if i.group[k] == island and has_block(c, i, k):
            blocks += 1
            m += 1 if c.table.friction[k] != THRESHOLDS else 0
            m += c.table.tangents[k] if i.undecided[k] == STILL else 0
    return m, blocks


@native_kernel
def _load_blocks(a: Any, c: Any, i: Any, p: Any, island: int) -> None:
    """Blocks with their bounds, forces to start from, accelerations without them; which rows they are of."""
    m, block = 0, 0
    for k in range(c.block.constraints):
        if i.group[k] != island or not has_block(c, i, k):
            continue
        pushes = 1 if c.table.friction[k] != THRESHOLDS else 0
        tangents = c.table.tangents[k] if i.undecided[k] == STILL else 0
        first = c.table.normal[k] if pushes == 1 else c.table.tangent[k]
        p.row[block], p.pushes[block] = m, pushes
        p.tangents[block] = tangents
        p.bound[block], p.least[block] = c.gaps.static[k], 0.0
        for r in range(pushes + tangents):
            p.place[m + r] = first + r
            p.f[m + r] = i.present[first + r] if abs(i.present[first + r]) < ENORMOUS else 0.0
            p.b[m + r], _ = row_acceleration(c, a, k, first + r)
        m += pushes + tangents
        block += 1


@native_kernel
def _load_slips(c: Any, i: Any, p: Any, island: int) -> None:
    """What slips rubs as it pushes: its friction into the column of its normal force."""
    block = 0
    for k in range(c.block.constraints):
        if i.group[k] != island or not has_block(c, i, k):
            continue
        column = p.row[block]
        block += 1
        if i.undecided[k] == MOVING:
            for t in range(c.table.tangents[k]):
                share = c.gaps.kinetic[k] * c.state.along[k, t]
                for r in range(p.f.size):
                    p.W[r, column] -= share * i.G[p.place[r], c.table.tangent[k] + t]


@native_kernel
def _loosen(c: Any, i: Any, p: Any, island: int) -> bool:
    """Whether anything slips with static friction that is more than kinetic, which it then has."""
    block, found = 0, False
    for k in range(c.block.constraints):
        if i.group[k] == island and has_block(c, i, k):
            kinetic = c.gaps.kinetic[k]
            if i.undecided[k] == STILL and p.bound[block] > kinetic and _slips(p, block):
                p.bound[block], found = kinetic, True
            block += 1
    return found


@native_kernel
def _slips(p: Any, block: int) -> bool:
    row, bound = p.row[block], p.bound[block]
    if p.pushes[block] == 1:
        if not p.shift[row] > 0.0:
            return False
        bound *= max(p.f[row], 0.0)
        row += 1
    return bool(coulomb_ratio(p.shift, row, p.tangents[block], bound) < 1.0 - SEARCHED)


@native_kernel
def _read_statuses(c: Any, i: Any, p: Any, island: int) -> None:
    """The mode of the reactions."""
    block = 0
    for k in range(c.block.constraints):
        if i.group[k] != island or not has_block(c, i, k):
            continue
        row, pushes = p.row[block], p.pushes[block]
        if pushes == 1 and not p.shift[row] > 0.0:
            c.state.status[k] = OPEN
        elif i.undecided[k] == MOVING:
            c.state.status[k] = SLIDING
        elif not _slips(p, block):
            c.state.status[k] = STICKING
        else:
            c.state.status[k] = SLIDING
            x = p.shift[row + pushes]
            y = p.shift[row + pushes + 1] if p.tangents[block] == 2 else 0.0
            c.state.along[k, 0], c.state.along[k, 1] = -x / length(x, y), -y / length(x, y)
        block += 1


@native_kernel
def find_accelerations(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Accelerations in the mode of the statuses; slip that begins in space is aimed where it goes on."""
    aimed = 0
    for k in range(c.block.constraints):
        if begins_in_space(c, i, k):
            i.aimed[aimed] = k
            i.angle[aimed] = math.atan2(c.state.along[k, 1], c.state.along[k, 0])
            aimed += 1
    if aimed == 0:
        try_mode(c, a, inputs, constants, work)
        return
    if accelerates_by_response(c, a, inputs, constants, work):
        _aim_slips(a, c, i, aimed, (False, 0, True), inputs, constants, work)
        return
    # Where rows repeat others, they are factored once: they are the same whatever the directions, and forces are shared
    # out when these are known.
    b = in_force(c, constants, work, False)
    rank = factor_rows(c, b)
    positive = reduce_rows(c, b, rank)
    for row in range(c.forces.size):
        c.forces[row] = 0.0
    accelerate_reduced(c, b, rank, positive)
    _aim_slips(b, c, i, aimed, (True, rank, positive), inputs, constants, work)
    find_forces(c, b, rank, accelerate_reduced(c, b, rank, positive))


@native_kernel
def _aim_slips(a: Any, c: Any, i: Any, aimed: int, rows: Any, inputs: Any, constants: Any, work: Any) -> None:
    """The angles of all slips that begin together by Newton's method, with differences for derivatives.

    Args:
        a, c, i, inputs, constants, work: as of ``search``; accelerations are those in the directions of now.
        aimed: how many begin.
        rows: whether rows in force are factored and reduced, their rank, and whether M~ is positive.
    """
    before = 0.0
    for aim in range(AIMS):
        largest = 0.0
        for r in range(aimed):
            i.turn[r] = turn_left(a, c, i.aimed[r])
            largest = max(largest, abs(i.turn[r]))
        if not largest > EXACT:
            return
        if aim > 0 and aimed == 1:
            # Of one slip the last step says the derivative.
            i.turns[0, 0] = -(i.turn[0] - before) / min(max(i.step[0], -LONGEST), LONGEST)
        for s in range(aimed if aim == 0 or aimed > 1 else 0):
            _aim(c, i.aimed[s], i.angle[s] + AIM_STEP)
            _try_again(c, a, rows, inputs, constants, work)
            for r in range(aimed):
                i.turns[r, s] = (turn_left(a, c, i.aimed[r]) - i.turn[r]) / AIM_STEP
            _aim(c, i.aimed[s], i.angle[s])
        before = i.turn[0]
        for r in range(aimed):
            i.step[r] = i.turn[r]
        solve_square(i.turns, aimed, c.pivots, i.step)
        for r in range(aimed):
            i.angle[r] -= min(max(i.step[r], -LONGEST), LONGEST)
            _aim(c, i.aimed[r], i.angle[r])
        _try_again(c, a, rows, inputs, constants, work)


@native_kernel
def _try_again(c: Any, a: Any, rows: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Accelerations with other directions of slip."""
    reduced, rank, positive = rows
    if reduced:
        accelerate_reduced(c, a, rank, positive)
    else:
        try_mode(c, a, inputs, constants, work)


@native_inline
def begins_in_space(c: Any, i: Any, k: int) -> bool:
    """Whether a candidate with two tangents begins to slip."""
    sliding = i.undecided[k] == STILL and c.state.status[k] == SLIDING
    return bool(sliding and c.table.tangents[k] == 2)


@native_kernel
def _aim(c: Any, k: int, angle: float) -> None:
    c.state.along[k, 0], c.state.along[k, 1] = math.cos(angle), math.sin(angle)
