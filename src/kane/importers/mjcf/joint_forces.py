"""Springs, dampers, armature and gravity compensation of MJCF joints and bodies."""

from __future__ import annotations

from kane.expression.node import Expr, Scalar
from kane.importers.left_out import LeftOut
from kane.importers.mjcf.mjcf_description import MjcfDescription, MjcfJoint
from kane.importers.touching import STOPS
from kane.importers.xml_reader import quote
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.joints.revolute import Revolute
from kane.model.loads.damper import Damper
from kane.model.loads.force import Force
from kane.model.loads.spring import Spring
from kane.model.loads.torque import Torque
from kane.model.model import Model


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


def compensate_weight(body: Body, share: float) -> None:
    """Add a force that compensates the fraction ``share`` of a body's weight."""
    gravity: list[Scalar] = [-(share * body.mass) * g for g in body.model.gravity]
    if share and body.mass:
        body.model.load(Force(body.point(body.com), gravity))
