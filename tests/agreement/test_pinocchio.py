"""Random trees and all short chains agree with Pinocchio's recursive algorithms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from oracles.numbers import close, evaluated, input_matrix, mass_matrix, random_state
from oracles.pinocchio_twin import PinocchioTwin

import kane
from kane.library import random_tree
from kane.library.random_tree import PLAIN_JOINTS

# Both programs sum some hundred products of numbers of order one: 1e4 roundings of 1.1e-16.
ROUNDING = 1e-12
REVOLUTE, PRISMATIC, BALL, FREE = PLAIN_JOINTS
SEQUENCES = ["".join(s) for n in (1, 2, 3) for s in product("RP", repeat=n)]
TREES = [(seed, bodies) for seed, bodies in enumerate((1, 1, 2, 2, 3, 3, 4, 5, 6, 8))]
LONG_TREES = [(seed, bodies) for seed in range(20, 32) for bodies in (4, 7, 12)]


class Case:
    """A model in both programs, at a random state."""

    def __init__(self, model, seed):
        self.model, self.equations = model, kane.formulate(model)
        self.twin = PinocchioTwin(model, self.equations)
        self.state = random_state(self.equations, np.random.default_rng(seed))

    def check_dynamics(self):
        e, twin, state = self.equations, self.twin, self.state
        M = mass_matrix(e, state)
        close(M, twin.mass_matrix(state), ROUNDING)
        close(evaluated(e, "inverse", state), twin.inverse(state), ROUNDING)
        close(evaluated(e, "bias", state), twin.bias(state), ROUNDING)
        efforts = input_matrix(e, state) @ state.inputs
        # A relative error of M is multiplied by its condition number in the solution.
        close(evaluated(e, "forward", state), twin.forward(state, efforts), ROUNDING * np.linalg.cond(M))

    def check_measures(self):
        e, twin, state = self.equations, self.twin, self.state
        ours = evaluated(e, "energy", state)
        close(ours[0], twin.energy(state)[0], ROUNDING)
        close(ours[1], twin.energy(state)[1], ROUNDING)
        close(evaluated(e, "momentum", state), twin.momentum(state), ROUNDING)
        poses = evaluated(e, "poses", state).reshape(-1, 12)
        for name, pose in zip(e.bodies[1:], poses, strict=True):
            expected = twin.pose(name, state)
            close(pose[:9].reshape(3, 3), expected.rotation, ROUNDING)
            close(pose[9:], expected.translation, ROUNDING)
        last, at = e.bodies[-1], np.array([0.3, -0.2, 0.5])
        jacobian = evaluated(e, f"jacobian {last}", state, at).reshape(6, -1)
        close(jacobian, twin.jacobian(last, state, at), ROUNDING)


def serial(sequence, seed):
    """A chain of random bodies with random poses, each hung on the one before."""
    random = np.random.default_rng(seed)
    model = kane.Model(sequence, gravity=random.normal(size=3).tolist())
    parent = model.ground
    maker = {"R": REVOLUTE, "P": PRISMATIC, "S": BALL, "F": FREE}
    for k, letter in enumerate(sequence):
        J = random.normal(size=(3, 3))
        J = J @ J.T
        inertia = (np.trace(J) * np.eye(3) - J).tolist()
        body = model.body(
            f"B{k}", mass=float(random.uniform(0.5, 2.0)), inertia=inertia, com=random.normal(size=3).tolist()
        )
        joint = maker[letter](f"j{k}", tuple(random.normal(size=3).tolist()))
        pose = dict(
            at=random.normal(size=3).tolist(),
            orientation=kane.Rotation.quaternion(*random.normal(size=4)),
            child_at=random.normal(size=3).tolist(),
            child_orientation=kane.Rotation.quaternion(*random.normal(size=4)),
        )
        connection = model.connect(parent, body, joint, **pose)
        if joint.one_dof:
            model.load(kane.Motor(connection, model.input(f"tau{k}")))
        parent = body
    return model


@pytest.mark.parametrize("sequence", [*SEQUENCES, "SR", "RS", "FR", "SP", "PS", "FPR", "SS", "RF", "PF", "SRS"])
def test_chains_of_all_short_sequences_of_joints_have_pinocchios_dynamics(sequence):
    case = Case(serial(sequence, 11), 5)
    case.check_dynamics()
    case.check_measures()


@pytest.mark.parametrize(("seed", "bodies"), TREES)
def test_random_trees_have_pinocchios_dynamics(seed, bodies):
    case = Case(random_tree(seed, bodies, joints=PLAIN_JOINTS), seed)
    case.check_dynamics()
    case.check_measures()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "bodies"), LONG_TREES)
def test_many_random_trees_have_pinocchios_dynamics(seed, bodies):
    case = Case(random_tree(seed, bodies, joints=PLAIN_JOINTS), seed)
    case.check_dynamics()
    case.check_measures()


@pytest.mark.parametrize("sequence", ["RRRRRRRRRRRR", "RPRRPPRRRPRR"])
def test_chains_of_twelve_have_pinocchios_dynamics(sequence):
    Case(serial(sequence, 3), 3).check_dynamics()


def test_native_code_gives_pinocchios_numbers():
    case = Case(random_tree(6, 4, joints=PLAIN_JOINTS), 6)
    dyn, s, twin = kane.build(case.equations), case.state, case.twin
    M = dyn.mass_matrix(s.q)
    close(dyn.inverse(s.q, s.u, s.udot), twin.inverse(s), ROUNDING)
    close(M, twin.mass_matrix(s), ROUNDING)
    efforts = input_matrix(case.equations, s) @ s.inputs
    close(dyn.forward(s.q, s.u, s.inputs), twin.forward(s, efforts), ROUNDING * np.linalg.cond(M))
    close(dyn.energy(s.q, s.u).total, sum(twin.energy(s)), ROUNDING)
    close(dyn.momentum(s.q, s.u).angular, twin.momentum(s)[3:], ROUNDING)
    name, at = case.equations.bodies[-1], np.array([0.1, 0.2, 0.3])
    close(dyn.poses(s.q)[name].orientation, twin.pose(name, s).rotation, ROUNDING)
    close(dyn.jacobian(name, s.q, at=at).linear, twin.jacobian(name, s, at)[3:], ROUNDING)
