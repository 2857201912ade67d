"""Random states, and how kane's arrays and Pinocchio's correspond."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.peers.pinocchio_models import joint_kind

Array = npt.NDArray[np.float64]
STATES = 64
# Pinocchio's free joint: position, quaternion x y z w; linear, then angular velocity. Names as kane gives them.
FREE_Q = ("x", "y", "z", "qx", "qy", "qz", "qw")
FREE_V = ("vx", "vy", "vz", "wx", "wy", "wz")


@dataclass(frozen=True)
class States:
    """A set of states in kane's layout.

    Attributes:
        q: coordinates, shape (N, nq), quaternions of length one.
        u: speeds, shape (N, n).
        udot: accelerations, shape (N, n).
        efforts: motor torques and forces, shape (N, m).
    """

    q: Array
    u: Array
    udot: Array
    efforts: Array


def random_states(equations: kane.Equations, n: int = STATES) -> States:
    """Numbers uniform in [-1, 1], always the same for one robot."""
    random = np.random.default_rng(1)
    names = [leaf.name for leaf in equations.q]
    q = random.uniform(-1, 1, (n, len(names)))
    for first, name in enumerate(names):
        if name.endswith("_qw"):  # the first of the four of a quaternion
            q[:, first : first + 4] /= np.linalg.norm(q[:, first : first + 4], axis=1, keepdims=True)
    u, udot = random.uniform(-1, 1, (2, n, len(equations.u)))
    return States(q, u, udot, random.uniform(-1, 1, (n, len(equations.inputs))))


@dataclass(frozen=True)
class Layout:
    """Which entry of kane's arrays is each entry of Pinocchio's.

    Attributes:
        q: peer_q = q[..., layout.q], shape (nq,).
        u: likewise for speeds, accelerations and generalized forces, shape (n,).
        efforts: for every motor in kane's order, its place among Pinocchio's speeds, shape (m,).
    """

    q: npt.NDArray[np.intp]
    u: npt.NDArray[np.intp]
    efforts: npt.NDArray[np.intp]

    def peer_efforts(self, efforts: Array) -> Array:
        """Efforts of the motors as Pinocchio's generalized forces, zero at a free base, shape (N, n)."""
        tau = np.zeros((len(efforts), len(self.u)))
        tau[:, self.efforts] = efforts
        return tau


def layout(equations: kane.Equations, peer_model: Any) -> Layout:
    """Finds the correspondence by the names of the joints."""
    coordinates = [leaf.name for leaf in equations.q]
    q: list[int] = []
    u: list[int] = []
    for index in range(1, peer_model.njoints):
        if joint_kind(peer_model.joints[index]) == "FreeFlyer":
            base = next(name for name in coordinates if name.endswith("_qw")).removesuffix("_qw")
            speeds = [leaf.name for leaf in equations.u]
            q += [coordinates.index(f"{base}_{suffix}") for suffix in FREE_Q]
            u += [speeds.index(f"{base}_{suffix}") for suffix in FREE_V]
        else:
            place = coordinates.index(peer_model.names[index])
            q.append(place)
            u.append(place - len(coordinates) + len(equations.u))  # the free joint comes first, if there is one
    motors = [leaf.name.removeprefix("tau_") for leaf in equations.inputs]
    joints = {peer_model.names[i]: peer_model.idx_vs[i] for i in range(1, peer_model.njoints)}
    return Layout(np.array(q), np.array(u), np.array([joints[name] for name in motors], dtype=np.intp))
