"""Loops closed from a guess: damped Newton steps in the tangent space, from several starts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kane.dynamics.constraint_terms import Array, ConstraintTerms
from kane.errors import ModelError, shown

# Starts: the guess, then places ever farther from it.
STARTS = 40
SEED = 5
ITERATIONS = 200
# Damping, as a share of the squared residual: it vanishes with the residual, so that the last steps are Newton's.
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 1e-2, 1e-10, 1e10
# Singular values below this share of the largest belong to rows that the others imply.
NEGLIGIBLE = 1e-10
# A step turns nothing by more than this [rad]: the equations of a loop are linear over no more.
LONGEST = 1.0
# Residuals below this share of the size of the mechanism [1 m at least] are closed.
CLOSED = 1e-11
# A row and the exact derivative of its configuration point the same way at a true solution.
SAME_WAY = 0.5


@dataclass(frozen=True, eq=False)
class Closed:
    """Where a search ended.

    Attributes:
        q: coordinates.
        residual: largest residual of the configuration [m or rad].
        worst: number of its row among the closing ones.
        turned: number of a closing row that vanishes there although what it constrains is turned by half a turn; -1
            where there is none.
    """

    q: Array
    residual: float
    worst: int
    turned: int

    def good(self, reach: float) -> bool:
        """Whether the loops are closed."""
        return self.residual <= CLOSED * reach and self.turned < 0


def close_loops(terms: ConstraintTerms, guess: Array, held: Collection[int]) -> tuple[Closed, int]:
    """Coordinates near the guess that satisfy the configuration constraints, and how many starts it took.

    Where no start leads to a solution, the end of the one that came nearest.

    Args:
        terms: the constraints in the joints' own speeds.
        guess: coordinates.
        held: which of them stay as they are.
    """
    random = np.random.default_rng(SEED)
    reach = size(terms, guess)
    best = _search(terms, guess, held)
    for start in range(1, STARTS):
        if best.good(reach):
            return best, start
        found = _search(terms, _elsewhere(terms, guess, held, start / STARTS, random), held)
        if (found.turned >= 0, found.residual) < (best.turned >= 0, best.residual):
            best = found
    return best, STARTS


def size(terms: ConstraintTerms, q: Array) -> float:
    """How large the mechanism is, by what there is to see of it: its displacements and its open loops [m]."""
    lengths = [abs(x) for x, unit in zip(q, terms.equations.coordinate_units, strict=True) if unit == "m"]
    return max([1.0, *lengths, *np.abs(terms.at(q).phi)])


def _search(terms: ConstraintTerms, q: Array, held: Collection[int]) -> Closed:
    """Damped Newton steps: J s = -phi, of all s that do the same the smallest; held coordinates have rate zero."""
    at = terms.at(q)
    share, error = FIRST_SHARE, _error(at)
    if not np.isfinite(error):
        return Closed(q, np.inf, int(np.argmin(np.isfinite(at.J).all(axis=1))), -1)
    for _ in range(ITERATIONS):
        if not error or share > MOST_SHARE:
            break
        trial = _held_exactly(at.moved(_step(at, held, share)), q, held)
        there = terms.at(trial)
        left = _error(there)
        if left < error:
            done = left > 0.5 * error and left <= CLOSED * size(terms, q)  # only rounding is left
            q, at, error, share = trial, there, left, max(share / 10.0, LEAST_SHARE)
            if done:
                break
        else:
            share *= 10.0
            if error <= 1e-3 * CLOSED:
                break
    phi = at.phi
    worst = int(np.argmax(np.abs(phi))) if len(phi) else 0
    return Closed(q, float(np.abs(phi).max(initial=0.0)), worst, _turned(at))


def _error(at: ConstraintTerms) -> float:
    """Return the norm of phi; infinite where J has no value, as for a rope two of whose points meet."""
    return float(np.linalg.norm(at.phi)) if np.isfinite(at.J).all() else np.inf


def _step(at: ConstraintTerms, held: Collection[int], share: float) -> Array:
    phi, J = at.phi, at.J
    free = null_space(at.Y[sorted(held)], len(at.equations.u))
    damping = np.sqrt(share) * float(np.linalg.norm(phi))
    rows = np.vstack([J @ free, damping * np.eye(free.shape[1])])
    wanted = np.concatenate([-phi, np.zeros(free.shape[1])])
    s = free @ np.linalg.lstsq(rows, wanted, rcond=NEGLIGIBLE)[0]
    return s * min(1.0, LONGEST / max(float(np.abs(s).max(initial=0.0)), 1e-300))


def null_space(rows: Array, n: int) -> Array:
    """An orthonormal basis of what the rows map to zero, (n, n - rank)."""
    if not len(rows):
        return np.eye(n)
    _, values, V = np.linalg.svd(rows)
    rank = int((values > NEGLIGIBLE * max(values[0], 1e-300)).sum())
    return np.asarray(V[rank:].T)


def _held_exactly(trial: Array, q: Array, held: Collection[int]) -> Array:
    trial[list(held)] = q[list(held)]
    return trial


def _turned(at: ConstraintTerms) -> int:
    """A row whose motion is not the derivative of its configuration, which belongs to no true solution; or -1.

    Equations of orientation vanish at half turns too. There d phi/dt is not A u, but of opposite sign, or zero.
    """
    A, J = at.A[list(at.closing)], at.J
    along = (A * J).sum(axis=1)
    lengths = np.linalg.norm(A, axis=1)
    wrong = (lengths > 1e-6) & (along < SAME_WAY * lengths * np.linalg.norm(J, axis=1) - 1e-12)
    wrong |= (lengths > 1e-6) & (np.linalg.norm(J, axis=1) < 1e-3 * lengths)
    return int(np.argmax(wrong)) if wrong.any() else -1


def _elsewhere(
    terms: ConstraintTerms, guess: Array, held: Collection[int], far: float, random: np.random.Generator
) -> Array:
    """The guess with what is not held displaced at random: angles by up to far half turns."""
    reach = size(terms, guess)
    q = guess.copy()
    for i, unit in enumerate(terms.equations.coordinate_units):
        amplitude = np.pi * far if unit == "rad" else far * reach if unit == "m" else 2.0 * far
        q[i] += random.uniform(-amplitude, amplitude)
    return terms.normalised(_held_exactly(q, guess, held))


def require_closed(terms: ConstraintTerms, found: Closed, guess: Array, held: Collection[int]) -> None:
    """Say why loops do not close.

    Raises:
        ModelError: they do not; the constraint that is farthest from holding is named.
    """
    reach = size(terms, guess)
    if found.good(reach):
        return
    names, model = terms.names, terms.equations.name
    which = names[terms.closing[max(found.turned, 0) if found.residual <= CLOSED * reach else found.worst]]
    if held and close_loops(terms, guess, ())[0].good(reach):
        fixed = ", ".join(terms.equations.q[i].name for i in sorted(held))
        raise ModelError(
            f"{shown(model)} does not close with {fixed} held where they are: the constraint {shown(which)} is left "
            f"{found.residual:.3g} open; hold fewer coordinates (fixed=), or hold them elsewhere"
        )
    if not np.isfinite(found.residual):
        raise ModelError(
            f"the constraint {which!r} of {model!r} has no value where assemble starts, as where points meet whose "
            "distance it takes; start elsewhere (q=)"
        )
    if found.turned >= 0 and found.residual <= CLOSED * reach:
        raise ModelError(
            f"{model!r} closes only with the bodies of the constraint {which!r} turned by half a turn against each "
            "other; give coordinates nearer to where it should close (q=)"
        )
    raise ModelError(
        f"{model!r} does not close: the best of {STARTS} starts leaves the constraint {which!r} {found.residual:.3g} "
        "open; check lengths and poses of the joints, or start elsewhere (q=)"
    )
