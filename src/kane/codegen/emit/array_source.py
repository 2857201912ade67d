"""Emit programs as Python functions of arrays; ``ArrayLanguage`` has the differences between NumPy and JAX."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kane.codegen.emit.intermediates import Notation, equations, intermediate_names, intermediates
from kane.codegen.emit.source_names import distinct_names, identifier, local_names, remark
from kane.codegen.programs.program import Program
from kane.expression import operations as ops
from kane.expression.spline import PiecewiseCubic
from kane.expression.text import function_row, infix_row, name_of
from kane.expression.traverse import leaves
from kane.expression.written_sums import ATOM, POWER, PRODUCT, SIGNED, SUM, Piece, Spelling

_RESERVED = frozenset(
    (*keyword.kwlist, *keyword.softkwlist, "np", "jnp", "state", "rest", "parameters", "shape", "results")
)
_WIDTH = 110


_FUNCTIONS = {
    ops.SQRT: "sqrt",
    ops.SIN: "sin",
    ops.COS: "cos",
    ops.TAN: "tan",
    ops.ASIN: "arcsin",
    ops.ACOS: "arccos",
    ops.ATAN2: "arctan2",
    ops.EXP: "exp",
    ops.LOG: "log",
    ops.TANH: "tanh",
    ops.ABS: "abs",
    ops.SIGN: "sign",
    ops.MIN: "minimum",
    ops.MAX: "maximum",
}


def array_rows(module: str) -> dict[int, Spelling]:
    """Return the written form of every operation, with the functions of ``module``."""

    def truth(sign: str) -> Spelling:
        def row(a: Piece, b: Piece) -> Piece:
            condition = f"{a.within(SUM)} {sign} {b.within(SUM)}"
            return Piece(f"{module}.where({condition}, 1.0, 0.0)", condition=condition)

        return row

    def select(condition: Piece, a: Piece, b: Piece) -> Piece:
        holds = condition.condition or f"{condition.within(SUM)} != 0.0"
        return Piece(f"{module}.where({holds}, {a.text}, {b.text})")

    return {
        ops.ADD: infix_row("+", SUM),
        ops.SUB: infix_row("-", SUM),
        ops.MUL: infix_row("*", PRODUCT),
        ops.DIV: infix_row("/", PRODUCT),
        ops.NEG: lambda a: Piece(f"-{a.within(POWER)}", SIGNED),
        ops.POW: lambda a, b: Piece(f"{a.within(ATOM)} ** {b.within(ATOM)}", POWER),
        **{op: function_row(f"{module}.{word}") for op, word in _FUNCTIONS.items()},
        ops.LESS: truth("<"),
        ops.LESS_EQUAL: truth("<="),
        ops.EQUAL: truth("=="),
        ops.SELECT: select,
        ops.SPLINE: lambda a, table: Piece(f"_spline({table}, {a.text})"),
    }


_SPLINE = """

def _spline(table, x):
    # A row: left end of the piece, then its coefficients, constant first; the first piece also applies below its end.
    table = {module}.asarray(table)
    piece = table[{module}.searchsorted(table[1:, 0], x, side="right")]
    h = x - piece[..., 0]
    return piece[..., 1] + h * (piece[..., 2] + h * (piece[..., 3] + h * piece[..., 4]))
"""


@dataclass(frozen=True)
class ArrayLanguage:
    """Notation of an array library.

    Attributes:
        module: name of the library in the source.
        heading: docstring and imports of the source, with the placeholder ``{title}``.
        rows: written form of every operation.
        decorator: line before every function; may be empty.
    """

    module: str
    heading: str
    rows: Mapping[int, Spelling]
    decorator: str = ""

    def source(
        self,
        programs: Sequence[Program],
        *,
        name: str,
        outputs: Mapping[str, Sequence[str]] | None = None,
        defaults: Mapping[str, float] | None = None,
    ) -> str:
        """Return source of programs: each is a function of the arrays ``state``, ``rest`` and ``parameters``.

        Args:
            programs: programs to write; their names become identifiers.
            name: title in the module's docstring.
            outputs: output names by program name, for the docstrings.
            defaults: parameter values by name; if complete, they become the default of the argument ``parameters``.

        Raises:
            ExpressionError: the names of two programs become the same identifier.
        """
        return ArrayWriter(self, outputs or {}, defaults or {}).module(programs, name)


@dataclass
class ArrayWriter:
    """Writer of programs as one Python module.

    Attributes:
        language: notation of the array library.
        outputs: output names by program name.
        defaults: parameter values by name.
        tables: names of the spline tables in use.
    """

    language: ArrayLanguage
    outputs: Mapping[str, Sequence[str]]
    defaults: Mapping[str, float]
    tables: dict[PiecewiseCubic, str] = field(default_factory=dict)

    def module(self, programs: Sequence[Program], name: str) -> str:
        """Return the source of the module."""
        words = [function_name(program) for program in programs]
        distinct_names(programs, [(word,) for word in words], "Python")
        functions = [self.function(program, word) for program, word in zip(programs, words, strict=True)]
        text = self.language.heading.format(title=remark(name))
        if self.tables:
            text += _SPLINE.format(module=self.language.module)
            text += "".join(f"\n\n{word} = np.array({_rows_of(table)})\n" for table, word in self.tables.items())
        return text + "".join(functions)

    def function(self, program: Program, word: str) -> str:
        """Return one program as a function of three arrays."""
        np = self.language.module
        lines, results = self.statements(program)
        arrays = ("state", "rest", "parameters")
        body = [f'"""{self.layout(program)}\n    """']
        body += [f"{array} = {np}.asarray({array}, dtype=float)" for array in arrays]
        body.append(f"shape = np.broadcast_shapes({', '.join(f'{array}.shape[:-1]' for array in arrays)})")
        body += [*lines, *self.stacked(results)]
        decorator = f"{self.language.decorator}\n" if self.language.decorator else ""
        head = f"def {word}({', '.join(self.arguments(program))}):"
        return f"\n\n{decorator}{head}\n" + "".join(f"    {line}\n" for line in body)

    def arguments(self, program: Program) -> list[str]:
        """Return the arguments of a function, with defaults if the values of all parameters are known.

        ``rest`` then also has a default, zeros, if it has no effect on the outputs.
        """
        parameters = [leaf.name for leaf in program.parameters]
        if not all(name in self.defaults for name in parameters):
            return ["state", "rest", "parameters"]
        effect = set(program.rest).intersection(leaves(program.outputs))
        rest = "rest" if effect else f"rest={_numbers(0.0 for _ in program.rest)}"
        return ["state", rest, f"parameters={_numbers(self.defaults[name] for name in parameters)}"]

    def stacked(self, results: Sequence[str]) -> list[str]:
        """Return statements that broadcast the results to the batch and stack them along the last axis."""
        np = self.language.module
        if not results:
            return [f"return {np}.zeros((*shape, 0))"]
        rows = [f"    {np}.broadcast_to({text}, shape)," for text in results]
        return ["results = [", *rows, "]", f"return {np}.stack(results, axis=-1)"]

    def statements(self, program: Program) -> tuple[list[str], list[str]]:
        """Return assignments of leaves and intermediates, and the text of every output."""
        order = (*program.stage_nodes, *program.instructions)
        sources = {
            leaf: f"{array}[..., {i}]"
            for array in ("state", "rest", "parameters")
            for i, leaf in enumerate(getattr(program, array))
        }
        used = {a for node in order for a in node.args}.union(program.outputs)
        given = [leaf for leaf in sources if leaf in used]
        words = local_names(given, _RESERVED)
        notation = Notation(
            self.language.rows,
            lambda node: _constant(node.data) if node.op == ops.CONSTANT else Piece(words[node]),
            str,
            lambda table: self.tables.setdefault(table, f"_SPLINE{len(self.tables) + 1}"),
        )
        names = intermediate_names(intermediates(order, program.outputs), {*words.values(), *_RESERVED})
        lines, results = equations(order, program.outputs, names, notation)
        text = [f"{words[leaf]} = {sources[leaf]}" for leaf in given]
        return [*text, *(f"{name} = {value}" for name, value in lines)], results

    def layout(self, program: Program) -> str:
        """Return the text of a docstring that lists the contents of the arrays."""
        held = {array: [name_of(leaf) for leaf in getattr(program, array)] for array in ("state", "rest", "parameters")}
        lines = [f"{remark(program.name)}.", ""]
        for array, names in {**held, "returns": self.outputs.get(program.name, ())}.items():
            if names:
                text = f"{array}: " + ", ".join(map(remark, names))
                lines += textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=False)
        return "\n    ".join(lines)


def function_name(program: Program) -> str:
    """Return the identifier of a program's function."""
    word = identifier(program.name)
    return f"{word}_" if word in _RESERVED else word


def _number(value: float) -> str:
    return repr(float(value))


def _numbers(values: Any) -> str:
    return "(" + "".join(f"{_number(v)}, " for v in values).rstrip() + ")"  # (1.0,) is a tuple, (1.0) is not


def _constant(value: float) -> Piece:
    return Piece(_number(value), SIGNED if value < 0 else ATOM)


def _rows_of(table: PiecewiseCubic) -> str:
    rows = [(knot, *piece) for knot, piece in zip(table.knots, table.coefficients, strict=True)]
    return "[\n" + "".join(f"    [{', '.join(map(_number, row))}],\n" for row in rows) + "]"
