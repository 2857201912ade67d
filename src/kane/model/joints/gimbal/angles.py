"""Numeric conversion between Euler angles and rotations, and the angular velocity of angle rates."""

from __future__ import annotations

import math

import numpy as np

Axes = tuple[int, ...]

# If the sine of the distance to the singularity is below this, the first and third axis count as parallel.
GIMBAL_LOCK_SINE = 1e-12


def angular_velocity_matrix(axes: Axes, q: np.ndarray) -> np.ndarray:
    """Return W of w_FM = W dq/dt in M, at angles q (..., n): shape (..., 3, n)."""
    W = np.zeros((*q.shape[:-1], 3, len(axes)))
    for r, k in enumerate(axes):
        i, j = (k + 1) % 3, (k + 2) % 3
        c, s = np.cos(q[..., r, None]), np.sin(q[..., r, None])
        a, b = W[..., i, :r].copy(), W[..., j, :r].copy()
        W[..., i, :r], W[..., j, :r] = c * a + s * b, c * b - s * a
        W[..., k, r] = 1.0
    return W


def turn(axis: int, angle: np.ndarray) -> np.ndarray:
    """Return the rotation about one axis by angle (...): shape (..., 3, 3)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.zeros((*np.shape(angle), 3, 3))
    R[..., axis, axis] = 1.0
    R[..., i, i] = R[..., j, j] = np.cos(angle)
    R[..., j, i] = np.sin(angle)
    R[..., i, j] = -R[..., j, i]
    return R


def rotation_matrix(axes: Axes, q: np.ndarray) -> np.ndarray:
    """Return R_FM at angles q (..., n): shape (..., 3, 3)."""
    R = turn(axes[0], q[..., 0])
    for r in range(1, len(axes)):
        R = R @ turn(axes[r], q[..., r])
    return R


def angles_along(axes: Axes, R: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return three angles along a trajectory of rotations (times, 3, 3), each nearest to its predecessor.

    The predecessor of the first is ``near``. The angles (a, b, c) give the same rotation as (a + pi, -b, c + pi) if the
    first and third axis are equal, or as (a + pi, pi - b, c + pi) if all axes differ. Multiples of 2 pi may be added.
    If the first and third axis are parallel, the third angle keeps its value.
    """
    b, c, sine = _second_and_third(axes, R)
    a = _first(axes, R, b, c)
    middle = 0.0 if axes[0] == axes[2] else math.pi
    found, last = np.empty((len(R), 3)), tuple(map(float, near))
    for k, one in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        if sine[k] < GIMBAL_LOCK_SINE:
            one = float(_first(axes, R[k], b[k], np.asarray(last[2]))), one[1], last[2]
        same = _turned(one, last)
        flipped = _turned((one[0] + math.pi, middle - one[1], one[2] + math.pi), last)
        last = min(same, flipped, key=lambda angles: math.dist(angles, last))
        found[k] = last
    return found


def angles_continued(axes: Axes, q: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return equivalent angles of a trajectory q (times, 3) that begin next to ``near`` and are equally smooth.

    They are q plus multiples of 2 pi, or the flipped angles of ``angles_along`` throughout.
    """
    first = angles_along(axes, rotation_matrix(axes, q[:1]), near)[0]
    flipped = round((first[0] - q[0, 0]) / math.pi) % 2 == 1
    return first + (q - q[0]) * ([1.0, -1.0, 1.0] if flipped else 1.0)


def _second_and_third(axes: Axes, R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return b and c from the first axis as seen in M, and the sine of the distance to the singularity."""
    i, j, k = axes
    v, sign = R[..., i, :], 1.0 if j == (i + 1) % 3 else -1.0
    if i == k:  # v = cos b e_i + sin b (sin c e_j + sign cos c e_l)
        other = 3 - i - j
        sine = np.hypot(v[..., j], v[..., other])
        return np.arctan2(sine, v[..., i]), np.arctan2(v[..., j], sign * v[..., other]), sine
    # v = cos b (cos c e_i - sign sin c e_j) + sign sin b e_k
    cosine = np.hypot(v[..., i], v[..., j])
    return np.arctan2(sign * v[..., k], cosine), np.arctan2(-sign * v[..., j], v[..., i]), cosine


def _first(axes: Axes, R: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a, given b and c; if the first and third axis are parallel, the given c determines it."""
    left = R @ turn(axes[2], -c) @ turn(axes[1], -b)
    p, q = (axes[0] + 1) % 3, (axes[0] + 2) % 3
    return np.arctan2(left[..., q, p], left[..., p, p])


def _turned(angles: tuple[float, ...], near: tuple[float, ...]) -> tuple[float, ...]:
    """Return the angles plus multiples of 2 pi, each nearest to ``near``."""
    return tuple(x + math.tau * round((y - x) / math.tau) for x, y in zip(angles, near, strict=True))
