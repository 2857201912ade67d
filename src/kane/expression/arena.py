"""Arena: append-only store of hash-consed nodes, one per model."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from numbers import Real
from typing import Any

from kane.errors import ExpressionError, shown
from kane.expression.history import History
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, OPERATIONS


class Arena:
    """Append-only store in which equal nodes are one object.

    Node ids are a topological order: arguments have smaller ids than their users. There is no global state. The arena
    is freed with the model that owns it, and an operation on nodes of two arenas is an error.

    Several threads may construct nodes at the same time, because ids are drawn and nodes are stored atomically. If two
    threads make the same node, the first one is stored and the id of the second remains unused.
    """

    __slots__ = (
        "_constants",
        "_ids",
        "_leaves",
        "_lock",
        "_places",
        "_postponed",
        "_scratches",
        "history",
        "nodes",
        "one",
        "tables",
        "zero",
    )

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self.tables: list[dict[Any, Expr]] = [{} for _ in OPERATIONS]
        self._constants: dict[float, Expr] = {}
        self._leaves: dict[tuple[int, Any], Expr] = {}
        self._ids = itertools.count()
        self._places: dict[Expr, int] = {}
        self._scratches: dict[int, _Scratch] = {}
        self._lock = threading.Lock()
        self._postponed: list[Callable[[], object]] = []
        self.history = History(self)
        self.zero = self.constant(0.0)
        self.one = self.constant(1.0)

    def __len__(self) -> int:
        return len(self.nodes)

    def place(self, node: Expr) -> int:
        """Return the index of a node in ``nodes``. It differs from the id after unused ids."""
        if node.id < len(self.nodes) and self.nodes[node.id] is node:
            return node.id
        if node not in self._places:
            self._places = {known: k for k, known in enumerate(self.nodes)}
        return self._places[node]

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Context manager that discards, on exit, the nodes that this thread built in it; do not use them afterwards.

        Other threads do not see these nodes. This thread does not see nodes that other threads build meanwhile.
        """
        thread = threading.get_ident()
        if thread in self._scratches:  # a nested scratch lasts as long as the outer one
            yield
            return
        self.catch_up()
        with self._lock:
            self._scratches[thread] = scratch = _Scratch(self._ids)
            self.__class__ = _Divided
        try:
            yield
        finally:
            with self._lock:
                del self._scratches[thread]
                if not self._scratches:
                    self.__class__ = Arena
            scratch.clear()

    def postpone(self, derive: Callable[[], object]) -> None:
        """Call ``derive``, which makes nodes, before this arena makes its next new node or ``catch_up`` is called."""
        with self._lock:
            waits = not self._scratches
            if waits:
                self._postponed.append(derive)
                self.__class__ = _Behind
        if not waits:
            derive()
            self.history.caught_up()

    def catch_up(self) -> None:
        """Make the nodes of all postponed derivations, in their order."""
        with self._lock:
            postponed, self._postponed = self._postponed, []
            if postponed:
                self.__class__ = _Divided if self._scratches else Arena
        for derive in postponed:
            derive()
        if postponed:
            self.history.caught_up()

    def constant(self, value: float) -> Expr:
        """Return the constant ``value``; -0.0 becomes 0.0, and infinities and NaN raise ExpressionError."""
        found = self._constants.get(value)
        if found is not None:
            return found
        number = _finite(value)  # values of other types, such as fractions, may round to a constant that exists
        node = self._constants.get(number)
        if node is None:
            made = Expr(self, CONSTANT, (), number, next(self._ids))
            node = self._constants.setdefault(number, made)
            if node is made:
                self.nodes.append(made)
        return node

    def leaf(self, op: int, data: Any) -> Expr:
        """Return the leaf of kind ``op`` with the identity ``data``: its name or, for a measure, its description."""
        key = (op, data)
        node = self._leaves.get(key)
        if node is None:
            made = Expr(self, op, (), data, next(self._ids))
            node = self._leaves.setdefault(key, made)
            if node is made:
                self.nodes.append(made)
        return node

    def has_leaf(self, op: int, data: Any) -> bool:
        """Check whether this leaf exists."""
        return (op, data) in self._leaves

    def lift(self, value: Any) -> Expr:
        """Return ``value`` as a node: nodes are returned unchanged, numbers become constants of this arena."""
        if value.__class__ is Expr:
            return value
        if isinstance(value, Real):
            return self.constant(value)  # type: ignore[arg-type]
        if getattr(value, "ndim", None) == 0 and isinstance(value.item(), Real):
            return self.constant(float(value))
        raise ExpressionError(
            f"{shown(value)} is neither a number nor an expression of this model; convert a list by np.array"
        )

    def unary(self, op: int, a: Expr) -> Expr:
        """Return the node op(a) without simplification; ``construct`` simplifies."""
        table = self.tables[op]
        node = table.get(a)
        if node is None:
            made = Expr(self, op, (a,), None, next(self._ids))
            node = table.setdefault(a, made)
            if node is made:
                self.nodes.append(made)
        return node

    def binary(self, op: int, a: Expr, b: Expr) -> Expr:
        """Return the node op(a, b) without simplification."""
        table = self.tables[op]
        args = (a, b)
        node = table.get(args)
        if node is None:
            if b.arena is not self:
                raise _mixed(a, b)
            made = Expr(self, op, args, None, next(self._ids))
            node = table.setdefault(args, made)
            if node is made:
                self.nodes.append(made)
        return node

    def nary(self, op: int, args: tuple[Expr, ...], data: Any = None) -> Expr:
        """Return the node op(*args) with ``data``, without simplification."""
        table = self.tables[op]
        key = (args, data)
        node = table.get(key)
        if node is None:
            for a in args:
                if a.arena is not self:
                    raise _mixed(args[0], a)
            made = Expr(self, op, args, data, next(self._ids))
            node = table.setdefault(key, made)
            if node is made:
                self.nodes.append(made)
        return node


class _Scratch:
    """Temporary nodes of one thread; their ids begin after the ids of the arena at the start of the scratch."""

    def __init__(self, ids: itertools.count[int]) -> None:
        # Copying reads the counter atomically; other threads may draw ids at the same time.
        self._first = next(copy(ids))
        self._ids = itertools.count(self._first)
        self._nodes: list[Expr] = []
        self._tables: list[dict[Any, Expr]] = [{} for _ in OPERATIONS]

    def node(
        self, arena: Arena, table: dict[Any, Expr], key: Any, op: int, args: tuple[Expr, ...], *, data: Any = None
    ) -> Expr:
        """Return the node ``key`` of the scratch, else an older one of the arena, else a new one of the scratch.

        The scratch is searched first, because another thread may store an equal node with an older id later.
        """
        own = self._tables[op]
        node = own.get(key)
        if node is not None:
            return node
        node = table.get(key)
        if node is None or node.id >= self._first:
            for a in args:
                if a.arena is not arena:
                    raise _mixed(args[0], a)
            node = own[key] = Expr(arena, op, args, data, next(self._ids))
            self._nodes.append(node)
        return node

    def clear(self) -> None:
        """Release all nodes, the last first, so that no release frees a chain of nodes recursively."""
        self._tables.clear()
        self._nodes.clear()


class _Divided(Arena):
    """Class of an arena while any thread is in ``scratch``; ``Arena`` itself then needs no test for scratches."""

    __slots__ = ()

    def constant(self, value: float) -> Expr:
        scratch = self._scratches.get(threading.get_ident())
        if scratch is None:
            return super().constant(value)
        number = _finite(value)
        return scratch.node(self, self._constants, number, CONSTANT, (), data=number)

    def leaf(self, op: int, data: Any) -> Expr:
        scratch = self._scratches.get(threading.get_ident())
        if scratch is None:
            return super().leaf(op, data)
        return scratch.node(self, self._leaves, (op, data), op, (), data=data)

    def unary(self, op: int, a: Expr) -> Expr:
        scratch = self._scratches.get(threading.get_ident())
        if scratch is None:
            return super().unary(op, a)
        return scratch.node(self, self.tables[op], a, op, (a,))

    def binary(self, op: int, a: Expr, b: Expr) -> Expr:
        scratch = self._scratches.get(threading.get_ident())
        if scratch is None:
            return super().binary(op, a, b)
        return scratch.node(self, self.tables[op], (a, b), op, (a, b))

    def nary(self, op: int, args: tuple[Expr, ...], data: Any = None) -> Expr:
        scratch = self._scratches.get(threading.get_ident())
        if scratch is None:
            return super().nary(op, args, data)
        return scratch.node(self, self.tables[op], (args, data), op, args, data=data)


class _Behind(Arena):
    """An arena with postponed derivations, which come before its next new node."""

    __slots__ = ()

    def constant(self, value: float) -> Expr:
        if value not in self._constants:
            self.catch_up()
        return Arena.constant(self, value)

    def leaf(self, op: int, data: Any) -> Expr:
        if (op, data) not in self._leaves:
            self.catch_up()
        return Arena.leaf(self, op, data)

    def unary(self, op: int, a: Expr) -> Expr:
        if a not in self.tables[op]:
            self.catch_up()
        return Arena.unary(self, op, a)

    def binary(self, op: int, a: Expr, b: Expr) -> Expr:
        if (a, b) not in self.tables[op]:
            self.catch_up()
        return Arena.binary(self, op, a, b)

    def nary(self, op: int, args: tuple[Expr, ...], data: Any = None) -> Expr:
        if (args, data) not in self.tables[op]:
            self.catch_up()
        return Arena.nary(self, op, args, data)


def _finite(value: Any) -> float:
    """Return the value as a finite float; -0.0 becomes 0.0."""
    try:
        number = float(value) + 0.0
    except (OverflowError, ValueError, TypeError):  # an integer beyond the double range, or a failing __float__
        number = math.inf
    if not math.isfinite(number):
        raise ExpressionError(f"the constant {shown(value)} is not finite; give a finite number")
    return number


def _mixed(a: Expr, b: Expr) -> ExpressionError:
    return ExpressionError(
        f"{shown(a)} and {shown(b)} belong to different models; build every expression from the parameters, inputs and "
        "coordinates of one model"
    )
