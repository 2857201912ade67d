"""MuJoCo's rollout of many runs at once, in threads: classical Runge-Kutta steps, dynamics alone."""

from typing import Any

import mujoco
import mujoco.rollout
import numpy as np
import numpy.typing as npt

from benchmarks.cores import CORES
from benchmarks.peers.mujoco_steps import mjcf_of

Array = npt.NDArray[np.float64]


class MujocoRuns:
    """Runs of an arm from many states.

    Args:
        peer: Pinocchio's model of the arm.
        damping: of every joint in its order [N m s/rad or N s/m].
        stiffness: likewise, of springs at rest at zero [N m/rad or N/m].
        threads: that share the runs.
    """

    def __init__(self, peer: Any, damping: Array, stiffness: Array, threads: int = CORES) -> None:
        self._peer, self._damping, self._stiffness = peer, damping, stiffness
        self._rollout, self._threads = mujoco.rollout.Rollout(nthread=threads), threads

    def run(self, starts: Array, seconds: float, step: float) -> Array:
        """q and v reached from every start, (n, 2 nv)."""
        model = mujoco.MjModel.from_xml_string(mjcf_of(self._peer, step))
        model.dof_damping[:] = self._damping.reshape(model.dof_damping.shape)
        model.jnt_stiffness[:] = self._stiffness.reshape(model.jnt_stiffness.shape)
        data = [mujoco.MjData(model) for _ in range(self._threads)]
        initial = np.zeros((len(starts), mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        initial[:, 1 : 1 + starts.shape[1]] = starts  # time comes first
        states, _ = self._rollout.rollout(model, data, initial, nstep=round(seconds / step), chunk_size=1)
        return np.asarray(states)[:, -1, 1 : 1 + starts.shape[1]]

    def close(self) -> None:
        """Ends the threads."""
        self._rollout.close()
