"""Programs and data with which a page computes forces of loads, joints and constraints while it integrates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kane.codegen.programs.program import Program
from kane.display.scene import Numbers
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.reactions.exerted import Exerted, exerted
from kane.formulation.reactions.reactions import reveal_reactions


class ActingForm(NamedTuple):
    """Data for ``Motion.acting`` of the page: acting parts with the indices of their outputs, and the programs."""

    parts: list[dict[str, Any]]
    reactions: dict[str, int] | None
    programs: list[Program]


def acting_form(equations: Equations, names: Sequence[str], numbers: Numbers) -> ActingForm:
    """Return forces and torques on bodies per unit multiplier (program "exerted") and multipliers ("reactions").

    Raises:
        ModelError: a name is unknown, or redundant constraints share its reaction.
    """
    found = [exerted(equations, name) for name in names]
    parts, outputs, first = list[dict[str, Any]](), list[Expr](), 0
    for one in found:
        for part in one.parts:
            place = {"name": one.name, "body": part.body, "at": numbers.of(part.at).tolist()}
            rows = {"rows": len(part.forces), "first": len(outputs)}
            parts.append({**place, **rows, "multipliers": first if one.source == "reaction" else None})
            outputs += [equations.system.arena.lift(x) for v in (*part.forces, *part.torques) for x in v]
        first += len(one.parts[0].forces) if one.source == "reaction" else 0
    if not parts:
        return ActingForm([], None, [])
    state = (equations.t, *equations.q, *equations.u)
    program = Program("exerted", outputs, state=state, rest=equations.inputs, parameters=equations.parameters)
    sizes, programs = _reactions(equations, [one for one in found if one.source == "reaction"])
    return ActingForm(parts, sizes, [program, *programs])


def _reactions(equations: Equations, found: Sequence[Exerted]) -> tuple[dict[str, int] | None, list[Program]]:
    """Return sizes and program of the reactions."""
    if not found:
        return None, []
    made = reveal_reactions(equations, *(one.name for one in found))
    if made.indeterminate:
        shared = ", ".join(made.indeterminate)
        raise ModelError(
            f"redundant constraints share {shared}, so these reactions are indeterminate; leave them out of arrows="
        )
    return {"own": made.own, "count": len(made.names), "rows": len(made.rows)}, [made.program()]
