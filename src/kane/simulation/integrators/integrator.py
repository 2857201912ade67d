"""Interface of all integrators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from kane.engine.call import PreparedCall
from kane.errors import ModelError, shown
from kane.simulation.integrator_state import IntegratorState, Status


class Integrator(ABC):
    """Method for x' = f(t, x), x = [q, u].

    ``advance`` takes steps, with step-size control, records from the interpolant, stops at events, and normalization of
    quaternions (``state.normalise``). The integrator state holds all data that survive a call, so that a run in chunks
    equals one uninterrupted run.

    Class attributes:
        order: order of convergence of the global error.
        fixed: whether the steps have the length dt that the user gives.
    """

    order: ClassVar[int]
    fixed: ClassVar[bool]

    @property
    def name(self) -> str:
        """Name of the method in trajectories."""
        return type(self).__name__

    @property
    def settings(self) -> dict[str, float]:
        """Settings of the method, recorded in trajectories."""
        return {}

    @abstractmethod
    def advance(self, integration: IntegratorState, steps: int) -> Status:
        """Take up to ``steps`` steps: advance x and time, and store the records and events inside these steps.

        Returns:
            NOT_FINITE if the next step does not end in a finite state, STUCK if it would be shorter than the rounding
            of times. x is then the last state that was reached.
        """

    def require(self, integration: IntegratorState) -> None:  # noqa: B027  # most methods take every run
        """Raise ModelError if the method cannot take steps of a run."""

    def prepared(self, integration: IntegratorState, steps: int) -> PreparedCall | None:
        """Return the native call of ``advance``, to be made many times; None if ``advance`` does more than call."""
        return None


def require_integrator(given: Any) -> Integrator:
    """Return an integrator that the user gives.

    Raises:
        ModelError: it is a class, or no integrator.
    """
    if isinstance(given, Integrator):
        return given
    if isinstance(given, type) and issubclass(given, Integrator):
        raise ModelError(f"the integrator is the class {given.__name__}; give an instance: {given.__name__}()")
    raise ModelError(f"the integrator is {shown(given)}; give one such as kane.RK8()")
