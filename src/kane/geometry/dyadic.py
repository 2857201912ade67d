"""Dyadics: linear maps of vectors, such as inertia."""

from __future__ import annotations

from typing import Any, final

from kane.deferred import dataclass
from kane.errors import FrameError, shown
from kane.geometry.frame import Frame
from kane.geometry.inertia import inertia_matrix, shift_from_mass_centre, six
from kane.geometry.inertia import of_six as symmetric
from kane.geometry.scalars import Number, NumberMatrix, dot, folded, scalar, square
from kane.geometry.vector import Vector


@final
@dataclass(frozen=True, slots=True)
class Dyadic:
    """Linear map of vectors, given by its matrix along the axes of a frame. Immutable.

    Operations express the other operand (a dyadic or a vector) in the frame of this dyadic.

    Attributes:
        frame: frame whose axes the matrix refers to.
        entries: matrix, 3x3, numbers or expressions.
    """

    frame: Frame
    entries: NumberMatrix

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(map(folded, self.entries)))

    @classmethod
    def of(cls, frame: Frame, rows: Any) -> Dyadic:
        """Return the dyadic with the matrix ``rows`` (3x3) along the axes of ``frame``.

        Raises:
            ModelError: the shape is not 3x3, or an entry is neither a finite number nor an expression.
        """
        return cls(frame, square(rows, f"the dyadic in {frame.name}"))

    @classmethod
    def identity(cls, frame: Frame) -> Dyadic:
        """Return the unit dyadic, which maps every vector to itself."""
        return cls(frame, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))

    @classmethod
    def outer(cls, a: Vector, b: Vector) -> Dyadic:
        """Return the dyadic a b, which maps v to a (b . v), in the frame of a."""
        theirs = b.express(a.frame).components
        return cls(a.frame, tuple(tuple(x * y for y in theirs) for x in a.components))

    @classmethod
    def inertia(cls, frame: Frame, about_mass_centre: Any, mass: Number = 0.0, offset: Vector | None = None) -> Dyadic:
        """Return the inertia I_BP of a body B about a point P from the inertia about its mass centre.

        Args:
            frame: frame of the given inertia and of the result.
            about_mass_centre: 3 principal moments, 6 numbers (xx, yy, zz, xy, xz, yz) or a 3x3 matrix [kg m^2].
            mass: mass of the body [kg], needed with an offset.
            offset: position of P from the mass centre [m]; None if P is the mass centre.

        Raises:
            ModelError: the inertia is malformed.
            FrameError: the frame of the offset is not connected with ``frame``.
        """
        central = inertia_matrix(about_mass_centre, f"the inertia in {frame.name}")
        if offset is None:
            return cls(frame, central)
        return cls(frame, shift_from_mass_centre(central, mass, offset.express(frame).components))

    def express(self, frame: Frame) -> Dyadic:
        """Return the same dyadic with its entries along the axes of another frame, R D R^T.

        Raises:
            FrameError: the orientation of one frame in the other is not known.
        """
        if frame is self.frame:
            return self
        rotation = frame.orientation_of(self.frame)
        if self._is_symmetric():
            return Dyadic(frame, symmetric(rotation.rotate_symmetric(six(self.entries))))
        rows = [rotation.apply(row) for row in self.entries]
        columns = [rotation.apply(column) for column in zip(*rows, strict=True)]
        return Dyadic(frame, tuple(zip(*columns, strict=True)))

    def _is_symmetric(self) -> bool:
        pairs = ((self.entries[i][j], self.entries[j][i]) for i, j in ((0, 1), (0, 2), (1, 2)))
        return all(a is b or a == b for a, b in pairs)

    def dot(self, vector: Vector) -> Vector:
        """Return D . v in the frame of the dyadic; inertia and angular velocity give the angular momentum.

        Raises:
            FrameError: the frames are not connected, or the argument is not a vector.
        """
        if not isinstance(vector, Vector):
            raise FrameError(f"a dyadic maps vectors; {shown(vector)} is not a vector")
        components = vector.express(self.frame).components
        return Vector(self.frame, tuple(dot(row, components) for row in self.entries))

    def transpose(self) -> Dyadic:
        """Return D^T, with a . D . b = b . D^T . a."""
        return Dyadic(self.frame, tuple(zip(*self.entries, strict=True)))

    def __add__(self, other: Dyadic) -> Dyadic:
        if not isinstance(other, Dyadic):
            raise FrameError(f"the sum of a dyadic and {shown(other)} has no meaning: both must be dyadics")
        pairs = zip(self.entries, other.express(self.frame).entries, strict=True)
        return Dyadic(self.frame, tuple(tuple(a + b for a, b in zip(p, q, strict=True)) for p, q in pairs))

    def __sub__(self, other: Dyadic) -> Dyadic:
        return self + other * -1.0

    def __mul__(self, factor: Number) -> Dyadic:
        known = scalar(factor, "the factor of a dyadic")
        return Dyadic(self.frame, tuple(tuple(a * known for a in row) for row in self.entries))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"Dyadic.of({self.frame.name}, {self.entries!r})"
