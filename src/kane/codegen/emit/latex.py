"""Emit equations as a LaTeX align environment, with the same intermediates as the listing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kane.codegen.emit.intermediates import Notation, equations, named_equations, named_pairs
from kane.codegen.emit.typesetting import PLAIN, Typesetting
from kane.expression import operations as ops
from kane.expression.node import Expr, Scalar
from kane.expression.text import comparison_row, function_row, name_of
from kane.expression.traverse import reachable
from kane.expression.written_sums import ATOM, COMPARISON, POWER, PRODUCT, SUM, Piece, ProductNotation, Spelling

_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|omega"
    "|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)
_ESCAPES = {c: "\\" + c for c in "_{}$&#%"} | {
    "\\": r"\backslash{}",
    "^": r"\wedge{}",
    "~": r"\sim{}",
    " ": r"\ ",
    "'": r"{'}",
    "`": r"{'}",
    '"': r"{''}",
}
_PARENTHESES = (r"\left(", r"\right)")


def latex_name(name: str, style: Typesetting = PLAIN) -> str:
    """Return a name in LaTeX: q_{1} for q1, a Greek letter and index for tau2, dots for x_dot and x', words upright."""
    stem, suffix = style.split(name)
    if not suffix and stem not in style.names:
        found = re.fullmatch(r"(.+?)((?:_dot|')*)", name, flags=re.DOTALL)
        stem, suffix = (found[1], found[2]) if found else (name, "")
    dots = suffix.count("'") + suffix.count("_")
    numbered = re.fullmatch(r"([A-Za-z]+?)([0-9]*)", stem)
    if stem in style.names:
        text, numbered = style.names[stem], None
    elif numbered and len(numbered[1]) == 1:
        text = numbered[1]
    elif numbered and _GREEK.fullmatch(numbered[1]):
        text = "\\" + numbered[1]
    else:
        text, numbered = latex_text(stem), None
    while dots:  # amsmath has \dot to \ddddot
        more = min(dots, 4)
        text, dots = rf"\{'d' * more}ot{{{text}}}", dots - more
    return f"{text}_{{{numbered[2]}}}" if numbered and numbered[2] else text


def latex_text(text: str) -> str:
    """Return any text, escaped, as upright letters of a formula."""
    return rf"\mathrm{{{''.join(map(_escaped, text))}}}"


def _escaped(character: str) -> str:
    if not (character.isascii() and character.isprintable()):
        return f"U{ord(character):04X}"
    return _ESCAPES.get(character, character)


def _function(command: str) -> Spelling:
    return function_row(command, _PARENTHESES)


def _comparison(sign: str) -> Spelling:
    return comparison_row(sign, _PARENTHESES)


def _select(condition: Piece, a: Piece, b: Piece) -> Piece:
    holds = condition.condition or rf"{condition.within(SUM, _PARENTHESES)} \neq 0"
    cases = rf"{a.text} & \mathrm{{if}}\ {holds} \\ {b.text} & \mathrm{{otherwise}}"
    return Piece(rf"\begin{{cases}} {cases} \end{{cases}}", COMPARISON)


def _raised(base: str, exponent: int) -> str:
    """Return a power; the exponent of a sine, cosine or tangent follows its name."""
    word = re.match(r"\\(?:sin|cos|tan)(?=\\left)", base)
    return f"{word[0]}^{{{exponent}}}{base[word.end() :]}" if word else f"{base}^{{{exponent}}}"


_PRODUCTS = ProductNotation(
    r" \, ", r" \cdot ", _raised, lambda above, below: rf"\frac{{{above[1]}}}{{{below[1]}}}", _PARENTHESES
)

ROWS: dict[int, Spelling] = {
    **_PRODUCTS.rows(),
    ops.POW: lambda a, b: Piece(f"{a.within(ATOM, _PARENTHESES)}^{{{b.text}}}", POWER),
    ops.SQRT: lambda a: Piece(rf"\sqrt{{{a.text}}}", POWER),
    ops.SIN: _function(r"\sin"),
    ops.COS: _function(r"\cos"),
    ops.TAN: _function(r"\tan"),
    ops.ASIN: _function(r"\arcsin"),
    ops.ACOS: _function(r"\arccos"),
    ops.ATAN2: _function(r"\operatorname{atan2}"),
    ops.EXP: _function(r"\exp"),
    ops.LOG: _function(r"\ln"),
    ops.TANH: _function(r"\tanh"),
    ops.ABS: lambda a: Piece(rf"\left|{a.text}\right|"),
    ops.SIGN: _function(r"\operatorname{sign}"),
    ops.MIN: _function(r"\min"),
    ops.MAX: _function(r"\max"),
    ops.LESS: _comparison("<"),
    ops.LESS_EQUAL: _comparison(r"\leq"),
    ops.EQUAL: _comparison("="),
    ops.SELECT: _select,
    ops.SPLINE: lambda a, table: Piece(rf"{table}\left({a.text}\right)"),
}


def _decimal(size: float, style: Typesetting) -> Piece:
    digits, _, exponent = style.number(size).partition("e")
    return Piece(rf"{digits} \cdot 10^{{{int(exponent)}}}", PRODUCT) if exponent else Piece(digits)


def _leaf(node: Expr, style: Typesetting) -> Piece:
    if node.op == ops.CONSTANT:
        return _PRODUCTS.number(node.data, lambda size: _decimal(size, style))
    return Piece(latex_name(name_of(node), style))


def _notation(style: Typesetting) -> Notation:
    tables: dict[Any, str] = {}
    return Notation(
        ROWS,
        lambda node: _leaf(node, style),
        latex_name,
        lambda table: tables.setdefault(table, rf"\mathcal{{S}}_{{{len(tables) + 1}}}"),
        powers=True,
    )


def emit_latex(named_outputs: Mapping[str, Expr] | Iterable[tuple[str, Expr]], *, style: Typesetting = PLAIN) -> str:
    """Return the outputs as an ``align`` environment (package amsmath), one equation per line; splines are S_1, ...

    Equations with two equal sides are omitted, for example the rate x' of a coordinate x with the speed x_dot.

    Args:
        named_outputs: name and expression of every output, in order.
        style: digits, LaTeX symbols of leaves and outputs, columns.

    Raises:
        ExpressionError: an output is not an expression.
    """
    pairs = named_pairs(named_outputs)
    lines, results = named_equations(pairs, _notation(style))
    named = [(latex_name(name, style), value) for (name, _), value in zip(pairs, results, strict=True)]
    cells = [f"{name} &= {value}" for name, value in [*lines, *named] if name != value]
    rows = [" & ".join(filter(None, row)) for row in style.rows(cells)]
    return "\\begin{align}\n" + " \\\\\n".join(rows) + "\n\\end{align}\n" if rows else ""


def latex_formula(value: Scalar, style: Typesetting = PLAIN) -> str:
    """Return a number or a short expression as one formula without named intermediates."""
    if not isinstance(value, Expr):
        return _PRODUCTS.number(float(value), lambda size: _decimal(size, style)).text
    order = [node for node in reachable([value]) if node.args]
    _, (text,) = equations(order, [value], {}, _notation(style))
    return text
