"""Gaps of contacts, stops and latches in a small program that compiles fast."""

from __future__ import annotations

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics


def gap_function(dyn: Dynamics) -> tuple[list[str], ArrayFunction]:
    """Return names of contacts, stops and latches, and the function of their gaps [m or rad] at states [t, q, u]."""
    e = dyn.equations
    closing = [c for c in e.intermittents if c.normal is not None]

    def program() -> Program:
        gaps = e.unconstrained.baked_in([c.numbers.gap for c in closing])
        return Program("gaps", gaps, state=(e.t, *e.q, *e.u), rest=e.inputs, parameters=e.parameters)

    return [c.name for c in closing], dyn.derived(("gaps",), lambda: dyn.named.code("gaps at the start", program))
