"""Expressions as formulas that ``read_formula`` reads as the same nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import count

from kane.errors import FileError
from kane.expression import operations as ops
from kane.expression.formula import RESERVED
from kane.expression.node import Expr
from kane.expression.spline import PiecewiseCubic
from kane.expression.text import TYPED_SPELLINGS, function_row, infix_row, number_text
from kane.expression.traverse import reachable
from kane.expression.written_sums import ATOM, POWER, PRODUCT, SIGNED, SUM, Piece, Spelling

# Fewest characters of a formula for which a node with several users gets a name, and most characters of a formula.
SHORTEST_SHARED, LONGEST_FORMULA = 40, 1500


def _product(a: Piece, b: Piece) -> Piece:
    return Piece(f"{a.within(ATOM)}**2", POWER) if a is b else infix_row("*", PRODUCT)(a, b)


# Unlike the spellings for readers, these keep the order and the grouping of all operations.
FORMULA_SPELLINGS: Mapping[int, Spelling] = TYPED_SPELLINGS | {
    ops.ADD: infix_row("+", SUM),
    ops.SUB: infix_row("-", SUM),
    ops.MUL: _product,
    ops.DIV: lambda a, b: Piece(f"{a.within(PRODUCT)}/{b.within(SIGNED)}", PRODUCT),
    ops.NEG: lambda a: Piece(f"-{a.within(SIGNED)}", SIGNED),
    ops.ABS: function_row("absolute"),
}


def quoted_name(name: str) -> str:
    """Return a name as formulas contain it: between backquotes unless it consists of letters, digits and _.

    Raises:
        FileError: the name contains a backquote.
    """
    if re.fullmatch(r"[^\W\d]\w*", name) and name not in RESERVED:
        return name
    if "`" in name or "\n" in name:
        raise FileError(f"a formula cannot contain the name {name!r}, which has a backquote; give another name")
    return f"`{name}`"


class Formulas:
    """Formulas of expressions of one arena; nodes that several expressions use get names.

    Attributes:
        definitions: formula by name, in the order in which they use each other.
    """

    def __init__(self, leaf: Callable[[Expr], str], taken: Container[str]) -> None:
        """Set up formulas with names that differ from ``taken``; ``leaf`` returns the text of a leaf."""
        self.definitions: dict[str, str] = {}
        self._leaf = leaf
        self._names = (name for k in count(1) if (name := f"z{k}") not in taken)
        self._pieces: dict[Expr, Piece] = {}

    def add(self, roots: Sequence[Expr]) -> None:
        """Make the formulas of expressions, which are given as often as they are used.

        Raises:
            FileError: a node has no formula.
        """
        nodes = reachable(roots)
        users = Counter([*roots, *(a for node in nodes for a in set(node.args))])
        for node in nodes:
            piece = self._piece(node)
            length = len(piece.text)
            if node.args and (length > LONGEST_FORMULA or (users[node] > 1 and length >= SHORTEST_SHARED)):
                name = next(self._names)
                self.definitions[name] = piece.text
                piece = Piece(name)
            self._pieces[node] = piece

    def __call__(self, node: Expr) -> str:
        """Return the formula of an expression."""
        return self._pieces[node].text

    def _piece(self, node: Expr) -> Piece:
        if node.op == ops.CONSTANT:
            return Piece(number_text(node.data), SIGNED if node.data < 0 else ATOM)
        if not node.args:
            return Piece(self._leaf(node))
        pieces = [self._pieces[a] for a in node.args]
        if node.data is not None:
            pieces += [Piece(f"({', '.join(map(number_text, row))})") for row in _points(node.data)]
        return FORMULA_SPELLINGS[node.op](*pieces)


def _points(table: PiecewiseCubic) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points of a spline.

    Raises:
        FileError: the piecewise polynomial is not the spline through its points.
    """
    points = table.knots[1:], tuple(piece[0] for piece in table.coefficients[1:])
    if len(points[0]) < 2 or PiecewiseCubic.through(*points) != table:
        raise FileError(
            f"a formula cannot contain the piecewise polynomial with {table}, which is no kane.spline (contacts with "
            "polyhedra and height fields have one); save the model as .json"
        )
    return points
