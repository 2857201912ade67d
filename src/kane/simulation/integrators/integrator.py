"""The contract that every integrator fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from kane.simulation.march import March, Status


class Integrator(ABC):
    """A method for x' = f(t, x), x = [q, u].

    Whatever a method does between two recorded states is its own affair inside ``advance``: steps of its own choice,
    rows of the record filled from its interpolant, a stop at an event, unit quaternions (``state.normalise``).
    The march holds all that survives from one call to the next, so that a run cut into chunks is the whole run.

    Class attributes:
        order: the global error falls as the step to this power.
        fixed: whether the steps have the length dt that the user gives.
    """

    order: ClassVar[int]
    fixed: ClassVar[bool]

    @property
    def name(self) -> str:
        """The word that trajectories are labelled with."""
        return type(self).__name__

    @property
    def settings(self) -> dict[str, float]:
        """Numbers that trajectories are labelled with."""
        return {}

    @abstractmethod
    def advance(self, march: March, steps: int) -> Status:
        """Take up to ``steps`` steps: move the march's x and clock, fill the rows and events passed.

        Returns:
            NOT_FINITE where the next step does not end in a finite state, STUCK where it would have to be shorter than
            times are told apart; x is then the last state that was reached.
        """
