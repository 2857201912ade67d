"""Close loops from a guess: damped Newton steps in the tangent space, from several starts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kane.analysis.inverse_kinematics import FIRST_DAMPING_FACTOR, LARGEST_DAMPING_FACTOR, LEAST_DAMPING_FACTOR
from kane.deferred import dataclass
from kane.dynamics.constraint_terms import Array, ConstraintTerms
from kane.errors import ModelError, shown

# Number of starts: the guess, then configurations at increasing distances from it.
CLOSING_STARTS = 40
CLOSING_SEED = 5
MAX_CLOSING_ITERATIONS = 200
# Relative singular value below which a row is redundant.
REDUNDANT_SINGULAR_VALUE = 1e-10
# Largest step [rad or m], over which loop equations are nearly linear.
LONGEST_CLOSING_STEP = 1.0
# Residual of a closed loop, relative to the size of the mechanism (at least 1 m).
CLOSED_LOOP_TOLERANCE = 1e-11
# At a true solution the cosine between a row of A and the gradient of its phi is at least this.
SAME_WAY = 0.5


@dataclass(frozen=True, eq=False)
class Closed:
    """Result of a search.

    Attributes:
        q: coordinates.
        residual: largest residual of the configuration [m or rad].
        worst: index of its row among the closing rows.
        turned: index of a closing row that vanishes only because its bodies differ by half a turn; -1 if there is
            none.
    """

    q: Array
    residual: float
    worst: int
    turned: int

    def good(self, reach: float) -> bool:
        """Check whether the loops are closed, for a mechanism of size ``reach``."""
        return self.residual <= CLOSED_LOOP_TOLERANCE * reach and self.turned < 0


def close_loops(terms: ConstraintTerms, guess: Array, held: Collection[int]) -> tuple[Closed, int]:
    """Return coordinates near a guess that satisfy the configuration constraints, and the number of starts.

    If no start leads to a solution, the result is the nearest end of a search.

    Args:
        terms: constraints in the joints' own speeds.
        guess: coordinates.
        held: indices of the coordinates that keep their values.
    """
    random = np.random.default_rng(CLOSING_SEED)
    reach = size(terms, guess)
    best = _search(terms, guess, held)
    for start in range(1, CLOSING_STARTS):
        if best.good(reach):
            return best, start
        found = _search(terms, _elsewhere(terms, guess, held, start / CLOSING_STARTS, random), held)
        if (found.turned >= 0, found.residual) < (best.turned >= 0, best.residual):
            best = found
    return best, CLOSING_STARTS


def size(terms: ConstraintTerms, q: Array) -> float:
    """Return the size of the mechanism: its largest length coordinate or residual, at least 1 [m]."""
    lengths = [abs(x) for x, unit in zip(q, terms.equations.coordinate_units, strict=True) if unit == "m"]
    return max([1.0, *lengths, *np.abs(terms.at(q).phi)])


def _search(terms: ConstraintTerms, q: Array, held: Collection[int]) -> Closed:
    """Take damped minimum-norm Newton steps J s = -phi, in which held coordinates do not move."""
    at = terms.at(q)
    ratio, error = FIRST_DAMPING_FACTOR, _error(at)
    if not np.isfinite(error):
        return Closed(q, np.inf, int(np.argmin(np.isfinite(at.J).all(axis=1))), -1)
    for _ in range(MAX_CLOSING_ITERATIONS):
        if not error or ratio > LARGEST_DAMPING_FACTOR:
            break
        trial = _held_exactly(at.moved(_step(at, held, ratio)), q, held)
        there = terms.at(trial)
        left = _error(there)
        if left < error:
            done = left > 0.5 * error and left <= CLOSED_LOOP_TOLERANCE * size(terms, q)  # only round-off remains
            q, at, error, ratio = trial, there, left, max(ratio / 10.0, LEAST_DAMPING_FACTOR)
            if done:
                break
        else:
            ratio *= 10.0
            if error <= 1e-3 * CLOSED_LOOP_TOLERANCE:
                break
    phi = at.phi
    worst = int(np.argmax(np.abs(phi))) if len(phi) else 0
    return Closed(q, float(np.abs(phi).max(initial=0.0)), worst, _turned(at))


def _error(at: ConstraintTerms) -> float:
    """Return the norm of phi; infinite if J is not finite, for example if two points of a rope coincide."""
    return float(np.linalg.norm(at.phi)) if np.isfinite(at.J).all() else np.inf


def _step(at: ConstraintTerms, held: Collection[int], ratio: float) -> Array:
    phi, J = at.phi, at.J
    free = null_space(at.Y[sorted(held)], len(at.equations.u))
    damping = np.sqrt(ratio) * float(np.linalg.norm(phi))
    rows = np.vstack([J @ free, damping * np.eye(free.shape[1])])
    wanted = np.concatenate([-phi, np.zeros(free.shape[1])])
    s = free @ np.linalg.lstsq(rows, wanted, rcond=REDUNDANT_SINGULAR_VALUE)[0]
    return s * min(1.0, LONGEST_CLOSING_STEP / max(float(np.abs(s).max(initial=0.0)), 1e-300))


def null_space(rows: Array, n: int) -> Array:
    """Return an orthonormal basis of the null space of the rows, (n, n - rank)."""
    if not len(rows):
        return np.eye(n)
    _, values, V = np.linalg.svd(rows)
    rank = int((values > REDUNDANT_SINGULAR_VALUE * max(values[0], 1e-300)).sum())
    return np.asarray(V[rank:].T)


def _held_exactly(trial: Array, q: Array, held: Collection[int]) -> Array:
    trial[list(held)] = q[list(held)]
    return trial


def _turned(at: ConstraintTerms) -> int:
    """Return the index of a row whose motion is not the derivative of its configuration; -1 if all rows agree.

    At half turns, where orientation equations vanish too, d phi/dt is zero or opposite to A u.
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
    """Displace the free coordinates of the guess at random: angles by at most ``far`` half turns."""
    reach = size(terms, guess)
    q = guess.copy()
    for i, unit in enumerate(terms.equations.coordinate_units):
        amplitude = np.pi * far if unit == "rad" else far * reach if unit == "m" else 2.0 * far
        q[i] += random.uniform(-amplitude, amplitude)
    return terms.normalised(_held_exactly(q, guess, held))


def require_closed(terms: ConstraintTerms, found: Closed, guess: Array, held: Collection[int]) -> None:
    """Raise an error that explains why loops do not close.

    Raises:
        ModelError: the loops are not closed; the message names the constraint with the largest residual.
    """
    reach = size(terms, guess)
    if found.good(reach):
        return
    names, model = terms.names, terms.equations.name
    which = names[
        terms.closing[max(found.turned, 0) if found.residual <= CLOSED_LOOP_TOLERANCE * reach else found.worst]
    ]
    if held and close_loops(terms, guess, ())[0].good(reach):
        fixed = ", ".join(terms.equations.q[i].name for i in sorted(held))
        raise ModelError(
            f"{shown(model)} does not close with {fixed} held at these values: the constraint {shown(which)} is left "
            f"{found.residual:.3g} open; hold fewer coordinates (fixed=), or hold other values"
        )
    if not np.isfinite(found.residual):
        raise ModelError(
            f"the constraint {which!r} of {model!r} has no finite value where assemble starts, for example because it "
            "uses the distance of two points that coincide; start elsewhere (q=)"
        )
    if found.turned >= 0 and found.residual <= CLOSED_LOOP_TOLERANCE * reach:
        raise ModelError(
            f"assemble closes {model!r} only with the bodies of the constraint {which!r} turned by half a turn against "
            "each other; give coordinates nearer to the solution (q=)"
        )
    raise ModelError(
        f"{model!r} does not close: the best of {CLOSING_STARTS} starts leaves the constraint {which!r} "
        f"{found.residual:.3g} open; check lengths and poses of the joints, or start elsewhere (q=)"
    )
