"""Generalized inertia forces F*_r and generalized active forces F_r, by body and by load.

F*_r = -sum over bodies of (w_NB_u[r] . T + v_NBcm_u[r] . m a_NBcm) with T = I alpha + w x I w about the mass centre.
F_r = sum of w_NB_u[r] . t + v_NP_u[r] . f over torques t on bodies B and forces f at points P (Kane & Levinson 1983,
Eqs. 78, 79, 90).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import INPUT, MEASURE, OPERATIONS, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.velocity_forms import Velocities, VelocityForm, turned
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.loads import forces_in
from kane.formulation.tree.spatial import minus, plus, times
from kane.geometry.scalars import ZERO_VECTOR, Triple, cross, dot
from kane.model.body import ANGULAR_VELOCITY, POSITION, Measure


@dataclass(frozen=True)
class AppliedWrench:
    """Force at a point of a body and torque on the body.

    Attributes:
        load: title of the load.
        member: index of the body among the members.
        point: p_BoP_B [m].
        force: along the axes of the body's points' basis [N].
        torque: along the axes of the body [N m].
    """

    load: str
    member: int
    point: Triple
    force: Triple
    torque: Triple


def inertia_torque(accelerations: Accelerations, k: int) -> Triple:
    """Return I alpha + w x I w of a member, about its mass centre, along its axes [N m].

    The terms contain the entries of W = [alpha x] + [w x][w x], which accelerations of points use as well.
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = accelerations.velocities.tree.members[k].body.inertia
    (_, Wxy, Wxz), (Wyx, _, Wyz), (Wzx, Wzy, _) = accelerations.field(k, k)
    x, y, z = accelerations.velocities.angular(k, k).whole
    ax, ay, az = accelerations.angular(k, k)
    sx, sy, sz = x * x, y * y, z * z
    return (
        dot((xx, zz - yy, xz, -xy, yz), (ax, y * z, Wyx, Wzx, sy - sz)),
        dot((yy, xx - zz, xy, -yz, xz), (ay, x * z, Wzy, Wxy, sz - sx)),
        dot((zz, yy - xx, yz, -xz, xy), (az, x * y, Wxz, Wyz, sx - sy)),
    )


def projected(form: VelocityForm, v: Triple, n: int) -> list[Any]:
    """Return the dot product of v with each of n partial velocities."""
    return [dot(form.u[r], v) if r in form.u else 0.0 for r in range(n)]


def inertia_forces(accelerations: Accelerations, k: int) -> list[Any]:
    """Return F*_r of one member, by speed."""
    motion, body = accelerations.velocities, accelerations.velocities.tree.members[k].body
    n = len(motion.speeds.u)
    turning = projected(motion.angular(k, k), inertia_torque(accelerations, k), n)
    pushing = projected(motion.point(k, body.com), times(body.mass, accelerations.point(k, body.com)), n)
    return [-(a + b) for a, b in zip(turning, pushing, strict=True)]


def active_forces(motion: Velocities, applied: AppliedWrench) -> list[Any]:
    """Return F_r of one force and torque, by speed."""
    n, k = len(motion.speeds.u), applied.member
    pushing = projected(motion.point(k, applied.point), applied.force, n)
    return [a + b for a, b in zip(projected(motion.angular(k, k), applied.torque, n), pushing, strict=True)]


def weight_wrench(motion: Velocities, k: int, gravity: Triple) -> AppliedWrench:
    """Return the force of uniform gravity on a member."""
    body = motion.tree.members[k].body
    force = times(body.mass, turned(motion.rotation(motion.bases[k][1], 0), gravity))
    return AppliedWrench("gravity", k, body.com, force, ZERO_VECTOR)


def applied_wrenches(motion: Velocities, tree: BodyTree) -> Iterator[AppliedWrench]:
    """Yield the forces and torques of loads on bodies other than the ground."""
    for title, effect in tree.loads:
        for w in effect.wrenches:
            k, frame = tree.place(w.point.body), tree.place(w.expressed_in)
            if k:
                force = turned(motion.rotation(motion.bases[k][1], frame), w.force)
                torque = turned(motion.rotation(k, frame), w.torque)
                yield AppliedWrench(title, k, w.point.position_in_body, force, torque)


def project_joint_efforts(motion: Velocities, tree: BodyTree) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield title, joint and F_r of every effort along a joint's coordinate."""
    speeds = motion.speeds
    for title, effect in tree.loads:
        for along, effort in effect.efforts:
            row = speeds.C[speeds.first[along.connection] + along.place]
            yield title, along.connection.name, [row[r] * effort if r in row else 0.0 for r in range(len(speeds.u))]


def about_mass_centre(motion: Velocities, applied: AppliedWrench) -> tuple[Triple, Triple]:
    """Return the same load as a force at the mass centre and a torque."""
    k, com = applied.member, motion.tree.members[applied.member].body.com
    r = turned(motion.rotation(motion.bases[k][1], k), minus(applied.point, com))
    extra = turned(motion.rotation(k, motion.bases[k][1]), cross(r, applied.force))
    return applied.force, plus(applied.torque, extra)


def resolve_loads(motion: Velocities, tree: BodyTree) -> BodyTree:
    """Return the tree with the rates and measures in its loads replaced by their values in q, u and t.

    Raises:
        ModelError: a load depends on something that has no value in these equations.
    """
    speeds = motion.speeds
    known = {*speeds.q, *speeds.u}
    values: dict[Expr, Expr] = {}
    for leaf in leaves(forces_in(tree.loads)):
        if leaf in speeds.rates:
            values[leaf] = speeds.rates[leaf]
        elif leaf.op == MEASURE:
            values[leaf] = leaf.arena.lift(_measured(motion, leaf.data))
        elif leaf not in known and leaf.op not in (PARAMETER, INPUT, TIME, RATE):
            kind = OPERATIONS[leaf.op].name
            raise ModelError(
                f"a load depends on the {kind} {leaf.name!r}, which has no value in this model's equations; "
                "write loads in coordinates, rates, measures, time, parameters and inputs of this model"
            )
    return tree.replaced(values)


def _measured(motion: Velocities, measure: Measure) -> Any:
    places = {m.body.index: k for k, m in enumerate(motion.tree.members)}
    k, along = places[measure.body], places[measure.direction_body]
    if measure.kind == POSITION:
        return dot(_position(motion, k, measure.point), turned(motion.rotation(0, along), measure.direction))
    if measure.kind == ANGULAR_VELOCITY:
        return dot(motion.angular(k, k).whole, turned(motion.rotation(k, along), measure.direction))
    direction = turned(motion.rotation(motion.bases[k][1], along), measure.direction)
    return dot(motion.point(k, measure.point).whole, direction)


def _position(motion: Velocities, k: int, point: Triple) -> Triple:
    """Return p_NoP along the axes of N."""
    c = motion.tree.members[k].connection
    p = turned(motion.rotation(0, k), point if c is None else minus(point, c.p_CM))
    for j in motion.tree.members[k].path[1:]:
        p = plus(p, motion.step(j, 0))
    return p
