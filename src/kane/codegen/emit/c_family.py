"""Expression grammar shared by C and JavaScript."""

from __future__ import annotations

from collections.abc import Mapping

from kane.expression import operations as ops
from kane.expression.text import function_row, infix_row
from kane.expression.written_sums import ATOM, PRODUCT, SIGNED, SUM, Piece, Spelling


def family_rows(
    functions: Mapping[int, str], *, truths: tuple[str, str], equal: str, unequal: str
) -> dict[int, Spelling]:
    """Return the written form of every operation.

    Args:
        functions: names of functions in the language, by operation.
        truths: literals for 1 and 0.
        equal, unequal: comparison operators.
    """
    one, zero = truths

    def truth(sign: str) -> Spelling:
        def row(a: Piece, b: Piece) -> Piece:
            condition = f"{a.within(SUM)} {sign} {b.within(SUM)}"
            return Piece(f"({condition} ? {one} : {zero})", condition=condition)

        return row

    def select(condition: Piece, a: Piece, b: Piece) -> Piece:
        test = condition.condition or f"{condition.within(SUM)} {unequal} {zero}"
        return Piece(f"({test} ? {a.text} : {b.text})")

    return {
        ops.ADD: infix_row("+", SUM),
        ops.SUB: infix_row("-", SUM),
        ops.MUL: infix_row("*", PRODUCT),
        ops.DIV: infix_row("/", PRODUCT),
        ops.NEG: lambda a: Piece(f"-{a.within(ATOM)}", SIGNED),
        **{op: function_row(name) for op, name in functions.items()},
        ops.SIGN: function_row("kane_sign"),
        ops.MIN: function_row("kane_min"),
        ops.MAX: function_row("kane_max"),
        ops.LESS: truth("<"),
        ops.LESS_EQUAL: truth("<="),
        ops.EQUAL: truth(equal),
        ops.SELECT: select,
        ops.SPLINE: lambda a, table: Piece(f"kane_spline({table}, {a.text})"),
    }
