"""Motion of a joint from its pose, by differentiation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kane.expression.derivative import forward
from kane.expression.node import Expr, Scalar
from kane.expression.operations import COORDINATE
from kane.expression.traverse import substitute_nodes
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary, Factor
from kane.geometry.scalars import ZERO_VECTOR, Triple, cross, dot, folded, sum_vectors
from kane.model.joints.joint import JointMotion

VectorColumns = tuple[Triple, ...]


def motion_of_pose(R_FM: Rotation, p_FM: Triple, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
    """Return the motion with u = dq/dt of a joint given by R_FM(q) and p_FM(q).

    R_FM is a product of factors F. Multiplication by one factor, R' = R F, changes w_u and alpha_t as follows, with
    w = sum_r w_u[r] u[r] and f = sum_r f_u[r] u[r]:

        w'_u = F^T w_u + f_u            alpha_t' = F^T alpha_t + (F^T w) x f + (df_u/dt) u

    Here f_u are the partial angular velocities of F alone, from F^T dF/dq. The velocities are v_u = R^T dp/dq and
    a_t = R^T (d(dp/dq)/dt) u.

    Args:
        R_FM: orientation as a function of q.
        p_FM: position as a function of q [m].
        q: coordinate leaves, at least one.
        u: their rates.
    """
    w_u: VectorColumns = (ZERO_VECTOR,) * len(q)
    alpha_t = ZERO_VECTOR
    for factor in R_FM.factors:
        w_u = tuple(factor.apply_inverse(column) for column in w_u)
        alpha_t = factor.apply_inverse(alpha_t)
        if factor.is_constant:
            continue
        own = _turning(factor, q)
        alpha_t = sum_vectors(alpha_t, cross(_along(w_u, u), _along(own, u)), _along(_changes(own, q, u), u))
        w_u = tuple(sum_vectors(a, b) for a, b in zip(w_u, own, strict=True))
    slopes = _slopes(p_FM, q)
    v_u = tuple(R_FM.apply_inverse(column) for column in slopes)
    a_t = R_FM.apply_inverse(_along(_changes(slopes, q, u), u))
    w_u, v_u = tuple(map(folded, w_u)), tuple(map(folded, v_u))
    return JointMotion(R_FM, p_FM, w_u, v_u, folded(alpha_t), folded(a_t), tuple(u))


def own_leaves(q: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the coordinates, with expressions replaced by leaves, so that functions can be differentiated by them."""
    return tuple(x if x.op == COORDINATE else x.arena.leaf(COORDINATE, "coordinate of a custom joint") for x in q)


def moved_to(motion: JointMotion, images: Mapping[Expr, Expr], R_FM: Rotation, p_FM: Triple) -> JointMotion:
    """Return the motion with its coordinates replaced by expressions; R_FM and p_FM already contain these."""

    def moved(v: Triple) -> Triple:
        return folded(substitute_nodes([arena.lift(x) for x in v], images))

    arena = next(iter(images)).arena
    w_u, v_u = tuple(map(moved, motion.w_FM_u)), tuple(map(moved, motion.v_FM_u))
    remainders = {"alpha_t": moved(motion.alpha_t), "a_t": moved(motion.a_t)}
    return replace(motion, R_FM=R_FM, p_FM=p_FM, w_FM_u=w_u, v_FM_u=v_u, **remainders)


def _turning(factor: Factor, q: Sequence[Expr]) -> VectorColumns:
    """Return the partial angular velocities of one factor, in its moving frame: vee(F^T dF/dq)."""
    if isinstance(factor, Elementary):
        rates = [slope for (slope,) in _slopes((factor.angle,), q)]
        return tuple(tuple(rate if k == factor.axis else 0.0 for k in range(3)) for rate in rates)
    x, y, z = zip(*factor.rows, strict=True)  # the axes of the moving frame
    columns = []
    for slope in _slopes([entry for row in factor.rows for entry in row], q):
        dx, dy, dz = slope[0::3], slope[1::3], slope[2::3]
        columns.append((dot(z, dy), dot(x, dz), dot(y, dx)))
    return tuple(columns)


def _slopes(values: Sequence[Scalar], q: Sequence[Expr]) -> VectorColumns:
    """Return d values/dq, one column for each coordinate."""
    lift = q[0].arena.lift
    lifted = [lift(x) for x in values]
    return tuple(folded(forward(lifted, {x: lift(1.0)})) for x in q)


def _changes(columns: VectorColumns, q: Sequence[Expr], u: Sequence[Expr]) -> VectorColumns:
    """Return d columns/dt along dq/dt = u."""
    lift = q[0].arena.lift
    rates = dict(zip(q, u, strict=True))
    return tuple(folded(forward([lift(x) for x in column], rates)) for column in columns)


def _along(columns: VectorColumns, u: Sequence[Expr]) -> Triple:
    """Return the sum of columns[r] u[r]."""
    return tuple(dot(row, u) for row in zip(*columns, strict=True))
