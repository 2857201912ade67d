"""Random states of a model, and expressions evaluated at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.model.connection import Connection

# A joint whose chart is singular is kept this far from there [rad]: at 0.1 round-off counts a hundred times at most.
AWAY = 0.1
TRIALS = 20


class RandomStates:
    """Values of all leaves of some equations at random states; call it with expressions to have theirs.

    Coordinates lie about the neutral configuration, away from singularities of joints (quaternions of unit length);
    speeds, accelerations and inputs are of order one, parameters within 20 % of their defaults.

    Attributes:
        q, u: values, (nq, count) and (n, count).
    """

    def __init__(self, equations: Equations, count: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.q = np.array(equations.neutral)[:, None] + random.normal(size=(len(equations.q), count))
        for start in equations.quaternions:
            self.q[start : start + 4] /= np.linalg.norm(self.q[start : start + 4], axis=0)
        for connection, rows in joints_of(equations):
            for q in self.q.T:
                for _ in range(TRIALS):
                    if connection.joint.singular_at(q[rows], within=AWAY) is None:
                        break
                    q[rows] = random.normal(size=len(q[rows]))
        self.u = random.normal(size=(len(equations.u), count))
        defaults = np.array([equations.defaults[p.name] for p in equations.parameters]).reshape(-1, 1)
        groups = (
            ((equations.t,), random.uniform(0.0, 1.0, size=(1, count))),
            (equations.q, self.q),
            (equations.u, self.u),
            (equations.udot, random.normal(size=self.u.shape)),
            (equations.inputs, random.normal(size=(len(equations.inputs), count))),
            (equations.parameters, defaults * random.uniform(0.8, 1.2, size=(len(defaults), count))),
        )
        self._count = count
        self._arena = equations.system.arena
        self._values = {leaf: row for leaves, rows in groups for leaf, row in zip(leaves, rows, strict=True)}

    def __call__(self, expressions: Iterable[Any]) -> np.ndarray:
        """Values, one row an expression and one column a state."""
        found = interpret([self._arena.lift(x) for x in expressions], self._values)
        return np.array([np.broadcast_to(x, self._count) for x in found]).reshape(-1, self._count)

    def with_values(self, leaves: Sequence[Expr], rows: np.ndarray) -> RandomStates:
        """The same states, with other values for some leaves."""
        other = object.__new__(RandomStates)
        other.__dict__.update(self.__dict__)
        changed: Mapping[Expr, np.ndarray] = dict(zip(leaves, rows, strict=True))
        other._values = {**self._values, **changed}
        return other


def joints_of(equations: Equations) -> Iterator[tuple[Connection, slice]]:
    """Every joint that has coordinates of its own, and where they stand in q."""
    place = {leaf.name: i for i, leaf in enumerate(equations.q)}
    for connection in equations.system.speeds.motion:
        if connection.coordinate_names:
            start = place[connection.coordinate_names[0]]
            yield connection, slice(start, start + connection.joint.nq)
