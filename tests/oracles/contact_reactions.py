"""ReactionProblem of contacts by other methods: enumeration of all modes in the plane, Pinocchio's ADMM in space."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from kane.engine.laws.newton import solve_complementarity
from kane.engine.memory.views import ReactionProblem, reaction_problem_at, reaction_problem_size

OPEN, STUCK, FORTH, BACK = range(4)
# Rounding of reactions and accelerations of magnitude 1.
ROUNDING = 1e-10


class Contacts(NamedTuple):
    """Contacts with accelerations W f + b; each contact has a normal row, followed by its tangential rows.

    Attributes:
        W, b: Delassus matrix (m, m), and accelerations without reactions (m,).
        friction: coefficient of each contact.
        tangents: number of tangential rows of each contact, 1 or 2.
    """

    W: np.ndarray
    b: np.ndarray
    friction: np.ndarray
    tangents: int


def by_lot(rng: np.random.Generator, contacts: int, tangents: int, speeds: int, rank: int | None = None) -> Contacts:
    """Return random contacts of a system with the given number of speeds; ``rank`` limits the rank of their rows."""
    A, m = rng.normal(size=(speeds, speeds)), contacts * (1 + tangents)
    J = rng.normal(size=(m, speeds))
    if rank is not None:
        J = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, speeds))
    W = J @ np.linalg.solve(A @ A.T + 0.1 * np.eye(speeds), J.T)
    return Contacts(0.5 * (W + W.T), J @ rng.normal(size=speeds), rng.uniform(0, 0.8, contacts), tangents)


def problem(W: np.ndarray, b: np.ndarray, rows: list[int], friction: np.ndarray) -> ReactionProblem:
    """Return the problem for kane's solver, started at zero; ``rows`` are the numbers of rows, normal row first."""
    m, k = len(b), len(rows)
    p = reaction_problem_at(np.zeros(reaction_problem_size(m, k)), 0, m, k)
    p.W[:], p.b[:], p.bound[:], p.pushes[:] = W, b, friction, 1
    p.row[:], p.tangents[:] = np.cumsum([0, *rows[:-1]]), np.array(rows) - 1
    return p


def solved(c: Contacts, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """Return the reactions that kane's solver finds, and the residual that it reports."""
    p = problem(c.W.copy(), c.b.copy(), [1 + c.tangents] * len(c.friction), c.friction.copy())
    p.f[:] = 0.0 if start is None else start
    with np.errstate(all="ignore"):
        residual = solve_complementarity(p)
    return p.f, residual


def violation(c: Contacts, f: np.ndarray) -> float:
    """Return the largest violation of Signorini's law, Coulomb's law or maximum dissipation, over the largest force.

    Maximum dissipation means that friction is opposite to the acceleration a_t: f_t . a_t = -mu f_n |a_t|.
    """
    a = (c.W @ f + c.b).reshape(len(c.friction), -1)
    g, unit = f.reshape(len(c.friction), -1), np.abs(np.diag(c.W)).max()
    force = max(np.abs(f).max(), np.abs(c.b).max() / unit)
    normal = np.maximum.reduce([-g[:, 0], -a[:, 0] / unit, np.minimum(np.abs(g[:, 0]), np.abs(a[:, 0]) / unit)])
    bound, size = c.friction * g[:, 0], np.linalg.norm(g[:, 1:], axis=1)
    speed = np.linalg.norm(a[:, 1:], axis=1)
    dissipated = (np.sum(g[:, 1:] * a[:, 1:], axis=1) + bound * speed) / (unit * force)
    return float(max(normal.max(), (size - bound).max(), np.abs(dissipated).max()) / force)


def by_enumeration(c: Contacts) -> list[np.ndarray]:
    """Return the reactions of all contact modes that satisfy the laws, for contacts in the plane."""
    found: list[np.ndarray] = []
    for mode in product((OPEN, STUCK, FORTH, BACK), repeat=len(c.friction)):
        K, right = np.eye(len(c.b)), np.zeros(len(c.b))
        for k, status in enumerate(mode):
            n, t = 2 * k, 2 * k + 1
            if status != OPEN:
                K[n], right[n] = c.W[n], -c.b[n]
            if status == STUCK:
                K[t], right[t] = c.W[t], -c.b[t]
            elif status != OPEN:
                K[t, n] = c.friction[k] * (1 if status == FORTH else -1)
        f = np.linalg.solve(K, right) if abs(np.linalg.det(K)) > 1e-12 else np.full(len(c.b), np.nan)
        if violation(c, f) < ROUNDING and not any(np.allclose(f, other, atol=1e-8) for other in found):
            found.append(f)
    return found


def by_pinocchio(c: Contacts) -> np.ndarray:
    """Return the reactions of Pinocchio's ADMM solver with Coulomb's law, not its convex relaxation."""
    import pinocchio as pin

    contacts = len(c.friction)
    order = np.concatenate([[3 * k + 1, 3 * k + 2, 3 * k] for k in range(contacts)])
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    anything = pin.buildSampleModelManipulator()
    for friction in c.friction:
        contact = pin.PointContactConstraintModel(anything, 1)
        contact.setFriction(friction)
        models.append(pin.ConstraintModel(contact))
        datas.append(models[-1].createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.solve_ncp, settings.max_iterations = True, 100_000
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-10
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 1e-10
    W = pin.DelassusOperatorDense(c.W[np.ix_(order, order)])
    assert pin.ADMMConstraintSolver(len(order)).solve(W, c.b[order], models, datas, settings, result)
    f = np.empty(len(order))
    f[order] = result.retrieveConstraintImpulses()
    return f
