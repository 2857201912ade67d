"""Orientations as unit quaternions (w, x, y, z), and a spring between two orientations.

The potential of the spring is V = 2 sum_i k_i e_i^2. The quaternion (e_w, e) rotates one orientation into the other and
is expressed in the axes of the ground. The torques are the gradients of V, so that the spring makes no energy on a
closed path, also with different stiffnesses about the axes. With equal stiffnesses k, the torque is k sin(angle) along
the axis of rotation. V is smooth and does not depend on the sign of the quaternion. It grows up to half a
turn; beyond it the torque acts towards the next full turn.
"""

from __future__ import annotations

import math

from kane.engine.call import native_inline
from kane.engine.memory.loop_arguments import Vector


@native_inline
def product(p: Vector, q: Vector, out: Vector) -> None:
    """Set ``out`` to the product p q, the rotation q followed by p."""
    out[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    out[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2]
    out[2] = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1]
    out[3] = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]


@native_inline
def turn_between(p: Vector, q: Vector, out: Vector) -> None:
    """Set ``out`` to p q*, the shorter rotation from q to p in the axes of the ground.

    The vector part ``out[1:]`` is half the rotation vector of a small rotation.
    """
    sign = 1.0 if p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3] >= 0.0 else -1.0
    out[0] = sign * (p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3])
    out[1] = sign * (p[1] * q[0] - p[0] * q[1] + p[3] * q[2] - p[2] * q[3])
    out[2] = sign * (p[2] * q[0] - p[0] * q[2] + p[1] * q[3] - p[3] * q[1])
    out[3] = sign * (p[3] * q[0] - p[0] * q[3] + p[2] * q[1] - p[1] * q[2])


@native_inline
def quaternion_of(R: Vector, out: Vector) -> None:
    """Set ``out`` to the unit quaternion of a rotation matrix by rows, starting from its largest component."""
    trace, k = R[0] + R[4] + R[8], 0
    for i in range(1, 3):
        k = i if R[4 * i] > R[4 * k] else k
    if trace > R[4 * k]:
        w = 0.5 * math.sqrt(1.0 + trace)
        out[0] = w
        out[1], out[2], out[3] = (R[7] - R[5]) / (4.0 * w), (R[2] - R[6]) / (4.0 * w), (R[3] - R[1]) / (4.0 * w)
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        x = 0.5 * math.sqrt(1.0 + 2.0 * R[4 * k] - trace)
        out[0] = (R[3 * j + i] - R[3 * i + j]) / (4.0 * x)
        out[1 + k] = x
        out[1 + i], out[1 + j] = (R[3 * k + i] + R[3 * i + k]) / (4.0 * x), (R[3 * k + j] + R[3 * j + k]) / (4.0 * x)


@native_inline
def spring_torque(e: Vector, k: Vector, i: int, side: float) -> float:
    """Return component i of 2 (e_w K e + side e x K e).

    The torque on the following body has side -1; minus the torque on the leading body has side 1.
    """
    a, b = (i + 1) % 3, (i + 2) % 3
    return float(2.0 * (e[0] * k[i] * e[1 + i] + side * e[1 + a] * e[1 + b] * (k[b] - k[a])))
