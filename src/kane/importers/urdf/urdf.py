"""Import models from URDF files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from kane.errors import ImportFileError, ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import words
from kane.expression.operations import COORDINATE
from kane.files.source_file import given_source
from kane.importers.mesh_folder import MeshFolder
from kane.importers.missing import Missing, warn_of_missing
from kane.importers.pose import NO_MASS, MassProperties
from kane.importers.touching import STOPS, Wanted, require_touching
from kane.importers.urdf.joint_motion import joint_motions, read_lock
from kane.importers.urdf.joints import JOINT_KINDS
from kane.importers.urdf.link_shapes import add_collision_contacts, add_stops, add_visuals
from kane.importers.urdf.tree import Lump, combine_mass_properties, lump_links, require_mass
from kane.importers.urdf.urdf_description import Description, UrdfJoint, read_description
from kane.importers.xml_reader import quote, read_xml
from kane.model.body import Body
from kane.model.checks import near
from kane.model.connection import Connection
from kane.model.contacts import Coulomb
from kane.model.joints.joint import Joint
from kane.model.loads.motor import Motor
from kane.model.model import Model

if TYPE_CHECKING:
    from kane.model.contacts.restitution import Restitution


def load_urdf(
    source: str | bytes | os.PathLike[str],
    *,
    base: Joint | None = None,
    lock: Mapping[str, float] | Iterable[str] | None = None,
    repair: Iterable[str] = (),
    root: str | os.PathLike[str] | None = None,
    stops: bool | None = None,
    floor: float | None = None,
    friction: Coulomb | None = None,
    restitution: float | Restitution = 0.0,
    hulls: int | None = None,
    contacts: str | None = None,
) -> Model:
    """Return the model that a URDF file describes.

    Links connected by fixed or locked joints form one body with the name of the first link; the other links become
    named frames of it (``model.frames``). Joints become revolute, prismatic, planar or free joints. Coordinates have
    the names of the joints and are ordered depth first, children in the order of the file (Pinocchio sorts them by
    name). A mimic joint has the coordinate ``multiplier * other + offset``. Every independent joint with one degree of
    freedom has a ``Motor`` with the input ``tau_<joint>``. Damping becomes a ``Damper``. As in URDF, inertia is about
    the mass centre. Roll, pitch and yaw within 1e-9 rad of a multiple of pi/2 are replaced by it: 1.57079632679 counts
    as a right angle, 1.5708 does not.

    On request, limits become stops, and collision primitives become contacts with a floor and with each other.
    <visual> primitives and meshes become shapes for pictures; meshes are opened only when they are drawn.
    Transmissions, extensions and Coulomb friction of joints are not modelled. ``model.notes`` lists parts that are
    left out. One ``ImportFileWarning`` names the omitted parts that change the motion, elements and attributes that
    are not URDF, and (unless ``stops=False``) omitted limits.

    Args:
        source: path of the file; or its text, as bytes or as a str that begins with "<".
        base: joint between the ground and the root link, such as ``kane.Free()``. By default the root link is fixed to
            the ground, and the mass of its body is ignored.
        lock: names of joints that are locked at 0; or a dict of names and values [rad or m].
        repair: names of links whose inertia, if physically impossible, is replaced by the nearest valid inertia.
        root: folder that must contain the file and its meshes, after symbolic links are resolved. By default, the file
            is in its own folder, and meshes are in the package that they name (a folder above the file, or a subfolder
            of one) or in the package of the file (with package.xml). ``source`` is always relative to the working
            folder.
        stops: whether the limits of joints become stops without rebound (``Model.stop``). False leaves them out
            without a warning, None with a warning.
        floor: height of a level floor that <collision> boxes, spheres, cylinders and capsules can touch [m]; None for
            no floor. Contacts have the names of the links (``Model.contact``).
        friction, restitution: properties of all contacts, as for ``Model.contact``.
        hulls: largest number of corners, 4 or more, of the convex hulls by which collision meshes touch;
            ``model.notes`` lists their distances from the meshes. None leaves meshes out.
        contacts: "all" for contacts between links, called "link on link"; None for none. Links of one body and bodies
            that a joint connects do not touch each other. ``model.notes`` lists pairs for which kane has no rule.

    Raises:
        ImportFileError: the file cannot be read, is malformed, hostile or not a tree, its numbers are not physical, or
            nothing can touch anything, although ``floor`` or ``contacts`` is given. The message names file, line,
            element and the cure.
        ModelError: an argument is invalid, or names in the file clash.
    """
    if base is not None and not isinstance(base, Joint):
        raise ModelError(f"base= is {shown(base)}; give a joint such as kane.Free(), or None to fix the root link")
    wanted = Wanted(stops, floor, friction, restitution, hulls, contacts)
    text = given_source(source, root, "a URDF file")
    robot = read_description(read_xml(text), text.name, JOINT_KINDS)
    lumps = lump_links(robot, joint_motions(robot, read_lock(robot, lock)))
    allowed = _read_repair(robot, repair)
    if base is None:
        masses = [NO_MASS, *combine_mass_properties(lumps[1:], allowed, robot.notes)]
    else:
        masses = combine_mass_properties(lumps, allowed, robot.notes)
    require_mass(lumps, masses, base.label if base is not None and isinstance(base.label, str) else None)
    folder = MeshFolder.of(text, root)
    try:
        model, bodies = _model(robot, lumps, masses, base)
        if wanted.touching:
            add_collision_contacts(model, bodies, lumps, wanted, folder)
    except ModelError as error:
        raise ImportFileError(f"{robot.source}: {error}") from None
    _limit(model, lumps, wanted)
    add_visuals(model, bodies, lumps, folder)
    warn_of_missing(robot.source, model.notes)
    if wanted.touching:
        require_touching(model, robot.source, "<collision> boxes, spheres, cylinders or capsules to moving links")
    return model


def _read_repair(robot: Description, repair: Iterable[str]) -> Collection[str]:
    names = [repair] if isinstance(repair, str) else words(repair, "repair=", "names of links")
    for name in names:
        if name not in robot.links:
            hint = near(name, list(robot.links))
            raise ImportFileError(f"{robot.source}: there is no link {shown(name)} to repair; {hint}")
    return names


def _model(
    robot: Description, lumps: list[Lump], masses: list[MassProperties], base: Joint | None
) -> tuple[Model, list[Body]]:
    model = Model(robot.name)
    model.notes.extend(robot.notes)
    bodies: list[Body] = []
    for part, properties in zip(lumps, masses, strict=True):
        if part.above is None and base is None:
            bodies.append(model.ground)
        else:
            name = _free_name(model, part.name)
            body = model.body(name, mass=properties.mass, inertia=properties.inertia, com=properties.com)
            bodies.append(body)
        if part.above is not None:
            _connect(model, bodies[part.above], bodies[-1], part)
        elif base is not None:
            model.connect(model.ground, bodies[0], base)
        _name_frames(model, bodies[-1], part)
    return model, bodies


def _limit(model: Model, lumps: list[Lump], wanted: Wanted) -> None:
    """Add stops at the limits of joints, or notes if the limits are left out."""
    if wanted.stops:
        add_stops(model, lumps)
        return
    joints = [part.joint for part in lumps if part.joint is not None and part.joint.limits]
    for j in joints:
        note = f"joint {quote(j.name)}: its limits ({j.limits}) are left out, it moves beyond them"
        ends = j.kind in ("revolute", "prismatic") and {"lower", "upper"} & set(j.limit.attributes if j.limit else ())
        missing = ends and wanted.stops is None
        model.notes.append(Missing(f"limits of joints ({STOPS})", quote(j.name), note) if missing else note)


def _connect(model: Model, parent: Body, child: Body, part: Lump) -> None:
    """Add the joint that carries a lump, with its motor and damper."""
    joint, motion = part.joint, part.motion
    assert joint is not None
    assert motion is not None
    make = JOINT_KINDS[joint.kind].make
    assert make is not None
    by_itself = motion.joint == joint.name
    coordinate: str | Expr = joint.name
    if not by_itself:
        coordinate = motion.multiplier * model.arena.leaf(COORDINATE, motion.joint) + motion.offset
    made = make(coordinate, joint.axis)
    connection = model.connect(
        parent, child, made, at=part.pose.position, orientation=part.pose.rotation, name=joint.name
    )
    if made.one_dof and by_itself:
        model.load(Motor(connection, model.input(f"tau_{joint.name}")))
    _resist(model, connection, joint)


def _resist(model: Model, connection: Connection, joint: UrdfJoint) -> None:
    if joint.damping > 0.0 and connection.joint.one_dof:
        from kane.model.loads.damper import Damper

        model.load(Damper(connection, joint.damping))
    elif joint.damping > 0.0:
        note = f"joint {quote(joint.name)}: damping {joint.damping!r} of a {joint.kind} joint is left out"
        model.notes.append(Missing("damping of joints of several freedoms", quote(joint.name), note))
    if joint.friction > 0.0:
        note = (
            f"joint {quote(joint.name)}: Coulomb friction {joint.friction!r} is left out; Model.stick(joint, "
            f"static={joint.friction!r}) adds it"
        )
        model.notes.append(Missing("Coulomb friction of joints (Model.stick adds it)", quote(joint.name), note))


def _name_frames(model: Model, body: Body, part: Lump) -> None:
    """Add a named frame for every link of ``body``, except for the link whose name the body has."""
    for link, pose in part.links if body is model.ground else part.links[1:]:
        model.frame(_free_name(model, link.name), body, at=pose.position, orientation=pose.rotation)


def _free_name(model: Model, link: str) -> str:
    """Return the name of a link, with an ending if the ground has the same name."""
    if link != model.ground.name:
        return link
    model.notes.append(f"link {quote(link)} is renamed {link + '_link'!r}, because it has the inertial frame's name")
    return link + "_link"
