"""Base parameters: the independent linear combinations of parameters that determine a motion.

Slopes J (rows, p) of the measured quantities have dependent columns if parameters cannot be distinguished:

    J = J_1 B,   B (b, p) with a unit matrix in the columns of the independent ones.

A measurement determines only B p.

Source: Gautier 1991 (numerical calculation of the base inertial parameters of robots).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kane.array_types import Array
from kane.deferred import dataclass

# A column is dependent if its part orthogonal to earlier columns is relatively below this; round-off is 1e-13.
DEPENDENT_COLUMN_TOLERANCE = 1e-8
# Columns that are relatively smaller than this are round-off: their parameters have no effect.
NO_EFFECT = 1e-12
# Coefficients within this distance of a whole number are rounded to it.
CLEAN = 1e-7


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base parameters B p.

    Attributes:
        independent: indices of the parameters with a unit column in B, in this order.
        B: (b, p).
    """

    independent: list[int]
    B: Array

    def then(self, other: BaseParameters) -> BaseParameters:
        """Compose: return the base parameters ``other`` of these base parameters as combinations of p."""
        return BaseParameters([self.independent[i] for i in other.independent], other.B @ self.B)


def triangle(rows: Array) -> Array:
    """Return the factor R, (..., m, m), of rows = Q R, (..., k, m), in pieces of 2 m rows.

    Small pieces keep LAPACK to one thread, which saves most of the time on a busy machine.
    """
    k, m = rows.shape[-2:]
    while k > 2 * m:
        pieces = -(-k // (2 * m))
        padded = np.zeros((*rows.shape[:-2], pieces * 2 * m, m))
        padded[..., :k, :] = rows
        rows = np.asarray(np.linalg.qr(padded.reshape(*rows.shape[:-2], pieces, 2 * m, m), mode="r"))
        rows, k = rows.reshape(*rows.shape[:-3], pieces * m, m), pieces * m
    found = np.zeros((*rows.shape[:-2], m, m))
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    found[..., : R.shape[-2], :] = R
    return found


def triangles(rows: Array) -> Array:
    """Return the factor R of each channel, (channels, m, m), from its nonzero columns only; rows (k, channels, m).

    Many columns are zero, because a joint's effort does not depend on the links before it.
    """
    _, channels, m = rows.shape
    found = np.zeros((channels, m, m))
    for channel in range(channels):
        there = np.flatnonzero(rows[:, channel].any(axis=0))
        if len(there):
            found[channel, : len(there), there] = triangle(rows[:, channel, there]).T
    return found


def base_parameters_of(J: Array, error: float = 0.0) -> BaseParameters:
    """Return the base parameters that J (rows, p) distinguishes; earlier parameters are preferred as independent ones.

    Args:
        J: slopes.
        error: relative error of inexact columns.
    """
    R = triangle(J)
    size = np.linalg.norm(R, axis=0)
    felt = size > max(NO_EFFECT, error) * size.max(initial=0.0)
    unit = R / np.where(felt, size, 1.0)
    kept: list[int] = []
    directions = np.zeros((len(R), len(R)))  # one per row, so that the first ones are contiguous in memory
    for j in np.flatnonzero(felt):
        found = directions[: len(kept)]
        new = unit[:, j] - (found @ unit[:, j]) @ found
        new -= (found @ new) @ found
        left = math.sqrt(new @ new)
        if left > max(DEPENDENT_COLUMN_TOLERANCE, error):
            directions[len(kept)] = new / left
            kept.append(int(j))
    Q = directions[: len(kept)].T
    coefficients = Q.T @ (unit * felt)
    B = np.linalg.solve(coefficients[:, kept], coefficients) * size / size[kept, None]
    B[:, kept] = np.eye(len(kept))
    return BaseParameters(kept, _clean(B))


def _clean(B: Array) -> Array:
    """Round entries that are whole numbers except for round-off."""
    whole = np.round(B)
    return np.where(np.abs(B - whole) <= CLEAN, whole, B)


def combination_text(terms: Mapping[str, float]) -> str:
    """Return a linear combination as text, such as "m2 + 0.5 m3"."""
    parts = []
    for name, coefficient in terms.items():
        size = abs(coefficient)
        sign = "-" if coefficient < 0 else "+"
        parts.append(f"{sign} {name}" if size == 1.0 else f"{sign} {size:.4g} {name}")
    first = parts[0].removeprefix("+ ")
    return " ".join([first.replace("- ", "-", 1) if first.startswith("- ") else first, *parts[1:]])


def terms_of(row: Array, names: Sequence[str]) -> dict[str, float]:
    """Return the nonzero terms of a combination by name."""
    return {name: float(x) for name, x in zip(names, row, strict=True) if x != 0.0}
