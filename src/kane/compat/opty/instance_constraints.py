"""Instance constraints: expressions of states and inputs at given nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kane.analysis.optimal_control.element import Functions, ProgramElement
from kane.codegen.jit.compiler import compile_program
from kane.compat.opty.free_vector import FreeLayout
from kane.compat.opty.opty_symbols import OptySymbols, require_no_equation
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.operations import INPUT, PARAMETER
from kane.model.symbols.sympy_reader import SymPyReader


def instance_element(
    layout: FreeLayout, symbols: OptySymbols, given: Any, known: tuple[Mapping[Any, float], int]
) -> ProgramElement:
    """Return the element of instance constraints.

    Args:
        layout: places of the free variables.
        symbols: symbols of the equations of motion.
        given: SymPy expressions that vanish, such as x(0) - 1 and, with a free interval h, x(10*h).
        known: values of known parameters, and the first row.

    Raises:
        ModelError: one is true or false, a time is outside of the nodes, or a symbol has no value.
    """
    for k, x in enumerate(given):
        require_no_equation(x, f"instance constraint {k}")
    values, first = known
    arena, found = symbols.arena, dict[int, Expr]()
    parameters = {p: arena.leaf(PARAMETER, f"known {k}") for k, p in enumerate(values)}

    def meaning(node: Any, place: str) -> Expr:
        if node in parameters:
            return parameters[node]
        at = layout.place(node, place)
        return found.setdefault(at, arena.leaf(INPUT, f"free {at}"))

    read = SymPyReader(arena, meaning)
    outputs = tuple(read(x, f"instance constraint {k}: {x}") for k, x in enumerate(given))
    for x, output in zip(given, outputs, strict=True):
        if output.is_constant:
            raise ModelError(f"the instance constraint {x} has no state at a time; give such as x(0) - 1")
    places = np.array(list(found), dtype=np.int64)[None, :]
    functions = Functions(
        compile_program, "instance constraints", outputs, tuple(found.values()), (), tuple(parameters.values())
    )
    rows = first + np.arange(len(outputs))[None, :]
    return ProgramElement(functions, places, rows, np.zeros((1, 0)), np.array(list(values.values()), dtype=float))
