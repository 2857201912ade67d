"""Functions of constrained equations that native code computes numerically from the programs of one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.compiled_modes import NO_COMPILED_MODES, CompiledModes
from kane.dynamics.embedded.compiled_selections import CompiledSelection, with_selections
from kane.dynamics.embedded.constrained_function import ConstrainedFunction, Parts
from kane.dynamics.embedded.embedded_quantity import RULES, EmbeddedQuantity
from kane.dynamics.embedded.front_plan import FrontPlan, front_plan
from kane.dynamics.named_programs import NamedPrograms
from kane.engine.memory.views import embedding_terms_size, projected_state_size
from kane.engine.project.projection import project as native_projection
from kane.engine.rows import embedding
from kane.engine.rows import front_embedding as loops


class EmbeddedFunctions:
    """Factory of these functions; each is made when it is first needed.

    Args:
        programs: programs of equations with constraints, or with configuration rows that their speeds satisfy.
        modes: speed selections that have compiled equations.
    """

    def __init__(self, programs: NamedPrograms, modes: CompiledModes = NO_COMPILED_MODES) -> None:
        self._equations, self._programs, self._modes = programs.equations, programs, modes
        equations, free = self._equations, programs.of("unconstrained")
        rows = [programs.code(name) for name in ("constraints", "configuration")]
        rows.append(free.code("kinematics"))
        last, plan = programs.code_with_notes("unconstrained", notes=lambda: front_plan(equations))
        by_own = None if equations.system.own is None else EmbeddedFunctions(programs.of("own")).project()
        self._parts = Parts(equations, (*rows, last), by_own, FrontPlan(*plan))

    def make(self, name: str) -> ArrayFunction:
        """Return a function by name: "embedding", or a quantity that the equations do not express symbolically."""
        own = self._makers.get(name)
        if own is not None:
            return own()
        free = self._programs.of("unconstrained").code(RULES[name][0])
        return EmbeddedQuantity(name, self._embedding(), free)

    def project(self) -> ConstrainedFunction:
        """Return the projection; see ``Dynamics.project``."""
        return self._in_runs[1]

    @cached_property
    def _in_runs(self) -> tuple[ConstrainedFunction, ConstrainedFunction]:
        """Right-hand side and projection for runs, with compiled speed selections if there are any."""
        eqs = self._equations
        nq, n, mode = len(eqs.q), len(eqs.u), eqs.embedding.choice.in_runs
        length = projected_state_size(n, nq)
        projections = ConstrainedFunction(
            "project", native_projection, self._parts, length, mode=mode, rest=eqs.inputs, threads=1
        )
        numeric = self._constrained("rhs", self._native.rhs, nq + n), projections
        chosen = [CompiledSelection.of(choice, self._programs.compile) for choice in self._modes.chosen(eqs)]
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
            "embedding", self._native.embedding, embedding_terms_size(len(self._equations.u)), decisive=1
        )

    def _constrained(
        self, name: str, native: Callable[[], int], length: int, *, first: int = 0, decisive: int | None = None
    ) -> ConstrainedFunction:
        mode, inputs = self._equations.embedding.choice.alone, self._equations.inputs
        return ConstrainedFunction(
            name, native, self._parts, length, mode=mode, first=first, rest=inputs, decisive=decisive
        )
