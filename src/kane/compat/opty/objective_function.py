"""``create_objective_function``: an objective of integrals, with its exact gradient and Hessian.

    f = g(I, p, h),   I_k = sum_i h l_k(x_i, inputs_i, p)

The sum is over the nodes i after the first one for backward Euler. For midpoint it is over the intervals, with the
averages of the states and inputs of both nodes. The values agree with opty 1.5. For midpoint the gradients differ,
because opty 1.5 returns the gradient of the trapezoidal rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.optimal_control.element import Functions, ProgramElement
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.codegen.jit.compiler import compile_program
from kane.compat.opty.free_vector import FreeLayout
from kane.compat.opty.node_equations import BACKWARD_EULER, MIDPOINT, checked_mesh
from kane.compat.opty.opty_symbols import checked_states, require_no_equation
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import ModelError
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.expression.operations import INPUT, PARAMETER
from kane.expression.traverse import substitute_nodes
from kane.model.symbols.sympy_reader import SymPyReader

NO_NUMBERS = np.zeros(0)


def create_objective_function(
    objective: Any,
    state_symbols: Any,
    unknown_input_trajectories: Any,
    unknown_parameters: Any,
    num_collocation_nodes: int,
    node_time_interval: Any = 1.0,
    integration_method: str = BACKWARD_EULER,
    time_symbol: Any = None,
) -> tuple[Callable[[Any], float], Callable[[Any], Vector]]:
    """Return the functions of the free vector that compute an objective and its gradient.

    ``Problem`` recognises them, and gives Ipopt the exact Hessian if the objective is linear in its integrals.

    Args:
        objective: SymPy expression of parameters, the time interval and integrals over time of states, inputs and
            parameters, such as ``sympy.Integral(f(t)**2, t)``.
        state_symbols: all states.
        unknown_input_trajectories, unknown_parameters: all free ones, in the order of the free vector.
        num_collocation_nodes: number of nodes.
        node_time_interval: time between nodes [s]; a symbol if it is free.
        integration_method: "backward euler" or "midpoint".
        time_symbol: symbol of time; default is the argument of the first state.

    Raises:
        ModelError: an argument is invalid, or a state or input is outside of integrals.
    """
    nodes, h = checked_mesh(num_collocation_nodes, node_time_interval, integration_method)
    states = checked_states(state_symbols)
    require_no_equation(objective, "the objective", "write an expression, and equations as instance_constraints")
    time = states[0].args[0] if time_symbol is None else time_symbol
    layout = FreeLayout(nodes, states, tuple(unknown_input_trajectories), tuple(unknown_parameters), h)
    found = ObjectiveFunction(layout, integration_method, _Reading(layout, time)(objective))
    return found.value, found.gradient


class _Reading:
    """Reading of an objective: its integrands and the function of the integrals."""

    def __init__(self, layout: FreeLayout, time: Any) -> None:
        self.layout, self.time, self.arena = layout, time, Arena()
        self.leaves = {x: self.arena.leaf(INPUT, f"{k} {x}") for k, x in enumerate(layout.places)}
        fixed = self.arena.leaf(PARAMETER, "interval")
        self.length = self.leaves[layout.interval] if layout.variable else fixed
        self.integrands: list[Expr] = []
        self.integrals: list[Expr] = []
        self._inside = False

    def __call__(self, objective: Any) -> tuple[Expr, list[Expr], _Reading]:
        value = SymPyReader(self.arena, self._meaning)(objective, "the objective")
        return value, self.integrands or [self.arena.zero], self

    def _meaning(self, node: Any, place: str) -> Expr:
        if node.__class__.__name__ == "Integral":
            return self._integral(node, place)
        if node not in self.leaves:
            raise ModelError(
                f"{place} contains {node}, which is not free; replace known trajectories and parameters by their values"
            )
        if not self._inside and len(self.layout.of(node)) > 1:
            raise ModelError(f"{place} contains {node} outside of integrals; give Integral({node}, {self.time})")
        return self.leaves[node]

    def _integral(self, node: Any, place: str) -> Expr:
        integrand, *limits = node.args
        if self._inside or [tuple(x) for x in limits] != [(self.time,)]:
            raise ModelError(f"{place} contains {node}; give integrals over {self.time} without limits")
        self._inside = True
        self.integrands.append(SymPyReader(self.arena, self._meaning)(integrand, f"the integral {node}"))
        self._inside = False
        self.integrals.append(self.arena.leaf(INPUT, f"integral {len(self.integrals)}"))
        return self.integrals[-1]


class ObjectiveFunction:
    """An objective g(I, p, h) of the free vector."""

    def __init__(self, layout: FreeLayout, method: str, read: tuple[Expr, list[Expr], _Reading]) -> None:
        """Make the functions.

        Args:
            layout: places of the free variables.
            method: "backward euler" or "midpoint".
            read: g, the integrands l, and the reading.
        """
        value, integrands, reading = read
        arena, places, leaves = reading.arena, layout.places, reading.leaves
        shared = [x for x, at in places.items() if len(at) == 1]
        self._layout, self._count = layout, len(integrands)
        self._shared = np.array([places[x][0] for x in shared], dtype=np.int64)
        known = () if layout.variable else (reading.length,)
        self._constants = NO_NUMBERS if layout.variable else np.array([layout.interval])
        along = [x for x in places if x not in shared]
        others = [arena.leaf(INPUT, f"neighbour {k}") for k in range(len(along) if method == MIDPOINT else 0)]
        averages = {leaves[x]: 0.5 * (leaves[x] + other) for x, other in zip(along, others, strict=False)}
        outputs = tuple(substitute_nodes([reading.length * x for x in integrands], averages))
        unknowns = (*leaves.values(), *others)
        functions = Functions(compile_program, "integrands", outputs, unknowns, (), known)
        columns = [at[1:] if len(at) > 1 else np.repeat(at, layout.nodes - 1) for at in places.values()]
        columns += [places[x][:-1] for x, _ in zip(along, others, strict=False)]
        rows = np.tile(np.arange(self._count), (layout.nodes - 1, 1))
        data = np.zeros((layout.nodes - 1, 0))
        element = ProgramElement(functions, np.stack(columns, axis=1), rows, data, self._constants)
        self._integrals = ElementProgram([element], self._count, layout.length)
        ends = (*(reading.integrals or [arena.leaf(INPUT, "integral")]), *(leaves[x] for x in shared))
        self._outer = Functions(compile_program, "the objective", (value,), ends, (), known)

    def value(self, free: Any) -> float:
        """Return the objective."""
        f, z = self._outer.values, self._layout.checked(free)
        return float(f(self._arguments(z), NO_NUMBERS, f.stage(self._constants))[0])

    def gradient(self, free: Any) -> Vector:
        """Return the gradient, (free variables,)."""
        z = self._layout.checked(free)
        along, found = self._outer_slopes(z), np.zeros(self._layout.length)
        rows, columns = self._integrals.jacobian_places
        np.add.at(found, columns, along[rows] * self._integrals.jacobian(z))
        found[self._shared] += along[self._count :]
        return found

    @cached_property
    def is_linear(self) -> bool:
        """Whether the objective is linear in its integrals, with constant coefficients."""
        first, second = self._outer.curvature_places
        return not (np.minimum(first, second) < self._count).any()

    @cached_property
    def hessian_places(self) -> tuple[Indices, Indices]:
        """Rows and columns of the entries of the Hessian of an objective that is linear in its integrals."""
        rows, columns = self._integrals.hessian_places
        first, second = (self._shared[x - self._count] for x in self._outer.curvature_places)
        return np.append(rows, np.maximum(first, second)), np.append(columns, np.minimum(first, second))

    def hessian(self, z: Vector) -> Vector:
        """Return the entries of the Hessian."""
        f = self._outer.curvatures
        own = f(self._arguments(z), np.ones(1), f.stage(self._constants))
        return np.append(self._integrals.hessian(z, 0.0, self._outer_slopes(z)[: self._count]), own)

    def _arguments(self, z: Vector) -> Vector:
        return np.append(self._integrals.constraints(z), z[self._shared])

    def _outer_slopes(self, z: Vector) -> Vector:
        """Return the derivatives of g with respect to integrals, parameters and time interval."""
        f = self._outer.slopes
        _, places = self._outer.slope_places
        found = np.zeros(len(self._outer.unknowns))
        found[places] = f(self._arguments(z), NO_NUMBERS, f.stage(self._constants))
        return found
