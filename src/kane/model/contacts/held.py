"""Motion constraints that switches and latches impose, from expressions or from a constraint of kane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument, require
from kane.model.constraints import Constraint, Row
from kane.model.constraints.constraint import row_from_expression

EXPRESSIONS = "expressions of velocities, such as [joint.qdot]"


def held_rows(held: Expr | Constraint | Sequence[Expr], who: str) -> tuple[Row, ...]:
    """Return the rows whose motion vanishes; the configuration of a constraint keeps its value when it is imposed.

    Raises:
        ModelError: an expression contains no rates or velocities.
    """
    if isinstance(held, Constraint):
        rows = tuple(held.rows())
        for row in rows:
            require(row, Row, f"the constraint that {who} holds has rows of type kane.Row")
        return tuple(Row(row.name, row.configuration, row.motion) for row in rows)
    given = (held,) if isinstance(held, Expr) else list_argument(held, f"the motion that {who} holds", EXPRESSIONS)
    for x in given:
        if not isinstance(x, Expr):
            raise ModelError(
                f"{who} holds {shown(x)} among others; give only expressions of velocities in a list, such as "
                "[joint.qdot], and declare each constraint by itself"
            )
    rows = tuple(
        row_from_expression(x, "rate" if len(given) == 1 else f"rate {k}") for k, x in enumerate(given, start=1)
    )
    for row in rows:
        if row.motion is None:
            raise ModelError(
                f"{who} holds {shown(row.configuration)}, which contains no velocity and would have to jump to "
                "zero; give its rate, or a constraint such as kane.Prescribed(joint, 0), whose residual keeps "
                "its value at the impulse"
            )
    return rows


def require_signal(value: Any, what: str) -> None:
    """Raise ModelError unless the value is an expression.

    Raises:
        ModelError: the value is not an expression.
    """
    if not isinstance(value, Expr):
        raise ModelError(f"{what} is {shown(value)}; give an expression of the model")
