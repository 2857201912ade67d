"""Contracts of what rolls and of what is rolled on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.model.body import Point
from kane.model.constraints.constraint import Row

if TYPE_CHECKING:
    from kane.model.constraints.plane import Plane
    from kane.model.constraints.rim import Rim


class Roller(ABC):
    """A round shape fixed in a body, with a centre [m] and a radius [m].

    The rows of a contact are those of its tangential directions, motion constraints, and one called "touch", which has
    a configuration residual: the gap [m].
    """

    centre: Point
    radius: Scalar

    @abstractmethod
    def on_plane(self, plane: Plane) -> Sequence[Row]:
        """The equations of rolling on a plane.

        Raises:
            ModelError: it cannot roll on a plane.
        """

    def on_rim(self, rim: Rim) -> Sequence[Row]:
        """The equations of rolling on the rim of a wheel.

        Raises:
            ModelError: it cannot roll on a rim.
        """
        raise ModelError(f"a {type(self).__name__} does not roll on a {type(rim).__name__}; give a kane.Plane")


class Surface(ABC):
    """A surface fixed in a body, and a point of that body."""

    @property
    @abstractmethod
    def origin(self) -> Point:
        """A point of the body in which the surface is fixed."""

    @abstractmethod
    def under(self, roller: Roller) -> Sequence[Row]:
        """The equations of a roller on this surface.

        Raises:
            ModelError: the roller cannot roll on it.
        """
