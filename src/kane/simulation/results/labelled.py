"""Variables of a run by name, in the form of an xarray dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray

# Dimension that names the entries of each recorded variable.
ENTRIES = {
    "q": "coordinate",
    "u": "speed",
    "inputs": "input",
    "parameters": "parameter",
    "event_q": "coordinate",
    "event_u": "speed",
}
# Dimensions (a single one as str), values and attributes, as xarray takes them.
XarrayVariable = tuple[Any, NDArray[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Labelled:
    """Variables of a run by name; the xarray dataset is built on demand.

    Building the dataset takes as long as some seconds of simulated time, and importing xarray takes half a second.

    Attributes:
        variables: recorded quantities.
        coordinates: axes of the variables: times and names.
        attributes: settings of the run.
        units: units of coordinates, speeds, inputs and parameters by name.
    """

    variables: Mapping[str, XarrayVariable]
    coordinates: Mapping[str, XarrayVariable]
    attributes: Mapping[str, Any]
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, dataset: xarray.Dataset) -> Labelled:
        """Wrap an existing dataset, which ``dataset`` then returns."""
        groups = dataset.data_vars, dataset.coords
        variables, coordinates = ({str(k): (v.dims, v.to_numpy(), v.attrs) for k, v in g.items()} for g in groups)
        made = cls(variables, coordinates, dataset.attrs)
        made.__dict__["dataset"] = dataset
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle or copy without the dataset, which repeats the same data."""
        return Labelled, (self.variables, self.coordinates, self.attributes, dict(self.units))

    def __contains__(self, name: str) -> bool:
        """Check whether a variable or a coordinate has this name."""
        return name in self.variables or name in self.coordinates

    def values(self, name: str) -> NDArray[Any]:
        """Return the values of a variable or a coordinate."""
        group = self.variables if name in self.variables else self.coordinates
        return group[name][1] if name in group else self._unit_words[name]

    @cached_property
    def _unit_words(self) -> dict[str, NDArray[Any]]:
        return unit_words({along: self.coordinates[along][1] for along in ENTRIES.values()}, self.units)

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All data as an xarray dataset."""
        from kane.files.xarray import load_xarray

        return with_units(load_xarray().Dataset(self.variables, self.coordinates, self.attributes), self.units)


def unit_words(names: Mapping[str, Iterable[Any]], units: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the unit of each name of each dimension, as "speed_units", by dimension; "?" for an unknown unit."""
    return {
        f"{along}_units": np.array([units.get(str(name), "?") for name in found], dtype=object)
        for along, found in sorted(names.items())
    }


def with_units(dataset: xarray.Dataset, units: Mapping[str, str]) -> xarray.Dataset:
    """Return a dataset with coordinates such as ``speed_units``, unless it has them.

    A variable whose entries have one unit has this unit as attribute ``units`` too.
    """
    words = unit_words({along: dataset[along].to_numpy() for along in ENTRIES.values()}, units)
    words = {name: dataset[name].to_numpy() if name in dataset.coords else found for name, found in words.items()}
    for name, along in ENTRIES.items():
        found = {*words[f"{along}_units"]}
        if name in dataset and len(found) == 1 and "?" not in found:
            dataset[name].attrs["units"] = found.pop()
    return dataset.assign_coords({name: (name.removesuffix("_units"), found) for name, found in words.items()})
