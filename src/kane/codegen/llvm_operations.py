"""What each operation is in LLVM text: one table row per operation."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from kane.expression import operations as ops
from kane.expression.spline import PiecewiseCubic

# Functions of the C library that programs call: symbol and number of arguments.
LIBRARY = {"tan": 1, "asin": 1, "acos": 1, "atan2": 2, "exp": 1, "log": 1, "tanh": 1, "pow": 2, "sin": 1, "cos": 1}


def _infix(word: str) -> Callable[[str, str, str], str]:
    return lambda r, a, b: f"  {r} = {word} double {a}, {b}"


def _call(symbol: str, arity: int = 1) -> Callable[..., str]:
    if arity == 1:
        return lambda r, a: f"  {r} = call double @{symbol}(double {a})"
    return lambda r, a, b: f"  {r} = call double @{symbol}(double {a}, double {b})"


def _compare(condition: str) -> Callable[[str, str, str], str]:
    return lambda r, a, b: (
        f"  {r}.c = fcmp {condition} double {a}, {b}\n  {r} = select i1 {r}.c, double 1.0, double 0.0"
    )


def _choose(condition: str) -> Callable[[str, str, str], str]:
    # Where a is NaN the comparison is false and b would win; where b is NaN it does, as it should.
    return lambda r, a, b: (
        f"  {r}.c = fcmp {condition} double {a}, {b}\n  {r}.m = select i1 {r}.c, double {a}, double {b}\n"
        f"  {r}.n = fcmp uno double {a}, {a}\n  {r} = select i1 {r}.n, double {a}, double {r}.m"
    )


def _sign(r: str, a: str) -> str:
    # Zero and NaN are their own sign.
    return (
        f"  {r}.n = fcmp olt double {a}, 0.0\n  {r}.m = select i1 {r}.n, double -1.0, double {a}\n"
        f"  {r}.p = fcmp ogt double {a}, 0.0\n  {r} = select i1 {r}.p, double 1.0, double {r}.m"
    )


def _select(r: str, c: str, a: str, b: str) -> str:
    return f"  {r}.c = fcmp une double {c}, 0.0\n  {r} = select i1 {r}.c, double {a}, double {b}"


def _half(index: int) -> Callable[[str, str, str, str], str]:
    """The sine (0) or cosine (1) out of what a function of ``trig`` returned for one angle or several."""

    def row(r: str, pair: str, lanes_type: str, lane: str) -> str:
        if not lane:
            return f"  {r} = extractvalue {{ double, double }} {pair}, {index}"
        return (
            f"  {r}.p = extractvalue {{ {lanes_type}, {lanes_type} }} {pair}, {index}\n"
            f"  {r} = extractelement {lanes_type} {r}.p, i32 {lane}"
        )

    return row


# What each operation becomes, given the name of its result and of its arguments. `contract` allows a product and the
# sum that takes it to be one fused operation; nothing else is allowed to change.
EMITTERS: dict[int, Callable[..., str]] = {
    ops.ADD: _infix("fadd contract"),
    ops.SUB: _infix("fsub contract"),
    ops.MUL: _infix("fmul contract"),
    ops.DIV: _infix("fdiv"),
    ops.NEG: lambda r, a: f"  {r} = fneg double {a}",
    ops.POW: _call("pow", 2),
    ops.SQRT: _call("llvm.sqrt.f64"),
    ops.SIN: _half(0),
    ops.COS: _half(1),
    ops.TAN: _call("tan"),
    ops.ASIN: _call("asin"),
    ops.ACOS: _call("acos"),
    ops.ATAN2: _call("atan2", 2),
    ops.EXP: _call("exp"),
    ops.LOG: _call("log"),
    ops.TANH: _call("tanh"),
    ops.ABS: _call("llvm.fabs.f64"),
    ops.SIGN: _sign,
    ops.MIN: _choose("olt"),
    ops.MAX: _choose("ogt"),
    ops.LESS: _compare("olt"),
    ops.LESS_EQUAL: _compare("ole"),
    ops.EQUAL: _compare("oeq"),
    ops.SELECT: _select,
    ops.SPLINE: lambda r, a, table: f"  {r} = call double {table}(double {a})",
}


def hexadecimal(value: float) -> str:
    """A double as LLVM text writes it, to the last bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def spline_function(name: str, table: PiecewiseCubic) -> str:
    """LLVM text of y(x): count the knots[1:] at or below x by halving steps, evaluate that piece by Horner's rule.

    The searched knots are padded to 2^k - 1 with NaN, at or below which nothing is: no index needs a check.
    """
    searched = table.knots[1:]
    depth = len(searched).bit_length()
    padded = [*searched, *[float("nan")] * (2**depth - 1 - len(searched))]
    rows = [value for knot, piece in zip(table.knots, table.coefficients, strict=True) for value in (knot, *piece)]
    lines = [
        _array(f"{name}.knots", padded),
        _array(f"{name}.rows", rows),
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


def _array(name: str, values: Sequence[float]) -> str:
    elements = ", ".join(f"double {hexadecimal(v)}" for v in values)
    return f"{name} = private unnamed_addr constant [{len(values)} x double] [{elements}]"
