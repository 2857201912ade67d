"""MuJoCo on the same tree: classical Runge-Kutta steps in its own C loop (`mujoco.rollout`), dynamics alone."""

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.pinocchio_models import joint_axis, joint_kind, pinocchio
from benchmarks.peers.toolchain import PeerMissingError

Array = npt.NDArray[np.float64]


def _mujoco() -> ModuleType:
    try:
        import mujoco
        import mujoco.rollout
    except ImportError as error:
        raise PeerMissingError("mujoco is not installed (pip install '.[bench]')") from error
    return mujoco


def mjcf_of(model: Any, step: float, damping: float = 0.0) -> str:
    """A Pinocchio tree as MJCF, contacts and constraints off, Runge-Kutta steps.

    Joints are revolute or prismatic, with damping in each [N m s/rad], or the free joint of a base.
    """
    children: dict[int, list[int]] = {}
    for i in range(1, model.njoints):
        children.setdefault(model.parents[i], []).append(i)
    bodies = "".join(_body(model, i, children) for i in children[0])
    return (
        "<mujoco><compiler balanceinertia='false' boundmass='0' boundinertia='0'/>"
        f"<option timestep='{step:.17g}' integrator='RK4' gravity='{_text(model.gravity.linear)}'>"
        "<flag contact='disable' constraint='disable'/></option>"
        f"<default><joint damping='{damping:g}'/></default><worldbody>{bodies}</worldbody></mujoco>"
    )


def _body(model: Any, i: int, children: dict[int, list[int]]) -> str:
    placement, inertia, joint = model.jointPlacements[i], model.inertias[i], model.joints[i]
    turn = pinocchio().Quaternion(placement.rotation)
    matrix = inertia.inertia
    six = [matrix[0, 0], matrix[1, 1], matrix[2, 2], matrix[0, 1], matrix[0, 2], matrix[1, 2]]
    return (
        f"<body pos='{_text(placement.translation)}' quat='{_text([turn.w, turn.x, turn.y, turn.z])}'>"
        f"<inertial pos='{_text(inertia.lever)}' mass='{inertia.mass:.17g}' fullinertia='{_text(six)}'/>"
        + _joint(joint)
        + "".join(_body(model, k, children) for k in children.get(i, []))
        + "</body>"
    )


def _joint(joint: Any) -> str:
    if joint_kind(joint) == "FreeFlyer":
        return "<freejoint/>"
    kind = "slide" if joint_kind(joint).startswith("P") else "hinge"
    return f"<joint type='{kind}' axis='{_text(joint_axis(joint))}'/>"


def _text(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in np.ravel(values))


def mujoco_model(model: Any, step: float, damping: float = 0.0) -> tuple[Any, Any, Any]:
    """MuJoCo's module, its model of a Pinocchio tree (see ``mjcf_of``), and data of it.

    Raises:
        PeerMissingError: MuJoCo is not installed.
    """
    mujoco = _mujoco()
    made = mujoco.MjModel.from_xml_string(mjcf_of(model, step, damping))
    return mujoco, made, mujoco.MjData(made)


class MujocoSteps:
    """A run from one initial state.

    Args:
        model: Pinocchio's model of the robot.
        step: of time [s].
        x: initial q and v in MuJoCo's order, which for arms is Pinocchio's.
        damping: of every joint but a free one [N m s/rad].

    Raises:
        PeerMissingError: MuJoCo is not installed.
    """

    def __init__(self, model: Any, step: float, x: Array, *, damping: float = 0.0) -> None:
        self._mujoco, self._model, self._data = mujoco_model(model, step, damping)
        size = self._mujoco.mj_stateSize(self._model, self._mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self._start = np.zeros((1, size))
        self._start[0, 1 : 1 + len(x)] = x  # time comes first
        self._length = len(x)

    def run(self, steps: int) -> Array:
        """Takes the steps from the initial state; the state reached, q and v."""
        return self.states(steps)[-1]

    def states(self, steps: int) -> Array:
        """The states q and v after every step."""
        states, _ = self._mujoco.rollout.rollout(self._model, self._data, self._start, nstep=steps)
        return np.asarray(states).reshape(steps, -1)[:, 1 : 1 + self._length]
