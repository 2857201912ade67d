"""Least squares of motions by multiple shooting: states are compared, and accelerations need not be measured.

The motion is cut into stretches. Unknown are the parameters and the state in which each stretch begins; a stretch ends
where the next one begins, to a small share of the noise. Gauss and Newton's method: each step eliminates the beginnings
one after the other by orthogonal rotations, as a filter does, which stays stable where errors grow along the motion.

Source: Bock 1983; Bierman 1977 (square-root information filter).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.combinations import Combinations, combinations_of, triangle
from kane.analysis.identification.estimate import NOISELESS, ROUNDS, Estimate, noise_of, require_enough, require_some
from kane.analysis.identification.measurements import Measurements
from kane.analysis.identification.regression import Regression
from kane.analysis.identification.variational import Variational
from kane.errors import ModelError, SimulationError
from kane.simulation.integrators import RK8

Array = NDArray[np.float64]
# States in a stretch: enough to see curvature, and few enough that wrong parameters do not lead far away.
STRETCH = 20
# A stretch ends where the next begins to this share of the noise.
JOINED = 0.01
# Weights at first: noise as a share of each channel's own spread.
FIRST_NOISE = 0.01
# Steps of a search, halvings of a step, and the share of the sum of squares that is no gain.
STEPS, HALVINGS, NO_GAIN = 40, 12, 1e-8
# Residuals and slopes beyond this have no square.
INFINITE = 1e100
# What of a column is error of the integration.
INTEGRATED = 1e-6
# Where all steps are taken, a search has ended if its last one left more than this of the sum of squares: at round-off.
SLOW = 0.9
# Weights are found anew while noise falls below this share of itself; in so many rounds it falls to round-off.
FALLS, MOST_ROUNDS = 0.5, 12
# A motion is found where in every channel residuals are less than this share of the spread of the data, which is where
# half of their square is explained, or than so many times the noise by which neighbours differ.
EXPLAINED, ROUGH = 0.7, 3.0


class _Unknowns(NamedTuple):
    """Values of all parameters, and the states in which stretches begin (stretches, nx)."""

    values: Array
    begins: Array


class _Looked(NamedTuple):
    """A motion in stretches: residuals (k, nx) and gaps (stretches - 1, nx), and the slopes of both by parameters and
    beginnings, (k, p + nx, nx) and (stretches - 1, p + nx, nx), not weighted."""

    residuals: Array
    gaps: Array
    J: Array
    gap_J: Array

    def cost(self, noise: Array) -> float:
        """The weighted sum of squares."""
        return float(((self.residuals / noise) ** 2).sum() + ((self.gaps / (JOINED * noise)) ** 2).sum())


def estimate_by_motions(
    fitted: Regression, places: list[int], structure: Combinations, values: Array, given: Array | None
) -> Estimate:
    """Least squares over the parameters that name the combinations; noise found with them.

    Raises:
        ModelError: constraints, modes or quaternions; too few numbers; the search ended away from the data.
        SimulationError: the first motion cannot be simulated.
    """
    names = [fitted.names[i] for i in structure.independent]
    shooting = _Shooting.of(fitted, names, [places[i] for i in structure.independent], values)
    data, p = shooting.measured, len(names)
    require_enough(data.size, p + data.shape[1])
    noise = FIRST_NOISE * (data.std(axis=0) + data.std() + NOISELESS) if given is None else given
    at = _Unknowns(values, data[shooting.cuts[:-1]])
    looked = shooting.look(at)
    base = combinations_of(shooting.reduced(looked, noise).R[:, :p], INTEGRATED)
    require_some(base, fitted.names)
    try:
        found = shooting.settled(_Found(at, looked, noise, False), base.independent, given is None)
    except np.linalg.LinAlgError as error:  # the motion has lost what ties it to where it begins
        raise _lost(fitted.names, values[places]) from error
    R = shooting.reduced(found.looked, found.noise).R
    if len(combinations_of(R[:, :p], INTEGRATED).independent) < len(base.independent) or not _explains(found, data):
        raise _lost(fitted.names, values[places])
    J = np.zeros((p + 1, len(fitted.names)))
    J[:, structure.independent] = R[:, :p]
    return Estimate(found.at.values, found.looked.residuals, J, found.noise, base)


def _lost(names: Sequence[str], start: Array) -> ModelError:
    """The error that says from where a search found nothing."""
    begun = ", ".join(f"{name} = {value:.9g}" for name, value in zip(names, start, strict=True))
    return ModelError(
        f"the search from {begun} found no motion near the data; start nearer (start=), with the signs that the "
        "parameters have, and check units (q in rad) and the model"
    )


def _explains(found: _Found, data: Array) -> bool:
    """Whether a search has ended, where residuals are small beside what was measured, or as rough as its noise."""
    length = len(data) - data.shape[1]
    left = np.linalg.norm(found.looked.residuals, axis=0) / np.sqrt(length)
    rough = np.diff(data, 2, axis=0).std(axis=0) / np.sqrt(6.0) if len(data) > 2 else np.inf
    near = left <= np.maximum(EXPLAINED * data.std(axis=0), np.maximum(ROUGH * rough, NOISELESS))
    return found.ended and bool(near.all() and np.isfinite(found.at.values).all())


class _Found(NamedTuple):
    """Where a search is: the unknowns, the motion there, its noise, and whether steps no longer lead further."""

    at: _Unknowns
    looked: _Looked
    noise: Array
    ended: bool


class _Reduced(NamedTuple):
    """What remains of the rows when all beginnings are eliminated, [J r] (p + 1, p + 1), and the eliminated rows."""

    R: Array
    rows: list[Array]


@dataclass(frozen=True, eq=False)
class _Shooting:
    """A measured motion in stretches.

    Attributes:
        motion: with its derivatives by the parameters, then by the state at the start.
        places: of these parameters among all.
        data: what was measured; ``cuts`` are the rows at which stretches begin, and the last row.
    """

    motion: Variational
    places: list[int]
    data: Measurements
    cuts: list[int]

    @classmethod
    def of(cls, fitted: Regression, names: list[str], places: list[int], values: Array) -> _Shooting:
        """Of measured data."""
        e, data = fitted.dyn.equations, fitted.data
        if e.quaternions:
            raise ModelError(f"{e.name!r} has quaternions, which are not fitted without accelerations; give udot")
        states = [leaf.name for leaf in (*e.q, *e.u)]
        inputs = data.profile if e.inputs else None
        motion = Variational.of(fitted.dyn, inputs, values, [*names, *states])
        last = len(data) - 1
        return cls(motion, places, data, [*range(0, max(last - STRETCH // 2, 1), STRETCH), last])

    @property
    def measured(self) -> Array:
        """q and u, (k, nx)."""
        return np.hstack([self.data.q, self.data.u])

    def look(self, at: _Unknowns) -> _Looked:
        """The motion with these unknowns."""
        method, time, measured = RK8(), self.data.time, self.measured
        residuals, J, gaps, gap_J = [], [], [], []
        for k, (first, last) in enumerate(zip(self.cuts[:-1], self.cuts[1:], strict=True)):
            x, S = self.motion.run(at.begins[k], time[first : last + 1], at.values, method)
            end = len(x) if last == self.cuts[-1] else -1
            residuals.append(x[:end] - measured[first : first + len(x[:end])])
            J.append(S[:end])
            if last != self.cuts[-1]:
                gaps.append(x[-1] - at.begins[k + 1])
                gap_J.append(S[-1])
        nx, width = measured.shape[1], len(self.motion.starts)
        looked = _Looked(
            np.concatenate(residuals),
            np.array(gaps).reshape(-1, nx),
            np.concatenate(J),
            np.array(gap_J).reshape(-1, width, nx),
        )
        if not all((np.abs(part) < INFINITE).all() for part in looked):
            raise SimulationError(
                "the motion with these parameters leads to infinity; begin the search nearer (start=)"
            )
        return looked

    def reduced(self, looked: _Looked, noise: Array) -> _Reduced:
        """All beginnings eliminated, first to last; columns are those of a beginning, of the next, of p, and r."""
        nx, p = len(noise), len(self.places)
        carried, rows = np.zeros((0, nx + p + 1)), list[Array]()
        for k, (first, last) in enumerate(zip(self.cuts[:-1], self.cuts[1:], strict=True)):
            final = last == self.cuts[-1]
            own = slice(first, last + final)
            blocks = [np.insert(carried, [nx] * nx, 0.0, axis=1)]
            blocks.append(_rows(looked.J[own], looked.residuals[own], noise, None))
            if not final:
                blocks.append(_rows(looked.gap_J[k : k + 1], looked.gaps[k : k + 1], JOINED * noise, -np.eye(nx)))
            R = triangle(np.vstack(blocks))
            rows.append(R[:nx])
            carried = R[nx:, nx:]
        return _Reduced(triangle(carried[:, nx:]), rows)

    def settled(self, found: _Found, sought: list[int], weigh: bool) -> _Found:
        """Where the search ends; with ``weigh`` the noise is found with it, and the search goes on with that."""
        for k in range(MOST_ROUNDS if weigh else 1):
            found, before = self.searched(found, sought), found.noise
            if weigh:
                lengths, (states, nx) = np.linalg.norm(found.looked.residuals, axis=0), self.measured.shape
                found = found._replace(noise=noise_of(lengths, states, len(sought) + nx))
                if k + 1 >= ROUNDS and (found.noise > FALLS * before).all():
                    break
        return found

    def searched(self, found: _Found, sought: list[int]) -> _Found:
        """Where Gauss and Newton's method ends with this noise, and the motion there."""
        p, (at, looked, noise, _) = len(self.places), found
        for _ in range(STEPS):
            reduced, cost = self.reduced(looked, noise), looked.cost(noise)
            step = np.zeros(p)
            J = reduced.R[:, sought]
            scale = np.linalg.norm(J, axis=0)
            if not (scale > 0.0).all():  # a parameter has lost its effect there
                return _Found(at, looked, noise, False)
            step[sought] = -np.linalg.lstsq(J / scale, reduced.R[:, -1], rcond=None)[0] / scale
            gain = cost - float(((reduced.R[:, :p] @ step + reduced.R[:, -1]) ** 2).sum())
            moved = self._moved(at, looked, noise, step, reduced.rows) if gain > NO_GAIN * cost else None
            if moved is None:
                return _Found(at, looked, noise, True)
            at, looked = moved
        return _Found(at, looked, noise, looked.cost(noise) > SLOW * cost)

    def _moved(
        self, at: _Unknowns, looked: _Looked, noise: Array, step: Array, rows: list[Array]
    ) -> tuple[_Unknowns, _Looked] | None:
        """A step, halved until the sum of squares falls; None where it does not."""
        nx, cost = len(noise), looked.cost(noise)
        moves: list[Array] = []
        later: Array = np.zeros(nx)
        for R in reversed(rows):
            wanted = -(R[:, nx : 2 * nx] @ later + R[:, 2 * nx : -1] @ step + R[:, -1])
            later = np.asarray(np.linalg.solve(R[:, :nx], wanted))
            moves.append(later)
        begins = np.array(moves[::-1])
        for halving in range(HALVINGS):
            size = 0.5**halving
            values = at.values.copy()
            values[self.places] += size * step
            there = _Unknowns(values, at.begins + size * begins)
            try:
                found = self.look(there)
            except SimulationError:
                continue
            if found.cost(noise) < cost:
                return there, found
        return None


def _rows(J: Array, r: Array, noise: Array, following: Array | None) -> Array:
    """Weighted rows [by a beginning, by the next, by p, r] of slopes (m, p + nx, nx) and residuals (m, nx)."""
    m, width, nx = J.shape
    by = np.swapaxes(J, 1, 2) / noise[:, None]
    after = np.zeros((m, nx, nx)) if following is None else np.broadcast_to(following / noise[:, None], (m, nx, nx))
    parts = [by[..., width - nx :], after, by[..., : width - nx], (r / noise)[..., None]]
    return np.concatenate(parts, axis=-1).reshape(m * nx, -1)
