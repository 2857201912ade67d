"""Factors of a rotation: elementary (one coordinate axis, one angle) or a general matrix.

Both have ``apply`` (F v), ``apply_inverse`` (F^T v), ``rotate_symmetric`` (F S F^T) and ``inverse``. Entries that are
zero or one are detected at construction and cost no operations later.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, final

import numpy as np

from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.geometry.scalars import Number, NumberMatrix, Six, Triple, negate

# Distance [rad] within which an angle counts as a multiple of pi/2; rounding of pi gives an error of 1e-16 per turn.
RIGHT_ANGLE_TOLERANCE = 1e-12
# Entries of a constant matrix within this distance of 0, 1 or -1 are rounded to it.
ENTRY_TOLERANCE = 1e-12

# Axes (i, j) by axis k: a rotation about k turns e_i towards e_j.
_PLANES = ((1, 2), (2, 0), (0, 1))
# Indices of S_ii, S_jj, S_ij, S_ik, S_jk in (xx, yy, zz, xy, xz, yz), by axis k.
_SIX_PLACES_BY_AXIS = ((1, 2, 5, 3, 4), (2, 0, 4, 5, 3), (0, 1, 3, 4, 5))
_QUARTER_COSINES = (1.0, 0.0, -1.0, 0.0)


def quarter_turns(angle: float, tolerance: float = RIGHT_ANGLE_TOLERANCE) -> int | None:
    """Return n if angle = n pi/2 within the tolerance [rad], else None."""
    n = round(angle / (math.pi / 2))
    return n if abs(angle - n * (math.pi / 2)) <= tolerance else None


@final
class Elementary:
    """Rotation about coordinate axis ``axis`` (0, 1, 2) through ``angle`` [rad].

    Attributes:
        axis: 0, 1 or 2.
        angle: a number or an expression [rad].
        c: cosine of the angle, exactly 0, 1 or -1 at quarter turns.
        s: sine of the angle, exactly 0, 1 or -1 at quarter turns.
        quarters: number of quarter turns modulo 4 if the angle is a multiple of pi/2, else None.
    """

    __slots__ = ("angle", "axis", "c", "i", "j", "quarters", "s")

    def __init__(self, axis: int, angle: Number) -> None:
        self.axis = axis
        self.angle = angle
        self.i, self.j = _PLANES[axis]
        turns = None if isinstance(angle, Expr) else quarter_turns(angle)
        self.quarters = None if turns is None else turns % 4
        if self.quarters is None:
            self.c, self.s = cos(angle), sin(angle)
        else:
            self.c, self.s = _QUARTER_COSINES[self.quarters], _QUARTER_COSINES[self.quarters - 1]

    @property
    def is_constant(self) -> bool:
        """True if the angle is a number."""
        return self.angle.__class__ is not Expr

    def inverse(self) -> Elementary:
        """Return the inverse rotation."""
        return Elementary(self.axis, -self.angle)

    def apply(self, v: Triple) -> Triple:
        """Return F v: 4 mul and 2 add, fewer if components are zero."""
        a, b = v[self.i], v[self.j]
        out = list(v)
        if self.quarters is not None:
            out[self.i], out[self.j] = _quarter(a, b, self.quarters)
        else:
            out[self.i], out[self.j] = _rotated(self.c, self.s, a, b)
        return tuple(out)

    def apply_inverse(self, v: Triple) -> Triple:
        """Return F^T v: 4 mul and 2 add, fewer if components are zero."""
        a, b = v[self.i], v[self.j]
        out = list(v)
        if self.quarters is not None:
            out[self.i], out[self.j] = _quarter(a, b, -self.quarters % 4)
        else:
            out[self.j], out[self.i] = _rotated(self.c, self.s, b, a)
        return tuple(out)

    def rotate_symmetric(self, S: Six) -> Six:
        """Return F S F^T: 8 mul and 8 add.

        Let D = S_jj - S_ii, k = s D - 2 c S_ij and w = s k. The new entries ii, jj and ij are S_ii + w, S_jj - w and
        -(c k + S_ij). The entries (S_ik, S_jk) rotate as a vector.
        """
        ii, jj, ij, ik, jk = _SIX_PLACES_BY_AXIS[self.axis]
        Sii, Sjj, Sij = S[ii], S[jj], S[ij]
        out: list[Any] = list(S)
        if self.quarters is not None:
            out[ik], out[jk] = _quarter(S[ik], S[jk], self.quarters)
            if self.quarters % 2:
                out[ii], out[jj], out[ij] = Sjj, Sii, negate(Sij)
            return tuple(out)
        c, s = self.c, self.s
        half = c * Sij  # subtracted twice, because an addition is cheaper than doubling S_ij
        k = s * (Sjj - Sii) - half - half
        w = s * k
        out[ii], out[jj], out[ij] = Sii + w, Sjj - w, -(c * k + Sij)
        out[ik], out[jk] = _rotated(c, s, S[ik], S[jk])
        return tuple(out)

    def __repr__(self) -> str:
        return f"Rotation.about({'xyz'[self.axis]!r}, {self.angle!r})"


def _rotated(c: Number, s: Number, a: Number, b: Number) -> tuple[Number, Number]:
    """Return (c a - s b, s a + c b)."""
    if a.__class__ is not Expr and a == 0.0:
        if b.__class__ is not Expr and b == 0.0:
            return 0.0, 0.0
        return -(s * b), c * b
    if b.__class__ is not Expr and b == 0.0:
        return c * a, s * a
    return c * a - s * b, s * a + c * b


def _quarter(a: Number, b: Number, quarters: int) -> tuple[Number, Number]:
    """Return (a, b) rotated by quarter turns."""
    if quarters == 0:
        return a, b
    if quarters == 1:
        return negate(b), a
    if quarters == 2:
        return negate(a), negate(b)
    return b, negate(a)


@final
class General:
    """Rotation given by its matrix.

    Attributes:
        rows: matrix, 3x3.
        is_constant: True if every entry is a number.
    """

    __slots__ = ("_columns_terms", "_elementary", "_rows_terms", "is_constant", "rows")

    def __init__(self, rows: NumberMatrix) -> None:
        self.rows = rows
        self.is_constant = all(entry.__class__ is not Expr for row in rows for entry in row)
        self._rows_terms = tuple(_terms(row) for row in rows)
        self._columns_terms = tuple(_terms(column) for column in zip(*rows, strict=True))
        self._elementary: tuple[Elementary, ...] | None = None

    def inverse(self) -> General:
        """Return the inverse rotation, which has the transposed matrix."""
        return General(tuple(zip(*self.rows, strict=True)))

    def apply(self, v: Triple) -> Triple:
        """Return F v: at most 9 mul and 6 add."""
        x, y, z = self._rows_terms
        return _combined(x, v), _combined(y, v), _combined(z, v)

    def apply_inverse(self, v: Triple) -> Triple:
        """Return F^T v: at most 9 mul and 6 add."""
        x, y, z = self._columns_terms
        return _combined(x, v), _combined(y, v), _combined(z, v)

    def rotate_symmetric(self, S: Six) -> Six:
        """Return F S F^T: 24 mul for a constant matrix (by three elementary rotations), else 39."""
        if not self.is_constant:
            return self._rotate_symmetric(S)
        if self._elementary is None:
            beta, alpha, gamma = zxz_angles(self.rows)
            self._elementary = (Elementary(2, gamma), Elementary(0, alpha), Elementary(2, beta))
        for factor in self._elementary:
            S = factor.rotate_symmetric(S)
        return S

    def _rotate_symmetric(self, S: Six) -> Six:
        # F (S - S_zz 1) F^T + S_zz 1, with the last diagonal entry from the trace, has 12 products fewer than F S F^T.
        xx, yy, zz, xy, xz, yz = S
        dx, dy = xx - zz, yy - zz
        T = [self.apply(column) for column in ((dx, xy, xz), (xy, dy, yz), (xz, yz, 0.0))]
        x, y, z = self._rows_terms
        first, second = (tuple(column[r] for column in T) for r in (0, 1))
        a, b = _combined(x, first), _combined(y, second)
        return (a + zz, b + zz, zz + (dx + dy - a - b), _combined(y, first), _combined(z, first), _combined(z, second))

    def __repr__(self) -> str:
        return f"Rotation.matrix({self.rows!r})"


Factor: TypeAlias = "Elementary | General"


def _terms(entries: Any) -> tuple[tuple[int, Number, int], ...]:
    """Return (index, entry, sign) of the nonzero entries; sign is 1 or -1 if the entry has this value, else 0."""
    unit = {1.0: 1, -1.0: -1}
    numbers = ((k, m, 0 if m.__class__ is Expr else unit.get(m, 0)) for k, m in enumerate(entries))
    return tuple((k, m, sign) for k, m, sign in numbers if m.__class__ is Expr or m != 0.0)


def _combined(terms: tuple[tuple[int, Number, int], ...], v: Triple) -> Number:
    total: Any = None
    for k, m, sign in terms:
        x = v[k]
        if x.__class__ is not Expr and x == 0.0:
            continue
        if total is None:
            total = x if sign == 1 else -x if sign == -1 else m * x
        else:
            total = total + m * x
    return 0.0 if total is None else total


def zxz_angles(rows: NumberMatrix) -> tuple[float, float, float]:
    """Return (beta, alpha, gamma) [rad] with R = Rz(beta) Rx(alpha) Rz(gamma) for a constant R.

    beta is in (-pi/2, pi/2], and 0 if alpha is 0 or pi. Angles within 1e-10 of a multiple of pi/2 are rounded to it.
    """
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = rows
    sine = math.hypot(r20, r21)
    if sine <= _SNAP:
        # Rz(beta) Rx(0) Rz(gamma) = Rz(beta + gamma); Rz(beta) Rx(pi) Rz(gamma) = Rx(pi) Rz(gamma - beta).
        return 0.0, 0.0 if r22 > 0.0 else math.pi, _snapped(math.atan2(r10 if r22 > 0.0 else -r10, r00))
    beta, alpha = _snapped(math.atan2(r02, -r12)), _snapped(math.atan2(sine, r22))
    if beta > math.pi / 2 or beta <= -math.pi / 2:
        beta, alpha = _snapped(math.atan2(-r02, r12)), -alpha
    # gamma is computed from the first row of Rz(-beta) R. If alpha is small, r20 and r21 have few digits and beta is
    # inaccurate, but this gamma compensates the error of beta.
    c, s = math.cos(beta), math.sin(beta)
    return beta, alpha, _snapped(math.atan2(-(c * r01 + s * r11), c * r00 + s * r10))


_SNAP = 1e-10


def _snapped(angle: float) -> float:
    turns = quarter_turns(angle, _SNAP)
    return angle if turns is None else turns * (math.pi / 2)


def constant_factor(matrix: np.ndarray) -> Factor | None:
    """Return the factor of a constant rotation matrix: None for the identity, Elementary if possible, else General."""
    nearest = np.round(matrix)
    clean = np.where(np.abs(matrix - nearest) <= ENTRY_TOLERANCE, nearest, matrix) + 0.0
    for axis in range(3):
        i, j = _PLANES[axis]
        others = (clean[axis, i], clean[axis, j], clean[i, axis], clean[j, axis])
        if clean[axis, axis] == 1.0 and not any(others):
            turn = Elementary(axis, math.atan2(matrix[j, i] - matrix[i, j], matrix[i, i] + matrix[j, j]))
            return None if turn.quarters == 0 else turn
    return General(tuple(tuple(float(entry) for entry in row) for row in clean))
