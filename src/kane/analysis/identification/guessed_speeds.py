"""Initial guess of speeds if only coordinates were measured."""

from __future__ import annotations

import numpy as np

from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics


def guessed_speeds(dyn: Dynamics, time: Array, q: Array, values: Array) -> Array:
    """Append speeds to measured coordinates: qdot by differences, and u by least squares of qdot(q, u, t).

    Args:
        dyn: compiled equations.
        time: times of the rows, (k,) [s].
        q: coordinates (k, nq), with continuous signs of quaternions.
        values: values of all parameters.

    Returns:
        [q, u], (k, nq + n). The search replaces these speeds by simulated ones.
    """
    e = dyn.equations
    n = len(e.u)
    named = dict(zip((leaf.name for leaf in e.parameters), values.tolist(), strict=True))
    qdot = np.gradient(q, time, axis=0)
    still, *columns = (dyn.kinematics(q, u, time, parameters=named) for u in (np.zeros(n), *np.eye(n)))
    Y = np.stack(columns, axis=-1) - still[..., None]
    return np.hstack([q, (np.linalg.pinv(Y) @ (qdot - still)[..., None])[..., 0]])
