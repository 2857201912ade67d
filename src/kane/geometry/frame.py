"""Frames of reference, and what is known of the orientation of one in another."""

from __future__ import annotations

from typing import final

from kane.errors import FrameError
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Number, triple
from kane.geometry.vector import Vector


@final
class Frame:
    """A right-handed set of axes. Frames made from one another by rotations form a tree.

    Attributes:
        name: for messages; two frames of one name are still two frames.
        parent: the frame it was oriented in, or None.
        rotation: R_PF, its orientation in the parent, v_P = R_PF @ v_F.
    """

    __slots__ = ("name", "parent", "rotation")

    def __init__(self, name: str, parent: Frame | None = None, rotation: Rotation | None = None) -> None:
        """A frame of its own, or with the orientation ``rotation`` (R_PF) in ``parent``.

        Raises:
            FrameError: a rotation is given without a parent.
        """
        if parent is None and rotation is not None:
            raise FrameError(f"the frame {name} is given a rotation but no parent; say in which frame it is turned")
        self.name = name
        self.parent = parent
        self.rotation = Rotation.identity() if rotation is None else rotation

    def orient(self, name: str, rotation: Rotation) -> Frame:
        """A new frame F turned in this frame A, rotation = R_AF."""
        return Frame(name, self, rotation)

    @property
    def x(self) -> Vector:
        """The first unit vector."""
        return Vector(self, (1.0, 0.0, 0.0))

    @property
    def y(self) -> Vector:
        """The second unit vector."""
        return Vector(self, (0.0, 1.0, 0.0))

    @property
    def z(self) -> Vector:
        """The third unit vector."""
        return Vector(self, (0.0, 0.0, 1.0))

    def vector(self, x: Number, y: Number, z: Number) -> Vector:
        """The vector with these components along the axes of this frame.

        Raises:
            ModelError: a component is neither a finite number nor an expression.
        """
        return Vector(self, triple((x, y, z), f"the vector in {self.name}"))

    def is_connected_to(self, other: Frame) -> bool:
        """Whether the orientation of the other frame in this one is known."""
        return self._ancestors()[-1] is other._ancestors()[-1]

    def orientation_of(self, other: Frame) -> Rotation:
        """R_AB, the orientation of the other frame B in this frame A: v_A = R_AB @ v_B.

        Raises:
            FrameError: no chain of rotations connects the two.
        """
        if other is self:
            return Rotation.identity()
        ours, theirs = self._ancestors(), other._ancestors()
        if ours[-1] is not theirs[-1]:
            raise FrameError(
                f"the frames {self.name} and {other.name} are not connected by known rotations; express both in one "
                f"frame, or make one from the other with {self.name}.orient({other.name!r}, rotation)"
            )
        while len(ours) > 1 and len(theirs) > 1 and ours[-2] is theirs[-2]:
            ours.pop()
            theirs.pop()
        return _down(ours).inverse() @ _down(theirs)

    def _ancestors(self) -> list[Frame]:
        """This frame, its parent and so on up to the root."""
        chain = [self]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        return chain

    def __repr__(self) -> str:
        return f"Frame({self.name})"


def _down(chain: list[Frame]) -> Rotation:
    """The orientation of the first frame of a chain of ancestors in the last."""
    rotation = Rotation.identity()
    for frame in reversed(chain[:-1]):
        rotation = rotation @ frame.rotation
    return rotation
