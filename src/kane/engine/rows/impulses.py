"""Impulses of contacts at one instant: contacts that touch, their velocities and responses, and one impact.

In: velocities v = A u + b of all rows and their response G = A M^-1 A^T. Out: impulses [N s, N m s], and the velocities
after an impact, v + G p.

Source: Gillespie 2003, section 4; Djerassi, Collision with friction, Multibody Syst. Dyn. 21, 2009.
"""

from __future__ import annotations

import math
from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.impact import DONE, IMMOVABLE, strike
from kane.engine.laws.slip import SLOW
from kane.engine.memory.constraint_memory import contact_scratch_of
from kane.engine.memory.contact_codes import (
    ADOPTED,
    CONTRADICTED,
    COULOMB,
    ENDLESS_IMPACTS,
    ENERGY_GAINED,
    NEWTON,
    NONE,
    OPEN,
    THRESHOLDS,
)
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import ContactState, Impact, contact_state_at, impact_at
from kane.engine.rows.contact_arrays import Contacts
from kane.engine.rows.embedding import Arrays
from kane.engine.rows.tree_response import REDUNDANT

# Gaps below this are closed [m or rad].
TOUCHING = 1e-11
# Velocities of rows below this ratio of the sum of their terms are rounding error.
VELOCITY_ROUNDING = 1e-12
# Ratio of a redundant row that elimination does not detect.
UNSEEN = math.sqrt(REDUNDANT)


class Impulses(NamedTuple):
    """Scratch memory of a transition.

    Attributes:
        J, Z, G, v, start, impulse, rounding, left, total, before, first, undecided, aimed, angle, turn, step, turns,
            cause, blamed, halted, jammed, group, island, present, lost, residual, wanted: see ContactScratch. J and Z
            are written if a bilateral constraint is active.
        kept: ContactState at the start of the transition.
        impact: Impact.
    """

    J: Matrix
    Z: Matrix
    G: Matrix
    v: Vector
    start: Vector
    impulse: Vector
    rounding: Vector
    left: Vector
    total: Vector
    before: Vector
    first: Vector
    undecided: Indices
    aimed: Indices
    angle: Vector
    turn: Vector
    step: Vector
    turns: Matrix
    cause: Indices
    blamed: Indices
    halted: Indices
    jammed: Indices
    group: Indices
    island: Indices
    present: Vector
    lost: Indices
    residual: Vector
    wanted: Vector
    kept: ContactState
    impact: Impact


@native_inline
def impulses_of(a: Arrays, c: Contacts, work: Any) -> Impulses:
    """Return the Impulses of a call."""
    nc = c.block.constraints
    s = contact_scratch_of(a.head, nc, work)
    return Impulses(
        s.J, s.Z, s.G, s.v, s.start, s.impulse, s.rounding, s.left, s.total, s.before, s.first, s.undecided, s.aimed,
        s.angle, s.turn, s.step, s.turns, s.cause, s.blamed, s.halted, s.jammed, s.group, s.island, s.present, s.lost,
        s.residual, s.wanted, contact_state_at(work, s.kept, nc), impact_at(work, s.impact),
    )  # fmt: skip


@native_inline
def touches(c: Contacts, k: int) -> bool:
    """Check whether a unilateral constraint is closed, and within the ends of its features."""
    if c.table.normal[k] == NONE or c.table.bilateral[k] == 1:
        return False
    if c.table.ended[k] == 1 and c.gaps.off[k] > 0.0:
        return False
    return bool(c.state.status[k] != OPEN or c.gaps.gap[k] <= TOUCHING)


@native_inline
def rounding_of(c: Contacts, k: int, row: int, u: Vector) -> float:
    """Return the rounding error of the velocity of a row of a constraint, with speeds u.

    The normal row of an open contact may repeat active rows. Its rounding error is UNSEEN, which elimination does not
    detect.
    """
    total, share = 0.0, VELOCITY_ROUNDING
    if row == c.table.normal[k] and c.state.armed[k] == 0:
        share = UNSEEN if c.gaps.gap[k] >= -TOUCHING else VELOCITY_ROUNDING
    for j in range(c.table.first_column[k], c.table.last_column[k]):
        total += abs(c.all_rows.A[row, j] * u[j])
    return float(SLOW + share * total)


@native_kernel
def load_rounding(c: Contacts, i: Impulses) -> None:
    """Compute the rounding errors of the velocities of the constraints that respond."""
    for k in range(c.block.constraints):
        if responds(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                i.rounding[row] = rounding_of(c, k, row, i.first)


@native_kernel
def load_velocities(c: Contacts, i: Impulses) -> None:
    """Copy A u + b of all rows from the outputs of the program "constraints"."""
    for row in range(i.v.size):
        i.v[row] = c.all_rows.motion[row]


@native_inline
def responds(c: Contacts, k: int) -> bool:
    """Check whether impulses may act at a constraint: it touches, or has friction without a normal force."""
    return bool(touches(c, k) or c.table.friction[k] == THRESHOLDS)


@native_inline
def rows_of(c: Contacts, k: int) -> Any:
    """Return the first row of a constraint, and the row behind its last row."""
    tangent, normal = c.table.tangent[k], c.table.normal[k]
    tangents = c.table.tangents[k]
    return (tangent, tangent + tangents) if normal == NONE else (normal, normal + 1 + tangents)


@native_kernel
def hit(c: Contacts, i: Impulses, k: int) -> int:
    """Compute one impact at a contact; update the velocities and impulses of all rows; return how it ended."""
    b = i.impact
    first, last = rows_of(c, k)
    size = last - first
    for r in range(3):
        b.v[r] = i.v[first + r] if r < size else 0.0
        for s in range(3):
            b.G[r, s] = i.G[first + r, first + s] if r < size and s < size else 0.0
    coulomb = c.table.friction[k] == COULOMB
    b.static[0] = c.gaps.static[k] if coulomb else 0.0
    b.kinetic[0] = c.gaps.kinetic[k] if coulomb else 0.0
    before = (b.v[0], b.v[1], b.v[2])
    ended = strike(b, size - 1 if coulomb else 0, c.table.law[k], c.gaps.restitution[k])
    if ended != DONE:
        return CONTRADICTED if ended == IMMOVABLE else ENDLESS_IMPACTS
    gained, size_of = 0.0, 0.0
    for r in range(3):
        gained += 0.5 * b.p[r] * (before[r] + b.v[r])
        size_of += abs(b.p[r] * before[r])
    if c.table.law[k] == NEWTON and gained > 1e-9 * size_of:
        return ENERGY_GAINED
    for r in range(size):
        i.impulse[first + r] += b.p[r]
    for other in range(c.block.constraints):
        if touches(c, other) and i.island[other] == i.island[k]:
            begin, end = rows_of(c, other)
            for s in range(begin, end):
                for r in range(size):
                    i.v[s] += i.G[s, first + r] * b.p[r]
    # The end velocities of the impact are exact.
    for r in range(size):
        i.v[first + r] = b.v[r]
    return ADOPTED


@native_kernel
def own_response(c: Contacts, i: Impulses, k: int) -> float:
    """Return dv_n / dp_n of a sliding contact with friction: normal velocity per unit of normal impulse."""
    normal, tangent = c.table.normal[k], c.table.tangent[k]
    share = i.G[normal, normal]
    for t in range(c.table.tangents[k]):
        share -= c.gaps.kinetic[k] * c.state.along[k, t] * i.G[normal, tangent + t]
    return float(share)


@native_kernel
def jams(c: Contacts, i: Impulses, k: int) -> bool:
    """Check whether a normal impulse at a sliding contact makes it approach (Painleve)."""
    return bool(-math.inf < own_response(c, i, k) < 0.0)
