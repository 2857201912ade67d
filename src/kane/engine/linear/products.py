"""Products of dense matrices, whose loops are vectorized as all loops of this room."""

from __future__ import annotations

from kane.engine.call import native_kernel
from kane.engine.memory.loop_arguments import Matrix


@native_kernel
def multiply(A: Matrix, B: Matrix, m: int, n: int, p: int, product: Matrix) -> None:
    """Compute A B of the first entries of larger matrices: A is (m, n), B is (n, p).

    Zeros of A are skipped.
    """
    for i in range(m):
        for k in range(p):
            product[i, k] = 0.0
        for j in range(n):
            a = A[i, j]
            if a != 0.0:
                for k in range(p):
                    product[i, k] += a * B[j, k]
