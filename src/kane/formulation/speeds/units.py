"""Units of generalized speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kane.errors import ExpressionError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import MEASURE, RATE
from kane.expression.traverse import leaves
from kane.model.body import ANGULAR_VELOCITY, VELOCITY
from kane.model.connection import Connection

OF_MEASURES = {ANGULAR_VELOCITY: "rad/s", VELOCITY: "m/s"}
# Unit of mixtures of units, and of sums whose coefficients are not numbers: parameters have no declared units.
UNKNOWN = "SI"


def units_of_speeds(definitions: Mapping[str, Expr], joints: Sequence[Connection]) -> tuple[str, ...]:
    """Return one unit for each generalized speed: from its definition or, without definitions, from the joints."""
    if not definitions:
        return tuple(unit for c in joints for unit in c.joint.speed_units)
    of_rates = dict(_of_rates(joints))
    return tuple(_unit(expression, of_rates) for expression in definitions.values())


def _of_rates(joints: Sequence[Connection]) -> Iterator[tuple[str, str]]:
    for c in joints:
        yield from zip(c.coordinate_names, (f"{unit}/s" for unit in c.joint.coordinate_units), strict=True)
        yield from zip(c.speed_names, c.joint.speed_units, strict=True)


def _unit(expression: Expr, of_rates: Mapping[str, str]) -> str:
    moving = [x for x in leaves([expression]) if x.op in (RATE, MEASURE)]
    found = {of_rates.get(x.data) if x.op == RATE else OF_MEASURES.get(x.data.kind) for x in moving}
    try:
        (coefficients,), _ = linear_coefficients([expression], moving)
    except ExpressionError:
        return UNKNOWN
    unit = found.pop()
    return unit if unit and not found and all(c.is_constant for c in coefficients) else UNKNOWN
