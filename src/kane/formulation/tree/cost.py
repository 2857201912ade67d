"""What it costs to evaluate expressions: the measure by which routes, speeds and bases are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.expression.node import Expr
from kane.expression.operations import PARAMETER
from kane.expression.traverse import count

# A division takes as long as this many multiplications on current processors.
DIVISION = 8


def cost(expressions: Sequence[Any]) -> int:
    """Run-time cost of expressions, in multiplications; what depends on parameters alone is free."""
    totals = count([x for x in expressions if isinstance(x, Expr)], free=(PARAMETER,))
    return totals["mul"] + totals["add"] + DIVISION * totals["div"]
