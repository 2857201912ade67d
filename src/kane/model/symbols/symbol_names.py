"""Meaning of SymPy symbols by name: Symbol("m") is the parameter "m", q1(t) the coordinate "q1"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.expression.operations import SPEED, TIME
from kane.model.checks import near, require_word


def symbol_name(symbol: Any, what: str) -> str:
    """Return the name of a word, a SymPy symbol, a function of time such as q1(t), or of its first derivative.

    Raises:
        ModelError: ``symbol`` is something else; ``what`` says what was wanted.
    """
    if isinstance(symbol, str):
        return symbol
    if getattr(symbol, "is_Symbol", False):
        return str(symbol.name)
    if symbol.__class__.__class__.__name__ == "UndefinedFunction":
        return str(symbol.func.__name__)
    raise ModelError(f"{what} {shown(symbol)} is not a SymPy symbol, a function of time, or a name")


class SymbolNames:
    """Values of SymPy symbols by name; the argument of functions of time is the model's time.

    Args:
        arena: arena of the values.
        cure: end of the message about a symbol without a value.

    Attributes:
        values: value of each symbol and function of time, by name.
        rates: value of the time derivative of each coordinate, by name.
    """

    def __init__(self, arena: Arena, cure: str) -> None:
        self.values: dict[str, Expr] = {}
        self.rates: dict[str, Expr] = {}
        self._arena, self._cure = arena, cure
        self._time = arena.leaf(TIME, "t")
        self._seen: dict[str, Any] = {}
        self._times = {"t"}

    def add(self, symbol: Any, value: Expr) -> None:
        """Add the value of a symbol, or of a name.

        Raises:
            ModelError: the name has a value.
        """
        name = symbol_name(symbol, "the symbol")
        require_word(name)
        if name in self.values or name == "t":
            raise ModelError(
                f"the name {name!r} is given twice among t, q=, u=, inputs=, parameters= and replacements=; rename one"
            )
        if not isinstance(symbol, str):
            self._seen[name] = symbol
            self._times.update(map(str, symbol.args[:1]))
        self.values[name] = value

    def add_leaves(self, kind: int, symbols: Sequence[Any]) -> list[Expr]:
        """Add leaves of a kind, named as the symbols, and return them."""
        found = [self._arena.leaf(kind, symbol_name(x, "the coordinate or speed")) for x in symbols]
        for symbol, leaf in zip(symbols, found, strict=True):
            self.add(symbol, leaf)
        return found

    def add_rate(self, coordinate: str, name: str) -> Expr:
        """Add a speed of this name that is the rate of a coordinate, and return it."""
        (leaf,) = self.add_leaves(SPEED, [name])
        self.rates[coordinate] = leaf
        return leaf

    def __call__(self, node: Any, place: str) -> Expr:
        """Return the value of a symbol, function of time or derivative at a place.

        Raises:
            ModelError: it has no value, or another symbol has the same name.
        """
        if node.__class__.__name__ == "Derivative":
            return self._rate(node, place)
        name = symbol_name(node, "the symbol")
        known = self._seen.setdefault(name, node)
        if known != node:
            raise ModelError(
                f"{place} contains two different SymPy symbols that are named {name!r}: functions and symbols, "
                "dummies, and symbols with different assumptions differ; rename one, or use one of them everywhere"
            )
        found = self.values.get(name, self._time if name in self._times and node.is_Symbol else None)
        if found is None:
            like = near(name, [*self.values])
            raise ModelError(f"{place} contains {node}, which has no value; {self._cure} ({like})")
        return found

    def _rate(self, node: Any, place: str) -> Expr:
        base, by = node.args[0], node.args[1:]
        order = sum(int(count) for _, count in (pair.args for pair in by))
        if base.__class__.__class__.__name__ != "UndefinedFunction":
            raise ModelError(f"{place} contains the derivative {shown(node)}; call doit() first")
        name = symbol_name(base, "the function")
        if order == 1 and name not in self.values:
            self(base, place)
        if order != 1 or name not in self.rates:
            raise ModelError(
                f"{place} contains {node}, which has no value: only first derivatives of coordinates have one; "
                "accelerations belong to the mass matrix"
            )
        self(base, place)
        return self.rates[name]
