"""Build a model from the description of an MJCF file."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kane.geometry.rotation import Rotation
from kane.importers.left_out import LeftOut
from kane.importers.mjcf.geoms import add_geom_contacts, add_geoms
from kane.importers.mjcf.joint_loads import add_actuator, add_passive, compensate_weight
from kane.importers.mjcf.mjcf_description import BodyEntry, MjcfDescription, MjcfJoint
from kane.importers.pose import POSE_ORIGIN, XYZ, FramePose, unit_vector
from kane.importers.touching import Wanted
from kane.importers.xml_reader import quote
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.joints.free import Free
from kane.model.joints.joint import Joint
from kane.model.joints.prismatic import Prismatic
from kane.model.joints.revolute import Revolute
from kane.model.joints.spherical import Spherical
from kane.model.joints.weld import Weld
from kane.model.model import Model

MJCF_JOINTS: dict[str, Callable[[str, XYZ], Joint]] = {
    "free": lambda name, axis: Free(name),
    "ball": lambda name, axis: Spherical(name),
    "slide": lambda name, axis: Prismatic(name, axis=axis),
    "hinge": lambda name, axis: Revolute(name, axis=axis),
}


def build_mjcf_model(file: MjcfDescription, left_out: LeftOut, wanted: Wanted) -> Model:
    """Return the model of a description, with stops and contacts as specified by ``wanted``.

    Raises:
        ModelError: names clash, or numbers are not physical.
        ImportFileError: an essential part would be left out.
    """
    model = Model(file.name, gravity=file.gravity)
    bodies = [model.ground]
    connections: list[Connection] = []
    for index, entry in enumerate(file.bodies[1:], start=1):
        name = new_name(entry.name or f"body{index}", "_body", _places(model))
        connections.extend(_add_body(model, bodies[entry.parent], entry, name))
        bodies.append(next(b for b in model.bodies if b.name == name))
        if entry.mocap:
            left_out.add("mocap", file.source, f"body {quote(name)} is a mocap body: it does not move")
        compensate_weight(model, bodies[-1], entry.weightless)
    for site in file.sites:
        if site.name:
            name = new_name(site.name, "_site", _places(model))
            model.frame(name, bodies[site.body], at=site.position, orientation=site.orientation)
    entries = [joint for body in file.bodies for joint in body.joints]
    for connection, joint in zip(connections, entries, strict=True):
        add_passive(model, connection, joint, file, left_out, stops=wanted.stops)
    for actuator in file.actuators:
        add_actuator(model, actuator, (connections, bodies), file, left_out)
    add_geoms(model, bodies, file)
    if wanted.touching:
        add_geom_contacts(model, bodies, file, wanted)
    if file.fluid:
        left_out.add("fluid", file.source, "the bodies move in a fluid (density, viscosity); its forces are left out")
    model.notes.extend(left_out.notes)
    return model


def new_name(name: str, ending: str, taken: Collection[str]) -> str:
    """Return the name, with the ending appended until the name is new."""
    while name in taken:
        name += ending
    return name


def _places(model: Model) -> set[str]:
    return {body.name for body in model.bodies} | set(model.frames)


def _add_body(model: Model, parent: Body, entry: BodyEntry, name: str) -> list[Connection]:
    """Add a body, and a massless body between successive joints of it; return the connections of the joints.

    The pose of the body in its parent is (R_AB, p_AB) J_1 J_2 ..., where J_k is the motion of joint k.
    """
    pose = FramePose(entry.orientation, entry.position)
    if not entry.joints:
        body = _massive(model, entry, name)
        model.connect(parent, body, Weld(), at=pose.position, orientation=pose.rotation, name=f"{name}_weld")
        return []
    made = []
    for k, joint in enumerate(entry.joints):
        title = joint.name or _title(name, entry.joints, k)
        last = k == len(entry.joints) - 1
        child = _massive(model, entry, name) if last else model.body(f"{name}_{title}", mass=0.0)
        made.append(_connect(model, (parent, child), pose, joint, title))
        parent, pose = child, FramePose(Rotation.identity(), POSE_ORIGIN)
    return made


def _title(body: str, joints: tuple[MjcfJoint, ...], k: int) -> str:
    number = str(k + 1) if len(joints) > 1 else ""
    return f"{body}_{joints[k].kind}{number}"


def _massive(model: Model, entry: BodyEntry, name: str) -> Body:
    return model.body(name, mass=entry.mass.mass, inertia=entry.mass.inertia, com=entry.mass.com)


def _connect(model: Model, bodies: tuple[Body, Body], pose: FramePose, joint: MjcfJoint, name: str) -> Connection:
    """Connect two bodies by a joint with MuJoCo's coordinate, which is ``joint.reference`` in the pose of the file."""
    axis = unit_vector(joint.axis)
    if joint.kind == "free":  # its coordinates are the pose of the body in the world, whatever the pose in the file
        pose = FramePose(Rotation.identity(), POSE_ORIGIN)
    elif joint.kind == "slide" and joint.reference:
        x, y, z = (-joint.reference * a for a in axis)
        pose = pose.then(FramePose(Rotation.identity(), (x, y, z)))
    anchor = joint.at if joint.kind != "free" else POSE_ORIGIN
    frame = pose.then(FramePose(Rotation.identity(), anchor))
    if joint.kind == "hinge" and joint.reference:
        frame = frame.then(FramePose(Rotation.about(axis, -joint.reference), POSE_ORIGIN))
    return model.connect(
        *bodies,
        MJCF_JOINTS[joint.kind](name, axis),
        at=frame.position,
        orientation=frame.rotation,
        child_at=anchor,
        name=name,
    )
