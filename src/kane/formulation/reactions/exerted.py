"""Forces and torques that loads, joints, constraints and contacts exert on bodies, per unit of their multipliers.

The motion equation of a constraint row contains sum_P f_P . v_P + sum_B t_B . w_B, with velocities of points P and
angular velocities of bodies B. The row exerts its multiplier times f_P and t_B, whose power is multiplier times rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kane.deferred import NamedTuple, dataclass
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.derivative import gradient
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, MEASURE, RATE, SPEED
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.elimination import ZERO_COEFFICIENT_TOLERANCE
from kane.formulation.equations import Equations
from kane.formulation.read_model import probe_of
from kane.formulation.recursive.measures import from_body, images
from kane.formulation.tree.spatial import minus, plus, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import UNIT_VECTORS, ZERO_VECTOR, Triple, cross, dot, is_zero
from kane.model.body import ANGULAR_VELOCITY, CONFIGURATION_KINDS, DIRECTION, POSITION, VELOCITY, Body, Measure
from kane.model.checks import near
from kane.model.connection import Connection
from kane.model.constraints import Row
from kane.model.constraints.relative import angular_velocity_in
from kane.model.constraints.rolling.carrier import in_child
from kane.model.loads.load import Effect
from kane.model.model import Model


@dataclass(frozen=True)
class OnBody:
    """Force and torque on one body: the sum over rows of multiplier times (force at P, torque about P).

    Attributes:
        body: index of the body B.
        at: P, as p_BoP in B [m].
        forces, torques: by row, measured in N, as expressions of q, u, t, parameters and inputs.
    """

    body: int
    at: Triple
    forces: tuple[Triple, ...]
    torques: tuple[Triple, ...]


@dataclass(frozen=True)
class Exerted:
    """Forces and torques that a load, joint, constraint or contact exerts on bodies.

    Attributes:
        name: name of the load (as in power ledgers), joint, constraint or intermittent constraint.
        parts: one part per body, without the ground.
        source: origin of the multipliers of the rows: "load" (all are 1), "reaction" or "contact".
    """

    name: str
    parts: tuple[OnBody, ...]
    source: str


class _Share(NamedTuple):
    """A force at a point of a body, or a torque on the body if there is no point, in one row, measured in N."""

    row: int
    body: int
    point: Triple | None
    vector: Triple


def exerted(equations: Equations, name: str) -> Exerted:
    """Return the forces and torques that a load, joint, constraint or intermittent constraint exerts on bodies.

    Forces of joints, and loads along their coordinates, act on the child at Mo.

    Raises:
        ModelError: the name is unknown, or the load acts along one of several coupled angles, which no vector can show.
    """
    model, system = equations.model, equations.system
    joints = {c.name: c for c in model.connections}
    rows = {c.name: (c.rows, "reaction") for c in model.constraints}
    rows |= {c.name: (c.declared, "contact") for c in equations.intermittents}
    loads = dict(equations.tree.loads)
    with collector_paused():
        if name in joints:
            return _resolved(equations, name, [_of_joint(system, joints[name])], ("reaction", 6))
        if name in rows:
            given, source = rows[name]
            found = [part for k, row in enumerate(given) for part in _of_row(system, model, k, row)]
            return _resolved(equations, name, [_outward(system, model, found)], (source, len(given)))
        if name in loads:
            return _resolved(equations, name, _of_load(system, loads[name]), ("load", 1))
    known = [*joints, *rows, *loads]
    raise ModelError(f"there is no joint, constraint, contact or load {shown(name)} to be drawn; {near(name, known)}")


def _of_joint(system: System, c: Connection) -> list[_Share]:
    """Return force and torque along the axes of M, in the order of the joint's reactions."""
    axes = [from_body(system, c.child.index, 0, tuple(c.R_CM.apply(e))) for e in UNIT_VECTORS]
    forces = [_Share(k, c.child.index, c.p_CM, e) for k, e in enumerate(axes)]
    return [*forces, *(_Share(3 + k, c.child.index, None, e) for k, e in enumerate(axes))]


def _of_load(system: System, effect: Effect) -> Iterator[list[_Share]]:
    """Yield the parts of each force and each effort separately."""
    for along, effort in effect.efforts:
        yield _along(system, along.connection, along.place, (0, effort))
    for wrench in effect.wrenches:
        E, body = wrench.expressed_in.index, wrench.point.body.index
        force = _Share(0, body, wrench.point.position_in_body, from_body(system, E, 0, wrench.force))
        yield [force, _Share(0, body, None, from_body(system, E, 0, wrench.torque))]


def _along(system: System, c: Connection, place: int, term: tuple[int, Any]) -> list[_Share]:
    """Return the least wrench that does the work of an effort along a natural speed, and no work along the others."""
    row, effort = term
    arena = system.arena
    moving = c.joint.motion(c.coordinates, [arena.leaf(SPEED, n) for n in c.joint.speed_names(c.name)])
    columns = [(*w, *v) for w, v in zip(moving.w_FM_u, moving.v_FM_u, strict=True)]
    own = columns[place]
    if any(not is_zero(dot(own, other)) for k, other in enumerate(columns) if k != place):
        raise ModelError(
            f"an effort along {c.name!r} acts along one of several coupled angles, which no arrow can show; "
            "leave it out of arrows="
        )
    ratio = effort / dot(own, own)
    torque, force = (
        from_body(system, c.child.index, 0, tuple(c.R_CM.apply(times(ratio, v)))) for v in (own[:3], own[3:])
    )
    return [_Share(row, c.child.index, c.p_CM, force), _Share(row, c.child.index, None, torque)]


def _of_row(system: System, model: Model, k: int, row: Row) -> Iterator[_Share]:
    """Yield the forces and torques of a row's multiplier: the derivatives of the row's rate by velocities."""
    rate = row.configuration if row.motion is None else row.motion
    assert rate is not None
    within = CONFIGURATION_KINDS if row.motion is None else (VELOCITY, ANGULAR_VELOCITY)
    along = COORDINATE if row.motion is None else RATE
    moving = [x for x in leaves([rate]) if x.op == along or (x.op == MEASURE and x.data.kind in within)]
    carried = {
        name: (c, i)
        for c in model.connections
        for names in (c.speed_names, c.coordinate_names)
        for i, name in enumerate(names)
    }
    for leaf, ratio in zip(moving, gradient(rate, moving), strict=True):
        if leaf.op != MEASURE:
            yield from _along(system, *carried[leaf.data], (k, ratio))
        else:
            yield from _of_measure(system, leaf.data, k, ratio)


def _outward(system: System, model: Model, parts: list[_Share]) -> list[_Share]:
    """Move forces from the carrier of a wheel, in whose points the rows are written, to the wheel."""
    inboard = {c.child.index: c for c in model.connections}
    held = {part.body for part in parts if part.point is not None} - {0}
    for wheel in sorted({part.body for part in parts} - held - {0}):
        way, carrier = list[Connection](), wheel
        while carrier in inboard and carrier not in held:
            way.insert(0, inboard[carrier])
            carrier = inboard[carrier].parent.index
        own = [part for part in parts if part.body == carrier and carrier in held]
        places = {part.point: _through(way, part.point) for part in own if part.point is not None}
        if all(places.values()) and not _turns(system, (model.bodies[carrier], model.bodies[wheel]), own):
            parts = [p._replace(body=wheel, point=p.point and places[p.point]) if p in own else p for p in parts]
    return parts


def _turns(system: System, bodies: tuple[Body, Body], parts: Sequence[_Share]) -> bool:
    """Return whether the torques on the first body would have another power if they acted on the second body."""
    w = angular_velocity_in(*bodies, bodies[0].model.ground)
    rows: dict[int, Any] = {}
    for part in parts:
        if part.point is None:
            rows[part.row] = rows.get(part.row, 0.0) + dot(part.vector, w)
    powers = [system.arena.lift(x) for x in rows.values()]
    found = probe_of(bodies[0].model)(substitute_nodes(powers, images(system, powers)))
    return bool(np.abs(np.asarray(found, float)).max(initial=0.0) > ZERO_COEFFICIENT_TOLERANCE)


def _through(way: Sequence[Connection], place: Triple) -> Triple | None:
    """Return the position of a point of the first body in the last; None if a joint between them moves the point."""
    for c in way:
        found = in_child(c, place)
        if found is None:
            return None
        place = found.position_in_body
    return place


def _of_measure(system: System, measure: Measure, k: int, ratio: Expr) -> Iterator[_Share]:
    """Yield the contributions of a measure number along d, fixed in D:

    d/dt (p . d) = v . d + w_D . (d x p),  d/dt (e . d) = (w_A - w_D) . (e x d).
    """
    body, D = measure.body, measure.direction_body
    d = times(ratio, from_body(system, D, 0, measure.direction))
    if measure.kind in (VELOCITY, POSITION):
        yield _Share(k, body, measure.point, d)
    if measure.kind == ANGULAR_VELOCITY:
        yield _Share(k, body, None, d)
    if measure.kind == POSITION and D:
        place = [system.arena.leaf(MEASURE, replace(measure, direction_body=0, direction=e)) for e in UNIT_VECTORS]
        yield _Share(k, D, None, cross(d, tuple(place)))
    if measure.kind == DIRECTION:
        turn = cross(from_body(system, body, 0, measure.point), d)
        yield _Share(k, body, None, turn)
        yield _Share(k, D, None, times(-1.0, turn))


def _resolved(equations: Equations, name: str, groups: Iterable[list[_Share]], rows: tuple[str, int]) -> Exerted:
    """Return parts by body in q, u, t, parameters and inputs; ``rows`` has the source and number of multipliers."""
    system, found, (source, count) = equations.system, [], rows
    for parts in groups:
        found += [_joined(system, parts, body, count) for body in sorted({part.body for part in parts} - {0})]
    flat = [system.arena.lift(x) for part in found for v in (*part.forces, *part.torques) for x in v]
    entries = iter(equations.baked_in(substitute_nodes(flat, images(system, flat, name))))

    def read(vectors: tuple[Triple, ...]) -> tuple[Triple, ...]:
        return tuple((next(entries), next(entries), next(entries)) for _ in vectors)

    return Exerted(
        name, tuple(replace(part, forces=read(part.forces), torques=read(part.torques)) for part in found), source
    )


def _joined(system: System, parts: Sequence[_Share], body: int, count: int) -> OnBody:
    """Return forces and torques on one body, reduced to the first of its points that occurs, else to its origin."""
    own = [part for part in parts if part.body == body]
    at = next((part.point for part in own if part.point is not None), ZERO_VECTOR)
    forces, torques = [ZERO_VECTOR] * count, [ZERO_VECTOR] * count
    for part in own:
        if part.point is None:
            torques[part.row] = plus(torques[part.row], part.vector)
        else:
            arm = from_body(system, body, 0, minus(part.point, at))
            forces[part.row] = plus(forces[part.row], part.vector)
            torques[part.row] = plus(torques[part.row], cross(arm, part.vector))
    return OnBody(body, at, tuple(forces), tuple(torques))
