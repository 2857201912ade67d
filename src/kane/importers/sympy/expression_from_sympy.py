"""``kane.expression_from_sympy``: a SymPy expression as an expression of a model."""

from __future__ import annotations

from typing import Any

from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import RATE
from kane.formulation.equations import Equations
from kane.model.model import Model
from kane.model.symbols.model_symbols import names_in_model
from kane.model.symbols.symbol_names import SymbolNames
from kane.model.symbols.sympy_reader import SymPyReader


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
    if not isinstance(model, Equations):
        return names_in_model(model)
    names = SymbolNames(model.system.arena, "it is no symbol of the equations")
    for leaf in (*model.parameters, *model.inputs, *model.q, *model.u):
        names.add(leaf.name, leaf)
    names.rates = {leaf.name: leaf.arena.leaf(RATE, leaf.name) for leaf in model.q}
    return names
