"""Unit quaternions (w, x, y, z) as arrays of shape (..., 4), and their kinematics as expressions.

The quaternion q_FM represents the rotation R_FM: v_F = q v_M q*. Products follow Hamilton: R(p q) = R(p) R(q). All
functions of arrays broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kane.array_types import Array
from kane.geometry.scalars import Number, Triple

Quadruple: TypeAlias = "tuple[Number, ...]"


def multiply_quaternions(p: ArrayLike, q: ArrayLike) -> Array:
    """Return p q, the rotation q followed by p."""
    pw, px, py, pz = np.moveaxis(np.asarray(p, dtype=float), -1, 0)
    qw, qx, qy, qz = np.moveaxis(np.asarray(q, dtype=float), -1, 0)
    return np.stack(
        (
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ),
        axis=-1,
    )


def conjugate(q: ArrayLike) -> Array:
    """Return q*, the inverse rotation."""
    return np.asarray(q, dtype=float) * np.array((1.0, -1.0, -1.0, -1.0))


def normalized(q: ArrayLike) -> Array:
    """Return q / |q|; zero gives NaN."""
    given = np.asarray(q, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.asarray(given / np.linalg.norm(given, axis=-1, keepdims=True))


def normalise_quaternions(x: Array, starts: Iterable[int]) -> None:
    """Scale the quaternions that start at these places of a vector x, or of each row of x, to unit length."""
    for start in starts:
        part = x[..., start : start + 4]
        part /= np.linalg.norm(part) if x.ndim == 1 else np.linalg.norm(part, axis=-1, keepdims=True)


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Return v_F = q v_M q* = v + w t + r x t, where q = (w, r), t = 2 r x v and v = v_M, shape (..., 3)."""
    given, vector = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    w, r = given[..., :1], given[..., 1:]
    t = 2.0 * np.cross(r, vector)
    return np.asarray(vector + w * t + np.cross(r, t))


def from_matrix(R: ArrayLike) -> Array:
    """Return the quaternions with w >= 0 of rotation matrices, shape (..., 3, 3).

    The matrix 4 q q^T is linear in R. Its row with the largest diagonal entry is a multiple of q without cancellation.
    """
    m = np.moveaxis(np.asarray(R, dtype=float), (-2, -1), (0, 1))
    xw, yw, zw = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    xy, xz, yz = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    rows = (
        (1.0 + m[0, 0] + m[1, 1] + m[2, 2], xw, yw, zw),
        (xw, 1.0 + m[0, 0] - m[1, 1] - m[2, 2], xy, xz),
        (yw, xy, 1.0 - m[0, 0] + m[1, 1] - m[2, 2], yz),
        (zw, xz, yz, 1.0 - m[0, 0] - m[1, 1] + m[2, 2]),
    )
    outer = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    return normalized(np.where(q[..., :1] < 0.0, -q, q))


def exponential(phi: ArrayLike) -> Array:
    """Return exp(phi/2) = (cos |phi|/2, sin(|phi|/2) phi/|phi|) of rotation vectors phi [rad], shape (..., 3)."""
    vector = np.asarray(phi, dtype=float)
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate((np.cos(half), 0.5 * np.sinc(half / np.pi) * vector), axis=-1)


def logarithm(q: ArrayLike) -> Array:
    """Return the shortest rotation vector phi [rad] with q = +-exp(phi/2), shape (..., 3)."""
    given = np.asarray(q, dtype=float)
    given = np.where(given[..., :1] < 0.0, -given, given)
    w, r = given[..., :1], given[..., 1:]
    sine = np.linalg.norm(r, axis=-1, keepdims=True)
    nonzero = np.where(sine > 0.0, sine, 1.0)
    ratio = np.where(sine > 0.0, np.arctan2(sine, w) / nonzero, 1.0)
    return np.asarray(2.0 * ratio * r)


def integrate(q: ArrayLike, w_M: ArrayLike, dt: float) -> Array:
    """Return q exp(w_M dt/2), normalized: the orientation after the time dt with the constant angular velocity w_M.

    Args:
        q: q_FM, shape (..., 4).
        w_M: angular velocity of M in F, along the axes of M, shape (..., 3) [rad/s].
        dt: time step [s].
    """
    return normalized(multiply_quaternions(q, exponential(np.asarray(w_M, dtype=float) * dt)))


def rotation_vector_between(q0: ArrayLike, q1: ArrayLike) -> Array:
    """Return the shortest phi_M [rad] with q1 = +-q0 exp(phi_M/2), shape (..., 3): the inverse of ``integrate``."""
    return logarithm(multiply_quaternions(conjugate(q0), q1))


def kinematics(q: Quadruple, w_M: Triple) -> Quadruple:
    """Return q_dot = 1/2 q (0, w_M) as expressions: 15 mul and 8 add.

    Args:
        q: q_FM = (w, x, y, z).
        w_M: angular velocity of M in F, along the axes of M [rad/s].
    """
    w, x, y, z = q
    a, b, c = (0.5 * rate for rate in w_M)
    return -(x * a + y * b + z * c), w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a
