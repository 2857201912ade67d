"""Poses and mass properties as plain numbers, for importers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from kane.deferred import dataclass
from kane.geometry.inertia import combine, of_six, rotated_inertia, six
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import quarter_turns
from kane.geometry.scalars import NumberMatrix

XYZ: TypeAlias = tuple[float, float, float]

# Angles within this of a multiple of pi/2 count as equal to it [rad], because files give angles to 10 digits or more.
RIGHT_ANGLE_SLACK = 1e-9
# Entries below this fraction of the largest count as zero: sums of a few terms have rounding errors of a few 1e-16.
POOLED_MASS_ROUNDING = 1e-14

POSE_ORIGIN: XYZ = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class FramePose:
    """Pose of frame B in frame A: rotation R_AB and position p_AoBo_A [m]."""

    rotation: Rotation
    position: XYZ

    def then(self, other: FramePose) -> FramePose:
        """Return the pose of C in A, where ``other`` is the pose of C in B."""
        x, y, z = map(float, self.rotation.apply(other.position))
        a, b, c = self.position
        rotation = self.rotation @ other.rotation
        if len(rotation.factors) > 3:
            # Up to three factors (roll, pitch, yaw) are cheaper kept separate; longer chains are cheaper as one matrix.
            rotation = Rotation.matrix(rotation.as_numpy())
        return FramePose(rotation, (a + x, b + y, c + z))


def no_pose() -> FramePose:
    """Return the pose of a frame in itself."""
    return FramePose(Rotation.identity(), POSE_ORIGIN)


def snap_right_angle(angle: float) -> float:
    """Return the multiple of pi/2 within 1e-9 rad of ``angle``, else ``angle`` itself."""
    turns = quarter_turns(angle, RIGHT_ANGLE_SLACK)
    return angle if turns is None else turns * (math.pi / 2.0)


def unit_vector(axis: Sequence[float]) -> XYZ:
    """Return the unit vector along a nonzero ``axis``; components below 1e-9 of the largest become zero."""
    largest = max(map(abs, axis))
    x, y, z = (c / largest if abs(c / largest) > RIGHT_ANGLE_SLACK else 0.0 for c in axis)
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


@dataclass(frozen=True, slots=True)
class MassProperties:
    """Mass m [kg], mass centre p_BoBcm_B [m] and central inertia I_BBcm_B [kg m^2] of a rigid body B."""

    mass: float
    com: XYZ
    inertia: NumberMatrix

    def seen_from(self, pose: FramePose) -> MassProperties:
        """Return the mass properties in frame A, where ``pose`` is the pose of B in A."""
        com = pose.then(FramePose(Rotation.identity(), self.com)).position
        return MassProperties(self.mass, com, rotated_inertia(self.inertia, pose.rotation))


NO_MASS = MassProperties(0.0, POSE_ORIGIN, of_six((0.0,) * 6))


def lump(parts: Sequence[MassProperties]) -> MassProperties:
    """Return the total mass properties of rigidly joined bodies, given in one frame; set rounding errors to zero."""
    mass, com, inertia = combine([(part.mass, part.com, part.inertia) for part in parts])
    x, y, z = map(float, com)
    entries = tuple(map(float, six(inertia)))
    if len(parts) > 1:
        reach = POOLED_MASS_ROUNDING * max(abs(c) for part in parts for c in part.com)
        x, y, z = (c if abs(c) > reach else 0.0 for c in (x, y, z))
        slack = POOLED_MASS_ROUNDING * max(map(abs, entries))
        entries = tuple(e if abs(e) > slack else 0.0 for e in entries)
    return MassProperties(float(mass), (x, y, z), of_six(entries))
