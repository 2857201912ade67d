"""Least squares of motions by multiple shooting: states are compared, and accelerations need not be measured.

The motion is divided into intervals. Unknowns are the parameters and the states at the shooting nodes, where intervals
start. An interval must end where the next one starts, within a small fraction of the noise. The Gauss-Newton steps
eliminate the nodes one after the other by orthogonal rotations, like a square-root filter, which is numerically stable.

In models with constraints or quaternions a node state x has fewer freedoms than components. Its unknowns z are
coordinates of the tangent space T of the admissible states. A step leads to x+ = R(x + T z) with the projection R.

Source: Bock 1983; Bierman 1977 (square-root information filter); Absil, Mahony & Sepulchre 2008, Chap. 4 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kane.analysis.identification.base_parameters import BaseParameters, base_parameters_of, triangle
from kane.analysis.identification.channels import Channels
from kane.analysis.identification.contact_variational import ContactVariational
from kane.analysis.identification.estimate import (
    REWEIGHTING_ITERATIONS,
    Estimate,
    noise_of,
    require_enough,
    require_some,
    small_beside,
    spread_of,
)
from kane.analysis.identification.regression import Regression
from kane.analysis.identification.shooting_nodes import guessed_speeds, shooting_nodes
from kane.analysis.identification.variational import Variational
from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.errors import ModelError, SimulationError
from kane.simulation.integrators import RK8

# Number of rows in a shooting interval: enough to show curvature, and few enough that wrong parameters do not diverge.
STRETCH = 20
# Standard deviation of the gaps between intervals, as a fraction of the noise.
JOINED = 0.01
# Initial noise, relative to the spread of each channel.
FIRST_NOISE = 0.01
# Largest numbers of steps and of halvings of a step, and relative gain of the sum of squares that ends the search.
MAX_GAUSS_NEWTON_STEPS, MAX_STEP_HALVINGS, LEAST_RELATIVE_GAIN = 40, 12, 1e-8
# Largest residual or slope; the squares of larger ones overflow.
INFINITE = 1e100
# Relative error of slopes due to integration.
INTEGRATED = 1e-6
# If all allowed steps are used, the search has converged if the last one left more than this fraction of the cost.
CONVERGED_COST_RATIO = 0.9
# Predicted gain of the weighted sum of squares: two standard errors, squared.
STALLED = 4.0
# Assign a row to the other side of an impact if its residual there is smaller by this factor.
NEARER = 0.5
# Residuals beyond this multiple of the noise are outliers; median magnitude of normal noise per standard deviation.
OUTSIDE, NORMAL = 10.0, 0.6745
# Weights are updated while an update reduces the noise to less than this fraction, at most MOST_ROUNDS times.
FALLS, MOST_ROUNDS = 0.5, 12


class _Unknowns(NamedTuple):
    """Values of all parameters, and node states, (intervals, nx)."""

    values: Array
    begins: Array


class _Looked(NamedTuple):
    """Residuals and slopes of all intervals, without weights.

    Attributes:
        residuals: (k, measured channels).
        gaps: end of each interval minus start of the next, (intervals - 1, channels).
        J, gap_J: their slopes by the node and the parameters, (., their channels, freedoms + p).
        moves: T, the admissible changes of each node, (intervals, nx, freedoms).
        joined: slopes of the next node, (intervals - 1, channels, freedoms).
    """

    residuals: Array
    gaps: Array
    J: Array
    gap_J: Array
    moves: Array
    joined: Array

    def cost(self, noise: Array) -> float:
        """Return the weighted sum of squares; ``noise`` starts with the measured channels."""
        own = noise[: self.residuals.shape[1]]
        return float(((self.residuals / own) ** 2).sum() + ((self.gaps / (JOINED * noise)) ** 2).sum())


def estimate_by_motions(
    fitted: Regression, places: list[int], structure: BaseParameters, values: Array, given: Array | None
) -> Estimate:
    """Estimate the independent parameters and the noise by least squares.

    Raises:
        ModelError: a motion has no derivative, the data are too few, or the search ends away from the data.
        SimulationError: the initial motion cannot be simulated.
    """
    names = [fitted.names[i] for i in structure.independent]
    shooting = _Shooting.of(fitted, names, [places[i] for i in structure.independent], values)
    data, p = shooting.channels.series(shooting.measured)[:, shooting.seen], len(names)
    noise = FIRST_NOISE * shooting.spread if given is None else shooting.of_all(given)
    at = _Unknowns(values, shooting.begins(values))
    looked = shooting.look(at)
    require_enough(data.size, p + looked.moves.shape[2])
    base = base_parameters_of(shooting.reduced(looked, noise).R[:, :p], INTEGRATED)
    require_some(base, fitted.names)
    try:
        found = shooting.estimated(_Found(at, looked, noise, False), base.independent, given is None)
    except np.linalg.LinAlgError as error:  # the motion no longer determines its node states
        raise _lost(fitted.names, values[places]) from error
    shooting.require_sides(found)
    R = shooting.reduced(found.looked, found.noise).R
    if len(base_parameters_of(R[:, :p], INTEGRATED).independent) < len(base.independent) or not _explains(found, data):
        raise _lost(fitted.names, values[places], shooting.farthest(found))
    J = np.zeros((p + 1, len(fitted.names)))
    J[:, structure.independent] = R[:, :p]
    return Estimate(found.at.values, found.looked.residuals, J, found.noise[shooting.seen], base)


def _lost(names: Sequence[str], start: Array, farthest: str = "") -> ModelError:
    """Return the error of a failed search: its start, and the interval that is farthest from the data."""
    begun = ", ".join(f"{name} = {value:.9g}" for name, value in zip(names, start, strict=True))
    return ModelError(
        f"the search from {begun} found no motion near the data{farthest}; start nearer (start=), with the right "
        "signs of the parameters, and check units (q in rad) and the model"
    )


def _explains(found: _Found, data: Array) -> bool:
    """Check whether a search has converged, with residuals that are small relative to the data or to their noise."""
    left = np.linalg.norm(found.looked.residuals, axis=0) / np.sqrt(len(data) - data.shape[1])
    return found.ended and bool(small_beside(left, data).all() and np.isfinite(found.at.values).all())


class _Found(NamedTuple):
    """State of a search: unknowns, motion, noise, and whether it has converged."""

    at: _Unknowns
    looked: _Looked
    noise: Array
    ended: bool


class _Reduced(NamedTuple):
    """Rows that remain after the elimination of all nodes, [J r] (p + 1, p + 1), and the eliminated rows."""

    R: Array
    rows: list[Array]


@dataclass(frozen=True, eq=False)
class _Shooting:
    """Shooting intervals of a measured motion.

    Attributes:
        motion: initial value problem with derivatives by the parameters and the initial state.
        places: indices of these parameters among all.
        channels: channels in which states are compared.
        time: times of the measured states, (k,) [s].
        measured: q and u, (k, nx); speeds that were not measured are guesses from differences of q.
        seen: measured channels.
        cuts: rows of the shooting nodes, and the last row.
        spread: scale of each channel, to which residuals are compared.
    """

    motion: Variational
    places: list[int]
    channels: Channels
    time: Array
    measured: Array
    seen: slice
    cuts: list[int]
    spread: Array

    @property
    def contacts(self) -> bool:
        """Whether the model has intermittent constraints."""
        return bool(self.motion.problem.dyn.equations.intermittents)

    @classmethod
    def of(cls, fitted: Regression, names: list[str], places: list[int], values: Array) -> _Shooting:
        """Create the problem of measured data."""
        data, channels = fitted.data, Channels.of(fitted.dyn)
        inputs = data.profile if fitted.dyn.equations.inputs else None
        last, measured = len(data) - 1, channels.continued(data.q if data.u is None else np.hstack([data.q, data.u]))
        if data.u is None:
            measured = guessed_speeds(fitted.dyn, data.time, measured, values)
        if fitted.dyn.equations.intermittents:
            begun = shooting_nodes(fitted.dyn, values, data.time, measured, STRETCH)
            begun.require_known(fitted.dyn, names)
            closed = dict(zip(data.time[begun.rows].tolist(), begun.closed, strict=True))
            motion: Variational = ContactVariational.among(fitted.dyn, inputs, values, names, closed)
            rows = begun.rows
        else:
            motion = Variational.of(fitted.dyn, inputs, values, names)
            rows = [*range(0, max(last - STRETCH // 2, 1), STRETCH)]
        seen, spread = channels.measured(data), spread_of(channels.series(measured))
        return cls(motion, places, channels, data.time, measured, seen, [*rows, last], spread)

    def of_all(self, noise: Array) -> Array:
        """Extend the noise of the measured channels to all channels, as an equal fraction of the spread."""
        unseen = self.spread[self.seen.stop :]
        return np.concatenate([noise, unseen * (noise / self.spread[self.seen]).max()])

    def begins(self, values: Array) -> Array:
        """Return node states: the measured states, projected onto the constraints.

        Raises:
            ModelError: the projection moves a state too far.
        """
        first = self.cuts[:-1]
        found = np.array([self.motion.projected(self.time[k], self.measured[k], values) for k in first])
        moved = np.abs(_times(self.channels.slopes(self.measured[first]), found - self.measured[first]))
        near = small_beside(moved.max(axis=0), self.channels.series(self.measured))[self.seen]
        if not near.all():
            worst = int(np.argmin(near))
            raise ModelError(
                f"the constraints of {self.motion.problem.dyn.equations.name!r} do not hold in these data: projection "
                f"moves {self.channels.names[worst]} by {moved[:, worst].max():.3g}, more than its variation in the "
                "data; correct the data (q in rad), or the lengths in the model"
            )
        return found

    def look(self, at: _Unknowns) -> _Looked:
        """Simulate the motion with these unknowns."""
        times = [self.time[first : last + 1] for first, last in pairwise(self.cuts)]
        x, S, moves, instead = self.motion.run(at.begins, times, at.values, RK8())
        ends = np.cumsum([len(own) for own in times]) - 1
        joined, own = ends[:-1], np.delete(np.arange(len(x)), ends[:-1])
        measured, begins = self.measured, at.begins[1:]
        C, joins = self.channels.slopes(measured), self.channels.slopes(begins)
        to, by = np.empty_like(x), np.empty((len(x), *C.shape[1:]))
        to[own], to[joined], by[own], by[joined] = measured, begins, C, joins
        for row, there, slopes in instead:
            if self._nearer(by[row] @ (there - to[row]), by[row] @ (x[row] - to[row])):
                x[row], S[row] = there, slopes
        looked = _Looked(
            _times(C, x[own] - measured)[:, self.seen],
            _times(joins, x[joined] - begins),
            (C @ S[own])[:, self.seen],
            joins @ S[joined],
            moves,
            joins @ moves[1:],
        )
        if not all((np.abs(part) < INFINITE).all() for part in looked):
            raise SimulationError("the motion with these parameters diverges; start the search nearer (start=)")
        return looked

    def _nearer(self, other: Array, own: Array) -> bool:
        """Check whether one residual is clearly smaller than another."""
        return bool(
            np.linalg.norm((other / self.spread)[self.seen]) < NEARER * np.linalg.norm((own / self.spread)[self.seen])
        )

    def reduced(self, looked: _Looked, noise: Array) -> _Reduced:
        """Eliminate all nodes, first to last; columns are those of a node, the next node, p, and r."""
        d, p = looked.moves.shape[2], len(self.places)
        carried, rows = np.zeros((0, d + p + 1)), list[Array]()
        for k, (first, last) in enumerate(pairwise(self.cuts)):
            final = last == self.cuts[-1]
            own = slice(first, last + final)
            blocks = [np.insert(carried, [d] * d, 0.0, axis=1), _held(looked.moves[k], d + p + 1)]
            blocks.append(_rows(looked.J[own], looked.residuals[own], noise[self.seen], np.zeros((1, 1, d))))
            if not final:
                join = slice(k, k + 1)
                blocks.append(_rows(looked.gap_J[join], looked.gaps[join], JOINED * noise, -looked.joined[join]))
            R = triangle(np.vstack(blocks))
            rows.append(R[:d])
            carried = R[d:, d:]
        return _Reduced(triangle(carried[:, d:]), rows)

    def estimated(self, found: _Found, sought: list[int], weigh: bool) -> _Found:
        """Return the result of the search; ``weigh`` alternates searches and updates of the noise."""
        for k in range(MOST_ROUNDS if weigh else 1):
            found, before = self.searched(found, sought), found.noise
            if weigh:
                lengths, freedoms = np.linalg.norm(found.looked.residuals, axis=0), found.looked.moves.shape[2]
                own = noise_of(lengths, len(self.time), len(sought) + freedoms)
                found = found._replace(noise=self.of_all(own))
                if k + 1 >= REWEIGHTING_ITERATIONS and (found.noise > FALLS * before).all():
                    break
        return found

    def searched(self, found: _Found, sought: list[int]) -> _Found:
        """Return the result of the Gauss-Newton method with fixed noise."""
        p, (at, looked, noise, _) = len(self.places), found
        for _ in range(MAX_GAUSS_NEWTON_STEPS):
            reduced, cost = self.reduced(looked, noise), looked.cost(noise)
            step = np.zeros(p)
            J = reduced.R[:, sought]
            scale = np.linalg.norm(J, axis=0)
            if not (scale > 0.0).all():  # a parameter has no effect there
                return _Found(at, looked, noise, False)
            step[sought] = -np.linalg.lstsq(J / scale, reduced.R[:, -1], rcond=None)[0] / scale
            gain = cost - float(((reduced.R[:, :p] @ step + reduced.R[:, -1]) ** 2).sum())
            moved = self._moved(at, looked, noise, step, reduced.rows) if gain > LEAST_RELATIVE_GAIN * cost else None
            if moved is None:
                return _Found(at, looked, noise, not self._stalled(gain, noise))
            at, looked = moved
        return _Found(at, looked, noise, looked.cost(noise) > CONVERGED_COST_RATIO * cost)

    def _stalled(self, gain: float, noise: Array) -> bool:
        """Check whether a step without gain is due to a changed order of impacts, and not to a minimum of the cost.

        The sign is a large predicted gain. It also occurs if a motion starts at rest with friction, because its
        one-sided derivatives differ.
        """
        return self.contacts and gain > STALLED and self._rough(noise)

    def _rough(self, noise: Array) -> bool:
        """Check whether the noise exceeds integration errors."""
        return bool((noise > INTEGRATED * self.spread).any())

    def farthest(self, found: _Found) -> str:
        """Return, as text, the interval of a motion with contacts that is farthest from the data."""
        if not self.contacts:
            return ""
        off = ((found.looked.residuals / found.noise[self.seen]) ** 2).sum(axis=1)
        first, last = max(pairwise(self.cuts), key=lambda ends: float(off[ends[0] : ends[1] + 1].mean()))
        return (
            f" (it is farthest off between t = {self.time[first]:.6g} s and {self.time[last]:.6g} s: impacts or slips "
            "may occur there at other times, or in other numbers, than in the data)"
        )

    def require_sides(self, found: _Found) -> None:
        """Raise if a motion with contacts is on the wrong side of an impact.

        Raises:
            ModelError: the message names the row with the largest outlier.
        """
        if not self.contacts or not self._rough(found.noise):
            return
        off = np.abs(found.looked.residuals)
        off /= np.maximum(np.median(off, axis=0) / NORMAL, INTEGRATED * self.spread[self.seen])
        row, channel = np.unravel_index(int(np.argmax(off)), off.shape)
        if off[row, channel] > OUTSIDE:
            raise ModelError(
                f"the motion that was found misses the data in row {row} at {self.time[row]:.6g} s by "
                f"{off[row, channel]:.3g} times the noise of {self.channels.names[channel]}: impacts or slips occur in "
                "another order or at other times. Start nearer (start=), or leave out the row if it is wrong"
            )

    def _moved(
        self, at: _Unknowns, looked: _Looked, noise: Array, step: Array, rows: list[Array]
    ) -> tuple[_Unknowns, _Looked] | None:
        """Take a step, halved until the sum of squares decreases; return None if it never does."""
        d, cost, refused = looked.moves.shape[2], looked.cost(noise), None
        found: list[Array] = []
        later: Array = np.zeros(d)
        for R in reversed(rows):
            wanted = -(R[:, d : 2 * d] @ later + R[:, 2 * d : -1] @ step + R[:, -1])
            later = np.asarray(np.linalg.solve(R[:, :d], wanted))
            found.append(later)
        begins = _times(looked.moves, np.array(found[::-1]))
        for halving in range(MAX_STEP_HALVINGS):
            size = 0.5**halving
            values = at.values.copy()
            values[self.places] += size * step
            moved = at.begins + size * begins
            try:
                nodes = [self.motion.projected(self.time[k], x, values) for k, x in zip(self.cuts, moved, strict=False)]
                there = _Unknowns(values, np.array(nodes))
                seen = self.look(there)
            except (ModelError, SimulationError) as error:
                refused = error
                continue
            refused = None
            if seen.cost(noise) < cost:
                return there, seen
        if isinstance(refused, ModelError):  # even for the smallest step
            raise ModelError(f"the search reached a motion that has no derivative: {refused}") from refused
        return None


def _times(A: Array, x: Array) -> Array:
    """Return products of matrices and vectors, one by one."""
    return np.asarray((A @ x[..., None])[..., 0])


def _held(moves: Array, following: int) -> Array:
    """Return rows that keep the unknowns without effect, which have zero columns in ``moves``, at zero."""
    held = np.eye(moves.shape[1])[~moves.any(axis=0)]
    return np.pad(held, ((0, 0), (0, following)))


def _rows(J: Array, r: Array, noise: Array, following: Array) -> Array:
    """Return weighted rows [node, next node, p, r] of slopes (m, channels, freedoms + p) and residuals."""
    m, c, _ = J.shape
    d = following.shape[2]
    parts = [J[..., :d], np.broadcast_to(following, (m, c, d)), J[..., d:], r[..., None]]
    return (np.concatenate(parts, axis=-1) / noise[:, None]).reshape(m * c, -1)
