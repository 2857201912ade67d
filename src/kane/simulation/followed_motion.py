"""What follow returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kane.errors import ModelError
from kane.simulation.trajectory import Trajectory

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

    def plot(self) -> Figure:
        """A figure: coordinates, and the generalized forces by unit, over time."""
        from kane.simulation.trajectory_plot import by_unit, draw_panels  # imports matplotlib

        dataset = self.to_xarray()
        forces = dataset.assign_coords(speed_units=dataset["force_units"])
        panels = by_unit(dataset, "q", "coordinate") + by_unit(forces, "forces", "speed")
        return draw_panels(str(dataset.attrs.get("model", "")), self.time, panels)
