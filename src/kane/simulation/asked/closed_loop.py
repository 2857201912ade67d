"""Inputs given as expressions, put into the equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import OPERATIONS
from kane.expression.traverse import leaves, substitute
from kane.formulation.equations import Equations
from kane.formulation.formulate import substitute as substitute_inputs
from kane.formulation.recursive.measures import images
from kane.model.reaction import reaction_leaves


class ClosedLoop(NamedTuple):
    """Equations with expressions in place of inputs.

    Attributes:
        rhs: of [t, q, u] and all inputs, those that were replaced ignored: [qdot, udot].
        settle: what puts states onto the constraints; None without constraints.
        inputs: all of them, of the same arguments.
    """

    rhs: ArrayFunction
    settle: ArrayFunction | None
    inputs: ArrayFunction


def close_loop(dyn: Dynamics, expressions: Mapping[str, Expr]) -> ClosedLoop:
    """The equations with expressions in place of inputs, and the inputs themselves.

    Args:
        dyn: its program "rhs" has state [t, q, u], rest = inputs, outputs [qdot, udot].
        expressions: for some of the inputs; of time, coordinates, rates, speeds, measures, parameters
            and the other inputs.

    Returns:
        The programs, with state, rest and parameters as before.

    Raises:
        ModelError: an expression belongs to another model, or depends on an input that is replaced itself or on a leaf
            that is not known in the state.
    """
    eqs, rhs = dyn.equations, dyn.function("rhs")
    replacements = resolved(eqs, expressions)
    state = (eqs.t, *eqs.q, *eqs.u)
    arrays: dict[str, Any] = {"state": state, "rest": eqs.inputs, "parameters": eqs.parameters}
    inputs = [replacements.get(leaf, leaf) for leaf in eqs.inputs]
    recorded = dyn.compile(Program(f"inputs of {rhs.name}", inputs, **arrays))
    if (
        rhs.program is None
    ):  # values are found in numbers, from equations whose replaced inputs are there and have no effect
        closed = with_laws(dyn, expressions)
        return ClosedLoop(closed.function("rhs"), closed.settle, recorded)
    outputs = substitute(rhs.program.outputs, replacements)
    return ClosedLoop(dyn.compile(Program(f"{rhs.name} in closed loop", outputs, **arrays)), dyn.settle, recorded)


def with_laws(dyn: Dynamics, expressions: Mapping[str, Expr]) -> Dynamics:
    """Dynamics with expressions in place of inputs, which are still there and have no effect."""
    eqs = dyn.equations
    return Dynamics(replace(substitute_inputs(eqs, **expressions), inputs=eqs.inputs), dyn.compile, dyn.ahead)


def resolved(equations: Equations, expressions: Mapping[str, Expr]) -> dict[Expr, Expr]:
    """Leaf of each replaced input to its expression in leaves whose values are given in the equations.

    Raises:
        ModelError: as ``close_loop``.
    """
    for name, expression in expressions.items():
        if expression.arena is not equations.t.arena:
            raise ModelError(f"the expression for the input {name!r} belongs to another model")
    given = list(expressions.values())
    meaning = {**images(equations.system, given), **equations.baked}
    resolved = dict(zip(expressions, substitute(given, meaning), strict=True))
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
