"""Emit the calls and routines of a program in parts as LLVM text, for one state or for several states in SIMD lanes.

With one state per call, the lanes of wide routines contain items, such as the links of a mechanism. With several states
per call, the lanes contain states: each routine is called once per item, and the values of an item are consecutive in
memory. Sums over other items then omit the items whose mask is zero.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from kane.codegen.emit.fused import contracted, contracted_everywhere
from kane.codegen.emit.lanes import CACHE_LINE_BYTES, ONE, Lanes, align_lines, constant_array, hexadecimal, loop_lines
from kane.codegen.emit.llvm_function import ArrayPlace, Function, Shared
from kane.codegen.emit.steps import EmittedStep, group_steps
from kane.codegen.programs.parts import CONSTANTS, MASKS, MEMORY, RESULT, Call, ProgramInParts, Routine
from kane.deferred import NamedTuple
from kane.expression.node import Expr

FIRST = "kane_first"
_CONSTANT_TABLE = "@kane_constants"
_BASES = {CONSTANTS: _CONSTANT_TABLE, MEMORY: "%memory", RESULT: "%out"}


class _Form(NamedTuple):
    """A routine as it is emitted.

    Attributes:
        routine: routine to emit.
        bases: base of each of its arrays; empty if the code does not depend on them.
        masks: masks of the item, which replace the array of masks; empty if the routine reads this array.
    """

    routine: Routine
    bases: tuple[str, ...] = ()
    masks: tuple[float, ...] = ()


class RoutineCalls:
    """Writer of the routines of a program in parts, and of the function that calls them.

    Attributes:
        places: index in memory of each output of the first part.
        n_work: scratch memory [registers of lanes], without that of the first part.
    """

    def __init__(self, program: ProgramInParts, shared: Shared) -> None:
        """Lay out the memory."""
        self._parts, self._shared, self._lanes = program.parts, shared, shared.lanes
        self._item_by_item = shared.lanes != ONE
        self._forms: dict[_Form, str] = {}
        self._tables: list[str] = []
        self.places = [self._place(MEMORY, index) for index in program.parts.places]
        self.n_work = program.parts.memory + CACHE_LINE_BYTES // 8

    def text(self, name: str) -> list[str]:
        """Return LLVM text of the main function, its routines and tables; FIRST is the function of the first part."""
        calls = list(self._calls())
        constants = [hexadecimal(x) for x in self._parts.constants]
        lines = [constant_array(_CONSTANT_TABLE, "double", constants, align=CACHE_LINE_BYTES), *self._tables]
        for form, function in self._forms.items():
            lines += self._function(function, form)
        return [
            *lines,
            f"define void @{name}(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) nounwind {{",
            *align_lines("%work", "%memory"),
            f"  %spare = getelementptr inbounds {self._lanes.type}, ptr %memory, i64 {self._parts.memory}",
            f"  call void @{FIRST}(ptr %state, ptr %rest, ptr %stage, ptr %memory, ptr %spare)",
            *calls,
            "  ret void",
            "}",
        ]

    def _calls(self) -> Iterator[str]:
        """Write all calls; calls that follow each other are written item by item, so that values stay in the cache."""
        chains: list[list[tuple[int, Call]]] = []
        for k, call in enumerate(self._parts.calls):
            if not call.follows:
                chains.append([])
            chains[-1].append((k, call))
        for chain in chains:
            for item in range(chain[0][1].items if self._item_by_item else 1):
                for k, call in chain:
                    yield from self._call(f"{k}.{item}", call, item)

    def _call(self, label: str, call: Call, item: int) -> Iterator[str]:
        """Write a call; swept arrays start at their bases, because each round adds its own starts."""
        routine, bases = call.routine, call.bases
        name = self._forms.setdefault(self._form(call, item), f"@{routine.name}.{len(self._forms)}")
        operands = []
        for i, array in enumerate(routine.arrays):
            base, operand = bases[array], f"%c{label}.{i}"
            swept = array in routine.swept
            start = 0 if swept else self._place(base, call.at[array][1] + item * routine.has_items(array))
            kind = "double" if base == CONSTANTS else self._lanes.type
            yield f"  {operand} = getelementptr inbounds {kind}, ptr {_BASES[base]}, i64 {start}"
            operands.append(f"ptr {operand}")
        if call.rounds:
            operands += self._rounds(f"@kane_rounds{label}", call, item)
        yield f"  call void {name}({', '.join(operands)})"

    def _form(self, call: Call, item: int) -> _Form:
        if not self._item_by_item:
            return _Form(call.routine)
        masks: tuple[float, ...] = ()
        if MASKS in call.at:
            count = sum(array == MASKS for array, _ in call.routine.leaves.values())
            start, width = call.at[MASKS][1] + item, self._parts.width
            masks = tuple(self._parts.constants[start : start + count * width : width])
        return _Form(call.routine, tuple(call.bases.values()), masks)

    def _rounds(self, name: str, call: Call, item: int) -> list[str]:
        """Write the table of rounds, with the start of each swept array, and return it and their number as operands."""
        shifts = {array: item * call.routine.has_items(array) for array in call.routine.swept}
        rounds = [x.at for x in call.rounds if not self._item_by_item or item in x.items]
        starts = [self._place(at[a][0], at[a][1] + shift) for at in rounds for a, shift in shifts.items()]
        self._tables.append(constant_array(name, "i64", [str(x) for x in starts], align=CACHE_LINE_BYTES))
        return [f"ptr {name}", f"i64 {len(rounds)}"]

    def _place(self, base: str, index: int) -> int:
        """Return the index of a value in memory as it is laid out for these lanes."""
        if base != MEMORY or not self._item_by_item:
            return index
        value, item = divmod(index, self._parts.width)
        return item * (self._parts.memory // self._parts.width) + value

    def _function(self, name: str, form: _Form) -> Iterator[str]:
        """Write the function of a routine."""
        routine = form.routine
        if not self._item_by_item:
            wide = Lanes(self._parts.width) if routine.wide else ONE
            writer = Function(self._shared, tuple(routine.plain), routine.leaves, {}, lanes=wide)
            return _RoutineWriter(routine, writer, "double").text(name, self._steps(routine), routine.stores)
        bases = dict(zip(routine.arrays, form.bases, strict=True))

        def place(array: str, index: int) -> ArrayPlace:
            apart = self._parts.width if routine.has_items(array) else 1
            return array, self._place(bases[array], index * apart)

        reads = {leaf: place(array, index) for leaf, (array, index) in routine.leaves.items() if array != MASKS}
        masks = {leaf: form.masks[index] for leaf, (array, index) in routine.leaves.items() if array == MASKS}
        steps, same = _without_masks(self._steps(routine), masks)
        stores: dict[Expr, list[ArrayPlace]] = {}
        for node, places in routine.stores.items():
            stores.setdefault(same.get(node, node), []).extend(place(array, index) for array, index in places)
        shared_by_lanes = tuple(array for array, base in bases.items() if base == CONSTANTS)
        writer = Function(self._shared, shared_by_lanes, reads, {})
        return _RoutineWriter(routine, writer, self._lanes.type).text(name, steps, stores)

    def _steps(self, routine: Routine) -> list[EmittedStep]:
        """Return the operations of a routine, with the same fused products for any lanes."""
        program = routine.program
        choose = contracted_everywhere if routine.wide else contracted
        products = choose(program.instructions, program.outputs) if self._shared.fused else {}
        return group_steps(program.instructions, (), products)


class _RoutineWriter:
    """Writer of the function of one routine, with a loop over the rounds if arrays are swept."""

    def __init__(self, routine: Routine, writer: Function, element: str) -> None:
        """Take the writer of the body, and the LLVM type in which the starts of swept arrays are counted."""
        self._routine, self._writer, self._element = routine, writer, element

    def text(
        self, name: str, steps: Sequence[EmittedStep], stores: Mapping[Expr, Sequence[ArrayPlace]]
    ) -> Iterator[str]:
        """Return LLVM text of the function; steps that do not depend on swept arrays are before the loop.

        Args:
            name: name of the function.
            steps: steps of the routine.
            stores: places of the results.
        """
        writer, swept, varying = self._writer, {*self._routine.swept}, self._routine.varying
        common = [step for step in steps if varying.isdisjoint(step.nodes)]
        rounds = [step for step in steps if not varying.isdisjoint(step.nodes)]
        kept = {x: [place for place in places if place[0] not in swept] for x, places in stores.items()}
        self._write(common, kept, {node for step in steps for node in step.nodes})
        end = "" if writer.lanes == ONE else ' "stackrealign"'
        head = f"define internal void {name}({', '.join(self._arguments())}) noinline nounwind{end} {{"
        if not swept:
            yield from [head, *writer.lines, "  ret void", "}"]
            return
        for x in dict.fromkeys(x for step in rounds for x in step.reads):
            if x not in varying:
                writer.load(x)
        opening, writer.lines = writer.lines, []
        moving = {x: [place for place in places if place[0] in swept] for x, places in stores.items()}
        self._write(rounds, moving, {node for step in rounds for node in step.nodes})
        loop = loop_lines("start", "%n", [*self._starts(), *writer.lines])
        yield from [head, "start:", *opening, *loop, "  ret void", "}"]

    def _write(
        self, steps: Sequence[EmittedStep], stores: Mapping[Expr, Sequence[ArrayPlace]], computed: Container[Expr]
    ) -> None:
        """Write steps that store their results; results that are not ``computed`` in steps are copied first."""
        writer = self._writer
        writer.stores = {x: places for x, places in stores.items() if x in computed}
        for x, places in stores.items():
            if x not in computed:
                writer.put(x, places)
        writer.write(steps)

    def _arguments(self) -> list[str]:
        """Return the arrays as arguments without aliases, and the table of rounds."""
        routine = self._routine
        read_only = {*routine.reads} - {*routine.writes}
        ends = dict.fromkeys(routine.swept, ".base")
        arrays = [f"ptr noalias {'readonly ' * (a in read_only)}%{a}{ends.get(a, '')}" for a in routine.arrays]
        return arrays + ["ptr readonly %rows", "i64 %n"] * bool(routine.swept)

    def _starts(self) -> Iterator[str]:
        """Read the start of each swept array from a row of the table."""
        swept = self._routine.swept
        yield f"  %at = mul i64 %k, {len(swept)}"
        yield "  %row = getelementptr inbounds i64, ptr %rows, i64 %at"
        for k, array in enumerate(swept):
            yield f"  %{array}.r = getelementptr inbounds i64, ptr %row, i64 {k}"
            yield f"  %{array}.o = load i64, ptr %{array}.r, align 8"
            yield f"  %{array} = getelementptr inbounds {self._element}, ptr %{array}.base, i64 %{array}.o"


def _without_masks(
    steps: Sequence[EmittedStep], masks: Mapping[Expr, float]
) -> tuple[list[EmittedStep], dict[Expr, Expr]]:
    """Return the steps for known masks, and the nodes that equal others: x + 1 y is x + y, and x + 0 y is x."""
    same: dict[Expr, Expr] = {}
    found = []
    for step in steps:
        reads = tuple(same.get(x, x) for x in step.reads)
        mask = next((x for x in reads if x in masks), None)
        if mask is None:
            found.append(step._replace(reads=reads))
            continue
        a, b, x = reads
        if masks[mask]:
            found.append(EmittedStep(step.nodes, (x, b if a is mask else a)))
        else:
            same[step.nodes[0]] = x
    return found, same
