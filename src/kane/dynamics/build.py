"""``kane.build``: compile equations to Dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.compiler import compile_program
from kane.codegen.jit.composed import ComposedFunction
from kane.codegen.programs.composed import Composed
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.formulation.equations import Equations


class Target(Protocol):
    """Compiler for programs; anything with this ``compile`` method."""

    def compile(self, program: Any) -> Any:
        """Return an ``ArrayFunction`` for a ``Program`` or a ``Composed`` program."""


@dataclass(frozen=True, kw_only=True)
class LLVM:
    """Native code in this process, compiled by LLVM.

    Attributes:
        cache: whether code is kept on disk for later processes. KANE_CACHE_DIR names a folder other than the user's
            cache folder; KANE_CACHE=off switches the cache off.
        lanes: whether batches compute several states in SIMD lanes; unless given, lanes are used once they pay off.
            Results are identical to the last bit.
        threads: number of threads per batch; one per processor unless given.
    """

    cache: bool = True
    lanes: bool | None = None
    threads: int | None = None

    def compile(self, program: Program | Composed) -> CompiledFunction | ComposedFunction:
        """Compile a program to native code.

        Raises:
            CompileError: LLVM cannot generate code for this machine.
        """
        if isinstance(program, Composed):
            return ComposedFunction(program, cached=self.cache, lanes=self.lanes, threads=self.threads)
        return compile_program(program, cached=self.cache, lanes=self.lanes, threads=self.threads)


def build(equations: Equations, *, target: Target | None = None) -> Dynamics:
    """Compile equations to native code; each quantity is compiled when it is first needed.

    Args:
        equations: returned by ``formulate``.
        target: compiler of the programs; ``LLVM()`` unless given.

    Raises:
        ModelError: ``equations`` did not come from ``formulate``, or ``target`` has no method ``compile``.
    """
    if not isinstance(equations, Equations):
        raise ModelError(f"build takes Equations, which kane.formulate(model) returns, not {shown(equations)}")
    compiler = getattr(LLVM() if target is None else target, "compile", None)
    if not callable(compiler):
        raise ModelError(f"{shown(target)} compiles no programs; give a target such as kane.LLVM()")
    return Dynamics(equations, compiler)
