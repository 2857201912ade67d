"""Slots of a model: the quantities of its declarations, with the units that the declarations give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kane.expression.operations import MEASURE, OPERATIONS, SPEED
from kane.expression.text import name_of
from kane.formulation.equations import Equations
from kane.formulation.tree.loads import titled
from kane.formulation.units.unit_inference import UnitSlot
from kane.geometry.rotation_factor import Elementary
from kane.model.body import DIRECTION
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Row
from kane.model.contacts import Coulomb
from kane.model.contacts.intermittent_constraint import IntermittentConstraint, declared_name
from kane.model.loads import Damper, Force, Load, Motor, PointDamper, PointSpring, Spring, Torque
from kane.model.unit_text import UNIT_WORDS, Dimension, multiplied, read_unit

# Names of rows that a user types as expressions: gaps of stops and latches, motions of switches.
TYPED_ROWS = ("normal", "rate")
# Word, unit and value of a quantity.
Named: TypeAlias = tuple[str, Dimension, Any]
METRE, SECOND, NEWTON, JOULE = (UNIT_WORDS[word] for word in ("m", "s", "N", "J"))
KILOGRAM_METRE, MOMENT_OF_INERTIA, FREE_FALL = (read_unit(x, "") for x in ("kg m", "kg m^2", "m/s^2"))


def slots_of(equations: Equations) -> list[UnitSlot]:
    """Return the slots of a model and of the substitutions in its equations; binding slots first."""
    found = [slot for part in PARTS for slot in part(equations)]
    return sorted(found, key=lambda slot: not slot.binding)


def coordinate_unit(given: Connection | JointCoordinate) -> Dimension:
    """Return the unit of a coordinate along which a load acts."""
    along = JointCoordinate(given) if isinstance(given, Connection) else given
    return read_unit(along.connection.joint.coordinate_units[along.place], f"the unit of {along.name!r}")


def _all(
    title: str, where: str, unit: Dimension | None, values: Iterable[Any], *, binding: bool = True
) -> list[UnitSlot]:
    return [UnitSlot(title, where, unit, x, binding) for x in values]


def _declared(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    for leaf in (*equations.parameters, *equations.inputs, *equations.baked, *equations.controllers):
        if leaf.data in model.units:
            title, kind = f"unit= of {leaf.data!r}", OPERATIONS[leaf.op].name
            yield UnitSlot(title, model.line_of(kind, leaf.data), read_unit(model.units[leaf.data], title), leaf)


def _bodies(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    yield from _all("gravity", "", FREE_FALL, model.gravity)
    for body in model.bodies[1:]:
        where, of = model.line_of("body", body.name), f"of body {body.name!r}"
        yield UnitSlot(f"the mass {of}", where, UNIT_WORDS["kg"], body.mass)
        first, second = ((), body.inertia) if body.moments is None else body.moments
        yield from _all(f"the first moment {of}", where, KILOGRAM_METRE, first)
        yield from _all(f"the inertia {of}", where, MOMENT_OF_INERTIA, (x for row in second for x in row))
        yield from _all(f"the mass centre {of}", where, METRE, body.com if body.moments is None else ())


def _joints(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    for c in model.connections:
        where, of = model.line_of("joint", c.name), f"of joint {c.name!r}"
        yield from _all(f"the position {of}", where, METRE, (*c.p_PF, *c.p_CM))
        for unit, x in zip(c.joint.coordinate_units, c.coordinates, strict=True):
            yield UnitSlot(f"the coordinate {of}", where, read_unit(unit, f"a unit {of}"), x)
        motion = equations.system.speeds.motion.get(c)
        if motion is not None:
            yield from _all(f"the displacement {of}", where, METRE, motion.p_FM)
            turns = (*motion.R_FM.factors, *c.R_PF.factors, *c.R_CM.factors)
            angles = (turn.angle for turn in turns if isinstance(turn, Elementary))
            yield from _all(f"an angle {of}", where, {}, angles)
    for name, frame in model.frames.items():
        yield from _all(f"the position of frame {name!r}", model.line_of("frame", name), METRE, frame.position)


def _points(equations: Equations) -> Iterator[UnitSlot]:
    """Yield the positions of points in measures."""
    for leaf in equations.t.arena.nodes:
        if leaf.op == MEASURE and leaf.data.kind != DIRECTION:
            yield from _all(f"the point of {leaf}", "", METRE, leaf.data.point, binding=False)


def _shapes(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    where = dict.fromkeys(model.shapes, "")
    for c in model.intermittents:
        where |= dict.fromkeys(c.surfaces, model.line_of("constraint", declared_name(c)))
    for shape, line in where.items():
        title = f"a length of {type(shape).__name__} of body {shape.origin.body.name!r}"
        for part in shape.parts():
            yield from _all(title, line, METRE, (*part.size, *part.position))


def _spring(load: Any) -> Iterator[Named]:
    unit = coordinate_unit(load.connection)
    yield "stiffness", multiplied(JOULE, unit, -2), load.stiffness
    yield "rest", unit, load.rest


def _damper(load: Any) -> Iterator[Named]:
    unit = coordinate_unit(load.connection)
    yield "coefficient", multiplied(multiplied(JOULE, SECOND), unit, -2), load.coefficient


def _motor(load: Any) -> Iterator[Named]:
    yield "effort", multiplied(JOULE, coordinate_unit(load.connection), -1), load.effort


def _point_spring(load: Any) -> Iterator[Named]:
    yield "stiffness", multiplied(NEWTON, METRE, -1), load.stiffness
    yield from (("rest", METRE, x) for x in (load.rest, *load.P.position_in_body, *load.Q.position_in_body))


def _point_damper(load: Any) -> Iterator[Named]:
    yield "coefficient", multiplied(multiplied(NEWTON, SECOND), METRE, -1), load.coefficient
    yield from (("point", METRE, x) for x in (*load.P.position_in_body, *load.Q.position_in_body))


def _force(load: Any) -> Iterator[Named]:
    yield from (("force", NEWTON, x) for x in load.components)
    yield from (("point", METRE, x) for x in load.point.position_in_body)


def _torque(load: Any) -> Iterator[Named]:
    yield from (("torque", JOULE, x) for x in load.components)


def _effect(load: Load) -> Iterator[Named]:
    effect = load.effect()
    yield "potential", JOULE, effect.potential
    for along, effort in effect.efforts:
        yield "effort", multiplied(JOULE, coordinate_unit(along), -1), effort
    for w in effect.wrenches:
        yield from (("force", NEWTON, x) for x in w.force)
        yield from (("torque", JOULE, x) for x in w.torque)
        yield from (("point", METRE, x) for x in w.point.position_in_body)


# Quantities of a load by its class; a load of another class is known by its effect.
OF_LOADS: Mapping[type, Callable[[Any], Iterator[Named]]] = {
    Spring: _spring,
    Damper: _damper,
    Motor: _motor,
    PointSpring: _point_spring,
    PointDamper: _point_damper,
    Force: _force,
    Torque: _torque,
}


def _loads(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    for k, ((title, _), load) in enumerate(zip(titled(model.loads), model.loads, strict=True)):
        for word, unit, x in OF_LOADS.get(type(load), _effect)(load):
            yield UnitSlot(f"the {word} of {title}", model.line_of("load", k), unit, x)


def _constraints(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    for imposed in model.constraints:
        typed = [row.name for row in imposed.rows] == [imposed.name]
        yield from _rows(imposed.name, model.line_of("constraint", imposed.name), imposed.rows, binding=typed)


def _rows(name: str, where: str, rows: Sequence[Row], *, binding: bool) -> Iterator[UnitSlot]:
    for x in (x for row in rows for x in (row.configuration, row.motion) if x is not None):
        yield UnitSlot(f"the constraint {name!r}", where, None, x, binding)


def _intermittents(equations: Equations) -> Iterator[UnitSlot]:
    """Yield gaps, motions, conditions and coefficients; gaps of contacts come from geometry and prove nothing."""
    model = equations.model
    rates = {
        model.rate(name): read_unit(unit, "")
        for c in model.connections
        for name, unit in zip(c.coordinate_names, c.joint.coordinate_units, strict=bool(c.coordinate_names))
    }
    for c in model.intermittents:
        where = model.line_of("constraint", declared_name(c))
        for row in c.rows:
            typed = not c.surfaces and row.name.startswith(TYPED_ROWS)
            yield from _rows(c.name, where, [row], binding=typed)
        yield UnitSlot(f"on= of {c.name!r}", where, None, c.on)
        yield UnitSlot(f"off= of {c.name!r}", where, None, c.off)
        yield from _coefficients(c, where, rates)


def _coefficients(c: IntermittentConstraint, where: str, rates: Mapping[Any, Dimension]) -> Iterator[UnitSlot]:
    yield UnitSlot(f"the restitution of {c.name!r}", where, {}, c.restitution.coefficient)
    if c.friction is not None:
        along = {} if isinstance(c.friction, Coulomb) else rates.get(c.tangents[0].motion)
        unit = along if isinstance(c.friction, Coulomb) or along is None else multiplied(JOULE, along, -1)
        yield from _all(f"the friction of {c.name!r}", where, unit, (c.friction.static, c.friction.kinetic))


def _speeds(equations: Equations) -> Iterator[UnitSlot]:
    model = equations.model
    for name, x in model.speed_choice.definitions.items():
        yield UnitSlot(f"the speed {name!r}", model.line_of("speed", name), {model.arena.leaf(SPEED, name): 1}, x)


def _controllers(equations: Equations) -> Iterator[UnitSlot]:
    for leaf, x in equations.controllers.items():
        yield UnitSlot(f"the expression of {name_of(leaf)}", "", {leaf: 1}, x)


PARTS = (_declared, _bodies, _joints, _points, _shapes, _loads, _controllers, _speeds, _constraints, _intermittents)
