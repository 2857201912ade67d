"""Sines and cosines of sums of angles, recognized in the products that rotations about parallel axes produce."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import NamedTuple
from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.expression.operations import ADD, COS, MUL, NEG, SIN, SUB
from kane.expression.traverse import reachable, rebuild, substitute_nodes


class Product(NamedTuple):
    """sign * f(x) * g(y), where f and g are sine or cosine, sines first."""

    sign: int
    first: Expr
    second: Expr


def gathered(roots: Sequence[Expr]) -> tuple[list[Expr], dict[Expr, Expr]]:
    """Replace sums of products such as sin x cos y + cos x sin y by sin(x + y) in expressions.

    Derivatives of the gathered form are short: d/dt cos(x + y) = -(x' + y') sin(x + y). In such a derivative, the
    caller replaces sin(x + y) and cos(x + y) by the returned products, whose sines and cosines are computed anyway.

    Returns:
        The roots in gathered form; for each sine or cosine of a sum, the products that it replaces.
    """
    image: dict[Expr, Expr] = {}
    products: dict[Expr, Expr] = {}
    partners: dict[Expr, Expr] = {}
    for node in reachable(roots):
        args = [image[a] for a in node.args]
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        image[node] = made = node if same else rebuild(node, args)
        found = _sum_of_angles(made)
        if found is not None:
            sign, whole, partner, meaning = found
            image[node] = sign * whole
            products.setdefault(whole, sign * node)
            partners.setdefault(partner, meaning)
    for partner, meaning in partners.items():
        if partner not in products:
            products[partner] = substitute_nodes([meaning], products)[0]
    return [image[root] for root in roots], products


def _sum_of_angles(node: Expr) -> tuple[int, Expr, Expr, Expr] | None:
    """Return sign, sin or cos of a sum of angles, the other function of this sum, and that function as products."""
    if node.op not in (ADD, SUB):
        return None
    a, b = (_product(x) for x in node.args)
    if a is None or b is None:
        return None
    relative = a.sign * b.sign * (1 if node.op == ADD else -1)
    x, y = a.first.args[0], a.second.args[0]
    if (a.first.op, a.second.op) == (b.first.op, b.second.op) == (SIN, COS):
        if (b.first.args[0], b.second.args[0]) != (y, x):
            return None
        angle = x + relative * y
        return a.sign, sin(angle), cos(angle), cos(x) * cos(y) - relative * (sin(x) * sin(y))
    cosines, sines = (a, b) if a.first.op == COS else (b, a)
    kinds = (cosines.first.op, cosines.second.op, sines.first.op, sines.second.op)
    if kinds != (COS, COS, SIN, SIN) or {x, y} != {z.args[0] for z in (b.first, b.second)}:
        return None
    sign = a.sign if cosines is a else a.sign * relative
    angle = x - relative * y
    return sign, cos(angle), sin(angle), sin(x) * cos(y) - relative * (cos(x) * sin(y))


def _product(node: Expr) -> Product | None:
    sign, node = _signed(node)
    if node.op != MUL:
        return None
    (s, a), (t, b) = (_signed(x) for x in node.args)
    if not {a.op, b.op} <= {SIN, COS}:
        return None
    first, second = (a, b) if a.op == SIN or b.op == COS else (b, a)
    return Product(sign * s * t, first, second)


def _signed(node: Expr) -> tuple[int, Expr]:
    return (-1, node.args[0]) if node.op == NEG else (1, node)
