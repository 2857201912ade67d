"""The same tree described with other body frames and other joint frames."""

from __future__ import annotations

import numpy as np

import kane
from kane.model.model import Model


def reframed(model: Model, seed: int) -> Model:
    """Return a copy of a numerical model in which every body has another body frame.

    Joints, their coordinates and their directions are equal to the original's. Loads are not copied; each joint with
    one degree of freedom gets a motor.
    """
    random = np.random.default_rng(seed)
    copy = kane.Model(model.name + " reframed", gravity=model.gravity)
    bodies = {model.ground: (copy.ground, np.eye(3), np.zeros(3))}
    for body in model.bodies[1:]:
        R = kane.Rotation.quaternion(*random.normal(size=4)).as_numpy()  # R_BA, A the new frame
        p = random.normal(size=3)
        inertia = R.T @ np.array(body.inertia) @ R
        made = copy.body(
            body.name,
            mass=body.mass,
            com=(R.T @ (np.array(body.com) - p)).tolist(),
            inertia=(0.5 * (inertia + inertia.T)).tolist(),
        )
        bodies[body] = made, R, p
    for c in model.connections:
        parent, R, p = bodies[c.parent]
        child, S, r = bodies[c.child]
        connection = copy.connect(
            parent,
            child,
            c.joint,
            at=(R.T @ (np.array(c.p_PF) - p)).tolist(),
            orientation=kane.Rotation.matrix(R.T @ c.R_PF.as_numpy()),
            child_at=(S.T @ (np.array(c.p_CM) - r)).tolist(),
            child_orientation=kane.Rotation.matrix(S.T @ c.R_CM.as_numpy()),
            name=c.name,
        )
        if c.joint.one_dof:
            copy.load(kane.Motor(connection, copy.input(f"tau{len(copy.inputs)}")))
    return copy
