"""What an MJCF file says once MuJoCo has resolved defaults, angles, frames and inferred inertia: plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

from kane.geometry.rotation import Rotation
from kane.importers.mesh_folder import MeshFolder
from kane.importers.pose import XYZ, MassProperties


@dataclass(frozen=True, slots=True)
class MjcfJoint:
    """A joint B_k of a body: the body moves as by J_1 J_2 ..., each about or along an axis fixed in the body.

    Attributes:
        kind: "free", "ball", "slide" or "hinge".
        at: anchor in the body [m]; ``axis``: in the body.
        reference: coordinate in the pose that the file draws [rad or m].
        stiffness, rest: of its spring; ``damping``, ``armature``, ``friction``: per freedom, SI units.
        curved: whether spring or damper is not linear.
        limits: of its coordinate [rad or m], of a ball joint the angle from its reference; None without.
        held_back: whether the force of its actuators has limits.
    """

    name: str
    kind: str
    at: XYZ
    axis: XYZ
    reference: float
    stiffness: float
    rest: float
    damping: float
    armature: float
    friction: float
    curved: bool
    limits: tuple[float, float] | None
    held_back: bool


@dataclass(frozen=True, slots=True)
class BodyEntry:
    """A body B, ``parent`` the index of A among the bodies: R_AB and p_AoBo_A [m] when its joints are at reference.

    Attributes:
        weightless: the share of its weight that is taken off it (gravcomp).
        mocap: whether it is moved from outside.
    """

    name: str
    parent: int
    orientation: Rotation
    position: XYZ
    mass: MassProperties
    joints: tuple[MjcfJoint, ...]
    weightless: float
    mocap: bool


@dataclass(frozen=True, slots=True)
class SiteEntry:
    """A frame fixed in a body."""

    name: str
    body: int
    orientation: Rotation
    position: XYZ


@dataclass(frozen=True, slots=True)
class GeomEntry:
    """A geom of a simple kind or a mesh.

    Attributes:
        name: or nothing.
        kind: "plane", "sphere", "capsule", "ellipsoid", "cylinder", "box" or "mesh".
        size: as MuJoCo has it: radii and halves of lengths [m]; of a mesh, the factors of its lengths.
        body: index of its body.
        orientation, position: in the body; of a mesh, of the axes of its file.
        shown: whether MuJoCo shows it; ``touches``: whether it can touch something.
        file: of a mesh, its path from the folder of the file; empty where it has none that can be shown.
    """

    name: str
    kind: str
    size: XYZ
    body: int
    orientation: Rotation
    position: XYZ
    shown: bool
    touches: bool
    file: str = ""


@dataclass(frozen=True, slots=True)
class ActuatorEntry:
    """An actuator: force = gain c + bias, c its input, acting with ``gear`` on a joint or at a site.

    gain and bias are (constant, factor of the length, factor of its rate), the length being gear times the coordinate.

    Attributes:
        through: "joint", "jointinparent" or "site".
        target: index among all joints, or among sites.
        gear: six numbers.
        gain, bias: three numbers; None for laws of another sort.
        dynamics: "none", or the kind of dynamics that its activation has.
        control_range, force_range: or None.
        extra: what else it has that is not modelled.
    """

    name: str
    through: str
    target: int
    gear: tuple[float, ...]
    gain: XYZ | None
    bias: XYZ | None
    dynamics: str
    control_range: tuple[float, float] | None
    force_range: tuple[float, float] | None
    extra: str


@dataclass(frozen=True)
class MjcfDescription:
    """A whole file; bodies[0] is the world, parents come before children.

    Attributes:
        disabled: what it switches off: "SPRING", "DAMPER", "ACTUATION", ...
        fluid: whether bodies move in one.
        geoms: what bodies look like, and touch with; ``folder`` where their meshes may lie.
    """

    name: str
    source: str
    gravity: XYZ
    bodies: list[BodyEntry]
    sites: list[SiteEntry]
    actuators: list[ActuatorEntry]
    disabled: frozenset[str]
    fluid: bool
    geoms: tuple[GeomEntry, ...] = ()
    folder: MeshFolder = MeshFolder(None, None)  # noqa: RUF009  # frozen
