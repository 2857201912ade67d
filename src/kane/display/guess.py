"""What bodies look like whose model does not say: ellipsoids of their inertia, rods between their joints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from kane.array_types import Array
from kane.display.piece import DrawnPiece, Tie
from kane.expression.operations import MEASURE
from kane.expression.traverse import leaves
from kane.model.body import POSITION, VELOCITY, Body, Measure, Point
from kane.model.contacts import Candidate
from kane.model.model import Model
from kane.model.shapes.part import BALL, TUBE

# Shares of the size of the scene: radius of a rod, of a joint, of a point mass; thinnest ellipsoid.
ROD_RADIUS, JOINT_RADIUS, POINT_MASS_RADIUS, LEAST_ELLIPSOID_SEMIAXIS = 0.010, 0.018, 0.03, 0.006
# An ellipsoid thinner than this is a needle, which the rods of the body show better.
NEEDLE = 0.03
# Of more bodies than a few, ellipsoids that would hide the others are shown smaller: files have made-up inertias.
MAX_FULL_SIZE_BODIES, MAX_ELLIPSOID_SEMIAXIS = 4, 0.25
# Nearer than this share of the scene points are one.
SAME_POINT_DISTANCE = 1e-6


class Valued(Protocol):
    """What gives numbers for expressions of parameters."""

    def of(self, values: Any) -> Array: ...


def nodes_of(model: Model, numbers: Valued) -> dict[int, list[Array]]:
    """By body the points that a drawing should join, in its frame: its joint's, its mass centre, those of the joints
    that it carries, points that constraints and loads name.
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
    """Points of bodies in constraints and loads: index of the body, p_B."""
    rows = [x for c in model.constraints for row in c.rows for x in (row.configuration, row.motion) if x is not None]
    for leaf in leaves(rows):
        if leaf.op == MEASURE and isinstance(leaf.data, Measure) and leaf.data.kind in (POSITION, VELOCITY):
            yield leaf.data.body, leaf.data.point
    for load in model.loads:
        for P in vars(load).values():
            if isinstance(P, Point):
                yield P.body.index, P.position_in_body


def bodies_of(model: Model, candidate: Candidate) -> list[int]:
    """The bodies that a constraint which comes and goes holds: of its points, and that its coordinates move."""
    given = [candidate.gap, *(x for row in candidate.rows for x in (row.configuration, row.motion))]
    carried = {name: c.child.index for c in model.connections for name in (*c.coordinate_names, *c.speed_names)}
    found: set[int] = set()
    for leaf in leaves([x for x in given if x is not None]):
        if leaf.op == MEASURE and isinstance(leaf.data, Measure):
            found |= {leaf.data.body, leaf.data.direction_body}
        elif leaf.data in carried:
            found.add(carried[leaf.data])
    return sorted(found - {0})


def ties_of(model: Model, numbers: Valued) -> Iterator[Tie]:
    """Lines along joints that slide, and between the two points of a load such as a spring."""
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
    """Pieces for the bodies in ``bare``."""
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
            yield DrawnPiece(body.index, BALL, np.eye(3) * JOINT_RADIUS * size, hub, "guess")
    for point in _apart(nodes[0], SAME_POINT_DISTANCE * size):
        yield DrawnPiece(0, BALL, np.eye(3) * JOINT_RADIUS * size, point, "ground")


def _apart(points: list[Array], nearer: float) -> list[Array]:
    """Points without those that are where an earlier one is."""
    kept: list[Array] = []
    for x in points:
        if all(np.linalg.norm(x - y) > nearer for y in kept):
            kept.append(x)
    return kept


def rod(body: int, start: Array, end: Array, radius: float) -> DrawnPiece:
    """A thin tube between two points of a body."""
    along = end - start
    z = along / np.linalg.norm(along)
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    stretch = np.stack([radius * x, radius * np.cross(z, x), along], axis=1)
    return DrawnPiece(body, TUBE, stretch, 0.5 * (start + end), "guess")


def _ellipsoid(body: Body, com: Array, size: float, numbers: Valued) -> DrawnPiece:
    """The ellipsoid of even density with the mass and inertia of a body: its squared semi-axes are
    5 (I_j + I_k - I_i) / (2 m).
    """
    mass = float(numbers.of([body.mass])[0])
    inertia = np.array([numbers.of(row) for row in body.inertia])
    moments, axes = np.linalg.eigh(inertia)
    squares = 5.0 * (moments.sum() - 2.0 * moments) / (2.0 * mass)
    semi = np.sqrt(np.maximum(squares, 0.0))
    if not semi.max() > SAME_POINT_DISTANCE * size:
        return DrawnPiece(body.index, BALL, np.eye(3) * POINT_MASS_RADIUS * size, com, "guess")
    if len(body.model.bodies) > MAX_FULL_SIZE_BODIES:
        semi = semi * min(1.0, MAX_ELLIPSOID_SEMIAXIS * size / semi.max())
    return DrawnPiece(body.index, BALL, axes * np.maximum(semi, LEAST_ELLIPSOID_SEMIAXIS * size), com, "guess")
