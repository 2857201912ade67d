"""Select the nodes that become named intermediates (Kane's Z variables), and write the other nodes inside their lines.

Listing, LaTeX and C differ only in notation: each supplies a table of operations and the spelling of leaves. This
module selects the intermediates, names them and sets parentheses, in time linear in the size of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kane.errors import ExpressionError, shown
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COORDINATE, COS, NEG, SIN
from kane.expression.text import name_of
from kane.expression.traverse import leaves, reachable
from kane.expression.written_sums import Piece, Spelling

# Expressions wider than this become intermediates [characters of the listing]. Operations seldom have more than two
# arguments, so lines stay within about twice this width.
WIDEST_INLINE = 48
_WIDTH_OF_NAME = 4
_WIDTH_OF_OPERATOR = 3


@dataclass(frozen=True)
class Notation:
    """Notation of a target language.

    Attributes:
        rows: for every operation, a function from the texts of its arguments (and of a spline's name) to its text.
        leaf: returns the written form of a leaf or constant.
        symbol: returns the written form of an intermediate's name.
        table: returns the name of a spline's table.
        powers: whether a square is written with one occurrence of its base.
    """

    rows: Mapping[int, Spelling]
    leaf: Callable[[Expr], Piece]
    symbol: Callable[[str], str]
    table: Callable[[Any], str]
    powers: bool = False


class NamedText(NamedTuple):
    """An equation ``name = text``, with the name in the target notation."""

    name: str
    text: str


def named_pairs(outputs: Mapping[str, Expr] | Iterable[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """Return the outputs as (name, expression) pairs.

    Raises:
        ExpressionError: an output is not an expression.
    """
    pairs = list(outputs.items() if isinstance(outputs, Mapping) else outputs)
    for name, node in pairs:
        if node.__class__ is not Expr:
            raise ExpressionError(f"the output {name!r} is {shown(node)}, not an expression; lift it into the arena")
    return pairs


def intermediates(order: Sequence[Expr], roots: Iterable[Expr], powers: bool = False) -> list[Expr]:
    """Return the nodes that become intermediates: nodes with several uses, and nodes that are too wide for a line.

    Args:
        order: operations, each after its arguments; other nodes count as given.
        roots: outputs; a wide output without other uses does not become an intermediate.
        powers: whether a square counts as one use of its base.
    """
    uses = dict.fromkeys(order, 0)
    for node in order:
        for a in set(node.args) if powers else node.args:
            if a in uses:
                uses[a] += 1
    wanted = set()
    for root in roots:
        if root in uses:
            uses[root] += 1
            wanted.add(root)
    width: dict[Expr, int] = {}
    named = []
    for node in order:
        total = _WIDTH_OF_OPERATOR + sum(width.get(a) or _width_of_leaf(a) for a in set(node.args))
        if node.op == NEG and total <= _WIDTH_OF_OPERATOR + 2 * _WIDTH_OF_NAME:
            named_here = False  # a new name would be no shorter than -name
        elif uses[node] > 1:
            named_here = True
        else:
            named_here = total > WIDEST_INLINE and node not in wanted
        width[node] = _WIDTH_OF_NAME if named_here else total
        if named_here:
            named.append(node)
    return named


def _width_of_leaf(node: Expr) -> int:
    if node.op == CONSTANT:
        return len(f"{node.data:.12g}")
    return len(name_of(node)) if not node.args else _WIDTH_OF_NAME


def intermediate_names(named: Iterable[Expr], taken: Collection[str]) -> dict[Expr, str]:
    """Return names that are not ``taken``: s1 and c1 for sine and cosine of a coordinate q1, else Z1, Z2, ..."""
    in_use = set(taken)
    prefix = "Z"
    while any(re.fullmatch(re.escape(prefix) + r"\d+", name) for name in in_use):
        prefix += "_"
    names: dict[Expr, str] = {}
    number = 0
    for node in named:
        name = _short_name(node)
        if name is None or name in in_use:
            number += 1
            name = f"{prefix}{number}"
        names[node] = name
        in_use.add(name)
    return names


def _short_name(node: Expr) -> str | None:
    if node.op in (SIN, COS) and node.args[0].op == COORDINATE:
        numbered = re.fullmatch(r"q([0-9]+)", str(node.args[0].data))
        if numbered:
            return ("s" if node.op == SIN else "c") + numbered[1]
    return None


def equations(
    order: Sequence[Expr], roots: Sequence[Expr], names: Mapping[Expr, str], notation: Notation
) -> tuple[list[NamedText], list[str]]:
    """Return the equations of the named nodes, and the texts of the roots.

    Args:
        order: operations, each after its arguments.
        roots: outputs.
        names: names of the intermediates.
        notation: notation of the target language.
    """
    pieces: dict[Expr, Piece] = {}
    leaf = notation.leaf
    lines = []

    def written(node: Expr) -> Piece:
        piece = pieces.get(node)
        if piece is None:
            piece = pieces[node] = leaf(node)
        return piece

    for node in order:
        operands: list[Any] = [written(a) for a in node.args]
        if node.data is not None:
            operands.append(notation.table(node.data))
        piece = notation.rows[node.op](*operands)
        if node in names:
            symbol = notation.symbol(names[node])
            lines.append(NamedText(symbol, piece.text))
            piece = Piece(symbol)
        pieces[node] = piece
    return lines, [written(root).text for root in roots]


def named_equations(
    pairs: Sequence[tuple[str, Expr]], notation: Notation, taken: Iterable[str] = ()
) -> tuple[list[NamedText], list[str]]:
    """Return the equations of intermediates and the texts of outputs.

    Names of outputs and leaves and other ``taken`` names are avoided.
    """
    roots = [node for _, node in pairs]
    order = [node for node in reachable(roots) if node.args]
    avoided = [*taken, *(name for name, _ in pairs), *map(name_of, leaves(roots))]
    names = intermediate_names(intermediates(order, roots, notation.powers), avoided)
    return equations(order, roots, names, notation)
