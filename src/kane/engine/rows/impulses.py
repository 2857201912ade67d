"""Impulses at an instant: what touches, what is known of it, one impact.

Source: Gillespie 2003, section 4; Djerassi, Collision with friction, Multibody Syst. Dyn. 21, 2009.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.impact import DONE, IMMOVABLE, strike
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
from kane.engine.memory.views import contact_state_at, impact_at
from kane.engine.rows.tree_response import REPEATED, SLOW

# A gap smaller than this is closed [m or rad].
TOUCHING = 1e-11
# Velocities under this share of what they are made of are rounding.
ROUNDING = 1e-12
# Of rows that repeat others elimination does not see this share.
UNSEEN = math.sqrt(REPEATED)


class Impulses(NamedTuple):
    """Scratch of a transition.

    Attributes:
        J, Z, G, v, start, impulse, rounding, left, total, before, first, undecided, aimed, angle, turn, step, turns,
            cause, blamed, halted, jammed, group, island, present, lost: see ContactScratch. J and Z are written if
            something holds both ways.
        kept: ContactState when the transition began.
        impact: Impact.
    """

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
    undecided: Any
    aimed: Any
    angle: Any
    turn: Any
    step: Any
    turns: Any
    cause: Any
    blamed: Any
    halted: Any
    jammed: Any
    group: Any
    island: Any
    present: Any
    lost: Any
    kept: Any
    impact: Any


@native_inline
def impulses_of(a: Any, c: Any, work: Any) -> Any:
    """The Impulses of a call."""
    nc = c.block.constraints
    s = contact_scratch_of(a.head, nc, work)
    return Impulses(
        s.J, s.Z, s.G, s.v, s.start, s.impulse, s.rounding, s.left, s.total, s.before, s.first, s.undecided, s.aimed,
        s.angle, s.turn, s.step, s.turns, s.cause, s.blamed, s.halted, s.jammed, s.group, s.island, s.present, s.lost,
        contact_state_at(work, s.kept, nc), impact_at(work, s.impact),
    )  # fmt: skip


@native_inline
def touches(c: Any, k: int) -> bool:
    """Whether a candidate that pushes only is closed; not beyond the ends of its features."""
    if c.table.normal[k] == NONE or c.table.bilateral[k] == 1:
        return False
    if c.table.ended[k] == 1 and c.gaps.off[k] > 0.0:
        return False
    return bool(c.state.status[k] != OPEN or c.gaps.gap[k] <= TOUCHING)


@native_inline
def rounding_of(c: Any, k: int, row: int, u: Any) -> float:
    """How much of the velocity of a row of a candidate is rounding, with speeds u.

    Of the normal row of what is open, and repeats rows in force, it is what elimination does not see, see ARMED.
    """
    total, share = 0.0, ROUNDING
    if row == c.table.normal[k] and c.state.armed[k] == 0:
        share = UNSEEN if c.gaps.gap[k] >= -TOUCHING else ROUNDING
    for j in range(c.table.first_column[k], c.table.last_column[k]):
        total += abs(c.all_rows.A[row, j] * u[j])
    return float(SLOW + share * total)


@native_kernel
def load_rounding(c: Any, i: Any) -> None:
    """How much of the velocities of what responds is rounding."""
    for k in range(c.block.constraints):
        if responds(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                i.rounding[row] = rounding_of(c, k, row, i.first)


@native_kernel
def load_velocities(c: Any, i: Any) -> None:
    """A u + b of all rows, as the program "constraints" gave it."""
    for row in range(i.v.size):
        i.v[row] = c.all_rows.motion[row]


@native_inline
def responds(c: Any, k: int) -> bool:
    """Whether what a candidate does to others may be asked: it touches, or has friction of its own."""
    return bool(touches(c, k) or c.table.friction[k] == THRESHOLDS)


@native_inline
def rows_of(c: Any, k: int) -> Any:
    """The first row of a candidate, and the one behind its last."""
    tangent, normal = c.table.tangent[k], c.table.normal[k]
    tangents = c.table.tangents[k]
    return (tangent, tangent + tangents) if normal == NONE else (normal, normal + 1 + tangents)


@native_kernel
def hit(c: Any, i: Any, k: int) -> int:
    """One impact of a candidate; velocities and impulses of all rows after it."""
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
    # What the impact has ended at is exact.
    for r in range(size):
        i.v[first + r] = b.v[r]
    return ADOPTED


@native_kernel
def own_response(c: Any, i: Any, k: int) -> float:
    """Change of the normal velocity of a sliding contact per unit of its normal impulse, with friction: dv_n/dp_n."""
    normal, tangent = c.table.normal[k], c.table.tangent[k]
    share = i.G[normal, normal]
    for t in range(c.table.tangents[k]):
        share -= c.gaps.kinetic[k] * c.state.along[k, t] * i.G[normal, tangent + t]
    return float(share)


@native_kernel
def jams(c: Any, i: Any, k: int) -> bool:
    """Whether a push at a sliding contact makes it approach (Painleve)."""
    return bool(-math.inf < own_response(c, i, k) < 0.0)
