"""Rotations as products of factors, so that an elementary rotation costs only its own operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.geometry.rotation_factor import ENTRY_TOLERANCE, Elementary, Factor, General, constant_factor, zxz_angles
from kane.geometry.scalars import Number, NumberMatrix, Six, Triple, scalar, square, triple

# A matrix is replaced by the nearest rotation if no entry of R^T R - 1 exceeds this tolerance, and refused otherwise.
ORTHOGONALITY_TOLERANCE = 1e-6
# Largest deviation of a quaternion's length from 1 that counts as rounding; larger deviations are refused.
QUATERNION_LENGTH_TOLERANCE = 1e-3
AXIS_NUMBERS = {"x": 0, "y": 1, "z": 2, "1": 0, "2": 1, "3": 2}


@final
class Rotation:
    """Orientation of B in A: v_A = R_AB @ v_B. Immutable.

    A rotation is a product of factors, leftmost first. Each factor is elementary (a coordinate axis and an angle) or a
    3x3 matrix. Adjacent elementary rotations about the same axis are merged by adding their angles, and adjacent
    constant matrices by multiplication. Angles are numbers or expressions [rad]. Constant angles within 1e-12 of a
    multiple of pi/2 give exact zeros and ones, and entries that are zero or one cost no operations.
    """

    __slots__ = ("_backwards", "_entries", "_factors")

    def __init__(self, factors: tuple[Factor, ...] = ()) -> None:
        if factors.__class__ is not tuple:
            raise ModelError(f"Rotation() does not take {shown(factors)}; use Rotation.about, matrix or euler")
        merged: list[Factor] = []
        for factor in factors:
            _append(merged, factor)
        self._factors = tuple(merged)
        self._backwards = self._factors[::-1]
        self._entries: NumberMatrix | None = None

    @classmethod
    def identity(cls) -> Rotation:
        """Return the identity, R = 1."""
        return cls()

    @classmethod
    def about(cls, axis: Any, angle: Number) -> Rotation:
        """Return the right-handed rotation about a fixed axis.

        Args:
            axis: "x", "y" or "z", or three numbers: a vector of any length but zero.
            angle: number or expression [rad].

        Raises:
            ModelError: the axis has another form or is zero, or the angle is not finite.
        """
        turn = scalar(angle, "the angle of a rotation")
        n = _unit(axis)
        for k in range(3):
            if n.count(0.0) == 2 and n[k]:
                return cls((Elementary(k, turn if n[k] > 0.0 else -turn),))
        if isinstance(turn, Expr):
            # Two elementary rotations turn z to the axis; applying both costs less than applying their product.
            to = cls((Elementary(2, math.atan2(n[1], n[0])), Elementary(1, math.atan2(math.hypot(n[0], n[1]), n[2]))))
            return to @ cls((Elementary(2, turn),)) @ to.inverse()
        return cls._constant(_rodrigues(np.array(n), turn))

    @classmethod
    def matrix(cls, rows: Any) -> Rotation:
        """Return the rotation with the matrix R_AB, 3x3.

        A numerical matrix that is orthogonal up to 1e-6 is replaced by the nearest rotation. A matrix with expressions
        is not checked.

        Raises:
            ModelError: the shape is not 3x3, or the numbers are not a right-handed orthogonal matrix.
        """
        entries = square(rows, "the rotation matrix")
        if any(entry.__class__ is Expr for row in entries for entry in row):
            return cls((General(entries),))
        return cls._constant(_checked(np.array(entries)))

    @classmethod
    def of(cls, given: Any, what: str) -> Rotation:
        """Return the rotation that is given by a Rotation, a matrix (3, 3) or a unit quaternion (w, x, y, z).

        Raises:
            ModelError: ``given`` has another form or is not a rotation; ``what`` describes it in the message.
        """
        if isinstance(given, Rotation):
            return given
        entries = list(given) if _several(given) else []
        shape = (len(entries), *{len(row) for row in entries if _several(row)})
        try:
            if shape == (4,):
                return cls._of_four(entries)
            if shape == (3, 3):
                return cls.matrix(entries)
        except ModelError as error:
            raise ModelError(f"{what}: {error}") from None
        raise ModelError(
            f"{what} is {shown(given)}; give a kane.Rotation, a matrix of 3 x 3 or a quaternion (w, x, y, z)"
        )

    @classmethod
    def _of_four(cls, q: Sequence[Any]) -> Rotation:
        found = cls.quaternion(*q)
        length = math.hypot(*q) if found.is_constant else 1.0
        if abs(length - 1.0) > QUATERNION_LENGTH_TOLERANCE:
            raise ModelError(f"the quaternion {shown(tuple(q))} has length {length:.9g}; divide it by its length")
        return found

    @classmethod
    def _constant(cls, matrix: np.ndarray) -> Rotation:
        factor = constant_factor(matrix)
        return cls() if factor is None else cls((factor,))

    @classmethod
    def euler(cls, sequence: str, a: Number, b: Number, c: Number, *, frame: str = "body") -> Rotation:
        """Return three successive rotations about coordinate axes.

        frame="body": about axes of the rotating body, R = R1(a) R2(b) R3(c).
        frame="space": about fixed axes, R = R3(c) R2(b) R1(a).

        Args:
            sequence: three axes from "xyz" or from "123", such as "zxz"; no axis twice in a row.
            a: first angle [rad]; b and c are the second and the third angle.
            frame: "body" or "space".

        Raises:
            ModelError: the sequence or the frame has another form, or an angle is not finite.
        """
        axes = _sequence(sequence)
        if not isinstance(frame, str) or frame not in ("body", "space"):
            raise ModelError(f'the frame of Euler angles is {shown(frame)}; give frame="body" or frame="space"')
        turns = [Elementary(k, scalar(x, f"an angle of {sequence!r}")) for k, x in zip(axes, (a, b, c), strict=True)]
        return cls(tuple(turns if frame == "body" else turns[::-1]))

    @classmethod
    def rpy(cls, roll: Number, pitch: Number, yaw: Number) -> Rotation:
        """Return the rotation of URDF's roll, pitch and yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll)."""
        return cls.euler("xyz", roll, pitch, yaw, frame="space")

    @classmethod
    def quaternion(cls, w: Number, x: Number, y: Number, z: Number) -> Rotation:
        """Return the rotation of the quaternion (w, x, y, z).

        Numbers are normalized. A quaternion with expressions must have unit length, which is not checked.

        Raises:
            ModelError: the quaternion is zero, or a component is not finite.
        """
        q = [scalar(value, f"the quaternion's {name}") for name, value in zip("wxyz", (w, x, y, z), strict=True)]
        if any(value.__class__ is Expr for value in q):
            return cls((General(_of_quaternion(*q)),))
        length = math.hypot(*q)
        if length == 0.0:
            raise ModelError("the quaternion (0, 0, 0, 0) is no rotation; (1, 0, 0, 0) is the identity")
        return cls._constant(np.array(_of_quaternion(*(value / length for value in q))))

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Factors, leftmost first; empty for the identity."""
        return self._factors

    @property
    def is_constant(self) -> bool:
        """True if every factor is numerical."""
        return all(factor.is_constant for factor in self._factors)

    @property
    def entries(self) -> NumberMatrix:
        """Matrix R_AB, 3x3; entries are numbers or expressions."""
        if self._entries is None:
            columns = (self.apply((1.0, 0.0, 0.0)), self.apply((0.0, 1.0, 0.0)), self.apply((0.0, 0.0, 1.0)))
            self._entries = tuple(zip(*columns, strict=True))
        return self._entries

    def inverse(self) -> Rotation:
        """Return R_BA, the orientation of A in B."""
        return Rotation(tuple(factor.inverse() for factor in self._backwards))

    def __matmul__(self, other: Rotation) -> Rotation:
        """Return R_AC = R_AB @ R_BC."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(self._factors + other._factors) if self._factors and other._factors else _either(self, other)

    def apply(self, v: Triple) -> Triple:
        """Return v_A = R_AB v_B, factor by factor: 4 mul and 2 add for each elementary factor."""
        for factor in self._backwards:
            v = factor.apply(v)
        return v

    def apply_inverse(self, v: Triple) -> Triple:
        """Return v_B = R_AB^T v_A, factor by factor: 4 mul and 2 add for each elementary factor."""
        for factor in self._factors:
            v = factor.apply_inverse(v)
        return v

    def rotate_symmetric(self, S: Six) -> Six:
        """Return R S R^T of the symmetric S = (xx, yy, zz, xy, xz, yz): 8 mul and 8 add per elementary factor."""
        for factor in self._backwards:
            S = factor.rotate_symmetric(S)
        return S

    def as_numpy(self) -> np.ndarray:
        """Return the matrix R_AB, shape (3, 3).

        Raises:
            ModelError: the rotation depends on expressions.
        """
        self._require_constant("as an array")
        return np.array(self.entries, dtype=float)

    def euler_zxz(self) -> tuple[float, float, float]:
        """Return (beta, alpha, gamma) [rad] with R = Rz(beta) Rx(alpha) Rz(gamma).

        beta is in (-pi/2, pi/2]. If alpha is 0 or pi, beta is 0 and R = Rx(alpha) Rz(gamma).
        Angles within 1e-10 of a multiple of pi/2 are rounded to it.

        Raises:
            ModelError: the rotation depends on expressions.
        """
        self._require_constant("as three angles")
        return zxz_angles(self.entries)

    def _require_constant(self, how: str) -> None:
        if not self.is_constant:
            raise ModelError(f"{shown(self)} is not constant and cannot be given {how}; evaluate its entries instead")

    def __repr__(self) -> str:
        return " @ ".join(map(repr, self._factors)) or "Rotation.identity()"


def _either(a: Rotation, b: Rotation) -> Rotation:
    return a if a.factors else b


def _several(given: Any) -> bool:
    return isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0)


def _append(factors: list[Factor], factor: Factor) -> None:
    """Multiply the product by one more factor on the right."""
    last = factors[-1] if factors else None
    if isinstance(factor, Elementary):
        if isinstance(last, Elementary) and last.axis == factor.axis:
            factors.pop()
            factor = Elementary(factor.axis, scalar(last.angle + factor.angle, "the sum of two angles"))
        if factor.quarters != 0:
            factors.append(factor)
    elif isinstance(last, General) and last.is_constant and factor.is_constant:
        factors.pop()
        product = constant_factor(np.array(last.rows) @ np.array(factor.rows))
        if product is not None:
            _append(factors, product)
    else:
        factors.append(factor)


def _unit(axis: Any) -> tuple[float, float, float]:
    if isinstance(axis, str):
        if axis not in ("x", "y", "z"):
            raise ModelError(f'there is no axis {shown(axis)}; give "x", "y", "z" or three numbers')
        axis = [float(k == AXIS_NUMBERS[axis]) for k in range(3)]
    given = triple(axis, "the axis of a rotation")
    n = [component for component in given if not isinstance(component, Expr)]
    if len(n) < 3:
        raise ModelError(
            f"the axis {shown(given)} is not constant; give numbers, or multiply rotations about constant axes"
        )
    length = math.hypot(*n)
    if length == 0.0:
        raise ModelError("the axis (0, 0, 0) of a rotation has no direction; give a vector that is not zero")
    x, y, z = (component / length if abs(component) > ENTRY_TOLERANCE * length else 0.0 for component in n)
    return x, y, z


def _rodrigues(n: np.ndarray, angle: float) -> np.ndarray:
    """Return cos 1 + sin [n x] + (1 - cos) n n^T."""
    skew = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
    turn = Elementary(2, angle)
    c, s = float(turn.c), float(turn.s)
    return np.asarray(c * np.eye(3) + s * skew + (1.0 - c) * np.outer(n, n))


def _checked(matrix: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):  # overflow gives inf or NaN, which is refused
        error = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
    if not error <= ORTHOGONALITY_TOLERANCE:
        raise ModelError(
            f"the rotation matrix {matrix.tolist()} is not orthogonal: R^T R differs from the identity by {error:.3g}; "
            "its rows must be perpendicular and of length 1"
        )
    if np.linalg.det(matrix) < 0.0:
        raise ModelError(
            f"the rotation matrix {matrix.tolist()} has determinant -1: it reflects; reverse one of its axes"
        )
    if error <= 1e-15:
        return matrix
    u, _, vt = np.linalg.svd(matrix)
    return np.asarray(u @ vt)


def _sequence(sequence: str) -> list[int]:
    axes = [AXIS_NUMBERS.get(letter, -1) for letter in sequence] if isinstance(sequence, str) else []
    if len(axes) != 3 or -1 in axes or (not sequence.isdigit() and not sequence.isalpha()):
        raise ModelError(f'{shown(sequence)} is not a sequence of axes; give three of "xyz" or of "123", such as "zxz"')
    if axes[0] == axes[1] or axes[1] == axes[2]:
        raise ModelError(
            f"the sequence {shown(sequence)} repeats an axis in a row: both turns are one turn; give another sequence"
        )
    return axes


def _of_quaternion(w: Number, x: Number, y: Number, z: Number) -> NumberMatrix:
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )
