"""The contract of what changes the equations in the middle of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.native.arrays import Vector

Rows = NDArray[np.float64]

if TYPE_CHECKING:
    from kane.simulation.march import March
    from kane.simulation.problem import Problem
    from kane.simulation.recorded.record import Record


class Switching:
    """What a run in several modes asks Python for. This one serves where there is one mode for all states.

    Where a mode ends and what follows it are programs of the ``Problem`` that stands for it, ``guards`` and ``change``
    (``native/modes.py``); here is what they leave to Python.

    Attributes:
        attributes: what the trajectory says of it.
    """

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {}

    def problem(self, key: int) -> Problem:
        """The problem of the mode with this key, which a run is about to enter for the first time."""
        raise KeyError(key)

    def start(self, problem: Problem, t: float, q: Any, u: Any) -> tuple[Problem, Vector]:
        """The mode in which a run begins, and the state x = [q, u] from what the user gave.

        Raises:
            ModelError: as of ``Problem.initial_state``.
        """
        return problem, problem.initial_state(t, q, u)

    def declared(self, march: March, states: Rows, found: Rows) -> tuple[Rows, Rows, Vector]:
        """Records and events of a march, [t, q, u] each, and its state, in the coordinates that the user declared."""
        return states, found, march.x

    def told(self, march: March, record: Record) -> Record:
        """The record of a march with what happened to the modes, in the coordinates that the user declared."""
        return record


ONE_MODE = Switching()
