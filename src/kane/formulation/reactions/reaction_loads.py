"""Loads that depend on reactions: one linear system gives both these reactions and the accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.elimination import LinearRow, eliminate
from kane.formulation.equations import Equations
from kane.formulation.reactions.reactions import reveal_reactions
from kane.formulation.read_model import probe_of
from kane.model.checks import near
from kane.model.connection import Connection
from kane.model.constraints.constraint import Imposed
from kane.model.model import Model
from kane.model.reaction import REACTION_PREFIX


def with_reaction_loads(equations: Equations, reactions: Sequence[Expr]) -> Equations:
    """Return the equations with reactions in loads eliminated: solve r = P r + s, with udot linear in r.

    Args:
        equations: equations with the reactions as inputs.
        reactions: leaves of the reactions.

    Raises:
        ModelError: there is no such reaction, one is indeterminate, or the loads are not linear in them.
    """
    names = [leaf.data.removeprefix(REACTION_PREFIX) for leaf in reactions]
    model = equations.model
    _require_permanent(names, model)
    places = _holders(names, model)
    revealed = reveal_reactions(equations, *places)
    found = revealed.forward
    missing = [name for name in names if name not in found]
    if missing:
        raise ModelError(
            f"a load depends on the reaction {', '.join(missing)}, which redundant constraints share: it has no "
            "value; take out redundant constraints, or let the load depend on a determinate sum of reactions"
        )
    try:
        P, s = linear_coefficients([found[name] for name in names], reactions)
    except ExpressionError as error:
        raise ModelError(
            f"a load is not linear in the reactions {', '.join(names)} ({error}), and the equations for reactions and "
            "accelerations are not linear; if the sign of a normal force is known, leave its absolute value out"
        ) from None
    one = equations.system.arena.one
    rows = []
    for i, (row, rest) in enumerate(zip(P, s, strict=True)):
        entries = {j: (one if i == j else 0) - c for j, c in enumerate(row)}
        rows.append(
            LinearRow(names[i], {j: c for j, c in entries.items() if not (c.is_constant and c.data == 0.0)}, -rest)
        )
    solved = eliminate(rows, range(len(names)), probe_of(model)).values()
    if len(solved) < len(names):
        raise ModelError(f"loads that depend on the reactions {', '.join(names)} cancel these; correct the loads")
    values = {leaf: solved[i].rest for i, leaf in enumerate(reactions)}
    given = equations.controllers
    controllers = dict(zip(given, substitute_nodes(list(given.values()), values), strict=True))
    return replace(
        equations,
        tree=equations.tree.replaced(values),
        inputs=tuple(i for i in equations.inputs if i not in values),
        controllers={**controllers, **values},
    )


def _holders(names: Sequence[str], model: Model) -> list[Connection | Imposed]:
    """Return the joints and constraints that have reactions of these names.

    Raises:
        ModelError: none has a name.
    """
    every: list[Connection | Imposed] = [*model.connections, *model.constraints]
    found = []
    for name in names:
        held = [h for h in every if name == h.name or name.startswith((f"{h.name} ", f"{h.name}:"))]
        if not held:
            known = near(name.split(":")[0], [h.name for h in every])
            raise ModelError(f"a load depends on the reaction {name!r}, which no joint or constraint has; {known}")
        found += held
    return [h for h in every if any(h is one for one in found)]


def _require_permanent(names: Sequence[str], model: Model) -> None:
    """Raise ModelError if a reaction in a load belongs to an intermittent constraint."""
    wrong = [n for n in names for c in model.intermittents if n == c.name or n.startswith(f"{c.name}: ")]
    if wrong:
        raise ModelError(
            f"a load depends on the reaction {wrong[0]!r} of an intermittent constraint; Model.reaction is for on= and "
            "off=, and loads may depend on reactions of joints and permanent constraints only"
        )
