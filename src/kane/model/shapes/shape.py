"""Abstract class of all shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from kane.errors import ModelError
from kane.model.body import Body, Point
from kane.model.shapes.part import Part


class Shape(ABC):
    """Surface fixed in a body.

    A shape describes its surface and checks its arguments. Laws for pairs of shapes are elsewhere: rolling in
    ``constraints/rolling``, contact in ``contacts/pairs``.
    """

    @property
    @abstractmethod
    def origin(self) -> Point:
        """Point of the body from which the surface is measured: a centre, or a point of a plane."""

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Return the parts of which its appearance is composed."""

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """Return this shape with a place in a body; for ``Body.shape``.

        Args:
            body: the body.
            at, orientation: place of a shape without one; None if not given.

        Raises:
            ModelError: the shape has a place in another body, or has a place and a second one is given.
        """
        kind = type(self).__name__
        if self.origin.body is not body:
            raise ModelError(
                f"this {kind} is in body {self.origin.body.name!r}, not in {body.name!r}; call shape() of its own body"
            )
        if at is not None or orientation is not None:
            raise ModelError(f"this {kind} has a place of its own; leave at= and orientation= out")
        return self
