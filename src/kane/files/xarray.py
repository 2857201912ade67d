"""xarray with NetCDF files, packages of the extra "results"."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from kane.errors import ModelError, pip_install


def load_xarray() -> Any:
    """Import xarray at its first use, which takes half a second, and return it.

    Raises:
        ModelError: xarray is not installed.
    """
    try:
        import xarray
    except ModuleNotFoundError:
        raise ModelError(f"labelled data needs the package xarray; {pip_install('results')}") from None
    return xarray


def require_netcdf() -> None:
    """Raise ModelError unless the packages that read and write NetCDF files are installed."""
    if not all(map(find_spec, ("xarray", "h5netcdf", "h5py"))):
        raise ModelError(f"NetCDF files need the packages xarray and h5netcdf; {pip_install('results')}")
