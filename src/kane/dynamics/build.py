"""``kane.build``: compile equations to Dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.compiler import compile_family, compile_program
from kane.codegen.programs.named import NamedProgram, ProgramFamily, derived
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, list_names, shown, warn
from kane.expression.number_arguments import require, words
from kane.formulation.equations import Equations
from kane.progress import PROGRESS_LOGGER, ProgressBar

if TYPE_CHECKING:
    from kane.codegen.programs.program import Program


class Target(Protocol):
    """Compiler for programs; anything with this ``compile`` method."""

    def compile(self, program: Any) -> Any:
        """Return an ``ArrayFunction`` for a ``Program``."""


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

    def compile(self, program: Program | NamedProgram) -> CompiledFunction:
        """Compile a program to native code.

        Raises:
            CompileError: LLVM cannot generate code for this machine.
        """
        return compile_program(program, cached=self.cache, lanes=self.lanes, threads=self.threads)


def build(equations: Equations, *, programs: Sequence[str] = (), target: Target | None = None) -> Dynamics:
    """Compile equations to native code: the programs that a run needs, and the named ones.

    Every other quantity is compiled when it is first asked for. The first build of a model derives its programs. Later
    processes find the code in the cache by a digest of the model and of kane's sources, and derive nothing. Models with
    joints, loads or Python functions from outside kane have no digest: each process derives their programs and finds
    the code by its LLVM text.

    Args:
        equations: returned by ``formulate``.
        programs: names of programs as in ``Dynamics.function``, such as "inverse" or "jacobian hand".
        target: compiler of the programs; ``LLVM()`` unless given.

    Warns if the model has got bodies, loads, constraints or contacts after ``formulate``: the equations lack them.

    Raises:
        ModelError: ``equations`` did not come from ``formulate``, ``target`` has no method ``compile``, or there is no
            program of a given name.
        CompileError: LLVM cannot generate code for this machine.
    """
    require(equations, Equations, "build takes Equations, which kane.formulate(model) returns")
    given = LLVM() if target is None else target
    if not callable(getattr(given, "compile", None)):
        raise ModelError(f"{shown(target)} compiles no programs; give a target such as kane.LLVM()")
    names = words(programs, "programs", "programs")
    for name in names:
        from kane.formulation.quantities.programs import require_program

        require_program(equations, name)
    _warn_of_later_declarations(equations)
    return compiled_equations(equations, given, names)


def compiled_equations(equations: Equations, target: Target, names: Sequence[str] = ()) -> Dynamics:
    """Compile the programs that a run needs, and the named ones; see ``build``, which checks the arguments."""
    dyn = Dynamics(equations, partial(_compiled, target))
    if equations.embedding.remark:
        PROGRESS_LOGGER.info("%s: constraints are embedded numerically; formulate(model, near=q)", equations.name)
    with ProgressBar(equations.name):
        _compile_for_runs(dyn)
        for name in names:
            dyn.function(name)
    return dyn


def _warn_of_later_declarations(equations: Equations) -> None:
    """Warn if the model that was formulated has got more bodies, loads, constraints or contacts since then."""
    taken = equations.model
    now, later = taken.ground.model, []
    for kind in ("bodies", "connections", "loads", "constraints", "intermittents"):
        added = getattr(now, kind)[len(getattr(taken, kind)) :]
        later += [repr(getattr(x, "name", "")) if getattr(x, "name", "") else f"a {type(x).__name__}" for x in added]
    if later:
        warn(
            f"the equations of {equations.name!r} lack {list_names(later)}, declared after kane.formulate(model); "
            "formulate the model again"
        )


def _compile_for_runs(dyn: Dynamics) -> None:
    """Compile the programs that ``kane.simulate`` calls.

    Programs that cannot be derived, such as accelerations of a model without inertia, raise when they are asked for.
    """
    with suppress(ModelError):
        dyn.function("rhs")
    with suppress(ModelError):
        dyn.function("energy")
    with suppress(ModelError):
        if dyn.project is not None:
            dyn.function("constraints")
            dyn.function("configuration")
        if dyn.equations.intermittents:
            from kane.dynamics.contacts.contact_functions import contact_functions  # here, because it takes 15 ms
            from kane.dynamics.contacts.gaps import gap_function

            gap_function(dyn)
            contact_functions(dyn)


def _compiled(target: Target, given: Program | NamedProgram | ProgramFamily) -> Any:
    """Compile a program or a family of programs; targets other than LLVM compile programs one by one."""
    if isinstance(given, ProgramFamily):
        if type(target) is LLVM:
            return compile_family(given, cached=target.cache, threads=target.threads)
        return [target.compile(derived(member)) for member in given.members()]
    return target.compile(given if type(target) is LLVM else derived(given))
