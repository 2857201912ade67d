"""Recursive inverse dynamics of a tree: accelerations in an outward sweep, forces in an inward sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kane.expression.node import Expr
from kane.formulation.recursive.kinematics import Acceleration, acceleration_fields, angular_velocities
from kane.formulation.tree.mass_parameters import MassParameters
from kane.formulation.tree.spatial import minus, plus, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, Triple, cross, dot, is_zero

LinkWrench = tuple[Triple, Triple]


def inverse_dynamics(system: System, udot: Sequence[Any], applied: Mapping[int, LinkWrench]) -> list[Expr]:
    """Return M udot + inertia terms free of udot - applied wrenches, as generalized forces along u.

    This is -F*_r minus the F_r of gravity and of the wrenches. Kane's F*_r is -sum over bodies of (v_r . m a + w_r . (I
    alpha + w x I w)).

    Args:
        system: the tree.
        udot: generalized accelerations; zeros give the terms free of udot.
        applied: force and moment about O_K in K, by link [N, N m], without gravity.

    Source: Angeles, Ma & Rojas 1988, Eqs. 42-51, for trees and joints of any freedom.
    """
    natural = system.speeds.natural_accelerations(udot)
    w = angular_velocities(system)
    fields = acceleration_fields(system, w, natural, udot)
    forces = [inertia_wrench(m, field, v) for m, field, v in zip(system.masses, fields, w, strict=True)]
    for index, (f, n) in applied.items():
        forces[index] = minus(forces[index][0], f), minus(forces[index][1], n)
    return generalized_forces(system, forces)


def generalized_forces(system: System, wrenches: Sequence[LinkWrench]) -> list[Any]:
    """Return the generalized forces along u of one wrench per link about O_K: the transposed velocity recursion."""
    declared: list[Any] = [system.arena.zero] * len(system.speeds.u)
    efforts = project_wrenches(system, wrenches, declared)
    return [x + y for x, y in zip(along_u(system, efforts), declared, strict=True)]


def along_u(system: System, efforts: Sequence[Any]) -> list[Any]:
    """Return the generalized forces along u of efforts on the natural speeds: C^T efforts."""
    totals: list[Any] = [system.arena.zero] * len(system.speeds.u)
    for effort, row in zip(efforts, system.speeds.C, strict=True):
        for j, c in row.items():
            totals[j] = totals[j] + c * effort
    return totals


def project_wrenches(system: System, forces: Sequence[LinkWrench], declared: list[Any]) -> list[Any]:
    """Sum the wrenches of each subtree inwards and project them on the joints' partial velocities.

    A declared velocity depends on the declaring speeds alone. Moments and forces along it therefore do not load the
    joints further inward; their generalized forces are added to ``declared``, by speed.
    """
    total = list(forces)
    efforts: list[Any] = [0.0] * len(system.speeds.C)
    for index in range(len(system.links) - 1, 0, -1):
        step, (f, n) = system.steps[index], total[index]
        if index in system.declared_points:
            f, n = _work_at_declared_point(system, index, (f, n), declared)
        n = plus(n, cross(step.d, f))
        if index in system.declared_turns:
            n = _work_on_declared(system, index, n, declared)
        for k, w_u, v_u in zip(system.columns(index), step.w_u, step.v_u, strict=True):
            efforts[k] = dot(w_u, n) + dot(v_u, f)
        parent = system.links[index].parent
        if parent:
            f = step.R.apply(f)
            n = plus(step.R.apply(n), cross(step.p, f))
            total[parent] = plus(total[parent][0], f), plus(total[parent][1], n)
    return efforts


def _work_on_declared(system: System, index: int, n: Triple, declared: list[Any]) -> Triple:
    """Add a moment's generalized forces along declared components to ``declared``; return the moment that is left."""
    known = system.declared_turns[index]
    turned = system.carried(index, known.frame, n)
    for row, x in zip(known.rows, turned, strict=True):
        for r, c in (row or {}).items():
            declared[r] = declared[r] + c * x
    return (
        ZERO_VECTOR if known.whole else tuple(x if row is None else 0.0 for row, x in zip(known.rows, n, strict=True))
    )


def _work_at_declared_point(system: System, index: int, wrench: LinkWrench, declared: list[Any]) -> LinkWrench:
    """Add a force's generalized forces at a point of declared velocity to ``declared``; return the wrench left about
    O_K.
    """
    known, (f, n) = system.declared_points[index], wrench
    n = minus(n, cross(known.point, f))
    turned = system.carried(index, known.frame, f)
    for row, x in zip(known.rows, turned, strict=True):
        for r, c in (row or {}).items():
            declared[r] = declared[r] + c * x
    left = (
        ZERO_VECTOR if known.whole else tuple(x if row is None else 0.0 for row, x in zip(known.rows, f, strict=True))
    )
    return left, plus(n, cross(known.point, left))


def inertia_wrench(mass: MassParameters, field: Acceleration, w: Triple) -> LinkWrench:
    """Return force and moment about O_K of a link's inertia, the integrals of a dm and of r x a dm.

    They are m a + W mc, and mc x a + vee(W J - (W J)^T).
    """
    if mass.mc == ZERO_VECTOR and all(is_zero(x) for x in mass.J):
        return (ZERO_VECTOR if is_zero(mass.m) else times(mass.m, field.a)), ZERO_VECTOR
    f = tuple(dot(row, mass.mc) for row in field.W)
    if not is_zero(mass.m):
        f = plus(times(mass.m, field.a), f)
    return f, plus(_moment(mass, field, w), cross(mass.mc, field.a))


def _moment(mass: MassParameters, field: Acceleration, w: Triple) -> Triple:
    """Return vee(W J - (W J)^T), with differences of diagonal entries of W written as differences of squares."""
    xx, yy, zz, xy, xz, yz = mass.J
    (_, Wxy, Wxz), (Wyx, _, Wyz), (Wzx, Wzy, _) = field.W
    if mass.mc == ZERO_VECTOR and all(is_zero(x) for x in (xy, xz, yz)):
        a, (x, y, z) = field.alpha, w
        return (
            dot((yy + zz, yy - zz), (a[0], y * z)),
            dot((xx + zz, zz - xx), (a[1], x * z)),
            dot((xx + yy, xx - yy), (a[2], x * y)),
        )
    sx, sy, sz = field.squares
    return (
        dot((Wzy, -Wyz, sz - sy, Wzx, -Wyx), (yy, zz, yz, xy, xz)),
        dot((Wxz, -Wzx, sx - sz, Wxy, -Wzy), (zz, xx, xz, yz, xy)),
        dot((Wyx, -Wxy, sy - sx, Wyz, -Wxz), (xx, yy, xy, xz, yz)),
    )
