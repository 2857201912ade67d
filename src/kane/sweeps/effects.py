"""Effects of the values that vary on a result: linear regression, and first-order Sobol indices from the same runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError

GROUPS_LEFT_OUT = 20  # groups of runs for the standard errors of indices (jackknife)
LEAST_KNOTS, MOST_KNOTS = 5, 32
# Correlation of two varied values from which effects cannot be told apart.
DEPENDENT_VALUES = 0.99
# Relative variation of a column or a result that is rounding.
ROUNDING_VARIATION = 1e-12
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

    E[y | x] is a piecewise linear regression of y on the rank of x, with n^(1/3) knots. The explained fraction of the
    variance is adjusted for the number of knots, as for independent draws. Low-discrepancy samples scatter less: their
    indices may be too small by knots / n.

    Raises:
        ModelError: too few runs with a finite result, a column or result that does not vary, or columns that change
            together.

    Source: Sobol 1993 for the indices; Tukey 1958 for the jackknife.
    """
    finite = np.isfinite(y)
    n, y = int(finite.sum()), y[finite]
    columns = {name: column[finite] for name, column in x.items()}
    if n < LEAST_RUNS:
        raise ModelError(f"effects need {LEAST_RUNS} runs with a finite result; {n} have one")
    for name, column in (*columns.items(), ("the result", y)):
        if not np.ptp(column) > ROUNDING_VARIATION * np.abs(column).max():
            raise ModelError(f"{name} does not vary, so that it has no effects; leave it out")
    _require_independent(columns)
    scales = np.array([column.std() for column in columns.values()])
    A = np.column_stack([np.ones(n), *((column - column.mean()) / s for column, s in zip(columns.values(), scales))])
    coefficients, *_ = np.linalg.lstsq(A, y, rcond=None)
    residual = y - A @ coefficients
    errors = np.sqrt(np.diag(np.linalg.pinv(A.T @ A)) * (residual @ residual) / (n - A.shape[1]))
    each = zip(columns.items(), coefficients[1:] / scales, errors[1:] / scales, strict=True)
    return {
        name: VariableEffect(float(slope), float(error), *_index(column, y)) for (name, column), slope, error in each
    }


def _require_independent(columns: dict[str, Array]) -> None:
    """Raise if two columns change together."""
    names = list(columns)
    together = np.abs(np.corrcoef(np.array([*columns.values()]))) if len(names) > 1 else np.zeros((1, 1))
    for i, j in zip(*np.nonzero(np.triu(together > DEPENDENT_VALUES, 1)), strict=True):
        raise ModelError(
            f"{names[i]} and {names[j]} change together, so that their effects cannot be told apart; draw them by "
            "kane.sample, or leave one out"
        )


def _index(x: Array, y: Array) -> tuple[float, float]:
    """Return a first-order Sobol index and its standard error."""
    n = len(y)
    knots = min(max(round(n ** (1.0 / 3.0)), LEAST_KNOTS), MOST_KNOTS)
    ranks = np.empty(n)
    ranks[np.argsort(x, kind="stable")] = np.linspace(0.0, knots - 1.0, n)
    hats = np.maximum(1.0 - np.abs(ranks[:, None] - np.arange(knots)), 0.0)
    y = (y - y.mean()) / y.std()
    groups = [slice(g, None, GROUPS_LEFT_OUT) for g in range(GROUPS_LEFT_OUT)]
    each = [(hats[g].T @ hats[g], hats[g].T @ y[g], np.array([len(y[g]), y[g].sum(), y[g] @ y[g]])) for g in groups]
    whole = [np.sum(part, axis=0) for part in zip(*each, strict=True)]
    parts = np.array([_explained(*(a - b for a, b in zip(whole, one, strict=True))) for one in each])
    spread = (GROUPS_LEFT_OUT - 1) / GROUPS_LEFT_OUT * ((parts - parts.mean()) ** 2).sum()
    return _explained(*whole), math.sqrt(spread)


def _explained(gram: Array, products: Array, sums: Array) -> float:
    """Return the fraction of the variance that a regression explains, adjusted for its number of coefficients."""
    n, total, squares = sums.tolist()
    left = squares - products @ np.linalg.lstsq(gram, products, rcond=None)[0]
    return float(1.0 - left / (n - len(gram)) * (n - 1.0) / (squares - total * total / n))
