"""Emit programs as LLVM text: functions of bounded size with one calling convention."""

from __future__ import annotations

from dataclasses import dataclass

from kane.codegen.emit.lane_rows import rows_text
from kane.codegen.emit.lanes import ONE, Lanes, loop_lines
from kane.codegen.emit.llvm_function import Shared
from kane.codegen.emit.llvm_operations import LIBRARY
from kane.codegen.emit.llvm_parts import LONG_PROGRAM, Unit
from kane.codegen.emit.llvm_routines import FIRST, RoutineCalls
from kane.codegen.emit.symbols import MAIN, ROWS_LOOP, STAGE, STAGES
from kane.codegen.programs.parts import ProgramInParts
from kane.codegen.programs.program import Program

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


def emit_llvm(
    program: Program, lanes: Lanes = ONE, *, each: bool = False, fused: bool = True, piece: int | None = None
) -> Module:
    """Return a program as LLVM text.

    The text defines two functions, and for one lane two more:

        void MAIN(state, rest, stage, out, work)           one block of states, laid out value by value
        void ROWS_LOOP(int64 n, sources, stage, out, work) n states laid out one after the other; see ``rows_text``
        void STAGE(parameters, stage, work)                the constants of a program
        void STAGES(int64 n, parameters, stage, work)      n constants, laid out one after the other

    Args:
        program: program to write.
        lanes: number of states per block.
        each: whether every state has its own constants, also laid out value by value. With one lane, ROWS_LOOP always
            reads the constants from the sources.
        fused: whether the machine has a fused multiply-add.
        piece: approximate number of operations per function; default ``piece_for(program, lanes)``.
    """
    shared = Shared(lanes, fused)
    main, n_work = _main(program, shared, piece or piece_for(program, lanes), plain=not each)
    rows, n_rows = rows_text(ROWS_LOOP, MAIN, program, lanes, each=each or lanes == ONE)
    lines, n_work = [*main, rows], n_rows + lanes.width * n_work
    if lanes == ONE:
        once = _stage_unit(program, shared, piece or piece_for(program))
        lines += [*once.lines, stages_loop(STAGES, STAGE, len(program.parameters), len(program.stage_outputs))]
        n_work = max(n_work, once.n_work)
    text = "\n".join([*dict.fromkeys(shared.text("\n".join(lines))), *lines, ""])
    return Module(text, n_work, tuple(s for s in LIBRARY if f"call double @{s}(" in text))


def _main(program: Program, shared: Shared, piece: int, *, plain: bool) -> tuple[list[str], int]:
    """Return LLVM text of the function MAIN and of the functions that it calls, and its scratch memory in registers."""
    groups = {"state": program.state, "rest": program.rest, "stage": program.stage_outputs}
    sources = {node: (array, i) for array, nodes in groups.items() for i, node in enumerate(nodes)}
    calls = RoutineCalls(program, shared) if isinstance(program, ProgramInParts) else None
    arrays = ("state", "rest", "stage", "out", "work")
    unit = Unit(FIRST if calls else MAIN, arrays, sources, shared, plain=("stage",) if plain else ())
    angles = program.angles if shared.lanes == ONE else ()
    unit.write(program.instructions, angles, program.outputs, piece, places=calls.places if calls else ())
    if calls is None:
        return unit.lines, unit.n_work
    return [*unit.lines, *calls.text(MAIN)], unit.n_work + calls.n_work


def _stage_unit(program: Program, shared: Shared, piece: int) -> Unit:
    """Write the function STAGE."""
    parameters = {leaf: ("parameters", i) for i, leaf in enumerate(program.parameters)}
    unit = Unit(STAGE, ("parameters", "out", "work"), parameters, shared)
    unit.write(program.stage_nodes, (), program.stage_outputs, piece)
    return unit


def stages_loop(name: str, callee: str, n_parameters: int, n_stage: int) -> str:
    """Return LLVM text of a function STAGES that calls a function STAGE, for arrays of these lengths."""
    body = [
        f"  %p1 = getelementptr inbounds double, ptr %p, i64 {n_parameters}",
        f"  %s1 = getelementptr inbounds double, ptr %s, i64 {n_stage}",
        f"  call void @{callee}(ptr %p, ptr %s, ptr %work)",
    ]
    carried = [("%p", "ptr", "%parameters", "%p1"), ("%s", "ptr", "%stage", "%s1")]
    lines = [
        f"define void @{name}(i64 %n, ptr %parameters, ptr %stage, ptr %work) nounwind {{",
        "  %any = icmp sgt i64 %n, 0",
        "  br i1 %any, label %next, label %none",
        "none:",
        "  ret void",
        "next:",
        *loop_lines("next", "%n", body, carried=carried),
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
