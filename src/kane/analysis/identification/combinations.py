"""Base parameters: the combinations of parameters on which a motion depends, and nothing else of them.

Slopes J (rows, p) of what is measured have dependent columns where parameters cannot be told apart:

    J = J_1 B,   B (b, p) with a unit matrix in the columns of the independent ones,

so that B p are all that a measurement can say of p.

Source: Gautier 1991 (numerical calculation of the base inertial parameters of robots).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What a column has that those before it have not, as a share of the column: exact dependence leaves round-off, 1e-13.
DEPENDENT = 1e-8
# A column below this share of the largest is round-off of a parameter that has no effect.
NO_EFFECT = 1e-12
# Coefficients below this are round-off of zero; those this near to a whole number are one.
CLEAN = 1e-7


@dataclass(frozen=True, eq=False)
class Combinations:
    """Independent combinations B p.

    Attributes:
        independent: places of the parameters by which the combinations are named, in their order.
        B: (b, p).
    """

    independent: list[int]
    B: Array

    def then(self, other: Combinations) -> Combinations:
        """The combinations of these combinations."""
        return Combinations([self.independent[i] for i in other.independent], other.B @ self.B)


def triangle(rows: Array) -> Array:
    """R of rows = Q R, (..., k, m) to (..., m, m), by pieces of 2 m rows: of all rows only this much is ever asked.

    Small pieces keep LAPACK to one thread, which on a busy machine saves most of the time.
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
    """R of each channel, (k, channels, m) to (channels, m, m), of the columns alone that are there: a joint feels
    nothing of the links before it.
    """
    _, channels, m = rows.shape
    found = np.zeros((channels, m, m))
    for channel in range(channels):
        there = np.flatnonzero(rows[:, channel].any(axis=0))
        if len(there):
            found[channel, : len(there), there] = triangle(rows[:, channel, there]).T
    return found


def combinations_of(J: Array, error: float = 0.0) -> Combinations:
    """The combinations that J (rows, p) tells apart; earlier parameters give their names to them.

    Args:
        J: slopes.
        error: relative, of columns that are not exact.
    """
    R = triangle(J)
    size = np.linalg.norm(R, axis=0)
    felt = size > max(NO_EFFECT, error) * size.max(initial=0.0)
    unit = R / np.where(felt, size, 1.0)
    kept: list[int] = []
    directions = np.zeros((len(R), len(R)))  # in rows, so that those found so far lie together
    for j in np.flatnonzero(felt):
        found = directions[: len(kept)]
        new = unit[:, j] - (found @ unit[:, j]) @ found
        new -= (found @ new) @ found
        left = math.sqrt(new @ new)
        if left > max(DEPENDENT, error):
            directions[len(kept)] = new / left
            kept.append(int(j))
    Q = directions[: len(kept)].T
    coefficients = Q.T @ (unit * felt)
    B = np.linalg.solve(coefficients[:, kept], coefficients) * size / size[kept, None]
    B[:, kept] = np.eye(len(kept))
    return Combinations(kept, _clean(B))


def _clean(B: Array) -> Array:
    """Without the round-off of zeros and of whole numbers."""
    whole = np.round(B)
    return np.where(np.abs(B - whole) <= CLEAN, whole, B)


def combination_text(terms: Mapping[str, float]) -> str:
    """A sum as one writes it: "m2 + 0.5 m3"."""
    parts = []
    for name, coefficient in terms.items():
        size = abs(coefficient)
        sign = "-" if coefficient < 0 else "+"
        parts.append(f"{sign} {name}" if size == 1.0 else f"{sign} {size:.4g} {name}")
    first = parts[0].removeprefix("+ ")
    return " ".join([first.replace("- ", "-", 1) if first.startswith("- ") else first, *parts[1:]])


def terms_of(row: Array, names: Sequence[str]) -> dict[str, float]:
    """The terms of a combination that are there, by name."""
    return {name: float(x) for name, x in zip(names, row, strict=True) if x != 0.0}
