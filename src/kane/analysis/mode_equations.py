"""Equations in one contact mode, for explanations and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from kane.dynamics.compiled_modes import statuses_of
from kane.engine.memory.contact_codes import OPEN, SLIDING
from kane.errors import ModelError, list_names, shown
from kane.formulation.constraints.embedding import NumericalEmbedding
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.contact_mode import active_rows
from kane.formulation.equations import Equations
from kane.model.contacts.intermittent_constraint import declared_name


class ModeEquations(NamedTuple):
    """Equations with the rows that a contact mode imposes, and the sliding constraints, whose friction acts."""

    equations: Equations
    sliding: tuple[IntermittentEquations, ...]


def equations_in_mode(equations: Equations, mode: Any) -> ModeEquations:
    """Return the equations in a contact mode; without active rows they do not change.

    Raises:
        ModelError: the mode is unknown, or a constraint cannot slide.
    """
    names = [c.name for c in equations.intermittents]
    statuses = statuses_of(mode, names) if isinstance(mode, str) else None
    if statuses is None:
        known = ", ".join(f"'{name} held'" for name in names) or "none: it has no contacts"
        raise ModelError(f"{shown(mode)} is no mode of {equations.name!r}; modes are 'free' and lists of {known}")
    active = list(zip(equations.intermittents, statuses, strict=True))
    sliding = tuple(c for c, status in active if status == SLIDING)
    for c in sliding:
        if c.constraint.friction is None or not c.tangents:
            raise ModelError(
                f"{c.name!r} of {equations.name!r} has no friction, so that it cannot slide; name it 'held'"
            )
    rows = (*equations.constraints, *(row for c, status in active for row in active_rows(c, status)))
    if len(rows) == len(equations.constraints):
        return ModeEquations(equations, sliding)
    embedding = NumericalEmbedding(equations.name)
    return ModeEquations(replace(equations.unconstrained, constraints=rows, embedding=embedding), sliding)


def chosen_mode(equations: Equations, mode: str | None) -> ModeEquations:
    """Return the equations in the mode that a user names; without intermittent constraints there is only one.

    Raises:
        ModelError: the model has intermittent constraints and no mode is named, or a joint with dry friction has no
            status.
    """
    if mode is None:
        if equations.intermittents:
            named = list_names(list(dict.fromkeys(map(declared_name, equations.intermittents))))
            examples = f'mode="free" or mode="{equations.intermittents[0].name} held"'
            raise ModelError(
                f"{equations.name!r} has intermittent constraints, which act in some of its modes: {named}; name the "
                f"mode whose equations are meant, such as {examples}"
            )
        return ModeEquations(equations, ())
    found = equations_in_mode(equations, mode)
    for name in _without_status(equations, mode):
        raise ModelError(
            f"the dry friction {name!r} acts in every mode; name its status too, '{name} held' or '{name} sliding'"
        )
    return found


def _without_status(equations: Equations, mode: str) -> Iterator[str]:
    """Yield the joints with dry friction that the name of a mode leaves out."""
    statuses = statuses_of(mode, [c.name for c in equations.intermittents]) or ()
    for c, status in zip(equations.intermittents, statuses, strict=True):
        if status == OPEN and c.normal is None and c.constraint.on is None:
            yield c.name
