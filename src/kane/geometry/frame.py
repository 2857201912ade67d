"""Frames of reference, and their known orientations in each other."""

from __future__ import annotations

from typing import final

from kane.errors import FrameError
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Number, triple
from kane.geometry.vector import Vector


@final
class Frame:
    """Right-handed set of axes. Frames that are oriented in each other form a tree.

    Attributes:
        name: name in messages; frames with the same name are different frames.
        parent: frame in which this frame was oriented, or None.
        rotation: R_PF, orientation of this frame in its parent, v_P = R_PF @ v_F.
    """

    __slots__ = ("name", "parent", "rotation")

    def __init__(self, name: str, parent: Frame | None = None, rotation: Rotation | None = None) -> None:
        """Make the root of a new tree, or a frame with the orientation ``rotation`` (R_PF) in ``parent``.

        Raises:
            FrameError: there is a rotation but no parent.
        """
        if parent is None and rotation is not None:
            raise FrameError(f"the frame {name} has a rotation but no parent; give the frame in which it is oriented")
        self.name = name
        self.parent = parent
        self.rotation = Rotation.identity() if rotation is None else rotation

    def orient(self, name: str, rotation: Rotation) -> Frame:
        """Return a new frame F with the orientation ``rotation`` = R_AF in this frame A."""
        return Frame(name, self, rotation)

    @property
    def x(self) -> Vector:
        """First unit vector."""
        return Vector(self, (1.0, 0.0, 0.0))

    @property
    def y(self) -> Vector:
        """Second unit vector."""
        return Vector(self, (0.0, 1.0, 0.0))

    @property
    def z(self) -> Vector:
        """Third unit vector."""
        return Vector(self, (0.0, 0.0, 1.0))

    def vector(self, x: Number, y: Number, z: Number) -> Vector:
        """Return the vector with these components along the axes of this frame.

        Raises:
            ModelError: a component is neither a finite number nor an expression.
        """
        return Vector(self, triple((x, y, z), f"the vector in {self.name}"))

    def is_connected_to(self, other: Frame) -> bool:
        """Check whether the orientation of the other frame in this frame is known."""
        return self._ancestors()[-1] is other._ancestors()[-1]

    def orientation_of(self, other: Frame) -> Rotation:
        """Return R_AB, the orientation of the other frame B in this frame A: v_A = R_AB @ v_B.

        Raises:
            FrameError: no chain of rotations connects the two frames.
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
        """Return this frame, its parent and so on up to the root."""
        chain = [self]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        return chain

    def __repr__(self) -> str:
        return f"Frame({self.name})"


def _down(chain: list[Frame]) -> Rotation:
    """Return the orientation of the first frame of a chain of ancestors in the last frame."""
    rotation = Rotation.identity()
    for frame in reversed(chain[:-1]):
        rotation = rotation @ frame.rotation
    return rotation
