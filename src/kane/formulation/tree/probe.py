"""Numerical values of expressions at a random state: an expression that vanishes there vanishes everywhere."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, INPUT, PARAMETER
from kane.expression.traverse import leaves


class Probe:
    """Values of expressions at one random state; parameters have their default values.

    An expression that is not identically zero vanishes there with probability zero.

    Args:
        defaults: values of parameters and inputs, by name.
        quaternions: coordinate names of each quaternion, whose random values have unit length.
        seed: seed of the random state.
    """

    def __init__(
        self, defaults: Mapping[str, float], quaternions: Sequence[Sequence[str]] = (), *, seed: int = 0
    ) -> None:
        self.quaternions, self._seed, self._defaults = quaternions, seed, defaults
        self._values: dict[Expr, float] = {}
        self._nodes: dict[Expr, Any] = {}

    @cached_property
    def _drawn(self) -> tuple[np.random.Generator, dict[str, float]]:
        """Random numbers, imported here because the import takes 10 ms, and the known values by name."""
        random, known = np.random.default_rng(self._seed), dict(self._defaults)
        for names in self.quaternions:
            p = random.normal(size=4)
            known |= dict(zip(names, p / np.linalg.norm(p), strict=True))
        return random, known

    @cached_property
    def anywhere(self) -> Probe:
        """Return a probe with random parameters too, where an expression that vanishes only at their defaults is not
        zero.
        """
        return Probe({}, self.quaternions, seed=self._seed)

    def at(self, values: Mapping[Expr, float]) -> Probe:
        """Return a probe with given values of some leaves; other leaves without a default are drawn again."""
        _ = self._drawn  # which both probes share
        there = copy.copy(self)
        there._values, there._nodes = dict(values), {}
        return there

    def __call__(self, expressions: Sequence[Any]) -> np.ndarray:
        """Return the values of expressions, shape (len(expressions),); numbers are returned unchanged."""
        nodes = [x for x in expressions if x.__class__ is Expr]
        values = {}
        for leaf in leaves(nodes, self._nodes):
            if leaf not in self._values:
                random, by_name = self._drawn
                known = by_name.get(leaf.data) if leaf.op in (PARAMETER, INPUT, COORDINATE) else None
                self._values[leaf] = random.uniform(0.2, 1.2) if known is None else known
            values[leaf] = self._values[leaf]
        found = iter(interpret(nodes, values, known=self._nodes))
        return np.array([next(found) if x.__class__ is Expr else x for x in expressions], float)
