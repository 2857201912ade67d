"""SymPy expressions in declarations of a model: symbols mean the leaves of the same names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar, cast

from kane.errors import ModelError, shown
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.expression.operations import INPUT, PARAMETER, RATE
from kane.model.checks import is_symbolic
from kane.model.symbols.symbol_names import SymbolNames
from kane.model.symbols.sympy_reader import SymPyReader

AnyDeclaration = TypeVar("AnyDeclaration")


class SymbolOwner(Protocol):
    """Attributes of a model with leaves that SymPy symbols may mean."""

    @property
    def arena(self) -> Arena: ...
    @property
    def parameters(self) -> Mapping[str, float]: ...
    @property
    def inputs(self) -> Mapping[str, float]: ...
    @property
    def connections(self) -> Sequence[Any]: ...
    @property
    def speed_choice(self) -> Any: ...


def read_symbolic(model: SymbolOwner, value: Any, what: str) -> Expr:
    """Return a SymPy expression as an expression of the model.

    Raises:
        ModelError: a symbol has no value in the model, kane lacks a function, or the value is an equation.
    """
    if type(value).__name__ == "Equality":
        raise ModelError(f"{what} is the equation {shown(value)}; give the difference of its sides, which must vanish")
    return SymPyReader(model.arena, names_in_model(model))(value, what)


def with_expressions(model: SymbolOwner, declared: AnyDeclaration) -> AnyDeclaration:
    """Return a load, constraint or joint whose fields have expressions of the model instead of SymPy expressions.

    Raises:
        ModelError: a symbol has no value in the model, or kane lacks a function.
    """
    read: dict[str, Any] = {}
    for field in fields(cast(Any, declared)):
        value = getattr(declared, field.name)
        place = f"{field.name} of the {type(declared).__name__}"
        if is_symbolic(value):
            read[field.name] = read_symbolic(model, value, place)
        elif isinstance(value, tuple | list):
            read[field.name] = tuple(read_symbolic(model, x, place) if is_symbolic(x) else x for x in value)
    found: AnyDeclaration = replace(cast(Any, declared), **read)
    return found


def names_in_model(model: SymbolOwner) -> SymbolNames:
    """Return the values of SymPy symbols that have the names of a model's symbols."""
    names = SymbolNames(model.arena, "it is no symbol of the model")
    for name, value in _symbols(model).items():
        names.add(name, value)
    coordinates = [name for c in model.connections for name in c.coordinate_names]
    names.rates = {name: model.arena.leaf(RATE, name) for name in coordinates}
    return names


def _symbols(model: SymbolOwner) -> dict[str, Expr]:
    """Return the parameters, inputs, coordinates and speeds of a model, by name."""
    leaf = model.arena.leaf
    known = {name: leaf(PARAMETER, name) for name in model.parameters}
    known |= {name: leaf(INPUT, name) for name in model.inputs}
    for c in model.connections:
        known |= dict(zip(c.coordinate_names, c.coordinates, strict=True)) if c.coordinate_names else {}
        known |= dict(zip(c.speed_names, c.speeds, strict=True)) if c.speed_names else {}
    return {**known, **model.speed_choice.definitions}
