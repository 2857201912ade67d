"""The contract that every integrator fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from kane.simulation.march import March, Vector

Slope = Callable[[float, Vector], Vector]


class Integrator(ABC):
    """A method for x' = f(t, x), x = [q, u].

    ``step`` is the definition of the method and serves where f needs Python; ``advance`` is the same method as a native
    loop. Whatever else a method does between two recorded states is its own affair inside ``advance``: steps of its own
    choice, each row of the march filled from its dense output; a stop at an event; projection onto constraints, as
    ``native_march.normalise`` does for unit quaternions. The march holds all that survives from one call to the next.

    Class attributes:
        order: the global error falls as dt**order.
    """

    order: ClassVar[int]

    @property
    def name(self) -> str:
        """The word that trajectories are labelled with."""
        return type(self).__name__

    @abstractmethod
    def step(self, slope: Slope, t: float, x: Vector, h: float) -> Vector:
        """The state a step of h seconds after the state x of time t, quaternions not yet normalised.

        Args:
            slope: f.
            t: time [s].
            x: state, (nx,); left as it is.
            h: length of the step [s], negative when time runs backwards.
        """

    @abstractmethod
    def advance(self, march: March, steps: int) -> bool:
        """Take up to ``steps`` steps of the march's grid natively: move x and done, fill the rows passed.

        Returns:
            False where the next step does not end in a finite state; x is then the last finite one.
        """
