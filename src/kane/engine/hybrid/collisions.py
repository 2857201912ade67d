"""Impacts at one instant: simultaneously, as one complementarity problem in two phases, or one after the other.

Contacts that are coupled by their impulses form a group, which is solved simultaneously. In the compression phase the
impulses p_c end the approach: 0 <= v_n, p_n >= 0, v_n p_n = 0, with Coulomb's law between the tangential impulses and
the slip after the phase. In the expansion phase each contact returns a fraction of its impulse, p_n >= s e p_c
(Poisson), or of its approach velocity, v_n >= -s e v- (Newton). The factor s is 1 unless this would gain energy, which
is possible if several contacts have friction or different e. Then s is the largest factor without a gain. With s = 0
no energy is gained. Stronge's law needs the path of the impulses, which the two phases do not have; its contacts
follow Poisson's law here.

A contact that is not coupled to others is integrated through its impact, see ``laws.impact``.

Source: Glocker & Pfeiffer, Multiple impacts with friction in rigid multibody systems, Nonlinear Dyn. 7, 1995; Glocker,
Energetic consistency conditions for standard impacts II, Multibody Syst. Dyn. 32, 2014.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.generated_laws import coulomb_ratio, newton_velocity, poisson_impulse
from kane.engine.laws.least_reactions import shorten
from kane.engine.laws.newton import ADOPTABLE, solve_complementarity
from kane.engine.memory.constraint_memory import contact_scratch_of
from kane.engine.memory.contact_codes import ADOPTED, COULOMB, ENDLESS_IMPACTS, NEWTON, NONE
from kane.engine.memory.views import ReactionProblem, Struck, reaction_problem_at, struck_at
from kane.engine.rows.embedding import Arrays
from kane.engine.rows.impulses import Impulses, hit, rows_of, touches
from kane.engine.rows.mode_dynamics import Contacts

# Number of passes over all contacts with restitution, which leave at most e^PASSES of an approach velocity. As many
# passes without restitution follow.
PASSES = 100
# Relative velocity change per impulse from which two contacts are coupled.
COUPLED = 1e-14
# Largest number of trials for the expansion factor s, and its required accuracy.
TRIALS, NARROW = 60, 1e-15
# Energy gain, relative to the energy that the impulses exchange, that counts as rounding.
ENERGY_ROUNDING = 1e-14


@native_kernel
def _solve(p: ReactionProblem) -> bool:
    """Compute impulses and velocities that satisfy all contact laws; return whether a solution was found."""
    for j in range(p.f.size):
        p.f[j] = 0.0
    if not solve_complementarity(p) <= ADOPTABLE:
        return False
    shorten(p)
    clear_rounding(p)
    return True


@native_kernel
def clear_rounding(p: ReactionProblem) -> None:
    """Round a solved problem: zero velocities of closed and sticking rows, and inactive normal forces ``least``."""
    for k in range(p.bound.size):
        row, tangents, bound = p.row[k], p.tangents[k], p.bound[k]
        if p.pushes[k] == 1:
            if p.shift[row] > p.least[k]:
                p.a[row] = 0.0
            else:
                p.f[row] = p.least[k]
            bound *= max(p.f[row], 0.0)
            row += 1
        if coulomb_ratio(p.shift, row, tangents, bound) == 1.0:
            for r in range(row, row + tangents):
                p.a[r] = 0.0


@native_kernel
def collide(a: Arrays, c: Contacts, i: Impulses, work: Any) -> int:
    """Apply impacts until no closed contact approaches; impulses and velocities of the rows change.

    Returns:
        ADOPTED, or the error.
    """
    group_closed_contacts(c, i)
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
                continue
            alone = c.block.in_turn == 1 or count_members(c, i, i.group[k]) == 1
            if alone or not strike_together(a, c, i, k, True, work):
                ended = hit(c, i, k)
                if ended != ADOPTED:
                    return ended
        if not struck:
            return ADOPTED
    return ENDLESS_IMPACTS


@native_inline
def approaches(c: Contacts, i: Impulses, k: int) -> bool:
    """Check whether contact k is closed and approaches by more than rounding."""
    normal = c.table.normal[k]
    return bool(touches(c, k) and i.v[normal] < -i.rounding[normal])


@native_kernel
def group_closed_contacts(c: Contacts, i: Impulses) -> None:
    """Number the groups of closed contacts that are coupled by impulses; open ones have the group NONE."""
    for k in range(c.block.constraints):
        i.group[k] = k if touches(c, k) else NONE
    merge_coupled_groups(c, i)


@native_kernel
def merge_coupled_groups(c: Contacts, i: Impulses) -> None:
    """Merge groups with coupled constraints; the number of a group is that of its first member."""
    nc = c.block.constraints
    for k in range(nc):
        for l in range(k):
            apart = i.group[k] == NONE or i.group[l] == NONE or i.group[k] == i.group[l] or i.island[k] != i.island[l]
            if not apart and _are_coupled(c, i, k, l):
                old, new = max(i.group[k], i.group[l]), min(i.group[k], i.group[l])
                for other in range(nc):
                    if i.group[other] == old:
                        i.group[other] = new


@native_inline
def _are_coupled(c: Contacts, i: Impulses, k: int, l: int) -> bool:
    """Check whether impulses of constraint k change velocities of constraint l by more than rounding."""
    first, last = rows_of(c, k)
    begin, end = rows_of(c, l)
    for r in range(first, last):
        for s in range(begin, end):
            if i.G[r, s] != 0.0 and abs(i.G[r, s]) > COUPLED * math.sqrt(i.G[r, r] * i.G[s, s]):
                return True
    return False


@native_inline
def count_members(c: Contacts, i: Impulses, group: int) -> int:
    """Return the number of constraints in a group."""
    count = 0
    for k in range(c.block.constraints):
        count += 1 if i.group[k] == group else 0
    return count


@native_kernel
def strike_together(a: Arrays, c: Contacts, i: Impulses, k: int, expands: bool, work: Any) -> bool:
    """Apply one simultaneous impact to the group of contact k; its impulses and velocities change.

    Args:
        a, c, i, work: of the call.
        k: contact of the group.
        expands: whether an expansion phase follows the compression phase.

    Returns:
        Whether a solution was found; otherwise nothing has changed.
    """
    m, count = 0, 0
    for other in range(c.block.constraints):
        if i.group[other] == i.group[k]:
            m += _count_impulses(c, other)
            count += 1
    s = contact_scratch_of(a.head, c.block.constraints, work)
    p, g = reaction_problem_at(work, s.reactions, m, count), struck_at(work, s.struck, m, count)
    _load_group(c, i, p, g, i.group[k])
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
def _count_impulses(c: Contacts, k: int) -> int:
    """Return the number of rows of contact k with impulses: the normal, and the tangents if it has Coulomb friction."""
    first, last = rows_of(c, k)
    return last - first if c.table.friction[k] == COULOMB else 1


@native_kernel
def _load_group(c: Contacts, i: Impulses, p: ReactionProblem, g: Struck, group: int) -> None:
    """Load a group into a ReactionProblem: its members and bounds, W, and the velocities before the impact."""
    j, row = 0, 0
    for k in range(c.block.constraints):
        if i.group[k] == group:
            g.member[j], p.row[j], p.pushes[j] = k, row, 1
            p.tangents[j] = _count_impulses(c, k) - 1
            p.bound[j] = c.gaps.kinetic[k] if c.table.friction[k] == COULOMB else 0.0
            p.least[j] = 0.0
            for r in range(1 + p.tangents[j]):
                p.place[row + r] = c.table.normal[k] + r
            row += 1 + p.tangents[j]
            j += 1
    for r in range(row):
        g.before[r] = i.v[p.place[r]]
        for s in range(row):
            p.W[r, s] = i.G[p.place[r], p.place[s]]


@native_kernel
def _expand(c: Contacts, p: ReactionProblem, g: Struck) -> None:
    """Solve the expansion phase with the largest factor s that gains no energy: its impulses in f, velocities in a.

    Impulses are linear in s while the same contacts separate, stick and slip. The energy gain is then quadratic in s.
    Each trial takes the zero of the parabola through the ends of the bracket and the previous end. Each third trial
    halves the bracket.
    """
    low, high, before, gain_before = 0.0, 1.0, math.nan, math.nan
    below, (above, size) = 0.0, _try_expansion(c, p, g, high)
    if above <= ENERGY_ROUNDING * size:
        return
    for j in range(p.f.size):
        below += g.total[j] * (g.before[j] + g.squeezed[j])
    for trial in range(TRIALS):
        factor = _find_zero(low, below, high, above, before, gain_before)
        if trial % 3 == 2 or not low < factor < high:
            factor = 0.5 * (low + high)
        gain, size = _try_expansion(c, p, g, factor)
        if abs(gain) <= ENERGY_ROUNDING * size:
            return
        if gain < 0.0:
            before, gain_before, low, below = low, below, factor, gain
        else:
            before, gain_before, high, above = high, above, factor, gain
        if not high - low > NARROW:
            break
    gain, size = _try_expansion(c, p, g, low)
    if low == 0.0 or not gain <= ENERGY_ROUNDING * size:
        for j in range(p.f.size):
            p.f[j], p.a[j] = 0.0, g.squeezed[j]


@native_inline
def _find_zero(low: float, below: float, high: float, above: float, third: float, at_third: float) -> float:
    """Return the zero, between low and high, of the parabola through three points.

    The value at low is negative and the value at high positive. Without a third point (NaN) the parabola is a line. If
    a value is infinite, the result is NaN or an end.
    """
    width, rise = high - low, (above - below) / (high - low)
    curvature = ((at_third - below) / (third - low) - rise) / (third - high) if at_third < math.inf else 0.0
    slope = rise - curvature * width
    return float(low - 2.0 * below / (slope + math.sqrt(max(slope * slope - 4.0 * curvature * below, 0.0))))


@native_kernel
def _try_expansion(c: Contacts, p: ReactionProblem, g: Struck, factor: float) -> tuple[float, float]:
    """Solve the expansion phase with a given factor s.

    Returns:
        Twice the energy that the impact gains, infinite without a solution; and the sum of the magnitudes of its terms.
    """
    for j in range(p.f.size):
        p.b[j] = g.squeezed[j]
    for j in range(p.bound.size):
        k, n = g.member[j], p.row[j]
        e = factor * c.gaps.restitution[k]
        if c.table.law[k] == NEWTON:
            p.least[j] = 0.0
            p.b[n] -= newton_velocity(e, g.before[n])
        else:
            p.least[j] = poisson_impulse(e, g.total[n])
    if not _solve(p):
        return math.inf, 1.0
    gain, size = 0.0, 0.0
    for j in range(p.bound.size):
        k, n = g.member[j], p.row[j]
        if c.table.law[k] == NEWTON:
            p.a[n] += newton_velocity(factor * c.gaps.restitution[k], g.before[n])
    for j in range(p.f.size):
        done = (g.total[j] + p.f[j]) * (g.before[j] + p.a[j])
        gain, size = gain + done, size + abs(done)
    return gain, size
