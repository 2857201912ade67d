"""Programs as C99 source: one function for the parameter stage and one for the rest, no library but <math.h>.

The operations are those of the program in its order, so that without fused multiply-adds (-ffp-contract=off) and with
the same C library the numbers are those of the interpreter to the last bit. Do not compile with -ffast-math: NaN would
no longer come out as NaN.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from kane.codegen.emit.intermediates import Notation, equations, intermediate_names, intermediates
from kane.codegen.emit.source_names import distinct_names, identifier, local_names, remark
from kane.codegen.programs.program import Program
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.spline import PiecewiseCubic
from kane.expression.text import ATOM, PRODUCT, SIGNED, SUM, Piece, Spelling, function_row, name_of

_MAIN = "const double *state, const double *rest, const double *stage, double *out, double *work"
_STAGE = "const double *parameters, double *stage, double *work"
_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof"
)
# What the functions themselves use, and what <math.h> or common compilers define as macros.
_RESERVED = frozenset(
    (_KEYWORDS + " state rest stage out work parameters sin cos tan asin acos atan2 exp log tanh pow sqrt fabs isnan "
    "NAN INFINITY HUGE HUGE_VAL HUGE_VALF HUGE_VALL DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS MAXFLOAT "
    "math_errhandling signgam isfinite isinf isnormal signbit fpclassify unix linux NULL EOF I").split()
)  # fmt: skip

_TYPES = ("double_t", "float_t")


def _infix(sign: str, binding: int) -> Spelling:
    # The right operand asks for more: C reads a - b - c from the left, and so must a + (b + c) keep its order.
    return lambda a, b: Piece(f"{a.within(binding)} {sign} {b.within(binding + 1)}", binding)


def _truth(sign: str) -> Spelling:
    def row(a: Piece, b: Piece) -> Piece:
        condition = f"{a.within(SUM)} {sign} {b.within(SUM)}"
        return Piece(f"({condition} ? 1.0 : 0.0)", condition=condition)

    return row


def _select(condition: Piece, a: Piece, b: Piece) -> Piece:
    return Piece(f"({condition.condition or f'{condition.within(SUM)} != 0.0'} ? {a.text} : {b.text})")


ROWS: dict[int, Spelling] = {
    ops.ADD: _infix("+", SUM),
    ops.SUB: _infix("-", SUM),
    ops.MUL: _infix("*", PRODUCT),
    ops.DIV: _infix("/", PRODUCT),
    ops.NEG: lambda a: Piece(f"-{a.within(ATOM)}", SIGNED),
    ops.POW: function_row("pow"),
    ops.SQRT: function_row("sqrt"),
    ops.SIN: function_row("sin"),
    ops.COS: function_row("cos"),
    ops.TAN: function_row("tan"),
    ops.ASIN: function_row("asin"),
    ops.ACOS: function_row("acos"),
    ops.ATAN2: function_row("atan2"),
    ops.EXP: function_row("exp"),
    ops.LOG: function_row("log"),
    ops.TANH: function_row("tanh"),
    ops.ABS: function_row("fabs"),
    ops.SIGN: function_row("kane_sign"),
    ops.MIN: function_row("kane_min"),
    ops.MAX: function_row("kane_max"),
    ops.LESS: _truth("<"),
    ops.LESS_EQUAL: _truth("<="),
    ops.EQUAL: _truth("=="),
    ops.SELECT: _select,
    ops.SPLINE: lambda a, table: Piece(f"kane_spline({table}, {a.text})"),
}

# Functions that C lacks, defined where they are used. A NaN goes through each of them.
_DEFINITIONS = {
    ops.SIGN: "static double kane_sign(double x)\n{\n    return x != x ? x : (x > 0.0) - (x < 0.0);\n}\n",
    ops.MIN: "static double kane_min(double a, double b)\n{\n    return a < b || a != a ? a : b;\n}\n",
    ops.MAX: "static double kane_max(double a, double b)\n{\n    return a > b || a != a ? a : b;\n}\n",
    ops.SPLINE: """\
/* Rows of a table: left end of the piece, then its coefficients from the constant up; the last piece to start at or
   before x holds, the first one below them all. */
static double kane_spline(int n, const double (*table)[5], double x)
{
    int low = 0, high = n;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (table[middle][0] <= x)
            low = middle;
        else
            high = middle;
    }
    const double *c = table[low];
    const double h = x - c[0];
    return c[1] + h * (c[2] + h * (c[3] + h * c[4]));
}
""",
}


def emit_c(programs: Sequence[Program], *, name: str) -> str:
    """C99 source of programs.

    Each program becomes ``void <name>_<program>_stage(parameters, stage, work)`` and
    ``void <name>_<program>(state, rest, stage, out, work)``; ``work`` may be null.

    Args:
        programs: what to compute.
        name: prefix of the functions; made into an identifier.

    Raises:
        ExpressionError: two programs have names that become the same identifier.
    """
    tables: dict[PiecewiseCubic, str] = {}
    bodies = []
    used: set[int] = set()
    for program, word in zip(programs, _functions(programs, name), strict=True):
        bodies += [_stage_function(program, word, tables), _main_function(program, word, tables)]
        used.update(node.op for node in (*program.instructions, *program.stage_nodes))
    definitions = [text for op, text in _DEFINITIONS.items() if op in used]
    splines = [_table(table, word.split()[1]) for table, word in tables.items()]
    head = f"/* {remark(name)}: C99, generated by kane. SI units, angles in rad. */\n#include <math.h>\n"
    return "\n".join([head, *definitions, *splines, *bodies])


def emit_c_header(programs: Sequence[Program], *, name: str) -> str:
    """The C header that declares what ``emit_c`` defines, with the lengths of the arrays as enumeration constants.

    Raises:
        ExpressionError: two programs have names that become the same identifier.
    """
    guard = f"{_word(name).upper()}_H"
    lines = [f"/* {remark(name)}: generated by kane. */", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for program, function in zip(programs, _functions(programs, name), strict=True):
        lengths = {
            "N_STATE": len(program.state),
            "N_REST": len(program.rest),
            "N_PARAMETERS": len(program.parameters),
            "N_STAGE": len(program.stage_outputs),
            "N_OUT": len(program.outputs),
            "N_WORK": 0,
        }
        constants = [f"    {function}_{word} = {length}," for word, length in lengths.items()]
        lines += ["enum {", *constants, "};", f"void {function}_stage({_STAGE});", f"void {function}({_MAIN});", ""]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def c_function(program: Program, name: str) -> str:
    """The identifier of a program's main function in the C source called ``name``."""
    return _word(f"{name}_{program.name}")


def _word(text: str) -> str:
    word = identifier(text)
    return f"v{word}" if word in _TYPES else word


def _functions(programs: Sequence[Program], name: str) -> list[str]:
    """The identifiers of the main functions, checked to be distinct from each other and from the stage functions."""
    words = [c_function(program, name) for program in programs]
    distinct_names(programs, [(word, f"{word}_stage") for word in words], "C")
    return words


def _main_function(program: Program, identifier: str, tables: dict[PiecewiseCubic, str]) -> str:
    sources = {leaf: f"state[{i}]" for i, leaf in enumerate(program.state)}
    sources |= {leaf: f"rest[{i}]" for i, leaf in enumerate(program.rest)}
    sources |= {node: f"stage[{i}]" for i, node in enumerate(program.stage_outputs)}
    body = _body(program.instructions, program.outputs, sources, tables, target="out")
    return f"/* {_layout(program, 'state', 'rest')} */\nvoid {identifier}({_MAIN})\n{{\n{body}}}\n"


def _stage_function(program: Program, identifier: str, tables: dict[PiecewiseCubic, str]) -> str:
    sources = {leaf: f"parameters[{i}]" for i, leaf in enumerate(program.parameters)}
    body = _body(program.stage_nodes, program.stage_outputs, sources, tables, target="stage")
    return f"/* {_layout(program, 'parameters')} */\nvoid {identifier}_stage({_STAGE})\n{{\n{body}}}\n"


def _layout(program: Program, *arrays: str) -> str:
    """The text of a comment: name of the program, and what the arrays hold."""
    lines = [remark(program.name)]
    for word in arrays:
        leaves = getattr(program, word)
        if leaves:
            held = f"{word}: " + ", ".join(remark(name_of(leaf)) for leaf in leaves)
            lines += textwrap.wrap(held, 110, subsequent_indent="  ", break_long_words=False)
    return "\n   ".join(lines)


def _body(
    order: Sequence[Expr],
    roots: Sequence[Expr],
    sources: Mapping[Expr, str],
    tables: dict[PiecewiseCubic, str],
    *,
    target: str,
) -> str:
    """Statements that read the sources in use, compute the intermediates and store the roots."""
    computed = set(order)
    given = dict.fromkeys(a for node in order for a in node.args if a not in computed and a.op != ops.CONSTANT)
    given.update(dict.fromkeys(root for root in roots if root not in computed and root.op != ops.CONSTANT))
    # Names that start with kane_ are ours, those like M_PI and FP_NAN belong to <math.h>.
    words = local_names(given, _RESERVED, ("kane_", "M_", "FP_"))
    notation = Notation(
        ROWS,
        lambda node: _constant(node.data) if node.op == ops.CONSTANT else Piece(words[node]),
        str,
        lambda table: tables.setdefault(table, f"{len(table.knots)}, kane_spline{len(tables) + 1}"),
    )
    names = intermediate_names(intermediates(order, roots), {*words.values(), *_RESERVED})
    lines, results = equations(order, roots, names, notation)
    text = [f"const double {words[node]} = {sources[node]};" for node in given]
    text += [f"const double {name} = {value};" for name, value in lines]
    text += [f"{target}[{i}] = {value};" for i, value in enumerate(results)]
    arrays = ("parameters", "work") if target == "stage" else ("state", "rest", "stage", "work")
    reads = {sources[node].partition("[")[0] for node in given}
    text += [f"(void){array};" for array in (*arrays, *(() if roots else (target,))) if array not in reads]
    return "".join(f"    {line}\n" for line in text)


def _number(value: float) -> str:
    text = f"{value:.17g}"
    return text if re.search(r"[.e]", text) else f"{text}.0"


def _constant(value: float) -> Piece:
    return Piece(_number(value), SIGNED if value < 0 else ATOM)


def _table(table: PiecewiseCubic, word: str) -> str:
    # The first piece starts at the second knot's place and holds below it, so the search never looks at its left end.
    rows: list[Any] = [(knot, *piece) for knot, piece in zip(table.knots, table.coefficients, strict=True)]
    text = ",\n".join("    {" + ", ".join(map(_number, row)) + "}" for row in rows)
    return f"static const double {word}[{len(rows)}][5] = {{\n{text},\n}};\n"
