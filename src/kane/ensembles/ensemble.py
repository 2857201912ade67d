"""Ensemble: what ``simulate_many`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.model.named_vector import position
from kane.native.arrays import Vector
from kane.simulation.layout import Layout

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Many motions of one model, with names and units; n trajectories, k times.

    ``ensemble["q1"]`` is the course of one coordinate or speed in all of them, (n, k).

    Attributes:
        time: of the recorded states [s], (k,).
        q: coordinates, (n, k, nq); NaN where a trajectory did not get.
        u: generalized speeds, (n, k, nu); likewise.
        inputs: constants given to each, (n, inputs) or (1, inputs); defaults where an expression drove an input.
        parameters: values, (n, parameters) or (1, parameters).
        steps, rejected: how many steps each took, and how many it tried that were too long, (n,).
        failures: number of a trajectory to the reason why it has no end.
        layout: names and units.
        attributes: how the ensemble was made.
    """

    time: Vector
    q: NDArray[np.float64]
    u: NDArray[np.float64]
    inputs: NDArray[np.float64]
    parameters: NDArray[np.float64]
    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]
    failures: Mapping[int, str]
    layout: Layout
    attributes: Mapping[str, Any]

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Which trajectories reached the last time, (n,)."""
        return np.array([i not in self.failures for i in range(len(self))], dtype=bool)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before its time."""
        return bool(self.attributes.get("interrupted", 0))

    def __len__(self) -> int:
        """How many trajectories."""
        return len(self.q)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """The course of the coordinate or speed of this name in all trajectories, (n, k).

        Raises:
            ModelError: there is none.
        """
        names = (*self.layout.coordinates, *self.layout.speeds)
        place, nq = position(name, names, "coordinate or speed"), len(self.layout.coordinates)
        return self.q[:, :, place] if place < nq else self.u[:, :, place - nq]

    def to_xarray(self) -> xarray.Dataset:
        """A copy as an xarray dataset, for selection by name, statistics and plots of all kinds."""
        import xarray  # takes half a second, with pandas, that only a result should pay

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
        """Write a NetCDF file, as ``to_xarray`` has it, readable by ``xarray.open_dataset(path, engine="h5netcdf")``.

        Raises:
            FileError: the file cannot be written; the message names it and the cure.
        """
        from kane.simulation.recorded.trajectory_file import save  # imports xarray

        save(self.to_xarray(), path)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return (
            f"<Ensemble of {self.layout.model!r}: {len(self)} trajectories{failed}, {len(self.time)} states each from "
            f"{self.time[0]:.6g} s to {self.time[-1]:.6g} s>"
        )
