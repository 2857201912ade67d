"""Messages for transitions that find no consistent mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.engine.memory.contact_codes import (
    CONTRADICTED,
    ENDLESS_IMPACTS,
    ENERGY_GAINED,
    NO_MODE,
    NO_ROWS,
    NOT_FINITE_AFTER,
    OPEN,
    OPPOSED,
)
from kane.engine.memory.views import transition_at
from kane.errors import list_names
from kane.formulation.equations import Equations


def refusal(equations: Equations, out: np.ndarray, active: Sequence[str]) -> str:
    """Describe why a transition found no consistent mode.

    Args:
        equations: equations with the rows of all intermittent constraints.
        out: outputs of the program "transition".
        active: names of the constraints that touch or are active.
    """
    rows = equations.constraints
    found = transition_at(out, 0, len(equations.intermittents), len(rows), len(equations.u), len(equations.q))
    names = [repr(c.name) for c in equations.intermittents]
    touching, status = list_names([repr(name) for name in active]), int(found.status[0])
    cause = int(found.cause[0])
    who = names[cause] if cause >= 0 else touching
    if status == OPPOSED:
        left = np.abs(found.impulses)
        shares = [(row.name, x) for row, x in zip(rows, left, strict=True) if x > OPPOSING * left.max()]
        who = ", ".join(f"{name!r} (off by {x:.6g})" for name, x in shares)
    in_force = found.statuses != OPEN
    both_ways = [c.constraint.bilateral and k != cause for k, c in enumerate(equations.intermittents)]
    held = [name for name, on, both in zip(names, in_force, both_ways, strict=True) if on and both]
    holding = ", ".join([*(repr(c.name) for c in equations.model.constraints), *held])
    return REFUSALS[status].format(who=who, touching=touching, holding=f", {holding}" if holding else "")


# Rows with residuals below this fraction of the largest residual are not named.
OPPOSING = 0.1
REFUSALS = {
    NO_MODE: (
        "no mode was found in which what is closed pushes and what sticks holds ({who} was looked at last, among "
        "{touching}): rigid bodies with so much friction may have no solution there, or the search has missed it; give "
        "less friction"
    ),
    ENERGY_GAINED: (
        "the impact of {who} with Newton's restitution and friction would make energy (Kane's paradox); give the "
        "restitution as a number, kane.Poisson or kane.Stronge, which do not"
    ),
    ENDLESS_IMPACTS: (
        "impacts that meet in one instant do not come to an end, the last one was of {who}; give some of the contacts "
        "less restitution"
    ),
    CONTRADICTED: (
        "{who} contradicts other constraints that hold both ways{holding}: no forces keep them together; take one of "
        "them out"
    ),
    OPPOSED: (
        "constraints that are active together there contradict each other: no speeds keep all of {who}; delete one "
        "before the other is imposed"
    ),
    NO_ROWS: (
        "what constrains the speeds in {who} is not finite at this state, so that no forces can be found; see that its "
        "expression and the time derivative of that are numbers there, as those of the root of zero and of x / 0 are "
        "not"
    ),
    NOT_FINITE_AFTER: (
        "the change that {who} causes ends in a state that is not finite; correct masses, coefficients or expressions, "
        "or end the run before"
    ),
}
