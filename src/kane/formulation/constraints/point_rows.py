"""Rows of velocities of one link along directions of the ground, from the quantities of the recursions.

The velocity of a point P along a direction d of the ground is the sum over the joints that carry P of

    (w_u . (r x d) + v_u . d) times the natural speed,   r from a point on the joint to P.

This takes fewer operations than to carry partial velocities outwards along the tree and to rotate them into the ground.
The acceleration of P without udot follows from the acceleration field of its link, whose angular part h also contains.
It is computed without gravity: to add and subtract gravity would leave round-off at rest, and sticking contacts would
creep.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kane.deferred import dataclass
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import MEASURE, RATE
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.rows import Equation, SharedNodes, equation_of, row_equation
from kane.formulation.recursive.kinematics import Acceleration, remainders
from kane.formulation.recursive.measures import from_body, images, measure_rates, position_in_K
from kane.formulation.tree.spatial import plus
from kane.formulation.tree.system import System
from kane.geometry.scalars import cross, dot
from kane.model.body import ANGULAR_VELOCITY, CONFIGURATION_KINDS, Measure
from kane.model.constraints import Row


@dataclass(frozen=True)
class PointRows:
    """Builder of the equations of rows of one system.

    Attributes:
        system: links and speeds.
    """

    system: System

    def equation(self, row: Row, name: str) -> Equation:
        """Return a row's equation; in recursive form if it has velocities of one link along ground directions only."""
        system, link = self.system, self._link(row)
        if row.motion is None or link is None:
            return row_equation(row, name, system, self._shared)
        given = [row.motion] if row.configuration is None else [row.motion, row.configuration]
        known, rates = images(system, given, f"the constraint {name!r}"), dict(self._rates)
        measures = [leaf for leaf in leaves([row.motion]) if leaf.op == MEASURE]
        rates |= measure_rates(system, [leaf for leaf in measures if leaf.data.kind in CONFIGURATION_KINDS])
        for leaf in measures:
            if leaf.data.kind not in CONFIGURATION_KINDS:
                known[leaf] = system.arena.lift(self._velocity(leaf.data, link))
                rates[leaf] = system.arena.lift(self._acceleration(leaf.data, link))
        remainder, motion, *configuration = substitute_nodes(
            [total_time_derivative([row.motion], rates)[0], *given], known
        )
        gap = configuration[0] if configuration else None
        return equation_of(name, motion, gap, system.speeds, remainder=remainder)

    @cached_property
    def _shared(self) -> SharedNodes:
        return SharedNodes()

    @cached_property
    def _fields(self) -> list[Acceleration]:
        return remainders(self.system)

    @cached_property
    def _rates(self) -> dict[Expr, Expr]:
        return dict(zip(self.system.speeds.q, self.system.speeds.kinematics, strict=True))

    def _link(self, row: Row) -> int | None:
        """Return the link whose velocities make up a row; None if the recursive form does not apply."""
        system, found = self.system, leaves([] if row.motion is None else [row.motion])
        if system.declared_turns or system.declared_points or any(leaf.op == RATE for leaf in found):
            return None
        moving = [x.data for x in found if x.op == MEASURE and x.data.kind not in CONFIGURATION_KINDS]
        links = {system.places[x.body].link for x in moving}
        in_ground = all(system.places[x.direction_body].link == 0 for x in moving)
        return links.pop() if in_ground and len(links) == 1 else None

    def _velocity(self, measure: Measure, link: int) -> Any:
        """Compute the velocity of a point, or an angular velocity, joint by joint.

        A joint's contribution is computed along its parent's axes if the joint's axes are constant there. This saves a
        rotation of d.
        """
        system, turns_only, total = self.system, measure.kind == ANGULAR_VELOCITY, 0.0
        d = from_body(system, measure.direction_body, 0, measure.direction)
        arm = position_in_K(system, measure.body, measure.point)
        while link:
            step, parent = system.steps[link], system.links[link].parent
            arm = plus(arm, step.d)
            beyond = step.R.apply(arm)
            frame, r, axes = parent, beyond, [[step.R.apply(x) for x in given] for given in (step.w_u, step.v_u)]
            if any(isinstance(x, Expr) for given in axes for axis in given for x in axis):
                frame, r, axes = link, arm, [list(step.w_u), list(step.v_u)]
            along = system.carried(0, frame, d)
            moment = along if turns_only else cross(r, along)
            for k, w_u, v_u in zip(system.columns(link), *axes, strict=True):
                ratio = dot(w_u, moment) + (0.0 if turns_only else dot(v_u, along))
                total = total + ratio * system.speeds.natural[k]
            arm, link = plus(step.p, beyond), parent
        return total

    def _acceleration(self, measure: Measure, link: int) -> Any:
        """Compute the time derivative of ``_velocity`` without the terms in udot."""
        system, field = self.system, self._fields[link]
        d = from_body(system, measure.direction_body, 0, measure.direction)
        if measure.kind == ANGULAR_VELOCITY:
            return dot(system.carried(link, 0, field.alpha), d)
        a = field.at(position_in_K(system, measure.body, measure.point))
        return dot(system.carried(link, 0, a), d)
