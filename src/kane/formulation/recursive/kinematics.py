"""Positions, velocities and accelerations of the links, each in its own frame K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kane.deferred import dataclass
from kane.formulation.tree.frames import Step
from kane.formulation.tree.spatial import minus, plus, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Triple, cross, dot, is_zero


@dataclass(frozen=True)
class Acceleration:
    """Acceleration field of a link: the point at p from O_K has a + W p, in K, gravity subtracted.

    Attributes:
        alpha: angular acceleration.
        W: [alpha x] + [w x][w x], by rows.
        a: acceleration of O_K.
        squares: w_x^2, w_y^2, w_z^2.
    """

    alpha: Triple
    W: NumberMatrix
    a: Triple
    squares: Triple

    def at(self, p: Triple) -> Triple:
        """Return the acceleration of the point at p from O_K."""
        return plus(self.a, _times(self.W, p))


def combined(columns: Sequence[Triple], speeds: Sequence[Any]) -> Triple:
    """Return the sum of columns[r] speeds[r]."""
    total = ZERO_VECTOR
    for column, speed in zip(columns, speeds, strict=True):
        if any(not is_zero(x) for x in column):
            total = plus(total, times(speed, column))
    return total


def angular_velocities(system: System, natural: Sequence[Any] = (), u: Sequence[Any] = ()) -> list[Triple]:
    """Return w_NK of every link in K (Angeles et al. 1988, Eq. 12), with declared components from ``u``.

    Args:
        natural, u: natural and generalized speeds; by default the system's.
    """
    natural, u = natural or system.speeds.natural, u or system.speeds.u
    w: list[Triple] = [ZERO_VECTOR]
    for index in range(1, len(system.links)):
        step = system.steps[index]
        own = combined(step.w_u, [natural[k] for k in system.columns(index)])
        w_K = plus(step.R.apply_inverse(w[system.links[index].parent]), own)
        if index in system.declared_turns:
            known = system.declared_turns[index]
            w_K = system.carried(known.frame, index, known.mixed(w_K, u))
        w.append(w_K)
    return w


def origin_velocities(
    system: System, w: Sequence[Triple], natural: Sequence[Any] = (), u: Sequence[Any] = ()
) -> list[Triple]:
    """Return the velocity of every O_K in N, in K (Angeles et al. 1988, Eqs. 17 and 19).

    Args:
        w: angular velocities of the links.
        natural, u: natural and generalized speeds; by default the system's.
    """
    natural, u = natural or system.speeds.natural, u or system.speeds.u
    v: list[Triple] = [ZERO_VECTOR]
    for index in range(1, len(system.links)):
        step, parent = system.steps[index], system.links[index].parent
        carried = step.R.apply_inverse(plus(v[parent], cross(w[parent], step.p)))
        own = combined(step.v_u, [natural[k] for k in system.columns(index)])
        v_K = plus(plus(carried, own), cross(w[index], step.d))
        if index in system.declared_points:
            known = system.declared_points[index]
            arm = cross(w[index], known.point)
            v_K = minus(system.carried(known.frame, index, known.mixed(plus(v_K, arm), u)), arm)
        v.append(v_K)
    return v


def acceleration_fields(
    system: System, w: Sequence[Triple], natural: Sequence[Any], udot: Sequence[Any] = ()
) -> list[Acceleration]:
    """Return the acceleration fields of all links, from the ground outwards (Angeles et al., Eqs. 11, 18, 20, 51).

    The ground has the acceleration -g, which makes the weight an inertia force.

    Args:
        w: angular velocities of the links.
        natural: accelerations of the joints' natural speeds; ``speeds.a_t`` gives the fields free of udot.
        udot: generalized accelerations, which declared velocities need.
    """
    g = system.gravity
    ground = Acceleration(ZERO_VECTOR, (ZERO_VECTOR, ZERO_VECTOR, ZERO_VECTOR), (-g[0], -g[1], -g[2]), ZERO_VECTOR)
    fields = [ground]
    v = origin_velocities(system, w) if system.declared_points else []
    for index in range(1, len(system.links)):
        step, parent = system.steps[index], system.links[index].parent
        columns = system.columns(index)
        moving = [system.speeds.natural[k] for k in columns]
        given = [natural[k] for k in columns]
        above = fields[parent]
        w_FM, v_FM = combined(step.w_u, moving), combined(step.v_u, moving)
        alpha = plus(step.R.apply_inverse(above.alpha), cross(w[index], w_FM))
        alpha = plus(plus(alpha, combined(step.w_u, given)), step.alpha_t)
        if index in system.declared_turns:
            alpha = _declared(system, index, w, alpha, udot)
        W, squares = acceleration_field(w[index], alpha)
        a = step.R.apply_inverse(plus(above.a, _times(above.W, step.p)))
        if v_FM is not ZERO_VECTOR:
            carried = minus(w[index], w_FM)
            a = plus(a, plus(cross(times(2.0, carried), v_FM), plus(combined(step.v_u, given), step.a_t)))
        a = plus(a, _times(W, step.d))
        if index in system.declared_points:
            arm = _times(W, system.declared_points[index].point)
            a = minus(_declared_at_point(system, index, (w, v), plus(a, arm), udot), arm)
        fields.append(Acceleration(alpha, W, a, squares))
    return fields


def remainders(system: System) -> list[Acceleration]:
    """Return the acceleration fields without udot and gravity, exactly zero at rest; W is the same as with gravity."""
    none = [system.arena.zero] * len(system.speeds.u)
    return acceleration_fields(
        replace(system, gravity=ZERO_VECTOR), angular_velocities(system), system.speeds.a_t, none
    )


def _declared_at_point(
    system: System, index: int, motion: tuple[Sequence[Triple], Sequence[Triple]], a: Triple, udot: Sequence[Any]
) -> Triple:
    """Return a of a point whose velocity, or components of it, are declared, gravity subtracted."""
    known, (w, v) = system.declared_points[index], motion
    v_Q = system.carried(index, known.frame, plus(v[index], cross(w[index], known.point)))
    lifted = minus(cross(w[known.frame], v_Q), system.carried(0, known.frame, system.gravity))
    rates = known.mixed(ZERO_VECTOR, udot)
    here = system.carried(index, known.frame, a)
    found = tuple(
        x if row is None else rate + more for x, row, rate, more in zip(here, known.rows, rates, lifted, strict=True)
    )
    return system.carried(known.frame, index, found)


def _declared(system: System, index: int, w: Sequence[Triple], alpha: Triple, udot: Sequence[Any]) -> Triple:
    """Return alpha of a link with declared angular velocity components, including the rotation of their axes."""
    known = system.declared_turns[index]
    if known.frame == index:
        return known.mixed(alpha, udot)
    turn = cross(w[known.frame], known.mixed(ZERO_VECTOR, system.speeds.u))
    return system.carried(known.frame, index, plus(known.mixed(ZERO_VECTOR, udot), turn))


def acceleration_field(w: Triple, alpha: Triple) -> tuple[NumberMatrix, Triple]:
    """Return W = [alpha x] + [w x][w x] by rows, and the squares of w."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    rows = (
        (-(yy + zz), xy - alpha[2], xz + alpha[1]),
        (xy + alpha[2], -(xx + zz), yz - alpha[0]),
        (xz - alpha[1], yz + alpha[0], -(xx + yy)),
    )
    return rows, (xx, yy, zz)


def _times(W: NumberMatrix, p: Triple) -> Triple:
    return ZERO_VECTOR if p is ZERO_VECTOR else (dot(W[0], p), dot(W[1], p), dot(W[2], p))


def orientations(system: System) -> list[NumberMatrix]:
    """Return R_NK of every link, by rows."""
    R: list[NumberMatrix] = [((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    for index in range(1, len(system.links)):
        rows = R[system.links[index].parent]
        R.append(tuple(system.steps[index].R.apply_inverse(row) for row in rows))
    return R


def origins(system: System, R: Sequence[NumberMatrix]) -> list[Triple]:
    """Return p_NO of every frame K, in N."""
    p: list[Triple] = [ZERO_VECTOR]
    for index in range(1, len(system.links)):
        step: Step = system.steps[index]
        parent = system.links[index].parent
        foot = plus(p[parent], _times(R[parent], step.p))
        p.append(plus(foot, _times(R[index], step.d)))
    return p
