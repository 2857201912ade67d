"""The same model in MuJoCo: hinges, slides, balls, and a free joint to the ground."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from kane.formulation.equations import Equations
from kane.model.joints import Free, Prismatic, Revolute, Spherical
from kane.model.joints.joint import axis_components
from kane.model.model import Model
from oracles.numbers import State

KINDS = {Revolute: "hinge", Prismatic: "slide", Spherical: "ball", Free: "free"}


def text(values: Any) -> str:
    """Return numbers as text in MJCF's format."""
    return " ".join(f"{float(x):.17g}" for x in np.ravel(values))


def quaternion(R: np.ndarray) -> np.ndarray:
    """Return the quaternion (w, x, y, z) of a rotation matrix."""
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(R).ravel())
    return found


class MujocoTwin:
    """kane model in MuJoCo, where coordinates describe the child's body frame in the parent's body frame."""

    def __init__(self, model: Model, equations: Equations) -> None:
        self.kane, self.equations = model, equations
        self.q = {q.name: i for i, q in enumerate(equations.q)}
        self.u = {u.name: i for i, u in enumerate(equations.u)}
        bodies = "".join(self._body(c) for c in model.connections if c.parent is model.ground)
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian" balanceinertia="false"/><option gravity="{text(model.gravity)}">'
            f'<flag constraint="disable"/></option><worldbody>{bodies}</worldbody></mujoco>'
        )
        self.data = mujoco.MjData(self.model)

    def _body(self, c: Any) -> str:
        b, R_CM = c.child, c.R_CM.as_numpy()
        R = c.R_PF.as_numpy() @ R_CM.T
        p = np.array(c.p_PF) - R @ np.array(c.p_CM)
        I = np.array(b.inertia)
        six = text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        inner = "".join(self._body(x) for x in self.kane.connections if x.parent is b)
        axis = f'axis="{text(R_CM @ axis_components(c.joint.axis))}"' if c.joint.one_dof else ""
        pos = "" if isinstance(c.joint, Free) else f'pos="{text(c.p_CM)}"'
        return (
            f'<body name="{b.name}" pos="{text(p)}" quat="{text(quaternion(R))}">'
            f'<joint name="{c.name}" type="{KINDS[type(c.joint)]}" {pos} {axis}/>'
            f'<inertial mass="{text(b.mass)}" pos="{text(b.com)}" fullinertia="{six}"/>{inner}</body>'
        )

    def load(self, state: State) -> np.ndarray:
        """Set the state; return T and T' u, where MuJoCo's speeds are T u and its accelerations T udot + T' u."""
        n = len(state.u)
        T, drift = np.zeros((self.model.nv, n)), np.zeros(self.model.nv)
        for c in self.kane.connections:
            joint = self.model.joint(c.name)
            a, v = int(joint.qposadr[0]), int(joint.dofadr[0])
            q = state.q[[self.q[x] for x in c.coordinate_names]]
            columns = [self.u[x] for x in c.speed_names]
            R_CM = c.R_CM.as_numpy()
            if c.joint.one_dof:
                self.data.qpos[a], T[v, columns[0]] = q[0], 1.0
            elif c.joint.nu == 3:
                self.data.qpos[a : a + 4] = [q[0], *(R_CM @ q[1:])]
                T[v : v + 3, columns] = R_CM
            else:
                assert np.allclose(R_CM, np.eye(3))
                assert not any(c.p_CM)
                self._free(c, q, a)
                R = self._matrix(self.data.qpos[a + 3 : a + 7])
                T[v : v + 3, columns[3:]], T[v + 3 : v + 6, columns[:3]] = R, np.eye(3)
                drift[v : v + 3] = R @ np.cross(state.u[columns[:3]], state.u[columns[3:]])
        self.data.qvel[:] = T @ state.u
        return T, drift

    def _free(self, c: Any, q: np.ndarray, a: int) -> None:
        R_PF = c.R_PF.as_numpy()
        self.data.qpos[a : a + 3] = np.array(c.p_PF) + R_PF @ q[4:]
        mujoco.mju_mulQuat(self.data.qpos[a + 3 : a + 7], quaternion(R_PF), q[:4])

    @staticmethod
    def _matrix(q: np.ndarray) -> np.ndarray:
        found = np.zeros(9)
        mujoco.mju_quat2Mat(found, q)
        return found.reshape(3, 3)

    def forward(self, state: State, efforts: np.ndarray) -> np.ndarray:
        """Return udot under efforts along kane's speeds."""
        T, drift = self.load(state)
        self.data.qfrc_applied[:] = np.linalg.solve(T.T, efforts)
        mujoco.mj_forward(self.model, self.data)
        return np.linalg.solve(T, self.data.qacc - drift)

    def mass_matrix(self, state: State) -> np.ndarray:
        """Return M for kane's speeds."""
        T, _ = self.load(state)
        mujoco.mj_forward(self.model, self.data)
        n = self.model.nv
        M = np.linalg.inv(np.column_stack([self._solve(e) for e in np.eye(n)]))
        return T.T @ M @ T

    def _solve(self, y: np.ndarray) -> np.ndarray:
        x = np.zeros((1, self.model.nv))
        mujoco.mj_solveM(self.model, self.data, x, y.reshape(1, -1))
        return x[0]

    def bias(self, state: State) -> np.ndarray:
        """Return the terms without udot."""
        T, drift = self.load(state)
        mujoco.mj_forward(self.model, self.data)
        M = np.linalg.inv(np.column_stack([self._solve(e) for e in np.eye(self.model.nv)]))
        return T.T @ (self.data.qfrc_bias + M @ drift)
