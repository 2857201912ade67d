"""Tables of runs: all combinations of values, random draws, and tables of the user."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, numbers, require, whole
from kane.files.scipy import load_scipy

SAMPLING_METHODS = ("random", "latin hypercube", "sobol")
ROWS_PER_GENERATOR = 1024  # rows per random generator, so that a row does not depend on the first requested row
MOST_RUNS = 10**15
SMALLEST = 2.0**-53  # uniform numbers stay this far from 0 and 1, where many quantile functions are infinite


class RunTable(ABC):
    """Values that vary from run to run, with one row per run."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of coordinates, speeds, inputs or parameters, one per column."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def rows(self, first: int, last: int) -> Array:
        """Return the rows of the runs first <= k < last, (runs, names)."""


@dataclass(frozen=True, eq=False)
class Listed(RunTable):
    """Columns of equal length."""

    columns: Mapping[str, Array]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self, first: int, last: int) -> Array:
        return np.column_stack([column[first:last] for column in self.columns.values()])


class Grid(Listed):
    """All combinations of values; the last name varies fastest."""

    def __len__(self) -> int:
        return prod(map(len, self.columns.values()))

    def rows(self, first: int, last: int) -> Array:
        places = np.unravel_index(np.arange(first, last), tuple(map(len, self.columns.values())))
        return np.column_stack([column[k] for column, k in zip(self.columns.values(), places, strict=True)])


@dataclass(frozen=True, eq=False)
class Sample(RunTable):
    """Independent random draws; ``kane.sweep`` gives the seed.

    Attributes:
        count: number of runs.
        distributions: an interval (low, high), or a distribution with the quantile function ``ppf``, by name.
        method: "random", "latin hypercube" or "sobol".
        seed: seed of the draws; None until ``kane.sweep`` sets it.
    """

    count: int
    distributions: Mapping[str, Any]
    method: str
    seed: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.distributions)

    def __len__(self) -> int:
        return self.count

    def seeded(self, seed: Any) -> Sample:
        """Return the same sample with a seed.

        Raises:
            ModelError: the seed is missing or not a whole number.
        """
        if seed is None:
            raise ModelError("a sample needs a seed, so that its runs can be repeated; give seed=0 or another number")
        return replace(self, seed=whole(seed, "seed", 0))

    def rows(self, first: int, last: int) -> Array:
        uniform = np.clip(self._uniform(first, last), SMALLEST, 1.0 - SMALLEST)
        each = zip(self.distributions.values(), uniform.T, strict=True)
        return np.column_stack([_quantile(distribution, column) for distribution, column in each])

    def _uniform(self, first: int, last: int) -> Array:
        if self.method == "latin hypercube":
            return self._hypercube[first:last]
        if self.method == "random":
            blocks = range(first // ROWS_PER_GENERATOR, -(-last // ROWS_PER_GENERATOR))
            shape = (ROWS_PER_GENERATOR, len(self.distributions))
            drawn = np.concatenate([np.random.default_rng([self.seed or 0, b]).random(shape) for b in blocks])
            return drawn[first - blocks[0] * ROWS_PER_GENERATOR : last - blocks[0] * ROWS_PER_GENERATOR]
        qmc = load_scipy("stats").qmc
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # part of a sequence need not be balanced
            sequence = qmc.Sobol(len(self.distributions), seed=self.seed)
            if first:
                sequence.fast_forward(first)
            return np.asarray(sequence.random(last - first))

    @cached_property
    def _hypercube(self) -> Array:
        qmc = load_scipy("stats").qmc
        return np.asarray(qmc.LatinHypercube(len(self.distributions), seed=self.seed).random(self.count))


def _quantile(distribution: Any, uniform: Array) -> Array:
    if isinstance(distribution, tuple):
        low, high = distribution
        return np.asarray(low + (high - low) * uniform)
    return np.asarray(distribution.ppf(uniform), dtype=float)


def grid(values: Mapping[str, Any] | None = None, /, **named: Any) -> Grid:
    """Return a table with all combinations of values, for ``runs=`` of ``kane.sweep``.

        kane.grid(mass=[1.0, 2.0], q1=np.linspace(-1, 1, 5))        10 runs; the last name varies fastest

    Args:
        values: values by name; a dict can have names that are not Python identifiers.
        named: more values by name.

    Raises:
        ModelError: no names, values that are not a list of finite numbers, or more than 1e15 combinations.
    """
    found = Grid({name: _column(name, value) for name, value in _entries("grid", values, named)})
    combinations = prod(map(len, found.columns.values()))  # len(found) cannot be larger than 2**63
    if combinations > MOST_RUNS:
        raise ModelError(f"the grid has {combinations:.3g} combinations; give fewer values, or draw with kane.sample")
    return found


def sample(
    count: int, distributions: Mapping[str, Any] | None = None, /, *, method: str = "random", **named: Any
) -> Sample:
    """Return a table of independent random draws, for ``runs=`` of ``kane.sweep``, which takes the seed.

        kane.sample(1000, mass=scipy.stats.norm(20, 0.5), q1=(-0.1, 0.1), method="sobol")

    Args:
        count: number of runs.
        distributions: by name, an interval (low, high) for a uniform distribution, or a distribution of scipy.stats
            with its parameters. Any object with a quantile function ``ppf`` is accepted.
        method: "random"; "latin hypercube", one draw in each of ``count`` equally probable intervals of each name; or
            "sobol", a scrambled Sobol sequence. Studies with "random" and "sobol" can be extended.
        named: more distributions by name.

    Raises:
        ModelError: no names, an unknown method, an interval that is empty or not finite, or no distribution.
    """
    if not isinstance(method, str) or method not in SAMPLING_METHODS:
        raise ModelError(f"the method {shown(method)} of a sample is unknown; known are {', '.join(SAMPLING_METHODS)}")
    given = dict(_entries("sample", distributions, named))
    for name, value in given.items():
        if isinstance(value, tuple | list) and len(value) == 2:
            low, high = (number(x, f"an end of the interval of {name!r}") for x in value)
            if not low < high:
                raise ModelError(f"the interval of {name!r} is {shown(value)}; give (low, high) with low < high")
            given[name] = (low, high)
        elif not callable(getattr(value, "ppf", None)):
            raise ModelError(
                f"the distribution of {name!r} is {shown(value)}; give (low, high), or a distribution such as "
                "scipy.stats.norm(mean, deviation)"
            )
    return Sample(whole(count, "the number of runs", 1), given, method)


def _entries(who: str, values: Any, named: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    require(values, Mapping | None, f"kane.{who} takes a dict by name")
    found = {**(values or {}), **named}
    if not found:
        raise ModelError(f"kane.{who} has no names; give at least one coordinate, speed, input or parameter")
    yield from found.items()


def _column(name: Any, values: Any) -> Array:
    found = np.array(numbers(values, f"the values of {name!r} must be numbers"))
    if found.ndim != 1 or not found.size or not np.isfinite(found).all():
        raise ModelError(f"the values of {name!r} are {shown(values)}; give a list of finite numbers")
    return found


def listed(columns: Mapping[str, Any]) -> Listed:
    """Return a table of columns given by name.

    Raises:
        ModelError: a column is not a list of finite numbers, or their lengths differ.
    """
    found = {name: _column(name, values) for name, values in columns.items()}
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        raise ModelError(f"the numbers of runs differ: {', '.join(f'{n} of {name!r}' for name, n in lengths.items())}")
    return Listed(found)
