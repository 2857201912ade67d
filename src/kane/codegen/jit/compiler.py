"""Native code in this process, by LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from kane.codegen.emit.lanes import Lanes
from kane.codegen.emit.llvm import BATCH, BATCH_EACH, LANES, MAIN, ROWS, STAGE, STAGES, Module, emit_lanes, emit_llvm
from kane.codegen.emit.llvm_composed import emit_composed
from kane.codegen.emit.llvm_composed_lanes import emit_composed_lanes
from kane.codegen.jit.batches import LaneCode
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.description import CodeDescription, text_hash
from kane.codegen.programs.composed import Composed
from kane.codegen.programs.named import NamedProgram
from kane.codegen.programs.program import Program
from kane.errors import CompileError
from kane.expression.collector import collector_paused
from kane.machine.linker import Linked, link
from kane.machine.memory import free_memory
from kane.machine.object_cache import ObjectCache, environment_cache
from kane.machine.processor import CODE_MODEL, RELOCATION, feature_text, features, target_machine
from kane.machine.sources import unchanged
from kane.progress import stage

# Measured on programs of 1,000 to 12,000 operations: level 1 makes code as fast as levels 2 and 3 do, in less time, and
# level 0 code half as fast; passes on the LLVM text (SLP vectorizer included) take long and find nothing.
OPTIMIZATION_LEVEL = 1
# Bytes of memory that LLVM takes at most, for a module and for each letter of its text: measured 1 to 27 each, the most
# where straight-line code of 80,000 operations is in one function.
ROOM, ROOM_EACH = 32_000_000, 27
# Functions of the code of one state after the other.
SCALAR = (MAIN, STAGE, BATCH, BATCH_EACH, STAGES)
# Of what is kept on disk: a new number for anything new in how text becomes code that ``_origin`` does not say.
LAYOUT = 1


def compile_program(
    program: Program,
    *,
    piece: int | None = None,
    cached: bool = True,
    lanes: bool | None = None,
    threads: int | None = None,
) -> CompiledFunction:
    """Compile a program for the machine at hand, or take its code from the cache on disk.

    Args:
        program: what to compute.
        piece: about how many operations one native function may hold; by the length of the program unless given.
        cached: whether code is kept on disk (see ``environment_cache``).
        lanes: whether batches are computed several states side by side; once it pays unless given.
        threads: how many may work on one batch; as many as there are processors unless given.

    Raises:
        CompileError: LLVM refused the program, might find no memory for it, or found no function of the C library.
    """
    cache = environment_cache() if cached else None
    options = _options(program, cache, piece=piece, lanes=lanes, threads=threads)
    return _compiled(program, cache, options, piece=piece)[0]


def compile_named(
    named: NamedProgram, *, cached: bool = True, lanes: bool | None = None, threads: int | None = None
) -> CompiledFunction:
    """Compile a named program, or take its code from the cache on disk without deriving it.

    Args:
        named: what to compute.
        cached, lanes, threads: see ``compile_program``.

    Raises:
        CompileError: as ``compile_program``.
    """
    cache = environment_cache() if cached else None
    options = _options(named, cache, lanes=lanes, threads=threads)
    if cache is None or named.key is None:
        return _compiled(named, cache, options)[0]
    machine = _target_machine()
    target = _target(machine)
    found = _found(named, cache, target, machine, options)
    if found is not None:
        return found
    function, module = _compiled(named, cache, options)
    if unchanged():
        cache.keep({**target, "named": named.key}, CodeDescription.whole(named.program, module, named.notes).written())
    return function


def _found(
    named: NamedProgram, cache: ObjectCache, target: dict[str, object], machine: Any, options: dict[str, Any]
) -> CompiledFunction | None:
    """Return the code of a named program from the cache; None if the description or the code is missing."""
    content = cache.find({**target, "named": named.key})
    if content is None:
        return None
    description = CodeDescription.read(content)
    code = cache.find({**target, "text": description.text})
    if code is None:
        return None
    engine, addresses = link(named.name, code, SCALAR, description.symbols, machine)
    named.know(description.notes)
    return CompiledFunction(named, description, addresses, engine=engine, **options)


def _options(
    program: Program | NamedProgram,
    cache: ObjectCache | None,
    *,
    lanes: bool | None,
    threads: int | None,
    piece: int | None = None,
) -> dict[str, Any]:
    """Return what a function needs to compute batches."""
    compile_lanes = partial(_load_lanes, program, Lanes(lane_width()), piece=piece, cache=cache)
    able = compile_lanes if lane_width() > 1 and lanes is not False else None
    return {"lanes": able, "eager": bool(lanes), "threads": threads}


def _compiled(
    source: Program | NamedProgram, cache: ObjectCache | None, options: dict[str, Any], *, piece: int | None = None
) -> tuple[CompiledFunction, Module]:
    """Return the code of a program and its LLVM text."""
    machine, program = _target_machine(), source.program if isinstance(source, NamedProgram) else source
    with stage(f"compiling {program.name}"):
        with collector_paused():
            module = emit_llvm(program, fused=_fuses(machine), piece=piece)
        return _load(source, module, machine, cache, **options), module


def compile_composed(
    composed: Composed, *, cached: bool = True, lanes: bool | None = None, threads: int | None = None
) -> CompiledFunction:
    """Compile a composed program, which has the leaves and the stage of its first one; see ``compile_program``.

    Raises:
        CompileError: as ``compile_program``.
    """
    cache = environment_cache() if cached else None
    machine = _target_machine()
    program = composed.first
    compile_lanes = partial(_load_lanes, program, Lanes(lane_width()), cache=cache, composed=composed)
    able = compile_lanes if lanes is not False else None
    options: dict[str, Any] = {"lanes": able, "eager": bool(lanes), "threads": threads}
    with stage(f"compiling {program.name}"):
        with collector_paused():
            module = emit_composed(composed, fused=_fuses(machine))
        return _load(program, module, machine, cache, operations=sum(composed.operations), **options)


def lane_width() -> int:
    """How many doubles the registers of this machine hold where lanes pay: 8 (AVX-512), 4 (AVX2) or 1."""
    known = features()
    if known.get("avx512f", False):
        return 8
    return 4 if known.get("avx2", False) and known.get("fma", False) else 1


def _load(
    program: Program | NamedProgram,
    module: Module,
    machine: Any,
    cache: ObjectCache | None = None,
    *,
    operations: int | None = None,
    **options: Any,
) -> CompiledFunction:
    derived = program.program if isinstance(program, NamedProgram) else program
    description = CodeDescription.of(derived, module.n_work, operations)
    engine, addresses = _linked(program.name, module, SCALAR, machine, cache)
    return CompiledFunction(program, description, addresses, engine=engine, **options)


def _load_lanes(
    source: Program | NamedProgram,
    lanes: Lanes,
    each: bool,
    *,
    piece: int | None = None,
    cache: ObjectCache | None = None,
    composed: Composed | None = None,
) -> LaneCode:
    """Code for several states side by side, of the composed program that begins with this one if there is one."""
    machine, program = _target_machine(), source.program if isinstance(source, NamedProgram) else source
    with stage(f"compiling {program.name} in lanes"):
        with collector_paused():
            if composed is None:
                module = emit_lanes(program, lanes, each=each, fused=_fuses(machine), piece=piece)
            else:
                module = emit_composed_lanes(composed, lanes, each=each, fused=_fuses(machine))
        engine, addresses = _linked(program.name, module, (LANES, ROWS), machine, cache)
    return LaneCode(program, addresses, width=lanes.width, each=each, n_work=module.n_work, engine=engine)


def _linked(
    title: str, module: Module, names: Sequence[str], machine: Any, cache: ObjectCache | None
) -> tuple[Linked, list[int]]:
    """What owns the code of a module in memory, and the addresses of its functions."""
    try:
        code = _code(module.text, machine, cache)
    except RuntimeError as error:
        raise CompileError(f"LLVM could not compile {title!r}: {error}") from error
    return link(title, code, names, module.symbols, machine)


def _code(text: str, machine: Any, cache: ObjectCache | None) -> bytes:
    """The code of a module as an object file, from the cache where it is there."""
    if cache is None:
        return _object_code(text, machine)
    return cache.get(_origin(text, machine), lambda: _object_code(text, machine))


def _object_code(text: str, machine: Any) -> bytes:
    needed, free = ROOM + ROOM_EACH * len(text), free_memory()
    if needed > free:  # LLVM ends the process where it finds none
        raise RuntimeError(
            f"that may take {needed / 1e6:.0f} MB of memory, and {free / 1e6:.0f} MB are left; free some, or ask for "
            "less at once, such as fewer modes"
        )
    return machine.emit_object(_parsed(text, machine))


def _parsed(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = machine.triple
    return module


def _origin(text: str, machine: Any) -> dict[str, object]:
    """Return everything that decides what ``_object_code`` returns."""
    return {**_target(machine), "text": text_hash(text)}


def _target(machine: Any) -> dict[str, object]:
    """Return what decides how text becomes code; ``_target_machine`` holds the rest of its settings."""
    return {
        "triple": machine.triple,
        "cpu": llvm.get_host_cpu_name(),
        "features": feature_text(),
        "optimization": OPTIMIZATION_LEVEL,
        "relocation": RELOCATION,
        "model": CODE_MODEL,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
        "layout": LAYOUT,
    }


def _fuses(machine: Any) -> bool:
    """Whether multiply-add is one instruction; without it llvm.fma would call a slow function. 64-bit ARM has it."""
    return machine.triple.startswith(("aarch64", "arm64")) or features().get("fma", False)


def _target_machine() -> Any:
    return target_machine(optimization=OPTIMIZATION_LEVEL)
