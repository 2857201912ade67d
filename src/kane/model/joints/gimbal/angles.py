"""The angles of a gimbal in numbers: rotation to angles and back, and the angular velocity of their rates."""

from __future__ import annotations

import math

import numpy as np

Axes = tuple[int, ...]

# Where the sine of the distance to the singularity is below this, two of the angles are one turn.
PARALLEL = 1e-12


def angular_velocity_matrix(axes: Axes, q: np.ndarray) -> np.ndarray:
    """W of w_FM = W dq/dt in M, at angles q (..., n): shape (..., 3, n)."""
    W = np.zeros((*q.shape[:-1], 3, len(axes)))
    for r, k in enumerate(axes):
        i, j = (k + 1) % 3, (k + 2) % 3
        c, s = np.cos(q[..., r, None]), np.sin(q[..., r, None])
        a, b = W[..., i, :r].copy(), W[..., j, :r].copy()
        W[..., i, :r], W[..., j, :r] = c * a + s * b, c * b - s * a
        W[..., k, r] = 1.0
    return W


def turn(axis: int, angle: np.ndarray) -> np.ndarray:
    """The rotation about one axis, angle (...): shape (..., 3, 3)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.zeros((*np.shape(angle), 3, 3))
    R[..., axis, axis] = 1.0
    R[..., i, i] = R[..., j, j] = np.cos(angle)
    R[..., j, i] = np.sin(angle)
    R[..., i, j] = -R[..., j, i]
    return R


def rotation_matrix(axes: Axes, q: np.ndarray) -> np.ndarray:
    """R_FM at angles q (..., n): shape (..., 3, 3)."""
    R = turn(axes[0], q[..., 0])
    for r in range(1, len(axes)):
        R = R @ turn(axes[r], q[..., r])
    return R


def angles_along(axes: Axes, R: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Three angles of a course of rotations (times, 3, 3), each next to the one before, the first to ``near``.

    The angles (a, b, c) are those of (a + pi, -b, c + pi), or of (a + pi, pi - b, c + pi) where the axes are three
    different ones, and of whole turns more; the nearest are taken. Where two of the turns are about one axis, the third
    angle stays.
    """
    b, c, sine = _second_and_third(axes, R)
    a = _first(axes, R, b, c)
    middle = 0.0 if axes[0] == axes[2] else math.pi
    found, last = np.empty((len(R), 3)), tuple(map(float, near))
    for k, one in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        if sine[k] < PARALLEL:
            one = float(_first(axes, R[k], b[k], np.asarray(last[2]))), one[1], last[2]
        same = _turned(one, last)
        flipped = _turned((one[0] + math.pi, middle - one[1], one[2] + math.pi), last)
        last = min(same, flipped, key=lambda angles: math.dist(angles, last))
        found[k] = last
    return found


def angles_continued(axes: Axes, q: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Three angles q (times, 3) by those of the same rotations that begin next to ``near`` and are as smooth.

    Whole turns more, or the angles (a + pi, -b, c + pi) of ``angles_along``, all along.
    """
    first = angles_along(axes, rotation_matrix(axes, q[:1]), near)[0]
    flipped = round((first[0] - q[0, 0]) / math.pi) % 2 == 1
    return first + (q - q[0]) * ([1.0, -1.0, 1.0] if flipped else 1.0)


def _second_and_third(axes: Axes, R: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """b and c, from the first axis as it is seen in M, and the sine of the distance to the singularity."""
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
    """a, from what the other two turns leave: right as a sum with c where these are about one axis."""
    left = R @ turn(axes[2], -c) @ turn(axes[1], -b)
    p, q = (axes[0] + 1) % 3, (axes[0] + 2) % 3
    return np.arctan2(left[..., q, p], left[..., p, p])


def _turned(angles: tuple[float, ...], near: tuple[float, ...]) -> tuple[float, ...]:
    """The same angles, whole turns added so that they are nearest."""
    return tuple(x + math.tau * round((y - x) / math.tau) for x, y in zip(angles, near, strict=True))
