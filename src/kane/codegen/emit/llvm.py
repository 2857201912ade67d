"""Emit programs as LLVM text: functions of bounded size with one calling convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.codegen.emit.lane_rows import rows_text
from kane.codegen.emit.lanes import ONE, Lanes, intrinsics
from kane.codegen.emit.llvm_function import Shared
from kane.codegen.emit.llvm_operations import LIBRARY
from kane.codegen.emit.llvm_parts import LONG_PROGRAM, Unit
from kane.codegen.programs.program import Program

MAIN, STAGE, BATCH = "kane_main", "kane_stage", "kane_batch"
BATCH_EACH, STAGES = "kane_batch_each", "kane_stages"
LANES, ROWS_LOOP = "kane_lanes", "kane_rows"
# Operations per function. The time of LLVM's register allocator grows faster than the function length. But its
# scheduler can interleave distant operations of one function, which makes forward dynamics faster. Measured on arms,
# ANYmal and Talos: pieces of 1,500 compile 10 % slower than pieces of 600 and run up to 20 % faster; larger ones gain
# nothing. Long programs gain nothing from interleaving. On chains of 100 joints, pieces of 700 compile in 40 % less
# time than pieces of 1,500 and run at least as fast.
PIECE = 1500
PIECE_OF_LONG = 700
# In lanes, each value that crosses to another piece costs a write and a read of 64 bytes. Talos in one piece runs 25 to
# 33 % faster than in pieces of 1,500, and compiles 10 % slower.
PIECE_OF_LANES = 8000


@dataclass(frozen=True)
class Module:
    """LLVM text of a program.

    Attributes:
        text: LLVM text of the module.
        n_work: scratch memory for any of its functions [doubles].
        symbols: C library functions that the module calls.
    """

    text: str
    n_work: int
    symbols: tuple[str, ...]


def piece_for(program: Program, lanes: Lanes = ONE) -> int:
    """Return the approximate number of operations per function for this program."""
    if len(program.instructions) > LONG_PROGRAM:
        return PIECE_OF_LONG
    return PIECE if lanes == ONE else PIECE_OF_LANES


def emit_llvm(program: Program, *, fused: bool = True, piece: int | None = None) -> Module:
    """Return a program as LLVM text that defines the functions MAIN, STAGE, BATCH, BATCH_EACH and STAGES.

    Args:
        program: program to write.
        fused: whether the machine has a fused multiply-add.
        piece: approximate number of operations per function; default ``piece_for(program)``.
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
    """Return a module with a given main function, the function of the parameter stage and the loops over batches.

    Args:
        program: program whose leaves and constants the main function reads.
        main: lines of the function MAIN and of the functions that it calls.
        shared: declarations and tables that these functions share.
        n_out, n_work: numbers of outputs of the main function, and of doubles of scratch that it needs.
        piece: see ``emit_llvm``.
        width: lanes of the widest values in these functions.
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
    """Return the main part of a program, for several states in SIMD lanes, as LLVM text.

    The text defines two functions:

        void LANES(state, rest, stage, out, work)          one block of states, laid out value by value
        void ROWS_LOOP(int64 n, sources, stage, out, work) n states laid out one after the other; see ``rows_text``

    Args:
        program: program to write.
        lanes: number of states per block.
        each: whether every state has its own constants, also laid out value by value.
        fused: whether the machine has a fused multiply-add.
        piece: approximate number of operations per function; default ``piece_for(program, lanes)``.
    """
    shared = Shared(lanes, fused)
    main = main_unit(LANES, program, shared, piece, each=each)
    return lanes_module(program, main.lines, shared, len(program.outputs), main.n_work, each=each)


def lanes_module(
    program: Program, main: Sequence[str], shared: Shared, n_out: int, n_work: int, *, each: bool
) -> Module:
    """Return a module with a given function LANES and the ROWS_LOOP around it; arguments as for ``whole_module``."""
    rows, own = rows_text(ROWS_LOOP, LANES, program, shared.lanes, n_out=n_out, each=each)
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
    """Write the main part of a program; for ``each`` see ``emit_lanes``, for ``places`` see ``Unit.write``."""
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
    """Return a function that calls another one n times and advances each array by its stride in doubles."""
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
