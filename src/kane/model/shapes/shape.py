"""The contract of a shape."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kane.model.body import Point


class Shape(ABC):
    """A surface fixed in a body.

    A shape says where its surface is and checks what it is given. What happens between two shapes stands with what
    makes it happen: the equations of rolling in ``constraints/rolling``, a file for each pair.
    """

    @property
    @abstractmethod
    def origin(self) -> Point:
        """The point of the body from which the surface is measured: a centre, or a point of a plane."""
