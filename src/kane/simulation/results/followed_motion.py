"""``FollowedMotion``, the result of ``kane.follow``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kane.errors import ModelError
from kane.simulation.results.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FollowedMotion(Trajectory):
    """Prescribed motion with its generalized forces: a trajectory with accelerations and forces."""

    @property
    def udot(self) -> NDArray[Any]:
        """Generalized accelerations, (times, n)."""
        return self._values("udot")

    @property
    def forces(self) -> NDArray[Any]:
        """M udot + bias, the generalized forces that inputs must supply, (times, n) [N m or N]."""
        return self._values("forces")

    @property
    def inputs(self) -> NDArray[Any]:
        """Inputs that produce the motion, (times, inputs).

        Raises:
            ModelError: the motion does not determine the inputs; use ``forces``.
        """
        reason = self._run.attributes.get("inputs_undetermined")
        if reason:
            raise ModelError(str(reason))
        return super().inputs

    def plot(self, names: str | Sequence[str] = (), *, inputs: bool = False, events: bool = True) -> Figure:
        """Plot over time as ``Trajectory.plot``; by default coordinates and generalized forces."""
        from kane.simulation.results.trajectory_plot import picture  # imported late: needs matplotlib

        return picture(self, names, variables=("q", "forces"), inputs=inputs, events=events)
