"""Orientations as unit quaternions (w, x, y, z), and a spring between two of them.

The spring has the potential V = 2 sum_i k_i e_i^2, where (e_w, e) is the quaternion that turns the one orientation into
the other, in axes of the ground. It pulls each of the two by the gradient of V, so that it makes no energy on whatever
way it is taken, with other stiffnesses about each axis too; with one k about all it pulls by k sin(angle) along the
axis of the turn. V knows no sign of the quaternion and has no corner: it grows up to half a turn, and pulls to the next
one beyond.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline


@native_inline
def product(p: Any, q: Any, out: Any) -> None:
    """p q: first the rotation q, then p."""
    out[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    out[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2]
    out[2] = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1]
    out[3] = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]


@native_inline
def turn_between(p: Any, q: Any, out: Any) -> None:
    """p q*, the rotation from q to p in axes of the ground, the shorter way round; out[1:] is half of a small one."""
    sign = 1.0 if p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3] >= 0.0 else -1.0
    out[0] = sign * (p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3])
    out[1] = sign * (p[1] * q[0] - p[0] * q[1] + p[3] * q[2] - p[2] * q[3])
    out[2] = sign * (p[2] * q[0] - p[0] * q[2] + p[1] * q[3] - p[3] * q[1])
    out[3] = sign * (p[3] * q[0] - p[0] * q[3] + p[2] * q[1] - p[1] * q[2])


@native_inline
def quaternion_of(R: Any, out: Any) -> None:
    """The unit quaternion of a rotation matrix by rows, from the largest of its four numbers."""
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
def spring_torque(e: Any, k: Any, i: int, side: float) -> float:
    """Component i of 2 (e_w K e + side e x K e): side -1 for what follows, 1 for what leads, which feels minus that."""
    a, b = (i + 1) % 3, (i + 2) % 3
    return float(2.0 * (e[0] * k[i] * e[1 + i] + side * e[1 + a] * e[1 + b] * (k[b] - k[a])))
