"""Accelerations under constraints by Lagrange multipliers: M udot + h = A^T l, A udot + r = 0, by NumPy's SVD.

Vouches for the embedding in the native code, with which it shares M, h, A and r and nothing else.
"""

import numpy as np

# Singular values under this part of the largest are zero: rows that others imply, at states put onto the constraints.
RANK = 1e-9


def parts(dyn, q, u, inputs=None, t=0.0):
    """M, h, A, A u + b and r at one state."""
    eqs = dyn.equations
    n, m = len(eqs.u), len(eqs.constraints)
    rows, free = dyn.function("constraints"), dyn.function("unconstrained")
    state = np.concatenate([[t], q, u])
    values = rows(state, np.zeros(rows.n_rest), rows.stage(dyn.parameters))
    A, motion = values[: m * n].reshape(m, n), values[m * n :]
    given = [eqs.defaults[leaf.name] for leaf in eqs.inputs] if inputs is None else inputs
    values = free(state, np.array(given), free.stage(dyn.parameters))
    size = n * (n + 1) // 2
    M = np.zeros((n, n))
    M[np.tril_indices(n)] = values[:size]
    M += np.tril(M, -1).T
    return M, values[size : size + n], A, motion, values[size + n : size + n + m]


def null_space(A):
    """Orthonormal columns of the speeds that the constraints leave."""
    _, sizes, V = np.linalg.svd(A)
    rank = np.count_nonzero(sizes > RANK * max(sizes, default=0.0))
    return V[rank:].T


def accelerations(dyn, q, u, inputs=None, t=0.0):
    """udot: the least one that the rows ask for, and what the motion equations add in their null space."""
    M, h, A, _, r = parts(dyn, q, u, inputs, t)
    N = null_space(A)
    least = -np.linalg.pinv(A, rcond=RANK) @ r
    return least - N @ np.linalg.solve(N.T @ M @ N, N.T @ (h + M @ least))
