"""Programs as LLVM text: functions of bounded size, one calling convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.codegen.emit.lane_rows import rows_text
from kane.codegen.emit.lanes import ONE, Lanes, intrinsics
from kane.codegen.emit.llvm_function import Shared
from kane.codegen.emit.llvm_operations import LIBRARY
from kane.codegen.emit.llvm_parts import LONG, Unit
from kane.codegen.programs.program import Program

MAIN, STAGE, BATCH = "kane_main", "kane_stage", "kane_batch"
BATCH_EACH, STAGES = "kane_batch_each", "kane_stages"
LANES, ROWS = "kane_lanes", "kane_rows"
# Operations per function. LLVM's register allocator takes time that grows faster than a function does, but its
# scheduler interleaves what lies far apart in one function, from which forward dynamics gain. Measured on arms, ANYmal
# and Talos: against 600, pieces of 1,500 take a tenth longer to compile and run up to a fifth faster; larger ones bring
# no more. Programs of many pieces have nothing left to interleave: on chains of 100 joints, pieces of 700 take 40 %
# less time to compile than pieces of 1,500, and run as fast or faster.
PIECE = 1500
PIECE_OF_LONG = 700
# In lanes a value that crosses to another piece is a register of 64 bytes written and read: Talos in one piece runs a
# quarter to a third faster than in pieces of 1,500, and takes a tenth longer to compile.
PIECE_OF_LANES = 8000


@dataclass(frozen=True)
class Module:
    """LLVM text of a program.

    Attributes:
        text: the module; ``emit_llvm`` says what it defines.
        n_work: doubles of scratch that any of its functions needs.
        symbols: functions of the C library that it calls.
    """

    text: str
    n_work: int
    symbols: tuple[str, ...]


def piece_for(program: Program, lanes: Lanes = ONE) -> int:
    """About how many operations a function of this program should hold."""
    if len(program.instructions) > LONG:
        return PIECE_OF_LONG
    return PIECE if lanes == ONE else PIECE_OF_LANES


def emit_llvm(program: Program, *, fused: bool = True, piece: int | None = None) -> Module:
    """Write a program as LLVM text.

    Args:
        program: what to compute.
        fused: whether the machine has a fused multiply-add.
        piece: about how many operations one function may hold; ``piece_for`` unless given.
    """
    shared = Shared(ONE, fused)
    main = main_unit(MAIN, program, shared, piece)
    return whole_module(program, main.lines, shared, len(program.outputs), main.n_work, piece=piece)


def whole_module(
    program: Program,
    main: Sequence[str],
    shared: Shared,
    n_out: int,
    n_work: int,
    *,
    piece: int | None = None,
    width: int = 1,
) -> Module:
    """A module with the lines of a main function, and the functions of stages and batches about it.

    Args:
        program: whose leaves and stage the main function reads.
        main: of the function MAIN and those that it calls.
        shared: what these have in common.
        n_out, n_work: doubles that the main function gives, and needs as scratch.
        piece: as of ``emit_llvm``.
        width: of the widest values among them.
    """
    n_state, n_rest, n_stage = (len(x) for x in (program.state, program.rest, program.stage_outputs))
    parameters = {leaf: ("parameters", i) for i, leaf in enumerate(program.parameters)}
    once = Unit(STAGE, ("parameters", "out", "work"), parameters, shared)
    once.write(program.stage_nodes, (), program.stage_outputs, piece or piece_for(program))
    batches = [
        _loop(BATCH, MAIN, {"state": n_state, "rest": n_rest, "stage": 0, "out": n_out, "work": 0}),
        _loop(BATCH_EACH, MAIN, {"state": n_state, "rest": n_rest, "stage": n_stage, "out": n_out, "work": 0}),
        _loop(STAGES, STAGE, {"parameters": len(program.parameters), "stage": n_stage, "work": 0}),
    ]
    lines = [*main, *once.lines, *batches]
    return _module(lines, shared, max(n_work, once.n_work), intrinsics(Lanes(width), fused=shared.fused))


def emit_lanes(
    program: Program, lanes: Lanes, *, each: bool = False, fused: bool = True, piece: int | None = None
) -> Module:
    """Write the main part of a program for several states side by side, as LLVM text that defines

        void LANES(state, rest, stage, out, work)          one block of states, laid out value by value
        void ROWS(int64 n, sources, stage, out, work)      n states laid out one after the other; see ``rows_text``

    Args:
        program: what to compute.
        lanes: how many states side by side.
        each: whether every state has a stage of its own, also laid out value by value.
        fused: whether the machine has a fused multiply-add.
        piece: about how many operations one function may hold; ``piece_for`` unless given.
    """
    shared = Shared(lanes, fused)
    main = main_unit(LANES, program, shared, piece, each=each)
    return lanes_module(program, main.lines, shared, len(program.outputs), main.n_work, each=each)


def lanes_module(
    program: Program, main: Sequence[str], shared: Shared, n_out: int, n_work: int, *, each: bool
) -> Module:
    """A module with the lines of a function LANES, and ROWS about it; arguments as of ``whole_module``."""
    rows, own = rows_text(ROWS, LANES, program, shared.lanes, n_out=n_out, each=each)
    return _module([*main, rows], shared, own + shared.lanes.width * n_work)


def main_unit(
    name: str,
    program: Program,
    shared: Shared,
    piece: int | None,
    *,
    each: bool = False,
    places: Sequence[int] = (),
) -> Unit:
    """The writer of the main part of a program, done: ``each`` of ``emit_lanes``, ``places`` of ``Unit.write``."""
    groups = {"state": program.state, "rest": program.rest, "stage": program.stage_outputs}
    sources = {node: (array, i) for array, nodes in groups.items() for i, node in enumerate(nodes)}
    unit = Unit(name, ("state", "rest", "stage", "out", "work"), sources, shared, plain=() if each else ("stage",))
    angles = program.angles if shared.lanes == ONE else ()
    unit.write(program.instructions, angles, program.outputs, piece or piece_for(program, shared.lanes), places=places)
    return unit


def _module(lines: Sequence[str], shared: Shared, n_work: int, more: Sequence[str] = ()) -> Module:
    text = "\n".join([*dict.fromkeys([*shared.text("\n".join(lines)), *more]), *lines, ""])
    return Module(text, n_work, tuple(s for s in LIBRARY if f"call double @{s}(" in text))


def _loop(name: str, callee: str, strides: Mapping[str, int]) -> str:
    """A function that calls another n times, its arrays advancing by so many doubles."""
    signature = ", ".join(f"ptr %{a}" for a in strides)
    moving = {a: n for a, n in strides.items() if n}
    advance = "\n".join(f"  %{a}1 = getelementptr inbounds double, ptr %{a}i, i64 {n}" for a, n in moving.items())
    phis = "\n".join(f"  %{a}i = phi ptr [ %{a}, %start ], [ %{a}1, %next ]" for a in moving)
    operands = ", ".join(f"ptr %{a}{'i' * (a in moving)}" for a in strides)
    return f"""define void @{name}(i64 %n, {signature}) nounwind {{
start:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %next, label %finish
next:
  %i = phi i64 [ %n, %start ], [ %j, %next ]
{phis}
  call void @{callee}({operands})
{advance}
  %j = add i64 %i, -1
  %more = icmp sgt i64 %j, 0
  br i1 %more, label %next, label %finish
finish:
  ret void
}}"""
