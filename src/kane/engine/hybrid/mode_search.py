"""Search for a consistent contact mode, starting from the statuses that the velocities allow.

1. Flip the status with the largest violation in each island, at most FLIPS times.
2. In an island without a consistent mode, solve the complementarity problem of all its undecided constraints; read the
   mode from its reactions, and flip violated statuses again.

A mode is adopted only if the conditions of ``consistency`` hold. With friction several modes can be consistent. The
search then returns the first one on its way from the present mode. Islands are groups of constraints that are not
coupled by forces. Each island is searched as if it were alone.

Source: Gillespie 2003, section 4 and Fig. 2; Glocker & Pfeiffer, Multibody Dynamics with Unilateral Contacts, 1996.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.hybrid.collisions import count_members, merge_coupled_groups
from kane.engine.hybrid.consistency import (
    DECIDED,
    EXACT,
    RESTING,
    SEARCHED,
    SLIPPING,
    factor_active_rows,
    find_contradicted,
    find_worst_violation,
    flip_status,
    force_scale,
    row_acceleration,
    try_mode,
    try_tree_response,
    turning_angle,
)
from kane.engine.laws.generated_laws import coulomb_ratio
from kane.engine.laws.least_reactions import shorten
from kane.engine.laws.newton import ADOPTABLE, solve_complementarity
from kane.engine.linear.elimination import solve_square
from kane.engine.linear.vectors import is_finite, length
from kane.engine.memory.constraint_memory import contact_scratch_of
from kane.engine.memory.contact_codes import NONE, OPEN, SLIDING, STICKING, THRESHOLDS
from kane.engine.memory.views import ReactionProblem, reaction_problem_at
from kane.engine.rows.embedding import Arrays
from kane.engine.rows.impulses import Impulses
from kane.engine.rows.mode_dynamics import Contacts, accelerate_reduced, active_arrays, reduce_rows
from kane.engine.rows.row_forces import find_forces
from kane.engine.rows.row_problem import ACCELERATION

# Largest number of flips in an island from the present mode. From the mode of the reactions it is FLIPS for each
# member, because the accelerations of redundant rows allow other reactions.
FLIPS = 4
# Newton iteration for the directions of slips that begin: largest number of steps, difference for derivatives [rad],
# and longest step [rad].
AIMS, AIM_STEP, LONGEST = 12, 1e-6, 0.5
# Forces from this magnitude on are not used as start values [N].
ENORMOUS = 1e20


@native_kernel
def search_mode(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> bool:
    """Search for a consistent contact mode from the present statuses; return whether one was found."""
    _find_undecided_islands(c, i)
    if _flip_violated(a, c, i, inputs, constants, work, True):
        return True
    _solve_all_laws(a, c, i, inputs, constants, work)
    return bool(_flip_violated(a, c, i, inputs, constants, work, False))


@native_kernel
def _find_undecided_islands(c: Contacts, i: Impulses) -> None:
    """Number the islands of undecided constraints, which are not coupled by forces."""
    for k in range(c.block.constraints):
        i.group[k] = k if i.undecided[k] != DECIDED else NONE
        i.lost[k] = 1
    merge_coupled_groups(c, i)


@native_kernel
def _flip_violated(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any, present: bool) -> bool:
    """Flip the status with the largest violation in each island until the mode is consistent; return whether it is.

    Args:
        a, c, i, inputs, constants, work: of the call.
        present: whether the flips start from the present mode; else from the mode of the reactions.
    """
    for attempt in range(FLIPS * (1 if present else c.block.constraints) + 1):
        _find_accelerations(a, c, i, inputs, constants, work)
        if present and attempt == 0:
            for row in range(c.forces.size):
                i.present[row] = c.forces[row]
        contradicted = find_contradicted(c, i)
        if contradicted != NONE:
            i.blamed[0] = contradicted
            for k in range(c.block.constraints):
                i.lost[k] = 1
            return False
        violated, flipped = _flip_in_islands(a, c, i, attempt, present)
        if violated == NONE and is_finite(c.udot):
            return True
        i.blamed[0] = max(violated, 0)
        if present and attempt == 0 and i.cause[0] == NONE:
            i.cause[0] = violated
        if not flipped:
            return False
    return False


@native_kernel
def _flip_in_islands(a: Arrays, c: Contacts, i: Impulses, attempt: int, present: bool) -> tuple[int, bool]:
    """Flip one status in each violated island that has flips left.

    Returns:
        The constraint with the largest violation of all, or NONE; and whether a status was flipped.
    """
    violated, most, flipped, scale = NONE, 0.0, False, force_scale(c, a)
    for island in range(c.block.constraints):
        if i.group[island] != island:
            continue
        k, violation, wanted = find_worst_violation(c, i, a, island, scale)
        i.lost[island] = 1 if k != NONE else 0
        if k == NONE:
            continue
        if not violation <= most:
            violated, most = k, violation
        if attempt < FLIPS * (1 if present else count_members(c, i, island)):
            flip_status(c, i, k, wanted)
            flipped = True
    return violated, flipped


@native_kernel
def _solve_all_laws(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> None:
    """Set statuses and directions of slip from reactions that satisfy all contact laws, in islands without a mode.

    The problem is first solved with static friction. Contacts that have to slip then get kinetic friction, and the
    problem is solved again.
    """
    nc = c.block.constraints
    for k in range(nc):
        if i.group[k] != NONE and i.lost[i.group[k]] == 1 and _has_unknown_reaction(c, i, k):
            c.state.status[k] = OPEN
    try_mode(c, a, inputs, constants, work)
    for island in range(nc):
        if i.group[island] != island or i.lost[island] == 0:
            continue
        m, blocks = 0, 0
        for k in range(nc):
            if i.group[k] == island and _has_unknown_reaction(c, i, k):
                pushes, tangents = _size_of_block(c, i, k)
                m += pushes + tangents
                blocks += 1
        p = reaction_problem_at(work, contact_scratch_of(a.head, nc, work).reactions, m, blocks)
        _load_blocks(a, c, i, p, island)
        _load_sliding_friction(c, i, p, island)
        for _ in range(blocks + 1):
            if solve_complementarity(p) <= ADOPTABLE:
                shorten(p)
            if not _reduce_to_kinetic(c, i, p, island):
                break
        _read_statuses(c, i, p, island)


@native_inline
def _has_unknown_reaction(c: Contacts, i: Impulses, k: int) -> bool:
    """Check whether the reaction of an undecided constraint is unknown; sliding friction of a given size is known."""
    return bool(i.undecided[k] == RESTING or c.table.friction[k] != THRESHOLDS)


@native_inline
def _size_of_block(c: Contacts, i: Impulses, k: int) -> tuple[int, int]:
    """Return the numbers of normal and tangential unknowns of a constraint."""
    return 1 if c.table.friction[k] != THRESHOLDS else 0, c.table.tangents[k] if i.undecided[k] == RESTING else 0


@native_kernel
def _load_blocks(a: Arrays, c: Contacts, i: Impulses, p: ReactionProblem, island: int) -> None:
    """Load the ReactionProblem of an island: rows, bounds, start values f, accelerations b without reactions, and W."""
    m, block = 0, 0
    for k in range(c.block.constraints):
        if i.group[k] != island or not _has_unknown_reaction(c, i, k):
            continue
        pushes, tangents = _size_of_block(c, i, k)
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
    for r in range(m):
        for s in range(m):
            p.W[r, s] = i.G[p.place[r], p.place[s]]


@native_kernel
def _load_sliding_friction(c: Contacts, i: Impulses, p: ReactionProblem, island: int) -> None:
    """Add the friction of slipping contacts to the columns of their normal forces in W."""
    block = 0
    for k in range(c.block.constraints):
        if i.group[k] != island or not _has_unknown_reaction(c, i, k):
            continue
        column = p.row[block]
        block += 1
        if i.undecided[k] == SLIPPING:
            for t in range(c.table.tangents[k]):
                ratio = c.gaps.kinetic[k] * c.state.along[k, t]
                for r in range(p.f.size):
                    p.W[r, column] -= ratio * i.G[p.place[r], c.table.tangent[k] + t]


@native_kernel
def _reduce_to_kinetic(c: Contacts, i: Impulses, p: ReactionProblem, island: int) -> bool:
    """Reduce the friction bound of each block that slips with static friction; return whether there is one."""
    block, found = 0, False
    for k in range(c.block.constraints):
        if i.group[k] == island and _has_unknown_reaction(c, i, k):
            kinetic = c.gaps.kinetic[k]
            if i.undecided[k] == RESTING and p.bound[block] > kinetic and _is_on_cone(p, block):
                p.bound[block], found = kinetic, True
            block += 1
    return found


@native_kernel
def _is_on_cone(p: ReactionProblem, block: int) -> bool:
    """Check whether a block pushes, or has no normal force, and its friction is at the bound: it slips."""
    row, bound = p.row[block], p.bound[block]
    if p.pushes[block] == 1:
        if not p.shift[row] > 0.0:
            return False
        bound *= max(p.f[row], 0.0)
        row += 1
    return bool(coulomb_ratio(p.shift, row, p.tangents[block], bound) < 1.0 - SEARCHED)


@native_kernel
def _read_statuses(c: Contacts, i: Impulses, p: ReactionProblem, island: int) -> None:
    """Set the statuses and directions of slip of an island from the reactions."""
    block = 0
    for k in range(c.block.constraints):
        if i.group[k] != island or not _has_unknown_reaction(c, i, k):
            continue
        row, pushes = p.row[block], p.pushes[block]
        if pushes == 1 and not p.shift[row] > 0.0:
            c.state.status[k] = OPEN
        elif i.undecided[k] == SLIPPING:
            c.state.status[k] = SLIDING
        elif not _is_on_cone(p, block):
            c.state.status[k] = STICKING
        else:
            c.state.status[k] = SLIDING
            x = p.shift[row + pushes]
            y = p.shift[row + pushes + 1] if p.tangents[block] == 2 else 0.0
            c.state.along[k, 0], c.state.along[k, 1] = -x / length(x, y), -y / length(x, y)
        block += 1


@native_kernel
def _find_accelerations(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> None:
    """Compute accelerations in the mode of the statuses.

    A slip that begins with two tangents gets the direction of its acceleration, which depends on this direction.
    """
    aimed = 0
    for k in range(c.block.constraints):
        if i.undecided[k] == RESTING and c.state.status[k] == SLIDING and c.table.tangents[k] == 2:
            i.aimed[aimed] = k
            i.angle[aimed] = math.atan2(c.state.along[k, 1], c.state.along[k, 0])
            aimed += 1
    if aimed == 0:
        try_mode(c, a, inputs, constants, work)
        return
    if try_tree_response(c, a, inputs, constants, work):
        _aim_slips(a, c, i, aimed, (False, 0, True), inputs, constants, work)
        return
    # Redundant rows are factored once, because they do not depend on the directions. Their forces are found at the end.
    b = active_arrays(c, constants, work, False)
    rank = factor_active_rows(c, b)
    positive = reduce_rows(c, b, rank, ACCELERATION)
    for row in range(c.forces.size):
        c.forces[row] = 0.0
    accelerate_reduced(c, b, rank, positive)
    _aim_slips(b, c, i, aimed, (True, rank, positive), inputs, constants, work)
    find_forces(c, b, rank, accelerate_reduced(c, b, rank, positive))


@native_kernel
def _aim_slips(
    a: Arrays,
    c: Contacts,
    i: Impulses,
    aimed: int,
    rows: tuple[bool, int, bool],
    inputs: Any,
    constants: Any,
    work: Any,
) -> None:
    """Compute the angles of all slips that begin together by Newton's method with finite differences.

    Args:
        a, c, i, inputs, constants, work: of the call, with the accelerations for the present directions.
        aimed: number of these slips.
        rows: whether the active rows are factored and reduced, their rank, and whether M~ is positive.
    """
    before = 0.0
    for aim in range(AIMS):
        largest = 0.0
        for r in range(aimed):
            i.turn[r] = turning_angle(a, c, i.aimed[r])
            largest = max(largest, abs(i.turn[r]))
        if not largest > EXACT:
            return
        if aim > 0 and aimed == 1:
            # The secant through the last step gives the derivative of a single angle.
            i.turns[0, 0] = -(i.turn[0] - before) / min(max(i.step[0], -LONGEST), LONGEST)
        for s in range(aimed if aim == 0 or aimed > 1 else 0):
            _set_direction(c, i.aimed[s], i.angle[s] + AIM_STEP)
            _try_directions(c, a, rows, inputs, constants, work)
            for r in range(aimed):
                i.turns[r, s] = (turning_angle(a, c, i.aimed[r]) - i.turn[r]) / AIM_STEP
            _set_direction(c, i.aimed[s], i.angle[s])
        before = i.turn[0]
        for r in range(aimed):
            i.step[r] = i.turn[r]
        solve_square(i.turns, aimed, c.pivots, i.step)
        for r in range(aimed):
            i.angle[r] -= min(max(i.step[r], -LONGEST), LONGEST)
            _set_direction(c, i.aimed[r], i.angle[r])
        _try_directions(c, a, rows, inputs, constants, work)


@native_kernel
def _try_directions(c: Contacts, a: Arrays, rows: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Compute accelerations with other directions of slip; ``rows`` is that of ``_aim_slips``."""
    reduced, rank, positive = rows
    if reduced:
        accelerate_reduced(c, a, rank, positive)
    else:
        try_mode(c, a, inputs, constants, work)


@native_kernel
def _set_direction(c: Contacts, k: int, angle: float) -> None:
    """Set the direction of slip of constraint k from its angle [rad]."""
    c.state.along[k, 0], c.state.along[k, 1] = math.cos(angle), math.sin(angle)
