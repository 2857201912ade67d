"""Default shapes of bodies without declared shapes: ellipsoids of inertia, and rods between joints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from kane.display.piece import Array, DrawnPiece, Tie
from kane.expression.operations import MEASURE
from kane.expression.traverse import leaves
from kane.model.body import POSITION, VELOCITY, Body, Measure, Point
from kane.model.contacts import IntermittentConstraint
from kane.model.model import Model
from kane.model.shapes.part import BALL_FORM, TUBE_FORM

# Sizes relative to the scene: radius of a rod, of a joint, of a point mass; smallest semi-axis of an ellipsoid.
ROD_RADIUS, JOINT_RADIUS, POINT_MASS_RADIUS, LEAST_ELLIPSOID_SEMIAXIS = 0.010, 0.018, 0.03, 0.006
# Relative middle semi-axis below which an ellipsoid is a needle; the rods of the body show it better.
NEEDLE = 0.03
# With more than MAX_FULL_SIZE_BODIES bodies, semi-axes are limited: made-up inertias would hide other bodies.
MAX_FULL_SIZE_BODIES, MAX_ELLIPSOID_SEMIAXIS = 4, 0.25
# Relative distance below which points coincide.
SAME_POINT_DISTANCE = 1e-6


class Valued(Protocol):
    """Source of numerical values for expressions of parameters."""

    def of(self, values: Any) -> Array: ...


def nodes_of(model: Model, numbers: Valued) -> dict[int, list[Array]]:
    """Return for each body the points that its rods join, in its frame.

    These are its joint, its mass centre, the joints that it carries, and points of constraints and loads.
    """
    found: dict[int, list[Array]] = {body.index: [] for body in model.bodies}
    for c in model.connections:
        if c.joint.nq < 6:
            found[c.child.index].append(numbers.of(c.p_CM))
            found[c.parent.index].append(numbers.of(c.p_PF))
    for body in model.bodies[1:]:
        found[body.index].append(numbers.of(body.com))
    for index, point in named_points(model):
        found[index].append(numbers.of(point))
    return found


def named_points(model: Model) -> Iterator[tuple[int, Any]]:
    """Yield the points of bodies in constraints and loads: index of the body, p_B."""
    rows = [x for c in model.constraints for row in c.rows for x in (row.configuration, row.motion) if x is not None]
    for leaf in leaves(rows):
        if leaf.op == MEASURE and isinstance(leaf.data, Measure) and leaf.data.kind in (POSITION, VELOCITY):
            yield leaf.data.body, leaf.data.point
    for load in model.loads:
        for P in vars(load).values():
            if isinstance(P, Point):
                yield P.body.index, P.position_in_body


def bodies_of(model: Model, constraint: IntermittentConstraint) -> list[int]:
    """Return the bodies of an intermittent constraint: owners of its points, and bodies that its coordinates move."""
    given = [constraint.gap, *(x for row in constraint.rows for x in (row.configuration, row.motion))]
    carried = {name: c.child.index for c in model.connections for name in (*c.coordinate_names, *c.speed_names)}
    found: set[int] = set()
    for leaf in leaves([x for x in given if x is not None]):
        if leaf.op == MEASURE and isinstance(leaf.data, Measure):
            found |= {leaf.data.body, leaf.data.direction_body}
        elif leaf.data in carried:
            found.add(carried[leaf.data])
    return sorted(found - {0})


def ties_of(model: Model, numbers: Valued) -> Iterator[Tie]:
    """Yield lines along sliding joints, and between the two points of a load such as a spring."""
    for c in model.connections:
        if c.joint.nq < 6 and c not in model.cuts:
            points = numbers.of(c.p_PF), numbers.of(c.p_CM)
            yield Tie((c.parent.index, c.child.index), points)
    for load in model.loads:
        ends = [P for P in vars(load).values() if isinstance(P, Point)]
        if len(ends) == 2:
            a, b = ends
            points = numbers.of(a.position_in_body), numbers.of(b.position_in_body)
            yield Tie((a.body.index, b.body.index), points)


def guessed(
    model: Model, nodes: Mapping[int, list[Array]], bare: Collection[int], size: float, numbers: Valued
) -> Iterator[DrawnPiece]:
    """Yield default pieces for the bodies in ``bare``, and points of the ground."""
    carried = {c.child.index: numbers.of(c.p_CM) for c in model.connections if c.joint.nq < 6}
    for body in model.bodies[1:]:
        if body.index not in bare:
            continue
        com = numbers.of(body.com)
        hub = carried.get(body.index, com)
        others = _apart([hub, *nodes[body.index]], SAME_POINT_DISTANCE * size)
        if float(numbers.of([body.mass])[0]) > 0.0:
            ellipsoid = _ellipsoid(body, com, size, numbers)
            if len(others) < 3 or np.sort(np.linalg.norm(ellipsoid.stretch, axis=0))[1] > NEEDLE * size:
                yield ellipsoid
        for point in others[1:]:
            yield rod(body.index, hub, point, ROD_RADIUS * size)
        if body.index in carried:
            yield DrawnPiece(body.index, BALL_FORM, np.eye(3) * JOINT_RADIUS * size, hub, "guess")
    for point in _apart(nodes[0], SAME_POINT_DISTANCE * size):
        yield DrawnPiece(0, BALL_FORM, np.eye(3) * JOINT_RADIUS * size, point, "ground")


def _apart(points: list[Array], nearer: float) -> list[Array]:
    """Return the points without duplicates."""
    kept: list[Array] = []
    for x in points:
        if all(np.linalg.norm(x - y) > nearer for y in kept):
            kept.append(x)
    return kept


def rod(body: int, start: Array, end: Array, radius: float) -> DrawnPiece:
    """Return a thin tube between two points of a body."""
    along = end - start
    z = along / np.linalg.norm(along)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    stretch = np.stack([radius * x, radius * np.cross(z, x), along], axis=1)
    return DrawnPiece(body, TUBE_FORM, stretch, 0.5 * (start + end), "guess")


def _ellipsoid(body: Body, com: Array, size: float, numbers: Valued) -> DrawnPiece:
    """Return the homogeneous ellipsoid with the mass and inertia of a body.

    Its squared semi-axes are 5 (I_j + I_k - I_i) / (2 m).
    """
    mass = float(numbers.of([body.mass])[0])
    inertia = np.array([numbers.of(row) for row in body.inertia])
    moments, axes = np.linalg.eigh(inertia)
    squares = 5.0 * (moments.sum() - 2.0 * moments) / (2.0 * mass)
    semi = np.sqrt(np.maximum(squares, 0.0))
    if not semi.max() > SAME_POINT_DISTANCE * size:
        return DrawnPiece(body.index, BALL_FORM, np.eye(3) * POINT_MASS_RADIUS * size, com, "guess")
    if len(body.model.bodies) > MAX_FULL_SIZE_BODIES:
        semi = semi * min(1.0, MAX_ELLIPSOID_SEMIAXIS * size / semi.max())
    return DrawnPiece(body.index, BALL_FORM, axes * np.maximum(semi, LEAST_ELLIPSOID_SEMIAXIS * size), com, "guess")
