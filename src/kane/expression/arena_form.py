"""Nodes of an arena as rows of JSON: [operation, places of the arguments..., data of the node].

Rows are in the order of the arena and begin after the constants 0 and 1, which every arena has. Unused older nodes are
kept, because the order of the nodes decides the order of sums and products and therefore the last bits of results.
"""

from __future__ import annotations

import copyreg
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kane.errors import ImportFileError
from kane.expression.arena import Arena
from kane.expression.collector import collector_paused
from kane.expression.form import Reader, Writer, node_at
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, MEASURE, NEG, OPERATIONS, SELECT, SPLINE
from kane.expression.spline import PiecewiseCubic

FIRST_STORED_NODE = 2  # place of the first row, after the constants 0 and 1


def node_rows(arena: Arena, end: int, write: Writer) -> list[list[Any]]:
    """Return the rows of the nodes before the place ``end``."""
    rows = []
    for node in arena.nodes[FIRST_STORED_NODE:end]:
        word = OPERATIONS[node.op].name
        row = [word, *(arena.place(a) for a in node.args)]
        if node.data is not None:
            row.append(write(node.data, f"the {word} {node!r}"))
        rows.append(row)
    return rows


def add_nodes(arena: Arena, rows: Sequence[Any], read: Callable[[Any], Any]) -> None:
    """Enter rows into a new arena, so that each node has its original place.

    Args:
        read: decodes the data of leaves and splines.

    Raises:
        ImportFileError: a row is not a node, refers to a later node or repeats an earlier one.
    """
    numbers = {operation.name: op for op, operation in enumerate(OPERATIONS)}
    with collector_paused():
        for place, row in enumerate(rows, start=FIRST_STORED_NODE):
            word = row[0] if isinstance(row, list) and row else None
            op = numbers.get(word) if isinstance(word, str) else None
            if op is None:
                raise ImportFileError(f"row {place} of the nodes begins with an operation that is unknown to this kane")
            arity = OPERATIONS[op].arity
            if len(row) != 1 + arity + (arity == 0 or op == SPLINE):
                raise ImportFileError(f"row {place} of the nodes has too many or too few entries for {word!r}")
            if arity:
                _add_operation(arena, op, row, read)
            else:
                _add_leaf(arena, op, row[1], read)
            if len(arena) != place + 1:
                raise ImportFileError(f"row {place} of the nodes, {word!r}, repeats an earlier one")


def _add_operation(arena: Arena, op: int, row: list[Any], read: Callable[[Any], Any]) -> None:
    arity = OPERATIONS[op].arity
    args = tuple(node_at(arena, number) for number in row[1 : 1 + arity])
    if op == SPLINE:
        table = read(row[-1])
        if not isinstance(table, PiecewiseCubic):
            raise ImportFileError("a spline has no table")
        arena.nary(op, args, table)
    elif op == SELECT:
        arena.nary(op, args)
    elif arity == 2:
        arena.binary(op, *args)
    elif op == NEG and args[0].op in (NEG, CONSTANT):  # constructors remove signs one by one, recursively
        raise ImportFileError("the argument of a negation is a constant or another negation, which kane never writes")
    else:
        arena.unary(op, *args)


def _add_leaf(arena: Arena, op: int, raw: Any, read: Callable[[Any], Any]) -> None:
    if op == CONSTANT:
        if type(raw) not in (int, float):
            raise ImportFileError(f"a constant is a number, not {type(raw).__name__}")
        arena.constant(raw)
        return
    data = read(raw)
    if isinstance(data, str) == (op == MEASURE):
        raise ImportFileError(f"the data of a {OPERATIONS[op].name} must not be of type {type(data).__name__}")
    arena.leaf(op, data)


def _sent(arena: Arena) -> tuple[Any, ...]:
    """Reduce an arena for pickle: rows and history as text, and the classes and objects that JSON does not have."""
    arena.catch_up()
    foreign: list[Any] = []
    rows = node_rows(arena, len(arena), Writer(arena, foreign=foreign))
    return _received, (json.dumps(rows, separators=(",", ":")), foreign, *arena.history.sent)


def _received(text: str, foreign: Sequence[Any], state: str | None, keys: Mapping[str, str]) -> Arena:
    arena = Arena()
    add_nodes(arena, json.loads(text), Reader(arena, foreign=foreign))
    arena.history.receive(state, dict(keys))
    return arena


# Pickle and deepcopy represent a node by its arena and place, and an arena by the text of its rows.
copyreg.pickle(Arena, _sent)
for _kind in Arena.__subclasses__():  # an arena changes its class for a time
    copyreg.pickle(_kind, _sent)
copyreg.pickle(Expr, lambda node: (node_at, (node.arena, node.arena.place(node))))
