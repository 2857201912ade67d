"""LLVM text of each operation: one table row per operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kane.codegen.emit.lanes import Lanes, constant_array, hexadecimal
from kane.expression import operations as ops
from kane.expression.spline import PiecewiseCubic

# Functions of the C library that programs call: symbol and number of arguments.
LIBRARY = {"tan": 1, "asin": 1, "acos": 1, "atan2": 2, "exp": 1, "log": 1, "tanh": 1, "pow": 2, "sin": 1, "cos": 1}


def _infix(word: str) -> Callable[..., str]:
    return lambda k, r, a, b: f"  {r} = {word} {k.type} {a}, {b}"


def _intrinsic(name: str) -> Callable[..., str]:
    return lambda k, r, a: f"  {r} = call {k.type} @llvm.{name}.{k.suffix}({k.type} {a})"


def _call(symbol: str) -> Callable[..., str]:
    def row(k: Lanes, r: str, *operands: str) -> str:
        return f"  {r} = call {k.type} {library_name(symbol, k)}({', '.join(f'{k.type} {a}' for a in operands)})"

    return row


def library_name(symbol: str, lanes: Lanes) -> str:
    """Return the name of a C library function, or of the module's function that calls it for every lane."""
    return f"@{symbol}" if lanes.width == 1 else f"@lanes.{symbol}"


def _compare(condition: str) -> Callable[..., str]:
    return lambda k, r, a, b: (
        f"  {r}.c = fcmp {condition} {k.type} {a}, {b}\n"
        f"  {r} = select {k.bits} {r}.c, {k.type} {k.number(1.0)}, {k.type} {k.number(0.0)}"
    )


def _choose(condition: str) -> Callable[..., str]:
    # If a is NaN, the comparison is false and selects b, so a is selected explicitly. If b is NaN, b is right.
    return lambda k, r, a, b: (
        f"  {r}.c = fcmp {condition} {k.type} {a}, {b}\n"
        f"  {r}.m = select {k.bits} {r}.c, {k.type} {a}, {k.type} {b}\n"
        f"  {r}.n = fcmp uno {k.type} {a}, {a}\n"
        f"  {r} = select {k.bits} {r}.n, {k.type} {a}, {k.type} {r}.m"
    )


def _sign(k: Lanes, r: str, a: str) -> str:
    # The sign of zero is zero, the sign of NaN is NaN.
    return (
        f"  {r}.n = fcmp olt {k.type} {a}, {k.number(0.0)}\n"
        f"  {r}.m = select {k.bits} {r}.n, {k.type} {k.number(-1.0)}, {k.type} {a}\n"
        f"  {r}.p = fcmp ogt {k.type} {a}, {k.number(0.0)}\n"
        f"  {r} = select {k.bits} {r}.p, {k.type} {k.number(1.0)}, {k.type} {r}.m"
    )


def _select(k: Lanes, r: str, c: str, a: str, b: str) -> str:
    return (
        f"  {r}.c = fcmp une {k.type} {c}, {k.number(0.0)}\n  {r} = select {k.bits} {r}.c, {k.type} {a}, {k.type} {b}"
    )


def _half(index: int) -> Callable[..., str]:
    """Extract the sine (0) or cosine (1), or one lane of it, from the result of a function of ``trig``."""

    def row(k: Lanes, r: str, pair: str, lane: int | None = None) -> str:
        if lane is None:
            return f"  {r} = extractvalue {k.pair} {pair}, {index}"
        return f"  {r}.p = extractvalue {k.pair} {pair}, {index}\n  {r} = extractelement {k.type} {r}.p, i32 {lane}"

    return row


# LLVM text of each operation, from lanes, name of the result and names of the arguments. LLVM may not reorder anything,
# and ``fused`` selects the fused multiply-adds. So a program gives the same bits in every lane, for pieces of every
# size, and within other programs.
EMITTERS: dict[int, Callable[..., str]] = {
    ops.ADD: _infix("fadd"),
    ops.SUB: _infix("fsub"),
    ops.MUL: _infix("fmul"),
    ops.DIV: _infix("fdiv"),
    ops.NEG: lambda k, r, a: f"  {r} = fneg {k.type} {a}",
    ops.POW: _call("pow"),
    ops.SQRT: _intrinsic("sqrt"),
    ops.SIN: _half(0),
    ops.COS: _half(1),
    ops.TAN: _call("tan"),
    ops.ASIN: _call("asin"),
    ops.ACOS: _call("acos"),
    ops.ATAN2: _call("atan2"),
    ops.EXP: _call("exp"),
    ops.LOG: _call("log"),
    ops.TANH: _call("tanh"),
    ops.ABS: _intrinsic("fabs"),
    ops.SIGN: _sign,
    ops.MIN: _choose("olt"),
    ops.MAX: _choose("ogt"),
    ops.LESS: _compare("olt"),
    ops.LESS_EQUAL: _compare("ole"),
    ops.EQUAL: _compare("oeq"),
    ops.SELECT: _select,
    ops.SPLINE: lambda k, r, a, table: f"  {r} = call {k.type} {table}({k.type} {a})",
}


def fused_line(k: Lanes, r: str, operands: Sequence[str], signs: tuple[bool, bool]) -> str:
    """Return LLVM text of r = +-a b +- c, rounded once; ``signs`` tells whether to negate the product and c."""
    a, b, c = operands
    lines = ""
    if signs[0]:
        lines, a = f"  {r}.a = fneg {k.type} {a}\n", f"{r}.a"
    if signs[1]:
        lines, c = f"{lines}  {r}.o = fneg {k.type} {c}\n", f"{r}.o"
    return f"{lines}  {r} = call {k.type} @llvm.fma.{k.suffix}({k.type} {a}, {k.type} {b}, {k.type} {c})"


def spline_function(name: str, table: PiecewiseCubic) -> str:
    """Return LLVM text of y(x): find the piece by binary search in knots[1:], and evaluate it by Horner's rule.

    The searched knots are padded with NaN to 2^k - 1. Comparisons with NaN are false, so no index is out of range.
    """
    searched = table.knots[1:]
    depth = len(searched).bit_length()
    padded = [*searched, *[float("nan")] * (2**depth - 1 - len(searched))]
    rows = [value for knot, piece in zip(table.knots, table.coefficients, strict=True) for value in (knot, *piece)]
    lines = [
        constant_array(f"{name}.knots", "double", [hexadecimal(x) for x in padded]),
        constant_array(f"{name}.rows", "double", [hexadecimal(x) for x in rows]),
        f"define internal double {name}(double %x) noinline nounwind {{",
    ]
    index = "0"
    for k in reversed(range(depth)):
        lines += [
            f"  %j{k} = add i64 {index}, {2**k}",
            f"  %l{k} = add i64 {index}, {2**k - 1}",
            f"  %a{k} = getelementptr inbounds double, ptr {name}.knots, i64 %l{k}",
            f"  %k{k} = load double, ptr %a{k}, align 8",
            f"  %c{k} = fcmp ole double %k{k}, %x",
            f"  %i{k} = select i1 %c{k}, i64 %j{k}, i64 {index}",
        ]
        index = f"%i{k}"
    lines += [f"  %row = mul i64 {index}, 5"]
    for i in range(5):
        lines += [
            f"  %e{i} = add i64 %row, {i}",
            f"  %p{i} = getelementptr inbounds double, ptr {name}.rows, i64 %e{i}",
            f"  %y{i} = load double, ptr %p{i}, align 8",
        ]
    lines += ["  %h = fsub double %x, %y0", "  %s4 = fadd double %y4, 0.0"]
    for i in (3, 2, 1):
        lines += [f"  %m{i} = fmul contract double %h, %s{i + 1}", f"  %s{i} = fadd contract double %y{i}, %m{i}"]
    return "\n".join([*lines, "  ret double %s1", "}"])
