"""The velocity of a link along its own axes in the place of three slides whose speeds are dependent.

What wheels ask of a vehicle does not depend on where it stands and which way it heads. Written in the speeds of slides
on the ground every velocity is turned by the heading all the same. Where the speeds of three slides at right angles are
dependent ones, anything that they determine may take their place, and M and bias of the independent speeds stay what
they are: here the velocity of O_K of a link that the slides carry, along the axes of its frame K.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import SPEED
from kane.formulation.constraints.rows import Equation, every_equation, operations, shortest
from kane.formulation.recursive.kinematics import angular_velocities, origin_velocities
from kane.formulation.tree.declared_velocity import DeclaredVelocity
from kane.formulation.tree.frames import computational_frames
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.spatial import ZERO
from kane.formulation.tree.speeds import speeds_of
from kane.formulation.tree.system import System
from kane.geometry.scalars import is_zero
from kane.model.model import Model

# Rows are those of a rotation where their products with each other are those of unit vectors but for this.
ROUNDING = 1e-11


class Based(NamedTuple):
    """A system with the velocity of a link in the place of three speeds, under the same columns, and rows in it."""

    system: System
    rows: Sequence[Equation]


def least_base(
    rows: Sequence[Equation], dependent: Collection[int], system: System, model: Model, probe: Probe
) -> Based | None:
    """The link whose velocity makes the rows shortest; None where those of the joints' own speeds are.

    Args:
        rows: that give the dependent speeds, those of these columns, in the joints' own.
    """
    names = [row.name for row in rows]
    best, least = None, operations(rows)
    for other in _with_velocity_of_links(system, set(dependent), model, probe):
        given = {row.name: row for row in every_equation(model.constraints, other)}
        found = Based(other, [shortest(given[name], other.speeds, probe) for name in names])
        if operations(found.rows) < least:
            best, least = found, operations(found.rows)
    return best


def _with_velocity_of_links(system: System, dependent: set[int], model: Model, probe: Probe) -> Iterator[System]:
    """From the ground on, of each link that three slides carry, as long as it is the only one."""
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
            if np.abs(turned @ turned.T - np.eye(3)).max() > ROUNDING:
                return
            yield _based(system, index, slides, (Q, rest), model)


def _slides(system: System, index: int) -> list[int]:
    """Columns of the speeds by which a link does not turn."""
    speeds = system.speeds
    columns = zip(system.columns(index), system.steps[index].w_u, strict=True)
    return [next(iter(speeds.C[k])) for k, w in columns if all(map(is_zero, w))]


def _based(
    system: System, index: int, slides: Sequence[int], velocity: tuple[list[list[Expr]], list[Expr]], model: Model
) -> System:
    """With v = Q w + rest of the slides' speeds w, so that w = Q^T (v - rest)."""
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
    declared = {index: DeclaredVelocity(index, rows, ZERO)}
    return replace(system, speeds=found, steps=computational_frames(system.links, found), declared_points=declared)
