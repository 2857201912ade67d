"""Compile programs to native code in this process with LLVM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm

from kane.codegen.emit.symbols import MAIN, ROWS_LOOP, STAGES
from kane.codegen.jit.batches import LaneCode
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.description import CodeDescription, text_hash
from kane.codegen.programs.named import NamedProgram, ProgramFamily, derived
from kane.errors import CompileError
from kane.expression.collector import collector_paused
from kane.machine.linker import Linked, link
from kane.machine.memory import free_memory
from kane.machine.object_cache import ObjectCache, environment_cache
from kane.machine.processor import CODE_MODEL, RELOCATION, feature_text, features, target_machine
from kane.machine.sources import unchanged
from kane.progress import stage

if TYPE_CHECKING:
    from kane.codegen.emit.lanes import Lanes
    from kane.codegen.emit.llvm import Module
    from kane.codegen.programs.alike import AlikeProgram
    from kane.codegen.programs.program import Program

# Measured on programs of 1,000 to 12,000 operations: level 1 makes code as fast as levels 2 and 3, in less time. Code
# of level 0 is half as fast. Passes on the LLVM text, SLP vectorizer included, are slow and gain nothing.
OPTIMIZATION_LEVEL = 1
# Upper bounds for the memory of LLVM [bytes], per module and per character of its text. Measured: 1 to 27 bytes per
# character, the most for a single function with 80,000 operations.
ROOM, ROOM_EACH = 32_000_000, 27
# Functions of the code that computes one state after the other.
SCALAR = (MAIN, ROWS_LOOP, STAGES)
# Version of the code cache. Increase it if the compilation changes in a way that ``_origin`` does not record.
LAYOUT = 1


def compile_program(
    program: Program | NamedProgram,
    *,
    piece: int | None = None,
    cached: bool = True,
    lanes: bool | None = None,
    threads: int | None = None,
) -> CompiledFunction:
    """Compile a program for this machine, or load its code from the cache on disk.

    A named program is derived only if the cache has no code with its key.

    Args:
        program: program to compile.
        piece: approximate number of operations per native function; the default depends on the program's length.
        cached: whether to use the cache on disk (see ``environment_cache``).
        lanes: whether to compute batches in SIMD lanes; by default, once their compilation pays.
        threads: largest number of threads for one batch; default is the number of processors.

    Raises:
        CompileError: LLVM rejects the program, memory may not suffice, or a C library function is missing.
    """
    cache, machine = environment_cache() if cached else None, _target_machine()

    def compile_lanes(each: bool) -> LaneCode:
        from kane.codegen.emit.lanes import Lanes

        return _load_lanes(program, Lanes(lane_width()), each, piece=piece, cache=cache)

    able = compile_lanes if lane_width() > 1 and lanes is not False else None
    options = {"lanes": able, "eager": bool(lanes), "threads": threads}
    named = program if isinstance(program, NamedProgram) and program.key is not None else None
    if cache is not None and named is not None and (found := _found(named, cache, machine, options)):
        return found
    from kane.codegen.emit.llvm import emit_llvm

    given = derived(program)
    with stage(f"compiling {program.name}"):
        with collector_paused():
            module = emit_llvm(given, fused=_fuses(machine), piece=piece)
        function = _load(program, module, machine, cache, **options)
    if cache is not None and named is not None and unchanged():
        description = CodeDescription.whole(named.program, module, named.notes)
        cache.keep({**_target(machine), "named": named.key}, description.written())
    return function


def compile_family(family: ProgramFamily, *, cached: bool = True, threads: int | None = None) -> list[CompiledFunction]:
    """Compile the programs of a family together, or load their code from the cache on disk.

    Programs that share operations have one native function. Batches are computed without lanes. For the arguments and
    errors see ``compile_program``.
    """
    from kane.codegen.emit.llvm_alike import emit_alike, symbols_of

    if not family.names:
        return []
    cache, machine = environment_cache() if cached else None, _target_machine()
    key = None if cache is None or family.key is None else {**_target(machine), "named": family.key}
    found = _found_family(cache, key, machine) if cache is not None and key is not None else None
    if found is None:
        programs = family.alike
        groups: list[list[AlikeProgram]] = [[] for _ in {one.group for one in programs}]
        for one in programs:
            groups[one.group].append(one)
        with stage(f"compiling {family.name}"):
            with collector_paused():
                module = emit_alike(groups, fused=_fuses(machine))
            code = _compiled(family.name, module, machine, cache)
        text = text_hash(module.text)
        found = [(one.group, CodeDescription.of_alike(one, module, text)) for one in programs], code
        if cache is not None and key is not None and unchanged():
            cache.keep(key, json.dumps([[g, description._asdict()] for g, description in found[0]]).encode())
    descriptions, code = found
    names = [name for g in range(1 + max(g for g, _ in descriptions)) for name in symbols_of(g)]
    engine, addresses = link(family.name, code, names, descriptions[0][1].symbols, machine)
    return [
        CompiledFunction(named, description, addresses[3 * g : 3 * g + 3], engine=engine, threads=threads)
        for named, (g, description) in zip(family.members(), descriptions, strict=True)
    ]


def _found_family(
    cache: ObjectCache, key: dict[str, Any], machine: Any
) -> tuple[list[tuple[int, CodeDescription]], bytes] | None:
    """Return group and description of each program, and the code; None if the cache lacks one of them."""
    content = cache.find(key)
    if content is None:
        return None
    found = [(group, CodeDescription(**given)) for group, given in json.loads(content)]
    code = cache.find({**_target(machine), "text": found[0][1].text})
    return None if code is None else (found, code)


def _found(named: NamedProgram, cache: ObjectCache, machine: Any, options: dict[str, Any]) -> CompiledFunction | None:
    """Return the code of a named program from the cache; None if the description or the code is missing."""
    target = _target(machine)
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


def lane_width() -> int:
    """Return the number of doubles per register of this machine: 8 (AVX-512), 4 (AVX2 with FMA), else 1 (no lanes)."""
    known = features()
    if known.get("avx512f", False):
        return 8
    return 4 if known.get("avx2", False) and known.get("fma", False) else 1


def _load(
    program: Program | NamedProgram,
    module: Module,
    machine: Any,
    cache: ObjectCache | None = None,
    **options: Any,
) -> CompiledFunction:
    description = CodeDescription.of(derived(program), module.n_work)
    engine, addresses = _linked(program.name, module, SCALAR, machine, cache)
    return CompiledFunction(program, description, addresses, engine=engine, **options)


def _load_lanes(
    source: Program | NamedProgram,
    lanes: Lanes,
    each: bool,
    *,
    piece: int | None = None,
    cache: ObjectCache | None = None,
) -> LaneCode:
    """Return code of a program for several states in SIMD lanes."""
    from kane.codegen.emit.lane_rows import state_widths
    from kane.codegen.emit.llvm import emit_llvm

    machine, program = _target_machine(), derived(source)
    with stage(f"compiling {program.name} in lanes"):
        with collector_paused():
            module = emit_llvm(program, lanes, each=each, fused=_fuses(machine), piece=piece)
        engine, addresses = _linked(program.name, module, (MAIN, ROWS_LOOP), machine, cache)
    widths = state_widths(program, lanes)
    return LaneCode(addresses, lanes=lanes, each=each, state_widths=widths, n_work=module.n_work, engine=engine)


def _linked(
    title: str, module: Module, names: Sequence[str], machine: Any, cache: ObjectCache | None
) -> tuple[Linked, list[int]]:
    """Return the owner of a module's code in memory, and the addresses of its functions."""
    return link(title, _compiled(title, module, machine, cache), names, module.symbols, machine)


def _compiled(title: str, module: Module, machine: Any, cache: ObjectCache | None) -> bytes:
    """Return the code of a module as an object file; ``title`` is its name in messages."""
    try:
        return _code(module.text, machine, cache)
    except RuntimeError as error:
        raise CompileError(f"LLVM could not compile {title!r}: {error}") from error


def _code(text: str, machine: Any, cache: ObjectCache | None) -> bytes:
    """Return the code of a module as an object file, from the cache if possible."""
    if cache is None:
        return _object_code(text, machine)
    return cache.get(_origin(text, machine), lambda: _object_code(text, machine))


def _object_code(text: str, machine: Any) -> bytes:
    needed, free = ROOM + ROOM_EACH * len(text), free_memory()
    if needed > free:  # LLVM ends the process if memory runs out
        raise RuntimeError(
            f"this may take {needed / 1e6:.0f} MB of memory, but only {free / 1e6:.0f} MB are free; free memory, or "
            "compile less at once, for example fewer contact modes"
        )
    return machine.emit_object(_parsed(text, machine))


def _parsed(text: str, machine: Any) -> Any:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = machine.triple
    return module


def _origin(text: str, machine: Any) -> dict[str, object]:
    """Return all settings that determine the result of ``_object_code``, as the key of the cache."""
    return {**_target(machine), "text": text_hash(text)}


def _target(machine: Any) -> dict[str, object]:
    """Return the settings that determine how text becomes code."""
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
    """Return whether multiply-add is one instruction, as on 64-bit ARM; otherwise llvm.fma calls a slow function."""
    return machine.triple.startswith(("aarch64", "arm64")) or features().get("fma", False)


def _target_machine() -> Any:
    return target_machine(optimization=OPTIMIZATION_LEVEL)
