"""Symbols of SymPy equations of motion: states, trajectories and parameters, as leaves of an arena."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kane.errors import ModelError, list_names, shown
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.expression.operations import INPUT, PARAMETER
from kane.model.symbols.sympy_reader import SymPyReader


class OptySymbols:
    """Leaves of the symbols of equations F(x', x, inputs, p) = 0; reading an expression collects its symbols.

    Attributes:
        arena: arena of the expressions.
        states: SymPy functions of time.
        time: SymPy symbol of time.
        interval: SymPy symbol or number, time between nodes [s].
        leaves: leaf of each symbol, state and trajectory.
        rates: leaf of the time derivative of each state.
        inputs: trajectories that are no states, by SymPy function; functions r(x(t)) of a state x too.
        parameters: symbols that are neither time nor ``interval``.
    """

    def __init__(self, states: Any, time: Any, interval: Any) -> None:
        """Check the states and make their leaves.

        Raises:
            ModelError: a state is no function of time, or is given twice.
        """
        self.states: tuple[Any, ...] = checked_states(states)
        self.time = self.states[0].args[0] if time is None else time
        for state in self.states:
            if state.args != (self.time,):
                raise ModelError(f"the state {state} is no function of {self.time}; give {state.func}({self.time})")
        self.arena, self.interval = Arena(), interval
        self.leaves: dict[Any, Expr] = {x: self._leaf(x) for x in self.states}
        self.rates: dict[Any, Expr] = {x: self.arena.leaf(INPUT, f"rate of {k}") for k, x in enumerate(self.states)}
        self.inputs: dict[Any, Expr] = {}
        self.parameters: dict[Any, Expr] = {}
        self.length = self.arena.leaf(PARAMETER if is_fixed(interval) else INPUT, "interval")
        if not is_fixed(interval):
            self.leaves[interval] = self.length
        self.read = SymPyReader(self.arena, self.meaning)

    def meaning(self, node: Any, place: str) -> Expr:
        """Return the leaf of a symbol, a function of time or the derivative of a state.

        Raises:
            ModelError: it is time itself, or a derivative or a function without a meaning in equations of first order.
        """
        if node in self.leaves:
            return self.leaves[node]
        if node == self.time:
            raise ModelError(f"{place} depends on {node} itself; replace it by a known trajectory f({node})")
        if getattr(node, "is_Symbol", False):
            self.parameters[node] = self.leaves[node] = self._leaf(node, PARAMETER)
        elif node.__class__.__name__ == "Derivative":
            return self._rate(node, place)
        elif node.__class__.__name__ == "Integral":
            raise ModelError(f"{place} contains {node}; make it a state")
        else:
            if len(node.args) != 1 or node.args[0] not in (self.time, *self.states):
                raise ModelError(
                    f"{place} contains {node}, which is no function of {self.time} or of one state; replace it by a "
                    f"known trajectory f({self.time})"
                )
            same = [x for x in (*self.states, *self.inputs) if x.func.__name__ == node.func.__name__]
            if same:
                raise ModelError(f"{place} contains {same[0]} and {node}, which have one name; rename one of them")
            self.inputs[node] = self.leaves[node] = self._leaf(node)
        return self.leaves[node]

    def _rate(self, node: Any, place: str) -> Expr:
        if node.args[0] in self.rates and tuple(node.args[1]) == (self.time, 1):
            return self.rates[node.args[0]]
        raise ModelError(
            f"{place} contains {node}; only first derivatives of states are possible: add a state for it, and its "
            "equation"
        )

    def _leaf(self, node: Any, op: int = INPUT) -> Expr:
        count = len(getattr(self, "leaves", ()))
        return self.arena.leaf(op, f"{count} {node}")


def checked_states(states: Any) -> tuple[Any, ...]:
    """Return the states as a tuple.

    Raises:
        ModelError: one is no function of time, or is given twice, or the list is empty.
    """
    try:
        found = tuple(states)
    except TypeError:
        found = ()
    for state in found:
        if not (getattr(state, "is_Function", False) and len(state.args) == 1):
            raise ModelError(f"state_symbols has {shown(state)}; give functions of time such as x(t)")
    if not found:
        raise ModelError(f"state_symbols is {shown(states)}; give functions of time such as x(t)")
    twice = [str(x) for k, x in enumerate(found) if x in found[:k]]
    if twice:
        raise ModelError(f"state_symbols has {list_names(twice)} twice; leave one out")
    return found


def is_fixed(x: Any) -> bool:
    """Return whether x is a number and no symbol."""
    return not getattr(x, "free_symbols", None)


def plain(x: Any) -> Any:
    """Return SymPy's numbers as numbers of Python, and other values as they are."""
    return float(x) if is_fixed(x) and hasattr(x, "func") else x


def flat_expressions(given: Any, who: str) -> list[Any]:
    """Return the expressions of a SymPy matrix or of an iterable.

    Raises:
        ModelError: it is neither.
    """
    rows = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(rows, Iterable) or isinstance(rows, str):
        raise ModelError(f"{who} is {shown(given)}; give a SymPy matrix of one column, or a list of expressions")
    return [x for row in rows for x in (row if isinstance(row, list | tuple) else (row,))]


def require_no_equation(x: Any, who: str, cure: str = "write a - b for the equation a = b") -> None:
    """Raise ModelError if an expression is true or false, such as sympy.Eq(a, b)."""
    if isinstance(x, bool) or getattr(x, "is_Boolean", False) or getattr(x, "is_Relational", False):
        raise ModelError(f"{who} is {shown(x)}, which is true or false; {cure}")


def by_name(symbols: Any) -> tuple[Any, ...]:
    """Return symbols and functions sorted by their names, as opty sorts them."""
    return tuple(sorted(symbols, key=lambda x: x.name))
