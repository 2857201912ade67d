"""Serial arms of general geometry, from a fixed seed."""

from __future__ import annotations

import numpy as np

import kane


def general_arm(n: int, *, seed: int = 1988, vertical: bool = False) -> kane.Model:
    """Return an arm of n revolute joints with motors and random lengths, twists, masses, mass centres and inertias.

    Args:
        n: number of joints.
        seed: seed of the generator, to which n is added.
        vertical: whether the first axis is along gravity and through the origin (Z0 = Z1 in Angeles et al. 1988).
    """
    random = np.random.default_rng(seed + n)
    model = kane.Model(f"general {n}R", gravity=(0.0, 0.0, -9.81))
    parent = model.ground
    for k in range(n):
        alpha, a, d = random.uniform(0.3, 1.2), random.uniform(0.1, 0.5), random.uniform(0.1, 0.5)
        if vertical and k == 0:
            alpha = a = d = 0.0
        J = random.normal(size=(3, 3))
        J = 0.05 * J @ J.T
        body = model.body(
            f"B{k + 1}",
            mass=float(random.uniform(1.0, 5.0)),
            com=random.uniform(-0.2, 0.2, size=3).tolist(),
            inertia=(np.trace(J) * np.eye(3) - J).tolist(),
        )
        turned = kane.Rotation.about("x", float(alpha))
        at = turned.apply((0.0, 0.0, float(d)))
        joint = model.connect(parent, body, kane.Revolute(f"q{k + 1}"), at=(float(a), at[1], at[2]), orientation=turned)
        model.load(kane.Motor(joint, model.input(f"tau{k + 1}")))
        parent = body
    return model
