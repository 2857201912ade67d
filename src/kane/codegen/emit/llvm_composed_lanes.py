"""Composed programs for several states side by side as LLVM text: part by part, the states in the lanes.

The routines are those of one state, and every part of a state gets the same operations; sums over neighbours leave out
those that its masks leave out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kane.codegen.emit.lanes import Lanes
from kane.codegen.emit.llvm import LANES, Module, lanes_module, main_unit
from kane.codegen.emit.llvm_composed import (
    CONSTANT_TABLE,
    FIRST,
    constant_table,
    products_of,
    routine_text,
    table,
)
from kane.codegen.emit.llvm_function import ArrayPlace, Function, Shared
from kane.codegen.emit.steps import EmittedStep, group_steps
from kane.codegen.programs.composed import CONSTANTS, MASKS, MEMORY, RESULT, Call, Composed, Routine
from kane.expression.node import Expr

_ARGUMENTS = {CONSTANTS: CONSTANT_TABLE, MEMORY: "%work", RESULT: "%out"}


class _Form(NamedTuple):
    """A routine as it is written for one part.

    Attributes:
        routine: which.
        bases: where each of its arrays lies.
        masks: those of the part.
    """

    routine: Routine
    bases: tuple[str, ...]
    masks: tuple[float, ...]


def emit_composed_lanes(composed: Composed, lanes: Lanes, *, each: bool = False, fused: bool = True) -> Module:
    """Write a composed program for several states side by side, with the functions that ``emit_lanes`` defines.

    Args:
        composed: what to compute.
        lanes: how many states side by side.
        each: whether every state has a stage of its own.
        fused: whether the machine has a fused multiply-add.
    """
    shared = Shared(lanes, fused)
    main = _Main(composed, lanes)
    places = [main.place(MEMORY, x) for x in composed.places]
    first = main_unit(FIRST, composed.first, shared, None, each=each, places=places)
    calls = list(main.calls())
    lines = [*first.lines, constant_table(composed), *main.tables]
    for form, name in main.names.items():
        lines += _function(name, form, shared, main)
    lines += [
        f"define void @{LANES}(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) nounwind {{",
        f"  %spare = getelementptr inbounds {lanes.type}, ptr %work, i64 {composed.memory}",
        f"  call void @{FIRST}(ptr %state, ptr %rest, ptr %stage, ptr %work, ptr %spare)",
        *calls,
        "  ret void",
        "}",
    ]
    n_work = composed.memory + first.n_work
    return lanes_module(composed.first, lines, shared, composed.n_out, n_work, each=each)


class _Main:
    """Writer of the calls, one for each part.

    Attributes:
        names: of the forms of routines that are called.
        tables: of what is swept.
    """

    def __init__(self, composed: Composed, lanes: Lanes) -> None:
        self._composed, self._lanes = composed, lanes
        self.names: dict[_Form, str] = {}
        self.tables: list[str] = []

    def calls(self) -> Iterator[str]:
        """All of them; those that follow each other are done one part after the other, whose values stay at hand."""
        chains: list[list[tuple[int, Call]]] = []
        for k, call in enumerate(self._composed.calls):
            if not call.follows:
                chains.append([])
            chains[-1].append((k, call))
        for chain in chains:
            for part in range(chain[0][1].parts):
                for k, call in chain:
                    yield from self._call(k, call, part)

    def _call(self, k: int, call: Call, part: int) -> Iterator[str]:
        """The k-th call for one part."""
        routine, form = call.routine, self._form(call, part)
        name = self.names.setdefault(form, f"@{routine.name}.{len(self.names)}")
        operands = []
        for i, array in enumerate(routine.arrays):
            swept = array in routine.swept
            base, place = (call.again[0].at[array][0], 0) if swept else call.at[array]
            kind = "double" if base == CONSTANTS else self._lanes.type
            at = 0 if swept else self.place(base, place + part * _is_wide(routine, array))
            operand = f"%c{k}.{part}.{i}"
            yield f"  {operand} = getelementptr inbounds {kind}, ptr {_ARGUMENTS[base]}, i64 {at}"
            operands.append(f"ptr {operand}")
        if call.again:
            operands += self._sweep(f"@{LANES}.rows{k}.{part}", call, part)
        yield f"  call void {name}({', '.join(operands)})"

    def _form(self, call: Call, part: int) -> _Form:
        at = {**call.at, **(call.again[0].at if call.again else {})}
        masks: tuple[float, ...] = ()
        if MASKS in call.at:
            count = sum(array == MASKS for array, _ in call.routine.leaves.values())
            start, width = call.at[MASKS][1] + part, self._composed.width
            masks = tuple(self._composed.constants[start : start + count * width : width])
        return _Form(call.routine, tuple(at[array][0] for array in call.routine.arrays), masks)

    def _sweep(self, name: str, call: Call, part: int) -> list[str]:
        """The rounds whose results a part uses, as a table."""
        rounds = [sweep for sweep in call.again if part in sweep.parts]
        shifts = {array: part * _is_wide(call.routine, array) for array in call.routine.swept}
        rows = [[self.place(sweep.at[a][0], sweep.at[a][1] + shift) for a, shift in shifts.items()] for sweep in rounds]
        self.tables.append(table(name, [x for row in rows for x in row]))
        return [f"ptr {name}", f"i64 {len(rounds)}"]

    def place(self, base: str, place: int) -> int:
        """Where a place lies: in memory the values of one part are neighbours."""
        if base != MEMORY:
            return place
        value, part = divmod(place, self._composed.width)
        return part * (self._composed.memory // self._composed.width) + value

    def apart(self, routine: Routine, array: str) -> int:
        """How far a part's values in an array are apart."""
        return self._composed.width if _is_wide(routine, array) else 1


def _is_wide(routine: Routine, array: str) -> bool:
    """Whether an array has a value of each part."""
    return routine.wide and array not in routine.plain


def _function(name: str, form: _Form, shared: Shared, main: _Main) -> Iterator[str]:
    """A routine for one part."""
    routine, bases = form.routine, dict(zip(form.routine.arrays, form.bases, strict=True))

    def place(array: str, k: int) -> ArrayPlace:
        return array, main.place(bases[array], k * main.apart(routine, array))

    reads = {leaf: place(array, k) for leaf, (array, k) in routine.leaves.items() if array != MASKS}
    known = {leaf: form.masks[k] for leaf, (array, k) in routine.leaves.items() if array == MASKS}
    steps, same = _unmasked(group_steps(routine.program.instructions, (), products_of(routine, shared)), known)
    stores: dict[Expr, list[ArrayPlace]] = {}
    for node, places in routine.stores.items():
        stores.setdefault(same.get(node, node), []).extend(place(array, k) for array, k in places)
    fixed = tuple(array for array, base in bases.items() if base == CONSTANTS)
    writer = Function(shared, fixed, reads, {})
    yield from routine_text(name, routine, steps, writer, stores=stores, kind=shared.lanes.type)


def _unmasked(steps: Sequence[EmittedStep], known: Mapping[Expr, float]) -> tuple[list[EmittedStep], dict[Expr, Expr]]:
    """Steps without masks: x + 1 y is x + y, and x + 0 y is x, which stands for it from there on."""
    same: dict[Expr, Expr] = {}
    found = []
    for step in steps:
        reads = tuple(same.get(x, x) for x in step.reads)
        mask = next((x for x in reads if x in known), None)
        if mask is None:
            found.append(step._replace(reads=reads))
            continue
        a, b, x = reads
        if known[mask]:
            found.append(EmittedStep(step.nodes, (x, b if a is mask else a)))
        else:
            same[step.nodes[0]] = x
    return found, same
