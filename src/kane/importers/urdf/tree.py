"""From links and joints to rigid bodies and the joints that move: fixed and locked joints lump their links."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kane.errors import ImportFileError, ModelError, shown
from kane.geometry.inertia import checked_inertia, nearest_valid_inertia
from kane.importers.pose import NO_MASS, FramePose, MassProperties, lump, no_pose
from kane.importers.urdf.description import Description, UrdfJoint, UrdfLink, about
from kane.importers.urdf.joints import JOINT_KINDS
from kane.importers.urdf.motion import Following, Locked, UrdfMotion
from kane.importers.xml_reader import quote
from kane.model.checks import near

# Faults told at length in one message.
MOST_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Lump:
    """Links that do not move relative to each other.

    Attributes:
        links: each with its pose in the first, whose frame is that of the whole.
        above: index of the lump that carries this one; None for the first.
        joint: the joint that carries it, with ``pose`` of the joint frame in the lump above, and ``motion``.
    """

    links: list[tuple[UrdfLink, FramePose]] = field(default_factory=list)
    above: int | None = None
    joint: UrdfJoint | None = None
    pose: FramePose = field(default_factory=no_pose)
    motion: Following | None = None

    @property
    def name(self) -> str:
        """The name of the first link."""
        return self.links[0][0].name


def lump_links(robot: Description, motions: Mapping[str, UrdfMotion]) -> list[Lump]:
    """The lumps of a robot, depth first from its root in the order of the file; a lump comes after the one above it.

    Raises:
        ImportFileError: a joint names a link that is not there, a link hangs on two joints, there are several roots or
            none, links hang on each other in a circle.
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
            raise about(link.place, f"link {quote(name)} hangs on itself in a circle of joints; remove one of them")
    return lumps


def _joints_below(robot: Description) -> dict[str, list[UrdfJoint]]:
    """The joints that each link carries, in the order of the file."""
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
                f"link {quote(joint.child)} hangs on joint {quote(joint.name)} and {quote(above[joint.child].name)}; a "
                " URDF is a tree, so give it one parent and close the loop by a constraint afterwards",
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
        raise ImportFileError(f"{robot.source}: every link hangs on another, in a circle; remove one of the joints")
    names = ", ".join(quote(link.name) for link in roots[:4])
    raise about(
        roots[1].place,
        f"{len(roots)} links hang on no joint ({names}{', ...' if len(roots) > 4 else ''}); "
        "connect all but one of them by joints",
    )


def mass_properties(lumps: Collection[Lump], repair: Collection[str], notes: list[str]) -> list[MassProperties]:
    """Mass properties of each lump in the frame of its first link; links without <inertial> have none.

    What counts is the whole: a link whose inertia no body can have is noted where it is lumped with others that make up
    for it, and is an error where they do not.

    Args:
        lumps: the lumps that move.
        repair: names of the links whose inertia is to be replaced by the nearest valid one where it is not valid.
        notes: is appended to.

    Raises:
        ImportFileError: a lump has an inertia that no body can have; the links at fault are named, with the nearest
            valid one for each.
    """
    made = []
    faulty: dict[str, str] = {}
    for part in lumps:
        faults: dict[str, str] = {}
        whole = lump([_in_lump(link, pose, repair, faults) for link, pose in part.links])
        if faults and _fault(part.links[0][0], whole):
            faulty.update(faults)
        else:
            kept = f"it is kept, for {quote(part.name)} as a whole is valid"
            notes.extend(f"{fault}; {kept}" for fault in faults.values())
        made.append(whole)
    if faulty:
        listed = "\n  ".join(list(faulty.values())[:MOST_FAULTS])
        if len(faulty) > MOST_FAULTS:
            listed += f"\n  and {len(faulty) - MOST_FAULTS} more"
        cure = ", ".join(map(repr, dict.fromkeys([*repair, *faulty])))
        raise ImportFileError(
            f"{listed}\nCorrect the file, or have the nearest valid inertia put in its place: repair=[{cure}]"
        )
    return made


def _in_lump(link: UrdfLink, pose: FramePose, repair: Collection[str], faults: dict[str, str]) -> MassProperties:
    """Mass properties of a link in the frame of its lump, repaired where that is asked for; faults are added."""
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
    """What is wrong with mass properties, with the nearest valid inertia; empty where nothing is."""
    try:
        checked_inertia(f"link {quote(link.name)}", properties.mass, properties.inertia)
    except ModelError as error:
        return str(error)
    return ""


def require_mass(lumps: list[Lump], masses: list[MassProperties], base: str | None) -> None:
    """Refuses freedoms that move no mass, for their acceleration would be undetermined.

    Args:
        lumps, masses: the lumps and their mass properties.
        base: name of the joint that carries the first lump, None where it is fixed to the ground.

    Raises:
        ImportFileError: naming every joint that moves massless links only.
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
