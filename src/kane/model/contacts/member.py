"""Abstract class of all intermittent constraints: contacts, stops, latches, sticking joints, switches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kane.model.contacts.intermittent_constraint import IntermittentConstraint


class Intermittent(ABC):
    """Restriction of the motion that is active only at times."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Default name: "contact of crate with ground"."""

    @abstractmethod
    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        """Return the intermittent constraints; their names are made from this name: "crate: +-+".

        Raises:
            ModelError: the arguments cannot be constrained in this way.
        """
