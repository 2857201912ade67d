"""Algebra of triples and symmetric matrices that mix numbers and expressions; zero entries cost no operations.

A symmetric 3 x 3 matrix is six scalars in the order xx, yy, zz, xy, xz, yz.
"""

from __future__ import annotations

from typing import Any

from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary, General
from kane.geometry.scalars import ZERO_VECTOR, NumberMatrix, Six, Triple, add_vectors, dot, is_zero

ZERO_SIX: Six = (0.0,) * 6


def plus(a: Triple, b: Triple) -> Triple:
    """Return a + b."""
    if a is ZERO_VECTOR:
        return b
    if b is ZERO_VECTOR:
        return a
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Triple, b: Triple) -> Triple:
    """Return a - b."""
    return a if b is ZERO_VECTOR else (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def times(s: Any, v: Triple) -> Triple:
    """Return s v."""
    return (
        0.0 if is_zero(v[0]) else s * v[0],
        0.0 if is_zero(v[1]) else s * v[1],
        0.0 if is_zero(v[2]) else s * v[2],
    )


def rotated(R: NumberMatrix, v: Triple) -> Triple:
    """Return R v, with R by rows."""
    return ZERO_VECTOR if all(is_zero(x) for x in v) else (dot(R[0], v), dot(R[1], v), dot(R[2], v))


def six_times(S: Six, v: Triple) -> Triple:
    """Return S v for a symmetric S."""
    xx, yy, zz, xy, xz, yz = S
    return dot((xx, xy, xz), v), dot((xy, yy, yz), v), dot((xz, yz, zz), v)


def symmetric_product(a: Triple, b: Triple) -> Six:
    """Return a b^T + b a^T."""
    ax, ay, az = a
    bx, by, bz = b
    return (
        2 * (ax * bx),
        2 * (ay * by),
        2 * (az * bz),
        ax * by + ay * bx,
        ax * bz + az * bx,
        ay * bz + az * by,
    )


def square_of(a: Triple) -> Six:
    """Return a a^T."""
    x, y, z = a
    return x * x, y * y, z * z, x * y, x * z, y * z


def inertia_of(J: Six) -> Six:
    """Return the inertia I = tr(J) 1 - J of the second moment J."""
    xx, yy, zz, xy, xz, yz = J
    return yy + zz, xx + zz, xx + yy, -xy, -xz, -yz


def shifted_moment(m: Any, mc: Triple, J: Six, p: Triple) -> tuple[Triple, Six]:
    """Return the first and second moment about a point from which the old point is at p.

    They are mc + m p and J + p mc^T + mc p^T + m p p^T.
    """
    if all(is_zero(x) for x in p):
        return mc, J
    moved = plus(mc, times(m, p))
    # Add p (mc + m p / 2)^T and its transpose: products with a constant m are then folded or computed once.
    half = plus(mc, times(m * 0.5, p))
    return moved, add_vectors(J, symmetric_product(p, half))


def rotate_square(R: Rotation, H: NumberMatrix) -> NumberMatrix:
    """Return R H R^T of a general 3 x 3 matrix, with 12 multiplications for each elementary factor."""
    for factor in reversed(R.factors):
        H = _rotate_elementary(factor, H) if isinstance(factor, Elementary) else _rotate_general(factor, H)
    return H


def _rotate_general(factor: General, H: NumberMatrix) -> NumberMatrix:
    rows = tuple(zip(*(factor.apply(column) for column in zip(*H, strict=True)), strict=True))
    return tuple(factor.apply(row) for row in rows)


def _rotate_elementary(factor: Elementary, H: NumberMatrix) -> NumberMatrix:
    """Rotate H by one elementary factor, with D = H_jj - H_ii, k = s D - c (H_ij + H_ji), w = s k.

    The entries ii, jj, ij, ji become H_ii + w, H_jj - w, -(c k + H_ji), -(c k + H_ij).
    """
    i, j, k = factor.i, factor.j, factor.axis
    if factor.quarters is not None:
        return _rotate_general(factor, H)  # type: ignore[arg-type]
    out = [list(row) for row in H]
    c, s = factor.c, factor.s
    column: list[Any] = [0.0, 0.0, 0.0]
    row: list[Any] = [0.0, 0.0, 0.0]
    column[i], column[j] = H[i][k], H[j][k]
    row[i], row[j] = H[k][i], H[k][j]
    column, row = factor.apply(tuple(column)), factor.apply(tuple(row))  # type: ignore[assignment]
    out[i][k], out[j][k] = column[i], column[j]
    out[k][i], out[k][j] = row[i], row[j]
    if not all(is_zero(x) for x in (H[i][i], H[j][j], H[i][j], H[j][i])):
        twist = s * (H[j][j] - H[i][i]) - c * (H[i][j] + H[j][i])
        w, v = s * twist, c * twist
        out[i][i], out[j][j] = H[i][i] + w, H[j][j] - w
        out[i][j], out[j][i] = -(v + H[j][i]), -(v + H[i][j])
    return tuple(tuple(r) for r in out)
