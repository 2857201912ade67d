"""The kinematic graph of a model: the tree of joints, and what constraints add to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, MEASURE, RATE
from kane.expression.traverse import leaves
from kane.geometry.scalars import Triple
from kane.model.arguments import at_defaults
from kane.model.body import DIRECTION, POSITION, VELOCITY

if TYPE_CHECKING:
    from kane.expression.node import Expr
    from kane.model.body import Body
    from kane.model.connection import Connection
    from kane.model.constraints.constraint import Imposed
    from kane.model.contacts import Candidate
    from kane.model.model import Model

ROUNDING = 1e-9  # what a translation by about 1 m, or 1 m/s, may change where only differences count


def children(model: Model) -> dict[Body, list[Connection]]:
    """The joints that each body carries, those that close loops among them."""
    below: dict[Body, list[Connection]] = {}
    for c in model.connections:
        below.setdefault(c.parent, []).append(c)
    return below


def loose(model: Model) -> list[Body]:
    """Bodies that hang on nothing."""
    carried = {c.child for c in model.connections}
    return [b for b in model.bodies[1:] if b not in carried]


def joint_words(c: Connection) -> str:
    """The kind of a joint and its coordinates: "Revolute(q1)"."""
    words = coordinate_words(c)
    return f"{type(c.joint).__name__}({words})" if words else type(c.joint).__name__


def coordinate_words(c: Connection) -> str:
    """The names of the coordinates of a joint, or its coordinate expression."""
    if c.coordinate_names:
        names = c.coordinate_names
        return ", ".join(names) if len(names) <= 3 else f"{names[0]}, ..., {names[-1]}"
    return ", ".join(repr(q) for q in c.coordinates)


def loops(model: Model) -> dict[tuple[Body, ...], list[str]]:
    """The joints that close loops, in words, by the bodies that they join."""
    found: dict[tuple[Body, ...], list[str]] = {}
    welded = _welded(model)
    for cut in model.cuts:
        found.setdefault(_ordered({cut.parent, welded[cut.child]}), []).append(joint_words(cut))
    return found


def _welded(model: Model) -> dict[Body, Body]:
    """The bodies on which the massless frames of cut joints close, by frame."""
    found, closures = {}, {f"closure of {cut.name}": cut for cut in model.cuts}
    for constraint in model.constraints:
        if cut := closures.get(constraint.name):
            (found[cut.child],) = _measured(model, constraint) - {cut.child, cut.parent} or {model.ground}
    return found


def restrictions(model: Model) -> dict[tuple[Body, ...], list[str]]:
    """The names of all other constraints, also those that come and go, by the bodies that they join.

    The ground is among these where they are restricted in the inertial frame: by what they roll on or are held by. One
    body alone has constraints on nothing but its joint's coordinates.
    """
    found: dict[tuple[Body, ...], list[str]] = {}
    closures = {f"closure of {cut.name}" for cut in model.cuts}
    every: list[Imposed | Candidate] = [*model.constraints, *model.candidates]
    for constraint in every:
        if constraint.name not in closures:
            words = found.setdefault(_ordered(_joined(model, constraint)), [])
            if (title := constraint.name.partition(": ")[0]) not in words:
                words.append(title)
    return found


def _ordered(bodies: set[Body]) -> tuple[Body, ...]:
    return tuple(sorted(bodies, key=lambda body: body.index))


def _joined(model: Model, constraint: Imposed | Candidate) -> set[Body]:
    """The bodies that a constraint joins: of those that it measures and whose joints it reads, the outermost.

    What stands between them and the ground carries them, as the fork does the wheel: equations that are short where
    they are written with the fork are about the wheel. Bodies on one branch are joined by their first and their last.
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
    """The bodies between this one and the ground, the ground last."""
    while body in parents:
        body = parents[body]
        yield body


def _in_inertial_frame(model: Model, constraint: Imposed | Candidate) -> bool:
    """Whether a translation of all bodies alike changes what shall vanish; tried at a made-up state."""
    rng, found = np.random.default_rng(0), _leaves(constraint)
    axes = {body: np.linalg.qr(rng.normal(size=(3, 3)))[0] for body in _measured(model, constraint) | {model.ground}}
    values: dict[Expr, Any] = {x: np.float64(rng.uniform(0.1, 0.9)) for x in found}
    moved, shift = dict(values), rng.normal(size=3)

    def vector(body: int, components: Triple) -> NDArray[np.float64]:
        return axes[model.bodies[body]] @ [at_defaults(model, x) for x in components]

    for x in (x for x in found if x.op == MEASURE):
        direction = vector(x.data.direction_body, x.data.direction)
        if x.data.kind == DIRECTION:
            values[x] = moved[x] = vector(x.data.body, x.data.point) @ direction
        elif x.data.kind in (POSITION, VELOCITY):
            moved[x] = values[x] + shift @ direction
    with np.errstate(all="ignore"):  # where the made-up state is none, nothing is concluded
        before, after = (np.array(interpret(_vanishing(constraint), v)) for v in (values, moved))
    return bool(np.abs(after - before).max() > ROUNDING)


def _measured(model: Model, constraint: Imposed | Candidate) -> set[Body]:
    """The bodies of whose motion or directions a constraint says something, the ground left out."""
    measures = [x.data for x in _leaves(constraint) if x.op == MEASURE]
    return {model.bodies[i] for m in measures for i in (m.body, m.direction_body)} - {model.ground}


def _leaves(constraint: Imposed | Candidate) -> list[Expr]:
    return leaves(_vanishing(constraint))


def _vanishing(constraint: Imposed | Candidate) -> list[Expr]:
    return [x for row in constraint.rows for x in (row.configuration, row.motion) if x is not None]
