"""Equations from load_urdf and formulate give the numbers of Pinocchio's recursive algorithms on the same files."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from kane.expression.interpret import interpret
from kane.formulation.formulate import formulate
from kane.importers.urdf.urdf import load_urdf
from kane.model.joints.free import Free

CASES = (
    ("ur_description/urdf/ur5_robot.urdf", False),
    ("panda_description/urdf/panda.urdf", False),
    ("anymal_c_simple_description/urdf/anymal.urdf", True),
    ("talos_data/robots/talos_reduced.urdf", True),
    ("talos_data/robots/talos_full_v2.urdf", False),
    ("baxter_description/urdf/baxter.urdf", False),
)
# Both sum some hundred products in double precision, and kane snaps angles that lie 1e-11 rad off a right angle.
RELATIVE = 1e-9
STATES = 5
# Pinocchio's free joint has position before attitude, and linear before angular velocity; kane the other way round.
COORDINATES = (4, 5, 6, 1, 2, 3, 0)
SPEEDS = (3, 4, 5, 0, 1, 2)


class Pair:
    """One robot in both programs, with random states."""

    def __init__(self, name: str, free: bool) -> None:
        path = Path(str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")))
        self.ours = load_urdf(path / name, base=Free("root_joint") if free else None)
        self.equations = formulate(self.ours)
        root = (pin.JointModelFreeFlyer(),) if free else ()
        self.theirs = pin.buildModelFromUrdf(str(path / name), *root)
        self.data = self.theirs.createData()
        self.random = np.random.default_rng(7)
        self.columns = self._columns()

    def _columns(self) -> np.ndarray:
        """Their speeds are columns @ ours: mimic joints, which follow here, move by themselves there."""
        speeds = {u.name: i for i, u in enumerate(self.equations.u)}
        columns = np.zeros((self.theirs.nv, len(speeds)))
        zeros = dict.fromkeys(self.equations.q, 0.0)
        for c in self.ours.connections:
            at = self.theirs.joints[self.theirs.getJointId(c.name)].idx_v
            if not c.joint.one_dof:
                for k, i in enumerate(SPEEDS):
                    columns[at + k, speeds[c.speed_names[i]]] = 1.0
                continue
            (still,) = interpret([c.q], zeros)
            for other in self.ours.connections:
                if other.joint.one_dof and other.coordinate_names:
                    (moved,) = interpret([c.q], zeros | {other.q: 1.0})
                    columns[at, speeds[other.speed_names[0]]] = moved - still
        return columns

    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q in our order, q in theirs, and u, udot in ours."""
        names = [q.name for q in self.equations.q]
        q = self.random.normal(size=len(names))
        theirs = np.zeros(self.theirs.nq)
        for c in self.ours.connections:
            if not c.joint.one_dof:
                at = [names.index(n) for n in c.coordinate_names]
                q[at[:4]] /= np.linalg.norm(q[at[:4]])
                theirs[[self.theirs.joints[self.theirs.getJointId(c.name)].idx_q + k for k in range(7)]] = [
                    q[at[i]] for i in COORDINATES
                ]
        values = dict(zip(self.equations.q, q, strict=True))
        for c in self.ours.connections:
            if c.joint.one_dof:
                joint = self.theirs.joints[self.theirs.getJointId(c.name)]
                (angle,) = interpret([c.q], values)
                theirs[joint.idx_q : joint.idx_q + joint.nq] = (
                    [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
                )
        u, udot = self.random.normal(size=(2, len(self.equations.u)))
        return q, theirs, u, udot


@pytest.fixture(scope="module", params=CASES, ids=[Path(name).stem for name, _ in CASES])
def pair(request):
    return Pair(*request.param)


def test_inverse_dynamics_are_those_of_pinocchio(pair):
    e = pair.equations
    inverse = e.inverse
    for _ in range(STATES):
        q, theirs, u, udot = pair.state()
        values = dict(zip((*e.q, *e.u, *e.udot), (*q, *u, *udot), strict=True))
        ours = np.array(interpret(inverse, values))
        v = pair.columns @ u
        efforts = pin.rnea(pair.theirs, pair.data, theirs, v, pair.columns @ udot) + np.asarray(pair.theirs.damping) * v
        expected = pair.columns.T @ efforts
        np.testing.assert_allclose(ours, expected, atol=RELATIVE * np.abs(expected).max())


def test_the_mass_matrix_is_that_of_pinocchio(pair):
    e = pair.equations
    n = len(e.u)
    entries = [x for row in e.mass_matrix for x in row]
    for _ in range(STATES):
        q, theirs, *_ = pair.state()
        ours = np.array(interpret(entries, dict(zip(e.q, q, strict=True)))).reshape(n, n)
        full = pin.crba(pair.theirs, pair.data, theirs)
        full = np.triu(full) + np.triu(full, 1).T
        expected = pair.columns.T @ full @ pair.columns
        np.testing.assert_allclose(ours, expected, atol=RELATIVE * np.abs(expected).max())


def test_forward_dynamics_undo_inverse_dynamics(pair):
    e = pair.equations
    q, _, u, udot = pair.state()
    values = dict(zip((*e.q, *e.u, *e.udot), (*q, *u, *udot), strict=True))
    efforts = np.array(interpret(e.inverse, values))
    inputs = np.array([[float(x) for x in row] for row in e.input_matrix])
    motors = np.linalg.lstsq(inputs, efforts, rcond=None)[0]
    # A free base has no motors: what they cannot supply is taken off the acceleration by the mass matrix.
    short = efforts - inputs @ motors
    M = np.array(interpret([x for row in e.mass_matrix for x in row], values)).reshape(len(u), len(u))
    known = dict(zip((*e.q, *e.u, *e.inputs), (*q, *u, *motors), strict=True))
    forward = np.array(interpret(e.forward, known))
    # The worst of these mass matrices has a condition number of about 1e5.
    np.testing.assert_allclose(M @ (forward - udot), -short, atol=RELATIVE * np.abs(efforts).max())
