"""Equations to Dynamics."""

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
    """What turns a program into something callable."""

    def compile(self, program: Any) -> Any:
        """An ``ArrayFunction`` of a ``Program``, or of a ``Composed`` one."""


@dataclass(frozen=True, kw_only=True)
class LLVM:
    """Native code in this process.

    Attributes:
        cache: whether code is kept on disk for the next process. The environment decides where: KANE_CACHE_DIR names a
            folder other than the user's cache folder, KANE_CACHE=off switches the cache off.
        lanes: whether batches are computed several states side by side in the registers; once it pays unless given.
            The results are the same to the last bit.
        threads: how many may work on one batch; as many as there are processors unless given.
    """

    cache: bool = True
    lanes: bool | None = None
    threads: int | None = None

    def compile(self, program: Program | Composed) -> CompiledFunction | ComposedFunction:
        """Native code for a program.

        Raises:
            CompileError: LLVM cannot make code for this machine.
        """
        if isinstance(program, Composed):
            return ComposedFunction(program, cached=self.cache, lanes=self.lanes, threads=self.threads)
        return compile_program(program, cached=self.cache, lanes=self.lanes, threads=self.threads)


def build(equations: Equations, *, target: Target | None = None) -> Dynamics:
    """Equations as native code; each quantity is compiled when it is first asked for.

    Args:
        equations: from ``formulate``.
        target: what makes code of them; ``LLVM()`` unless given.

    Raises:
        ModelError: ``equations`` is not what ``formulate`` returns.
    """
    if not isinstance(equations, Equations):
        raise ModelError(f"build takes Equations, which kane.formulate(model) returns, not {shown(equations)}")
    compiler = getattr(LLVM() if target is None else target, "compile", None)
    if not callable(compiler):
        raise ModelError(f"{shown(target)} compiles no programs; give a target such as kane.LLVM()")
    return Dynamics(equations, compiler)
