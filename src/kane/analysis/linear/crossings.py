"""Values at which the motion of a linear system becomes stable or unstable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.native.arrays import Matrix

# Error of A relative to its norm: derivatives and least-squares solutions err by a few hundred units of round-off.
MATRIX_ERROR = 1e-13
# Relative singular value below which it counts as zero: ten times the error of A.
ZERO_SINGULAR_VALUE = 1e-12
# Two parameter values are equal if their distance, relative to that of two samples, is below this.
EQUAL_VALUE_TOLERANCE = 1e-12
# Distances from the crossing at which an eigenvalue is tested on both sides, relative to the distance of two samples.
TEST_DISTANCES = tuple(10.0**k for k in range(-11, -1))


def stability_changes(matrix: Callable[[float], Matrix], values: Sequence[float], ignoring: int) -> list[float]:
    """Return the parameter values at which the largest real part passes zero, each between two samples.

    Coordinates without influence give A zero eigenvalues at all samples, which are deflated with their Jordan chains.
    An eigenvalue is unstable if its real part exceeds its error MATRIX_ERROR |A| / |y . x|; y, x are its left and right
    eigenvectors of length one. Pairs of conservative systems stay on the imaginary axis within this error, which grows
    where two pairs meet, because y and x become orthogonal there. Bisection finds where the first eigenvalue leaves the
    axis. If it comes from the left half-plane, the zero of its real part is computed.

    Args:
        matrix: function that returns A at a value.
        values: samples, in order.
        ignoring: number of eigenvalues that are ignored, those nearest to zero.

    Source: Wilkinson 1965, The Algebraic Eigenvalue Problem, ch. 2, for errors of eigenvalues; Kublanovskaya 1966 for
    the deflation.
    """
    zeros = min(_deflated(matrix(value))[1] for value in values)

    def left(value: float) -> Matrix:
        return _deflated(matrix(value), zeros)[0]

    ignoring = max(0, ignoring - zeros)
    unstable = [_unstable(left(value), ignoring) is not None for value in values]
    ends = [(values[k + unstable[k]], values[k + unstable[k + 1]], k) for k in range(len(values) - 1)]
    return [_change(left, (a, b), ignoring) for a, b, k in ends if unstable[k] != unstable[k + 1]]


def _deflated(A: Matrix, zeros: int | None = None) -> tuple[Matrix, int]:
    """Deflate zero eigenvalues of A: its null space, then the null space of the remaining matrix, and so on.

    Args:
        A: a square matrix.
        zeros: number of zeros to deflate; all by default.

    Returns:
        The remaining matrix, which has the other eigenvalues of A, and the number of deflated zeros.
    """
    taken, negligible = 0, ZERO_SINGULAR_VALUE * float(np.linalg.norm(A, 2)) if A.size else 0.0
    while A.size and taken != zeros:
        _, sizes, rows = np.linalg.svd(A)
        count = int((sizes <= negligible).sum())
        if zeros is not None:
            count = min(max(count, 1), zeros - taken)
        if not count:
            break
        kept = rows[: len(A) - count]
        A, taken = kept @ A @ kept.T, taken + count
    return A, taken


def _errors(A: Matrix) -> tuple[NDArray[np.complex128], Matrix]:
    """Return the eigenvalues and the largest first-order error of each."""
    from scipy.linalg import eig

    if not A.size:
        return np.zeros(0, complex), np.zeros(0)
    found, left, right = eig(A, left=True, right=True)
    cosines = np.abs((left.conj() * right).sum(axis=0))
    with np.errstate(over="ignore", divide="ignore"):
        return found, MATRIX_ERROR * np.linalg.norm(A, 2) / cosines


def _unstable(A: Matrix, ignoring: int) -> complex | None:
    """Return the unstable eigenvalue with the largest real part; None if no eigenvalue is unstable."""
    found, errors = _errors(A)
    order = np.argsort(np.abs(found))[ignoring:]
    right = [found[k] for k in order if found[k].real > errors[k]]
    return max(right, key=lambda x: float(x.real), default=None)


def _change(matrix: Callable[[float], Matrix], ends: tuple[float, float], ignoring: int) -> float:
    """Return the value between a stable and an unstable value at which stability changes."""
    (stable, unstable), distance = ends, abs(ends[1] - ends[0])
    first = _unstable(matrix(unstable), ignoring)
    while abs(unstable - stable) > EQUAL_VALUE_TOLERANCE * distance:
        middle = 0.5 * (stable + unstable)
        if middle in (stable, unstable):
            break
        found = _unstable(matrix(middle), ignoring)
        stable, unstable, first = (middle, unstable, first) if found is None else (stable, middle, found)
    assert first is not None
    return _passage(matrix, first, unstable, (ends[1] - ends[0]))


def _passage(matrix: Callable[[float], Matrix], at: complex, near: float, way: float) -> float:
    """Return where the real part of an eigenvalue passes zero; ``near`` if the eigenvalue leaves the axis there."""
    from scipy.optimize import brentq

    def nearest(value: float) -> tuple[float, float]:
        found, errors = _errors(matrix(value))
        k = int(np.argmin(np.abs(found - at)))
        return float(found[k].real), float(errors[k])

    for ratio in TEST_DISTANCES:
        (left, less), (right, more) = nearest(near - ratio * way), nearest(near + ratio * way)
        if left < -less and right > more:
            step: Any = abs(ratio * way)
            return float(
                brentq(lambda x: nearest(x)[0], near - step, near + step, xtol=EQUAL_VALUE_TOLERANCE * abs(way))
            )
    return near
