"""ANYmal on its feet: its accelerations by Pinocchio, given the forces that kane reports."""

import runpy

import numpy as np
import pytest
from oracles.robots import robot_file

pin = pytest.importorskip("pinocchio")

LEGS = ("LF", "RF", "LH", "RH")
UP = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def example(root):
    return runpy.run_path(str(root / "examples" / "trotting_quadruped.py"), run_name="example")


@pytest.fixture(scope="module")
def dyn(example):
    return example["robot"]()


@pytest.fixture(scope="module")
def stands(example, dyn):
    return example["walk"](dyn, 2.0, trots=0.0)


@pytest.fixture(scope="module")
def trots(example, dyn):
    return example["walk"](dyn, 1.5)


class Peer:
    """ANYmal in Pinocchio: its free joint has position before attitude, linear before angular velocity."""

    def __init__(self, dyn, example):
        path = str(robot_file("anymal_c_simple_description/urdf/anymal.urdf"))
        self.model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        self.down = np.array([0.0, 0.0, -example["RADIUS"]])
        self.up = np.array([0.0, 0.0, example["UP"]])
        names = [x.name for x in dyn.equations.q[7:]]
        self.order = np.array([names.index(name) for name in self.model.names[2:]])

    def accelerate(self, run, k):
        """udot at a record, by the torques and the forces of contact that kane reports; then the feet, one by one."""
        q, u = run.q[k], run.u[k]
        x = np.concatenate([q[4:7], q[1:4], q[:1], q[7 + self.order]])
        self.x = x
        v = np.concatenate([u[3:6], u[:3], u[6 + self.order]])
        pin.computeAllTerms(self.model, self.data, x, v)
        pin.updateFramePlacements(self.model, self.data)
        loads = np.concatenate([np.zeros(6), run.inputs[k][self.order]])
        for leg in LEGS:
            loads += self.jacobian(leg)[:3].T @ force_of(run, leg, k)
        a = np.linalg.solve(pin.crba(self.model, self.data, x), loads - self.data.nle)
        pin.forwardKinematics(self.model, self.data, x, v, a)
        return [self.foot(leg, v) for leg in LEGS]

    def frame(self, leg):
        return self.model.getFrameId(f"{leg}_FOOT"), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def jacobian(self, leg):
        """Of the point of a foot that is lowest."""
        at, kind = self.frame(leg)
        J = pin.computeFrameJacobian(self.model, self.data, self.x, at, kind)
        arm = self.data.oMf[at].rotation @ self.up + self.down
        return np.vstack([J[:3] - pin.skew(arm) @ J[3:], J[3:]])

    def foot(self, leg, v):
        """The slip, and how its rate differs from that of a sphere that rolls: a_C - turning acceleration x r n."""
        at, kind = self.frame(leg)
        motion = pin.getFrameVelocity(self.model, self.data, at, kind)
        rates = pin.getFrameClassicalAcceleration(self.model, self.data, at, kind)
        arm, w, turns = self.data.oMf[at].rotation @ self.up, motion.angular, rates.angular
        slip = motion.linear + np.cross(w, arm + self.down)
        return slip, rates.linear + np.cross(turns, arm) + np.cross(w, np.cross(w, arm)) + np.cross(turns, self.down)


def force_of(run, leg, k):
    """Normal along z, t1 = -y, t2 = x."""
    N, f1, f2 = run.reactions[leg][k]
    return np.array([f2, -f1, N])


def test_anymal_stands_still_on_forces_that_carry_its_weight(dyn, stands, example):
    weight = 9.81 * pin.computeTotalMass(Peer(dyn, example).model)
    assert stands.modes == ("LF held, RF held, LH held, RH held",)
    assert abs(stands.u[-1]).max() < 1e-3
    at_end = sum(force_of(stands, leg, -1) for leg in LEGS)
    assert at_end == pytest.approx([0.0, 0.0, weight], abs=1e-2 * weight)


@pytest.mark.parametrize("run", ["stands", "trots"])
def test_forces_on_the_feet_of_anymal_keep_what_is_held_rolling_and_what_slides_on_the_floor(
    run, dyn, example, request
):
    """Who vouches: Pinocchio's mass matrix, bias and accelerations of frames. Not at ticks: torques jump there."""
    run, peer = request.getfixturevalue(run), Peer(dyn, example)
    kinds = set()
    ticks = run.time / example["PERIOD"]
    for k in np.flatnonzero(abs(ticks - np.round(ticks)) > 1e-6)[::11]:
        for leg, (slip, off) in zip(LEGS, peer.accelerate(run, k), strict=True):
            force = force_of(run, leg, k)
            if not run.active(leg)[k]:
                assert (force == 0.0).all()
                kinds.add("open")
                continue
            assert force[2] >= 0.0
            assert abs(off[2]) < 1e-6
            friction = np.hypot(*force[:2])
            if np.hypot(*slip[:2]) > 1e-6:
                kinds.add("slides")
                assert force[:2] == pytest.approx(-0.5 * force[2] * slip[:2] / np.hypot(*slip[:2]), abs=1e-3)
            else:
                kinds.add("held")
                assert friction <= 0.8 * force[2] + 1e-6
                assert abs(off).max() < 1e-6
    assert kinds == ({"held"} if run.modes == ("LF held, RF held, LH held, RH held",) else {"open", "slides", "held"})


def test_anymal_trots_forwards(trots):
    """A stride moves a foot by 0.3 rad of hip flexion, some 0.5 m above the floor, there and back twice in 0.5 s."""
    later = trots.time > 0.75
    speed = np.ptp(trots["base_x"][later]) / np.ptp(trots.time[later])
    assert 0.35 < speed < 0.65
    assert trots["base_z"].min() > 0.45
