"""Equations to Dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kane.codegen.compiled import CompiledFunction
from kane.codegen.jit import compile_program
from kane.codegen.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.formulation.equations import Equations


class Target(Protocol):
    """What turns a program into something callable."""

    def compile(self, program: Program) -> CompiledFunction:
        """Code for a program."""


@dataclass(frozen=True)
class LLVM:
    """Native code in this process."""

    def compile(self, program: Program) -> CompiledFunction:
        """Native code for a program.

        Raises:
            CompileError: LLVM cannot make code for this machine.
        """
        return compile_program(program)


def build(equations: Equations, *, target: Target | None = None) -> Dynamics:
    """Equations as native code; each quantity is compiled when it is first asked for.

    Args:
        equations: from ``formulate``.
        target: what makes code of them; ``LLVM()`` unless given.
    """
    return Dynamics(equations, (target or LLVM()).compile)
