"""The contract of what changes the equations in the middle of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.native.arrays import Course, StateEquation, Vector
from kane.simulation.run import Outcome
from kane.simulation.settling import settle_once

Rows = NDArray[np.float64]

if TYPE_CHECKING:
    from kane.simulation.asked.events import Occurrence
    from kane.simulation.march import March, Status
    from kane.simulation.problem import Problem
    from kane.simulation.recorded.record import Record


class Switching:
    """What a run in several modes asks Python for. This one serves where there is one mode for all states.

    Where a mode ends and what follows it are programs of the ``Problem`` that stands for it, ``guards`` and ``change``
    (``native/modes.py``); here is what they leave to Python.

    Attributes:
        attributes: what the trajectory says of it.
        shares_stage: the programs that read and write the stage of SETTLE, besides it.
        slopes_with_guards: whether what gives the guards gives x' behind them.
    """

    shares_stage: Collection[int] = ()
    slopes_with_guards = False

    @property
    def candidates(self) -> Sequence[str]:
        """Names of the constraints that come and go; their statuses end each row of the changes of a march."""
        return ()

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {}

    def problem(self, key: int) -> Problem:
        """The problem of the mode with this key, which a run is about to enter for the first time."""
        raise KeyError(key)

    def admit(self, march: March, key: int) -> None:
        """Give a march the row of the mode with this key, which it is about to enter and has none of."""
        self.problem(key).join(march)

    def start(self, problem: Problem, t: float, q: Any, u: Any) -> tuple[Problem, Vector]:
        """The mode in which a run begins, and the state x = [q, u] from what the user gave.

        Raises:
            ModelError: as of ``Problem.initial_state``.
        """
        return problem, problem.initial_state(t, q, u)

    def settled(self, problem: Problem, system: StateEquation, state: Vector) -> Vector:
        """The state x = [q, u] with which a run begins, from [t, q, u]: on the permanent constraints."""
        assert problem.settle is not None
        return settle_once(problem.settle, system, state)

    def take_over(self, march: March, before: March) -> None:
        """Begin a march in the mode in which another one stands, whose equations had other candidates."""

    def check(self, problem: Problem, course: Course, x: Vector) -> None:
        """Refuse a course from a state x = [q, u] that cannot be run in these modes.

        Raises:
            ModelError: it is one.
        """

    def doubted(self, t: float, x: Rows, parameters: Rows) -> NDArray[np.bool_]:
        """Which of many states x = [q, u], (states, nx), ``check`` would refuse as starts at time t, (states,).

        Args:
            t: time [s].
            x: states.
            parameters: of each, or a row for all.
        """
        return np.zeros(len(x), bool)

    def begun(self, states: Rows, inputs: Rows, parameters: Rows) -> Rows:
        """The states x = [q, u] with which runs begin in lanes, from [t, q, u], as ``settled`` gives each alone.

        Where lanes settle them in the mode in which they begin, these are as they were.
        """
        return states[:, 1:]

    def declared(self, march: March, states: Rows, found: Rows) -> tuple[Rows, Rows, Vector]:
        """Records and events of a march, [t, q, u] each, and its state, in the coordinates that the user declared."""
        return states, found, march.x

    def seen(self, key: int, x: Vector) -> Vector:
        """The state x = [q, u] of the mode with this key, as a sampled law in Python sees it: as it was declared."""
        return x

    def answer(self, law: int, key: int, state: Vector, inputs: Vector) -> Vector:
        """What the sampled law of this number, an expression that has another code in each mode, says at [t, q, u]."""
        raise KeyError(law)

    def mode(self, march: March) -> NDArray[np.int8]:
        """The mode in which a march stands, as ``occurrences`` needs it."""
        return np.zeros(0, np.int8)

    def occurrences(self, march: March, mode: NDArray[np.int8]) -> list[Occurrence]:
        """What happened to the modes, as events, since the first record, at which the mode was this one."""
        return []

    def met(self, march: March, record: Record) -> Collection[Any]:
        """The modes that a march has met, where a thread compiles such."""
        return ()

    def meet(self, modes: Iterable[Any]) -> None:
        """Have modes compiled that were met, and warn of those that could not be."""

    def renew(self, march: March) -> None:
        """Go on with what has been compiled since the march began, and have compiled what it has met."""

    def refusal(self, march: March, outcome: Outcome) -> str:
        """The reason why no next mode was found: the change was REFUSED, ENDLESS, or had NO_GUARD that is a number."""
        if outcome is Outcome.ENDLESS:
            return "its mode changes again and again, and leads nowhere"
        return "no next mode was found" if outcome is Outcome.REFUSED else "a distance its mode depends on is no number"

    def step_over(self, march: March, status: Status) -> bool:
        """Step over what the march cannot pass, as its status says, and note it; whether it has."""
        return False

    def stepped_over(self, march: March) -> str:
        """What to say of it where it did not help; nothing where it was not tried."""
        return ""

    def told(self, march: March, record: Record) -> Record:
        """The record of a march with what happened to the modes, in the coordinates that the user declared."""
        return record


ONE_MODE = Switching()
