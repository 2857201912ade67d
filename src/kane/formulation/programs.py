"""The programs that equations offer, one row each: outputs, and what they read besides t, q and u."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collections.abc import Callable

from kane.codegen.program import Program
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.energy import energy
from kane.expression.collector import collector_paused
from kane.formulation.momentum import momentum
from kane.formulation.poses import jacobian, poses
from kane.model.model import near

if TYPE_CHECKING:
    from kane.formulation.equations import Equations

Outputs = Callable[["Equations"], tuple[tuple[Expr, ...], tuple[Expr, ...]]]


def lower_triangle(n: int) -> list[tuple[int, int]]:
    """Places (i, j), j <= i, of the mass matrix in the order in which its program gives them."""
    return [(i, j) for i in range(n) for j in range(i + 1)]


def _mass_matrix(eqs: Equations) -> tuple[Expr, ...]:
    return tuple(eqs.mass_matrix[i][j] for i, j in lower_triangle(len(eqs.u)))


PROGRAMS: dict[str, Outputs] = {
    "inverse": lambda eqs: (eqs.inverse, eqs.udot),
    "forward": lambda eqs: (eqs.forward, eqs.inputs),
    "mass_matrix": lambda eqs: (_mass_matrix(eqs), ()),
    "bias": lambda eqs: (eqs.bias, ()),
    "kinematics": lambda eqs: (eqs.kinematics, ()),
    "rhs": lambda eqs: ((*eqs.kinematics, *eqs.forward), eqs.inputs),
    "input_matrix": lambda eqs: (tuple(x for row in eqs.input_matrix for x in row), ()),
    "energy": lambda eqs: (energy(eqs), ()),
    "momentum": lambda eqs: (momentum(eqs), ()),
    "poses": lambda eqs: (poses(eqs), ()),
}


def program(equations: Equations, name: str) -> Program:
    """The straight-line program of a named quantity; "jacobian NAME" is that of a body or frame.

    Raises:
        ModelError: there is no such quantity, body or frame.
    """
    with collector_paused():
        if name.startswith("jacobian "):
            outputs, rest = jacobian(equations, name.removeprefix("jacobian "))
        elif name in PROGRAMS:
            outputs, rest = PROGRAMS[name](equations)  # type: ignore[assignment]
        else:
            raise ModelError(f"there is no program {name!r}; {near(name, list(PROGRAMS))}")
        state = (equations.t, *equations.q, *equations.u)
        return Program(name, outputs, state=state, rest=rest, parameters=equations.parameters)
