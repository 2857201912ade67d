"""Order conditions of Runge-Kutta methods by rooted trees, and exact tableaus from their source code."""

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
    """Return the rooted trees up to an order, by order; a tree is the tuple of its branches."""
    by_order: dict[int, list[tuple]] = {1: [()]}
    for n in range(2, order + 1):
        by_order[n] = sorted(set().union(*map(_grown, by_order[n - 1])))
    return by_order


def _grown(tree: tuple) -> set[tuple]:
    """Return all trees with one more leaf."""
    more = {tuple(sorted((*tree, ())))}
    for i, branch in enumerate(tree):
        more |= {tuple(sorted((*tree[:i], b, *tree[i + 1 :]))) for b in _grown(branch)}
    return more


def size(tree: tuple) -> int:
    """Return the number of nodes of a tree."""
    return 1 + sum(map(size, tree))


def density(tree: tuple) -> int:
    """Return gamma: b satisfies order n if b . weights(tree) = 1 / gamma for all trees of n nodes."""
    return size(tree) * math.prod(map(density, tree))


def weights(tree: tuple, a: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the elementary weight of a tree at each stage, in the arithmetic of the coefficients."""
    total = [1] * len(a)
    for branch in tree:
        inner = weights(branch, a)
        total = [x * along(row, inner) for x, row in zip(total, a, strict=True)]
    return total


def along(row: Sequence[Any], values: Sequence[Any]) -> Any:
    """Return row . values, without terms of zero coefficients."""
    return sum(c * x for c, x in zip(row, values, strict=True) if c)


def defects(b: Sequence[Any], a: Sequence[Sequence[Any]], order: int) -> list[Any]:
    """Return (b . weights) density - 1 for all trees with ``order`` nodes; zero if b satisfies this order."""
    return [along(b, weights(tree, a)) * density(tree) - 1 for tree in trees(order)[order]]


def estimates(e: Sequence[Any], a: Sequence[Sequence[Any]], order: int) -> list[Any]:
    """Return e . weights for all trees with ``order`` nodes, where e is the difference of two methods' weights."""
    return [along(e, weights(tree, a)) for tree in trees(order)[order]]


def exact_tableau(
    source: str | Path, number: Callable[[str], Any], root: Callable[[Any], Any] | None = None
) -> Tableau:
    """Return the TABLEAU of an integrator's source; ``number`` converts each literal without rounding."""
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
    """Replace numbers by calls of ``number``, except keys of rows."""

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        return ast.Dict(node.keys, [self.visit(value) for value in node.values])

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return node if node.arg == "last" else ast.keyword(node.arg, self.visit(node.value))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, int | float):
            return node
        return ast.Call(ast.Name("number", ast.Load()), [ast.Constant(repr(node.value))], [])


def dense_rows(rows: Sequence[dict[int, Any]], n: int) -> list[list[Any]]:
    """Return the rows as dense lists with zeros."""
    return [[row.get(j, 0) for j in range(n)] for row in rows]
