"""Substitution of expressions for inputs in the equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import OPERATIONS
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.formulate import substitute as substitute_inputs
from kane.formulation.recursive.measures import images
from kane.model.reaction import reaction_leaves


class ClosedLoop(NamedTuple):
    """Programs of equations with expressions in place of inputs.

    Attributes:
        rhs: [qdot, udot] as a function of [t, q, u] and all inputs; replaced inputs have no effect.
        project: projection onto the constraints; None without constraints.
        inputs: values of all inputs, as a function of the same arguments.
    """

    rhs: ArrayFunction
    project: ArrayFunction | None
    inputs: ArrayFunction


def close_loop(dyn: Dynamics, expressions: Mapping[str, Expr]) -> ClosedLoop:
    """Compile the equations with expressions in place of inputs, and the inputs themselves.

    Args:
        dyn: dynamics of the open loop.
        expressions: expressions by input name, of time, coordinates, rates, speeds, measures, parameters and the other
            inputs.

    Returns:
        The programs, with the same state, inputs and parameters as the program "rhs" of ``dyn``.

    Raises:
        ModelError: an expression belongs to another model, or depends on a replaced input or on a leaf that the state
            does not determine.
    """
    eqs, rhs = dyn.equations, dyn.function("rhs")
    replacements = resolve_replacements(eqs, expressions)
    state = (eqs.t, *eqs.q, *eqs.u)
    arrays: dict[str, Any] = {"state": state, "rest": eqs.inputs, "parameters": eqs.parameters}
    inputs = [replacements.get(leaf, leaf) for leaf in eqs.inputs]
    recorded = dyn.compile(Program(f"inputs of {rhs.name}", inputs, **arrays))
    if (
        rhs.program is None
    ):  # constraints are embedded numerically: use equations in which the replaced inputs have no effect
        closed = with_laws(dyn, expressions)
        return ClosedLoop(closed.function("rhs"), closed.project, recorded)
    outputs = substitute_nodes(rhs.program.outputs, replacements)
    return ClosedLoop(dyn.compile(Program(f"{rhs.name} in closed loop", outputs, **arrays)), dyn.project, recorded)


def with_laws(dyn: Dynamics, expressions: Mapping[str, Expr]) -> Dynamics:
    """Return Dynamics with expressions in place of inputs; these inputs remain as arguments without effect."""
    eqs = dyn.equations
    return Dynamics(replace(substitute_inputs(eqs, **expressions), inputs=eqs.inputs), dyn.compile, dyn.compiled_modes)


def resolve_replacements(equations: Equations, expressions: Mapping[str, Expr]) -> dict[Expr, Expr]:
    """Return the expression of each replaced input, in leaves whose values the equations have.

    Raises:
        ModelError: as ``close_loop``.
    """
    for name, expression in expressions.items():
        if expression.arena is not equations.t.arena:
            raise ModelError(f"the expression for the input {name!r} belongs to another model")
    given = list(expressions.values())
    meaning = {**images(equations.system, given), **equations.baked}
    resolved = dict(zip(expressions, substitute_nodes(given, meaning), strict=True))
    e = equations
    known = {e.t, *e.q, *e.u, *e.parameters, *(leaf for leaf in e.inputs if leaf.name not in resolved)}
    for name, expression in resolved.items():
        for leaf in leaves([expression]):
            if leaf not in known:
                reason = "is itself given by an expression" if leaf in e.inputs else "is not known in these equations"
                if reaction_leaves([leaf]):
                    reason = "is a reaction: kane.substitute(equations, ...) puts the expression into the equations"
                raise ModelError(
                    f"the expression for the input {name!r} depends on the {OPERATIONS[leaf.op].name} "
                    f"{leaf.name.strip()!r}, which {reason}"
                )
    return {leaf: resolved[leaf.name] for leaf in e.inputs if leaf.name in resolved}
