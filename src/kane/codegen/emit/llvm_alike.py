"""Emit programs that share operations as LLVM text.

Programs that share operations have the same functions. The first constant of each program is its number in its group.
By this number the functions find the program's numbers and the addresses of its operands in tables. Operands at fixed
distances from each other, such as the coordinates of one body, have one address.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kane.codegen.emit.lane_rows import rows_text
from kane.codegen.emit.lanes import ONE, constant_array, hexadecimal
from kane.codegen.emit.llvm import MAIN, PIECE, ROWS_LOOP, STAGE, STAGES, Module, stages_loop
from kane.codegen.emit.llvm_function import Shared
from kane.codegen.emit.llvm_operations import LIBRARY
from kane.codegen.emit.llvm_parts import Unit
from kane.codegen.programs.alike import AlikeProgram
from kane.codegen.programs.parts import ValuePlace
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT

# Declaration of the function that returns the smaller of two unsigned integers.
_UMIN = "declare i64 @llvm.umin.i64(i64, i64)"

Operand = TypeVar("Operand", bound=Hashable)


def symbols_of(group: int) -> tuple[str, str, str]:
    """Return the names of MAIN, ROWS_LOOP and STAGES of the programs that share operations; see ``emit_llvm``."""
    return f"{MAIN}.{group}", f"{ROWS_LOOP}.{group}", f"{STAGES}.{group}"


def emit_alike(groups: Sequence[Sequence[AlikeProgram]], *, fused: bool = True, piece: int = PIECE) -> Module:
    """Return programs as LLVM text.

    The caller of STAGES writes the number of a program, as int64, to its first constant beforehand.

    Args:
        groups: programs that share operations; the number of a program is its index in its group.
        fused: whether the machine has a fused multiply-add.
        piece: approximate number of operations per function.
    """
    shared, n_work, lines = Shared(ONE, fused), 0, [_UMIN]
    for number, programs in enumerate(groups):
        group = _Group(number, programs, shared)
        lines += group.text(piece)
        n_work = max(n_work, group.n_work)
    text = "\n".join([*dict.fromkeys(shared.text("\n".join(lines))), *lines, ""])
    return Module(text, n_work, tuple(s for s in LIBRARY if f"call double @{s}(" in text))


class _Address(NamedTuple):
    """An argument of the function of shared operations.

    Attributes:
        name: name of the argument.
        array: array into which it points.
        starts: index in the array, for each program.
    """

    name: str
    array: str
    starts: Sequence[int]


class _Group:
    """Writer of the functions of programs that share operations.

    Attributes:
        n_work: scratch memory for any of the functions [doubles].
    """

    def __init__(self, number: int, programs: Sequence[AlikeProgram], shared: Shared) -> None:
        self.n_work, self._programs, self._shared = 0, programs, shared
        self._symbols, self._stage_symbol = symbols_of(number), f"{STAGE}.{number}"
        self._program = programs[0].shared
        self._numbers = [leaf for leaf, read in programs[0].reads.items() if read.op == CONSTANT]

    def text(self, piece: int) -> Iterator[str]:
        """Return LLVM text of MAIN, ROWS_LOOP, STAGE, STAGES and their tables."""
        program, n_out = self._program, len(self._programs[0].outputs)
        main, rows, stages = self._symbols
        yield from self._main(piece)
        yield from self._stage(piece)
        yield rows_text(rows, main, program, ONE, each=True, n_out=n_out)[0]
        given = len(program.parameters) - len(self._numbers)
        yield stages_loop(stages, self._stage_symbol, given, 1 + len(program.stage_outputs))

    def _main(self, piece: int) -> Iterator[str]:
        program, count = self._program, len(self._programs)
        inputs, sources = self._inputs(state=program.state, rest=program.rest)
        sources |= {node: ("stage", 1 + i) for i, node in enumerate(program.stage_outputs)}
        computed = [[i for i, x in enumerate(one.outputs) if isinstance(x, int)] for one in self._programs]
        places = {k: [("out", i) for i in own] for k, own in enumerate(zip(*computed, strict=True))}
        results, stored = _addresses(places)
        arrays: list[str | _Address] = [*inputs, "stage", *results, "work"]
        unit = self._unit(f"{self._symbols[0]}.shared", arrays, sources, stored)
        unit.write(program.instructions, program.angles, program.outputs, piece)
        caller = _Caller(self._symbols[0], count, "stage")
        fixed = [[(i, x.data) for i, x in enumerate(one.outputs) if isinstance(x, Expr)] for one in self._programs]
        caller.store_numbers(list(zip(*fixed, strict=True)), len(self._programs[0].outputs))
        yield from self._finished(unit, caller, ("state", "rest", "stage", "out", "work"), arrays)

    def _stage(self, piece: int) -> Iterator[str]:
        program, values = self._program, [[one.reads[x].data for x in self._numbers] for one in self._programs]
        parameters, sources = self._inputs(parameters=[x for x in program.parameters if x not in self._numbers])
        sources |= {leaf: ("numbers", i) for i, leaf in enumerate(self._numbers)}
        stored = {i: ("out", 1 + i) for i in range(len(program.stage_outputs))}
        caller = _Caller(self._stage_symbol, len(self._programs), "out")
        arrays: list[str | _Address] = [*parameters, caller.row_of_numbers(values), "out", "work"]
        unit = self._unit(f"{self._stage_symbol}.shared", arrays, sources, stored)
        unit.write(program.stage_nodes, (), program.stage_outputs, piece)
        yield from self._finished(unit, caller, ("parameters", "out", "work"), arrays)

    def _inputs(self, **given: Sequence[Expr]) -> tuple[list[_Address], dict[Expr, ValuePlace]]:
        """Return the addresses of the leaves that are read from these arrays, and the address and index of each."""
        places = {leaf: (array, i) for array, leaves in given.items() for i, leaf in enumerate(leaves)}
        read = [leaf for leaf in self._programs[0].reads if leaf in places]
        return _addresses({leaf: [places[one.reads[leaf]] for one in self._programs] for leaf in read})

    def _unit(
        self,
        name: str,
        arrays: Sequence[str | _Address],
        sources: Mapping[Expr, ValuePlace],
        results: Mapping[int, ValuePlace],
    ) -> Unit:
        names = tuple(x if isinstance(x, str) else x.name for x in arrays)
        return Unit(name, names, sources, self._shared, results=results)

    def _finished(
        self, unit: Unit, caller: _Caller, own: Sequence[str], arrays: Sequence[str | _Address]
    ) -> Iterator[str]:
        self.n_work = max(self.n_work, unit.n_work)
        yield from unit.lines
        yield from caller.text(own, unit.name, arrays)


class _Caller:
    """Writer of a function that calls the function of shared operations for one of the programs."""

    def __init__(self, name: str, count: int, holder: str) -> None:
        """Begin; ``holder`` is the array that begins with the number of the program, of ``count`` programs."""
        self._name, self._count = name, count
        self._tables: dict[str, list[Sequence[str]]] = {"i32": [], "double": []}
        self._first_lines = [
            f"  %given = load i64, ptr %{holder}, align 8",
            f"  %number = call i64 @llvm.umin.i64(i64 %given, i64 {count - 1})",  # no constant leads out of the tables
        ]
        self._lines: list[str] = []

    def row_of_numbers(self, values: Sequence[Sequence[float]]) -> str:
        """Return the name of the array of the program's numbers; ``values`` has a row for each program."""
        self._tables["double"] = [[hexadecimal(x) for x in column] for column in zip(*values, strict=True)]
        table = f"@{self._name}.double, i64 %double.first" if values[0] else "null, i64 0"
        self._lines.append(f"  %numbers = getelementptr double, ptr {table}")
        return "numbers"

    def store_numbers(self, fixed: Sequence[Sequence[tuple[int, float]]], n_out: int) -> None:
        """Store the outputs that are numbers: index and value of each, for each program."""
        zeros = [own for own in fixed if not any(value for _, value in own)]
        moving = any(len(set(own)) > 1 for own in zeros)
        if moving:
            self._lines.append(f"  call void @llvm.memset.p0.i64(ptr align 8 %out, i8 0, i64 {8 * n_out}, i1 false)")
        for k, own in enumerate(fixed):
            if not (moving and own in zeros):
                place = self._operand(_Address(f"fixed.{k}", "out", [i for i, _ in own]))
                value = self._read("double", [hexadecimal(x) for _, x in own])
                self._lines.append(f"  store double {value}, {place}, align 8")

    def text(self, own: Sequence[str], callee: str, arrays: Sequence[str | _Address]) -> Iterator[str]:
        """Return LLVM text of the function, whose arguments are ``own``, and of its tables."""
        operands = ", ".join(f"ptr %{x}" if isinstance(x, str) else self._operand(x) for x in arrays)
        yield f"define void @{self._name}({', '.join(f'ptr noalias %{x}' for x in own)}) nounwind {{"
        yield from self._first_lines
        yield from (f"  %{kind}.first = mul i64 %number, {len(columns)}" for kind, columns in self._tables.items())
        yield from (*self._lines, f"  call void @{callee}({operands})", "  ret void", "}")
        for kind, columns in self._tables.items():
            if columns:
                rows = [column[k] for k in range(self._count) for column in columns]
                yield constant_array(f"@{self._name}.{kind}", kind, rows)

    def _operand(self, address: _Address) -> str:
        """Return an address of the program as operand."""
        name = f"%at.{address.name}"
        start = self._read("i32", [str(i) for i in address.starts])
        self._lines.append(f"  {name}.start = zext i32 {start} to i64")
        self._lines.append(f"  {name} = getelementptr inbounds double, ptr %{address.array}, i64 {name}.start")
        return f"ptr {name}"

    def _read(self, kind: str, values: Sequence[str]) -> str:
        """Return a number of the program as operand, read from its row of a table unless all programs have the same."""
        if len(set(values)) == 1:
            return values[0]
        columns, name = self._tables[kind], f"%{kind}.{len(self._lines)}"
        self._lines += [
            f"  {name}.k = add i64 %{kind}.first, {len(columns)}",
            f"  {name}.a = getelementptr inbounds {kind}, ptr @{self._name}.{kind}, i64 {name}.k",
            f"  {name} = load {kind}, ptr {name}.a, align {4 if kind == 'i32' else 8}",
        ]
        columns.append(values)
        return name


def _addresses(places: Mapping[Operand, Sequence[ValuePlace]]) -> tuple[list[_Address], dict[Operand, ValuePlace]]:
    """Return addresses for operands that each program has elsewhere, and the address and index of each operand."""
    together: dict[object, list[Operand]] = {}
    for key, own in places.items():
        array, first = own[0]
        together.setdefault((array, *(i - first for _, i in own)), []).append(key)
    addresses: list[_Address] = []
    found: dict[Operand, ValuePlace] = {}
    for keys in together.values():
        lowest = min(keys, key=lambda key: places[key][0][1])
        array, first = places[lowest][0]
        address = _Address(f"{array}.{len(addresses)}", array, [i for _, i in places[lowest]])
        addresses.append(address)
        found.update({key: (address.name, places[key][0][1] - first) for key in keys})
    return addresses, found
