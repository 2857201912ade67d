"""Trajectories as NetCDF files."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any, Literal

import numpy as np
import xarray

from kane.errors import FileError, ImportFileError
from kane.files.given_path import given_path, readable_path
from kane.files.write_file import write_whole
from kane.simulation.recorded.hdf5_trial import problem_of_reading
from kane.simulation.recorded.record import FORMAT, FORMAT_VERSION, RESIDUALS

ENGINE: Literal["h5netcdf"] = "h5netcdf"
# How the name of such a file may end; another ending would promise another content.
ENDINGS = (".nc", ".nc4", ".h5", ".hdf5")
# Variable to its dimensions; words first, numbers after.
WORDS = {
    "coordinate": ("coordinate",),
    "speed": ("speed",),
    "input": ("input",),
    "parameter": ("parameter",),
    "coordinate_units": ("coordinate",),
    "speed_units": ("speed",),
}
NUMBERS = {
    "time": ("time",),
    "q": ("time", "coordinate"),
    "u": ("time", "speed"),
    "inputs": ("time", "input"),
    "kinetic_energy": ("time",),
    "potential_energy": ("time",),
    "parameters": ("parameter",),
}


# The variable that holds the model as ``kane.save_model`` writes it, so that the run can be shown.
MODEL = "model_form"


def save(dataset: xarray.Dataset, path: str | PathLike[str], *, form: str = "") -> None:
    """Write the dataset of a trajectory, with the text of its model where there is one.

    The file appears whole or not at all: an earlier one is replaced only when the new one is complete.

    Raises:
        FileError: the name ends as that of another kind of file, or it cannot be written.
    """
    target = given_path(path, "the file of a trajectory")
    if target.suffix.lower() not in ENDINGS:
        raise FileError(
            f"{str(path)!r} does not end as the file of a trajectory, which is NetCDF: end it with "
            f"{', '.join(ENDINGS)}; for other files take run.to_xarray(), an xarray.Dataset"
        )
    if form:
        dataset = dataset.assign(
            {MODEL: ((), np.array(form, dtype=object), {"long_name": "the model, as kane saves it"})}
        )
    # No number stands for a missing one: NaN is NaN.
    numbers = [word for word, values in dataset.variables.items() if values.dtype == np.float64]
    encoding = {word: {"_FillValue": None} for word in numbers}
    write_whole(
        target,
        lambda draft: dataset.to_netcdf(draft, engine=ENGINE, encoding=encoding),
    )


def load(path: str | PathLike[str]) -> tuple[xarray.Dataset, str]:
    """Read the dataset of a trajectory, checked, and the text of its model, empty where the file has none.

    Raises:
        FileError: there is no such file, or it may not be read.
        ImportFileError: it is not the file of a trajectory.
    """
    readable_path(path, "the file of a trajectory")  # what is wrong with the path is no damage of the content
    damage = problem_of_reading(path)
    if damage is not None:
        raise _unreadable(path, damage)
    try:
        # Numbers are read as they stand: times are plain seconds, whatever units a file claims.
        with xarray.open_dataset(path, engine=ENGINE, decode_times=False, mask_and_scale=False) as opened:
            dataset = opened.load()
    except Exception as error:  # h5py and h5netcdf raise whatever a damaged file makes them
        raise _unreadable(path, error) from error
    problem = _problem(dataset)
    if problem:
        raise ImportFileError(f"{os.fspath(path)!r} is not a trajectory saved by kane: {problem}")
    # A list of no words has come back as a list of no numbers.
    dataset = dataset.assign({word: dataset[word].astype(str) for word in WORDS})
    form = str(dataset[MODEL].item()) if MODEL in dataset and not dataset[MODEL].dims else ""
    return dataset.drop_vars(MODEL, errors="ignore").set_coords([*WORDS, "time"]), form


def _unreadable(path: str | PathLike[str], reason: object) -> ImportFileError:
    return ImportFileError(
        f"{os.fspath(path)!r} cannot be read as NetCDF: {reason}; it is damaged or no file of kane's: take another "
        "copy, or simulate again"
    )


def _problem(dataset: xarray.Dataset) -> str:
    """What keeps the dataset from being a trajectory, in words; nothing where it is one."""
    if dataset.attrs.get("format") != FORMAT:
        return f"its attribute 'format' is {dataset.attrs.get('format')!r}, not {FORMAT!r}"
    version = dataset.attrs.get("format_version")
    if not isinstance(version, int | np.integer) or version > FORMAT_VERSION:
        return f"its format version is {version}, and this kane reads up to {FORMAT_VERSION}; use a newer kane"
    for name, dimensions in (WORDS | NUMBERS).items():
        if name not in dataset.variables:
            return f"the variable {name!r} is missing"
        variable: Any = dataset[name]
        if variable.dims != dimensions:
            return f"the variable {name!r} has the dimensions {variable.dims} instead of {dimensions}"
        if name in NUMBERS and variable.dtype != np.float64:
            return f"the variable {name!r} holds {variable.dtype}, not double precision numbers"
        if name in WORDS and not all(isinstance(word, str) for word in variable.to_numpy().tolist()):
            return f"the variable {name!r} does not hold words"
    for name in RESIDUALS:
        if name in dataset.variables and (dataset[name].dims != ("time",) or dataset[name].dtype != np.float64):
            return f"the variable {name!r} is not one number for each time"
    return "" if dataset.sizes["time"] else "it has no times"
