"""Composed programs as LLVM text: a function for each routine, and one that calls them in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kane.codegen.emit.fused import contracted, contracted_everywhere
from kane.codegen.emit.lanes import ONE, Lanes, hexadecimal
from kane.codegen.emit.llvm import MAIN, PIECE, Module, main_unit, whole_module
from kane.codegen.emit.llvm_function import ArrayPlace, Function, Shared
from kane.codegen.emit.steps import EmittedStep, group_steps
from kane.codegen.programs.composed import CONSTANTS, MEMORY, RESULT, Call, Composed, Routine
from kane.expression.node import Expr

FIRST = "kane_first"
CONSTANT_TABLE = "@kane_constants"
# Bytes of a cache line: registers that cross one cost twice to read and write.
_LINE = 64
_ARGUMENTS = {CONSTANTS: CONSTANT_TABLE, MEMORY: "%memory", RESULT: "%out"}


def emit_composed(composed: Composed, *, fused: bool = True) -> Module:
    """Write a composed program as LLVM text with the functions that ``emit_llvm`` defines.

    Args:
        composed: what to compute.
        fused: whether the machine has a fused multiply-add.
    """
    shared = Shared(ONE, fused)
    wide = Shared(Lanes(composed.width), fused)
    first = main_unit(FIRST, composed.first, shared, PIECE, places=composed.places)
    routines = dict.fromkeys(call.routine for call in composed.calls)
    lines = [*first.lines, *_tables(composed)]
    for routine in routines:
        sides = wide if routine.wide else shared
        writer = Function(sides, tuple(routine.plain), routine.leaves, {})
        steps = group_steps(routine.program.instructions, (), products_of(routine, sides))
        lines += routine_text(f"@{routine.name}", routine, steps, writer, stores=routine.stores, kind="double")
    lines += _main(composed)
    n_work = composed.memory + _LINE // 8 + first.n_work
    return whole_module(composed.first, lines, shared, composed.n_out, n_work, width=composed.width)


def _signature(routine: Routine) -> str:
    """The arrays as arguments: those that are written are read by no other name."""
    read_only = {*routine.reads} - {*routine.writes}
    ends = dict.fromkeys(routine.swept, ".base")
    return ", ".join(f"ptr noalias {'readonly ' * (a in read_only)}%{a}{ends.get(a, '')}" for a in routine.arrays)


def products_of(routine: Routine, shared: Shared) -> dict[Expr, int]:
    """Which products of a routine are fused with the sums that take them."""
    choose, program = contracted_everywhere if routine.wide else contracted, routine.program
    return choose(program.instructions, program.outputs) if shared.fused else {}


def routine_text(
    name: str,
    routine: Routine,
    steps: Sequence[EmittedStep],
    writer: Function,
    *,
    stores: Mapping[Expr, Sequence[ArrayPlace]],
    kind: str,
) -> Iterator[str]:
    """The function of a routine; one that is swept does first what all rounds have in common.

    Args:
        name: of the function.
        routine: which.
        steps: its operations.
        writer: of its body, which knows where leaves lie; told here what is stored.
        stores: where outputs are put.
        kind: LLVM's type of the elements of swept arrays.
    """
    varying = routine.varying
    common = [step for step in steps if varying.isdisjoint(step.nodes)]
    rounds = [step for step in steps if not varying.isdisjoint(step.nodes)]
    computed = {node for step in steps for node in step.nodes}
    each = {x: [place for place in places if place[0] in routine.swept] for x, places in stores.items()}
    once = {x: [place for place in places if place[0] not in routine.swept] for x, places in stores.items()}
    writer.stores = {x: places for x, places in once.items() if x in computed}
    for x, places in once.items():
        if x not in computed:
            writer.put(x, places)
    writer.write(common)
    head = f"define internal void {name}({_signature(routine)}"
    aligned = "" if writer.lanes == ONE else ' "stackrealign"'
    if not routine.swept:
        yield from [f"{head}) noinline nounwind{aligned} {{", *writer.lines, "  ret void", "}"]
        return
    for x in dict.fromkeys(x for step in rounds for x in step.reads):
        if x not in varying:
            writer.load(x)
    opening, writer.lines = writer.lines, []
    writer.stores = {x: each[x] for x in each if x in varying and x in computed}
    for x, places in each.items():
        if x not in writer.stores:
            writer.put(x, places)
    writer.write(rounds)
    yield f"{head}, ptr readonly %rows, i64 %n) noinline nounwind{aligned} {{"
    yield from ["start:", *opening, *_loop(routine, writer.lines, kind)]


def _loop(routine: Routine, body: Sequence[str], kind: str) -> Iterator[str]:
    """The rounds of a routine that is swept: a row of a table says where the arrays of each begin, in elements."""
    yield f"""  br label %again
again:
  %k = phi i64 [ 0, %start ], [ %k1, %again ]
  %at = mul i64 %k, {len(routine.swept)}
  %row = getelementptr inbounds i64, ptr %rows, i64 %at"""
    for k, array in enumerate(routine.swept):
        yield f"  %{array}.r = getelementptr inbounds i64, ptr %row, i64 {k}"
        yield f"  %{array}.o = load i64, ptr %{array}.r, align 8"
        yield f"  %{array} = getelementptr inbounds {kind}, ptr %{array}.base, i64 %{array}.o"
    yield from body
    yield """  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %n
  br i1 %more, label %again, label %done
done:
  ret void
}"""


def _tables(composed: Composed) -> Iterator[str]:
    """Constants, and for calls of swept routines where each part lies."""
    yield constant_table(composed)
    for k, call in enumerate(composed.calls):
        if call.again:
            rows = [sweep.at[a][1] for sweep in call.again for a in call.routine.swept]
            yield table(f"@{MAIN}.rows{k}", rows)


def table(name: str, values: Sequence[int]) -> str:
    """Integers in a row."""
    return _array(name, "i64", [str(x) for x in values])


def constant_table(composed: Composed) -> str:
    """The numbers of a program."""
    return _array(CONSTANT_TABLE, "double", [hexadecimal(x) for x in composed.constants])


def _array(name: str, kind: str, values: Sequence[str]) -> str:
    elements = ", ".join(f"{kind} {x}" for x in values)
    return f"{name} = internal unnamed_addr constant [{len(values)} x {kind}] [{elements}], align {_LINE}"


def _main(composed: Composed) -> Iterator[str]:
    yield from f"""define void @{MAIN}(ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) nounwind {{
  %address = ptrtoint ptr %work to i64
  %negative = sub i64 0, %address
  %shift = and i64 %negative, {_LINE - 1}
  %memory = getelementptr inbounds i8, ptr %work, i64 %shift
  %spare = getelementptr inbounds double, ptr %memory, i64 {composed.memory}
  call void @{FIRST}(ptr %state, ptr %rest, ptr %stage, ptr %memory, ptr %spare)""".splitlines()
    for k, call in enumerate(composed.calls):
        yield from _call(k, call)
    yield "  ret void"
    yield "}"


def _call(k: int, call: Call) -> Iterator[str]:
    """One call; of a swept routine arrays that differ begin with those of the program."""
    operands = []
    routine = call.routine
    for i, array in enumerate(routine.arrays):
        base, place = (call.again[0].at[array][0], 0) if array in routine.swept else call.at[array]
        yield f"  %c{k}.{i} = getelementptr inbounds double, ptr {_ARGUMENTS[base]}, i64 {place}"
        operands.append(f"ptr %c{k}.{i}")
    if call.again:
        operands += [f"ptr @{MAIN}.rows{k}", f"i64 {len(call.again)}"]
    yield f"  call void @{routine.name}({', '.join(operands)})"
