"""What switches and latches hold: motion constraints from expressions or from a constraint of kane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.arguments import listed, require
from kane.expression.node import Expr
from kane.model.constraints import Constraint, Row
from kane.model.constraints.constraint import row_of

EXPRESSIONS = "expressions of velocities, such as [joint.qdot]"


def held_rows(held: Expr | Constraint | Sequence[Expr], who: str) -> tuple[Row, ...]:
    """The motion that vanishes; the configuration of a constraint is held as it is found.

    Raises:
        ModelError: an expression of the configuration.
    """
    if isinstance(held, Constraint):
        rows = tuple(held.rows())
        for row in rows:
            require(row, Row, f"what {who} holds is a constraint of kane.Row")
        return tuple(Row(row.name, row.configuration, row.motion) for row in rows)
    given = (held,) if isinstance(held, Expr) else listed(held, f"what {who} holds", EXPRESSIONS)
    for x in given:
        if not isinstance(x, Expr):
            raise ModelError(
                f"{who} holds {shown(x)} among others; a list holds expressions of velocities alone, such as "
                "[joint.qdot], and a constraint is given by itself, each in a declaration of its own"
            )
    rows = tuple(row_of(x, "rate" if len(given) == 1 else f"rate {k}") for k, x in enumerate(given, start=1))
    for row in rows:
        if row.motion is None:
            raise ModelError(
                f"{who} holds {shown(row.configuration)}, which is of the configuration and would have to jump to "
                "zero; give the velocity or rate that shall vanish, or a constraint, such as kane.Prescribed(joint, "
                "0), whose configuration is held as it is found"
            )
    return rows


def require_signal(value: Any, what: str) -> None:
    """Refuse what is no expression.

    Raises:
        ModelError: it is not.
    """
    if not isinstance(value, Expr):
        raise ModelError(f"{what} is {shown(value)}; give an expression of the model")
