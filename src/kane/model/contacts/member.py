"""The contract of what comes and goes: contacts, stops, latches, sticking joints, switches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kane.model.contacts.candidate import Candidate


class Intermittent(ABC):
    """A restriction of the motion that is in force at times only."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is called unless the user says otherwise: "contact of crate with ground"."""

    @abstractmethod
    def candidates(self, name: str) -> Sequence[Candidate]:
        """What may be imposed, each by a name of its own, made of this one: "crate: +-+".

        Raises:
            ModelError: what is restricted cannot be.
        """
