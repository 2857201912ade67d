"""Intervals that contain every output of every state in a box: ``kane.enclose``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kane.analysis.enclosures.flint import Ball, enclosing_balls, precision
from kane.analysis.enclosures.proved_digits import leaf_values
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression import operations as ops
from kane.expression.derivative import forward
from kane.expression.node import Expr
from kane.expression.number_arguments import number, require
from kane.expression.text import name_of
from kane.expression.traverse import reachable
from kane.formulation.quantities.programs import quantity as expressions_of
from kane.model.checks import require_known

BITS = 80
# Operations with jumps or kinks that the mean value form does not bound.
JUMPS = frozenset((ops.SIGN, ops.LESS, ops.LESS_EQUAL, ops.EQUAL, ops.SELECT, ops.MIN, ops.MAX, ops.SPLINE))


@dataclass(frozen=True, repr=False, eq=False)
class Enclosure:
    """Intervals that contain every output of every state of a box; prints as a table.

    Attributes:
        names: names of the outputs.
        low, high: bounds, (outputs,) each.
        parts: number of parts into which the box was divided.
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    parts: int

    def __getitem__(self, name: str) -> tuple[float, float]:
        """Return the bounds of an output.

        Raises:
            ModelError: there is no output of this name.
        """
        require_known(name, self.names, "output")
        k = self.names.index(name)
        return float(self.low[k]), float(self.high[k])

    def __repr__(self) -> str:
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.low.tolist(), self.high.tolist(), strict=True)
        return "\n".join(f"{name:<{width}} in [{low:.9g}, {high:.9g}]" for name, low, high in rows)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def enclose(
    dyn: Dynamics,
    box: Mapping[str, tuple[float, float]],
    *,
    quantity: str = "forward",
    parts: int = 32,
    q: Any = None,
    u: Any = None,
    udot: Any = None,
    inputs: Any = None,
    parameters: Any = None,
    t: float = 0.0,
) -> Enclosure:
    """Return intervals that contain every output of a program for every state in a box, by proved bounds.

    The bounds of a part of the box are the intersection of ball arithmetic and of the mean value form:

        f(x) in f(m) + sum of df/dx_i (part) (x_i - m_i).

    The derivatives are exact. Parts are halved along the variable with the largest contribution, the widest first.

    Args:
        dyn: returned by ``kane.build``.
        box: lowest and highest value of coordinates, speeds, inputs, accelerations ("u1'") and parameters, by name.
        quantity: name of the program, as for ``kane.digits``: worst-case torques are "inverse".
        parts: largest number of parts of the box.
        q, u, udot, inputs, parameters, t: values of all other quantities, as for ``kane.digits``.

    Raises:
        ModelError: python-flint is not installed (extra ``certify``), a name is unknown, a range is empty, or the box
            contains a state at which an output is singular.
    """
    require(dyn, Dynamics, "enclose needs Dynamics, as kane.build(equations) returns")
    found = expressions_of(dyn.equations, quantity)
    values = leaf_values(dyn.equations, (q, u), (udot, inputs, parameters), t)
    ranges = _ranges(values, box)
    if type(parts) is not int or parts < 1:
        raise ModelError(f"parts= is {shown(parts)}; give a positive whole number")
    form = _MeanValue(found.outputs, values, list(ranges))
    with precision(BITS):
        bounds, count = form.divided(list(ranges.values()), parts)
        hull = [(ball.low, ball.high) for ball in bounds if ball.is_finite]
    if len(hull) < len(bounds):
        name = next(name for name, ball in zip(found.names, bounds, strict=True) if not ball.is_finite)
        raise ModelError(
            f"{name!r} of {dyn.equations.name!r} has no finite bound in this box: it contains a "
            "singular state or is too large; give a smaller box or more parts="
        )
    low, high = np.array(hull).T if hull else (np.zeros(0), np.zeros(0))
    return Enclosure(tuple(found.names), low, high, count)


def _ranges(values: Mapping[Expr, Any], box: Any) -> dict[Expr, tuple[float, float]]:
    require(box, Mapping, 'a box is a dict such as {"q1": (-0.5, 0.5), "u1": (0.0, 2.0)}')
    leaves = {name_of(leaf): leaf for leaf in values}
    found = {}
    for name, ends in box.items():
        require_known(name, leaves, "coordinate, speed, acceleration, input or parameter")
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise ModelError(f"the range of {name!r} is {shown(ends)}; give the lowest and the highest value")
        low, high = (number(x, f"the range of {name!r}") for x in ends)
        if low > high:
            raise ModelError(f"the range of {name!r} is empty: {low:.12g} is more than {high:.12g}; exchange them")
        found[leaves[name]] = low, high
    return found


class _MeanValue:
    """Bounds of outputs over parts of a box."""

    def __init__(self, outputs: Sequence[Expr], values: Mapping[Expr, Any], variables: Sequence[Expr]) -> None:
        self._outputs, self._values, self._variables = list(outputs), values, variables
        smooth = not any(node.op in JUMPS for node in reachable(self._outputs))
        self._slopes = [forward(self._outputs, {x: x.arena.one}) for x in variables] if smooth else []

    def divided(self, ends: list[tuple[float, float]], most: int) -> tuple[list[Ball], int]:
        """Return the hull of the bounds of all parts, and their number."""
        bounds, weights = self._over(ends)
        parts = [(ends, bounds, weights)]
        while len(parts) < most:
            k = max(range(len(parts)), key=lambda i: max(parts[i][2], default=0.0))
            widest, _, weights = parts[k]
            if max(weights, default=0.0) <= 0.0:
                break
            j = int(np.argmax(weights))
            low, high = widest[j]
            middle = 0.5 * (low + high)
            halves = [[*widest[:j], half, *widest[j + 1 :]] for half in ((low, middle), (middle, high))]
            parts[k : k + 1] = [(half, *self._over(half)) for half in halves]
        hull = parts[0][1]
        for _, bounds, _ in parts[1:]:
            hull = [a.hull(b) for a, b in zip(hull, bounds, strict=True)]
        return hull, len(parts)

    def _over(self, ends: Sequence[tuple[float, float]]) -> tuple[list[Ball], list[float]]:
        """Return the bounds of one part, and a weight of each variable: its largest contribution to a width."""
        whole = {**self._values, **dict(zip(self._variables, ends, strict=True))}
        widths = [high - low for low, high in ends]
        if not self._slopes:
            return enclosing_balls(self._outputs, whole), widths
        n = len(self._outputs)
        found = enclosing_balls([*self._outputs, *(x for column in self._slopes for x in column)], whole)
        middles = [0.5 * (low + high) for low, high in ends]
        centre = enclosing_balls(self._outputs, {**self._values, **dict(zip(self._variables, middles, strict=True))})
        weights = []
        for j, (x, middle) in enumerate(zip(ends, middles, strict=True)):
            column = found[n * (j + 1) : n * (j + 2)]
            offset = Ball.of(x) - middle
            centre = [c + slope * offset for c, slope in zip(centre, column, strict=True)]
            sizes = [max(abs(s.low), abs(s.high)) if s.is_finite else 1e300 for s in column]
            weights.append(widths[j] * max(sizes, default=0.0))
        return [a.meet(b) for a, b in zip(found[:n], centre, strict=True)], weights
