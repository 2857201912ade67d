"""Minimum-norm solutions of linear equations that may be rank deficient, in batches."""

from __future__ import annotations

import numpy as np

from kane.array_types import Array

# Singular values below this fraction of the largest count as zero.
SINGULAR_VALUE_CUTOFF = 1e-10


def solve_minimum_norm(A: Array, B: Array) -> Array:
    """Return the minimum-norm least-squares solution X of A X = B, for A (..., m, n) and B (..., m, k)."""
    return np.asarray(np.linalg.pinv(A, rcond=SINGULAR_VALUE_CUTOFF) @ B)


def least_of_motion(K: Array, B: Array, n: int) -> Array:
    """Return the minimum-norm least-squares solution X of K X = B, K = [[M, F], [A, G], [0, P]], in scaled units.

    The first n unknowns are changes of speeds, the others forces. In these units M has a unit diagonal, and the longest
    row of A has length one. Without scaling, very large or small masses would affect the rank decision.

    Args:
        K: matrices (..., m, k), with as many rows A as there are forces.
        B: right-hand sides (..., m, columns).
        n: size of M.
    """
    m, k = K.shape[-2:]
    diagonal = np.abs(np.diagonal(K[..., :n, :n], axis1=-2, axis2=-1))
    speeds = 1.0 / np.sqrt(np.where(diagonal == 0.0, 1.0, diagonal))
    longest = np.linalg.norm(K[..., n:k, :n] * speeds[..., None, :], axis=-1).max(axis=-1, initial=0.0)
    force = 1.0 / np.where(longest == 0.0, 1.0, longest)[..., None]
    forces, beyond = np.repeat(force, k - n, axis=-1), np.repeat(1.0 / force, m - k, axis=-1)
    rows = np.concatenate([speeds, forces, beyond], axis=-1)[..., None]
    columns = np.concatenate([speeds, forces], axis=-1)
    return np.asarray(columns[..., None] * solve_minimum_norm(rows * K * columns[..., None, :], rows * B))


def outside_column_space(A: Array) -> Array:
    """Return P = 1 - A A^+ of matrices (..., m, n): P x = 0 exactly if x is in the column space of A.

    If A has the constraint rows, x is then the minimum-norm vector among all multipliers with the same forces A^T x.
    """
    return np.asarray(np.eye(A.shape[-2]) - A @ np.linalg.pinv(A, rcond=SINGULAR_VALUE_CUTOFF))
