"""Loads of MJCF files: actuators with inputs; springs, dampers, armature and gravity compensation of joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from kane.expression.functions import maximum, minimum
from kane.expression.node import Expr, Scalar
from kane.geometry.rotation import Rotation
from kane.importers.left_out import LeftOut
from kane.importers.mjcf.mjcf_description import ActuatorEntry, MjcfDescription, MjcfJoint
from kane.importers.pose import XYZ
from kane.importers.touching import STOPS
from kane.importers.xml_reader import quote
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.joints.revolute import Revolute
from kane.model.loads.damper import Damper
from kane.model.loads.force import Force
from kane.model.loads.motor import Motor
from kane.model.loads.spring import Spring
from kane.model.loads.torque import Torque
from kane.model.model import Model

Machine: TypeAlias = tuple[Sequence[Connection], Sequence[Body]]


def add_actuator(
    model: Model, entry: ActuatorEntry, machine: Machine, file: MjcfDescription, left_out: LeftOut
) -> None:
    """Add an actuator and its input, or note that it is left out.

    Args:
        model: model that is built.
        entry: actuator.
        machine: connections of all joints, and all bodies, in the order of the file.
        file: contents of the file.
        left_out: collects notes.
    """
    connections, bodies = machine
    at_site = entry.through == "site"
    connection = None if at_site else connections[entry.target]
    name = entry.name or f"control_{connection.name if connection else file.sites[entry.target].name}"
    who = f"actuator {quote(name)}"
    if "ACTUATION" in file.disabled:
        left_out.add("actuator", file.source, f"{who} is left out: the file switches actuators off", harmless=True)
        return
    single = connection is not None and connection.joint.one_dof
    if entry.gain is None or entry.bias is None or not (single or _constant(entry)):
        left_out.add("actuator", file.source, f"{who} is left out with its input: kane cannot express its law")
        return
    _say_what_is_missing(who, entry, file.source, left_out)
    control = model.input(_input_name(model, name))
    force = _clamped(_law(entry, control, connection if single else None), entry.force_range)
    if connection is None:
        site = file.sites[entry.target]
        _act_on_body(model, bodies[site.body], entry.gear, force, (site.orientation, site.position))
    elif single:
        model.load(Motor(connection, entry.gear[0] * force))
    else:
        _act_in_joint(model, connection, entry, force)


def _constant(entry: ActuatorEntry) -> bool:
    """Return whether the force depends on the input alone."""
    return not any((*(entry.gain or ())[1:], *(entry.bias or ())[1:]))


def _say_what_is_missing(who: str, entry: ActuatorEntry, source: str, left_out: LeftOut) -> None:
    if entry.dynamics != "none":
        what = f"{who}: the dynamics of its activation ({entry.dynamics}) are left out, its input is the activation"
        left_out.add("actuator", source, what)
    if entry.extra:
        left_out.add("actuator", source, f"{who}: its {entry.extra} is left out")
    if entry.control_range is not None:
        low, high = entry.control_range
        left_out.add("limit", source, f"{who}: its input is not limited to {low!r} ... {high!r}")


def _input_name(model: Model, name: str) -> str:
    """Return the name, changed if a coordinate, speed or other input has it."""
    taken = {"t", *model.inputs}
    for connection in model.connections:
        taken.update(connection.coordinate_names, connection.speed_names)
    while name in taken:
        name += "_control"
    return name


def _law(entry: ActuatorEntry, control: Expr, connection: Connection | None) -> Expr:
    """Return the force gain c + bias; without a connection, only the constants of gain and bias count."""
    gain, bias = entry.gain, entry.bias
    assert gain is not None
    assert bias is not None
    length: Any = 0.0 if connection is None else entry.gear[0] * connection.q  # type: ignore[operator]
    rate: Any = 0.0 if connection is None else entry.gear[0] * connection.qdot  # type: ignore[operator]
    factor, offset = (p[0] + p[1] * length + p[2] * rate for p in (gain, bias))
    return control.arena.lift(factor * control + offset)


def _clamped(force: Expr, limits: tuple[float, float] | None) -> Expr:
    return force if limits is None else force.arena.lift(minimum(maximum(force, limits[0]), limits[1]))


def _act_on_body(model: Model, body: Body, gear: Sequence[float], force: Expr, site: tuple[Rotation, XYZ]) -> None:
    """Add force and torque along the axes of a site, without a reaction on another body."""
    R, at = site
    f, t = _times(R.apply(tuple(gear[:3])), force), _times(R.apply(tuple(gear[3:])), force)
    if any(gear[:3]):
        model.load(Force(body.point(at), f, expressed_in=body))
    if any(gear[3:]):
        model.load(Torque(body, t, expressed_in=body))


def _act_in_joint(model: Model, connection: Connection, entry: ActuatorEntry, force: Expr) -> None:
    """Add force and torque of an actuator on a spherical or free joint.

    The torque acts along the axes of the body (or of F, for "jointinparent"), the force along the axes of N.
    """
    parent, child = connection.parent, connection.child
    free = connection.joint.nu > 3
    turning = entry.gear[3:] if free else entry.gear[:3]
    within = entry.through == "jointinparent"
    axis = connection.R_PF.apply(tuple(turning)) if within else tuple(turning)
    on_ground = parent is model.ground
    if any(turning):
        model.load(
            Torque(
                child,
                _times(axis, force),
                expressed_in=parent if within else child,
                reaction=None if on_ground else parent,
            )
        )
    if free and any(entry.gear[:3]):
        model.load(Force(child.point(), _times(entry.gear[:3], force)))


def _times(vector: Sequence[Any], force: Expr) -> list[Scalar]:
    return [float(x) * force for x in vector]


def add_passive(
    model: Model,
    connection: Connection,
    joint: MjcfJoint,
    file: MjcfDescription,
    left_out: LeftOut,
    *,
    stops: bool | None,
) -> None:
    """Add the passive loads of a joint, its armature, and its limits as stops if ``stops``; note the parts left out."""
    single = connection.joint.one_dof
    who = f"joint {quote(connection.name)}"
    if joint.stiffness > 0.0 and "SPRING" not in file.disabled:
        if single:
            model.load(Spring(connection, joint.stiffness, rest=joint.rest))
        else:
            left_out.add("spring", file.source, f"{who}: the spring of a {joint.kind} joint is left out")
    if joint.damping > 0.0 and "DAMPER" not in file.disabled:
        if single:
            model.load(Damper(connection, joint.damping))
        else:
            _damp(model, connection, joint)
    if joint.curved:
        left_out.add("spring", file.source, f"{who}: the nonlinear part of its spring or damper is left out")
    if joint.armature > 0.0 and single:
        _add_rotor(model, connection, joint.armature)
    elif joint.armature > 0.0:
        left_out.add("armature", file.source, f"{who}: the armature of a {joint.kind} joint is left out")
    if joint.friction > 0.0 and "FRICTIONLOSS" not in file.disabled:
        left_out.add("friction", file.source, f"{who}: dry friction {joint.friction!r} is left out")
    if joint.held_back and "LIMIT" not in file.disabled:
        left_out.add("limit", file.source, f"{who}: the limits of its actuators' force are left out")
    if joint.limits is not None and "LIMIT" not in file.disabled:
        if stops and single:
            model.stop(connection, lower=joint.limits[0], upper=joint.limits[1])
        else:
            cure = "" if stops else "; stops=True makes stops of them" * single
            what, part = f"{who}: its limits are left out, it moves beyond them{cure}", f"{who} ({STOPS})" * single
            left_out.add("limit", file.source, what, part=part, harmless=single and stops is False)


def _damp(model: Model, connection: Connection, joint: MjcfJoint) -> None:
    """Add damping to a spherical or free joint, proportional to MuJoCo's speeds.

    MuJoCo measures angular velocity along the axes of the body, and velocity along the axes of N.
    """
    parent, child = connection.parent, connection.child
    model.load(
        Torque(
            child,
            [-joint.damping * w for w in relative_angular_velocity(connection)],
            expressed_in=child,
            reaction=None if parent is model.ground else parent,
        )
    )
    if joint.kind == "free":
        origin, ground = child.point(), model.ground
        rates = [origin.velocity.dot(axis) for axis in (ground.x, ground.y, ground.z)]
        model.load(Force(origin, [-joint.damping * v for v in rates]))


def relative_angular_velocity(connection: Connection) -> list[Expr]:
    """Return w_PC of the child C in the parent P, along the axes of C [rad/s]."""
    parent, child = connection.parent, connection.child
    axes = (child.x, child.y, child.z)
    absolute = [child.angular_velocity.dot(axis) for axis in axes]
    if parent is parent.model.ground:
        return absolute
    return [w - parent.angular_velocity.dot(axis) for w, axis in zip(absolute, axes, strict=True)]


def _add_rotor(model: Model, connection: Connection, armature: float) -> None:
    """Add the kinetic energy armature qdot^2 / 2, as a massless wheel with inertia on the ground that turns by q.

    For a slide, the wheel turns by one radian per metre.
    """
    turned = connection.q
    assert isinstance(turned, Expr), "the joint has one coordinate"
    rotor = model.body(f"{connection.name}_rotor", mass=0.0, inertia=(armature, armature, armature))
    model.connect(model.ground, rotor, Revolute(turned, axis="z"), name=rotor.name)


def compensate_weight(model: Model, body: Body, share: float) -> None:
    """Add a force that compensates the fraction ``share`` of a body's weight."""
    gravity: list[Scalar] = [-(share * body.mass) * g for g in model.gravity]
    if share and body.mass:
        model.load(Force(body.point(body.com), gravity))
