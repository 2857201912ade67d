"""Least squares of motions by multiple shooting: states are compared, and accelerations need not be measured.

The motion is cut into stretches. Unknown are the parameters and the state in which each stretch begins; a stretch ends
where the next one begins, to a small share of the noise. Gauss and Newton's method: each step eliminates the beginnings
one after the other by orthogonal rotations, as a filter does, which stays stable where errors grow along the motion.

On constraints and with quaternions a beginning x has fewer freedoms than numbers. Its unknowns z are coordinates of the
space T that touches the possible states there, and a step leads to x+ = R(x + T z), R being what settles a state.

Source: Bock 1983; Bierman 1977 (square-root information filter); Absil, Mahony & Sepulchre 2008, Chap. 4 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.beginnings import beginnings
from kane.analysis.identification.channels import Channels
from kane.analysis.identification.combinations import Combinations, combinations_of, triangle
from kane.analysis.identification.contacting import ContactVariational
from kane.analysis.identification.estimate import (
    ROUNDS,
    Estimate,
    noise_of,
    require_enough,
    require_some,
    small_beside,
    spread_of,
)
from kane.analysis.identification.guessed_speeds import guessed_speeds
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
# A step that promises this of the sum of squares, two standard errors, and gains nothing was stopped by something else
# than an end: a motion that begins at rest where friction acts has another derivative on either side, of noise that is
# one.
STALLED = 4.0
# A row is on the other side of an impact where that is so much nearer to it.
NEARER = 0.5
# Residuals of so many times their noise are no noise; the median size of normal numbers over their deviation.
OUTSIDE, NORMAL = 10.0, 0.6745
# Weights are found anew while noise falls below this share of itself; in so many rounds it falls to round-off.
FALLS, MOST_ROUNDS = 0.5, 12


class _Unknowns(NamedTuple):
    """Values of all parameters, and the states in which stretches begin (stretches, nx)."""

    values: Array
    begins: Array


class _Looked(NamedTuple):
    """A motion in stretches, not weighted.

    Attributes:
        residuals: (k, measured channels).
        gaps: (stretches - 1, channels), where each stretch ends less where the next begins.
        J, gap_J: their slopes by the beginning and the parameters, (., their channels, freedoms + p).
        moves: T, the changes of each beginning that are possible, (stretches, nx, freedoms).
        joined: slopes of where the next one begins, (stretches - 1, channels, freedoms).
    """

    residuals: Array
    gaps: Array
    J: Array
    gap_J: Array
    moves: Array
    joined: Array

    def cost(self, noise: Array) -> float:
        """The weighted sum of squares; ``noise`` has the channels that were measured first."""
        own = noise[: self.residuals.shape[1]]
        return float(((self.residuals / own) ** 2).sum() + ((self.gaps / (JOINED * noise)) ** 2).sum())


def estimate_by_motions(
    fitted: Regression, places: list[int], structure: Combinations, values: Array, given: Array | None
) -> Estimate:
    """Least squares over the parameters that name the combinations; noise found with them.

    Raises:
        ModelError: a motion without derivatives; too few numbers; the search ended away from the data.
        SimulationError: the first motion cannot be simulated.
    """
    names = [fitted.names[i] for i in structure.independent]
    shooting = _Shooting.of(fitted, names, [places[i] for i in structure.independent], values)
    data, p = shooting.channels.series(shooting.measured)[:, shooting.seen], len(names)
    noise = FIRST_NOISE * shooting.spread if given is None else shooting.of_all(given)
    at = _Unknowns(values, shooting.begins(values))
    looked = shooting.look(at)
    require_enough(data.size, p + looked.moves.shape[2])
    base = combinations_of(shooting.reduced(looked, noise).R[:, :p], INTEGRATED)
    require_some(base, fitted.names)
    try:
        found = shooting.settled(_Found(at, looked, noise, False), base.independent, given is None)
    except np.linalg.LinAlgError as error:  # the motion has lost what ties it to where it begins
        raise _lost(fitted.names, values[places]) from error
    shooting.require_sides(found)
    R = shooting.reduced(found.looked, found.noise).R
    if len(combinations_of(R[:, :p], INTEGRATED).independent) < len(base.independent) or not _explains(found, data):
        raise _lost(fitted.names, values[places], shooting.farthest(found))
    J = np.zeros((p + 1, len(fitted.names)))
    J[:, structure.independent] = R[:, :p]
    return Estimate(found.at.values, found.looked.residuals, J, found.noise[shooting.seen], base)


def _lost(names: Sequence[str], start: Array, farthest: str = "") -> ModelError:
    """The error that says from where a search found nothing, and where the motion is farthest from the data."""
    begun = ", ".join(f"{name} = {value:.9g}" for name, value in zip(names, start, strict=True))
    return ModelError(
        f"the search from {begun} found no motion near the data{farthest}; start nearer (start=), with the signs that "
        "the parameters have, and check units (q in rad) and the model"
    )


def _explains(found: _Found, data: Array) -> bool:
    """Whether a search has ended, where residuals are small beside what was measured, or as rough as its noise."""
    left = np.linalg.norm(found.looked.residuals, axis=0) / np.sqrt(len(data) - data.shape[1])
    return found.ended and bool(small_beside(left, data).all() and np.isfinite(found.at.values).all())


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
        motion: with its derivatives by the parameters and by the state at the start.
        places: of these parameters among all.
        channels: in which states are compared.
        time: of the measured states (k,) [s].
        measured: q and u, (k, nx); speeds that were not measured are guesses from differences of q.
        seen: the channels that were measured.
        cuts: the rows at which stretches begin, and the last row.
        spread: of each channel, by which residuals are told to be large or small.
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
        """Whether constraints come and go."""
        return bool(self.motion.problem.dyn.equations.candidates)

    @classmethod
    def of(cls, fitted: Regression, names: list[str], places: list[int], values: Array) -> _Shooting:
        """Of measured data."""
        data, channels = fitted.data, Channels.of(fitted.dyn)
        inputs = data.profile if fitted.dyn.equations.inputs else None
        last, measured = len(data) - 1, channels.continued(data.q if data.u is None else np.hstack([data.q, data.u]))
        if data.u is None:
            measured = guessed_speeds(fitted.dyn, data.time, measured, values)
        if fitted.dyn.equations.candidates:
            begun = beginnings(fitted.dyn, values, data.time, measured, STRETCH)
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
        """Extend the noise of the measured channels to all channels, as an equal share of the spread."""
        unseen = self.spread[self.seen.stop :]
        return np.concatenate([noise, unseen * (noise / self.spread[self.seen]).max()])

    def begins(self, values: Array) -> Array:
        """Where stretches begin, from what was measured there.

        Raises:
            ModelError: that is far from where the constraints hold.
        """
        first = self.cuts[:-1]
        found = np.array([self.motion.settled(self.time[k], self.measured[k], values) for k in first])
        moved = np.abs(_times(self.channels.slopes(self.measured[first]), found - self.measured[first]))
        near = small_beside(moved.max(axis=0), self.channels.series(self.measured))[self.seen]
        if not near.all():
            worst = int(np.argmin(near))
            raise ModelError(
                f"the constraints of {self.motion.problem.dyn.equations.name!r} do not hold in these data: settling "
                f"moves {self.channels.names[worst]} by {moved[:, worst].max():.3g}, more than it was measured to "
                "move; correct the data (q in rad), or the lengths in the model"
            )
        return found

    def look(self, at: _Unknowns) -> _Looked:
        """The motion with these unknowns."""
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
            raise SimulationError(
                "the motion with these parameters leads to infinity; begin the search nearer (start=)"
            )
        return looked

    def _nearer(self, other: Array, own: Array) -> bool:
        """Whether one residual is clearly smaller than another."""
        return bool(
            np.linalg.norm((other / self.spread)[self.seen]) < NEARER * np.linalg.norm((own / self.spread)[self.seen])
        )

    def reduced(self, looked: _Looked, noise: Array) -> _Reduced:
        """All beginnings eliminated, first to last; columns are those of a beginning, of the next, of p, and r."""
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

    def settled(self, found: _Found, sought: list[int], weigh: bool) -> _Found:
        """Where the search ends; with ``weigh`` the noise is found with it, and the search goes on with that."""
        for k in range(MOST_ROUNDS if weigh else 1):
            found, before = self.searched(found, sought), found.noise
            if weigh:
                lengths, freedoms = np.linalg.norm(found.looked.residuals, axis=0), found.looked.moves.shape[2]
                own = noise_of(lengths, len(self.time), len(sought) + freedoms)
                found = found._replace(noise=self.of_all(own))
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
                return _Found(at, looked, noise, not self._stalled(gain, noise))
            at, looked = moved
        return _Found(at, looked, noise, looked.cost(noise) > SLOW * cost)

    def _stalled(self, gain: float, noise: Array) -> bool:
        """Whether a step that promises this gain, and has none, was stopped by another order of impacts."""
        return self.contacts and gain > STALLED and self._rough(noise)

    def _rough(self, noise: Array) -> bool:
        """Whether there is more noise than integration makes."""
        return bool((noise > INTEGRATED * self.spread).any())

    def farthest(self, found: _Found) -> str:
        """Which stretch of a motion with contacts is farthest from the data, in words."""
        if not self.contacts:
            return ""
        off = ((found.looked.residuals / found.noise[self.seen]) ** 2).sum(axis=1)
        first, last = max(pairwise(self.cuts), key=lambda ends: float(off[ends[0] : ends[1] + 1].mean()))
        return (
            f" (it is farthest off between t = {self.time[first]:.6g} s and {self.time[last]:.6g} s: impacts or slips "
            "may come there at other times, or in another number, than in the data)"
        )

    def require_sides(self, found: _Found) -> None:
        """Refuse a motion with contacts that is on other sides of impacts than the data.

        Raises:
            ModelError: where.
        """
        if not self.contacts or not self._rough(found.noise):
            return
        off = np.abs(found.looked.residuals)
        off /= np.maximum(np.median(off, axis=0) / NORMAL, INTEGRATED * self.spread[self.seen])
        row, channel = np.unravel_index(int(np.argmax(off)), off.shape)
        if off[row, channel] > OUTSIDE:
            raise ModelError(
                f"the motion that was found is off the data in row {row} at {self.time[row]:.6g} s by "
                f"{off[row, channel]:.3g} times the noise of {self.channels.names[channel]}: impacts or slips come in "
                "another order there, or at another time; start nearer (start=), or leave the row out if it is wrong"
            )

    def _moved(
        self, at: _Unknowns, looked: _Looked, noise: Array, step: Array, rows: list[Array]
    ) -> tuple[_Unknowns, _Looked] | None:
        """A step, halved until the sum of squares falls; None where it does not."""
        d, cost, refused = looked.moves.shape[2], looked.cost(noise), None
        found: list[Array] = []
        later: Array = np.zeros(d)
        for R in reversed(rows):
            wanted = -(R[:, d : 2 * d] @ later + R[:, 2 * d : -1] @ step + R[:, -1])
            later = np.asarray(np.linalg.solve(R[:, :d], wanted))
            found.append(later)
        begins = _times(looked.moves, np.array(found[::-1]))
        for halving in range(HALVINGS):
            size = 0.5**halving
            values = at.values.copy()
            values[self.places] += size * step
            moved = at.begins + size * begins
            try:
                settled = [self.motion.settled(self.time[k], x, values) for k, x in zip(self.cuts, moved, strict=False)]
                there = _Unknowns(values, np.array(settled))
                seen = self.look(there)
            except (ModelError, SimulationError) as error:
                refused = error
                continue
            refused = None
            if seen.cost(noise) < cost:
                return there, seen
        if isinstance(refused, ModelError):  # so near to here
            raise ModelError(f"the search has come to a motion that has no derivative: {refused}") from refused
        return None


def _times(A: Array, x: Array) -> Array:
    """Matrices times vectors, one by one."""
    return np.asarray((A @ x[..., None])[..., 0])


def _held(moves: Array, following: int) -> Array:
    """Rows that keep unknowns zero which are none: by moves of zeros, where a beginning has fewer freedoms."""
    held = np.eye(moves.shape[1])[~moves.any(axis=0)]
    return np.pad(held, ((0, 0), (0, following)))


def _rows(J: Array, r: Array, noise: Array, following: Array) -> Array:
    """Weighted rows [by a beginning, by the next, by p, r] of slopes (m, channels, freedoms + p) and residuals."""
    m, c, _ = J.shape
    d = following.shape[2]
    parts = [J[..., :d], np.broadcast_to(following, (m, c, d)), J[..., d:], r[..., None]]
    return (np.concatenate(parts, axis=-1) / noise[:, None]).reshape(m * c, -1)
