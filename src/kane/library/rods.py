"""Uniform rods and bars for mechanisms."""

from __future__ import annotations

from kane.expression.node import Scalar
from kane.model.body import Body
from kane.model.model import Model


def thin_rod(model: Model, name: str, mass: Scalar, length: Scalar, *, axis: int = 0) -> Body:
    """Return a thin uniform rod with mass [kg] and length [m] from the origin along axis 0, 1 or 2."""
    return bar(model, name, mass, length, 0.0, axis=axis)


def bar(model: Model, name: str, mass: Scalar, length: Scalar, width: Scalar, *, axis: int = 0) -> Body:
    """Return a uniform bar of square section (mass [kg], length, width [m]) from the origin along axis 0, 1 or 2."""
    centre: list[Scalar] = [0.0, 0.0, 0.0]
    moments = [mass * (length * length + width * width) / 12.0] * 3
    centre[axis], moments[axis] = 0.5 * length, mass * width * width / 6.0
    return model.body(name, mass=mass, com=centre, inertia=moments)
