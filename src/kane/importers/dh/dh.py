"""Import a serial arm from a table of Hartenberg-Denavit and inertial parameters.

Frame i - 1 belongs to the parent, frame i to the child, and Z is the axis of a joint. Parameters of the same name
differ between conventions in meaning, sign and row. So a table is meaningless without the name of its convention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.number_arguments import list_argument, number, text
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple
from kane.model.body import Body
from kane.model.checks import near
from kane.model.joints import Prismatic, Revolute
from kane.model.loads import Motor
from kane.model.model import Model

IDENTITY = Rotation.identity()

DH_JOINTS = {"R": Revolute, "P": Prismatic}


@dataclass(frozen=True)
class Placement:
    """Joint frames F and M of one row of a table; the joint turns about or slides along ``axis`` of both.

    Attributes:
        at, orientation: pose of F in frame i - 1.
        child_at, child_orientation: pose of M in frame i.
        axis: "z", or "-z" if the convention measures displacements against Z.
    """

    at: Triple
    orientation: Rotation
    child_at: Triple = (0.0, 0.0, 0.0)
    child_orientation: Rotation = IDENTITY
    axis: str = "z"


class DHConvention(ABC):
    """Convention that defines the four parameters alpha, a, d, theta of a row."""

    name: ClassVar[str]

    @abstractmethod
    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        """Return the joint frames for the parameters of a row [rad, m], at which the joint coordinate is zero."""


@dataclass(frozen=True)
class ModifiedDH(DHConvention):
    """Craig's convention: T = Rx(alpha) Tx(a) Rz(theta) Tz(d), alpha and a from Z_{i-1} to Z_i, joint i on Z_i."""

    name: ClassVar[str] = "modified"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        turn = Rotation.about("x", alpha)
        along = turn.apply((0.0, 0.0, d))
        return Placement((a, along[1], along[2]), turn @ Rotation.about("z", theta))


@dataclass(frozen=True)
class StandardDH(DHConvention):
    """Denavit's and Paul's convention: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), joint i on Z_{i-1}, joint i + 1 on Z_i."""

    name: ClassVar[str] = "standard"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        return Placement(
            (0.0, 0.0, d), Rotation.about("z", theta), (-a, 0.0, 0.0), Rotation.about("x", alpha).inverse()
        )


@dataclass(frozen=True)
class AngelesDH(DHConvention):
    """Convention of Angeles, Ma and Rojas: the modified convention with b = -d.

    O_i is at (a, b sin alpha, -b cos alpha) in frame i - 1. So a prismatic coordinate b grows against Z_i, and its
    force f has the power f db/dt.

    Source: Angeles et al. 1988, Eqs. (7), (8), (19), (20) and (22). Eqs. (35) and (43) have the opposite sign of d.
    """

    name: ClassVar[str] = "angeles"

    def placement(self, alpha: float, a: float, d: float, theta: float, *, prismatic: bool) -> Placement:
        usual = ModifiedDH().placement(alpha, a, -d, theta, prismatic=prismatic)
        return Placement(usual.at, usual.orientation, axis="-z" if prismatic else "z")


CONVENTIONS: tuple[DHConvention, ...] = (ModifiedDH(), StandardDH(), AngelesDH())


def convention_of(given: str | DHConvention) -> DHConvention:
    """Return the convention of this name, or a given ``DHConvention`` itself.

    Raises:
        ModelError: the name is unknown; the message lists the known names.
    """
    if isinstance(given, DHConvention):
        return given
    for convention in CONVENTIONS:
        if isinstance(given, str) and given == convention.name:
            return convention
    known = ", ".join(f'"{c.name}"' for c in CONVENTIONS)
    raise ModelError(
        f"there is no Hartenberg-Denavit convention {shown(given)}; give one of {known}, or a kane.DHConvention"
    )


@dataclass(frozen=True)
class DHLink:
    """One row of a table: a joint and the link that it moves.

    The joint coordinate is added to theta ("R") or to d ("P"), so the row gives the values at q = 0.

    Attributes:
        alpha, theta: angles [rad].
        a, d: distances [m]; Angeles et al. call d b.
        joint: "R" (revolute) or "P" (prismatic).
        mass: mass of the link [kg].
        com: mass centre from the origin of the link's frame, in that frame [m].
        inertia: inertia about the mass centre, in the link's frame [kg m^2]: 3 principal moments, xx yy zz xy xz yz, or
            3 x 3.
    """

    alpha: float
    a: float
    d: float
    theta: float
    joint: str = "R"
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: Sequence[Any] = (0.0, 0.0, 0.0)


def from_dh(
    table: Sequence[DHLink | Mapping[str, Any]],
    *,
    convention: str | DHConvention,
    name: str = "arm",
    gravity: Sequence[float] | None = None,
    parent: Body | None = None,
    prefix: str = "",
) -> Model:
    """Return a model of a serial arm with a motor in every joint.

    The bodies link1, link2, ... have the frames of the table. The coordinates are q1, q2, ... [rad or m]; the speeds
    are their rates. The inputs tau1, tau2, ... [N m or N] are positive along the coordinates.

    Args:
        table: rows: ``DHLink``, or mappings with its attributes as keys ("b" may replace "d").
        convention: "modified", "standard" or "angeles", or a ``DHConvention``; required, because the same numbers
            describe different arms in different conventions.
        name: name of the model.
        gravity: acceleration of free fall in frame 0 [m/s^2]; default (0, 0, -9.81).
        parent: body of another model on which the arm is mounted; frame 0 is the frame of this body. The arm is added
            to that model, which keeps its name and gravity. For a moving base, give a body on joints whose coordinates
            are expressions of time.
        prefix: prefix of the names of bodies, coordinates and inputs.

    Returns:
        A new model, or the model of ``parent``.

    Raises:
        ModelError: the convention is unknown, or a row has missing, unknown or unphysical values; the message names the
            row.

    Source: Angeles, Ma & Rojas 1988, section 3.1.
    """
    meaning = convention_of(convention)
    rows = list_argument(table, "the table", "kane.DHLink, one for each joint")
    links = [_link(row, i) for i, row in enumerate(rows, start=1)]
    text(prefix, "the prefix of names")
    if not links:
        raise ModelError("the Hartenberg-Denavit table has no rows; give one for each joint")
    if parent is None:
        model = Model(name, gravity=(0.0, 0.0, -9.81) if gravity is None else gravity)
    elif isinstance(parent, Body) and isinstance(parent.model, Model):
        model = parent.model
        if gravity is not None:
            raise ModelError(f"the arm is added to model {model.name!r}, which has its own gravity; leave gravity out")
        from_dh(links, convention=meaning)  # raises for a wrong table before ``model`` is changed
    else:
        raise ModelError(f"an arm is mounted on a body of a model, not on {shown(parent)}")
    below = model.ground if parent is None else parent
    for i, link in enumerate(links, start=1):
        below = _add(model, below, link, meaning, [f"{prefix}{word}{i}" for word in ("link", "q", "tau")])
    return model


def _add(model: Model, below: Body, link: DHLink, convention: DHConvention, names: Sequence[str]) -> Body:
    """Add the next link of the arm with its joint and motor; ``names`` are the names of link, coordinate and input."""
    label, coordinate, effort = names
    body = model.body(label, mass=link.mass, inertia=link.inertia, com=link.com)
    place = convention.placement(link.alpha, link.a, link.d, link.theta, prismatic=link.joint == "P")
    joint = DH_JOINTS[link.joint](coordinate, axis=place.axis)
    connection = model.connect(
        below,
        body,
        joint,
        at=place.at,
        orientation=place.orientation,
        child_at=place.child_at,
        child_orientation=place.child_orientation,
    )
    model.load(Motor(connection, model.input(effort)))
    return body


def _link(row: DHLink | Mapping[str, Any], i: int) -> DHLink:
    """Return a row after checks of its numbers and its joint."""
    who = f"row {i} of the Hartenberg-Denavit table"
    given = row if isinstance(row, DHLink) else _from_mapping(row, who)
    if given.joint not in DH_JOINTS:
        raise ModelError(f'the joint in {who} is {shown(given.joint)}; give "R" (revolute) or "P" (prismatic)')
    numbers = {key: number(getattr(given, key), f"{key} in {who}") for key in ("alpha", "a", "d", "theta", "mass")}
    return DHLink(**numbers, joint=given.joint, com=given.com, inertia=given.inertia)


def _from_mapping(row: Any, who: str) -> DHLink:
    if not isinstance(row, Mapping):
        raise ModelError(
            f"{who} is {shown(row)}; give a kane.DHLink, or a dict with alpha, a, d, theta, joint, mass, ..."
        )
    known = [f.name for f in fields(DHLink)]
    values = dict(row)
    if "b" in values:
        if "d" in values:
            raise ModelError(f"{who} has both b and d, two names of one parameter; leave one out")
        values["d"] = values.pop("b")
    for key in values:
        if key not in known:
            raise ModelError(f"{who} has {shown(key)}, which is not a parameter; {near(key, known)}")
    missing = [key for key in known[:4] if key not in values]
    if missing:
        raise ModelError(f"{who} lacks {', '.join(missing)}; give the values at q = 0, often 0")
    return DHLink(**values)
