"""Lump links that fixed or locked joints connect into rigid bodies, and check masses and the tree of joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from kane.deferred import dataclass
from kane.errors import ImportFileError, ModelError, shown
from kane.geometry.inertia import checked_inertia, nearest_valid_inertia
from kane.importers.pose import NO_MASS, FramePose, MassProperties, lump, no_pose
from kane.importers.urdf.joint_motion import Following, Locked, UrdfMotion
from kane.importers.urdf.joints import JOINT_KINDS
from kane.importers.urdf.urdf_description import Description, UrdfJoint, UrdfLink, about
from kane.importers.xml_reader import quote
from kane.model.checks import near

# Largest number of faults that one message describes in full.
MOST_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Lump:
    """Links that do not move relative to each other.

    Attributes:
        links: links with their poses in the first link, whose frame is the frame of the lump.
        above: index of the parent lump; None for the first.
        joint: joint between the parent lump and this one.
        pose: pose of the joint frame in the parent lump.
        motion: motion of the joint.
    """

    links: list[tuple[UrdfLink, FramePose]] = field(default_factory=list)
    above: int | None = None
    joint: UrdfJoint | None = None
    pose: FramePose = field(default_factory=no_pose)
    motion: Following | None = None

    @property
    def name(self) -> str:
        """Name of the first link."""
        return self.links[0][0].name


def lump_links(robot: Description, motions: Mapping[str, UrdfMotion]) -> list[Lump]:
    """Return the lumps of a robot, depth first from its root, in the order of the file; parents come before children.

    Raises:
        ImportFileError: a joint names an unknown link, a link is the child of two joints, there is not exactly one
            root, or joints form a loop.
    """
    below = _joints_below(robot)
    root = _root(robot)
    lumps = [Lump([(root, no_pose())])]
    stack = [(0, no_pose(), joint) for joint in reversed(below[root.name])]
    while stack:
        index, parent_pose, joint = stack.pop()
        link, pose = robot.links[joint.child], parent_pose.then(joint.pose)
        motion = motions[joint.name]
        if isinstance(motion, Locked):
            pose = pose.then(JOINT_KINDS[joint.kind].locked(joint.axis, motion.value))
            lumps[index].links.append((link, pose))
        else:
            lumps.append(Lump([(link, no_pose())], index, joint, pose, motion))
            index, pose = len(lumps) - 1, no_pose()
        stack.extend((index, pose, deeper) for deeper in reversed(below[link.name]))
    reached = {link.name for part in lumps for link, _ in part.links}
    for name, link in robot.links.items():
        if name not in reached:
            raise about(link.place, f"link {quote(name)} is in a closed loop of joints; remove one of them")
    return lumps


def _joints_below(robot: Description) -> dict[str, list[UrdfJoint]]:
    """Return the joints of which each link is the parent, in the order of the file."""
    below: dict[str, list[UrdfJoint]] = {name: [] for name in robot.links}
    above: dict[str, UrdfJoint] = {}
    for joint in robot.joints.values():
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in robot.links:
                hint = near(link, list(robot.links))
                raise about(joint.place, f"joint {quote(joint.name)}: no link is named {quote(link)} ({role}); {hint}")
        if joint.child in above:
            raise about(
                joint.place,
                f"link {quote(joint.child)} is the child of joint {quote(joint.name)} and "
                f"{quote(above[joint.child].name)}; give it one parent, and close the loop by a constraint afterwards",
            )
        above[joint.child] = joint
        below[joint.parent].append(joint)
    return below


def _root(robot: Description) -> UrdfLink:
    children = {joint.child for joint in robot.joints.values()}
    roots = [link for link in robot.links.values() if link.name not in children]
    if len(roots) == 1:
        return roots[0]
    if not roots:
        raise ImportFileError(f"{robot.source}: the joints form a loop without a root link; remove one of the joints")
    names = ", ".join(quote(link.name) for link in roots[:4])
    raise about(
        roots[1].place,
        f"{len(roots)} links are the child of no joint ({names}{', ...' if len(roots) > 4 else ''}); "
        "connect all but one of them by joints",
    )


def combine_mass_properties(lumps: Collection[Lump], repair: Collection[str], notes: list[str]) -> list[MassProperties]:
    """Return the mass properties of each lump in the frame of its first link; links without <inertial> add nothing.

    The inertia of each lump must be valid. A link with an invalid inertia in a valid lump is noted.

    Args:
        lumps: moving lumps.
        repair: names of links whose inertia, if invalid, is replaced by the nearest valid inertia.
        notes: list to which notes are appended.

    Raises:
        ImportFileError: the inertia of a lump is invalid; the message names its faulty links, with the nearest valid
            inertia for each.
    """
    made = []
    faulty: dict[str, str] = {}
    for part in lumps:
        faults: dict[str, str] = {}
        whole = lump([_in_lump(link, pose, repair, faults) for link, pose in part.links])
        if faults and _fault(part.links[0][0], whole):
            faulty.update(faults)
        else:
            kept = f"it is kept, because {quote(part.name)} as a whole is valid"
            notes.extend(f"{fault}; {kept}" for fault in faults.values())
        made.append(whole)
    if faulty:
        listed = "\n  ".join(list(faulty.values())[:MOST_FAULTS])
        if len(faulty) > MOST_FAULTS:
            listed += f"\n  and {len(faulty) - MOST_FAULTS} more"
        cure = ", ".join(map(repr, dict.fromkeys([*repair, *faulty])))
        raise ImportFileError(
            f"{listed}\nCorrect the file, or replace the inertia by the nearest valid one: repair=[{cure}]"
        )
    return made


def _in_lump(link: UrdfLink, pose: FramePose, repair: Collection[str], faults: dict[str, str]) -> MassProperties:
    """Return the mass properties of a link in the frame of its lump; repair invalid ones or add them to ``faults``."""
    own = link.inertial
    if own is None:
        return NO_MASS
    fault = _fault(link, own)
    if fault and link.name in repair:
        own = MassProperties(own.mass, own.com, nearest_valid_inertia(own.inertia))
    elif fault:
        faults[link.name] = f"{link.place}: {fault}"
    return own.seen_from(pose.then(link.inertial_pose))


def _fault(link: UrdfLink, properties: MassProperties) -> str:
    """Return a message on invalid mass properties, with the nearest valid inertia; empty if they are valid."""
    try:
        checked_inertia(f"link {quote(link.name)}", properties.mass, properties.inertia)
    except ModelError as error:
        return str(error)
    return ""


def require_mass(lumps: list[Lump], masses: list[MassProperties], base: str | None) -> None:
    """Raise ImportFileError if a joint moves no mass, because its acceleration would be undetermined.

    Args:
        lumps, masses: lumps and their mass properties.
        base: name of the joint between the ground and the first lump; None if that is fixed.

    Raises:
        ImportFileError: a joint moves only massless links; the message names all such joints.
    """
    outboard = [properties.mass for properties in masses]
    for index in range(len(lumps) - 1, 0, -1):
        outboard[lumps[index].above or 0] += outboard[index]
    moved: dict[str, float] = {} if base is None else {base: outboard[0]}
    places: dict[str, str] = {} if base is None else {base: lumps[0].links[0][0].place}
    for index, part in enumerate(lumps[1:], start=1):
        assert part.motion is not None
        assert part.joint is not None
        moved[part.motion.joint] = moved.get(part.motion.joint, 0.0) + outboard[index]
        places.setdefault(part.motion.joint, part.joint.place)
    idle = [name for name, mass in moved.items() if mass == 0.0]
    if idle:
        raise ImportFileError(
            f"{places[idle[0]]}: no mass moves with joint {', '.join(map(quote, idle))}, so its acceleration is "
            f"undetermined; give the links <inertial>, or lock: lock={shown(idle)}"
        )
