"""Read links, joints and their numbers from a URDF file, and check the syntax; other modules check the mechanics.

This module reads names, joint types, origins, axes, mass properties, mimic, damping and friction. It keeps limits,
collisions and visuals as elements, for other modules. It ignores material, safety controllers, calibration,
transmissions, sensors and simulator extensions such as <gazebo>. ``Description.notes`` lists all other elements and
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import field
from difflib import get_close_matches

from kane.deferred import dataclass
from kane.errors import ImportFileError, shown
from kane.geometry.inertia import of_six
from kane.geometry.rotation import Rotation
from kane.importers.missing import Missing
from kane.importers.pose import POSE_ORIGIN, XYZ, FramePose, MassProperties, no_pose, snap_right_angle, unit_vector
from kane.importers.xml_reader import Element, quote, require_outermost

MAX_URDF_NUMBER = 1e12
MAXIMUM_LINKS = 2000
MAXIMUM_NAME = 200
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_XACRO = re.compile(r"\$\{|\$\(")

# Elements that do not affect the equations of motion, or that belong to other programs; their contents are not checked.
_LEFT_OUT = {
    "robot": {"material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco", "plugin"},
    "link": {"gazebo", "contact", "collision_checking", "self_collision_checking", "verbose", "sensor"},
    "joint": {"safety_controller", "calibration", "gazebo"},
    "collision": {"verbose", "material"},
    "visual": {"material"},
}
# Elements that are read, by parent element, and attributes.
_READ = {
    "robot": {"link", "joint"},
    "link": {"inertial", "visual", "collision"},
    "joint": {"parent", "child", "origin", "axis", "mimic", "dynamics", "limit"},
    "inertial": {"origin", "mass", "inertia"},
    "collision": {"origin", "geometry"},
    "visual": {"origin", "geometry"},
    "geometry": {"box", "sphere", "cylinder", "capsule", "mesh"},
}
_ATTRIBUTES = {
    "robot": {"name", "version"},
    "link": {"name", "type"},
    "joint": {"name", "type"},
    "origin": {"xyz", "rpy"},
    "parent": {"link"},
    "child": {"link"},
    "axis": {"xyz"},
    "mimic": {"joint", "multiplier", "offset"},
    "dynamics": {"damping", "friction"},
    "limit": {"lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"},
    "inertial": {"name"},
    "mass": {"value"},
    "inertia": {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"},
    "collision": {"name", "group"},
    "visual": {"name", "group"},
    "geometry": {"name"},
    "box": {"size"},
    "sphere": {"radius"},
    "cylinder": {"radius", "length"},
    "capsule": {"radius", "length"},
    "mesh": {"filename", "scale"},
}


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link of a URDF file.

    Attributes:
        name, place: name and "file:line:column".
        inertial: mass properties along the axes of the inertial frame; None without <inertial>.
        inertial_pose: pose of the inertial frame, whose origin is the mass centre, in the link.
        collisions, visuals: <collision> and <visual> elements, still unchecked.
    """

    name: str
    place: str
    inertial: MassProperties | None
    inertial_pose: FramePose
    collisions: tuple[Element, ...] = ()
    visuals: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Mimic:
    """Dependence of a coordinate on another joint: q = multiplier * q_of(joint) + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A joint of a URDF file.

    Attributes:
        name, place, kind: name, "file:line:column", and type such as "revolute".
        parent, child: names of links.
        pose: pose in the parent link of the joint frame, which is the child's link frame at q = 0.
        axis: unit vector in the joint frame; default (1, 0, 0).
        mimic: joint that it follows; None without <mimic>.
        damping: damping coefficient [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        limits: contents of <limit> as text; empty without <limit>.
        limit: element <limit>; None without one.
    """

    name: str
    place: str
    kind: str
    parent: str
    child: str
    pose: FramePose
    axis: XYZ
    mimic: Mimic | None
    damping: float
    friction: float
    limits: str
    limit: Element | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A robot: links and joints by name, in the order of the file, and notes on unused parts."""

    name: str
    source: str
    links: dict[str, UrdfLink] = field(default_factory=dict)
    joints: dict[str, UrdfJoint] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_description(robot: Element, source: str, kinds: Collection[str]) -> Description:
    """Return the description in the element <robot>; ``kinds`` are the known joint types.

    Raises:
        ImportFileError: the file is invalid; the message names file, line, element and attribute.
    """
    require_outermost(robot, "robot", "a URDF file")
    _refuse_xacro(robot)
    for child in robot.children:
        _refuse_xacro(child)
    found = Description(_name(robot, "robot"), source)
    _note_unknown(robot, "robot", found.notes)
    links, joints = (sum(element.tag == tag for element in robot.children) for tag in ("link", "joint"))
    if not 0 < links <= MAXIMUM_LINKS or joints > MAXIMUM_LINKS:
        raise robot.fault(
            f"the robot has {links} links and {joints} joints; give a complete URDF with 1 to {MAXIMUM_LINKS} of them"
        )
    for element in robot.children:
        if element.tag == "link":
            _add(found.links, _link(element, found.notes), element)
        elif element.tag == "joint":
            _add(found.joints, _joint(element, kinds, found.notes), element)
    return found


def _link(element: Element, notes: list[str]) -> UrdfLink:
    name = _name(element, "link")
    _note_unknown(element, f"link {quote(name)}", notes)
    inertial = single(element, "inertial")
    shapes = [tuple(e for e in element.children if e.tag == tag) for tag in ("collision", "visual")]
    if inertial is None:
        return UrdfLink(name, element.place, None, no_pose(), *shapes)
    return UrdfLink(name, element.place, _mass_properties(inertial), read_pose(inertial), *shapes)


def _mass_properties(inertial: Element) -> MassProperties:
    """Return mass properties along the axes of the inertial frame."""
    (mass,) = read_numbers(_require(inertial, "mass"), "value", 1)
    if mass < 0.0:
        raise inertial.fault(f"the mass {shown(mass)} is negative; give a mass of zero or more [kg]")
    entry = _require(inertial, "inertia")
    entries = [read_numbers(entry, word, 1)[0] for word in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
    return MassProperties(mass, POSE_ORIGIN, of_six(entries))


def _joint(element: Element, kinds: Collection[str], notes: list[str]) -> UrdfJoint:
    name = _name(element, "joint")
    kind = _text(element, "type")
    if kind not in kinds:
        raise element.fault(f"joint {quote(name)} has the type {quote(kind)}; known are {', '.join(kinds)}")
    _note_unknown(element, f"joint {quote(name)}", notes)
    dynamics = single(element, "dynamics")
    damping, friction = (_not_negative(dynamics, word) for word in ("damping", "friction"))
    return UrdfJoint(
        name,
        element.place,
        kind,
        _text(_require(element, "parent"), "link"),
        _text(_require(element, "child"), "link"),
        read_pose(element),
        _axis(element, kind),
        _mimic(element),
        damping,
        friction,
        _limits(element, kind),
        single(element, "limit"),
    )


def _axis(joint: Element, kind: str) -> XYZ:
    element = single(joint, "axis")
    if element is None or kind in ("fixed", "floating"):
        return 1.0, 0.0, 0.0
    axis = read_numbers(element, "xyz", 3)
    if not max(map(abs, axis)) > 1e-9:
        raise element.fault('the axis is zero; give a direction such as xyz="0 0 1"')
    return unit_vector(axis)


def _mimic(joint: Element) -> Mimic | None:
    element = single(joint, "mimic")
    if element is None:
        return None
    (multiplier,) = read_numbers(element, "multiplier", 1, default=(1.0,))
    (offset,) = read_numbers(element, "offset", 1, default=(0.0,))
    return Mimic(_text(element, "joint"), multiplier, offset)


def _limits(joint: Element, kind: str) -> str:
    element = single(joint, "limit")
    given = element.attributes if element is not None else {}
    words = ("effort", "velocity") if kind == "continuous" else ("lower", "upper", "effort", "velocity")
    return ", ".join(f"{word} {quote(given[word])[1:-1]}" for word in words if word in given)


def _not_negative(element: Element | None, attribute: str) -> float:
    if element is None:
        return 0.0
    (value,) = read_numbers(element, attribute, 1, default=(0.0,))
    if value < 0.0:
        raise element.fault(f"{attribute} is {shown(value)}, which would drive the joint; give zero or more")
    return value


def read_pose(element: Element) -> FramePose:
    """Return the pose in the <origin> of an element; without <origin>, the identity."""
    origin = single(element, "origin")
    if origin is None:
        return no_pose()
    x, y, z = read_numbers(origin, "xyz", 3, default=POSE_ORIGIN)
    roll, pitch, yaw = map(snap_right_angle, read_numbers(origin, "rpy", 3, default=POSE_ORIGIN))
    return FramePose(Rotation.rpy(roll, pitch, yaw), (x, y, z))


def read_numbers(
    element: Element, attribute: str, count: int, *, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """Return ``count`` numbers between -1e12 and 1e12 from an attribute; raise ImportFileError for other values."""
    if attribute not in element.attributes and default is not None:
        return default
    text = _text(element, attribute)
    words = text.split()
    here = f'<{element.tag} {attribute}="...">'
    if len(words) != count:
        raise element.fault(f"{here} must be {count} number{'s'[: count > 1]}, not {len(words)} ({quote(text)})")
    values = []
    for word in words:
        value = float(word) if len(word) <= 400 and _NUMBER.fullmatch(word) else float("nan")
        if not abs(value) <= MAX_URDF_NUMBER:
            raise element.fault(
                f"{here} holds {quote(word)}, which is not a number between -1e12 and 1e12; write it as 1.5 or 1.5e-3"
            )
        values.append(value)
    return tuple(values)


def _text(element: Element, attribute: str) -> str:
    text = element.attributes.get(attribute)
    if text is None or not text.strip():
        raise element.fault(f'<{quote(element.tag)[1:-1]}> lacks {attribute}="..."; add it')
    if _XACRO.search(text):
        raise element.fault(f"{attribute} is {quote(text)}: {RUN_XACRO}")
    return text


def _name(element: Element, what: str) -> str:
    name = _text(element, "name")
    if name != name.strip() or not name.isprintable() or len(name) > MAXIMUM_NAME:
        raise element.fault(
            f"the {what} name {quote(name)} has outer blanks, unprintable characters or more than {MAXIMUM_NAME} "
            "characters; give a plain name"
        )
    return name


def single(element: Element, tag: str) -> Element | None:
    """Return the only child with a tag, or None; raise ImportFileError if there are several."""
    found = [child for child in element.children if child.tag == tag]
    if len(found) > 1:
        raise found[1].fault(f"a second <{tag}> in one <{element.tag}>; keep one")
    return found[0] if found else None


def _require(element: Element, tag: str) -> Element:
    found = single(element, tag)
    if found is None:
        raise element.fault(f"<{element.tag}> lacks a <{tag}>; add it")
    return found


def _add(table: dict, entry: UrdfLink | UrdfJoint, element: Element) -> None:
    if entry.name in table:
        raise element.fault(
            f"the name {quote(entry.name)} is taken by the {element.tag} at {table[entry.name].place}; give another"
        )
    table[entry.name] = entry


RUN_XACRO = "this is a xacro file, not yet a URDF; run `xacro file.urdf.xacro > file.urdf` first and load that"


def _refuse_xacro(element: Element) -> None:
    for part in (element, *(element.children if element.tag in ("link", "joint") else ())):
        if part.tag.startswith("xacro:"):
            raise part.fault(f"<{quote(part.tag)[1:-1]}>: {RUN_XACRO}")


def _note_unknown(element: Element, owner: str, notes: list[str], *, seen: bool = False) -> None:
    """Note elements and attributes that are not URDF, with the nearest known name; ignore names with a prefix.

    Args:
        element: element to check, with its contents except links and joints.
        owner: robot, link or joint that contains it.
        notes: list to which notes are appended.
        seen: whether the element is part of a <visual>, which does not affect the motion.
    """
    left_out = _LEFT_OUT.get(element.tag, set())
    if element.tag in _READ:
        known = left_out | _READ[element.tag]
        for tag in sorted({child.tag for child in element.children if ":" not in child.tag} - known):
            words = f"<{quote(tag)[1:-1]}>{_hint(tag, known)}"
            _note(notes, owner, words, f"{owner}: {words} is not known and is left out", seen)
    if element.tag in _ATTRIBUTES:
        known = _ATTRIBUTES[element.tag]
        unknown = sorted({word for word in element.attributes if ":" not in word and word != "xmlns"} - known)
        if unknown:
            words = f"<{element.tag}> {', '.join(quote(word) + _hint(word, known) for word in unknown)}"
            _note(notes, owner, words, f"{owner}: {words} is not URDF and is left out", seen)
    for child in element.children:
        if child.tag not in (*left_out, "link", "joint") and ":" not in child.tag:
            _note_unknown(child, owner, notes, seen=seen or child.tag == "visual")


def _hint(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, sorted(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _note(notes: list[str], owner: str, words: str, note: str, seen: bool) -> None:
    notes.append(note if seen else Missing("elements and attributes that are not URDF", f"{owner}: {words}", note))


def about(place: str, message: str) -> ImportFileError:
    """Return an error about a link or joint at a place in the file."""
    return ImportFileError(f"{place}: {message}")
