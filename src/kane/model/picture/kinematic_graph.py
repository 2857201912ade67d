"""Kinematic graph of a model: the tree of joints, and the edges that constraints add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.array_types import Array
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, MEASURE, RATE
from kane.expression.traverse import leaves
from kane.geometry.scalars import Triple
from kane.model.body import DIRECTION, POSITION, VELOCITY
from kane.model.vector_arguments import at_defaults

if TYPE_CHECKING:
    from kane.expression.node import Expr
    from kane.model.body import Body
    from kane.model.connection import Connection
    from kane.model.constraints.constraint import Imposed
    from kane.model.contacts import IntermittentConstraint
    from kane.model.model import Model

RESIDUAL_CHANGE_TOLERANCE = 1e-9  # smaller changes of a residual by a shift of about 1 m or 1 m/s are round-off


def children(model: Model) -> dict[Body, list[Connection]]:
    """Return the joints that each body carries, including joints that close loops."""
    below: dict[Body, list[Connection]] = {}
    for c in model.connections:
        below.setdefault(c.parent, []).append(c)
    return below


def loose(model: Model) -> list[Body]:
    """Return the bodies that no joint connects."""
    carried = {c.child for c in model.connections}
    return [b for b in model.bodies[1:] if b not in carried]


def joint_words(c: Connection) -> str:
    """Return the kind of a joint and its coordinates: "Revolute(q1)"."""
    words = coordinate_words(c)
    return f"{type(c.joint).__name__}({words})" if words else type(c.joint).__name__


def coordinate_words(c: Connection) -> str:
    """Return the names of the coordinates of a joint, or its coordinate expression."""
    if c.coordinate_names:
        names = c.coordinate_names
        return ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
    return ", ".join(repr(q) for q in c.coordinates)


def loops(model: Model) -> dict[tuple[Body, ...], list[str]]:
    """Return the joints that close loops, in words, by the bodies that they connect."""
    found: dict[tuple[Body, ...], list[str]] = {}
    welded = _welded(model)
    for cut in model.cuts:
        found.setdefault(_ordered({cut.parent, welded[cut.child]}), []).append(joint_words(cut))
    return found


def _welded(model: Model) -> dict[Body, Body]:
    """Return the body to which the massless frame of each cut joint is welded, by frame."""
    found, closures = {}, {f"closure of {cut.name}": cut for cut in model.cuts}
    for constraint in model.constraints:
        if cut := closures.get(constraint.name):
            (found[cut.child],) = _measured(model, constraint) - {cut.child, cut.parent} or {model.ground}
    return found


def restrictions(model: Model) -> dict[tuple[Body, ...], list[str]]:
    """Return the names of all other constraints, also intermittent ones, by the bodies that they connect.

    The ground is among these bodies if the constraint refers to the inertial frame, for example for a wheel on the
    ground. A single body means that a constraint restricts only the coordinates of its joint.
    """
    found: dict[tuple[Body, ...], list[str]] = {}
    closures = {f"closure of {cut.name}" for cut in model.cuts}
    every: list[Imposed | IntermittentConstraint] = [*model.constraints, *model.intermittents]
    for constraint in every:
        if constraint.name not in closures:
            words = found.setdefault(_ordered(_joined(model, constraint)), [])
            if (title := constraint.name.partition(": ")[0]) not in words:
                words.append(title)
    return found


def _ordered(bodies: set[Body]) -> tuple[Body, ...]:
    return tuple(sorted(bodies, key=lambda body: body.index))


def _joined(model: Model, constraint: Imposed | IntermittentConstraint) -> set[Body]:
    """Return the bodies that a constraint connects: the outermost bodies whose motion or joints its rows contain.

    The bodies between them and the ground only carry them. For example, the short equations of a wheel contain measures
    of the fork, but concern the wheel. If all bodies are on one branch, the first and the last are connected.
    """
    welded = _welded(model)
    measured = {welded.get(body, body) for body in _measured(model, constraint)} - {model.ground}
    names = {x.data for x in _leaves(constraint) if x.op in (COORDINATE, RATE)}
    moved = [c.child for c in model.connections if names & {*c.coordinate_names, *c.speed_names}]
    turned = {welded.get(body, body) for body in moved} - {model.ground}
    parents = {c.child: c.parent for c in model.connections}
    bodies = {body: list(_carriers(body, parents)) for body in measured | turned}
    outermost = set(bodies) - {carrier for carriers in bodies.values() for carrier in carriers}
    if not bodies or len(measured) == 1 or _in_inertial_frame(model, constraint):
        return outermost | {model.ground}
    return outermost if len(outermost) > 1 else outermost | {min(bodies, key=lambda body: len(bodies[body]))}


def _carriers(body: Body, parents: dict[Body, Body]) -> Iterator[Body]:
    """Yield the bodies between this one and the ground, the ground last."""
    while body in parents:
        body = parents[body]
        yield body


def _in_inertial_frame(model: Model, constraint: Imposed | IntermittentConstraint) -> bool:
    """Return whether a common displacement and velocity of all bodies changes the residuals, at a random state."""
    rng, found = np.random.default_rng(0), _leaves(constraint)
    axes = {body: np.linalg.qr(rng.normal(size=(3, 3)))[0] for body in _measured(model, constraint) | {model.ground}}
    values: dict[Expr, Any] = {x: np.float64(rng.uniform(0.1, 0.9)) for x in found}
    moved, shift = dict(values), rng.normal(size=3)

    def vector(body: int, components: Triple) -> Array:
        return axes[model.bodies[body]] @ [at_defaults(model, x) for x in components]

    for x in (x for x in found if x.op == MEASURE):
        direction = vector(x.data.direction_body, x.data.direction)
        if x.data.kind == DIRECTION:
            values[x] = moved[x] = vector(x.data.body, x.data.point) @ direction
        elif x.data.kind in (POSITION, VELOCITY):
            moved[x] = values[x] + shift @ direction
    with np.errstate(all="ignore"):  # the random state may be impossible; NaN then counts as no change
        before, after = (np.array(interpret(_vanishing(constraint), v)) for v in (values, moved))
    return bool(np.abs(after - before).max() > RESIDUAL_CHANGE_TOLERANCE)


def _measured(model: Model, constraint: Imposed | IntermittentConstraint) -> set[Body]:
    """Return the bodies whose motion or directions the rows contain, without the ground."""
    measures = [x.data for x in _leaves(constraint) if x.op == MEASURE]
    return {model.bodies[i] for m in measures for i in (m.body, m.direction_body)} - {model.ground}


def _leaves(constraint: Imposed | IntermittentConstraint) -> list[Expr]:
    return leaves(_vanishing(constraint))


def _vanishing(constraint: Imposed | IntermittentConstraint) -> list[Expr]:
    return [x for row in constraint.rows for x in (row.configuration, row.motion) if x is not None]
