"""The wheeled mobile manipulator of Tanner & Kyriakopoulos 2001."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.functions import atan2, cos, sin
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import require
from kane.expression.operations import COORDINATE
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import add_vectors
from kane.model.body import Body
from kane.model.connection import Connection
from kane.model.joints import Planar, Revolute, Weld
from kane.model.loads import Force, Motor, Torque
from kane.model.model import Model
from kane.model.wheel import Wheel

Position = tuple[float, float, float]
MANIPULATOR_GRAVITY = 9.81


@dataclass(frozen=True)
class Platform:
    """Platform without wheels, with the frame {v} of the paper, and the fixed base of the arm. Defaults: Table I.

    Attributes:
        mass, inertia: mass and inertia of the platform about its mass centre, the origin of {v} [kg, kg m^2].
        base_mass, base_inertia: mass and inertia of the base about its mass centre [kg, kg m^2].
        base_at: r^0, from the origin of {v} to the mass centre of the base [m].
        first_joint: r^01, from the mass centre of the base to the first joint of the arm [m].
    """

    mass: float = 40.0
    inertia: Position = (1.667, 1.667, 3.02)
    base_mass: float = 5.0
    base_inertia: Position = (0.08, 0.08, 0.156)
    base_at: Position = (0.0, 0.0, 0.0)
    first_joint: Position = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class DriveWheel:
    """A wheel, a thin uniform disk: m r^2 / 2 about the axle, m r^2 / 4 about a diameter. Defaults: Table I.

    Attributes:
        x, y: position of its centre in {v} [m]; z is 0.
        mass, radius: mass [kg] and radius [m]; all wheels of a vehicle have the same radius.
    """

    x: float
    y: float
    mass: float = 2.0
    radius: float = 0.15

    @property
    def inertia(self) -> Position:
        """Moments of inertia about x along the heading, y along the axle, and z [kg m^2]."""
        moment = self.mass * self.radius**2 / 4.0
        return moment, 2.0 * moment, moment


@dataclass(frozen=True)
class ArmLink:
    """Link i of the arm, which turns about its z axis by q_i.

    Attributes:
        mass, inertia: mass [kg], and inertia about the mass centre along the link's axes [kg m^2].
        com: ir^{i ci}, from joint i to the mass centre [m].
        next_joint: ir^{ci i+1}, from the mass centre to joint i + 1, or to the tip [m].
        orientation: orientation of the link in its predecessor at q_i = 0.
    """

    mass: float
    inertia: Position
    com: Position
    next_joint: Position
    orientation: Rotation = field(default_factory=Rotation.identity)


FIRST_LINK = ArmLink(10.0, (1.759, 2.035, 2.073), (0.25, 0.0, 0.1505), (0.8, 0.0, 0.0))
NEXT_LINK = ArmLink(5.0, (0.0, 0.267, 0.267), (0.4, 0.0, 0.0), (0.4, 0.0, 0.0))
HALF_LENGTH, HALF_TRACK = 0.3, 0.3


def mobile_manipulator(
    links: int | Sequence[ArmLink] = 2,
    wheels: int | Sequence[DriveWheel] = 3,
    *,
    platform: Platform | None = None,
    dependent: Sequence[str] | None = None,
) -> Model:
    """Return a model of a platform on rolling wheels, some of them steered together, that carries an arm.

    Coordinates (x, y, theta, phi, q1, ..., qm, turn0, ...): position of the platform's mass centre [m], heading in N,
    steering angle of the first wheel w0, joint angles of the arm, rotation of the wheels [rad]. The fixed wheels are on
    the rearmost axle, at x = -b. Every other wheel j is steered so that its axle intersects the axle of w0 on the fixed
    axle:

        phi_j = atan2((x_j + b) sin phi, (x_0 + b) cos phi + (y_0 - y_j) sin phi)

    Speeds (u1, u2, u3, u4, u5, ..., roll0, ...): velocity of the platform's mass centre along the axes of {v} [m/s],
    dtheta/dt, dphi/dt, rates of the arm and of the wheels [rad/s]. No wheel slips or skids; all rows are embedded, and
    redundant rows are detected. The independent speeds are roll0, u4, u5, ...; they are valid everywhere.
    ``tanner_speeds`` replaces u1 and u2 by the paper's speeds.

    Torque inputs [N m]: drive0, ... from the platform on the wheels, steer0, ... about the vertical of each steered
    wheel, and tau1, ... in the arm's joints. The wrench at the tip, along the axes of the last link, has the inputs Fx,
    Fy, Fz [N] and Tx, Ty, Tz [N m]. The joint "base" fixes the arm's base to the platform; its reaction is the paper's
    interaction between arm and platform. The ground is z = 0, with N's z axis upwards.

    Args:
        links: links of the arm, or their number, at least 1: Table I's two, with the second repeated.
        wheels: wheels with w0 first, or their number, at least 3. Three wheels are as in Table I; further pairs are
            added between front and rear; an even number has two wheels in front.
        platform: masses and mounting position of the arm; default Table I.
        dependent: names of dependent speeds; ``()`` leaves the speed selection to ``formulate``.

    Raises:
        ModelError: there are too few links or wheels, the wheels have different radii, or w0 is on the fixed axle.

    Source: Tanner & Kyriakopoulos 2001, sections 2-4, Table I; the paper embeds only one of two no-skid constraints.
    """
    arm = _arm(links)
    places = _wheels(wheels)
    require(platform, Platform | None, "the platform is a Platform")
    mount = Platform() if platform is None else platform
    model = Model("mobile_manipulator", gravity=(0.0, 0.0, -MANIPULATOR_GRAVITY))
    v = model.body("platform", mass=mount.mass, inertia=mount.inertia)
    plane = model.connect(
        model.ground, v, Planar(("x", "y", "theta")), at=(0.0, 0.0, places[0].radius), name="platform"
    )
    turning, phi = _on_wheels(model, v, places)
    base = model.body("base", mass=mount.base_mass, inertia=mount.base_inertia)
    model.connect(v, base, Weld(), at=mount.base_at, name="base")
    joints = _with_arm(model, base, mount.first_joint, arm)
    model.coordinates("x", "y", "theta", "phi", *(c.name for c in joints), *(c.name for c in turning))
    velocity = v.point().velocity
    platform_speeds = {"u1": velocity.dot(v.x), "u2": velocity.dot(v.y), "u3": plane["theta"].qdot, "u4": phi.speeds[0]}
    arm_speeds = {f"u{5 + i}": c.speeds[0] for i, c in enumerate(joints)}
    rolls = {f"roll{j}": c.speeds[0] for j, c in enumerate(turning)}
    named = ("u1", "u2", "u3", *list(rolls)[1:]) if dependent is None else dependent
    model.speeds(dependent=named, **platform_speeds, **arm_speeds, **rolls)
    return model


def tanner_speeds(model: Model, *, dependent: Sequence[str] = ()) -> None:
    """Set the paper's generalized speeds in a model from ``mobile_manipulator``.

        u1 = dx/dt / Z, u2 = dy/dt / Z, Z = y_0 sin phi + x_0 cos phi

    The other speeds stay the same. These speeds are undefined for Z = 0, that is at phi = 90 deg if w0 is in front of
    the mass centre. The paper embeds one of the two no-skid constraints, so u1 and u2 are independent. With both,
    only u1 or u2 can be independent. u1 is singular when the mass centre moves along y, u2 when it moves along x. So by
    default the speed selection is made numerically at each state.

    Args:
        model: model from ``mobile_manipulator``.
        dependent: names of dependent speeds, to embed the constraints symbolically: with
            ("u2", "u3", "roll0", "roll1", ...) u1 is independent.

    Source: Tanner & Kyriakopoulos 2001, Section 2 and after Eq. 3.
    """
    steering, plane = _joint(model, "steering0"), _joint(model, "platform")
    Z = steering.p_PF[1] * sin(steering.coordinates[0]) + steering.p_PF[0] * cos(steering.coordinates[0])
    kept = {name: x for name, x in model.speed_choice.definitions.items() if name not in ("u1", "u2")}
    model.speeds(dependent=dependent, u1=plane["x"].qdot / Z, u2=plane["y"].qdot / Z, **kept)


def lock_steering(model: Model) -> None:
    """Lock the steering of a ``mobile_manipulator`` at its initial angle: u4 = 0 becomes a dependent speed."""
    steering = _joint(model, "steering0")
    model.constrain(steering.speeds[0], name="steering locked")
    choice = model.speed_choice
    dependent = (*choice.dependent, "u4") if choice.dependent else ()
    model.speeds(dependent=dependent, **choice.definitions)


def platform_wheels(model: Model) -> list[Wheel]:
    """Return the wheels of a ``mobile_manipulator``, for ``kane.wheel_forces`` and ``kane.tip_over``."""
    radius = _joint(model, "platform").p_PF[2]
    return [Wheel(c, radius) for c in model.connections if c.name.startswith("turn")]


def _joint(model: Model, name: str) -> Connection:
    require(model, Model, "this takes a model from mobile_manipulator")
    for c in model.connections:
        if c.name == name:
            return c
    raise ModelError(f"{model.name!r} has no joint {name!r}; give a model from mobile_manipulator")


def _arm(links: int | Sequence[ArmLink]) -> list[ArmLink]:
    if isinstance(links, int) and links >= 1:
        return [FIRST_LINK, *[NEXT_LINK] * (links - 1)]
    if isinstance(links, Sequence) and links and all(isinstance(link, ArmLink) for link in links):
        return list(links)
    raise ModelError(f"links must be a whole number of at least 1 or a list of ArmLink, not {shown(links)}")


def _wheels(wheels: int | Sequence[DriveWheel]) -> list[DriveWheel]:
    if isinstance(wheels, int) and wheels >= 3:
        along = np.linspace(HALF_LENGTH, -HALF_LENGTH, (wheels + 1) // 2)
        pairs = [DriveWheel(float(x), y) for x in along for y in (HALF_TRACK, -HALF_TRACK)]
        found = pairs if wheels % 2 == 0 else [DriveWheel(HALF_LENGTH, 0.0), *pairs[2:]]
    elif isinstance(wheels, Sequence) and len(wheels) >= 3 and all(isinstance(w, DriveWheel) for w in wheels):
        found = list(wheels)
    else:
        raise ModelError(f"wheels must be a whole number of at least 3 or a list of DriveWheel, not {shown(wheels)}")
    if len({w.radius for w in found}) != 1:
        raise ModelError("the wheels have different radii; give all the same radius: they stand on one plane")
    if found[0].x <= min(w.x for w in found):
        raise ModelError("the first wheel, which steers, is on the fixed axle at the rear; give it a larger x")
    return found


def _on_wheels(model: Model, v: Body, wheels: Sequence[DriveWheel]) -> tuple[list[Connection], Connection]:
    """Add the rolling wheels; return their joints, and the joint of the steering."""
    rear = min(w.x for w in wheels)
    turning: list[Connection] = []
    steering: Connection | None = None
    for j, wheel in enumerate(wheels):
        carrier, at, steered = v, (wheel.x, wheel.y, 0.0), None
        if wheel.x != rear:
            carrier = model.body(f"fork{j}", mass=0.0)
            phi: str | Expr = "phi" if steering is None else _steered(wheel, wheels[0], rear, steering.coordinates[0])
            steered = model.connect(v, carrier, Revolute(phi, axis="z"), at=at, name=f"steering{j}")
            model.load(Motor(steered, model.input(f"steer{j}")))
            steering, at = steering or steered, (0.0, 0.0, 0.0)
        body = model.body(f"w{j}", mass=wheel.mass, inertia=wheel.inertia)
        turn = model.connect(carrier, body, Revolute(f"turn{j}", axis="y"), at=at)
        model.load(Motor(turn, model.input(f"drive{j}")))
        _roll(model, v, wheel, steered.coordinates[0] if steered else None, turn)
        turning.append(turn)
    assert steering is not None  # w0 is not on the fixed axle
    return turning, steering


def _roll(model: Model, v: Body, wheel: DriveWheel, angle: Expr | None, turn: Connection) -> None:
    """Add the rolling constraints of one wheel; for a wheel with the angle phi itself, along the axes of {v}.

    Along these axes the coefficients of u1, u2 and u3 are constant, so the elimination divides by nothing that can
    vanish. Along the wheel's own axes it would divide by sin phi or cos phi.
    """
    who, centre, rolling = turn.child.name, v.point((wheel.x, wheel.y, 0.0)).velocity, wheel.radius * turn.speeds[0]
    vx, vy = centre.dot(v.x), centre.dot(v.y)
    if angle is None:
        model.constrain(vx - rolling, name=f"no slip of {who}")
        model.constrain(vy, name=f"no skid of {who}")
    elif angle.op == COORDINATE:
        model.constrain(vx - rolling * cos(angle), name=f"rolling of {who} along x")
        model.constrain(vy - rolling * sin(angle), name=f"rolling of {who} along y")
    else:
        model.constrain(vx * cos(angle) + vy * sin(angle) - rolling, name=f"no slip of {who}")
        model.constrain(vy * cos(angle) - vx * sin(angle), name=f"no skid of {who}")


def _steered(wheel: DriveWheel, first: DriveWheel, rear: float, phi: Expr) -> Expr:
    """Return phi_j as a function of phi, so that the axles of all wheels intersect in one point of the fixed axle."""
    return atan2((wheel.x - rear) * sin(phi), (first.x - rear) * cos(phi) + (first.y - wheel.y) * sin(phi))


def _with_arm(model: Model, base: Body, first_joint: Position, arm: Sequence[ArmLink]) -> list[Connection]:
    """Add the links, their motors, and the wrench at the tip; return the joints."""
    parent, joints = base, []
    at: tuple[Scalar, ...] = first_joint
    for i, link in enumerate(arm, start=1):
        body = model.body(f"link{i}", mass=link.mass, inertia=link.inertia, com=link.com)
        joint = model.connect(parent, body, Revolute(f"q{i}", axis="z"), at=at, orientation=link.orientation)
        model.load(Motor(joint, model.input(f"tau{i}")))
        joints.append(joint)
        parent, at = body, add_vectors(link.com, link.next_joint)
    force: list[Scalar] = [model.input(f"F{axis}") for axis in "xyz"]
    torque: list[Scalar] = [model.input(f"T{axis}") for axis in "xyz"]
    model.load(Force(parent.point(at), force, expressed_in=parent))
    model.load(Torque(parent, torque, expressed_in=parent))
    model.frame("tip", parent, at=at)
    return joints
