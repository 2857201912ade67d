"""Rates and measures as expressions in q, u and t."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from kane.errors import ModelError
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import INPUT, MEASURE, OPERATIONS, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves
from kane.formulation.tree.spatial import minus, plus
from kane.formulation.tree.system import System
from kane.geometry.scalars import NumberMatrix, Triple, cross, dot
from kane.model.body import ACCELERATION_KINDS, ANGULAR_VELOCITY, DIRECTION, POSITION, Measure


def images(
    system: System,
    expressions: Sequence[Expr],
    who: str = "a load",
    known: Container[Expr] = (),
    *,
    udot: Sequence[Expr] = (),
) -> dict[Expr, Expr]:
    """Return the value, in q, u and t, of every rate and measure in some expressions.

    Args:
        system: links and speeds.
        expressions: expressions of coordinates, rates, measures, time, parameters and inputs.
        who: owner of the expressions, for messages.
        known: nodes whose leaves are left out.
        udot: accelerations, if measures of accelerations have a value here.

    Raises:
        ModelError: an expression contains an acceleration without value, or a rate or coordinate of another model.
    """
    wanted = leaves(expressions, known)
    own = {*system.speeds.q, *system.speeds.u}
    for leaf in wanted:
        if leaf.op not in (PARAMETER, INPUT, TIME, MEASURE) and leaf not in own and leaf not in system.speeds.rates:
            kind = OPERATIONS[leaf.op].name
            raise ModelError(f"{who} depends on the {kind} {leaf.name!r}, which has no value in these equations")
    found = {leaf: system.speeds.rates[leaf] for leaf in wanted if leaf.op == RATE}
    measures = [leaf for leaf in wanted if leaf.op == MEASURE]
    if measures:
        w, v = system.once(_velocities)
        moving = [leaf for leaf in measures if leaf.data.kind in ACCELERATION_KINDS]
        found.update({x: system.arena.lift(_value(system, x.data, w, v)) for x in measures if x not in moving})
        if moving and not udot:
            raise ModelError(
                f"{who} depends on {moving[0].data}, but accelerations follow from loads and inputs; "
                "accelerations are outputs: dyn.derivatives(expression, wrt=()), or conditions of events"
            )
        found.update(_accelerations(system, moving, udot) if moving else {})
    return found


def measure_accelerations(expressions: Sequence[Expr]) -> bool:
    """Check whether expressions contain a measure of an acceleration."""
    return any(leaf.op == MEASURE and leaf.data.kind in ACCELERATION_KINDS for leaf in leaves(expressions))


def _accelerations(system: System, measures: Sequence[Expr], udot: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return the values of measures of accelerations: along axes of K the derivative of w, and of v plus w x v."""
    w, v = system.once(_velocities)
    speeds, lift = system.speeds, system.arena.lift
    rates = dict(zip((*speeds.q, *speeds.u), (*speeds.kinematics, *udot), strict=True))
    found = {}
    for leaf in measures:
        measure: Measure = leaf.data
        link = system.places[measure.body].link
        p = position_in_K(system, measure.body, measure.point)
        velocity = plus(v[link], cross(w[link], p))
        turning = measure.kind == ACCELERATION_KINDS[1]
        change = total_time_derivative([lift(x) for x in (w[link] if turning else velocity)], rates)
        vector = change if turning else plus(tuple(change), cross(w[link], velocity))
        found[leaf] = lift(dot(vector, from_body(system, measure.direction_body, link, measure.direction)))
    return found


def measure_rates(system: System, measures: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return d/dt of position and direction measures, in q, u and t.

    The rates come from velocities, so that prescribed motion without a coordinate is included.
    """
    if not measures:
        return {}
    w, v = system.once(_velocities)
    return {leaf: system.arena.lift(_rate(system, leaf.data, w, v)) for leaf in measures}


def _velocities(system: System) -> tuple[list[Triple], list[Triple]]:
    """Return angular velocity and velocity of O_K of every link, in K."""
    from kane.formulation.recursive.kinematics import angular_velocities, origin_velocities

    w = angular_velocities(system)
    return w, origin_velocities(system, w)


def _poses(system: System) -> tuple[list[NumberMatrix], list[Triple]]:
    """Return R_NK, by rows, and p_NO of every link."""
    from kane.formulation.recursive.kinematics import orientations, origins

    R = orientations(system)
    return R, origins(system, R)


def _value(system: System, measure: Measure, w: Sequence[Triple], v: Sequence[Triple]) -> Any:
    link = system.places[measure.body].link
    if measure.kind == DIRECTION:
        along = system.places[measure.direction_body]
        own = system.steps[along.link].R_LK.apply_inverse(along.R_LB.apply(measure.direction))
        return dot(from_body(system, measure.body, along.link, measure.point), own)
    p = position_in_K(system, measure.body, measure.point)
    if measure.kind == POSITION:
        p_N = _position(system, link, p)
        return dot(p_N, from_body(system, measure.direction_body, 0, measure.direction))
    vector = w[link] if measure.kind == ANGULAR_VELOCITY else plus(v[link], cross(w[link], p))
    return dot(vector, from_body(system, measure.direction_body, link, measure.direction))


def _position(system: System, link: int, p: Triple) -> Triple:
    """Return the position in N of the point at p from O_K."""
    R, origin = system.once(_poses)
    return plus(origin[link], tuple(dot(row, p) for row in R[link]))


def _rate(system: System, measure: Measure, w: Sequence[Triple], v: Sequence[Triple]) -> Any:
    link, along = system.places[measure.body].link, system.places[measure.direction_body].link
    direction = from_body(system, measure.direction_body, along, measure.direction)
    if measure.kind == DIRECTION:
        own = from_body(system, measure.body, along, measure.point)
        return dot(minus(system.carried(link, along, w[link]), w[along]), cross(own, direction))
    p = position_in_K(system, measure.body, measure.point)
    velocity = plus(v[link], cross(w[link], p))
    rate = dot(velocity, system.carried(along, link, direction))
    if not along:
        return rate
    p_N = _position(system, link, p)
    return rate + dot(p_N, system.carried(along, 0, cross(w[along], direction)))


def position_in_K(system: System, body: int, point: Triple) -> Triple:
    """Return the position from O_K, in K of its link, of a point given in a body's frame."""
    place = system.places[body]
    step = system.steps[place.link]
    return step.R_LK.apply_inverse(minus(plus(place.p_LB, place.R_LB.apply(point)), step.p_LK))


def from_body(system: System, body: int, link: int, v: Triple) -> Triple:
    """Transform a vector from a body's frame to the frame K of a link."""
    place = system.places[body]
    return system.carried(place.link, link, system.steps[place.link].R_LK.apply_inverse(place.R_LB.apply(v)))
