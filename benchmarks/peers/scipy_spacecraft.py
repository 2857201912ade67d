"""scipy's solve_ivp over Pinocchio's articulated-body algorithm, for the spacecraft."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from benchmarks.peers.pinocchio_models import pinocchio
from benchmarks.spacecraft import peer_model

Array = npt.NDArray[np.float64]


def scipy_spacecraft(speeds: Array, seconds: float, tolerance: float) -> Array:
    """Pinocchio's q and v after each run, (n, 15 + 14), by the method of order 8.

    Args:
        speeds: of the eight gimbals at the start, (n, 8) [rad/s]; the hub is at rest.
        seconds: length of a run.
        tolerance: relative and absolute.

    Raises:
        PeerMissingError: Pinocchio is not installed.
    """
    pin, model = pinocchio(), peer_model()
    data, none = model.createData(), np.zeros(model.nv)

    def rate(t: float, state: Array) -> Any:
        q, v = state[: model.nq], state[model.nq :]
        x, y, z, w = q[3:7]
        turn = pin.Quaternion(w, x, y, z)
        vector = 0.5 * (w * v[3:6] + np.cross((x, y, z), v[3:6]))
        last = -0.5 * np.dot((x, y, z), v[3:6])
        return np.concatenate([turn.matrix() @ v[:3], vector, [last], v[6:], pin.aba(model, data, q, v, none)])

    ends = []
    for own in speeds:
        start = np.concatenate([pin.neutral(model), np.zeros(6), own])
        done = solve_ivp(rate, (0.0, seconds), start, method="DOP853", rtol=tolerance, atol=tolerance, t_eval=[seconds])
        ends.append(done.y[:, -1])
    return np.array(ends)
