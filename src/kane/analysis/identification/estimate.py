"""Least squares of forces: parameters with which inverse dynamics gives the measured forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.base_parameters import (
    BaseParameters,
    base_parameters_of,
    triangle,
    triangles,
)
from kane.analysis.identification.regression import Regression
from kane.array_types import Array
from kane.errors import ModelError
from kane.files.scipy import load_scipy

# Iterations of weights and residuals, which depend on each other; more would change less than the standard errors.
REWEIGHTING_ITERATIONS = 3
# Relative tolerance of least squares, below any measurement error.
TIGHT = 1e-10
# Residuals below this are round-off, relative to data that may be large or absolute for data of order one.
NOISELESS = 1e-13
# A motion fits if the residuals of every channel are below EXPLAINED times the standard deviation of the data, so that
# half of the variance is explained. It also fits if they are below ROUGH times the noise, which is estimated from
# differences of neighbouring rows.
EXPLAINED, ROUGH = 0.7, 3.0


class Estimate(NamedTuple):
    """Result of least squares.

    Attributes:
        values: values of all parameters.
        residuals: (k, channels).
        J: slopes by the parameters in units of the noise, (rows, p).
        noise: (channels,).
        base: base parameters of these data, in terms of the identifiable ones.
    """

    values: Array
    residuals: Array
    J: Array
    noise: Array
    base: BaseParameters


def estimate_by_forces(
    fitted: Regression, places: list[int], structure: BaseParameters, values: Array, given: Array | None
) -> Estimate:
    """Estimate the independent parameters by least squares, the others fixed; noise is estimated unless given."""
    require_enough(len(fitted.data) * len(fitted.channels), len(structure.independent))
    start = _factors(fitted, values)
    base = base_parameters_of(start[..., structure.independent].reshape(-1, len(structure.independent)))
    require_some(base, fitted.names)
    sought = [structure.independent[i] for i in base.independent]
    place = _Place(fitted, values, [places[i] for i in sought], sought, start)
    noise = np.ones(len(fitted.channels)) if given is None else given
    for _ in range(REWEIGHTING_ITERATIONS if given is None else 1):
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
    """Residuals r as a function of the sought parameters, with the others fixed.

    R of Q R = [J r], with slopes J, replaces them: it has the same products J^T J, J^T r and r^T r in fewer rows.

    Attributes:
        fitted: residual forces and slopes.
        values: initial values of all parameters.
        places: indices of the sought parameters in ``values``.
        columns: indices of their slopes.
        start: R at the initial values.
    """

    fitted: Regression
    values: Array
    places: list[int]
    columns: list[int]
    start: Array
    _last: dict[bytes, Array] = field(default_factory=dict)

    def with_values(self, x: Array) -> Array:
        """Return the values of all parameters."""
        values = self.values.copy()
        values[self.places] = x
        return values

    def weighted(self, x: Array, noise: Array) -> Array:
        """Return [J r] of the sought parameters in units of the noise, triangular, (sought + 1, sought + 1)."""
        R = self.factors(x)[..., [*self.columns, -1]] / noise[:, None, None]
        return triangle(R.reshape(-1, R.shape[-1]))

    def sought(self, x: Array, noise: Array) -> Array:
        """Return the least-squares solution from the start x."""
        found = load_scipy("optimize").least_squares(
            lambda x: self.weighted(x, noise)[:, -1],
            x,
            lambda x: self.weighted(x, noise)[:, :-1],
            x_scale="jac",
            **dict.fromkeys(("xtol", "ftol", "gtol"), TIGHT),
        )
        return np.asarray(found.x)

    def solved(self, x: Array, noise: Array) -> Array:
        """Return the solution in one step; the residuals must be linear."""
        R = self.weighted(x, noise)
        return np.asarray(x - np.linalg.solve(R[:-1, :-1], R[:-1, -1]))

    def factors(self, x: Array) -> Array:
        """Return R of each channel, (channels, p + 1, p + 1)."""
        if self.fitted.linear:
            R = self.start.copy()
            R[..., -1] += R[..., self.columns] @ (x - self.values[self.places])
            return R
        key = x.tobytes()
        if key not in self._last:
            self._last.clear()  # keep only the last result: slopes are evaluated where residuals were
            self._last[key] = _factors(self.fitted, self.with_values(x))
        return self._last[key]


def _factors(fitted: Regression, values: Array) -> Array:
    """Return R of each channel at values of all parameters."""
    found = []
    for piece in fitted.pieces():
        r, J = piece.at(values)
        found.append(triangles(np.concatenate([J, r[..., None]], axis=-1)))
    return (
        found[0] if len(found) == 1 else np.array([triangle(np.concatenate(each)) for each in zip(*found, strict=True)])
    )


def require_enough(rows: int, unknown: int) -> None:
    """Raise if there are not more measured numbers than unknowns.

    Raises:
        ModelError: the message has both numbers.
    """
    if rows <= unknown:
        raise ModelError(f"{rows} measured numbers are too few for {unknown} unknowns; measure more states")


def require_some(base: BaseParameters, names: Sequence[str]) -> None:
    """Raise if no parameter has an effect on the data.

    Raises:
        ModelError: there is no base parameter.
    """
    if not base.independent:
        raise ModelError(
            f"these data do not depend on {', '.join(names)}; measure a motion in which they have an effect"
        )


def noise_of(lengths: Array, states: int, unknown: int) -> Array:
    """Return the standard deviation of each channel from the norms of its residuals and the number of unknowns."""
    sizes = lengths / np.sqrt(states - unknown / len(lengths))
    return np.maximum(sizes, NOISELESS * max(float(sizes.max()), NOISELESS))


def spread_of(data: Array) -> Array:
    """Return a scale of each channel: its standard deviation plus that of all data."""
    return np.asarray(data.std(axis=0) + data.std() + NOISELESS)


def small_beside(left: Array, data: Array) -> NDArray[np.bool_]:
    """Return a mask of the channels whose deviations are small relative to the data or to their noise."""
    rough = np.diff(data, 2, axis=0).std(axis=0) / np.sqrt(6.0) if len(data) > 2 else np.inf
    return np.asarray(left <= np.maximum(EXPLAINED * data.std(axis=0), np.maximum(ROUGH * rough, NOISELESS)))
