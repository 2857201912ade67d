"""MuJoCo's model of an MJCF text, with states converted from kane's equations of the same text."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from kane.formulation.equations import Equations
from kane.model.model import Model
from oracles.numbers import State


class MjcfTwin:
    """MuJoCo model of the file, without the features that kane reports as left out."""

    def __init__(self, m: Any, model: Model, equations: Equations) -> None:
        self.m, self.data = m, mujoco.MjData(m)
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
        m.opt.density = m.opt.viscosity = 0.0
        m.actuator_actearly[:] = False  # forces use the present activation
        m.tendon_stiffness[:] = m.tendon_damping[:] = 0.0
        for j in range(m.njnt):
            freedoms = {int(mujoco.mjtJoint.mjJNT_FREE): 6, int(mujoco.mjtJoint.mjJNT_BALL): 3}.get(int(m.jnt_type[j]))
            if freedoms:
                m.jnt_stiffness[j] = 0.0
                m.dof_armature[m.jnt_dofadr[j] : m.jnt_dofadr[j] + freedoms] = 0.0
        mujoco.mj_setConst(m, self.data)  # update MuJoCo's constants that depend on the armature
        self.q = {q.name: i for i, q in enumerate(equations.q)}
        self.u = {u.name: i for i, u in enumerate(equations.u)}
        self.joints = [c for c in model.connections if c.coordinate_names]
        assert len(self.joints) == m.njnt
        self.controls = self._controls([leaf.name for leaf in equations.inputs])

    def _controls(self, inputs: list[str]) -> dict[int, int]:
        """Return the index of the input of each actuator."""
        found = {}
        for i in range(self.m.nu):
            kind, target = self.m.actuator_trntype[i], self.m.actuator_trnid[i, 0]
            look_up = self.m.site if kind == int(mujoco.mjtTrn.mjTRN_SITE) else self.m.joint
            name = self.m.actuator(i).name or (f"control_{look_up(target).name}" if kind in (0, 1, 4) else "")
            for word in (name, f"{name}_control"):
                if word in inputs:
                    found[i] = inputs.index(word)
        assert len(found) == len(inputs)
        for i in set(range(self.m.nu)) - set(found):
            self.m.actuator_gainprm[i] = self.m.actuator_biasprm[i] = 0.0
        return found

    def load(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Set the state; return T and T' u, where MuJoCo's speeds are T u and its accelerations T udot + T' u."""
        m, d = self.m, self.data
        T, drift = np.zeros((m.nv, len(state.u))), np.zeros(m.nv)
        for j, c in enumerate(self.joints):
            a, v = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
            q = state.q[[self.q[x] for x in c.coordinate_names]]
            columns = [self.u[x] for x in c.speed_names]
            if len(columns) < 6:
                d.qpos[a : a + len(q)] = q
                T[v : v + len(columns), columns] = np.eye(len(columns))
                continue
            d.qpos[a : a + 7] = [*q[4:], *q[:4]]
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, q[:4])
            R = R.reshape(3, 3)
            T[v : v + 3, columns[3:]], T[v + 3 : v + 6, columns[:3]] = R, np.eye(3)
            drift[v : v + 3] = R @ np.cross(state.u[columns[:3]], state.u[columns[3:]])
        d.qvel[:] = T @ state.u
        return T, drift

    def mass_matrix(self, state: State) -> np.ndarray:
        """Return M for kane's speeds."""
        T, _ = self.load(state)
        mujoco.mj_forward(self.m, self.data)
        M = np.zeros((self.m.nv, self.m.nv))
        mujoco.mj_fullM(self.m, self.data, M)
        return T.T @ M @ T

    def forward(self, state: State) -> np.ndarray:
        """Return udot, with activations and controls set to the inputs."""
        T, drift = self.load(state)
        for i, k in self.controls.items():
            self.data.ctrl[i] = state.inputs[k]
            if self.m.actuator_actnum[i]:
                self.data.act[self.m.actuator_actadr[i]] = state.inputs[k]
        mujoco.mj_forward(self.m, self.data)
        return np.linalg.solve(T, self.data.qacc - drift)

    def inverse(self, state: State) -> np.ndarray:
        """Return M udot + bias; kane's bias includes the bias forces of actuators."""
        T, drift = self.load(state)
        self.data.ctrl[:] = 0.0
        self.data.act[:] = 0.0
        mujoco.mj_forward(self.m, self.data)
        self.data.qacc[:] = T @ state.udot + drift
        mujoco.mj_inverse(self.m, self.data)
        return T.T @ (self.data.qfrc_inverse - self.data.qfrc_actuator)
