"""Bodies, points and directions fixed in them, and the measures that users write with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.expression.operations import MEASURE
from kane.expression.text import number_text
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple

if TYPE_CHECKING:
    from kane.model.model import Model
    from kane.model.shapes.shape import Shape

POSITION, VELOCITY, ANGULAR_VELOCITY, DIRECTION = "position", "velocity", "angular velocity", "direction"
KINDS = (POSITION, VELOCITY, ANGULAR_VELOCITY, DIRECTION)
CONFIGURATION_KINDS = (POSITION, DIRECTION)

AXES: dict[Triple, str] = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


def triple(model: Model, values: Sequence[Scalar], what: str) -> Triple:
    """Three numbers or expressions of ``model``, checked, or an error that names ``what``."""
    if isinstance(values, Direction):
        raise ModelError(
            f"{what} is told by its three measure numbers, not by {values!r}: {_typed(values.components)}, in the "
            f"frame of {values.body.name!r}"
        )
    try:
        listed = list(values)
    except TypeError:
        raise ModelError(f"{what} must be three numbers or expressions, not {shown(values)}") from None
    if len(listed) != 3:
        raise ModelError(f"{what} must be three numbers or expressions; got {len(listed)}")
    return tuple(model.scalar(v, what) for v in listed)


def _typed(values: Triple) -> str:
    """Three numbers or expressions as one types them."""
    return f"({', '.join(number_text(x) if isinstance(x, float) else repr(x) for x in values)})"


@dataclass(frozen=True)
class Measure:
    """What a measure leaf stands for: a vector quantity of a body or point, dotted with a direction.

    Attributes:
        kind: POSITION or VELOCITY of the point, or ANGULAR_VELOCITY of the body, all in the inertial frame N; or
            DIRECTION fixed in the body.
        body: index of the body.
        point: p_BoP_B [m]; the origin for angular velocities; the measure numbers of a direction.
        direction_body: index of the body in which the direction is fixed (0 is the ground).
        direction: measure numbers of the direction in that body's frame.
        typed: how one types it, for messages.
    """

    kind: str
    body: int
    point: Triple
    direction_body: int
    direction: Triple
    typed: str = field(compare=False)

    def __str__(self) -> str:
        return self.typed


@dataclass(frozen=True)
class Direction:
    """A vector fixed in a body, by its measure numbers in the body frame."""

    body: Body
    components: Triple

    def dot(self, other: Direction) -> Expr:
        """The scalar product with a direction fixed in another body: for unit vectors the cosine between them."""
        return VectorMeasure(DIRECTION, self.body, self.components).dot(other)

    def __neg__(self) -> Direction:
        """The opposite direction."""
        x, y, z = (0.0 - c for c in self.components)
        return Direction(self.body, (x, y, z))

    def __mul__(self, other: object) -> NoReturn:
        """Refused.

        Raises:
            ModelError: directions have no length of their own to be multiplied.
        """
        raise ModelError(
            f"{self!r} times {shown(other)} is no direction; write {self.body.name}.direction((x, y, z)), and of a "
            f"force or a torque the three measure numbers: (x, y, z), expressed_in={self.body.name}"
        )

    __rmul__ = __mul__

    def __repr__(self) -> str:
        axis = AXES.get(self.components)
        return f"{self.body.name}.{axis}" if axis else f"{self.body.name}.direction({_typed(self.components)})"


@dataclass(frozen=True)
class VectorMeasure:
    """A vector quantity that ``formulate`` will resolve: dot it with a direction to get a scalar measure."""

    kind: str
    body: Body
    point: Triple

    def dot(self, direction: Direction) -> Expr:
        """The measure number along ``direction``: a leaf with a meaning, usable in loads and constraints."""
        if not isinstance(direction, Direction):
            raise ModelError(f"dot() takes a direction such as body.x, not {shown(direction)}")
        if direction.body.model is not self.body.model:
            raise ModelError(f"body {direction.body.name!r} belongs to another model than body {self.body.name!r}")
        typed = f"{self!r}.dot({direction!r})"
        described = Measure(self.kind, self.body.index, self.point, direction.body.index, direction.components, typed)
        return self.body.model.arena.leaf(MEASURE, described)

    def __sub__(self, other: VectorMeasure) -> VectorDifference:
        """Such as ``P.velocity - Q.velocity``.

        Raises:
            ModelError: the other is no vector, or one of another kind.
        """
        if not isinstance(other, VectorMeasure) or other.kind != self.kind:
            kind = f", a {other.kind}" if isinstance(other, VectorMeasure) else ""
            raise ModelError(f"{self!r} is a {self.kind}; take another one from it, not {shown(other)}{kind}")
        return VectorDifference(self, other)

    def __repr__(self) -> str:
        if self.kind == DIRECTION:
            return repr(Direction(self.body, self.point))
        if self.kind == ANGULAR_VELOCITY:
            return f"{self.body.name}.angular_velocity"
        return f"{Point(self.body, self.point)!r}.{self.kind}"


@dataclass(frozen=True)
class VectorDifference:
    """One vector less another of the same kind: dot it with a direction to get a scalar measure."""

    of: VectorMeasure
    less: VectorMeasure

    def dot(self, direction: Direction) -> Expr:
        """The difference of the measure numbers along ``direction``."""
        return self.of.dot(direction) - self.less.dot(direction)

    def __repr__(self) -> str:
        return f"({self.of!r} - {self.less!r})"


@dataclass(frozen=True)
class Point:
    """A point P fixed in a body, at p_BoP_B [m]."""

    body: Body
    position_in_body: Triple

    @property
    def velocity(self) -> VectorMeasure:
        """v_NP [m/s]."""
        return VectorMeasure(VELOCITY, self.body, self.position_in_body)

    @property
    def position(self) -> VectorMeasure:
        """p_NoP [m], from the origin of the ground."""
        return VectorMeasure(POSITION, self.body, self.position_in_body)

    def __repr__(self) -> str:
        place = "" if self.position_in_body == (0.0, 0.0, 0.0) else _typed(self.position_in_body)
        return f"{self.body.name}.point({place})"


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body B with frame {Bo; x, y, z}.

    Attributes:
        name: unique in the model.
        index: position in the model's list; 0 is the ground.
        mass: m [kg].
        com: p_BoBcm_B [m].
        inertia: I_BBcm_B, central inertia in body axes [kg m^2], 3 x 3; products of inertia are tensor entries,
            Ixy = -integral of x y dm.
        moments: m p_BoBcm_B [kg m] and the inertia about Bo [kg m^2], 3 x 3, where the body was given by these.
    """

    model: Model
    name: str
    index: int
    mass: Scalar
    com: Triple
    inertia: tuple[Triple, Triple, Triple]
    moments: tuple[Triple, tuple[Triple, Triple, Triple]] | None = None

    def point(self, position: Sequence[Scalar] = (0.0, 0.0, 0.0)) -> Point:
        """The point of this body at p_BoP_B [m]."""
        return Point(self, triple(self.model, position, f"the position of a point of body {self.name!r}"))

    def direction(self, components: Sequence[Scalar]) -> Direction:
        """The vector fixed in this body with the given measure numbers."""
        return Direction(self, triple(self.model, components, f"a direction of body {self.name!r}"))

    def shape(self, shape: Shape, *, at: Sequence[Scalar] | None = None, orientation: Any = None) -> Shape:
        """Say what this body looks like, in pictures and on pages; may be called several times.

            crank.shape(kane.Box(0.3, 0.02, 0.02), at=(0.15, 0, 0))
            wheel.shape(kane.Disk(wheel.point(), wheel.y, 0.3))

        Args:
            shape: a size such as ``kane.Box(...)``, or a shape with a place of its own in this body.
            at, orientation: of a size: where its centre is, p_BS_B [m], and R_BS; the body's frame unless given.

        Returns:
            The shape in its place, which contacts can take.

        Raises:
            ModelError: no shape, one of another body, a second place, or sizes that are not positive.
        """
        if isinstance(shape, type) or not hasattr(shape, "placed"):
            raise ModelError(f"{shown(shape)} is no shape; give one such as kane.Box(0.3, 0.02, 0.02)")
        placed = shape.placed(self, at, orientation)
        self.model.shapes.append(placed)
        return placed

    @property
    def x(self) -> Direction:
        """Unit vector along the first axis of the body frame."""
        return Direction(self, (1.0, 0.0, 0.0))

    @property
    def y(self) -> Direction:
        """Unit vector along the second axis of the body frame."""
        return Direction(self, (0.0, 1.0, 0.0))

    @property
    def z(self) -> Direction:
        """Unit vector along the third axis of the body frame."""
        return Direction(self, (0.0, 0.0, 1.0))

    @property
    def angular_velocity(self) -> VectorMeasure:
        """w_NB [rad/s]."""
        return VectorMeasure(ANGULAR_VELOCITY, self, (0.0, 0.0, 0.0))

    def __repr__(self) -> str:
        return f"Body({self.name!r})"


@dataclass(frozen=True)
class BodyFrame:
    """A named frame fixed in a body: origin p_BoP_B [m] and orientation R_BP."""

    body: Body
    position: Triple
    orientation: Rotation
