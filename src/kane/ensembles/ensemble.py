"""``Ensemble``, the result of ``simulate_many``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, shown
from kane.files.xarray import load_xarray
from kane.model.named_vector import index_of_name
from kane.simulation.state_layout import Layout

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Many motions of one model, with names and units: n trajectories at k times.

    ``ensemble["q1"]`` is one coordinate or speed of all trajectories, (n, k).

    Attributes:
        time: times of the recorded states [s], (k,).
        q: coordinates, (n, k, nq); NaN at times that a trajectory did not reach.
        u: generalized speeds, (n, k, nu); NaN likewise.
        inputs: constant inputs, (n, inputs) or (1, inputs); the default for inputs driven by an expression.
        parameters: values, (n, parameters) or (1, parameters).
        steps, rejected: numbers of accepted and rejected steps of each trajectory, (n,).
        failures: reason of failure by index of the trajectory.
        layout: names and units.
        attributes: settings with which the ensemble was computed.
    """

    time: Vector
    q: Array
    u: Array
    inputs: Array
    parameters: Array
    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]
    failures: Mapping[int, str]
    layout: Layout
    attributes: Mapping[str, Any]

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Whether each trajectory reached the last time, (n,)."""
        return np.array([i not in self.failures for i in range(len(self))], dtype=bool)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation early."""
        return bool(self.attributes.get("interrupted", 0))

    def __len__(self) -> int:
        """Number of trajectories."""
        return len(self.q)

    def __getitem__(self, name: str) -> Array:
        """Return the coordinate or speed of this name in all trajectories, (n, k).

        Raises:
            ModelError: the name is unknown, or not a text.
        """
        if not isinstance(name, str):
            raise ModelError(
                f"an ensemble is read by name, ensemble[{self.layout.coordinates[0]!r}], not by {shown(name)}; "
                "trajectory i is ensemble.q[i], ensemble.u[i], and len(ensemble) is their number"
            )
        names = (*self.layout.coordinates, *self.layout.speeds)
        place, nq = index_of_name(name, names, "coordinate or speed"), len(self.layout.coordinates)
        return self.q[:, :, place] if place < nq else self.u[:, :, place - nq]

    def to_xarray(self) -> xarray.Dataset:
        """Return a copy as an xarray dataset, for selection by name, statistics and plots."""
        xarray = load_xarray()

        layout, n = self.layout, len(self)
        reasons = np.array([self.failures.get(i, "") for i in range(n)], dtype=object)
        words = {
            "coordinate": layout.coordinates,
            "speed": layout.speeds,
            "input": layout.inputs,
            "parameter": layout.parameters,
        }
        units = {
            "coordinate_units": ("coordinate", layout.coordinate_units),
            "speed_units": ("speed", layout.speed_units),
        }
        dimensions = {"inputs": "input", "parameters": "parameter"}
        each = {
            word: (("trajectory", dimension), np.array(np.broadcast_to(values, (n, values.shape[1]))))
            for (word, dimension), values in zip(dimensions.items(), (self.inputs, self.parameters), strict=True)
        }
        return xarray.Dataset(
            data_vars={
                "q": (("trajectory", "time", "coordinate"), self.q.copy(), {"long_name": "coordinates"}),
                "u": (("trajectory", "time", "speed"), self.u.copy(), {"long_name": "generalized speeds"}),
                **each,
                "steps": ("trajectory", self.steps.copy()),
                "rejected": ("trajectory", self.rejected.copy()),
                "failure": ("trajectory", reasons),
            },
            coords={
                "time": ("time", self.time.copy(), {"units": "s"}),
                **{word: (word, np.array(names, dtype=object)) for word, names in words.items()},
                **{word: (along, np.array(names, dtype=object)) for word, (along, names) in units.items()},
            },
            attrs={"format": "kane ensemble", "format_version": 1, "model": layout.model, **self.attributes},
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write ``to_xarray()`` to a NetCDF file, readable by ``xarray.open_dataset(path, engine="h5netcdf")``.

        Raises:
            FileError: the file cannot be written; the message names the file and the cure.
        """
        from kane.simulation.results.trajectory_file import save  # imports xarray

        save(self.to_xarray(), path)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return (
            f"<Ensemble of {self.layout.model!r}: {len(self)} trajectories{failed}, {len(self.time)} states each from "
            f"{self.time[0]:.6g} s to {self.time[-1]:.6g} s>"
        )
