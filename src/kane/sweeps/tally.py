"""Statistics of one result over the runs, merged from chunks in the order of the runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kane.array_types import Array

NORMAL_95 = 1.959963984540054  # quantile 0.975 of the normal distribution


class Tally(NamedTuple):
    """Moments and extremes of the finite values of one result.

    Attributes:
        n: number of values.
        mean: their mean; NaN without values.
        squares: sum of squared differences from the mean.
        minimum, maximum: extremes; NaN without values.
        minimum_run, maximum_run: numbers of the first runs with these values; -1 without values.
        binary: whether all values are 0 or 1.
        indicator: whether the result can have no other values than 0 and 1, by its expression.
    """

    n: int = 0
    mean: float = math.nan
    squares: float = 0.0
    minimum: float = math.nan
    minimum_run: int = -1
    maximum: float = math.nan
    maximum_run: int = -1
    binary: bool = True
    indicator: bool = False

    @classmethod
    def of(cls, values: Array, first: int, *, indicator: bool = False) -> Tally:
        """Return the tally of the runs from number ``first`` on; NaN and infinite values are left out."""
        runs = np.flatnonzero(np.isfinite(values))
        if not len(runs):
            return cls()
        x = values[runs]
        mean, least, most = float(x.mean()), int(np.argmin(x)), int(np.argmax(x))
        return cls(
            len(x),
            mean,
            float(((x - mean) ** 2).sum()),
            float(x[least]),
            first + int(runs[least]),
            float(x[most]),
            first + int(runs[most]),
            bool(np.isin(x, (0.0, 1.0)).all()),
            indicator,
        )

    def __add__(self, later: Any) -> Tally:
        """Return the tally of all values of both tallies; ``later`` is of later runs."""
        if not self.n or not later.n:
            return later if later.n else self
        n, apart = self.n + later.n, later.mean - self.mean
        low, high = later.minimum < self.minimum, later.maximum > self.maximum
        return Tally(
            n,
            self.mean + apart * later.n / n,
            self.squares + later.squares + apart * apart * self.n * later.n / n,
            later.minimum if low else self.minimum,
            later.minimum_run if low else self.minimum_run,
            later.maximum if high else self.maximum,
            later.maximum_run if high else self.maximum_run,
            self.binary and later.binary,
            self.indicator and later.indicator,
        )

    @property
    def deviation(self) -> float:
        """Standard deviation, with n - 1 in the denominator; NaN for fewer than two values."""
        return math.sqrt(self.squares / (self.n - 1)) if self.n > 1 else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the mean, 95 %: mean +- 1.96 deviation / sqrt(n).

        The mean of an output that can only be 0 or 1, such as ``height < limit``, is a probability. Its interval is
        Wilson's, which also holds if no run had the value 1. Other outputs have this interval if they are 0 in some
        runs and 1 in all others. An output with the same value in all runs has an interval of no width.

        The runs must be independent draws: a grid has no confidence interval, and the interval of Latin hypercubes and
        Sobol sequences is wider than necessary.

        Source: Wilson 1927.
        """
        n, z = self.n, NORMAL_95
        if not n:
            return math.nan, math.nan
        if self.binary and (self.indicator or self.minimum < self.maximum):
            p, centre = self.mean, (self.mean + z * z / (2 * n)) / (1 + z * z / n)
            half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
            return max(0.0, centre - half), min(1.0, centre + half)
        half = z * self.deviation / math.sqrt(n)
        return self.mean - half, self.mean + half

    @property
    def half_width(self) -> float:
        """Half of the width of the confidence interval; infinite or NaN with fewer than two values."""
        low, high = self.interval
        return (high - low) / 2 if self.n > 1 else math.inf


def merged(tallies: Sequence[Sequence[Tally]]) -> list[Tally]:
    """Return the tally of each result from the tallies of consecutive chunks, (chunks, results)."""
    found = [Tally()] * len(tallies[0]) if tallies else []
    for each in tallies:
        found = [a + b for a, b in zip(found, each, strict=True)]
    return found
