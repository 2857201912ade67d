"""Loads as generalized forces on the joints and wrenches on the links; measures and rates resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kane.errors import ExpressionError, ModelError
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import INPUT, MEASURE, OPERATIONS, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves, substitute
from kane.formulation.inverse import Wrench
from kane.formulation.kinematics import angular_velocities, orientations, origin_velocities, origins
from kane.formulation.spatial import ZERO, Vector, cross, dot, minus, plus
from kane.formulation.system import System
from kane.model.body import ANGULAR_VELOCITY, DIRECTION, POSITION, Measure
from kane.model.loads.load import Load
from kane.model.loads.load import Wrench as PointWrench


@dataclass(frozen=True)
class Applied:
    """All loads of a model but gravity.

    Attributes:
        efforts: generalized force along each natural speed.
        wrenches: by link, force and moment about O_K in K.
        potential: potential energy of springs [J].
    """

    efforts: tuple[Expr, ...]
    wrenches: dict[int, Wrench]
    potential: Expr

    def replaced(self, values: Mapping[Expr, Expr]) -> Applied:
        """The same loads with leaves replaced."""
        keys = list(self.wrenches)
        flat = [*self.efforts, self.potential, *(x for k in keys for v in self.wrenches[k] for x in v)]
        arena = self.potential.arena
        new = substitute([arena.lift(x) for x in flat], values)
        n = len(self.efforts)
        triples = [tuple(new[i : i + 3]) for i in range(n + 1, len(new), 3)]
        wrenches = {k: (triples[2 * i], triples[2 * i + 1]) for i, k in enumerate(keys)}
        return Applied(tuple(new[:n]), wrenches, new[n])

    def without(self, inputs: Sequence[Expr]) -> Applied:
        """The part that remains when all inputs vanish.

        Raises:
            ModelError: a load has no value there, such as 1 / input.
        """
        try:
            return self.replaced({i: i.arena.zero for i in inputs}) if inputs else self
        except ExpressionError as error:
            raise ModelError(
                f"a load has no value where the inputs are zero ({error}), so that there is no bias without inputs; "
                "forward dynamics and simulation are available"
            ) from None

    def coefficients(self, inputs: Sequence[Expr]) -> list[Applied]:
        """For each input, the loads per unit of it.

        Raises:
            ModelError: a load is not linear in the inputs.
        """
        keys = list(self.wrenches)
        arena = self.potential.arena
        flat = [*self.efforts, *(arena.lift(x) for k in keys for v in self.wrenches[k] for x in v)]
        try:
            rows, _ = linear_coefficients(flat, inputs)
        except ExpressionError as error:
            raise ModelError(
                f"a load is not linear in the inputs ({error}), so that M udot + bias = B inputs has no meaning; "
                "forward dynamics and simulation are available"
            ) from None
        n = len(self.efforts)
        found = []
        for j in range(len(inputs)):
            column = [row[j] for row in rows]
            triples = [tuple(column[i : i + 3]) for i in range(n, len(column), 3)]
            wrenches = {k: (triples[2 * i], triples[2 * i + 1]) for i, k in enumerate(keys)}
            found.append(replace(self, efforts=tuple(column[:n]), wrenches=wrenches))
        return found


def applied_loads(loads: Iterable[Load], system: System) -> Applied:
    """Collect and resolve loads.

    Raises:
        ModelError: a load depends on something that has no value in these equations.
    """
    arena = system.arena
    efforts = [arena.zero] * len(system.speeds.C)
    wrenches: dict[int, Wrench] = {}
    potential = arena.zero
    for declared in loads:
        effect = declared.effect()
        for along, effort in effect.efforts:
            k = system.speeds.first[along.connection] + along.place
            efforts[k] = efforts[k] + effort
        for wrench in effect.wrenches:
            link, f, n = _on_link(system, wrench)
            if link:
                old = wrenches.get(link, (ZERO, ZERO))
                wrenches[link] = plus(old[0], f), plus(old[1], n)
        potential = potential + effect.potential
    found = Applied(tuple(efforts), wrenches, arena.lift(potential))
    return found.replaced(resolved_leaves(system, found))


def _on_link(system: System, wrench: PointWrench) -> tuple[int, Vector, Vector]:
    """Link, force and moment about O_K in K."""
    body = wrench.point.body
    place = system.places[body.index]
    f = _from_body(system, wrench.expressed_in.index, place.link, wrench.force)
    n = _from_body(system, wrench.expressed_in.index, place.link, wrench.torque)
    p = position_in_K(system, body.index, wrench.point.position_in_body)
    return place.link, f, plus(n, cross(p, f))


def position_in_K(system: System, body: int, point: Vector) -> Vector:
    """Position from O_K of a point given in a body's frame, in K of its link."""
    place = system.places[body]
    step = system.steps[place.link]
    return step.R_LK.apply_inverse(minus(plus(place.p_LB, place.R_LB.apply(point)), step.p_LK))


def _from_body(system: System, body: int, link: int, v: Vector) -> Vector:
    """A vector from a body's frame to the frame K of a link."""
    place = system.places[body]
    return system.carried(place.link, link, system.steps[place.link].R_LK.apply_inverse(place.R_LB.apply(v)))


def resolved_leaves(system: System, found: Applied) -> dict[Expr, Expr]:
    """Images of the rates and measures on which the loads depend."""
    arena = system.arena
    flat = [*found.efforts, found.potential, *(arena.lift(x) for w in found.wrenches.values() for v in w for x in v)]
    return images(system, flat)


def images(system: System, expressions: Sequence[Expr], who: str = "a load") -> dict[Expr, Expr]:
    """The value, in q, u and t, of every rate and measure in some expressions; ``who`` has them, for messages.

    Raises:
        ModelError: an acceleration, or a rate or coordinate of another model's joint, stands in them.
    """
    wanted = leaves(expressions)
    known = {*system.speeds.q, *system.speeds.u}
    for leaf in wanted:
        if leaf.op not in (PARAMETER, INPUT, TIME, MEASURE) and leaf not in known and leaf not in system.speeds.rates:
            kind = OPERATIONS[leaf.op].name
            raise ModelError(f"{who} depends on the {kind} {leaf.name!r}, which has no value in these equations")
    found = {leaf: system.speeds.rates[leaf] for leaf in wanted if leaf.op == RATE}
    measures = [leaf for leaf in wanted if leaf.op == MEASURE]
    if measures:
        found.update(_measured(system, measures))
    return found


def _measured(system: System, measures: Sequence[Expr]) -> dict[Expr, Expr]:
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    out = {}
    for leaf in measures:
        measure: Measure = leaf.data
        out[leaf] = system.arena.lift(_value(system, measure, w, v))
    return out


def _value(system: System, measure: Measure, w: Sequence[Vector], v: Sequence[Vector]) -> Any:
    link = system.places[measure.body].link
    if measure.kind == DIRECTION:
        along = system.places[measure.direction_body]
        own = system.steps[along.link].R_LK.apply_inverse(along.R_LB.apply(measure.direction))
        return dot(_from_body(system, measure.body, along.link, measure.point), own)
    p = position_in_K(system, measure.body, measure.point)
    if measure.kind == POSITION:
        R = orientations(system)
        p_N = plus(origins(system, R)[link], tuple(dot(row, p) for row in R[link]))
        return dot(p_N, _from_body(system, measure.direction_body, 0, measure.direction))
    vector = w[link] if measure.kind == ANGULAR_VELOCITY else plus(v[link], cross(w[link], p))
    return dot(vector, _from_body(system, measure.direction_body, link, measure.direction))
