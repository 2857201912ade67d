"""Contact of a feature of one body with a surface of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from kane.deferred import dataclass
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import require
from kane.model.body import Body, Point
from kane.model.contacts.friction import Coulomb
from kane.model.contacts.intermittent_constraint import Intermittent, IntermittentConstraint
from kane.model.contacts.pairs import touches
from kane.model.contacts.restitution import Restitution, law_of
from kane.model.shapes import Shape
from kane.model.vector_arguments import require_two_bodies


@dataclass(frozen=True)
class Contact(Intermittent):
    """Contact; see ``Model.contact``.

    Attributes:
        feature: a point or a shape of one body.
        surface: a shape of another body.
        restitution: law of impacts; a number is the coefficient of Poisson's law.
        friction: law of friction; None for a frictionless contact.
    """

    feature: Point | Shape
    surface: Shape
    restitution: Scalar | Restitution = 0.0
    friction: Coulomb | None = None

    def __post_init__(self) -> None:
        touches(self.feature, self.surface)  # raises if there is no rule for the pair
        require_two_bodies("a contact", self._body, self.surface.origin.body)
        if self.friction is not None:
            require(self.friction, Coulomb, "the friction of a contact is a kane.Coulomb(static=.5, kinetic=.4)")

    @property
    def _body(self) -> Body:
        return self.feature.body if isinstance(self.feature, Point) else self.feature.origin.body

    @property
    def title(self) -> str:
        return f"contact of {self._body.name} with {self.surface.origin.body.name}"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        made, law = [], law_of(self.restitution)
        for touch in touches(self.feature, self.surface):
            normal, tangents = touch.rows(tangents=self.friction is not None)
            title = f"{name}: {touch.name}" if touch.name else name
            made.append(
                IntermittentConstraint(
                    title,
                    normal.configuration,
                    normal,
                    tangents,
                    self.friction,
                    law,
                    off=cast("Expr | None", touch.beyond),
                    surfaces=self._surfaces,
                )
            )
        return made

    @property
    def _surfaces(self) -> tuple[Shape, ...]:
        return (self.surface,) if isinstance(self.feature, Point) else (self.feature, self.surface)
