"""Random states of a model, and the values of expressions at these states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.model.connection import Connection

# Smallest distance of random states from a joint singularity [rad], where round-off grows at most a hundredfold.
LEAST_SINGULARITY_DISTANCE = 0.1
MAX_STATE_DRAWS = 20


class RandomStates:
    """Random values of all leaves of some equations; call it with expressions to evaluate them at these states.

    Coordinates are near the neutral configuration and away from joint singularities; quaternions have unit length.
    Speeds, accelerations and inputs are of order one, parameters within 20 % of their defaults.

    Attributes:
        q, u: coordinates and speeds, (nq, count) and (n, count).
    """

    def __init__(self, equations: Equations, count: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.q = np.array(equations.neutral)[:, None] + random.normal(size=(len(equations.q), count))
        for start in equations.quaternions:
            self.q[start : start + 4] /= np.linalg.norm(self.q[start : start + 4], axis=0)
        for connection, rows in joints_of(equations):
            for q in self.q.T:
                for _ in range(MAX_STATE_DRAWS):
                    if connection.joint.singular_at(q[rows], within=LEAST_SINGULARITY_DISTANCE) is None:
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
        """Return the values of the expressions, (expressions, states)."""
        found = interpret([self._arena.lift(x) for x in expressions], self._values)
        return np.array([np.broadcast_to(x, self._count) for x in found]).reshape(-1, self._count)

    def with_values(self, leaves: Sequence[Expr], rows: np.ndarray) -> RandomStates:
        """Return the same states with other values of some leaves; ``rows`` has one row per leaf."""
        other = object.__new__(RandomStates)
        other.__dict__.update(self.__dict__)
        changed: Mapping[Expr, np.ndarray] = dict(zip(leaves, rows, strict=True))
        other._values = {**self._values, **changed}
        return other


def joints_of(equations: Equations) -> Iterator[tuple[Connection, slice]]:
    """Yield every joint that has its own coordinates, with their slice of q."""
    place = {leaf.name: i for i, leaf in enumerate(equations.q)}
    for connection in equations.system.speeds.motion:
        if connection.coordinate_names:
            start = place[connection.coordinate_names[0]]
            yield connection, slice(start, start + connection.joint.nq)
