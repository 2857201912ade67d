"""The same model in Pinocchio, built only from the bodies and connections of a kane model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from kane.expression.derivative import gradient, total_time_derivative
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, RATE
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.equations import Equations
from kane.model.joints import Free, Gimbal, Prismatic, Revolute, Screw, Spherical, Universal, Weld
from kane.model.joints.joint import axis_components
from kane.model.model import Model
from oracles.numbers import State

# kane's indices of a joint's coordinates and speeds in Pinocchio's order: its quaternion is (x, y, z, w), and its free
# joint has position and linear velocity first.
COORDINATES = {1: (0,), 2: (0, 1), 3: (0, 1, 2), 4: (1, 2, 3, 0), 7: (4, 5, 6, 1, 2, 3, 0)}
SPEEDS = {1: (0,), 2: (0, 1), 3: (0, 1, 2), 6: (3, 4, 5, 0, 1, 2)}
MODELS = {
    Revolute: lambda joint: pin.JointModelRevoluteUnaligned(np.array(axis_components(joint.axis))),
    Prismatic: lambda joint: pin.JointModelPrismaticUnaligned(np.array(axis_components(joint.axis))),
    Spherical: lambda joint: pin.JointModelSpherical(),
    Free: lambda joint: pin.JointModelFreeFlyer(),
    Screw: lambda joint: pin.JointModelHelicalUnaligned(np.array(axis_components(joint.axis)), joint.metres_per_radian),
    Universal: lambda joint: pin.JointModelUniversal(
        np.array(axis_components(joint.axis1)), np.array(axis_components(joint.axis2))
    ),
    Gimbal: lambda joint: {(2, 1, 0): pin.JointModelSphericalZYX}[joint.axes](),
}


class PinocchioTwin:
    """kane model in Pinocchio, with speeds v = C u + c; joints that follow an expression are independent there."""

    def __init__(self, model: Model, equations: Equations) -> None:
        self.equations = equations
        self.defaults = {p: equations.defaults[p.name] for p in equations.parameters}
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(self._numbers(model.gravity)), np.zeros(3))
        self.places: dict[str, tuple[int, Any]] = {"ground": (0, pin.SE3.Identity())}
        self.joints: list[tuple[Any, int]] = []
        # Depth first, because Pinocchio requires contiguous speeds in each subtree.
        below: dict[str, list[Any]] = {}
        for c in model.connections:
            below.setdefault(c.parent.name, []).append(c)
        stack = list(below["ground"])
        while stack:
            connection = stack.pop()
            self._add(connection)
            stack.extend(below.get(connection.child.name, []))
        self.data = self.model.createData()

    def _numbers(self, expressions: Any) -> list[float]:
        lift = self.equations.system.arena.lift
        return [float(x) for x in interpret([lift(x) for x in expressions], self.defaults)]

    def _pose(self, R: Any, p: Any) -> Any:
        entries = self._numbers([x for row in R.entries for x in row])
        return pin.SE3(np.array(entries).reshape(3, 3), np.array(self._numbers(p)))

    def _add(self, c: Any) -> None:
        index, place = self.places[c.parent.name]
        F, M = place * self._pose(c.R_PF, c.p_PF), self._pose(c.R_CM, c.p_CM)
        if isinstance(c.joint, Weld):
            place = F * M.inverse()
        else:
            index = self.model.addJoint(index, MODELS[type(c.joint)](c.joint), F, c.name)
            self.joints.append((c, index))
            place = M.inverse()
        self.places[c.child.name] = index, place
        body = c.child
        inertia = np.array(self._numbers([x for row in body.inertia for x in row])).reshape(3, 3)
        com = np.array(self._numbers(body.com))
        if index:
            self.model.appendBodyToJoint(index, pin.Inertia(*self._numbers([body.mass]), com, inertia), place)

    def q(self, state: State) -> np.ndarray:
        """Return Pinocchio's coordinates."""
        values = self._values(state)
        out = np.zeros(self.model.nq)
        for c, index in self.joints:
            joint = self.model.joints[index]
            found = interpret(list(c.coordinates), values)
            out[joint.idx_q : joint.idx_q + joint.nq] = [found[k] for k in COORDINATES[c.joint.nq]]
        return out

    def _values(self, state: State) -> dict[Any, float]:
        e = self.equations
        return dict(zip((e.t, *e.q), (state.t, *state.q), strict=True)) | self.defaults

    def motion(self, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return C, c and dC/dt u + dc/dt of Pinocchio's v = C u + c."""
        e = self.equations
        column = {u.name: j for j, u in enumerate(e.u)}
        C, c0, rest = np.zeros((self.model.nv, len(e.u))), np.zeros(self.model.nv), np.zeros(self.model.nv)
        for c, index in self.joints:
            start = self.model.joints[index].idx_v
            if c.speed_names:
                for k, i in enumerate(SPEEDS[c.joint.nu]):
                    C[start + k, column[c.speed_names[i]]] = 1.0
                continue
            C[start], c0[start], rest[start] = self._followed(c.coordinates[0], state, column)
        return C, c0, rest

    def _followed(self, q: Any, state: State, column: dict[str, int]) -> tuple[np.ndarray, float, float]:
        """Return the row of C, c and dC/dt u + dc/dt of a coordinate that is an expression of scalar coordinates."""
        e = self.equations
        speed = {n: s for c, _ in self.joints for n, s in zip(c.coordinate_names, c.speed_names, strict=False)}
        own = [x for x in leaves([q]) if x.op == COORDINATE]
        rates = {x: q.arena.leaf(RATE, x.data) for x in own}
        values = self._values(state) | {rate: state.u[column[speed[x.data]]] for x, rate in rates.items()}
        first = total_time_derivative([q], rates)
        at_rest = substitute_nodes(first, dict.fromkeys(rates.values(), q.arena.zero))
        second = total_time_derivative(first, rates)
        row = np.zeros(len(e.u))
        if own:
            for x, slope in zip(own, interpret(gradient(q, own), values), strict=True):
                row[column[speed[x.data]]] = slope
        return row, float(interpret(at_rest, values)[0]), float(interpret(second, values)[0])

    def inverse(self, state: State) -> np.ndarray:
        """Return M udot + bias without loads other than gravity."""
        C, c0, rest = self.motion(state)
        q = self.q(state)
        return C.T @ pin.rnea(self.model, self.data, q, C @ state.u + c0, C @ state.udot + rest)

    def bias(self, state: State) -> np.ndarray:
        """Return the terms without udot."""
        C, c0, rest = self.motion(state)
        return C.T @ pin.rnea(self.model, self.data, self.q(state), C @ state.u + c0, rest)

    def mass_matrix(self, state: State) -> np.ndarray:
        """Return M for kane's speeds."""
        C, _, _ = self.motion(state)
        M = np.triu(pin.crba(self.model, self.data, self.q(state)))
        return C.T @ (M + np.triu(M, 1).T) @ C

    def forward(self, state: State, efforts: np.ndarray) -> np.ndarray:
        """Return udot under efforts along kane's speeds, for models whose joints are all independent."""
        C, _, _ = self.motion(state)
        return C.T @ pin.aba(self.model, self.data, self.q(state), C @ state.u, C @ efforts)

    def energy(self, state: State) -> tuple[float, float]:
        """Return kinetic and potential energy."""
        C, c0, _ = self.motion(state)
        q = self.q(state)
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, C @ state.u + c0)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q)

    def momentum(self, state: State) -> np.ndarray:
        """Return linear momentum, and angular momentum about the origin."""
        C, c0, _ = self.motion(state)
        h = pin.computeCentroidalMomentum(self.model, self.data, self.q(state), C @ state.u + c0)
        return np.concatenate([h.linear, h.angular + np.cross(self.data.com[0], h.linear)])

    def pose(self, body: str, state: State) -> Any:
        """Return the pose of a body as an SE3."""
        pin.forwardKinematics(self.model, self.data, self.q(state))
        index, place = self.places[body]
        return self.data.oMi[index] * place

    def jacobian(self, body: str, state: State, at: np.ndarray) -> np.ndarray:
        """Return partial angular velocities (3 rows) and partial velocities (3 rows) of a point of a body."""
        C, _, _ = self.motion(state)
        index, place = self.places[body]
        pin.computeJointJacobians(self.model, self.data, self.q(state))
        J = pin.getJointJacobian(self.model, self.data, index, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        J = J.reshape(6, -1) @ C  # Pinocchio returns a vector for one column
        oMi = self.data.oMi[index]
        arm = oMi.rotation @ (place.act(at))
        return np.vstack(
            [J[3:], J[:3] - np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]]) @ J[3:]]
        )
