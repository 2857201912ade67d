"""HDF5 files read on trial, in a process of their own.

From some damaged files HDF5 never returns, on others it crashes: a process that has work to lose must not try them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from os import PathLike

# Reading takes a second at most for so many bytes, on any disk; starting Python takes the rest, on a busy machine.
SECONDS, BYTES_A_SECOND = 20.0, 20e6
# What xarray does with the file, by the same calls.
_READ_ALL = """
import sys
import h5netcdf
with h5netcdf.File(sys.argv[1], "r") as file:
    dict(file.attrs)
    for variable in file.variables.values():
        variable.dimensions, dict(variable.attrs), variable[...]
"""


def problem_of_reading(path: str | PathLike[str], *, seconds: float = SECONDS) -> str | None:
    """What goes wrong when everything in an HDF5 file is read, in words; None where nothing does.

    Args:
        path: a file that can be opened.
        seconds: how long an empty file may take; a large one is given more.
    """
    limit = seconds + os.path.getsize(path) / BYTES_A_SECOND
    command = [sys.executable, "-P", "-c", _READ_ALL, os.path.abspath(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit, errors="replace")
    except subprocess.TimeoutExpired:
        return f"HDF5 did not come back within {limit:.3g} s"
    if done.returncode < 0:
        return f"HDF5 crashed on it (signal {-done.returncode})"
    return (done.stderr.strip().splitlines() or ["it does not say why"])[-1] if done.returncode else None
