"""The contract of a shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError
from kane.model.body import Body, Point
from kane.model.shapes.part import Part


class Shape(ABC):
    """A surface fixed in a body.

    A shape says where its surface is and checks what it is given. What happens between two shapes stands with what
    makes it happen: the equations of rolling in ``constraints/rolling``, a file for each pair.
    """

    @property
    @abstractmethod
    def origin(self) -> Point:
        """The point of the body from which the surface is measured: a centre, or a point of a plane."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """What it looks like: forms of unit size, stretched, turned and put into the body."""

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """This shape in its place in a body; for ``Body.shape``.

        Args:
            at, orientation: of what has no place of its own; None where nothing was given.

        Raises:
            ModelError: it has a place, and that is in another body, or another is given.
        """
        kind = type(self).__name__
        if self.origin.body is not body:
            raise ModelError(
                f"this {kind} is in body {self.origin.body.name!r}, not in {body.name!r}; call its shape()"
            )
        if at is not None or orientation is not None:
            raise ModelError(f"this {kind} has a place of its own; leave at= and orientation= out")
        return self
