"""Accelerations under constraints by Lagrange multipliers: M udot + h = A^T l, A udot + r = 0, by NumPy's SVD.

It is the reference for the embedding in native code, and shares only M, h, A and r with it.
"""

import numpy as np

# Singular values below this fraction of the largest count as zero: at projected states their rows are redundant.
RANK = 1e-9


def parts(dyn, q, u, inputs=None, t=0.0):
    """Return M, h, A, A u + b and r at a state."""
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
    """Return an orthonormal basis of the null space of A, by columns."""
    _, sizes, V = np.linalg.svd(A)
    rank = np.count_nonzero(sizes > RANK * max(sizes, default=0.0))
    return V[rank:].T


def accelerations(dyn, q, u, inputs=None, t=0.0):
    """Return udot: the minimum-norm solution of the rows, plus a part in their null space from the motion equations."""
    M, h, A, _, r = parts(dyn, q, u, inputs, t)
    N = null_space(A)
    least = -np.linalg.pinv(A, rcond=RANK) @ r
    return least - N @ np.linalg.solve(N.T @ M @ N, N.T @ (h + M @ least))
