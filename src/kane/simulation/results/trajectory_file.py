"""NetCDF files of trajectories."""

from __future__ import annotations

import os
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kane.errors import FileError, ImportFileError
from kane.files.given_path import given_path, readable_path
from kane.files.write_file import write_whole
from kane.files.xarray import load_xarray, require_netcdf
from kane.simulation.results.hdf5_trial import problem_of_reading
from kane.simulation.results.record import FORMAT_VERSION, RESIDUALS, TRAJECTORY_FORMAT

if TYPE_CHECKING:
    import xarray

ENGINE: Literal["h5netcdf"] = "h5netcdf"
# Allowed suffixes; other suffixes would suggest another format.
ENDINGS = (".nc", ".nc4", ".h5", ".hdf5")
# Dimensions of each variable: text variables first, numeric variables second.
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


# Variable with the model as text, as ``kane.save_model`` writes it, so that the run can be displayed.
MODEL_FORM = "model_form"


def save(dataset: xarray.Dataset, path: str | PathLike[str], *, form: str = "") -> None:
    """Write the dataset of a trajectory, and the text of its model if given.

    The file is written completely or not at all: an existing file is replaced only when the new one is complete.

    Raises:
        FileError: the file name has another suffix, or the file cannot be written.
        ModelError: the packages for NetCDF are not installed.
    """
    require_netcdf()
    target = given_path(path, "the file of a trajectory")
    if target.suffix.lower() not in ENDINGS:
        raise FileError(
            f"{str(path)!r} has no suffix of a trajectory file, which is NetCDF: end it with "
            f"{', '.join(ENDINGS)}; for other files use run.to_xarray(), an xarray.Dataset"
        )
    if form:
        dataset = dataset.assign(
            {MODEL_FORM: ((), np.array(form, dtype=object), {"long_name": "the model, as kane saves it"})}
        )
    # Disable fill values, so that NaN is stored as NaN.
    numbers = [word for word, values in dataset.variables.items() if values.dtype == np.float64]
    encoding = {word: {"_FillValue": None} for word in numbers}
    write_whole(
        target,
        lambda draft: dataset.to_netcdf(draft, engine=ENGINE, encoding=encoding),
    )


def load(path: str | PathLike[str]) -> tuple[xarray.Dataset, str]:
    """Read and check the dataset of a trajectory, and the text of its model, which may be empty.

    Raises:
        FileError: the file does not exist, or cannot be read.
        ImportFileError: the file is not a trajectory.
        ModelError: the packages for NetCDF are not installed.
    """
    require_netcdf()
    readable_path(path, "the file of a trajectory")  # report a wrong path as such, not as a damaged file
    damage = problem_of_reading(path)
    if damage is not None:
        raise _unreadable(path, damage)
    try:
        # Read the numbers unchanged: times are plain seconds, whatever units the file claims.
        with load_xarray().open_dataset(path, engine=ENGINE, decode_times=False, mask_and_scale=False) as opened:
            dataset = opened.load()
    except Exception as error:  # h5py and h5netcdf raise many kinds of errors for damaged files
        raise _unreadable(path, error) from error
    problem = _problem(dataset)
    if problem:
        raise ImportFileError(f"{os.fspath(path)!r} is not a trajectory saved by kane: {problem}")
    # An empty list of names is read as an empty list of numbers; restore its type.
    dataset = dataset.assign({word: dataset[word].astype(str) for word in WORDS})
    form = str(dataset[MODEL_FORM].item()) if MODEL_FORM in dataset and not dataset[MODEL_FORM].dims else ""
    return dataset.drop_vars(MODEL_FORM, errors="ignore").set_coords([*WORDS, "time"]), form


def _unreadable(path: str | PathLike[str], reason: object) -> ImportFileError:
    return ImportFileError(
        f"{os.fspath(path)!r} cannot be read as NetCDF: {reason}; it is damaged or not a file of kane: use another "
        "copy, or simulate again"
    )


def _problem(dataset: xarray.Dataset) -> str:
    """Describe why the dataset is not a trajectory; an empty text if it is one."""
    if dataset.attrs.get("format") != TRAJECTORY_FORMAT:
        return f"its attribute 'format' is {dataset.attrs.get('format')!r}, not {TRAJECTORY_FORMAT!r}"
    version = dataset.attrs.get("format_version")
    if not isinstance(version, int | np.integer) or version > FORMAT_VERSION:
        return f"its format version is {version}, but this kane reads up to {FORMAT_VERSION}; use a newer kane"
    for name, dimensions in (WORDS | NUMBERS).items():
        if name not in dataset.variables:
            return f"the variable {name!r} is missing"
        variable: Any = dataset[name]
        if variable.dims != dimensions:
            return f"the variable {name!r} has the dimensions {variable.dims} instead of {dimensions}"
        if name in NUMBERS and variable.dtype != np.float64:
            return f"the variable {name!r} holds {variable.dtype} instead of double-precision numbers"
        if name in WORDS and not all(isinstance(word, str) for word in variable.to_numpy().tolist()):
            return f"the variable {name!r} does not hold text"
    for name in RESIDUALS:
        if name in dataset.variables and (dataset[name].dims != ("time",) or dataset[name].dtype != np.float64):
            return f"the variable {name!r} is not one number per time"
    return "" if dataset.sizes["time"] else "it has no times"
