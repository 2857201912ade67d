"""Least squares of forces: the parameters with which the forces that a motion needs are those that drove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.combinations import Combinations, combinations_of, triangle, triangles
from kane.analysis.identification.regression import Regression
from kane.errors import ModelError

Array = NDArray[np.float64]
# Weights follow the residuals, and the residuals the weights: what is left after so many rounds is below the errors.
ROUNDS = 3
# Relative steps and changes at which least squares end: below any error of a measurement.
TIGHT = 1e-10
# Residuals of so little of their size, or of one, are round-off.
NOISELESS = 1e-13
# A motion is found where in every channel residuals are less than this share of the spread of the data, which is where
# half of their square is explained, or than so many times the noise by which neighbours differ.
EXPLAINED, ROUGH = 0.7, 3.0


class Estimate(NamedTuple):
    """Where least squares have led.

    Attributes:
        values: of all parameters.
        residuals: (k, channels).
        J: slopes by the parameters, in units of the noise, (rows, p).
        noise: (channels,).
        base: what the data tell apart of what can be identified.
    """

    values: Array
    residuals: Array
    J: Array
    noise: Array
    base: Combinations


def estimate_by_forces(
    fitted: Regression, places: list[int], structure: Combinations, values: Array, given: Array | None
) -> Estimate:
    """Least squares over the parameters that name the combinations, the others held; noise found with them."""
    require_enough(len(fitted.data) * len(fitted.channels), len(structure.independent))
    start = _factors(fitted, values)
    base = combinations_of(start[..., structure.independent].reshape(-1, len(structure.independent)))
    require_some(base, fitted.names)
    sought = [structure.independent[i] for i in base.independent]
    place = _Place(fitted, values, [places[i] for i in sought], sought, start)
    noise = np.ones(len(fitted.channels)) if given is None else given
    for _ in range(ROUNDS if given is None else 1):
        found = (
            place.solved(values[place.places], noise) if fitted.linear else place.sought(values[place.places], noise)
        )
        values, R = place.with_values(found), place.factors(found)
        if given is None:
            noise = noise_of(np.linalg.norm(R[..., -1], axis=-1), len(fitted.data), len(sought))
    J = (R[..., :-1] / noise[:, None, None]).reshape(-1, len(fitted.names))
    residuals = np.concatenate([piece.at(values)[0] for piece in fitted.pieces()])
    return Estimate(values, residuals, J, noise, base)


@dataclass(frozen=True, eq=False)
class _Place:
    """Residuals as a function of the parameters that are sought, the others held.

    They stand as R of Q R = [J r], which has the same length and the same slopes, in a few rows.

    Attributes:
        values: of all parameters, from which the search starts.
        places: of those that are sought among them; ``columns`` are their slopes.
        start: R there.
    """

    fitted: Regression
    values: Array
    places: list[int]
    columns: list[int]
    start: Array
    _last: dict[bytes, Array] = field(default_factory=dict)

    def with_values(self, x: Array) -> Array:
        """Values of all parameters."""
        values = self.values.copy()
        values[self.places] = x
        return values

    def weighted(self, x: Array, noise: Array) -> Array:
        """[J r] of the sought parameters in units of the noise, as a triangle (sought + 1, sought + 1)."""
        R = self.factors(x)[..., [*self.columns, -1]] / noise[:, None, None]
        return triangle(R.reshape(-1, R.shape[-1]))

    def sought(self, x: Array, noise: Array) -> Array:
        """Where the search from x ends."""
        from scipy.optimize import least_squares  # takes a tenth of a second

        found = least_squares(
            lambda x: self.weighted(x, noise)[:, -1],
            x,
            lambda x: self.weighted(x, noise)[:, :-1],
            x_scale="jac",
            **dict.fromkeys(("xtol", "ftol", "gtol"), TIGHT),
        )
        return np.asarray(found.x)

    def solved(self, x: Array, noise: Array) -> Array:
        """The same in one step where the residuals are linear."""
        R = self.weighted(x, noise)
        return np.asarray(x - np.linalg.solve(R[:-1, :-1], R[:-1, -1]))

    def factors(self, x: Array) -> Array:
        """R of each channel, (channels, p + 1, p + 1)."""
        if self.fitted.linear:
            R = self.start.copy()
            R[..., -1] += R[..., self.columns] @ (x - self.values[self.places])
            return R
        key = x.tobytes()
        if key not in self._last:
            self._last.clear()  # slopes are asked for where residuals were, and nowhere else
            self._last[key] = _factors(self.fitted, self.with_values(x))
        return self._last[key]


def _factors(fitted: Regression, values: Array) -> Array:
    """R of each channel at values of all parameters."""
    found = []
    for piece in fitted.pieces():
        r, J = piece.at(values)
        found.append(triangles(np.concatenate([J, r[..., None]], axis=-1)))
    return (
        found[0] if len(found) == 1 else np.array([triangle(np.concatenate(each)) for each in zip(*found, strict=True)])
    )


def require_enough(rows: int, unknown: int) -> None:
    """Refuse what has fewer numbers than unknowns.

    Raises:
        ModelError: how many there are, and how many are needed.
    """
    if rows <= unknown:
        raise ModelError(f"{rows} numbers were measured; to find {unknown} more are needed, and many for their errors")


def require_some(base: Combinations, names: Sequence[str]) -> None:
    """Refuse data on which no parameter has an effect.

    Raises:
        ModelError: there is nothing to be found.
    """
    if not base.independent:
        raise ModelError(f"these data say nothing of {', '.join(names)}; measure a motion in which they have an effect")


def noise_of(lengths: Array, states: int, unknown: int) -> Array:
    """Standard deviation of each channel from the lengths of its residuals, less what the unknowns took of them."""
    sizes = lengths / np.sqrt(states - unknown / len(lengths))
    return np.maximum(sizes, NOISELESS * max(float(sizes.max()), NOISELESS))


def spread_of(data: Array) -> Array:
    """Sizes of channels: of each by itself, and of all."""
    return np.asarray(data.std(axis=0) + data.std() + NOISELESS)


def small_beside(left: Array, data: Array) -> NDArray[np.bool_]:
    """Which of these deviations are small beside those of the data, or beside their noise."""
    rough = np.diff(data, 2, axis=0).std(axis=0) / np.sqrt(6.0) if len(data) > 2 else np.inf
    return np.asarray(left <= np.maximum(EXPLAINED * data.std(axis=0), np.maximum(ROUGH * rough, NOISELESS)))
