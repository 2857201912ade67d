"""Charts: gimbals that use other angles near their singularities, and checks of models that cannot change charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import words
from kane.expression.operations import ACCELERATION, COORDINATE, RATE, SPEED
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.model.checks import near
from kane.model.connection import Connection
from kane.model.loads.load import Effect
from kane.model.model import Model
from kane.model.reaction import REACTION_PREFIX
from kane.simulation.events.event import Event, event_names
from kane.simulation.inputs.input_plan import InputPlan

# Words for the owner of a value, and the value, which may be an expression.
Use = tuple[str, Any]


@dataclass(frozen=True, kw_only=True)
class Charts:
    """Setting that changes the axis sequence of gimbals with three angles near their singularities.

    Proper Euler angles become Tait-Bryan angles and the reverse: zyx becomes zyz, which is singular a quarter turn
    away. The state is converted exactly. The trajectory has the declared angles and speeds, and lists the changes of
    charts (``Trajectory.chart_switches``). Rates of angles are large near a singularity, and infinite at it.

    Attributes:
        within: distance from the singularity at which a gimbal changes its angles, less than pi/4 [rad].
        joints: names of the gimbals that change charts; by default all that can.

    Raises:
        ModelError: ``within`` is not such a distance, or ``joints`` are not names.
    """

    within: float = 0.3
    joints: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.within, bool) or not isinstance(self.within, (int, float)):
            raise ModelError(f"within is {shown(self.within)}; give a distance in radians, such as 0.3")
        if not 0.0 < self.within < math.pi / 4:
            raise ModelError(
                f"within is {shown(self.within)} rad; give more than 0 and less than pi/4, beyond which the other "
                "angles are no farther from their singularity"
            )
        if self.joints is not None:
            words(self.joints, "joints", "names of joints")

    def mode_source(self, equations: Equations) -> tuple[Connection, ...]:
        """Return the joints that change charts.

        Raises:
            ModelError: there is no such joint, or it has no other angles.
        """
        moving = {c.name: c for c in equations.system.speeds.motion if c.coordinate_names}
        able = {name: c for name, c in moving.items() if c.joint.other_chart is not None}
        for name in self.joints or ():
            if name not in able:
                raise ModelError(
                    f"charts cannot be switched at {name!r}: it is no Gimbal of three angles; {near(name, list(able))}"
                )
        if not able:
            raise ModelError(f"{equations.name!r} has no Gimbal of three angles to switch charts of; leave charts out")
        return tuple(c for name, c in able.items() if self.joints is None or name in self.joints)


def refuse_references(
    equations: Equations, mode_source: Sequence[Connection], plan: InputPlan, events: Sequence[Event]
) -> None:
    """Raise if an expression loses its meaning while a gimbal uses other angles.

    Raises:
        ModelError: a load, constraint, speed, coordinate expression, input or event refers to angles, or to rates of
            angles, of a gimbal that changes charts; names both and the cure.
    """
    cure = "use measures, such as B.z.dot(N.x), speeds=kane.MeasureNumbers() or kane.Spherical"
    for connection in mode_source:
        _refuse_acted_on(equations.model, connection, cure)
        own = _own_leaves(equations, connection)
        for who, expression in _uses(equations, plan, events):
            for leaf in leaves([expression]) if isinstance(expression, Expr) else ():
                if leaf in own:
                    raise ModelError(f"{who} refers to {leaf.name!r}{_changing(connection)}; {cure}")
    if plan.needs_python:
        raise ModelError(
            f"a Python function gives inputs from coordinates{_changing(mode_source[0])}; give an expression of the "
            f"model instead: {cure}"
        )


def _changing(connection: Connection) -> str:
    return (
        f", while charts of the gimbal {connection.name!r} are switched: it has other angles then, and other rates "
        "(kane.Charts(joints=...) names those that are to be switched)"
    )


def _refuse_acted_on(model: Model, connection: Connection, cure: str) -> None:
    for load in model.loads:
        for along, _ in load.effect().efforts:
            if along.connection is connection:
                raise ModelError(
                    f"a {type(load).__name__} acts along {along.name!r}{_changing(connection)}; use kane.Torque on the "
                    "bodies, or a kane.Revolute for each turn"
                )
    chosen, joint = model.speed_choice, connection.joint
    renamed = joint.other_chart is not None and joint.other_chart.changes_speeds and not chosen.definitions
    for name in chosen.dependent:
        if renamed and name in connection.speed_names:
            raise ModelError(f"the dependent speed {name!r} is an angle's rate{_changing(connection)}; {cure}")


def _own_leaves(equations: Equations, connection: Connection) -> set[Expr]:
    """Return the leaves whose meaning depends on the chart."""
    leaf, chart = equations.t.arena.leaf, connection.joint.other_chart
    found = {leaf(kind, name) for kind in (COORDINATE, RATE) for name in connection.coordinate_names}
    if chart is not None and chart.changes_speeds:
        # Speeds of choice do not depend on the angles, but may have the names of the joints' own speeds.
        kinds = (RATE,) if equations.model.speed_choice.definitions else (RATE, SPEED, ACCELERATION)
        found |= {leaf(kind, name) for kind in kinds for name in connection.speed_names}
    return found


def _uses(equations: Equations, plan: InputPlan, events: Sequence[Event]) -> Iterator[Use]:
    """Yield all expressions of the user, each with the words for its owner."""
    model = equations.model
    for load in model.loads:
        yield from ((f"a {type(load).__name__}", x) for x in _parts(load.effect()))
    for imposed in model.constraints:
        who = f"the constraint {imposed.name!r}"
        yield from ((who, x) for row in imposed.rows for x in (row.configuration, row.motion))
    for c in model.intermittents:
        friction = () if c.friction is None else (c.friction.static, c.friction.kinetic)
        rows = (x for row in c.rows for x in (row.configuration, row.motion))
        parts = (*rows, c.gap, c.on, c.off, *friction, c.restitution.coefficient)
        yield from ((f"{c.name!r}", x) for x in parts)
    yield from ((f"the speed {name!r}", x) for name, x in model.speed_choice.definitions.items())
    for joint in model.connections:
        if not joint.coordinate_names:
            yield from ((f"the coordinate of joint {joint.name!r}", x) for x in joint.coordinates)
    for leaf, x in equations.controllers.items():
        if not leaf.name.startswith(REACTION_PREFIX):
            yield f"what kane.substitute put in place of {leaf.name!r} (give it as inputs= of simulate instead)", x
    yield from ((f"the expression for the input {name!r}", x) for name, x in plan.expressions.items())
    laws = ((plan.names[columns[0]], sampled.law) for columns, sampled in plan.sampled_laws.items())
    yield from ((f"the sampled law of the input {name!r}", law) for name, law in laws)
    yield from zip((f"the event {name!r}" for name in event_names(events)), (e.expression for e in events), strict=True)


def _parts(effect: Effect) -> Iterator[Any]:
    yield effect.potential
    yield from (value for _, value in effect.efforts)
    yield from (x for wrench in effect.wrenches for v in (wrench.force, wrench.torque) for x in v)
