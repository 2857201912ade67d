"""Angular velocities and velocities in two forms: as whole measure numbers, and linear in the speeds.

As in Kane & Levinson 1983, products use the implicit form (whole measure numbers). The explicit form (coefficients of
u) gives the partial velocities. Each vector is measured along the axes of one body, which is chosen by cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.spatial import minus, plus, times
from kane.formulation.tree.speeds import Speeds
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, Triple, cross, is_zero

# A component of a constant direction below this fraction of the largest component is round-off of rotations.
DIRECTION_ROUND_OFF = 1e-14


@dataclass(frozen=True)
class VelocityForm:
    """Vector v = sum u[r] v_u[r] + v_t along the axes of one basis.

    Attributes:
        whole: its measure numbers, the implicit form.
        u: nonzero partial velocities, by speed: the explicit form.
        t: the remainder.
    """

    whole: Triple
    u: dict[int, Triple]
    t: Triple

    def plus(self, other: VelocityForm) -> VelocityForm:
        """Return the sum of two vectors along one basis."""
        u = dict(self.u)
        for r, v in other.u.items():
            u[r] = plus(u[r], v) if r in u else v
        return _form(plus(self.whole, other.whole), u, plus(self.t, other.t))

    def turned(self, R: Rotation) -> VelocityForm:
        """Return the same vector along other axes; R transforms components from the present axes to the new ones."""
        if not R.factors:
            return self
        u = {r: turned(R, v) for r, v in self.u.items()}
        return VelocityForm(turned(R, self.whole), u, turned(R, self.t))

    def cross(self, p: Triple) -> VelocityForm:
        """Return self x p."""
        if all(is_zero(x) for x in p):
            return ZERO_VELOCITY_FORM
        return _form(cross(self.whole, p), {r: cross(v, p) for r, v in self.u.items()}, cross(self.t, p))


ZERO_VELOCITY_FORM = VelocityForm(ZERO_VECTOR, {}, ZERO_VECTOR)


def _form(whole: Triple, u: dict[int, Triple], t: Triple) -> VelocityForm:
    return VelocityForm(_projected(whole), {r: v for r, v in u.items() if not all(map(is_zero, v))}, _projected(t))


def _projected(v: Triple) -> Triple:
    return ZERO_VECTOR if all(is_zero(x) for x in v) else v


def turned(R: Rotation, v: Sequence[Any]) -> Triple:
    """Return R v; components of a constant direction that a factor does not change stay exact."""
    if v is ZERO_VECTOR:
        return ZERO_VECTOR
    found: Any = tuple(v)
    for factor in reversed(R.factors):
        found = factor.apply(found)
        if not any(x.__class__ is Expr for x in found):
            found = _cleaned(found)
    return found


def _cleaned(v: Sequence[float]) -> Triple:
    size = max(abs(x) for x in v)
    kept = [0.0 if abs(x) <= DIRECTION_ROUND_OFF * size else x for x in v]
    x, y, z = (float(round(x)) if abs(abs(x) - 1.0) <= DIRECTION_ROUND_OFF else x for x in kept)
    return x, y, z


class Velocities:
    """Velocities w_NB and v_NP of the bodies and points of a tree, computed on demand and cached.

    Attributes:
        bases: for each member the bodies (Y, X). The displacement from the parent is added along the axes of Y, one of
            the parent's bases. Velocities of the member's points are along the axes of X: the body, its parent, or Y.
    """

    def __init__(self, tree: BodyTree, speeds: Speeds) -> None:
        self.tree, self.speeds = tree, speeds
        self.bases = [(m.parent, k) for k, m in enumerate(tree.members)]
        self._rotations: dict[tuple[int, int], Rotation] = {}
        self._turning: dict[tuple[int, int], VelocityForm] = {}
        self._sliding: dict[int, VelocityForm] = {0: ZERO_VELOCITY_FORM}

    def rotation(self, to: int, start: int) -> Rotation:
        """Return R_XY, from the axes of member ``start`` to the axes of member ``to``."""
        if to == start:
            return Rotation.identity()
        if (to, start) not in self._rotations:
            members = self.tree.members
            if members[start].path[: len(members[to].path)] == members[to].path:  # to is an ancestor
                R = self.rotation(to, members[start].parent) @ self.tree.joined(start).R_PB
            else:
                R = self.tree.joined(to).R_PB.inverse() @ self.rotation(members[to].parent, start)
            self._rotations[to, start] = R
        return self._rotations[to, start]

    def _from_M(self, k: int, basis: int) -> Rotation:
        """Return the rotation from M of a member's joint to the axes of the member or of a preceding one."""
        joint = self.tree.joined(k)
        return joint.connection.R_CM if basis == k else self.rotation(basis, self.tree.members[k].parent) @ joint.R_PM

    def relative(self, k: int, basis: int) -> tuple[VelocityForm, VelocityForm]:
        """Return w_PB, and v of Mo in P, of a member's joint, along the axes of ``basis``."""
        R, motion = self._from_M(k, basis), self.tree.joined(k).motion
        return self._combined(k, motion.w_FM_u, R), self._combined(k, motion.v_FM_u, R)

    def _combined(self, k: int, columns: Sequence[Triple], R: Rotation) -> VelocityForm:
        total, first = ZERO_VELOCITY_FORM, self.tree.members[k].first
        for i, column in enumerate(columns):
            v = turned(R, column)
            if any(not is_zero(x) for x in column):
                row = self.speeds.C[first + i]
                u = {r: v if c.is_constant and c.data == 1.0 else times(c, v) for r, c in row.items()}
                whole = times(self.speeds.natural[first + i], v)
                total = total.plus(_form(whole, u, times(self._free[first + i], v)))
        return total

    def joint_acceleration(self, k: int, basis: int, natural: Sequence[Any]) -> tuple[Triple, Triple]:
        """Return alpha_FM and a_FMo along the axes of ``basis``, for given accelerations of the natural speeds."""
        R, motion = self._from_M(k, basis), self.tree.joined(k).motion
        alpha, a = turned(R, motion.alpha_t), turned(R, motion.a_t)
        for w_u, v_u, x in zip(motion.w_FM_u, motion.v_FM_u, natural[self.tree.members[k].first :], strict=False):
            alpha, a = plus(alpha, times(x, turned(R, w_u))), plus(a, times(x, turned(R, v_u)))
        return _projected(alpha), _projected(a)

    @cached_property
    def _free(self) -> list[Any]:
        """Return the parts of the natural speeds that are free of u: prescribed motion."""
        zero = {u: u.arena.zero for u in self.speeds.u}
        return substitute_nodes(self.speeds.natural, zero) if self.speeds.natural else []

    def angular(self, k: int, basis: int) -> VelocityForm:
        """Return w_NB of a member, along the axes of ``basis``: the member itself, a preceding or a following one."""
        if k == 0:
            return ZERO_VELOCITY_FORM
        if (k, basis) not in self._turning:
            members = self.tree.members
            if basis == k or basis in members[k].path:
                parent = members[k].parent
                carried = self.angular(parent, parent).turned(self.rotation(k, parent)) if basis == k else None
                carried = self.angular(parent, basis) if carried is None else carried
                self._turning[k, basis] = carried.plus(self.relative(k, basis)[0])
            else:
                self._turning[k, basis] = self.angular(k, k).turned(self.rotation(basis, k))
        return self._turning[k, basis]

    def step(self, k: int, basis: int) -> Triple:
        """Return the displacement from the parent's joint point Mo to the member's, along the axes of ``basis``."""
        joint, above = self.tree.joined(k), self.tree.members[self.tree.members[k].parent]
        c = joint.connection
        p = plus(c.p_PF, turned(c.R_PF, joint.motion.p_FM))
        if above.connection is not None:
            p = minus(p, above.connection.p_CM)
        return turned(self.rotation(basis, self.tree.members[k].parent), _projected(p))

    def arm(self, k: int, point: Triple) -> Triple:
        """Return the displacement from a member's joint point Mo to a point in its frame, along its points' basis."""
        c = self.tree.members[k].connection
        r = point if c is None else minus(point, c.p_CM)
        return turned(self.rotation(self.bases[k][1], k), _projected(r))

    def origin(self, k: int) -> VelocityForm:
        """Return v of a member's joint point Mo, along the axes of its points' basis."""
        if k not in self._sliding:
            (Y, X), P = self.bases[k], self.tree.members[k].parent
            carried = self.origin(P).turned(self.rotation(Y, self.bases[P][1]))
            carried = carried.plus(self.angular(P, Y).cross(self.step(k, Y)))
            self._sliding[k] = carried.turned(self.rotation(X, Y)).plus(self.relative(k, X)[1])
        return self._sliding[k]

    def point(self, k: int, point: Triple) -> VelocityForm:
        """Return v of a point given in a member's frame, along the axes of the member's points' basis."""
        if k == 0:
            return ZERO_VELOCITY_FORM
        return self.origin(k).plus(self.angular(k, self.bases[k][1]).cross(self.arm(k, point)))

    def use(self, k: int, bases: tuple[int, int]) -> None:
        """Set the bases (Y, X) of a member; Y precedes it, and X is Y or a member between Y and its own axes."""
        self.bases[k] = bases
        self._sliding = {0: ZERO_VELOCITY_FORM}
