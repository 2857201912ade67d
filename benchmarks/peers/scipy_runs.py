"""scipy's solve_ivp over Pinocchio's articulated-body algorithm, in two processes, for the damped Stanford Arm."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from benchmarks.cores import CORES
from benchmarks.damped_arm import DAMPING, SECONDS, STIFFNESS, peer_model, per_joint
from benchmarks.peers.pinocchio_models import pinocchio

Array = npt.NDArray[np.float64]


def run_one(x: Array, tolerance: float) -> Array:
    """q and v after the run, by the method of order 8, relative and absolute tolerance alike."""
    pin, model = pinocchio(), peer_model()
    data, n = model.createData(), model.nv
    damping, stiffness = per_joint(DAMPING, model), per_joint(STIFFNESS, model)

    def rate(t: float, state: Array) -> Any:
        q, v = state[:n], state[n:]
        return np.concatenate([v, pin.aba(model, data, q, v, -stiffness * q - damping * v)])

    done = solve_ivp(rate, (0.0, SECONDS), x, method="DOP853", rtol=tolerance, atol=tolerance, t_eval=[SECONDS])
    return np.asarray(done.y[:, -1])


class ScipyRuns:
    """Two processes that share the runs.

    Raises:
        PeerMissingError: Pinocchio is not installed.
    """

    def __init__(self) -> None:
        peer_model()
        self._pool = ProcessPoolExecutor(CORES, mp_context=multiprocessing.get_context("spawn"))

    def run(self, starts: Array, tolerance: float) -> Array:
        """q and v reached from every start, (n, 12)."""
        return np.array(list(self._pool.map(run_one, starts, [tolerance] * len(starts))))

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown()
