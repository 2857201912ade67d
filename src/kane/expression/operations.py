"""Table of operations: one row per operation, with arity, meaning and cost.

Each reader of the graph (interpreter, derivative, emitters, operation counts) has a table with one row per operation.
This table is the reference, and a test compares the others with it.
"""

from collections.abc import Callable
from typing import Any

from kane.deferred import dataclass

# Leaves: scalars without arguments.
CONSTANT, PARAMETER, INPUT, TIME, COORDINATE, RATE, SPEED, ACCELERATION, MEASURE = range(9)
# Operations.
ADD, SUB, MUL, DIV, NEG, POW, SQRT, SIN, COS, TAN, ASIN, ACOS, ATAN2, EXP, LOG, TANH = range(9, 25)
ABS, SIGN, MIN, MAX, LESS, LESS_EQUAL, EQUAL, SELECT, SPLINE = range(25, 34)

COST_CLASSES = ("mul", "add", "div", "trig", "other")


@dataclass(frozen=True, slots=True)
class Operation:
    """Operation of the expression graph.

    Attributes:
        name: name in listings and messages.
        arity: number of arguments; 0 for leaves.
        meaning: ``meaning(f, *values)`` returns the value; ``f`` is a namespace of elementary functions (numpy,
            mpmath.mp, ...). None for leaves and splines.
        cost: column in tables of operation counts, one of COST_CLASSES; "" if the operation costs nothing.
    """

    name: str
    arity: int
    meaning: Callable[..., Any] | None = None
    cost: str = ""


def _sign(f: Any, x: Any) -> Any:
    return f.sign(x)


OPERATIONS: tuple[Operation, ...] = (
    Operation("constant", 0),
    Operation("parameter", 0),
    Operation("input", 0),
    Operation("time", 0),
    Operation("coordinate", 0),
    Operation("rate", 0),
    Operation("speed", 0),
    Operation("acceleration", 0),
    Operation("measure", 0),
    Operation("add", 2, lambda f, a, b: a + b, "add"),
    Operation("sub", 2, lambda f, a, b: a - b, "add"),
    Operation("mul", 2, lambda f, a, b: a * b, "mul"),
    Operation("div", 2, lambda f, a, b: a / b, "div"),
    # A sign change is free in the addition or multiplication that uses it.
    Operation("neg", 1, lambda f, a: -a, ""),
    Operation("pow", 2, lambda f, a, b: a**b, "other"),
    Operation("sqrt", 1, lambda f, a: f.sqrt(a), "other"),
    Operation("sin", 1, lambda f, a: f.sin(a), "trig"),
    Operation("cos", 1, lambda f, a: f.cos(a), "trig"),
    Operation("tan", 1, lambda f, a: f.tan(a), "trig"),
    Operation("asin", 1, lambda f, a: f.asin(a), "trig"),
    Operation("acos", 1, lambda f, a: f.acos(a), "trig"),
    Operation("atan2", 2, lambda f, a, b: f.atan2(a, b), "trig"),
    Operation("exp", 1, lambda f, a: f.exp(a), "other"),
    Operation("log", 1, lambda f, a: f.log(a), "other"),
    Operation("tanh", 1, lambda f, a: f.tanh(a), "other"),
    Operation("abs", 1, lambda f, a: f.fabs(a), "other"),
    Operation("sign", 1, _sign, "other"),
    # NaN if either argument is NaN.
    Operation("min", 2, lambda f, a, b: f.minimum(a, b), "other"),
    Operation("max", 2, lambda f, a, b: f.maximum(a, b), "other"),
    Operation("less", 2, lambda f, a, b: (a < b) * 1.0, "other"),
    Operation("less_equal", 2, lambda f, a, b: (a <= b) * 1.0, "other"),
    Operation("equal", 2, lambda f, a, b: (a == b) * 1.0, "other"),
    # NaN counts as a true condition, as in NumPy and C, because it differs from zero.
    Operation("select", 3, lambda f, c, a, b: f.where(c != 0, a, b), "other"),
    Operation("spline", 1, None, "other"),
)
assert len(OPERATIONS) == SPLINE + 1
