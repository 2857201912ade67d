"""What follow returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kane.errors import ModelError
from kane.simulation.recorded.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FollowedMotion(Trajectory):
    """A prescribed motion with what it takes: a trajectory with accelerations and generalized forces."""

    @property
    def udot(self) -> NDArray[Any]:
        """Generalized accelerations, (times, n)."""
        return self._values("udot")

    @property
    def forces(self) -> NDArray[Any]:
        """M udot + bias, the generalized forces that the inputs must supply, (times, n) [N m for rad/s, N for m/s]."""
        return self._values("forces")

    @property
    def inputs(self) -> NDArray[Any]:
        """The inputs that make the motion, (times, inputs).

        Raises:
            ModelError: the motion does not determine them; ``forces`` it does.
        """
        reason = self._run.attributes.get("inputs_undetermined")
        if reason:
            raise ModelError(str(reason))
        return super().inputs

    def plot(self, names: str | Sequence[str] = (), *, inputs: bool = False, events: bool = True) -> Figure:
        """A figure over time, as ``Trajectory.plot`` makes it; unless named, coordinates and generalized forces."""
        from kane.simulation.recorded.trajectory_plot import picture  # imports matplotlib

        return picture(self, names, variables=("q", "forces"), inputs=inputs, events=events)
