"""Order conditions of Runge-Kutta methods by rooted trees, and tableaus read from their source without rounding."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kane.simulation.integrators.explicit import Tableau


@cache
def trees(order: int) -> dict[int, list[tuple]]:
    """Rooted trees up to an order, as tuples of their branches."""
    by_order: dict[int, list[tuple]] = {1: [()]}
    for n in range(2, order + 1):
        by_order[n] = sorted(set().union(*map(_grown, by_order[n - 1])))
    return by_order


def _grown(tree: tuple) -> set[tuple]:
    """All trees with one more leaf."""
    more = {tuple(sorted((*tree, ())))}
    for i, branch in enumerate(tree):
        more |= {tuple(sorted((*tree[:i], b, *tree[i + 1 :]))) for b in _grown(branch)}
    return more


def size(tree: tuple) -> int:
    """Nodes of a tree."""
    return 1 + sum(map(size, tree))


def density(tree: tuple) -> int:
    """gamma: weights b are of order n where b . weights(tree) = 1 / density(tree) for all trees of n nodes."""
    return size(tree) * math.prod(map(density, tree))


def weights(tree: tuple, a: Sequence[Sequence[Any]]) -> list[Any]:
    """Elementary weight of a tree at each stage, in the arithmetic of the coefficients."""
    total = [1] * len(a)
    for branch in tree:
        inner = weights(branch, a)
        total = [x * along(row, inner) for x, row in zip(total, a, strict=True)]
    return total


def along(row: Sequence[Any], values: Sequence[Any]) -> Any:
    """row . values, what is zero passed over."""
    return sum(c * x for c, x in zip(row, values, strict=True) if c)


def defects(b: Sequence[Any], a: Sequence[Sequence[Any]], order: int) -> list[Any]:
    """b . weights times density, less one, of every tree of so many nodes: zero where b is of that order."""
    return [along(b, weights(tree, a)) * density(tree) - 1 for tree in trees(order)[order]]


def estimates(e: Sequence[Any], a: Sequence[Sequence[Any]], order: int) -> list[Any]:
    """e . weights of every tree of so many nodes: what the difference of two methods makes of them."""
    return [along(e, weights(tree, a)) for tree in trees(order)[order]]


def exact_tableau(
    source: str | Path, number: Callable[[str], Any], root: Callable[[Any], Any] | None = None
) -> Tableau:
    """The TABLEAU of a file of integrators, every number in it as ``number`` of its digits, in place of a double."""
    tree = ast.parse(Path(source).read_text("utf-8") if isinstance(source, Path) else source)
    names = {
        "number": number,
        "Tableau": Tableau,
        "math": type("math", (), {"sqrt": staticmethod(root)}) if root else math,
    }
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            whole = ast.fix_missing_locations(ast.Module([_Exact().visit(statement)], []))
            exec(compile(whole, "<tableau>", "exec"), names)
    return names["TABLEAU"]


class _Exact(ast.NodeTransformer):
    """Numbers as calls; keys of rows, and what is no number, stay."""

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        return ast.Dict(node.keys, [self.visit(value) for value in node.values])

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return node if node.arg == "last" else ast.keyword(node.arg, self.visit(node.value))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, int | float):
            return node
        return ast.Call(ast.Name("number", ast.Load()), [ast.Constant(repr(node.value))], [])


def dense_rows(rows: Sequence[dict[int, Any]], n: int) -> list[list[Any]]:
    """Rows with their zeros."""
    return [[row.get(j, 0) for j in range(n)] for row in rows]
