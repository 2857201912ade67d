"""The arena: append-only store of hash-consed nodes, one per model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

from kane.errors import ExpressionError
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, OPERATIONS


class Arena:
    """Append-only store in which equal nodes are one node.

    Node ids are a topological order. Nothing is global: the arena dies with the model that owns it, and mixing nodes
    of two arenas is an error. Constructing nodes is not thread-safe.
    """

    __slots__ = ("_constants", "_leaves", "nodes", "one", "tables", "zero")

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self.tables: list[dict[Any, Expr]] = [{} for _ in OPERATIONS]
        self._constants: dict[float, Expr] = {}
        self._leaves: dict[tuple[int, Any], Expr] = {}
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def __len__(self) -> int:
        return len(self.nodes)

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """What is built inside is taken out afterwards, as if it had never been; none of its nodes may be used then."""
        tables: tuple[dict[Any, Expr], ...] = (self._constants, self._leaves, *self.tables)
        sizes, nodes = [len(table) for table in tables], len(self)
        try:
            yield
        finally:
            del self.nodes[nodes:]
            for table, size in zip(tables, sizes, strict=True):
                while len(table) > size:  # dictionaries give up last what came last
                    table.popitem()

    def constant(self, value: float) -> Expr:
        """The constant ``value``; infinities and NaN are refused, and -0.0 is 0.0."""
        found = self._constants.get(value)
        if found is not None:
            return found
        try:
            number = float(value) + 0.0
        except OverflowError:  # an integer too large for a double
            number = math.inf
        if not math.isfinite(number):
            raise ExpressionError(f"the constant {value!r} is not finite; give a finite number")
        node = Expr(self, CONSTANT, (), number, len(self.nodes))
        self.nodes.append(node)
        self._constants[number] = node
        return node

    def leaf(self, op: int, data: Any) -> Expr:
        """The leaf of kind ``op`` identified by ``data`` (a name, or for a measure its description)."""
        key = (op, data)
        node = self._leaves.get(key)
        if node is None:
            node = Expr(self, op, (), data, len(self.nodes))
            self.nodes.append(node)
            self._leaves[key] = node
        return node

    def has_leaf(self, op: int, data: Any) -> bool:
        """Whether there is a leaf of this kind."""
        return (op, data) in self._leaves

    def lift(self, value: Any) -> Expr:
        """``value`` as a node of this arena: a node stays itself, a number becomes a constant."""
        if value.__class__ is Expr:
            return value
        if isinstance(value, Real):
            return self.constant(value)  # type: ignore[arg-type]
        if getattr(value, "ndim", None) == 0 and isinstance(value.item(), Real):
            return self.constant(float(value))
        raise ExpressionError(f"{value!r} is neither a number nor an expression of this model")

    def unary(self, op: int, a: Expr) -> Expr:
        """The node op(a), as it stands: simplification happens in ``construct``."""
        table = self.tables[op]
        node = table.get(a)
        if node is None:
            node = Expr(self, op, (a,), None, len(self.nodes))
            self.nodes.append(node)
            table[a] = node
        return node

    def binary(self, op: int, a: Expr, b: Expr) -> Expr:
        """The node op(a, b), as it stands."""
        table = self.tables[op]
        args = (a, b)
        node = table.get(args)
        if node is None:
            if b.arena is not self:
                raise _mixed(a, b)
            nodes = self.nodes
            node = Expr(self, op, args, None, len(nodes))
            nodes.append(node)
            table[args] = node
        return node

    def nary(self, op: int, args: tuple[Expr, ...], data: Any = None) -> Expr:
        """The node op(*args) carrying ``data``, as it stands."""
        table = self.tables[op]
        key = (args, data)
        node = table.get(key)
        if node is None:
            for a in args:
                if a.arena is not self:
                    raise _mixed(args[0], a)
            node = Expr(self, op, args, data, len(self.nodes))
            self.nodes.append(node)
            table[key] = node
        return node


def _mixed(a: Expr, b: Expr) -> ExpressionError:
    return ExpressionError(
        f"{a!r} and {b!r} belong to different models; build every expression from the parameters, inputs and "
        "coordinates of one model"
    )
