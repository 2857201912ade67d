"""Random trees have MuJoCo's dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.mujoco_twin import MujocoTwin
from oracles.numbers import close, evaluated, input_matrix, mass_matrix, random_state

import kane
from kane.library import chain, random_tree, stanford_arm
from kane.library.random_tree import PLAIN_JOINTS

REVOLUTE, PRISMATIC, BALL, _ = PLAIN_JOINTS
# MuJoCo finds principal axes of the inertias by rotations until what is left is below 1e-12.
PRINCIPAL = 1e-10


def floating(seed):
    """A free body with two arms."""
    m = kane.Model("floating", gravity=(0.3, -0.2, -9.81))
    random = np.random.default_rng(seed)
    root = m.body("root", mass=2.0, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), com=(0.1, 0.2, 0.3))
    m.connect(
        m.ground, root, kane.Free("base"), at=(1.0, 2.0, 3.0), orientation=kane.Rotation.euler("xyz", 0.3, 0.4, 0.5)
    )
    for k, joint in enumerate((kane.Revolute("q1", axis=(1.0, 2.0, 3.0)), kane.Spherical("ball"))):
        arm = m.body(f"arm{k}", mass=1.0, inertia=(0.1, 0.2, 0.25), com=random.normal(size=3).tolist())
        at, turn = random.normal(size=3).tolist(), kane.Rotation.quaternion(*random.normal(size=4))
        m.connect(root, arm, joint, at=at, child_at=at, child_orientation=turn)
    return m


MODELS = {
    "revolute": lambda: random_tree(1, 4, joints=(REVOLUTE,)),
    "revolute and prismatic": lambda: random_tree(2, 5, joints=(REVOLUTE, PRISMATIC)),
    "with balls": lambda: random_tree(3, 5, joints=(REVOLUTE, PRISMATIC, BALL)),
    "many": lambda: random_tree(5, 10, joints=(REVOLUTE, PRISMATIC, BALL)),
    "stanford arm": stanford_arm,
    "chain": lambda: chain(8),
    "floating": lambda: floating(1),
}


@pytest.mark.parametrize("name", MODELS)
def test_trees_have_mujocos_dynamics(name):
    model = MODELS[name]()
    e = kane.formulate(model)
    twin = MujocoTwin(model, e)
    for seed in range(3):
        s = random_state(e, np.random.default_rng(seed))
        M = mass_matrix(e, s)
        condition = np.linalg.cond(M)  # MuJoCo's M comes out of its inverse
        close(M, twin.mass_matrix(s), PRINCIPAL * condition)
        close(evaluated(e, "bias", s), twin.bias(s), PRINCIPAL * condition)
        efforts = input_matrix(e, s) @ s.inputs
        close(evaluated(e, "forward", s), twin.forward(s, efforts), PRINCIPAL * condition)
