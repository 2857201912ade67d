"""Places of the free variables of a direct collocation in one vector, in opty's order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.compat.opty.opty_symbols import is_fixed
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import ModelError, list_names, shown
from kane.expression.number_arguments import numbers


def parse_free(free: Any, n: int, q: int, N: int, variable_duration: bool = False) -> tuple[Any, ...]:
    """Return states, unknown inputs, unknown parameters and, if free, the time interval of a free vector.

    Args:
        free: free vector, (n N + q N + parameters + interval,).
        n: number of states.
        q: number of unknown inputs.
        N: number of nodes.
        variable_duration: whether the last number is the time interval.

    Returns:
        Arrays (n, N); (q, N), or (N,) for one input, or None for none; (parameters,); and a number.
    """
    z = np.asarray(free)
    states, rest = z[: n * N].reshape(n, N), z[n * N :]
    inputs = None if not q else rest[:N] if q == 1 else rest[: q * N].reshape(q, N)
    last = rest[q * N :]
    return (states, inputs, last[:-1], last[-1]) if variable_duration else (states, inputs, last)


@dataclass(frozen=True)
class FreeLayout:
    """Places of the free variables.

    Attributes:
        nodes: number of nodes.
        state_symbols, inputs, parameters: SymPy functions and symbols of the free variables.
        interval: symbol of the time interval, or its value [s].
    """

    nodes: int
    state_symbols: tuple[Any, ...]
    inputs: tuple[Any, ...]
    parameters: tuple[Any, ...]
    interval: Any

    @property
    def variable(self) -> bool:
        """Whether the time interval is free."""
        return not is_fixed(self.interval)

    @cached_property
    def places(self) -> dict[Any, Indices]:
        """Places of each free variable."""
        found, at = dict[Any, Indices](), 0
        single = (*self.parameters, *([self.interval] if self.variable else []))
        for x in (*self.state_symbols, *self.inputs, *single):
            count = 1 if x in single else self.nodes
            found[x] = np.arange(at, at + count)
            at += count
        return found

    @property
    def length(self) -> int:
        """Length of the free vector."""
        return sum(map(len, self.places.values()))

    def checked(self, free: Any) -> Vector:
        """Return a free vector as an array of double precision.

        Raises:
            ModelError: not numbers, or of another length.
        """
        z = free
        if not (z.__class__ is np.ndarray and z.dtype == np.float64):
            z = np.asarray(numbers(free, "the free vector must be numbers"), dtype=float)
        if z.shape != (self.length,):
            raise ModelError(f"the free vector has the shape {z.shape}; give {self.length} numbers")
        return z

    def states(self, z: Vector) -> Array:
        """Return the states at the nodes, (states, nodes)."""
        return z[: len(self.state_symbols) * self.nodes].reshape(-1, self.nodes)

    def times(self, z: Any) -> Vector:
        """Return the times of the nodes [s]; the free vector matters only if the time interval is free.

        Raises:
            ModelError: there is no free vector.
        """
        if self.variable and z is None:
            raise ModelError("the time interval is free; give a solution")
        return np.arange(self.nodes) * (float(self.checked(z)[-1]) if self.variable else self.interval)

    def of(self, variable: Any) -> Indices:
        """Return the places of a free variable.

        Raises:
            ModelError: it is not free.
        """
        if variable not in self.places:
            raise ModelError(f"{shown(variable)} is not free; free are {list_names([*map(str, self.places)])}")
        return self.places[variable]

    def place(self, node: Any, who: str) -> int:
        """Return the place of a trajectory at a time, such as x(0.5), or of a parameter.

        Raises:
            ModelError: not free, or the time is outside of the nodes.
        """
        if node in self.places and len(self.places[node]) == 1:
            return int(self.places[node][0])
        for x in (*self.state_symbols, *self.inputs):
            if getattr(node, "func", None) == x.func:
                return int(self.places[x][self._node(node, who)])
        raise ModelError(
            f"{who} contains {node}, which is neither a state at a time, such as "
            f"{self.state_symbols[0].func}(0), nor a known parameter"
        )

    def _node(self, node: Any, who: str) -> int:
        """Return the node at the time that is the argument of a function."""
        ratio = node.args[0] / self.interval
        if not is_fixed(ratio) or (self.variable and int(ratio) != ratio):
            unit = f"a whole multiple of {self.interval}, such as 0*{self.interval}" if self.variable else "a number"
            raise ModelError(f"{who}: the time of {node} is {node.args[0]}; give {unit}")
        index = round(float(ratio))
        if not 0 <= index < self.nodes:
            last = f"{self.nodes - 1}*{self.interval}" if self.variable else f"{(self.nodes - 1) * self.interval:g} s"
            raise ModelError(f"{who}: the time of {node} is outside of the nodes, from 0 to {last}")
        return index
