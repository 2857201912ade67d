"""``kane.expression_from_sympy``: a SymPy expression as an expression of a model."""

from __future__ import annotations

from typing import Any

from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import INPUT, PARAMETER, RATE
from kane.formulation.equations import Equations
from kane.importers.sympy.symbol_names import SymbolNames
from kane.importers.sympy.sympy_reader import SymPyReader
from kane.model.model import Model


def expression_from_sympy(model: Model | Equations, expression: Any) -> Expr:
    """Return a SymPy expression as an expression of a model, for loads, constraints, speeds, outputs and controllers.

    Symbols and functions of time mean the parameters, inputs, coordinates and speeds of the same names. The derivative
    of q1(t) means the rate of the coordinate q1, and Symbol("t") is time.

    Args:
        model: a model, or equations whose ``q`` and ``u`` the expression contains.
        expression: SymPy expression, or a number.

    Raises:
        ModelError: a symbol has no value in the model, or kane lacks a function; the message names it.
    """
    require(model, (Model, Equations), "expression_from_sympy takes a kane.Model or Equations")
    arena = model.system.arena if isinstance(model, Equations) else model.arena
    return SymPyReader(arena, names_of_model(model))(expression, "the expression")


def names_of_model(model: Model | Equations) -> SymbolNames:
    """Return the values of SymPy symbols that have the names of a model's symbols."""
    if isinstance(model, Equations):
        names = SymbolNames(model.model, "it is no symbol of the equations")
        known = {leaf.name: leaf for leaf in (*model.parameters, *model.inputs, *model.q, *model.u)}
        coordinates = [leaf.name for leaf in model.q]
    else:
        names = SymbolNames(model, "it is no symbol of the model")
        known = _symbols(model)
        coordinates = [name for c in model.connections for name in c.coordinate_names]
    for name, value in known.items():
        names.add(name, value)
    names.rates = {name: names.values[name].arena.leaf(RATE, name) for name in coordinates}
    return names


def _symbols(model: Model) -> dict[str, Expr]:
    """Return the parameters, inputs, coordinates and speeds of a model, by name."""
    leaf = model.arena.leaf
    known = {name: leaf(PARAMETER, name) for name in model.parameters}
    known |= {name: leaf(INPUT, name) for name in model.inputs}
    for c in model.connections:
        known |= dict(zip(c.coordinate_names, c.coordinates, strict=True)) if c.coordinate_names else {}
        known |= dict(zip(c.speed_names, c.speeds, strict=True)) if c.speed_names else {}
    return {**known, **model.speed_choice.definitions}
