"""What the native loop of ensembles reads and writes, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.simulation.march import Indices

WAITING, FINISHED, STUCK, STALLED = -1, 0, 2, 3  # how a trajectory stands; the last two as in march.Status


class Trajectories(NamedTuple):
    """All of an ensemble; threads write to different ones.

    Attributes:
        order: which are computed, one after the other.
        starts: initial states [q, u], (n, nx).
        inputs: (n, inputs), or one row for all.
        stages: values that depend on parameters only, (n, n_stage), or one row for all.
        rows: the record [t, q, u] of each, (n, times, 1 + nx).
        last: the last state reached [t, q, u], (n, 1 + nx).
        steps, rejected: how many, (n,).
        status: WAITING, FINISHED, STUCK or STALLED, (n,).
    """

    order: Indices
    starts: NDArray[np.float64]
    inputs: NDArray[np.float64]
    stages: NDArray[np.float64]
    rows: NDArray[np.float64]
    last: NDArray[np.float64]
    steps: Indices
    rejected: Indices
    status: Indices
