"""Programs as JavaScript (ECMAScript 2015): one object each, of plain numbers, that need no library.

The operations are those of the program in its order. Sums, products and roots have the bits of the interpreter;
sines and the like are those of the JavaScript engine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kane.codegen.emit.intermediates import Notation, equations, intermediate_names, intermediates
from kane.codegen.emit.source_names import distinct_names, identifier, local_names, remark
from kane.codegen.programs.program import Program
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.spline import PiecewiseCubic
from kane.expression.text import ATOM, PRODUCT, SIGNED, SUM, Piece, Spelling, function_row, name_of

# Words of the language, and what the functions themselves use.
_WORDS = (
    "arguments async await break case catch class const continue debugger default delete do else enum eval export "
    "extends false finally for function get if implements import in instanceof interface let new null of package "
    "private protected public return set static super switch this throw true try typeof undefined var void while with "
    "yield Array Float64Array Infinity Math NaN Number Object state rest stage out parameters"
)
_RESERVED = frozenset(_WORDS.split())


def _infix(sign: str, binding: int) -> Spelling:
    # The right operand asks for more: JavaScript reads a - b - c from the left, and so must a + (b + c) keep its order.
    return lambda a, b: Piece(f"{a.within(binding)} {sign} {b.within(binding + 1)}", binding)


def _truth(sign: str) -> Spelling:
    def row(a: Piece, b: Piece) -> Piece:
        condition = f"{a.within(SUM)} {sign} {b.within(SUM)}"
        return Piece(f"({condition} ? 1 : 0)", condition=condition)

    return row


def _select(condition: Piece, a: Piece, b: Piece) -> Piece:
    return Piece(f"({condition.condition or f'{condition.within(SUM)} !== 0'} ? {a.text} : {b.text})")


ROWS: dict[int, Spelling] = {
    ops.ADD: _infix("+", SUM),
    ops.SUB: _infix("-", SUM),
    ops.MUL: _infix("*", PRODUCT),
    ops.DIV: _infix("/", PRODUCT),
    ops.NEG: lambda a: Piece(f"-{a.within(ATOM)}", SIGNED),
    ops.POW: function_row("kane_pow"),
    ops.SQRT: function_row("Math.sqrt"),
    ops.SIN: function_row("Math.sin"),
    ops.COS: function_row("Math.cos"),
    ops.TAN: function_row("Math.tan"),
    ops.ASIN: function_row("Math.asin"),
    ops.ACOS: function_row("Math.acos"),
    ops.ATAN2: function_row("Math.atan2"),
    ops.EXP: function_row("Math.exp"),
    ops.LOG: function_row("Math.log"),
    ops.TANH: function_row("Math.tanh"),
    ops.ABS: function_row("Math.abs"),
    ops.SIGN: function_row("kane_sign"),
    ops.MIN: function_row("kane_min"),
    ops.MAX: function_row("kane_max"),
    ops.LESS: _truth("<"),
    ops.LESS_EQUAL: _truth("<="),
    ops.EQUAL: _truth("==="),
    ops.SELECT: _select,
    ops.SPLINE: lambda a, table: Piece(f"kane_spline({table}, {a.text})"),
}

# What JavaScript lacks, or means differently: 1 to the power of NaN is 1, as in C and NumPy.
_DEFINITIONS = {
    ops.POW: "const kane_pow = (a, b) => a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : Math.pow(a, b);\n",
    ops.SIGN: "const kane_sign = (x) => x !== x ? x : (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0);\n",
    ops.MIN: "const kane_min = (a, b) => a < b || a !== a ? a : b;\n",
    ops.MAX: "const kane_max = (a, b) => a > b || a !== a ? a : b;\n",
    ops.SPLINE: """\
// Rows of a table: left end of the piece, then its coefficients from the constant up; the last piece to start at or
// before x holds, the first one below them all.
function kane_spline(table, x) {
  let low = 0, high = table.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (table[middle][0] <= x) low = middle; else high = middle;
  }
  const c = table[low], h = x - c[0];
  return c[1] + h * (c[2] + h * (c[3] + h * c[4]));
}
""",
}


def emit_javascript(
    programs: Sequence[Program],
    *,
    name: str,
    outputs: Mapping[str, Sequence[str]] | None = None,
    defaults: Mapping[str, float] | None = None,
) -> str:
    """JavaScript source of programs: ``const f = {...}`` for each, f the name of the program made an identifier.

    ``f.stage(parameters, stage)`` fills ``stage`` with what depends on parameters alone, f.stages numbers;
    ``f.main(state, rest, stage, out)`` fills ``out``. ``f.state``, ``f.rest``, ``f.parameters`` and ``f.outputs`` are
    the names of what the arrays hold, ``f.defaults`` the parameters' values.

    Args:
        programs: what to compute.
        name: for the first line.
        outputs: names of the outputs, by the name of the program.
        defaults: values of parameters by name; zero where there is none.

    Raises:
        ExpressionError: two programs have names that become the same identifier.
    """
    words = [javascript_name(program) for program in programs]
    distinct_names(programs, [(word,) for word in words], "JavaScript")
    writer = _Writer(outputs or {}, defaults or {})
    bodies = [writer.program(program, word) for program, word in zip(programs, words, strict=True)]
    used = {node.op for program in programs for node in (*program.instructions, *program.stage_nodes)}
    definitions = [text for op, text in _DEFINITIONS.items() if op in used]
    head = f"// {remark(name)}: JavaScript, generated by kane. SI units, angles in rad.\n"
    return "\n".join([head, *definitions, *writer.splines(), *bodies])


def javascript_name(program: Program) -> str:
    """The identifier of the object that a program becomes."""
    word = identifier(program.name)
    return f"{word}_" if word in _RESERVED or word.startswith("kane_") else word


@dataclass
class _Writer:
    """Writes programs, and gathers the splines met on the way."""

    outputs: Mapping[str, Sequence[str]]
    defaults: Mapping[str, float]
    tables: dict[PiecewiseCubic, str] = field(default_factory=dict)

    def program(self, program: Program, word: str) -> str:
        entries = {
            "name": program.name,
            "state": [name_of(leaf) for leaf in program.state],
            "rest": [name_of(leaf) for leaf in program.rest],
            "parameters": [name_of(leaf) for leaf in program.parameters],
            "defaults": [float(self.defaults.get(leaf.name, 0.0)) for leaf in program.parameters],
            "outputs": list(self.outputs.get(program.name, [f"out_{i + 1}" for i in range(len(program.outputs))])),
            "stages": len(program.stage_outputs),
        }
        lines = "".join(f"  {key}: {literal(value)},\n" for key, value in entries.items())
        given = {leaf: f"parameters[{i}]" for i, leaf in enumerate(program.parameters)}
        stage = self._body(program.stage_nodes, program.stage_outputs, given, "stage")
        sources = {leaf: f"state[{i}]" for i, leaf in enumerate(program.state)}
        sources |= {leaf: f"rest[{i}]" for i, leaf in enumerate(program.rest)}
        sources |= {node: f"stage[{i}]" for i, node in enumerate(program.stage_outputs)}
        main = self._body(program.instructions, program.outputs, sources, "out")
        functions = f"  stage(parameters, stage) {{\n{stage}  }},\n  main(state, rest, stage, out) {{\n{main}  }},\n"
        return f"const {word} = {{\n{lines}{functions}}};\n"

    def splines(self) -> list[str]:
        rows = {
            word: [[knot, *piece] for knot, piece in zip(table.knots, table.coefficients, strict=True)]
            for table, word in self.tables.items()
        }
        return [f"const {word} = {literal(table)};\n" for word, table in rows.items()]

    def _body(self, order: Sequence[Expr], roots: Sequence[Expr], sources: Mapping[Expr, str], target: str) -> str:
        """Statements that read the sources in use, compute the intermediates and store the roots."""
        computed = set(order)
        given = dict.fromkeys(a for node in order for a in node.args if a not in computed and a.op != ops.CONSTANT)
        given.update(dict.fromkeys(root for root in roots if root not in computed and root.op != ops.CONSTANT))
        words = local_names(given, _RESERVED, ("kane_",))
        notation = Notation(
            ROWS,
            lambda node: _constant(node.data) if node.op == ops.CONSTANT else Piece(words[node]),
            str,
            lambda table: self.tables.setdefault(table, f"kane_spline_{len(self.tables) + 1}"),
        )
        names = intermediate_names(intermediates(order, roots), {*words.values(), *_RESERVED})
        lines, results = equations(order, roots, names, notation)
        text = [f"const {words[node]} = {sources[node]};" for node in given]
        text += [f"const {name} = {value};" for name, value in lines]
        text += [f"{target}[{i}] = {value};" for i, value in enumerate(results)]
        return "".join(f"    {line}\n" for line in text)


def literal(value: object) -> str:
    """A value as JavaScript: harmless inside a <script> element too."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c")


def _constant(value: float) -> Piece:
    return Piece(repr(float(value)), SIGNED if value < 0 else ATOM)
