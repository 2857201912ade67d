"""Accelerations of bodies and points, in the bases of their velocities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.formulation.explicit.velocity_forms import Velocities, turned
from kane.formulation.tree.spatial import plus, times
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Triple, cross, dot, is_zero


class Accelerations:
    """alpha_NB and a_NP for given accelerations of the natural speeds; without udot these are the remainders.

    Args:
        velocities: velocities of the same tree.
        natural: accelerations of the natural speeds [rad/s^2, m/s^2].
        ground: acceleration of the ground; -g makes the weight of the bodies an inertia force.
    """

    def __init__(self, velocities: Velocities, natural: Sequence[Any], ground: Triple = ZERO_VECTOR) -> None:
        self.velocities, self.natural, self.ground = velocities, natural, ground
        self._turning: dict[tuple[int, int], Triple] = {}
        self._sliding: dict[int, Triple] = {0: ground}

    def angular(self, k: int, basis: int) -> Triple:
        """Return alpha_NB of a member, along the axes of ``basis``: the member itself or a preceding one."""
        if k == 0:
            return ZERO_VECTOR
        if (k, basis) not in self._turning:
            motion, parent = self.velocities, self.velocities.tree.members[k].parent
            own = motion.joint_acceleration(k, basis, self.natural)[0]
            relative = motion.relative(k, basis)[0].whole
            if basis == k:
                carried = turned(motion.rotation(k, parent), self.angular(parent, parent))
                turning = cross(motion.angular(k, k).whole, relative)
            else:
                carried = self.angular(parent, basis)
                turning = cross(motion.angular(parent, basis).whole, relative)
            self._turning[k, basis] = plus(plus(carried, turning), own)
        return self._turning[k, basis]

    def field(self, k: int, basis: int) -> NumberMatrix:
        """Return [alpha x] + [w x][w x] of a member: the gradient of its points' accelerations over their position."""
        x, y, z = self.velocities.angular(k, basis).whole
        ax, ay, az = self.angular(k, basis)
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        return (-(yy + zz), xy - az, xz + ay), (xy + az, -(xx + zz), yz - ax), (xz - ay, yz + ax, -(xx + yy))

    def _from(self, k: int, basis: int, p: Triple) -> Triple:
        if k == 0 or all(is_zero(x) for x in p):
            return ZERO_VECTOR
        rows = self.field(k, basis)
        return dot(rows[0], p), dot(rows[1], p), dot(rows[2], p)

    def origin(self, k: int) -> Triple:
        """Return a of a member's joint point Mo, along the axes of its points' basis."""
        if k not in self._sliding:
            motion = self.velocities
            (Y, X), P = motion.bases[k], motion.tree.members[k].parent
            a = turned(motion.rotation(Y, motion.bases[P][1]), self.origin(P))
            a = turned(motion.rotation(X, Y), plus(a, self._from(P, Y, motion.step(k, Y))))
            sliding = motion.relative(k, X)[1].whole
            if sliding is not ZERO_VECTOR:
                a = plus(a, cross(times(2.0, motion.angular(P, X).whole), sliding))
                a = plus(a, motion.joint_acceleration(k, X, self.natural)[1])
            self._sliding[k] = a
        return self._sliding[k]

    def point(self, k: int, point: Triple) -> Triple:
        """Return a of a point given in a member's frame, along the axes of the member's points' basis."""
        motion = self.velocities
        return plus(self.origin(k), self._from(k, motion.bases[k][1], motion.arm(k, point))) if k else self.ground

    def forget(self) -> None:
        """Discard the accelerations of points after a change of bases."""
        self._sliding = {0: self.ground}
