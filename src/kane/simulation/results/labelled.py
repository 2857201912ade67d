"""Variables of a run by name, in the form of an xarray dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray

# Dimensions (a single one as str), values and attributes, as xarray takes them.
XarrayVariable = tuple[Any, NDArray[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Labelled:
    """Variables of a run by name; the xarray dataset is built on demand.

    Building the dataset takes as long as some seconds of simulated time, and importing xarray takes half a second.

    Attributes:
        variables: recorded quantities.
        coordinates: axes of the variables: times, names, units.
        attributes: settings of the run.
    """

    variables: Mapping[str, XarrayVariable]
    coordinates: Mapping[str, XarrayVariable]
    attributes: Mapping[str, Any]

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
        return Labelled, (self.variables, self.coordinates, self.attributes)

    def __contains__(self, name: str) -> bool:
        """Check whether a variable or a coordinate has this name."""
        return name in self.variables or name in self.coordinates

    def values(self, name: str) -> NDArray[Any]:
        """Return the values of a variable or a coordinate."""
        group = self.variables if name in self.variables else self.coordinates
        return group[name][1]

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """All data as an xarray dataset."""
        from kane.files.xarray import load_xarray

        return load_xarray().Dataset(self.variables, self.coordinates, self.attributes)
