"""Equations of a live page, term by term: the reason of each term, its bodies, and a program of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kane.codegen.programs.program import Program
from kane.expression.collector import collector_paused
from kane.expression.text import format_expression
from kane.formulation.equations import Equations
from kane.formulation.matrix_route import has_bodies
from kane.formulation.reasons.contributions import CONSTRAINT, LOAD
from kane.formulation.reasons.reason import Reason, reasons_of
from kane.formulation.units.inferred_units import shown_units
from kane.model.reaction import row_force

# Largest number of speeds of a model whose page shows its equations; longer ones have hundreds of terms each.
MOST_EXPLAINED_SPEEDS = 10


class ExplainedForm(NamedTuple):
    """Data for the equations of a page, and the program "terms" with the value of each term."""

    equations: list[dict[str, Any]]
    programs: list[Program]


def explained_form(equations: Equations) -> ExplainedForm:
    """Return the terms of all equations of independent speeds; nothing for long equations or without bodies.

    The program reads [t, q, u] and [udot, inputs, multipliers of the constraint rows].
    """
    if len(equations.u) > MOST_EXPLAINED_SPEEDS or not has_bodies(equations):
        return ExplainedForm([], [])
    with collector_paused():
        found = reasons_of(equations)
        values = [reason.value for reason in found]
    if not found:
        return ExplainedForm([], [])
    multipliers = [row_force(equations.t, row.name) for row in equations.constraints]
    rest = (*equations.udot, *equations.inputs, *(x for x in multipliers if x not in equations.inputs))
    state = (equations.t, *equations.q, *equations.u)
    program = Program("terms", values, state=state, rest=rest, parameters=equations.parameters)
    units, by_speed = shown_units(equations), dict[str, dict[str, Any]]()
    for place, reason in enumerate(found):
        new = {"speed": reason.speed, "unit": units[f"f_{reason.speed}"], "terms": []}
        term = {"name": reason.term, "place": place, "why": repr(reason), "value": format_expression(values[place])}
        term["bodies"] = _bodies(equations, reason)
        by_speed.setdefault(reason.speed, new)["terms"].append(term)
    return ExplainedForm(list(by_speed.values()), [program])


def _bodies(equations: Equations, reason: Reason) -> list[int]:
    """Return the indices of the bodies that contribute a term, and of the bodies on which its load acts."""
    loads = dict(equations.tree.loads)
    names: list[str] = []
    for c in reason.contributions:
        if c.kind == LOAD:
            effect = loads[c.source]
            names += [along.connection.child.name for along, _ in effect.efforts]
            names += [wrench.point.body.name for wrench in effect.wrenches]
        elif c.kind != CONSTRAINT:
            names.append(c.source)
    return _places(equations.bodies, names)


def _places(bodies: Sequence[str], names: Sequence[str]) -> list[int]:
    return sorted({bodies.index(name) for name in names if name in bodies})
