"""Impacts that meet in one instant: together, as one complementarity problem in two phases, or in turn.

Together, of all contacts that feel each other's impulses: in the compression the impulses p_c take the approach away,
0 <= v_n, p_n >= 0, one of them zero, with Coulomb's law between the friction impulses and the slips behind it. In the
expansion each contact gives back e of its impulse (Poisson), p_n >= s e p_c, or of its approach (Newton),
v_n >= -s e v-, and more where it would approach else. With s = 1 that may make energy, where several contacts have
friction or their e differ; then s is the largest that does not. With s = 0 it never does.

A contact that no other one feels is followed through its impact, see ``impact``.

Source: Glocker & Pfeiffer, Multiple impacts with friction in rigid multibody systems, Nonlinear Dyn. 7, 1995; Glocker,
Energetic consistency conditions for standard impacts II, Multibody Syst. Dyn. 32, 2014.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.least_reactions import shorten
from kane.engine.laws.newton import ADOPTABLE, share_of, solve_complementarity
from kane.engine.memory.constraint_memory import contact_scratch_of
from kane.engine.memory.contact_codes import (
    ADOPTED,
    COULOMB,
    ENDLESS_IMPACTS,
    NEWTON,
    NONE,
)
from kane.engine.memory.views import reaction_problem_at, struck_at
from kane.engine.rows.impulses import hit, rows_of, touches

# Passes over all contacts until none approaches. What comes one after the other has lost all but a share e^PASSES of
# its velocity to restitution e by then; what still approaches is taken together, without restitution.
PASSES = 100
# Contacts feel each other where an impulse of one moves the other by more than this share of what it moves itself.
FELT = 1e-14
# The share s of the expansion is tried so often at most, until it is known so well; energy below the last share of
# what impulses do is rounding.
TRIALS, NARROW, ROUNDING = 60, 1e-15, 1e-14


@native_kernel
def _solve(p: Any) -> bool:
    """Impulses and velocities that keep all laws, found from no impulses; whether there are any."""
    for j in range(p.f.size):
        p.f[j] = 0.0
    if not solve_complementarity(p) <= ADOPTABLE:
        return False
    shorten(p)
    clear_kept_velocities(p)
    return True


@native_kernel
def clear_kept_velocities(p: Any) -> None:
    """Of a problem solved: a that vanishes is zero, and normal forces that are the least exactly that."""
    for k in range(p.bound.size):
        row, tangents, bound = p.row[k], p.tangents[k], p.bound[k]
        if p.pushes[k] == 1:
            if p.shift[row] > p.least[k]:
                p.a[row] = 0.0
            else:
                p.f[row] = p.least[k]
            bound *= max(p.f[row], 0.0)
            row += 1
        if share_of(p.shift, row, tangents, bound) == 1.0:
            for r in range(row, row + tangents):
                p.a[r] = 0.0


@native_kernel
def collide(a: Any, c: Any, i: Any, work: Any) -> int:
    """Impacts until nothing approaches: of each contact that no other feels, and of all that do together.

    Returns:
        ADOPTED, or the error.
    """
    find_groups(c, i)
    for attempt in range(2 * PASSES):
        struck = False
        for k in range(c.block.constraints):
            if not approaches(c, i, k):
                continue
            struck = True
            i.blamed[0] = k
            i.cause[0] = k if i.cause[0] == NONE else i.cause[0]
            if attempt >= PASSES:
                i.halted[0] = 1
                if not strike_together(a, c, i, k, False, work):
                    return ENDLESS_IMPACTS
            elif c.block.in_turn == 1 or _is_alone(c, i, k) or not strike_together(a, c, i, k, True, work):
                ended = hit(c, i, k)
                if ended != ADOPTED:
                    return ended
        if not struck:
            return ADOPTED
    return ENDLESS_IMPACTS


@native_inline
def approaches(c: Any, i: Any, k: int) -> bool:
    """Whether a candidate is closed and approaches by more than rounding."""
    normal = c.table.normal[k]
    return bool(touches(c, k) and i.v[normal] < -i.rounding[normal])


@native_kernel
def find_groups(c: Any, i: Any) -> None:
    """Of each candidate that touches the least one that feels it, or whose impulses it feels over others."""
    for k in range(c.block.constraints):
        i.group[k] = k if touches(c, k) else NONE
    tie_groups(c, i)


@native_kernel
def tie_groups(c: Any, i: Any) -> None:
    """Of each candidate that is in a group of its own the least one that feels it, over others too."""
    nc = c.block.constraints
    for k in range(nc):
        for l in range(k):
            apart = i.group[k] == NONE or i.group[l] == NONE or i.group[k] == i.group[l] or i.island[k] != i.island[l]
            if not apart and _feels(c, i, k, l):
                old, new = max(i.group[k], i.group[l]), min(i.group[k], i.group[l])
                for other in range(nc):
                    if i.group[other] == old:
                        i.group[other] = new


@native_inline
def _feels(c: Any, i: Any, k: int, l: int) -> bool:
    first, last = rows_of(c, k)
    begin, end = rows_of(c, l)
    for r in range(first, last):
        for s in range(begin, end):
            if i.G[r, s] != 0.0 and abs(i.G[r, s]) > FELT * math.sqrt(i.G[r, r] * i.G[s, s]):
                return True
    return False


@native_inline
def _is_alone(c: Any, i: Any, k: int) -> bool:
    return count_members(c, i, i.group[k]) == 1


@native_inline
def count_members(c: Any, i: Any, group: int) -> int:
    """How many candidates belong to a group."""
    count = 0
    for k in range(c.block.constraints):
        count += 1 if i.group[k] == group else 0
    return count


@native_kernel
def strike_together(a: Any, c: Any, i: Any, k: int, expands: bool, work: Any) -> bool:
    """One impact of the group of a candidate; velocities and impulses of its rows after it.

    Returns:
        Whether a solution was found; else nothing has changed.
    """
    m, count = 0, 0
    for other in range(c.block.constraints):
        if i.group[other] == i.group[k]:
            m += _size(c, other)
            count += 1
    s = contact_scratch_of(a.head, c.block.constraints, work)
    p, g = reaction_problem_at(work, s.reactions, m, count), struck_at(work, s.struck, m, count)
    _gather(c, i, p, g, i.group[k])
    for j in range(m):
        p.b[j] = g.before[j]
    if not _solve(p):
        return False
    for j in range(m):
        g.total[j], g.squeezed[j] = p.f[j], p.a[j]
    if expands:
        _expand(c, p, g)
    else:
        for j in range(m):
            p.f[j] = 0.0
    for j in range(count):
        row, first = c.table.normal[g.member[j]], p.row[j]
        for r in range(1 + p.tangents[j]):
            i.impulse[row + r] += g.total[first + r] + p.f[first + r]
            i.v[row + r] = p.a[first + r]
    return True


@native_inline
def _size(c: Any, k: int) -> int:
    """How many rows of a candidate take impulses."""
    first, last = rows_of(c, k)
    return last - first if c.table.friction[k] == COULOMB else 1


@native_kernel
def _gather(c: Any, i: Any, p: Any, g: Any, group: int) -> None:
    """The problem of a group: who belongs to it, W, and the velocities before."""
    j, row = 0, 0
    for k in range(c.block.constraints):
        if i.group[k] == group:
            g.member[j], p.row[j], p.pushes[j] = k, row, 1
            p.tangents[j] = _size(c, k) - 1
            p.bound[j] = c.gaps.kinetic[k] if c.table.friction[k] == COULOMB else 0.0
            p.least[j] = 0.0
            for r in range(_size(c, k)):
                p.place[row + r] = c.table.normal[k] + r
            row += _size(c, k)
            j += 1
    for r in range(row):
        g.before[r] = i.v[p.place[r]]
        for s in range(row):
            p.W[r, s] = i.G[p.place[r], p.place[s]]


@native_kernel
def _expand(c: Any, p: Any, g: Any) -> None:
    """The expansion with the largest share that makes no energy: its impulses in f, the velocities behind it in a.

    Impulses are linear in the share as long as the same contacts part, stick and slip, so that what they make is
    quadratic: its zero is looked for on the parabola through the ends of a bracket and the end before, which is exact
    there; each third trial halves the bracket.
    """
    low, high, before, made_before = 0.0, 1.0, math.nan, math.nan
    below, (above, size) = 0.0, _try_expansion(c, p, g, high)
    if above <= ROUNDING * size:
        return
    for j in range(p.f.size):
        below += g.total[j] * (g.before[j] + g.squeezed[j])
    for trial in range(TRIALS):
        share = _find_zero(low, below, high, above, before, made_before)
        if trial % 3 == 2 or not low < share < high:
            share = 0.5 * (low + high)
        made, size = _try_expansion(c, p, g, share)
        if abs(made) <= ROUNDING * size:
            return
        if made < 0.0:
            before, made_before, low, below = low, below, share, made
        else:
            before, made_before, high, above = high, above, share, made
        if not high - low > NARROW:
            break
    made, size = _try_expansion(c, p, g, low)
    if low == 0.0 or not made <= ROUNDING * size:
        for j in range(p.f.size):
            p.f[j], p.a[j] = 0.0, g.squeezed[j]


@native_inline
def _find_zero(low: float, below: float, high: float, above: float, other: float, there: float) -> float:
    """Where the parabola through three points, of the first two one below and one above zero, is zero between these.

    The straight line, where the third is none; not a number, or the end, where a value is infinite.
    """
    width, rise = high - low, (above - below) / (high - low)
    bend = ((there - below) / (other - low) - rise) / (other - high) if there < math.inf else 0.0
    slope = rise - bend * width
    return float(low - 2.0 * below / (slope + math.sqrt(max(slope * slope - 4.0 * bend * below, 0.0))))


@native_kernel
def _try_expansion(c: Any, p: Any, g: Any, share: float) -> Any:
    """The expansion with a share of the restitution: twice the energy that the impact makes, and what it is made of.

    Infinite energy where no impulses keep all laws.
    """
    for j in range(p.f.size):
        p.b[j] = g.squeezed[j]
    for j in range(p.bound.size):
        k, n = g.member[j], p.row[j]
        e = share * c.gaps.restitution[k]
        if c.table.law[k] == NEWTON:
            p.least[j] = 0.0
            p.b[n] += e * min(g.before[n], 0.0)
        else:
            p.least[j] = e * g.total[n]
    if not _solve(p):
        return math.inf, 1.0
    made, size = 0.0, 0.0
    for j in range(p.bound.size):
        k, n = g.member[j], p.row[j]
        if c.table.law[k] == NEWTON:
            p.a[n] -= share * c.gaps.restitution[k] * min(g.before[n], 0.0)
    for j in range(p.f.size):
        done = (g.total[j] + p.f[j]) * (g.before[j] + p.a[j])
        made, size = made + done, size + abs(done)
    return made, size
