"""Trial reading of HDF5 files in a separate process.

HDF5 hangs or crashes on some damaged files. A process with unsaved work must therefore not read an unchecked file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from os import PathLike

# Reading this many bytes takes at most a second on any disk; SECONDS covers the start of Python on a busy machine.
SECONDS, BYTES_A_SECOND = 20.0, 20e6
# Reads the file with the calls that xarray makes.
_READ_ALL = """
import sys
import h5netcdf
with h5netcdf.File(sys.argv[1], "r") as file:
    dict(file.attrs)
    for variable in file.variables.values():
        variable.dimensions, dict(variable.attrs), variable[...]
"""


def problem_of_reading(path: str | PathLike[str], *, seconds: float = SECONDS) -> str | None:
    """Read an HDF5 file completely in a separate process; return the problem in words, or None.

    Args:
        path: path of a file that can be opened.
        seconds: time limit for an empty file; large files get more.
    """
    limit = seconds + os.path.getsize(path) / BYTES_A_SECOND
    command = [sys.executable, "-P", "-c", _READ_ALL, os.path.abspath(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit, errors="replace")
    except subprocess.TimeoutExpired:
        return f"HDF5 did not finish within {limit:.3g} s"
    if done.returncode < 0:
        return f"HDF5 crashed on it (signal {-done.returncode})"
    return (done.stderr.strip().splitlines() or ["HDF5 gave no reason"])[-1] if done.returncode else None
