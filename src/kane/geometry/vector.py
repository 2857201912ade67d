"""Vectors: three components along the axes of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from kane.deferred import dataclass
from kane.errors import FrameError, shown
from kane.expression.functions import sqrt
from kane.expression.node import Expr
from kane.geometry.scalars import Number, Triple, add_vectors, cross, dot, folded, negate, scalar

if TYPE_CHECKING:
    from kane.geometry.frame import Frame


@final
@dataclass(frozen=True, slots=True)
class Vector:
    """Vector in space. Immutable; made by ``frame.vector(x, y, z)`` and ``frame.x``.

    An operation on two vectors expresses the second in the frame of the first, by the known rotations between the
    frames. Vectors are equal if they have the same components in the same frame.

    Attributes:
        frame: frame whose axes the components refer to.
        components: three numbers or expressions.
    """

    frame: Frame
    components: Triple

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", folded(self.components))

    def express(self, frame: Frame) -> Vector:
        """Return the same vector with its components along the axes of another frame.

        Raises:
            FrameError: the orientation of one frame in the other is not known.
        """
        if frame is self.frame:
            return self
        return Vector(frame, frame.orientation_of(self.frame).apply(self.components))

    def dot(self, other: Vector) -> Number:
        """Return the scalar product.

        Raises:
            FrameError: the frames are not connected.
        """
        return scalar(dot(self.components, self._same(other, "the scalar product")), "the scalar product")

    def cross(self, other: Vector) -> Vector:
        """Return the vector product, in the frame of this vector.

        Raises:
            FrameError: the frames are not connected.
        """
        return Vector(self.frame, cross(self.components, self._same(other, "the vector product")))

    def magnitude(self) -> Number:
        """Return the length."""
        return scalar(sqrt(dot(self.components, self.components)), "the magnitude")

    def _same(self, other: Any, what: str) -> Triple:
        if not isinstance(other, Vector):
            raise FrameError(f"{what} of {shown(self)} and {shown(other)} has no meaning: both must be vectors")
        return other.express(self.frame).components

    def __add__(self, other: Any) -> Vector:
        if other.__class__ is not Expr and other == 0:  # sum(vectors) starts with 0
            return self
        theirs = self._same(other, "the sum")
        return Vector(self.frame, add_vectors(self.components, theirs))

    __radd__ = __add__

    def __sub__(self, other: Vector) -> Vector:
        return self + (-other)

    def __neg__(self) -> Vector:
        return Vector(self.frame, tuple(negate(a) for a in self.components))

    def __mul__(self, factor: Number) -> Vector:
        if isinstance(factor, Vector):
            raise FrameError(f"{shown(self)} * {shown(factor)} is ambiguous; say a.dot(b) or a.cross(b)")
        known = scalar(factor, "the factor of a vector")
        return Vector(self.frame, tuple(a * known for a in self.components))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Vector:
        known = scalar(divisor, "the divisor of a vector")
        return Vector(self.frame, tuple(a / known for a in self.components))

    def __repr__(self) -> str:
        x, y, z = self.components
        return f"{self.frame.name}.vector({x!r}, {y!r}, {z!r})"
