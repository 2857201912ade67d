"""Effects of the values that vary on a result: linear regression, and first-order Sobol indices from the same runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError

GROUPS_LEFT_OUT = 20  # groups of runs for the standard errors of indices (jackknife)
LEAST_BINS, MOST_BINS = 4, 64
LEAST_RUNS = 10 * GROUPS_LEFT_OUT


class VariableEffect(NamedTuple):
    """VariableEffect of one varied value x on a result y.

    Attributes:
        slope: dy/dx of the linear regression of y on all varied values, in units of y per unit of x.
        slope_error: its standard error.
        sobol: first-order Sobol index Var(E[y | x]) / Var(y), the fraction of the variance that x alone explains.
        sobol_error: its standard error.
    """

    slope: float
    slope_error: float
    sobol: float
    sobol_error: float


def effects_of(x: dict[str, Array], y: Array) -> dict[str, VariableEffect]:
    """Return the effect of each column of independent random values on y; NaN and infinite results are left out.

    E[y | x] is the mean of y in bins of x with equal numbers of runs. The part of its variance that is due to the
    scatter within bins is subtracted (omega squared of the analysis of variance). Finite bins make indices a few
    percent too small.

    Raises:
        ModelError: too few runs with a finite result, or a column or result that does not vary.

    Source: Sobol 1993 for the indices; Tukey 1958 for the jackknife.
    """
    finite = np.isfinite(y)
    n, y = int(finite.sum()), y[finite]
    columns = {name: column[finite] for name, column in x.items()}
    if n < LEAST_RUNS:
        raise ModelError(f"effects need {LEAST_RUNS} runs with a finite result; {n} have one")
    for name, column in (*columns.items(), ("the result", y)):
        if not np.ptp(column) > 0.0:
            raise ModelError(f"{name} does not vary, so that it has no effects; leave it out")
    scales = np.array([column.std() for column in columns.values()])
    A = np.column_stack([np.ones(n), *((column - column.mean()) / s for column, s in zip(columns.values(), scales))])
    coefficients, *_ = np.linalg.lstsq(A, y, rcond=None)
    residual = y - A @ coefficients
    errors = np.sqrt(np.diag(np.linalg.pinv(A.T @ A)) * (residual @ residual) / (n - A.shape[1]))
    each = zip(columns.items(), coefficients[1:] / scales, errors[1:] / scales, strict=True)
    return {
        name: VariableEffect(float(slope), float(error), *_index(column, y)) for (name, column), slope, error in each
    }


def _index(x: Array, y: Array) -> tuple[float, float]:
    """Return a first-order Sobol index and its standard error."""
    n = len(y)
    bins = min(max(int(math.sqrt(n) / 2), LEAST_BINS), MOST_BINS)
    ranks = np.empty(n, int)
    ranks[np.argsort(x, kind="stable")] = np.arange(n)
    cell = np.arange(n) % GROUPS_LEFT_OUT * bins + ranks * bins // n
    y = y - y.mean()
    moments = [np.bincount(cell, w, GROUPS_LEFT_OUT * bins).reshape(-1, bins) for w in (np.ones(n), y, y * y)]
    whole = _omega_squared(*(m.sum(axis=0) for m in moments))
    parts = np.array([_omega_squared(*(m.sum(axis=0) - m[g] for m in moments)) for g in range(GROUPS_LEFT_OUT)])
    spread = (GROUPS_LEFT_OUT - 1) / GROUPS_LEFT_OUT * ((parts - parts.mean()) ** 2).sum()
    return whole, math.sqrt(spread)


def _omega_squared(count: Array, total: Array, squares: Array) -> float:
    """Return the fraction of the variance between bins from numbers, sums and sums of squares in bins."""
    n, bins = count.sum(), len(count)
    whole = squares.sum() - total.sum() ** 2 / n
    between = (total**2 / np.maximum(count, 1)).sum() - total.sum() ** 2 / n
    within = (whole - between) / (n - bins)
    return float((between - (bins - 1) * within) / (whole + within))
