"""Computational frames K: for each link, the frame in which the recursions need the fewest operations.

For a turning joint, z lies along the joint axis, and x along the common perpendicular to the next turning joint's axis.
The origin is on that perpendicular. The step from one link to the next is then a rotation about x, a rotation about z,
and one displacement along each axis. A sliding link keeps the axes of its parent. All other links keep the joint frame
M. The choice changes no result, because results are given in the user's frames.

Source: Hartenberg and Denavit; Angeles et al. 1988, Sec. 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.formulation.tree.links import Link
from kane.formulation.tree.spatial import minus, plus
from kane.formulation.tree.speeds import Speeds
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary, Factor
from kane.geometry.scalars import ZERO_VECTOR, Triple, is_zero
from kane.model.joints.joint import JointMotion

# A distance or first moment across an axis must exceed LEAST_AXIS_DISTANCE to define the direction of x. Lengths below
# ROTATION_ROUND_OFF times the model's size count as zero, because they are round-off of rotations.
LEAST_AXIS_DISTANCE = 1e-9
ROTATION_ROUND_OFF = 1e-13
# Smallest sine of the angle between two axes for which their common perpendicular is used. The perpendicular may be
# 1/sine times as far away as the joints. Second moments about a point at this distance lose 2 log10(1/sine) digits.
SKEW = 1e-2
# Value of all angles and parameters for which ``_keeps`` checks a rotation numerically.
SOMEWHERE = 0.7


@dataclass(frozen=True)
class Step:
    """Transformation from the frame K of the parent link P to the frame K of a link.

    Attributes:
        R: R_PK.
        p: from O_P to the foot point on the joint, in P's K [m].
        d: from the foot point to O_K, in K [m].
        w_u, v_u: partial velocities of the joint's natural speeds, in K; v_u are velocities of the foot point.
        alpha_t, a_t: parts of the joint's accelerations that are free of udot, in K.
        R_LK, p_LK: pose of K in the link's frame L.
    """

    R: Rotation
    p: Triple
    d: Triple
    w_u: tuple[Triple, ...]
    v_u: tuple[Triple, ...]
    alpha_t: Triple
    a_t: Triple
    R_LK: Rotation
    p_LK: Triple


@dataclass
class _Axes:
    """Axis of a link's joint, None if not constant in L; pose of its frame K in L, None before it is chosen."""

    turns: np.ndarray | None = None
    slides: np.ndarray | None = None
    R_LK: Rotation | None = None
    offset: Triple = ZERO_VECTOR  # from Mo to O_K, in K
    may_slide: bool = False  # whether O_K may be anywhere on the axis


def computational_frames(links: list[Link], speeds: Speeds) -> list[Step]:
    """Return the step to every link from its parent; the first entry, for the ground, is the identity."""
    motions = [None if k.connection is None else speeds.motion[k.connection] for k in links]
    size = _size(links)
    axes = [_Axes() if m is None else _axes(k, m) for k, m in zip(links, motions, strict=True)]
    still = Step(
        Rotation.identity(),
        ZERO_VECTOR,
        ZERO_VECTOR,
        (),
        (),
        ZERO_VECTOR,
        ZERO_VECTOR,
        Rotation.identity(),
        ZERO_VECTOR,
    )
    axes[0].R_LK = Rotation.identity()
    steps = [still]
    for index in range(1, len(links)):
        _orient(index, links, axes)
        motion = motions[index]
        assert motion is not None
        steps.append(_step(index, links, axes, motion, size))
    return steps


def _size(links: list[Link]) -> float:
    # Omit positions of joints on the ground: they may be far from the origin and say nothing about the model's size.
    places = [(*(k.p_PF if k.parent else ()), *k.connection.p_CM) for k in links if k.connection]
    lengths = [x for place in places for x in place if not isinstance(x, Expr)]
    return max((abs(x) for x in lengths), default=0.0) or 1.0


def _axes(link: Link, motion: JointMotion) -> _Axes:
    """Return the axis, in L, of a joint that only turns or only slides about or along one constant direction."""
    assert link.connection is not None
    R_CM = link.connection.R_CM
    if len(motion.w_FM_u) != 1 or not (R_CM.is_constant and link.R_PF.is_constant):
        return _Axes()
    w, v = motion.w_FM_u[0], motion.v_FM_u[0]
    if any(x.__class__ is Expr for x in (*w, *v)) or not all(is_zero(x) for x in (*motion.alpha_t, *motion.a_t)):
        return _Axes()
    turns, slides = any(w), any(v)
    direction = R_CM.as_numpy() @ np.array(w if turns else v, dtype=float)
    length = float(np.linalg.norm(direction))  # the angle 2 q has a partial velocity of length 2
    direction = direction / length if length and abs(length - 1.0) > LEAST_AXIS_DISTANCE else direction
    if turns and not slides and _keeps(motion.R_FM, w):
        return _Axes(turns=direction)
    return _Axes(slides=direction) if slides and not turns and not motion.R_FM.factors else _Axes()


def _keeps(R_FM: Rotation, axis: Triple) -> bool:
    """Check whether the axis about which M turns has the same components in F as in M."""
    if len(R_FM.factors) == 1 and isinstance(R_FM.factors[0], Elementary):
        return True
    differences = [x - a for x, a in zip(R_FM.apply(axis), axis, strict=True)]
    unknown = [x for x in differences if x.__class__ is Expr]
    found = interpret(unknown, dict.fromkeys(leaves(unknown), SOMEWHERE))
    return all(abs(x) <= LEAST_AXIS_DISTANCE for x in (*found, *(x for x in differences if x.__class__ is not Expr)))


def _main_child(link: Link, links: list[Link]) -> int | None:
    return max(link.children, key=lambda c: links[c].followers, default=None)


def _ahead(index: int, links: list[Link], axes: list[_Axes]) -> tuple[Triple, np.ndarray | None] | None:
    """Return position and axis, in L, of the next joint outwards that does not only slide.

    The position is from Mo, with all slides in between at zero. The axis is None if the joint has no constant axis. The
    result is None if there is no such joint, or if the orientation of a joint frame in between is not constant.
    """
    connection = links[index].connection
    assert connection is not None
    R, p, at = Rotation.identity(), minus(ZERO_VECTOR, connection.p_CM), index
    while (child := _main_child(links[at], links)) is not None:
        joint = links[child].connection
        assert joint is not None
        if not (links[child].R_PF.is_constant and joint.R_CM.is_constant):
            return None
        p = plus(p, R.apply(links[child].p_PF))
        R = R @ links[child].R_PF @ joint.R_CM.inverse()
        if axes[child].slides is None:
            turns = axes[child].turns
            return p, None if turns is None else R.as_numpy() @ turns
        p = minus(p, R.apply(joint.p_CM))
        at = child
    return None


def _orient(index: int, links: list[Link], axes: list[_Axes]) -> None:
    """Choose R_LK and the offset of O_K from Mo."""
    mine, link = axes[index], links[index]
    assert link.connection is not None
    if mine.slides is not None:
        parent = axes[link.parent].R_LK
        assert parent is not None
        mine.R_LK = (link.connection.R_CM @ link.R_PF.inverse()) @ parent
        return
    mine.R_LK = link.connection.R_CM
    if mine.turns is None:
        return
    z = mine.turns
    found = _ahead(index, links, axes)
    x = _common_perpendicular(z, found) if found is not None else _principal_direction(z, link)
    mine.R_LK = _with_axes(_default_x(z, link) if x is None else x, z)
    height = None if found is None else _height(found, mine.R_LK)
    mine.may_slide = height is None
    mine.offset = ZERO_VECTOR if height is None else (0.0, 0.0, height)


def _default_x(z: np.ndarray, link: Link) -> np.ndarray:
    """Return a unit vector normal to z: a coordinate axis if z is a coordinate axis."""
    k = int(np.argmin(np.abs(z)))
    if np.abs(z).max() == 1.0:
        k = (int(np.argmax(np.abs(z))) + 1) % 3
    x = np.eye(3)[k] - z[k] * z
    return np.asarray(x / np.linalg.norm(x))


def _common_perpendicular(z: np.ndarray, found: tuple[Triple, np.ndarray | None]) -> np.ndarray | None:
    p, e = found
    if e is not None and np.linalg.norm(np.cross(z, e)) > SKEW:
        x = np.cross(z, e)
        return np.asarray(x / np.linalg.norm(x))
    if any(c.__class__ is Expr for c in p):
        return None
    across = np.array(p, dtype=float)
    across -= (across @ z) * z
    length = np.linalg.norm(across)
    return np.asarray(across / length) if length > LEAST_AXIS_DISTANCE else None


def _principal_direction(z: np.ndarray, link: Link) -> np.ndarray | None:
    """Return x towards the mass centre of an outermost link, so that the mass centre's second coordinate vanishes."""
    if any(c.__class__ is Expr for c in (*link.mc, link.mass)):
        return None
    assert link.connection is not None
    p_CM = link.connection.p_CM
    if any(c.__class__ is Expr for c in p_CM):
        return None
    across = np.array(link.mc, dtype=float) - link.mass * np.array(p_CM, dtype=float)
    across -= (across @ z) * z
    length = np.linalg.norm(across)
    scale = abs(link.mass) * max(1e-3, float(np.abs(np.array(p_CM, dtype=float)).max()))
    x = _default_x(z, link)
    if (
        length <= LEAST_AXIS_DISTANCE * scale
        or min(abs(across @ x), abs(across @ np.cross(z, x))) <= LEAST_AXIS_DISTANCE * length
    ):
        return None  # the mass centre is on a coordinate plane already: an angle offset would save nothing
    return np.asarray(across / length)


def _with_axes(x: np.ndarray, z: np.ndarray) -> Rotation:
    x = x - (x @ z) * z  # repeated, because a short difference of long vectors has few correct digits
    x = x / np.linalg.norm(x)
    return Rotation.matrix(np.column_stack([x, np.cross(z, x), z]).tolist())


def _height(found: tuple[Triple, np.ndarray | None], R_LK: Rotation) -> Any:
    """Return the coordinate along z, from Mo, of the common perpendicular to the next joint; None if parallel."""
    p, e = found
    p_K = R_LK.apply_inverse(p)
    if e is None:
        return p_K[2]
    e_K = R_LK.as_numpy().T @ e
    return None if abs(e_K[1]) <= SKEW else p_K[2] - p_K[1] * float(e_K[2] / e_K[1])


def _step(index: int, links: list[Link], axes: list[_Axes], motion: JointMotion, size: float) -> Step:
    link, mine, above = links[index], axes[index], axes[links[index].parent]
    connection = link.connection
    assert connection is not None
    assert mine.R_LK is not None
    assert above.R_LK is not None
    parent_origin = _origin(links[link.parent], above)
    R_KF = above.R_LK.inverse() @ link.R_PF
    R_MK = connection.R_CM.inverse() @ mine.R_LK
    p = above.R_LK.apply_inverse(minus(link.p_PF, parent_origin))
    if mine.slides is not None:
        # Let O_K coincide with O_P at q = 0, so that the displacement is along the axis alone.
        mine.offset = minus(ZERO_VECTOR, p)
        p, d = R_KF.apply(motion.p_FM), ZERO_VECTOR
    else:
        p, d = _foot(p, index, links, axes)
        p = plus(p, R_KF.apply(motion.p_FM))
    cleaned = [tuple(_clean(c, size) for c in v) for v in (p, d)]
    bring = R_MK.apply_inverse
    w_u = tuple(_unit_cleaned(bring(w)) for w in motion.w_FM_u)
    v_u = tuple(_unit_cleaned(bring(v)) for v in motion.v_FM_u)
    R = canonical(R_KF @ motion.R_FM @ R_MK)
    p_LK = plus(connection.p_CM, mine.R_LK.apply(mine.offset))
    return Step(R, cleaned[0], cleaned[1], w_u, v_u, bring(motion.alpha_t), bring(motion.a_t), mine.R_LK, p_LK)


def _origin(link: Link, axes: _Axes) -> Triple:
    """Return the position of O_K in L."""
    if link.connection is None or axes.R_LK is None:
        return ZERO_VECTOR
    return plus(link.connection.p_CM, axes.R_LK.apply(axes.offset))


def _foot(p: Triple, index: int, links: list[Link], axes: list[_Axes]) -> tuple[Triple, Triple]:
    """Return p and d with the foot point moved along the turning axis so that one component of p vanishes."""
    mine, link = axes[index], links[index]
    above = axes[link.parent].R_LK
    if mine.turns is None or above is None or not above.is_constant or links[link.parent].connection is None:
        return p, mine.offset
    assert link.connection is not None
    e = (above.inverse() @ link.R_PF @ link.connection.R_CM.inverse()).as_numpy() @ mine.turns
    e = np.where(np.abs(e) <= 10 * ROTATION_ROUND_OFF, 0.0, e)
    k = int(np.argmax(np.abs(e)))
    t = -p[k] * (1.0 / float(e[k]))
    p = tuple(0.0 if i == k else p[i] + t * float(e[i]) if e[i] else p[i] for i in range(3))
    if mine.may_slide:
        mine.offset = (0.0, 0.0, t)
        return p, ZERO_VECTOR
    return p, minus(mine.offset, (0.0, 0.0, t))


def _clean(x: Any, size: float) -> Any:
    return x if isinstance(x, Expr) or abs(x) > ROTATION_ROUND_OFF * size else 0.0


def _unit_cleaned(v: Triple) -> Triple:
    """Round components of a constant direction to the nearest integer if they differ from it only by round-off."""
    if any(x.__class__ is Expr for x in v):
        return v
    return tuple(float(round(x)) if abs(x - round(x)) < ROTATION_ROUND_OFF * 10 else x for x in map(float, v))


# Rotations that bring z to the axis of a variable factor.
_TO_AXIS = {
    0: Rotation((Elementary(1, math.pi / 2),)),
    1: Rotation((Elementary(0, -math.pi / 2),)),
    2: Rotation.identity(),
}


def canonical(R: Rotation) -> Rotation:
    """Rewrite a rotation: constants as Rz Rx Rz, variable elementary factors about z, so that neighbours merge."""
    factors: list[Factor] = []
    constant = Rotation.identity()
    for factor in R.factors:
        if factor.is_constant:
            constant = constant @ Rotation((factor,))
        elif isinstance(factor, Elementary):
            to = _TO_AXIS[factor.axis]
            factors.extend(_zxz(constant @ to))
            factors.append(Elementary(2, factor.angle))
            constant = to.inverse()
        else:
            factors.extend(_zxz(constant))
            factors.append(factor)
            constant = Rotation.identity()
    return Rotation((*factors, *_zxz(constant)))


def _zxz(constant: Rotation) -> list[Factor]:
    if not constant.factors:
        return []
    beta, alpha, gamma = constant.euler_zxz()
    return [Elementary(2, beta), Elementary(0, alpha), Elementary(2, gamma)]
