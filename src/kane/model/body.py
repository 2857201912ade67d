"""Bodies of a mechanism, points and directions fixed in them, and the measures that users write with them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from kane.errors import ModelError, shown, user_frame
from kane.expression.arena import Arena
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import require
from kane.expression.operations import MEASURE
from kane.expression.text import number_text
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple
from kane.model.checks import has_symbolic, is_symbolic, near, require_fixed
from kane.model.requirements import Requirement

if TYPE_CHECKING:
    from kane.model.connection import Connection
    from kane.model.shapes.shape import Shape

Declared = TypeVar("Declared")

POSITION, VELOCITY, ANGULAR_VELOCITY, DIRECTION = "position", "velocity", "angular velocity", "direction"
ACCELERATION_KINDS = ("acceleration", "angular acceleration")
VECTOR_KINDS = (POSITION, VELOCITY, ANGULAR_VELOCITY, DIRECTION, *ACCELERATION_KINDS)
CONFIGURATION_KINDS = (POSITION, DIRECTION)

AXIS_LETTER_OF: dict[Triple, str] = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


def triple_of_model(model: Mechanism, values: Sequence[Scalar], what: str) -> Triple:
    """Return three numbers or expressions of ``model`` as a tuple; errors name the argument by ``what``."""
    if isinstance(values, Direction):
        raise ModelError(
            f"give {what} as three measure numbers, not as {values!r}: {_typed(values.components)}, in the "
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
    """Return three numbers or expressions as the user types them."""
    return f"({', '.join(number_text(x) if isinstance(x, float) else repr(x) for x in values)})"


@dataclass(frozen=True)
class Measure:
    """Scalar measure: a vector quantity of a body or a point, dotted with a direction.

    Attributes:
        kind: POSITION, VELOCITY or acceleration of the point, or ANGULAR_VELOCITY or angular acceleration of the body,
            all in the inertial frame N; or DIRECTION fixed in the body.
        body: index of the body B.
        point: p_BoP_B [m]; zero for ANGULAR_VELOCITY; the measure numbers in B for DIRECTION.
        direction_body: index of the body in which the direction is fixed (0 is the ground).
        direction: measure numbers of the direction in the frame of that body.
        typed: the measure as the user types it, for messages.
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
    """Vector fixed in a body.

    Attributes:
        body: the body B.
        components: measure numbers in the frame of B.
    """

    body: Body
    components: Triple

    def dot(self, other: Direction) -> Expr:
        """Return the scalar product with a direction of another body; for unit vectors the cosine of their angle."""
        return VectorMeasure(DIRECTION, self.body, self.components).dot(other)

    def __neg__(self) -> Direction:
        """Return the opposite direction."""
        x, y, z = (0.0 - c for c in self.components)
        return Direction(self.body, (x, y, z))

    def __mul__(self, other: object) -> NoReturn:
        """Raise ModelError, because a direction cannot be scaled.

        Raises:
            ModelError: always; the message shows how to write a scaled vector.
        """
        raise ModelError(
            f"{self!r} times {shown(other)} is not a direction; write {self.body.name}.direction((x, y, z)), and give "
            f"a force or a torque as three measure numbers: (x, y, z), expressed_in={self.body.name}"
        )

    __rmul__ = __mul__

    def __repr__(self) -> str:
        axis = AXIS_LETTER_OF.get(self.components)
        return f"{self.body.name}.{axis}" if axis else f"{self.body.name}.direction({_typed(self.components)})"


@dataclass(frozen=True)
class VectorMeasure:
    """Vector quantity of a body or a point; its dot product with a direction is a scalar measure.

    Attributes:
        kind: one of VECTOR_KINDS.
        body: the body B.
        point: p_BoP_B [m]; zero for ANGULAR_VELOCITY; the measure numbers in B for DIRECTION.
    """

    kind: str
    body: Body
    point: Triple

    def dot(self, direction: Direction) -> Expr:
        """Return the measure number along ``direction``, for use in loads, constraints and definitions of speeds.

        The result is a leaf; ``formulate`` replaces it by an expression in q, u and t.

        Raises:
            ModelError: not a direction, or a direction of another model.
        """
        require(direction, Direction, "dot() takes a direction such as body.x")
        if direction.body.model is not self.body.model:
            raise ModelError(f"body {direction.body.name!r} belongs to another model than body {self.body.name!r}")
        typed = f"{self!r}.dot({direction!r})"
        described = Measure(self.kind, self.body.index, self.point, direction.body.index, direction.components, typed)
        return self.body.model.arena.leaf(MEASURE, described)

    def __sub__(self, other: VectorMeasure) -> VectorDifference:
        """Return the difference of two vectors of the same kind, for example ``P.velocity - Q.velocity``.

        Raises:
            ModelError: the other object is not a vector of the same kind.
        """
        if not isinstance(other, VectorMeasure) or other.kind != self.kind:
            kind = f", a {other.kind}" if isinstance(other, VectorMeasure) else ""
            raise ModelError(f"{self!r} is a {self.kind}; subtract a vector of the same kind, not {shown(other)}{kind}")
        return VectorDifference(self, other)

    def __repr__(self) -> str:
        if self.kind == DIRECTION:
            return repr(Direction(self.body, self.point))
        if self.kind.startswith("angular"):
            return f"{self.body.name}.{self.kind.replace(' ', '_')}"
        return f"{Point(self.body, self.point)!r}.{self.kind}"


@dataclass(frozen=True)
class VectorDifference:
    """Difference ``of - less`` of two vectors of one kind; its dot product with a direction is a scalar measure."""

    of: VectorMeasure
    less: VectorMeasure

    def dot(self, direction: Direction) -> Expr:
        """Return the difference of the measure numbers along ``direction``."""
        return self.of.dot(direction) - self.less.dot(direction)

    def __repr__(self) -> str:
        return f"({self.of!r} - {self.less!r})"


@dataclass(frozen=True)
class Point:
    """Point P fixed in a body B.

    Attributes:
        body: the body B.
        position_in_body: p_BoP_B [m].
    """

    body: Body
    position_in_body: Triple

    @property
    def velocity(self) -> VectorMeasure:
        """Velocity of the point in the inertial frame, v_NP [m/s]."""
        return VectorMeasure(VELOCITY, self.body, self.position_in_body)

    @property
    def acceleration(self) -> VectorMeasure:
        """Acceleration of the point in the inertial frame, a_NP [m/s^2]; for outputs and events."""
        return VectorMeasure(ACCELERATION_KINDS[0], self.body, self.position_in_body)

    @property
    def position(self) -> VectorMeasure:
        """Position of the point from the origin of the ground, p_NoP [m]."""
        return VectorMeasure(POSITION, self.body, self.position_in_body)

    def __repr__(self) -> str:
        place = "" if self.position_in_body == (0.0, 0.0, 0.0) else _typed(self.position_in_body)
        return f"{self.body.name}.point({place})"


@dataclass(frozen=True, eq=False)
class Body:
    """Rigid body B with frame {Bo; x, y, z}.

    Attributes:
        name: unique in the model.
        index: position in ``Model.bodies``; 0 is the ground.
        mass: m [kg].
        com: p_BoBcm_B [m].
        inertia: I_BBcm_B, central inertia in body axes [kg m^2], 3 x 3. Products of inertia are tensor entries:
            Ixy = -integral of x y dm.
        moments: first moment m p_BoBcm_B [kg m] and inertia about Bo [kg m^2], 3 x 3, if the body was declared with
            these; otherwise None.
    """

    model: Mechanism
    name: str
    index: int
    mass: Scalar
    com: Triple
    inertia: tuple[Triple, Triple, Triple]
    moments: tuple[Triple, tuple[Triple, Triple, Triple]] | None = None

    def point(self, position: Sequence[Scalar] = (0.0, 0.0, 0.0)) -> Point:
        """Return the point P of this body at p_BoP_B [m]."""
        return Point(self, triple_of_model(self.model, position, f"the position of a point of body {self.name!r}"))

    def direction(self, components: Sequence[Scalar]) -> Direction:
        """Return the vector fixed in this body with the given measure numbers in its frame."""
        return Direction(self, triple_of_model(self.model, components, f"a direction of body {self.name!r}"))

    def shape(self, shape: Shape, *, at: Sequence[Scalar] | None = None, orientation: Any = None) -> Shape:
        """Add a shape to this body, for pictures, web pages and contacts; may be called several times.

            crank.shape(kane.Box(0.3, 0.02, 0.02), at=(0.15, 0, 0))
            wheel.shape(kane.Disk(wheel.point(), wheel.y, 0.3))

        Args:
            shape: a shape given by its size, such as ``kane.Box(...)``, or a shape that already has a place in this
                body.
            at: position p_BS_B of the centre of a shape given by its size [m]; the origin Bo by default.
            orientation: R_BS of a shape given by its size; the body frame by default.

        Returns:
            The placed shape, which contacts accept.

        Raises:
            ModelError: not a shape, a shape of another body, a second place, or sizes that are not positive.
        """
        if isinstance(shape, type) or not hasattr(shape, "placed"):
            raise ModelError(f"{shown(shape)} is not a shape; give one such as kane.Box(0.3, 0.02, 0.02)")
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
        """Angular velocity of the body in the inertial frame, w_NB [rad/s]."""
        return VectorMeasure(ANGULAR_VELOCITY, self, (0.0, 0.0, 0.0))

    @property
    def angular_acceleration(self) -> VectorMeasure:
        """Angular acceleration of the body in the inertial frame, alpha_NB [rad/s^2]; for outputs and events."""
        return VectorMeasure(ACCELERATION_KINDS[1], self, (0.0, 0.0, 0.0))

    def __repr__(self) -> str:
        return f"Body({self.name!r})"


@dataclass(frozen=True)
class BodyFrame:
    """Named frame fixed in a body B: origin p_BoP_B [m] and orientation R_BP."""

    body: Body
    position: Triple
    orientation: Rotation


class Mechanism:
    """Base class of ``Model`` for the attributes that its bodies and their laws read: bodies, joints, parameters.

    Attributes:
        name: of the model.
        arena: arena of all expressions of the model.
        parameters, inputs: name to default value.
        bodies, connections: all declared ones, in order; ``bodies[0]`` is the ground.
        shapes: shapes of the bodies.
        requirements: conditions on expressions of parameters.
    """

    name: str
    arena: Arena
    parameters: dict[str, float]
    inputs: dict[str, float]
    bodies: list[Body]
    connections: list[Connection]
    shapes: list[Shape]
    requirements: list[Requirement]
    _lines: dict[tuple[str, str | int], tuple[str, int]]

    def note_line(self, kind: str, name: str | int) -> None:
        """Store the line of the user's code that makes a declaration; loads are counted, others have names."""
        frame, _ = user_frame()
        self._lines[kind, name] = frame.f_code.co_filename, frame.f_lineno

    def line_of(self, kind: str, name: str | int) -> str:
        """Return the line of a declaration as "arm.py:12"; empty for declarations of a file that was loaded."""
        path, line = self._lines.get((kind, name), ("", 0))
        return f"{os.path.basename(path)}:{line}" if path else ""

    @property
    def ground(self) -> Body:
        """The body fixed in the inertial frame N."""
        return self.bodies[0]

    @property
    def gravity(self) -> Triple:
        """Acceleration of free fall in N [m/s^2]; may be set to numbers or expressions of parameters."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Sequence[Scalar]) -> None:
        gravity = triple_of_model(self, value, "gravity")
        require_fixed(gravity, "gravity")
        self._gravity = gravity

    def scalar(self, value: Any, what: str) -> Scalar:
        """Return ``value`` as a finite float or an expression of this model; errors name the argument by ``what``."""
        if is_symbolic(value):
            from kane.model.symbols.model_symbols import read_symbolic

            value = read_symbolic(cast(Any, self), value, what)
        if isinstance(value, Expr):
            if value.arena is not self.arena:
                raise ModelError(
                    f"{what} uses the expression {shown(value)} of another model; build everything with one model"
                )
            return float(value) if value.is_constant else value
        if not isinstance(value, Real) or isinstance(value, bool):
            raise ModelError(f"{what} must be a number or an expression of this model, not {shown(value)}")
        try:
            number = float(value)
        except (OverflowError, ValueError, TypeError):  # for example an integer too large for a double
            number = math.inf
        if not math.isfinite(number):
            raise ModelError(f"{what} is {shown(number)}; give a finite number")
        return number

    def read(self, declared: Declared) -> Declared:
        """Return a load, constraint or joint with expressions of this model instead of SymPy expressions."""
        if not has_symbolic(declared):
            return declared
        from kane.model.symbols.model_symbols import with_expressions

        return with_expressions(cast(Any, self), declared)


def own_body(model: Mechanism, given: Any) -> Body:
    """Return the body of the model that is given as a Body or by its name."""
    if isinstance(given, str):
        found = next((body for body in model.bodies if body.name == given), None)
        if found is None:
            raise ModelError(f"there is no body {given!r}; {near(given, [body.name for body in model.bodies])}")
        return found
    if not isinstance(given, Body):
        raise ModelError(f"{shown(given)} is not a body of model {model.name!r}; give one from its Model.body")
    if given.model is not model:
        raise ModelError(f"body {given.name!r} belongs to model {given.model.name!r}; build everything with one model")
    return given
