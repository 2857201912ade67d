"""Proved bounds of the round-off of native code: ``kane.digits``."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kane.analysis.enclosures.flint import Ball, enclosing_balls, precision
from kane.analysis.required_values import require_values
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, list_names
from kane.expression.node import Expr
from kane.expression.number_arguments import number, require
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import Quantity
from kane.formulation.quantities.programs import quantity as expressions_of
from kane.formulation.units.inferred_units import UNDETERMINED, shown_units
from kane.model.contacts.intermittent_constraint import declared_name
from kane.model.named_vector import named_vector
from kane.simulation.state_layout import Layout

# Precisions that are tried [bits], until the radius of a ball is below this fraction of the error of the number.
PRECISIONS, RADIUS_FRACTION = (128, 256, 512, 1024), 1e-3


@dataclass(frozen=True, repr=False, eq=False)
class Digits:
    """Native results at one state with proved bounds of their errors; prints as a table.

    Attributes:
        names: names of the outputs.
        units: their units; "?" if undetermined.
        values: results of native code, (outputs,).
        bounds: |value - exact| <= bound, (outputs,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    bounds: Array

    @property
    def digits(self) -> Array:
        """Correct decimal digits of each value, (outputs,); infinite for exact values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.log10(self.bounds / np.abs(self.values))
        return np.where(self.bounds == 0.0, math.inf, found)

    def __repr__(self) -> str:
        numbers = zip(self.values.tolist(), self.bounds.tolist(), self.digits.tolist(), strict=True)
        width, units = max(map(len, self.names), default=0), map(bracketed, self.units)
        return "\n".join(
            f"{name:<{width}} {x: .17g} +- {bound:.1e}{unit}  {d:.1f} digits"
            for name, unit, (x, bound, d) in zip(self.names, units, numbers, strict=True)
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def digits(
    dyn: Dynamics,
    q: Any = None,
    u: Any = None,
    *,
    quantity: str = "forward",
    udot: Any = None,
    inputs: Any = None,
    parameters: Any = None,
    t: float = 0.0,
    without_contacts: bool = False,
) -> Digits:
    """Return a proved bound of |native - exact| for each output of a program at one state.

    The state and all constants are exact as doubles; the exact value is the real number that the expressions give for
    them. Ball arithmetic contains it:

        exact in [mid - rad, mid + rad],   |native - exact| <= |native - mid| + rad.

    The precision rises from 128 bits until rad is negligible.

    Args:
        dyn: returned by ``kane.build``.
        q, u: coordinates and speeds, arrays or dicts by name; neutral and zero by default.
        quantity: name of the program: "forward", "rhs", "inverse", "mass_matrix", "bias", "energy", ...
        udot: accelerations for "inverse", an array or a dict by name.
        inputs: array or dict by name of all inputs on which the outputs depend.
        parameters: array or dict by name; defaults for the rest.
        t: time [s].
        without_contacts: whether the motion without the model's contacts, stops, sticks, latches and switches is meant,
            as for ``kane.export``; the programs have no forces of intermittent constraints.

    Raises:
        ModelError: python-flint is not installed (extra ``certify``), the program is unknown or has no expressions, a
            value at this state has no finite bound, or an input or acceleration has no value. Also if the model has
            intermittent constraints and ``without_contacts`` is False.

    Source: Johansson 2017, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic".
    """
    require(dyn, Dynamics, "digits needs Dynamics, as kane.build(equations) returns")
    with precision(PRECISIONS[0]):
        pass  # raises an error without python-flint
    require_without_contacts(dyn.equations, without_contacts)
    found = expressions_of(dyn.equations, quantity)
    values = leaf_values(dyn.equations, (q, u), (udot, inputs, parameters), t)
    require_driven(dyn.equations, repr(quantity), set(leaves(found.outputs)), (udot, inputs))
    native = _native(dyn, quantity, found, values)
    bounds = np.full(len(native), math.inf)
    for bits in PRECISIONS:
        with precision(bits):
            exact = enclosing_balls(found.outputs, values)
            errors = [Ball.of(float(x)) - ball for x, ball in zip(native, exact, strict=True)]
            bounds = np.array([_bound(error) for error in errors])
            if all(_is_sharp(error) for error in errors):
                break
    if not np.isfinite(bounds).all():
        name = found.names[int(np.argmin(np.isfinite(bounds)))]
        raise ModelError(f"{name!r} of {dyn.equations.name!r} has no finite bound at this state; a divisor vanishes")
    return Digits(tuple(found.names), output_units(dyn.equations, found.names), native, bounds)


def require_without_contacts(equations: Equations, without_contacts: Any) -> None:
    """Raise if there are intermittent constraints, unless the user wants the motion without them.

    Raises:
        ModelError: names the constraints.
    """
    require(without_contacts, bool, "without_contacts= is True or False")
    names = list(dict.fromkeys(map(declared_name, equations.intermittents)))
    if names and not without_contacts:
        raise ModelError(
            f"{equations.name!r} has intermittent constraints, whose forces have no expressions: {list_names(names)}; "
            "without_contacts=True computes the values without them"
        )


def require_driven(equations: Equations, name: str, read: Collection[Expr], given: tuple[Any, Any]) -> None:
    """Raise if outputs that read these leaves depend on accelerations or inputs that are not given, (udot, inputs).

    Raises:
        ModelError: names them.
    """
    who = f"{name} of {equations.name!r}"
    for symbols, values, argument in zip((equations.udot, equations.inputs), given, ("udot", "inputs"), strict=True):
        require_values(who, read, symbols, values, argument)


def output_units(equations: Equations, names: Sequence[str]) -> tuple[str, ...]:
    """Return the units of the outputs of a program."""
    known = shown_units(equations).by_name
    return tuple(known.get(name, UNDETERMINED) for name in names)


def bracketed(unit: str) -> str:
    """Return a unit in brackets after a space; an empty text if it is undetermined."""
    return "" if unit == UNDETERMINED else f" [{unit}]"


def _bound(error: Ball) -> float:
    return max(abs(error.low), abs(error.high)) if error.x.mid() != 0 or error.x.rad() != 0 else 0.0


def _is_sharp(error: Ball) -> bool:
    return bool(error.x.rad() <= RADIUS_FRACTION * abs(error.x.mid())) or error.x.is_zero()


def leaf_values(
    equations: Equations, state: tuple[Any, Any], others: tuple[Any, Any, Any], t: float
) -> dict[Expr, Any]:
    """Return the values of the leaves at a state; ``others`` are udot, inputs and parameters as the user gave them."""
    layout = Layout.of(equations)
    udot, inputs, parameters = others
    x = layout.named_state(*state)
    names = [f"{name}'" for name in layout.speeds]
    groups: Sequence[tuple[Sequence[Expr], Any]] = (
        ((equations.t,), [number(t, "the time")]),
        (equations.q, x[: len(equations.q)]),
        (equations.u, x[len(equations.q) :]),
        (equations.udot, named_vector(udot, names, [0.0] * len(names), "acceleration")),
        (equations.inputs, named_vector(inputs, layout.inputs, layout.input_defaults, "input")),
        (equations.parameters, equations.parameter_bounds.given(parameters)),
    )
    return {leaf: float(value) for group, row in groups for leaf, value in zip(group, row, strict=True)}


def _native(dyn: Dynamics, name: str, found: Quantity, values: dict[Expr, Any]) -> Array:
    equations, function = dyn.equations, dyn.function(name)
    x = np.array([values[leaf] for leaf in (equations.t, *equations.q, *equations.u)])
    stage = function.stage(np.array([values[leaf] for leaf in equations.parameters]))
    return np.array(function(x, np.array([values[leaf] for leaf in found.rest]), stage)).ravel()
