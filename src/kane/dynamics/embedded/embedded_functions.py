"""Functions of constrained equations that native code computes numerically from the programs of one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.compiled_modes import NO_COMPILED_MODES, CompiledModes
from kane.dynamics.embedded.compiled_selections import CompiledSelection, with_selections
from kane.dynamics.embedded.constrained_function import ConstrainedFunction, Parts
from kane.dynamics.embedded.embedded_quantity import RULES, EmbeddedQuantity
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program
from kane.native import embedding, loops
from kane.native.blocks import embedding_places, settled_places
from kane.native.settle import settle as native_projection


class EmbeddedFunctions:
    """Factory of these functions; each is made when it is first needed.

    Args:
        equations: equations with constraints, or with configuration rows that their speeds satisfy identically.
        compile: compiler of programs.
        modes: speed selections that have compiled equations.
    """

    def __init__(
        self,
        equations: Equations,
        compile: Callable[[Program], CompiledFunction],
        modes: CompiledModes = NO_COMPILED_MODES,
    ) -> None:
        self._equations, self._compile, self._modes = equations, compile, modes
        free, own = equations.unconstrained, equations.system.own
        programs = [program(equations, "constraints"), program(equations, "configuration")]
        programs += [program(free, "kinematics"), program(equations, "unconstrained")]
        by_own = None if own is None else EmbeddedFunctions(equations.own, compile).project()
        self._parts = Parts(equations, tuple(self._compile(p) for p in programs), by_own)

    def make(self, name: str) -> ArrayFunction:
        """Return a function by name: "embedding", or a quantity that the equations do not express symbolically."""
        own = self._makers.get(name)
        if own is not None:
            return own()
        free = self._compile(program(self._equations.unconstrained, RULES[name][0]))
        return EmbeddedQuantity(name, self._embedding(), free)

    def project(self) -> ConstrainedFunction:
        """Return the projection; see ``Dynamics.project``."""
        return self._in_runs[1]

    @cached_property
    def _in_runs(self) -> tuple[ConstrainedFunction, ConstrainedFunction]:
        """Right-hand side and projection for runs, with compiled speed selections if there are any."""
        eqs = self._equations
        nq, n, mode = len(eqs.q), len(eqs.u), eqs.embedding.choice.in_runs
        length = settled_places(n, nq).end
        projections = ConstrainedFunction(
            "settle", native_projection, self._parts, length, mode=mode, rest=eqs.inputs, threads=1
        )
        numeric = self._constrained("rhs", self._native.rhs, nq + n), projections
        chosen = [CompiledSelection.of(choice, self._compile) for choice in self._modes.chosen(eqs)]
        grows = self._modes.met and not eqs.intermittents
        return with_selections(numeric, chosen) if chosen or grows else numeric

    @property
    def _makers(self) -> Mapping[str, Callable[[], ConstrainedFunction]]:
        nq, n = len(self._equations.q), len(self._equations.u)
        return {
            "embedding": self._embedding,
            "rhs": lambda: self._in_runs[0],
            "forward": lambda: self._constrained("forward", self._native.rhs, n, first=nq),
        }

    @property
    def _native(self) -> Any:
        """Native module of the embedding: front by front, or dense."""
        return loops if self._parts.plan.number else embedding

    def _embedding(self) -> ConstrainedFunction:
        # The program "unconstrained" adds only remainders; they depend on the same symbols as A u + b, or fewer.
        return self._constrained(
            "embedding", self._native.embedding, embedding_places(len(self._equations.u)).end, decisive=1
        )

    def _constrained(
        self, name: str, native: Callable[[], int], length: int, *, first: int = 0, decisive: int | None = None
    ) -> ConstrainedFunction:
        mode, inputs = self._equations.embedding.choice.alone, self._equations.inputs
        return ConstrainedFunction(
            name, native, self._parts, length, mode=mode, first=first, rest=inputs, decisive=decisive
        )
