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
