"""The task of the table of trajectories: the Stanford Arm, its joints damped, from states drawn at random."""

from typing import Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.robots import STANFORD

Array = npt.NDArray[np.float64]
SECONDS = 10.0
# N m s/rad or N s/m, and N/m: without them the slide would fall out of the arm within a second.
DAMPING = {"q1": 0.5, "q2": 0.5, "q3": 0.05, "q4": 0.05, "q5": 0.05, "q6": 2.0}
STIFFNESS = {"q6": 200.0}


def model() -> kane.Model:
    """kane's: the library's arm with dampers and a spring on the slide."""
    arm = kane.library.stanford_arm()
    for joint in arm.connections:
        arm.load(kane.Damper(joint, DAMPING[joint.name]))
        if joint.name in STIFFNESS:
            arm.load(kane.Spring(joint, STIFFNESS[joint.name]))
    return arm


def peer_model() -> Any:
    """Pinocchio's, which knows neither dampers nor springs: ``per_joint`` has them in its order.

    Raises:
        PeerMissingError: Pinocchio is not installed.
    """
    return STANFORD.peer_model()


def joints(peer: Any) -> list[str]:
    """Names of the joints in Pinocchio's order."""
    return [str(name) for name in peer.names][1:]


def per_joint(values: dict[str, float], peer: Any) -> Array:
    """Values by joint in Pinocchio's order, zero where there is none."""
    return np.array([values.get(name, 0.0) for name in joints(peer)])


def starts(n: int) -> tuple[Array, Array]:
    """The first n initial q (q1 to q6) and u: uniform, q2 within 1 rad of pi/2, q6 within 0.1 m, the rest within 1."""
    random = np.random.default_rng(1983)
    draws = random.uniform(-1.0, 1.0, (n, 12))
    q, u = draws[:, :6].copy(), draws[:, 6:].copy()
    q[:, 1] += np.pi / 2
    q[:, 5] *= 0.1
    return q, u
