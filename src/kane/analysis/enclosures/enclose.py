"""Intervals that contain every output of every state in a box: ``kane.enclose``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kane.analysis.enclosures.flint import Ball, continuous_balls, enclosing_balls, precision
from kane.analysis.enclosures.proved_digits import (
    bracketed,
    leaf_values,
    output_units,
    require_driven,
    require_without_contacts,
)
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, list_names, shown
from kane.expression import operations as ops
from kane.expression.derivative import forward
from kane.expression.node import Expr
from kane.expression.number_arguments import number, require
from kane.expression.text import name_of
from kane.expression.traverse import leaves, reachable, substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import Quantity
from kane.formulation.quantities.programs import quantity as expressions_of
from kane.formulation.units.inferred_units import expression_unit
from kane.model.checks import require_known
from kane.simulation.inputs.known_in_state import known_in_state

BITS = 80
# Operations with jumps, where the mean value form has no bound. Kinks of ABS, MIN and MAX have one (Lebourg's theorem).
JUMPS = frozenset((ops.SIGN, ops.LESS, ops.LESS_EQUAL, ops.EQUAL, ops.SELECT, ops.SPLINE))


@dataclass(frozen=True, repr=False, eq=False)
class Enclosure:
    """Intervals that contain every output of every state of a box; prints as a table.

    Attributes:
        names: names of the outputs.
        units: their units; "?" if undetermined.
        low, high: bounds, (outputs,) each.
        parts: number of parts into which the box was divided.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
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
        rows = zip(self.names, self.low.tolist(), self.high.tolist(), map(bracketed, self.units), strict=True)
        return "\n".join(f"{name:<{width}} in [{low:.9g}, {high:.9g}]{unit}" for name, low, high, unit in rows)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def enclose(
    dyn: Dynamics,
    box: Mapping[str, tuple[float, float]],
    *,
    quantity: str | None = None,
    outputs: Mapping[str, Expr] | None = None,
    parts: int = 32,
    q: Any = None,
    u: Any = None,
    udot: Any = None,
    inputs: Any = None,
    parameters: Any = None,
    t: float = 0.0,
    without_contacts: bool = False,
) -> Enclosure:
    """Return intervals that contain every output for every state in a box, by proved bounds.

    The bounds of a part of the box are the intersection of ball arithmetic and of the mean value form:

        f(x) in f(m) + sum of df/dx_i (part) (x_i - m_i).

    The derivatives are exact; at kinks of absolute values, minima and maxima they are intervals. Parts are halved along
    the variable with the largest contribution, the widest first.

    Args:
        dyn: returned by ``kane.build``.
        box: lowest and highest value of coordinates, speeds, inputs, accelerations ("u1'") and parameters, by name.
        quantity: name of a program, as for ``kane.digits``: worst-case torques are "inverse"; by default "forward".
        outputs: expressions by name, instead of a program: the loads of ``kane.wheel_forces``, the measure of
            ``kane.tip_over``, ``forward`` of ``kane.reveal_reactions``, or any expression of q, u, t, inputs and
            parameters. Accelerations in them follow from the equations.
        parts: largest number of parts of the box.
        q, u, udot, inputs, parameters, t: values of all other quantities, as for ``kane.digits``. Accelerations and
            inputs on which an output depends have a range or a value.
        without_contacts: whether the motion without intermittent constraints is meant, as for ``kane.digits``.

    Raises:
        ModelError: python-flint is not installed (extra ``certify``), a name is unknown, or a range is empty. Also if
            an input or acceleration has neither a range nor a value, the box contains a state at which an output is
            singular, or accelerations of an output have no expressions. Also if the model has intermittent constraints
            and ``without_contacts`` is False.

    Source: Neumaier 1990, "Interval methods for systems of equations", Sec. 2.3; Clarke 1983, Theorem 2.3.7.
    """
    require(dyn, Dynamics, "enclose needs Dynamics, as kane.build(equations) returns")
    require_without_contacts(dyn.equations, without_contacts)
    found, units = _asked(dyn.equations, quantity, outputs)
    values = leaf_values(dyn.equations, (q, u), (udot, inputs, parameters), t)
    ranges = _ranges(values, box)
    _require_independent(dyn.equations, ranges)
    if outputs is not None and (udot is not None or not ranges.keys().isdisjoint(dyn.equations.udot)):
        raise ModelError('accelerations of outputs= follow from the equations; give them with quantity="inverse" only')
    if type(parts) is not int or parts < 1:
        raise ModelError(f"parts= is {shown(parts)}; give a positive whole number")
    asked = f"{quantity or 'forward'!r}" if outputs is None else "outputs="
    require_driven(dyn.equations, asked, set(leaves(found.outputs)) - ranges.keys(), (udot, inputs))
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
    return Enclosure(tuple(found.names), units, low, high, count)


def _asked(
    equations: Equations, quantity: str | None, outputs: Mapping[str, Expr] | None
) -> tuple[Quantity, tuple[str, ...]]:
    """Return names and expressions of the outputs of a program, or of the given outputs, and their units.

    Raises:
        ModelError: both are given, or an output is not an expression that the state determines.
    """
    if outputs is None:
        found = expressions_of(equations, quantity or "forward")
        return found, output_units(equations, found.names)
    if quantity is not None:
        raise ModelError("give quantity= or outputs=, not both")
    require(outputs, Mapping, "outputs= is a dict of expressions by name, such as forces.load of kane.wheel_forces")
    for name, x in outputs.items():
        require(x, Expr, f"the output {shown(name)} is an expression")
    given = list(outputs.values())
    if any(leaf.op == ops.ACCELERATION for leaf in leaves(given)):
        given = list(substitute_nodes(given, dict(zip(equations.udot, equations.forward, strict=True))))
    titles = {f"the output {name!r}": x for name, x in zip(outputs, given, strict=True)}
    known = equations.baked_in(known_in_state(equations, titles, {}, ()))
    units = tuple(expression_unit(equations, x) for x in outputs.values())
    return Quantity(tuple(outputs), known), units


def _ranges(values: Mapping[Expr, Any], box: Any) -> dict[Expr, tuple[float, float]]:
    require(box, Mapping, 'a box is a dict such as {"q1": (-0.5, 0.5), "u1": (0.0, 2.0)}')
    known = {name_of(leaf): leaf for leaf in values}
    found = {}
    for name, ends in box.items():
        require_known(name, known, "coordinate, speed, acceleration, input or parameter")
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise ModelError(f"the range of {name!r} is {shown(ends)}; give the lowest and the highest value")
        low, high = (number(x, f"the range of {name!r}") for x in ends)
        if low > high:
            raise ModelError(f"the range of {name!r} is empty: {low:.12g} is more than {high:.12g}; exchange them")
        found[known[name]] = low, high
    return found


def _require_independent(equations: Equations, ranges: Mapping[Expr, Any]) -> None:
    """Raise if a range is of a speed that constraints make dependent, which would change no output."""
    D, names = equations.embedding.D, [str(leaf.data) for leaf in equations.u]
    wrong = [name for j, name in enumerate(names) if j in D and equations.u[j] in ranges]
    if wrong:
        free = list_names([name for j, name in enumerate(names) if j not in D])
        raise ModelError(f"constraints make the speed {wrong[0]!r} dependent: it has no range; give ranges of {free}")


class _MeanValue:
    """Bounds of outputs over parts of a box."""

    def __init__(self, outputs: Sequence[Expr], values: Mapping[Expr, Any], variables: Sequence[Expr]) -> None:
        self._outputs, self._values, self._variables = list(outputs), values, variables
        jumping = [any(node.op in JUMPS for node in reachable([x])) for x in outputs]
        self._smooth = [k for k, jumps in enumerate(jumping) if not jumps]
        smooth = [outputs[k] for k in self._smooth]
        self._slopes = [forward(smooth, {x: x.arena.one}) for x in variables] if smooth else []

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
        bounds, continuous = continuous_balls(self._outputs, whole)
        if not self._slopes or not continuous:
            return bounds, widths
        n, smooth = len(self._smooth), [self._outputs[k] for k in self._smooth]
        slopes = enclosing_balls([x for column in self._slopes for x in column], whole)
        middles = [0.5 * (low + high) for low, high in ends]
        centre = enclosing_balls(smooth, {**self._values, **dict(zip(self._variables, middles, strict=True))})
        weights = []
        for j, (x, middle) in enumerate(zip(ends, middles, strict=True)):
            column = slopes[n * j : n * (j + 1)]
            offset = Ball.of(x) - middle
            centre = [c + slope * offset for c, slope in zip(centre, column, strict=True)]
            sizes = [max(abs(s.low), abs(s.high)) if s.is_finite else 1e300 for s in column]
            weights.append(widths[j] * max(sizes, default=0.0))
        for k, ball in zip(self._smooth, centre, strict=True):
            bounds[k] = bounds[k].meet(ball)
        return bounds, weights
