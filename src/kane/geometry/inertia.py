"""Inertia of bodies: reading, checking, shifting, rotating and adding, for numbers and expressions.

The inertia matrix about a point P is I = integral (r.r 1 - r r^T) dm. Products of inertia include the minus sign,
I_xy = - integral x y dm, as in URDF.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Number, NumberMatrix, Six, Triple, folded, is_number, is_zero, negate, scalar, square

# Tolerance relative to the largest moment; it covers the rounding of data that are given with ten digits.
INERTIA_TOLERANCE = 1e-9
# A moment with a radius of gyration below this value [m] counts as round-off, such as I - m d^2 of a distant particle.
RADIUS_OF_ZERO = 1e-7


def inertia_matrix(spec: Any, name: str = "the inertia") -> NumberMatrix:
    """Return the inertia matrix, 3x3 [kg m^2].

    Args:
        spec: three principal moments, six numbers (xx, yy, zz, xy, xz, yz), or a 3x3 matrix; numbers or expressions.
        name: description in messages.

    Raises:
        ModelError: the inertia has another form, an entry is not finite, or the matrix is not symmetric.
    """
    several = isinstance(spec, Iterable) and not isinstance(spec, str) and getattr(spec, "ndim", 1) > 0
    given = tuple(spec) if several else ()
    if len(given) == 3 and all(isinstance(row, Iterable) for row in given):
        return _symmetric(square(given, name), name)
    if len(given) not in (3, 6):
        raise ModelError(
            f"{name} is {shown(spec)}; give 3 principal moments, 6 (xx, yy, zz, xy, xz, yz) or a 3x3 matrix"
        )
    values = [scalar(value, f"{name}[{k}]") for k, value in enumerate(given)]
    return of_six((*values, *[0.0] * (6 - len(values))))


def _symmetric(rows: NumberMatrix, name: str) -> NumberMatrix:
    scale = max((abs(float(x)) for row in rows for x in row if is_number(x)), default=0.0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        a, b = rows[i][j], rows[j][i]
        same = abs(float(a) - float(b)) <= INERTIA_TOLERANCE * scale if is_number(a) and is_number(b) else a is b
        if not same:
            raise ModelError(
                f"{name} is not symmetric: entry ({i}, {j}) is {shown(a)} and entry ({j}, {i}) is {shown(b)}; "
                "give the six numbers (xx, yy, zz, xy, xz, yz) instead"
            )
    return of_six(six(rows))


def six(inertia: NumberMatrix) -> Six:
    """Return (xx, yy, zz, xy, xz, yz) of a symmetric matrix."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
    return xx, yy, zz, xy, xz, yz


def of_six(values: Sequence[Number]) -> NumberMatrix:
    """Return the symmetric matrix of (xx, yy, zz, xy, xz, yz), with constants as numbers."""
    return symmetric_rows(folded(values))


def symmetric_rows(values: Sequence[Number]) -> NumberMatrix:
    """Return the symmetric matrix of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = values
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def checked_inertia(name: str, mass: Number, inertia: NumberMatrix) -> NumberMatrix:
    """Return the inertia if it is physically consistent, else raise ModelError; expressions are not checked.

    A mass must be finite and not negative. Principal moments must not be negative, and none may exceed the sum of the
    other two. The tolerance is 1e-9 of the largest moment, or the moment of a radius of gyration of 1e-7 m if that is
    larger. Zero inertia is valid: it belongs to a particle.

    Args:
        name: name of the body.
        mass: mass [kg].
        inertia: inertia about the mass centre [kg m^2].

    Returns:
        The inertia; diagonal entries that round-off has made negative are zero.

    Raises:
        ModelError: the mass or the inertia is invalid; the message has the principal moments and the nearest valid
            inertia.
    """
    if not isinstance(mass, Expr) and not 0.0 <= mass < math.inf:
        raise ModelError(f"the mass of {name} is {shown(mass)} kg; it must be finite and not negative")
    if not all(is_number(x) for row in inertia for x in row):
        return inertia
    matrix = np.array(inertia, dtype=float)
    if not np.isfinite(matrix).all():
        raise ModelError(f"the inertia of {name} is {matrix.tolist()}; every entry must be finite")
    moments = np.linalg.eigvalsh(matrix)
    zero = 0.0 if isinstance(mass, Expr) else mass * RADIUS_OF_ZERO**2
    slack = max(INERTIA_TOLERANCE * np.abs(moments).max(), zero)
    if moments[0] < -slack:
        fault = "a principal moment of inertia is negative"
    elif moments[2] - moments[1] - moments[0] > slack:
        fault = "the largest principal moment exceeds the sum of the other two (triangle inequality)"
    else:
        xx, yy, zz, *products = six(inertia)
        return of_six((*(max(float(x), 0.0) for x in (xx, yy, zz)), *products))
    moments[np.abs(moments) <= slack] = 0.0
    raise ModelError(
        f"the inertia of {name} is not physically consistent: {fault}; its principal moments are {_numbers(moments)}. "
        f"The nearest valid inertia is {_rows(nearest_valid_inertia(inertia))}"
    )


def _numbers(values: Iterable[Any]) -> str:
    return f"({', '.join(f'{x:.10g}' for x in values)})"


def _rows(matrix: NumberMatrix) -> str:
    return f"({', '.join(_numbers(row) for row in matrix)})"


def nearest_valid_inertia(inertia: NumberMatrix) -> NumberMatrix:
    """Return the valid inertia whose second-moment matrix is nearest in the Frobenius norm [kg m^2].

    It has the same principal second moments, except that negative ones become zero.

    Raises:
        ModelError: an entry is not a number.
    """
    if not all(is_number(x) for row in inertia for x in row):
        raise ModelError("the nearest valid inertia is defined for numbers only; replace the expressions by values")
    values, axes = np.linalg.eigh(np.array(second_moment(inertia), dtype=float))
    nearest = (axes * np.maximum(values, 0.0)) @ axes.T
    return inertia_of_second_moment(of_six(six(nearest.tolist())))


def second_moment(inertia: NumberMatrix) -> NumberMatrix:
    """Return J = tr(I)/2 1 - I = integral r r^T dm [kg m^2]."""
    xx, yy, zz, xy, xz, yz = six(inertia)
    half = (xx + yy + zz) * 0.5
    return of_six((half - xx, half - yy, half - zz, negate(xy), negate(xz), negate(yz)))


def inertia_of_second_moment(moment: NumberMatrix) -> NumberMatrix:
    """Return I = tr(J) 1 - J, the inverse of ``second_moment`` [kg m^2]."""
    xx, yy, zz, xy, xz, yz = six(moment)
    return of_six((yy + zz, xx + zz, xx + yy, negate(xy), negate(xz), negate(yz)))


def rotated_inertia(inertia: NumberMatrix, R_AB: Rotation) -> NumberMatrix:
    """Return I_A = R_AB I_B R_AB^T: the same inertia along the axes of A [kg m^2]."""
    return of_six(R_AB.rotate_symmetric(six(inertia)))


def shift_from_mass_centre(inertia: NumberMatrix, mass: Number, p: Triple) -> NumberMatrix:
    """Return I_P = I_cm + m (p.p 1 - p p^T), by the parallel-axis theorem.

    Args:
        inertia: I_cm about the mass centre [kg m^2].
        mass: m [kg].
        p: position of P from the mass centre [m], along the axes of the inertia; its sign has no effect.
    """
    return _sum(inertia, point_inertia(mass, p))


def point_inertia(mass: Number, p: Triple) -> NumberMatrix:
    """Return m (p.p 1 - p p^T), the inertia of a particle at p [kg m^2]."""
    x, y, z = p
    mx, my, mz = mass * x, mass * y, mass * z
    xx, yy, zz = mx * x, my * y, mz * z
    return of_six((yy + zz, xx + zz, xx + yy, negate(mx * y), negate(mx * z), negate(my * z)))


def combine(bodies: Sequence[tuple[Number, Triple, NumberMatrix]]) -> tuple[Number, Triple, NumberMatrix]:
    """Return the mass properties of several bodies that are fixed to each other.

    Args:
        bodies: (mass [kg], mass centre [m], inertia about the mass centre [kg m^2]) of each body, all in one frame.

    Returns:
        (mass, mass centre, inertia about the mass centre) of the whole. Several massless bodies have their mass centre
        at the origin.
    """
    if len(bodies) == 1:
        return bodies[0]
    total: Number = 0.0
    moment: Triple = (0.0, 0.0, 0.0)
    for mass, com, _ in bodies:
        total = total + mass
        moment = folded(h + mass * x for h, x in zip(moment, com, strict=True))
    massless = is_zero(total)
    centre: Triple = (0.0, 0.0, 0.0) if massless else tuple(h if is_zero(h) else h / total for h in moment)
    inertia = of_six((0.0,) * 6)
    for mass, com, own in bodies:
        offset = tuple(x - c for x, c in zip(com, centre, strict=True))
        inertia = _sum(inertia, shift_from_mass_centre(own, mass, offset))
    return total, centre, inertia


def _sum(a: NumberMatrix, b: NumberMatrix) -> NumberMatrix:
    return of_six([x + y for x, y in zip(six(a), six(b), strict=True)])
