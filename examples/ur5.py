"""The UR5, from its URDF to native equations of motion and a simulation with an energy balance.

Run by `make demo`. Files go to out/: trajectory (NetCDF), plot (PNG), equations as a listing and as C.
"""

import sys
import time
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

import kane

DAMPING = 0.5  # N m s/rad, in every joint
UNTIL, STEP = 10.0, 1e-3  # s
START = [0.0, -0.4, 0.6, 0.2, 0.3, 0.0]  # rad, held still and then let go
# Energy lost is compared with the work of the dampers. Both come from RK4, whose error with this step is of the order
# 1e-10 of the energy; a wrong sign or a missing term is of order 1.
TOLERANCE = 1e-6


def ur5_urdf() -> Path:
    """The file in the package example-robot-data, which holds data only and cannot be imported."""
    inside = "cmeel.prefix/share/example-robot-data/robots/ur_description/urdf/ur5_robot.urdf"
    try:
        path = Path(str(distribution("example-robot-data").locate_file(inside)))
    except PackageNotFoundError:
        sys.exit("the demo reads the UR5 of the package example-robot-data: pip install 'kane[demo]'")
    if not path.is_file():
        sys.exit(f"example-robot-data is installed, but has no {path}: pip install --force-reinstall example-robot-data")
    return path
