"""Stops of a joint: the ends of its travel."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Expr, Scalar
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Row
from kane.model.contacts.intermittent_constraint import Intermittent, IntermittentConstraint
from kane.model.contacts.restitution import Restitution, law_of
from kane.model.requirements import POSITIVE
from kane.model.vector_arguments import at_defaults, coordinate, require_geometric, require_of_parameters


@dataclass(frozen=True)
class Stop(Intermittent):
    """Stops of a joint; see ``Model.stop``.

    Attributes:
        joint: a joint with one coordinate, or one coordinate of a joint.
        lower, upper: ends of the travel [rad or m]; None for no end. At least one is given.
        restitution: law of impacts; a number is the coefficient of Poisson's law.
    """

    joint: Connection | JointCoordinate
    lower: Scalar | None = None
    upper: Scalar | None = None
    restitution: Scalar | Restitution = 0.0

    def __post_init__(self) -> None:
        along = coordinate("a stop", self.joint)
        model, who = along.connection.child.model, f"the stop of {along.name!r}"
        for word in ("lower", "upper"):
            if getattr(self, word) is not None:
                end = require_geometric(model, getattr(self, word), f"the {word} end of {who}")
                object.__setattr__(self, word, end)
        if self.lower is None and self.upper is None:
            raise ModelError(f"{who} has no end; give lower=, upper= or both")
        if self.lower is not None and self.upper is not None:
            low, high = at_defaults(model, self.lower), at_defaults(model, self.upper)
            if low >= high:
                raise ModelError(f"{who} goes from {low:.12g} to {high:.12g}, which leaves no travel; exchange them")
            require_of_parameters(model, f"the travel of {who}", POSITIVE, self.upper - self.lower)
        object.__setattr__(self, "joint", along)

    @property
    def title(self) -> str:
        return f"stop of {self.joint.name}"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        q = coordinate("a stop", self.joint).q
        gaps: dict[str, Expr] = {}
        if self.lower is not None:
            gaps["lower"] = q - self.lower
        if self.upper is not None:
            gaps["upper"] = self.upper - q
        law = law_of(self.restitution)
        return [
            IntermittentConstraint(f"{name}: {end}", gap, Row("normal", configuration=gap), restitution=law)
            for end, gap in gaps.items()
        ]
