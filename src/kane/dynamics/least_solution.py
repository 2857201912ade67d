"""Linear equations whose rank may fall short, at states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Singular values below this part of the largest are zero.
RANK = 1e-10


def least(A: Array, B: Array) -> Array:
    """X of least size that makes A X nearest to B, for matrices (..., m, n) and (..., m, k)."""
    return np.asarray(np.linalg.pinv(A, rcond=RANK) @ B)


def least_of_motion(K: Array, B: Array, n: int) -> Array:
    """The same of K = [[M, F], [A, G], [0, P]], whose first n unknowns are changes of speeds and the others of forces.

    Whether singular values vanish is asked in units in which M has a diagonal of ones and the longest row of A is one:
    masses of tonnes or milligrams are no reason why rows should be taken for zero.

    Args:
        K: matrices (..., m, k), with as many rows A as there are forces.
        B: right-hand sides (..., m, columns).
        n: of M.
    """
    m, k = K.shape[-2:]
    diagonal = np.abs(np.diagonal(K[..., :n, :n], axis1=-2, axis2=-1))
    speeds = 1.0 / np.sqrt(np.where(diagonal == 0.0, 1.0, diagonal))
    longest = np.linalg.norm(K[..., n:k, :n] * speeds[..., None, :], axis=-1).max(axis=-1, initial=0.0)
    force = 1.0 / np.where(longest == 0.0, 1.0, longest)[..., None]
    forces, beyond = np.repeat(force, k - n, axis=-1), np.repeat(1.0 / force, m - k, axis=-1)
    rows = np.concatenate([speeds, forces, beyond], axis=-1)[..., None]
    columns = np.concatenate([speeds, forces], axis=-1)
    return np.asarray(columns[..., None] * least(rows * K * columns[..., None, :], rows * B))


def outside_column_space(A: Array) -> Array:
    """P = 1 - A A^+ of matrices (..., m, n): P x = 0 says that x is of the column space of A.

    Of rows A that hold a motion these are the x of least norm among all that make the same forces A^T x.
    """
    return np.asarray(np.eye(A.shape[-2]) - A @ np.linalg.pinv(A, rcond=RANK))
