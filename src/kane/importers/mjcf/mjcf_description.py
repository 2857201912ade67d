"""Contents of an MJCF file as plain numbers, after MuJoCo has resolved defaults, angles, frames and inertia."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.geometry.rotation import Rotation
from kane.importers.mesh_folder import MeshFolder
from kane.importers.pose import XYZ, MassProperties


@dataclass(frozen=True, slots=True)
class MjcfJoint:
    """A joint of a body; several joints give the motion J_1 J_2 ..., each about or along an axis fixed in the body.

    Attributes:
        kind: "free", "ball", "slide" or "hinge".
        at: anchor in the body [m].
        axis: axis in the body.
        reference: coordinate in the pose of the file [rad or m].
        stiffness, rest: stiffness and rest coordinate of its spring, SI units.
        damping, armature, friction: values per degree of freedom, SI units.
        curved: whether spring or damper is nonlinear.
        limits: limits of the coordinate [rad or m], or of a ball joint's angle from its reference; None without.
        held_back: whether the force of its actuators is limited.
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
    """A body B with parent A.

    Attributes:
        parent: index of A among the bodies.
        orientation, position: R_AB and p_AoBo_A [m] when the joints are at their reference.
        weightless: fraction of the weight that is compensated (gravcomp).
        mocap: whether the body is moved externally.
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
    """A geom: a primitive or a mesh.

    Attributes:
        name: name; may be empty.
        kind: "plane", "sphere", "capsule", "ellipsoid", "cylinder", "box" or "mesh".
        size: size in MuJoCo's convention: radii and half lengths [m]; for a mesh, scale factors.
        body: index of its body.
        index: its index among all geoms.
        orientation, position: pose in the body; for a mesh, pose of the axes of its file.
        shown: whether MuJoCo shows it.
        masks: its contype and conaffinity.
        partners: indices of the geoms with which the file lists a contact pair.
        file: for a mesh, its path relative to the folder of the MJCF file; empty if it cannot be shown.
    """

    name: str
    kind: str
    size: XYZ
    body: int
    orientation: Rotation
    position: XYZ
    shown: bool
    masks: tuple[int, int]
    partners: frozenset[int]
    index: int
    file: str = ""

    def matches(self, other: GeomEntry) -> bool:
        """Check whether the masks of two geoms let them touch."""
        return bool((self.masks[0] & other.masks[1]) | (other.masks[0] & self.masks[1]))


@dataclass(frozen=True, slots=True)
class ActuatorEntry:
    """An actuator with force = gain c + bias, where c is its input; it acts with ``gear`` on a joint or at a site.

    Gain and bias are p_0 + p_1 l + p_2 dl/dt, where the length l is gear times the coordinate.

    Attributes:
        through: "joint", "jointinparent" or "site".
        target: index among all joints, or among sites.
        gear: six numbers.
        gain, bias: coefficients (p_0, p_1, p_2); None for other laws.
        dynamics: "none", or the kind of activation dynamics.
        control_range, force_range: limits of input and force; None without limits.
        extra: names of other properties that are not modelled.
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
    """Contents of a whole file; bodies[0] is the world, and parents come before children.

    Attributes:
        disabled: features that the file disables: "SPRING", "DAMPER", "ACTUATION", ...
        fluid: whether bodies move in a fluid.
        geoms: geometry of the bodies, for pictures and contacts.
        exclusions: pairs of bodies that do not touch, by their indices in ascending order.
        folder: folder that must contain the meshes.
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
    exclusions: frozenset[tuple[int, int]] = frozenset()
    folder: MeshFolder = MeshFolder(None, None)  # frozen
