"""Relative positions and velocities of bodies as measure numbers, for the rows of constraints."""

from __future__ import annotations

from typing import cast

from kane.expression.node import Expr
from kane.geometry import scalars
from kane.geometry.scalars import Triple, cross, subtract_vectors
from kane.model.body import CONFIGURATION_KINDS, Body, Direction, Point, VectorMeasure


def measure_numbers(vector: VectorMeasure | Direction, E: Body) -> Triple:
    """Return the measure numbers of a vector along the axes of E; zeros for velocities of the ground."""
    if vector.body.index == 0 and isinstance(vector, VectorMeasure) and vector.kind not in CONFIGURATION_KINDS:
        return (0.0, 0.0, 0.0)
    return tuple(vector.dot(axis) for axis in (E.x, E.y, E.z))


def scalar_product(a: Triple, b: Triple) -> Expr:
    """Return the scalar product of two vectors, at least one of which contains expressions."""
    return cast(Expr, scalars.dot(a, b))


def position(O: Point, P: Point, E: Body) -> Triple:
    """Return p_OP_E [m]."""
    return subtract_vectors(measure_numbers(P.position, E), measure_numbers(O.position, E))


def velocity(O: Point, P: Point, E: Body) -> Triple:
    """Return d(p_OP)/dt in N, along the axes of E [m/s]."""
    return subtract_vectors(measure_numbers(P.velocity, E), measure_numbers(O.velocity, E))


def velocity_in(B: Body, O: Point, P: Point, E: Body) -> Triple:
    """Return d(p_OP)/dt as seen in B, along the axes of E [m/s]; this is v_BP if O is fixed in B.

    Source: the derivative of a vector in two frames, Nd(p)/dt = Bd(p)/dt + w_NB x p.
    """
    return subtract_vectors(velocity(O, P, E), cross(measure_numbers(B.angular_velocity, E), position(O, P, E)))


def angular_velocity_in(B: Body, A: Body, E: Body) -> Triple:
    """Return w_BA_E [rad/s]."""
    return subtract_vectors(measure_numbers(A.angular_velocity, E), measure_numbers(B.angular_velocity, E))
