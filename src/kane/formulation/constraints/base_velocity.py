"""Use the velocity of a link along its own axes instead of three dependent speeds of sliding joints.

Wheel constraints of a vehicle depend neither on its position nor on its heading. In the speeds of joints that slide on
the ground, all velocities are nevertheless rotated by the heading.

If three sliding speeds along perpendicular axes are dependent, three other speeds may replace them: M and bias of the
independent speeds do not change. Here the velocity of O_K of a link that the sliding joints carry replaces them, along
the axes of its frame K.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kane.deferred import NamedTuple
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import SPEED
from kane.formulation.constraints.rows import Equation, count_row_operations, every_equation, shortest
from kane.formulation.recursive.kinematics import angular_velocities, origin_velocities
from kane.formulation.tree.declared_velocity import DeclaredVelocity
from kane.formulation.tree.frames import computational_frames
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import speeds_of
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, is_zero
from kane.model.model import Model

# A matrix Q counts as a rotation if the entries of Q Q^T - 1 are below this value.
ROTATION_TOLERANCE = 1e-11


class Based(NamedTuple):
    """A system with a link's velocity in the columns of three speeds, and constraint rows in this system."""

    system: System
    rows: Sequence[Equation]


def least_base(
    rows: Sequence[Equation], dependent: Collection[int], system: System, model: Model, probe: Probe
) -> Based | None:
    """Find the link whose velocity makes the rows shortest; None if they are shortest in the joints' own speeds.

    Args:
        rows: rows that give the dependent speeds, in the joints' own speeds.
        dependent: columns of the dependent speeds.
    """
    names = [row.name for row in rows]
    best, least = None, count_row_operations(rows)
    for other in _with_velocity_of_links(system, set(dependent), model, probe):
        given = {row.name: row for row in every_equation(model.constraints, other)}
        found = Based(other, [shortest(given[name], other.speeds, probe) for name in names])
        if count_row_operations(found.rows) < least:
            best, least = found, count_row_operations(found.rows)
    return best


def _with_velocity_of_links(system: System, dependent: set[int], model: Model, probe: Probe) -> Iterator[System]:
    """Yield one system per link that three sliding joints carry, from the ground outwards up to the first branch."""
    if not system.speeds.are_natural:
        return
    v = origin_velocities(system, angular_velocities(system))
    slides: list[int] = []
    index = 0
    while len(system.links[index].children) == 1:
        (index,) = system.links[index].children
        slides += _slides(system, index)
        if not dependent.issuperset(slides) or len(slides) > 3:
            return
        if len(slides) == 3:
            Q, rest = linear_coefficients(
                [system.arena.lift(x) for x in v[index]], [system.speeds.u[j] for j in slides]
            )
            turned = probe([x for row in Q for x in row]).reshape(3, 3)
            if np.abs(turned @ turned.T - np.eye(3)).max() > ROTATION_TOLERANCE:
                return
            yield _based(system, index, slides, (Q, rest), model)


def _slides(system: System, index: int) -> list[int]:
    """Return the columns of the speeds by which a link translates without turning."""
    speeds = system.speeds
    columns = zip(system.columns(index), system.steps[index].w_u, strict=True)
    return [next(iter(speeds.C[k])) for k, w in columns if all(map(is_zero, w))]


def _based(
    system: System, index: int, slides: Sequence[int], velocity: tuple[list[list[Expr]], list[Expr]], model: Model
) -> System:
    """Return the system with v = Q w + rest instead of the sliding speeds w, so that w = Q^T (v - rest)."""
    speeds, arena, (Q, rest) = system.speeds, system.arena, velocity
    names, u = [leaf.name for leaf in speeds.u], list(speeds.u)
    own = dict(zip(names, speeds.u, strict=True))
    for j, axis in zip(slides, "xyz", strict=True):
        names[j] = f"velocity of {system.links[index].body.name} along {axis}"
        u[j] = arena.leaf(SPEED, names[j])
    for k, j in enumerate(slides):
        terms = (Q[i][k] * (u[slides[i]] - rest[i]) for i in range(3))
        own[speeds.u[j].name] = sum(terms, arena.zero)
    found = speeds_of(model, list(speeds.first), own, tuple(u), names)
    rows = tuple({j: 1.0} for j in slides)
    declared = {index: DeclaredVelocity(index, rows, ZERO_VECTOR)}
    return replace(system, speeds=found, steps=computational_frames(system.links, found), declared_points=declared)
