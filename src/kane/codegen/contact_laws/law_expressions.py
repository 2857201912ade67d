"""Laws of unilateral contacts: Signorini, Coulomb, and restitution by Newton, Poisson and Stronge.

Each law is written once, as expressions. ``write_laws`` derives the kernels of Newton's method from them. A contact has
a normal force N and friction f along each tangent. Each row has an acceleration a (a velocity, if f is an impulse), a
scale rho > 0, and the shifted force s = f - rho a. A residual vanishes if the law holds: f = P(f - rho a), where P
projects onto the admissible forces.

Source: Alart & Curnier, A mixed formulation for frictional contact problems prone to Newton like solution methods,
Comput. Methods Appl. Mech. Eng. 92, 1991; Brogliato, Nonsmooth Mechanics, 3rd ed., 2016, section 4.2 (restitution).
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.functions import minimum, select, sign, sqrt
from kane.expression.node import Expr


def signorini(f: Expr, a: Expr, s: Expr, rho: Expr, least: Expr) -> Expr:
    """Return the residual of N >= least, a >= 0, (N - least) a = 0; the contact is closed while s > least."""
    closed: Expr = select(least < s, rho * a, f - least)
    return closed


def coulomb(
    normal: Expr, f: Sequence[Expr], a: Sequence[Expr], s: Sequence[Expr], *, rho: Sequence[Expr], mu: Expr
) -> list[Expr]:
    """Return the residuals of |f| <= mu N, with f = -mu N a / |a| unless a = 0: one for each of 1 or 2 tangents.

    The contact sticks while |s| <= mu N; then a = 0. It slides otherwise, with friction along s. ``normal`` is N, or 0
    for an iterate N < 0. Derivatives with respect to N assume N > 0, also there, because most random
    problems of the benchmark table "cones" then take less time.
    """
    bound, size = mu * normal, slip_size(s)
    along = [sign(s[0])] if len(s) == 1 else [x / size for x in s]
    return [select(bound < size, f[i] - bound * along[i], rho[i] * a[i]) for i in range(len(s))]


def coulomb_ratio(s: Sequence[Expr], bound: Expr) -> Expr:
    """Return the ratio of friction to the shifted force: bound / |s| for sliding, 1 for sticking contacts."""
    size = slip_size(s)
    ratio: Expr = select(bound < size, bound / size, 1.0)
    return ratio


def slip_size(s: Sequence[Expr]) -> Expr:
    """Return the length of a vector of one or two components."""
    length: Expr = abs(s[0]) if len(s) == 1 else sqrt(s[0] * s[0] + s[1] * s[1])
    return length


def newton_velocity(restitution: Expr, approach: Expr) -> Expr:
    """Return the normal velocity after an impact with the normal velocity ``approach`` before it: v+ = -e v-."""
    velocity: Expr = -restitution * minimum(approach, 0.0)
    return velocity


def poisson_impulse(restitution: Expr, compression: Expr) -> Expr:
    """Return the normal impulse of the expansion that follows a compression: e times that of the compression."""
    return restitution * compression


def stronge_work(restitution: Expr, compression: Expr) -> Expr:
    """Return the work of the normal impulse in the expansion after that in the compression: W_e = -e^2 W_c."""
    work: Expr = -restitution * restitution * minimum(compression, 0.0)
    return work
