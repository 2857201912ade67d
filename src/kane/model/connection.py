"""A joint between two bodies of a model, with the poses of its frames and the names of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.arena import Arena
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr, Scalar
from kane.expression.operations import COORDINATE, RATE, SPEED, TIME
from kane.expression.traverse import leaves
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple
from kane.model.body import Body, Mechanism, triple_of_model
from kane.model.checks import require_coordinate_expression, require_fixed, require_word
from kane.model.joints.joint import Joint
from kane.model.reaction import ReactionVector


@dataclass(frozen=True, eq=False)
class Connection:
    """Joint between two bodies: frame F is fixed in the parent, M in the child, and the joint moves M relative to F.

    Attributes:
        name: unique in the model; by default the name of the joint's coordinate.
        parent, child: the bodies.
        joint: kind of the joint.
        p_PF, R_PF: pose of F in the parent's frame [m].
        p_CM, R_CM: pose of M in the child's frame [m].
        coordinates: the joint's q: leaves, or one expression for mimic, gear and prescribed joints.
        coordinate_names, speed_names: names of the coordinates and speeds that this joint adds to the model.
    """

    name: str
    parent: Body
    child: Body
    joint: Joint
    p_PF: Triple
    R_PF: Rotation
    p_CM: Triple
    R_CM: Rotation
    coordinates: tuple[Expr, ...]
    coordinate_names: tuple[str, ...]
    speed_names: tuple[str, ...]

    @property
    def q(self) -> Expr | tuple[Expr, ...]:
        """Coordinate of a joint with one degree of freedom (leaf or expression); otherwise the tuple of coordinates."""
        return self.coordinates[0] if self.joint.one_dof else self.coordinates

    @property
    def qdot(self) -> Expr | tuple[Expr, ...]:
        """Rates dq/dt as leaves that ``formulate`` resolves; for a coordinate expression its total time derivative."""
        rates = tuple(coordinate_rate(q) for q in self.coordinates)
        return rates[0] if self.joint.one_dof else rates

    @property
    def speeds(self) -> tuple[Expr, ...]:
        """The joint's own speeds, as leaves that ``formulate`` resolves.

        They are the rates of the coordinates; for Spherical and Free the measure numbers of w_FM and v_FMo in M.
        """
        if self.speed_names and not self.joint.one_dof:
            return tuple(self.coordinates[0].arena.leaf(RATE, name) for name in self.speed_names)
        return tuple(coordinate_rate(q) for q in self.coordinates)

    @property
    def reaction_force(self) -> ReactionVector:
        """Force of the parent on the child at Mo [N]; dot it with a direction to use it in a load."""
        return ReactionVector(self, "F")

    @property
    def reaction_torque(self) -> ReactionVector:
        """Torque of the parent on the child about Mo [N m]; dot it with a direction to use it in a load."""
        return ReactionVector(self, "T")

    def __getitem__(self, coordinate: str) -> JointCoordinate:
        """Return one coordinate of a joint, for loads that act along it: ``kane.Motor(ring["q2"], tau)``.

        Raises:
            ModelError: the joint has no coordinate of this name.
        """
        if not isinstance(coordinate, str) or coordinate not in self.coordinate_names:
            raise ModelError(f"joint {self.name!r} has no coordinate {shown(coordinate)}, only {self.coordinate_names}")
        return JointCoordinate(self, self.coordinate_names.index(coordinate))

    def __repr__(self) -> str:
        return f"Connection({self.name!r}: {self.parent.name!r} -> {self.child.name!r}, {type(self.joint).__name__})"


@dataclass(frozen=True)
class JointCoordinate:
    """One coordinate of a joint, along which a motor, spring or damper acts.

    Attributes:
        connection: the joint.
        place: index of the coordinate in ``connection.coordinates``, and of the natural speed that is its rate.
    """

    connection: Connection
    place: int = 0

    @property
    def name(self) -> str:
        """Name of the coordinate; name of the joint if its coordinate is an expression."""
        names = self.connection.coordinate_names
        return names[self.place] if names else self.connection.name

    @property
    def q(self) -> Expr:
        """The coordinate: a leaf, or an expression of other coordinates."""
        return self.connection.coordinates[self.place]

    @property
    def qdot(self) -> Expr:
        """Rate dq/dt of the coordinate, in rate leaves that ``formulate`` resolves."""
        return coordinate_rate(self.q)

    def __repr__(self) -> str:
        return f"{self.connection.name}[{self.name!r}]"

    def require_rate(self, load: str) -> None:
        """Raise ModelError if the rate of the coordinate is not a speed of the joint.

        Examples are quaternions, and gimbals whose speeds are measure numbers.

        Raises:
            ModelError: names the load, the joint and an alternative.
        """
        joint, coordinates = self.connection.joint, self.connection.coordinates
        arena = coordinates[0].arena
        speeds = [arena.leaf(SPEED, name) for name in joint.speed_names(self.connection.name)]
        if joint.nq == joint.nu and joint.motion(coordinates, speeds).kinematics[self.place] is speeds[self.place]:
            return
        raise ModelError(
            f"a {load} acts along a coordinate whose rate is a speed; joint {self.connection.name!r} "
            f"({type(joint).__name__}) does not have it; use kane.Force or kane.Torque on its bodies"
        )


def coordinate_rate(q: Expr) -> Expr:
    """Return dq/dt of a coordinate leaf, or of an expression of coordinates and time, in rate leaves."""
    arena = q.arena
    if q.op == COORDINATE:
        return arena.leaf(RATE, q.data)
    rates = {leaf: arena.leaf(RATE, leaf.data) for leaf in leaves([q]) if leaf.op == COORDINATE}
    rates[arena.leaf(TIME, "t")] = arena.one
    return total_time_derivative([q], rates)[0]


def require_tree(parent: Body, child: Body, parents: Mapping[Body, Body]) -> None:
    """Raise ModelError if a new joint would break the tree of joints, whose root is the ground."""
    if child is child.model.ground:
        raise ModelError("the ground cannot be a child; swap parent and child")
    if child in parents:
        raise ModelError(
            f"body {child.name!r} already hangs on {parents[child].name!r}; a second joint would close a "
            "loop: use Model.close"
        )
    walk: Body | None = parent
    while walk is not None:
        if walk is child:
            raise ModelError(
                f"connecting {child.name!r} to {parent.name!r} would make a loop of joints; "
                "joints form a tree that starts at the ground"
            )
        walk = parents.get(walk)


def title_of(joint: Any, parent: Body, child: Body, name: Any) -> str:
    """Return the name of a connection: ``name`` if given, else the joint's label, else the names of both bodies joined.

    Raises:
        ModelError: the name is not a valid word.
    """
    label = getattr(joint, "label", None)
    title = name if name is not None else label if isinstance(label, str) else f"{parent.name}_{child.name}"
    require_word(title)
    return title


def fixed_pose(model: Mechanism, at: Sequence[Scalar], orientation: Any, what: str) -> tuple[Triple, Rotation]:
    """Return position and orientation of a frame fixed in a body.

    Raises:
        ModelError: either is not valid, or depends on coordinates, speeds or time.
    """
    position = triple_of_model(model, at, f"the position of {what}")
    require_fixed(position, f"the position of {what}")
    if orientation is None:
        return position, Rotation.identity()
    rotation, whose = Rotation.of(orientation, f"the orientation of {what}"), f"the orientation of {what}"
    require_fixed([model.scalar(x, whose) for row in rotation.entries for x in row], whose)
    return position, rotation


def joint_symbols(arena: Arena, joint: Joint, title: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a joint's own coordinates and speeds; both are empty if an expression is its coordinate.

    Raises:
        ModelError: a name is no word or occurs twice, or the label of the joint is neither a name nor an expression.
    """
    label = joint.label
    if isinstance(label, (str, tuple)):
        stem = label if isinstance(label, str) else title
        for word in (stem, *(label if isinstance(label, tuple) else ())):
            require_word(word)
        coordinates, speeds = joint.coordinate_names(stem), joint.speed_names(stem)
        symbols = (*coordinates, *speeds)
        if len(set(symbols)) != len(symbols):
            raise ModelError(f"two of the names {', '.join(symbols)} of joint {title!r} are the same; give others")
        return coordinates, speeds
    if isinstance(label, Expr) and joint.one_dof:
        require_coordinate_expression(arena, label, title)
    elif joint.nq:
        cure = "a name, or an expression of other coordinates and time" if joint.one_dof else "a name"
        raise ModelError(f"the coordinate of joint {title!r} is {shown(label)}; give {cure}")
    return (), ()
