"""Equations of motion between two neighbouring nodes, as functions of the unknowns of both.

    backward euler   F((x_i - x_{i-1}) / h, x_i, inputs_i, p) = 0
    midpoint         F((x_{i+1} - x_i) / h, (x_i + x_{i+1}) / 2, (inputs_i + inputs_{i+1}) / 2, p) = 0

Node i is the first node of an interval in opty's order of unknowns. The second node is i - 1 for backward Euler and
i + 1 for midpoint. A known function r(x) of a state is linear, r = r_i + r'_i (x - x_i), with the given slope r'. The
values r_i, r'_i and x_i belong to the iterate.

Source: Moore & van den Bogert 2018, opty: Software for trajectory optimization and parameter identification using
direct collocation, Journal of Open Source Software 3(21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.element import Functions
from kane.array_types import Array
from kane.codegen.jit.compiler import compile_program
from kane.codegen.jit.function import ArrayFunction
from kane.compat.opty.opty_symbols import OptySymbols, is_fixed, plain
from kane.engine.memory.loop_arguments import Indices
from kane.expression.node import Expr
from kane.expression.number_arguments import positive, whole
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute_nodes
from kane.model.checks import require_known

BACKWARD_EULER, MIDPOINT = "backward euler", "midpoint"


def checked_mesh(nodes: Any, interval: Any, method: Any) -> tuple[int, Any]:
    """Return the number of nodes and the time between them [s], a number or a symbol.

    Raises:
        ModelError: one of them or the integration method is invalid.
    """
    require_known(method, (BACKWARD_EULER, MIDPOINT), "integration_method")
    count = whole(nodes, "num_collocation_nodes", 2)
    return count, positive(plain(interval), "node_time_interval") if is_fixed(interval) else interval


class DenseFunctions(Functions):
    """Functions whose Jacobian has an entry for each output and each unknown, zeros included."""

    @cached_property
    def slopes(self) -> ArrayFunction:
        """Function to the entries of the Jacobian, output by output."""
        zero, (outputs, unknowns) = self.outputs[0].arena.zero, self.slope_places
        entries = [self.first.get(place, zero) for place in zip(outputs.tolist(), unknowns.tolist(), strict=True)]
        return self.compile_outputs("derivatives", entries, self.data)

    @cached_property
    def slope_places(self) -> tuple[Indices, Indices]:
        """Output and unknown of each entry of the Jacobian."""
        outputs, unknowns = np.indices((len(self.outputs), len(self.unknowns)))
        return outputs.ravel(), unknowns.ravel()

    @cached_property
    def varying(self) -> NDArray[np.bool_]:
        """Whether an entry of the Jacobian is no zero, (entries,)."""
        return np.array([place in self.first for place in zip(*self.slope_places, strict=True)])


class KnownLeaf(NamedTuple):
    """Leaf of given data: samples of a SymPy function at the first (0) or the second (1) node of intervals."""

    leaf: Expr
    of: Any
    node: int


@dataclass(frozen=True)
class NodeEquations:
    """Discretized equations of motion.

    Attributes:
        symbols: leaves of the symbols.
        equations: F as expressions of these leaves.
        method: BACKWARD_EULER or MIDPOINT.
        free_inputs, known_inputs: unknown trajectories, and given trajectories.
        free_parameters, known_parameters: SymPy symbols.
    """

    symbols: OptySymbols
    equations: Sequence[Expr]
    method: str
    free_inputs: tuple[Any, ...]
    known_inputs: tuple[Any, ...]
    free_parameters: tuple[Any, ...]
    known_parameters: tuple[Any, ...]

    @cached_property
    def functions(self) -> DenseFunctions:
        """Functions of an interval: F of the unknowns in the order of opty's Jacobian entries."""
        s = self.symbols
        unknowns = [self._moving[k][x] for k in (0, 1) for x in s.states]
        unknowns += [self._moving[k][x] for k in self._input_nodes for x in self.free_inputs]
        unknowns += [s.leaves[p] for p in self.free_parameters]
        known = [s.leaves[p] for p in self.known_parameters]
        (unknowns if s.interval in s.leaves else known).append(s.length)
        data = tuple(known.leaf for known in self._known)
        name = "the equations of motion"
        return DenseFunctions(compile_program, name, tuple(self._outputs), tuple(unknowns), data, tuple(known))

    def variables(self, count: int) -> NDArray[np.int64]:
        """Return the places of the unknowns of all intervals in the free vector of ``count`` nodes."""
        n, q, nodes = len(self.symbols.states), len(self.free_inputs), self._nodes(count)
        columns = [nodes[k] + j * count for k in (0, 1) for j in range(n)]
        columns += [nodes[k] + (n + j) * count for k in self._input_nodes for j in range(q)]
        shared = len(self.free_parameters) + (self.symbols.interval in self.symbols.leaves)
        columns += [np.full(count - 1, (n + q) * count + j) for j in range(shared)]
        return np.stack(columns, axis=1)

    def data(self, samples: Mapping[Any, Any], count: int) -> Array:
        """Return the given data of all intervals, (intervals, data), from samples (nodes,) of SymPy functions."""
        nodes = self._nodes(count)
        columns = [samples[known.of][nodes[known.node]] for known in self._known]
        return np.stack(columns, axis=1) if columns else np.zeros((count - 1, 0))

    @property
    def _input_nodes(self) -> tuple[int, ...]:
        return (0, 1) if self.method == MIDPOINT else (0,)

    def _nodes(self, count: int) -> list[NDArray[np.int64]]:
        first = np.arange(count - 1) + (self.method == BACKWARD_EULER)
        return [first, first + (1 if self.method == MIDPOINT else -1)]

    @cached_property
    def _moving(self) -> list[dict[Any, Expr]]:
        """Leaves of states and inputs at the first and at the second node."""
        arena, leaves = self.symbols.arena, self.symbols.leaves
        all_of_them = (*self.symbols.states, *self.symbols.inputs)
        return [
            {x: leaves[x] for x in all_of_them},
            {x: arena.leaf(INPUT, f"neighbour {k}") for k, x in enumerate(all_of_them)},
        ]

    @cached_property
    def _known(self) -> list[KnownLeaf]:
        """Leaves of given data."""
        found = []
        for k in self._input_nodes:
            for x in self.known_inputs:
                found.append(KnownLeaf(self._moving[k][x], x, k))
                found += [KnownLeaf(leaf, of, k) for leaf, of in zip(self._slope(x, k), slope_key(x), strict=True)]
        return found

    def _slope(self, x: Any, k: int) -> list[Expr]:
        """Return the leaves of r' and of the state at the iterate; none for functions of time."""
        words = ("slope", "state") if slope_key(x) else ()
        return [self.symbols.arena.leaf(INPUT, f"{word} {k} of {self.known_inputs.index(x)}") for word in words]

    def _at(self, k: int) -> dict[Any, Expr]:
        """Return the expressions of states and inputs at a node."""
        found = dict(self._moving[k])
        for x in self.known_inputs:
            if slope_key(x):
                slope, state = self._slope(x, k)
                found[x] = found[x] + slope * (found[x.args[0]] - state)
        return found

    @property
    def _outputs(self) -> list[Expr]:
        s, h = self.symbols, self.symbols.length
        ends = [self._at(k) for k in (0, 1)]
        last, first = (ends[1], ends[0]) if self.method == MIDPOINT else ends
        values = {s.rates[x]: (last[x] - first[x]) / h for x in s.states}
        for x, leaf in self._moving[0].items():
            value = 0.5 * (ends[0][x] + ends[1][x]) if self.method == MIDPOINT else ends[0][x]
            if value is not leaf:
                values[leaf] = value
        return substitute_nodes(list(self.equations), values)


def slope_key(x: Any) -> tuple[Any, ...]:
    """Return the derivative r' of a function r(x(t)) and the state x(t); nothing for functions of time."""
    (argument,) = x.args
    return (x.diff(argument), argument) if argument.args else ()
