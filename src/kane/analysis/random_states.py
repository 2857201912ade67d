"""Random states of a model, and expressions evaluated at them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.formulation.equations import Equations


class RandomStates:
    """Values of all leaves of some equations at random states; call it with expressions to have theirs.

    Coordinates lie about the neutral configuration (quaternions of unit length), speeds, accelerations and inputs are of
    order one, parameters within 20 % of their defaults.
    """

    def __init__(self, equations: Equations, count: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        q = np.array(equations.neutral)[:, None] + random.normal(size=(len(equations.q), count))
        for start in equations.quaternions:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4], axis=0)
        self.u = random.normal(size=(len(equations.u), count))
        defaults = np.array([equations.defaults[p.name] for p in equations.parameters]).reshape(-1, 1)
        parameters = defaults * random.uniform(0.8, 1.2, size=(len(defaults), count))
        groups = (
            ((equations.t,), random.uniform(0.0, 1.0, size=(1, count))),
            (equations.q, q),
            (equations.u, self.u),
            (equations.udot, random.normal(size=self.u.shape)),
            (equations.inputs, random.normal(size=(len(equations.inputs), count))),
            (equations.parameters, parameters),
        )
        self._count = count
        self._values = {leaf: row for leaves, rows in groups for leaf, row in zip(leaves, rows, strict=True)}

    def __call__(self, expressions: Iterable[Any]) -> np.ndarray:
        """Values, one row an expression and one column a state."""
        arena = next(iter(self._values)).arena
        found = interpret([arena.lift(x) for x in expressions], self._values)
        return np.array([np.broadcast_to(x, self._count) for x in found]).reshape(-1, self._count)

    def with_values(self, leaves: Sequence[Expr], rows: np.ndarray) -> RandomStates:
        """The same states, with other values for some leaves."""
        other = object.__new__(RandomStates)
        other.u, other._count = self.u, self._count
        changed: Mapping[Expr, np.ndarray] = dict(zip(leaves, rows, strict=True))
        other._values = {**self._values, **changed}
        return other
