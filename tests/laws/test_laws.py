"""Laws of mechanics on random models: work and energy, impulse and momentum, frames of reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.numbers import close, evaluated, input_matrix, interpreted, mass_matrix, random_state, values_of
from oracles.reframed import reframed

import kane
from kane.expression.derivative import total_time_derivative
from kane.expression.functions import tanh
from kane.formulation.quantities.programs import quantity
from kane.library import n_link_pendulum, random_tree, stanford_arm
from kane.library.random_tree import PLAIN_JOINTS

# Some hundred products of numbers of order one; what cancels is of the size it is measured against.
ROUNDING = 1e-11
REVOLUTE, PRISMATIC, BALL, FREE = PLAIN_JOINTS


def floating(seed, bodies, gravity):
    """A random tree whose root is free and whose other joints are anything; motors in the joints of one freedom."""
    kinds = iter([FREE])

    def joint(name, axis):
        return next(kinds, PLAIN_JOINTS[(seed + len(name) + int(name[1:])) % 3])(name, axis)

    model = random_tree(seed, bodies, joints=(joint,))
    for c in model.connections[1:]:
        if c.parent is model.ground:  # hang it on the root instead
            model.connections.remove(c)
            model.connections.append(replace(c, parent=model.bodies[1]))
    model.loads.clear()
    model.gravity = gravity
    for c in model.connections:
        if c.joint.one_dof:
            model.load(kane.Motor(c, model.parameter(f"effort {c.name}", 0.7)))
    return model


def rates(equations, name, state):
    """Time derivatives of the outputs of a program along the motion."""
    e = equations
    along = dict(zip(e.q, e.kinematics, strict=True)) | dict(zip(e.u, e.forward, strict=True))
    changed = total_time_derivative([e.system.arena.lift(x) for x in quantity(e, name).outputs], along)
    return interpreted(e, changed, values_of(e, state))


def terms(equations, state):
    """The size of what balances: the power of each inertia force and effort on its own."""
    udot = evaluated(equations, "forward", state)
    M = np.abs(mass_matrix(equations, state))
    forces = M @ np.abs(udot) + np.abs(evaluated(equations, "bias", state))
    return np.abs(state.u) @ forces * np.linalg.cond(M) ** 0.5


TREES = {
    **{f"tree {s}": lambda s=s: random_tree(s, 1 + s % 4) for s in range(8)},
    "stanford arm": stanford_arm,
    "pendulum": lambda: n_link_pendulum(3),
}


@pytest.mark.parametrize("name", TREES)
def test_energy_changes_by_the_power_of_the_inputs(name):
    e = kane.formulate(TREES[name]())
    state = random_state(e, np.random.default_rng(1))
    power = state.u @ (input_matrix(e, state) @ state.inputs)
    assert abs(rates(e, "energy", state).sum() - power) <= ROUNDING * terms(e, state)


def loaded(seed):
    """A tree with springs, dampers, a force with its reaction, and friction that is not linear."""
    model = random_tree(seed, 4, joints=(REVOLUTE, PRISMATIC))
    first, second, third, fourth = model.connections
    model.load(kane.Spring(first, 3.0, rest=0.2))
    model.load(kane.Damper(second, 0.7))
    model.load(kane.Damper(third, model.parameter("c", 0.4)))
    model.load(kane.Motor(fourth, -0.3 * tanh(fourth.qdot / 0.1)))
    return model


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_ledger_of_power_closes_inputs_in_dampers_and_friction_out(seed):
    e = kane.formulate(loaded(seed))
    state = random_state(e, np.random.default_rng(seed))
    u = state.u
    friction = 0.7 * u[1] ** 2 + 0.4 * u[2] ** 2 + 0.3 * np.tanh(u[3] / 0.1) * u[3]
    assert abs(rates(e, "energy", state).sum() - (u @ state.inputs - friction)) <= ROUNDING * terms(e, state)


@pytest.mark.parametrize("name", TREES)
def test_kinetic_energy_is_the_quadratic_form_of_a_positive_definite_mass_matrix(name):
    e = kane.formulate(TREES[name]())
    state = random_state(e, np.random.default_rng(2))
    M = mass_matrix(e, state)
    assert all(e.mass_matrix[i][j] is e.mass_matrix[j][i] for i in range(len(M)) for j in range(i))
    assert np.linalg.eigvalsh(M).min() > 0.0
    close(evaluated(e, "energy", state)[0], 0.5 * state.u @ M @ state.u, ROUNDING)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.3, -1.0, -9.81)], ids=["weightless", "falling"])
def test_momentum_of_a_free_tree_changes_by_its_weight_alone(seed, gravity):
    model = floating(seed, 2 + seed, gravity)
    e = kane.formulate(model)
    state = random_state(e, np.random.default_rng(seed))
    change = rates(e, "momentum", state)
    masses = np.array([b.mass for b in model.bodies[1:]])
    poses = evaluated(e, "poses", state).reshape(-1, 12)
    centres = [p[9:] + p[:9].reshape(3, 3) @ np.array(b.com) for p, b in zip(poses, model.bodies[1:], strict=True)]
    weight = masses.sum() * np.array(gravity)
    moment = np.cross(masses @ np.array(centres), gravity)
    # The inner forces that cancel are of the size of momentum times speed, and of the efforts.
    scale = np.abs(evaluated(e, "momentum", state)).max() * np.abs(state.u).max() + np.abs(moment).max() + 1.0
    bound = ROUNDING * scale * np.linalg.cond(mass_matrix(e, state)) ** 0.5
    np.testing.assert_allclose(change, [*weight, *moment], rtol=0.0, atol=bound)


@pytest.mark.parametrize("expressed", ["ground", "other body"])
@pytest.mark.parametrize("reacted", [False, True], ids=["from outside", "between bodies"])
def test_momentum_changes_by_the_impulse_of_outer_forces_and_torques(reacted, expressed):
    model = floating(5, 4, (0.0, 0.0, 0.0))
    on, off = model.bodies[3], model.bodies[2]
    f, t, at = np.array([0.5, -1.0, 2.0]), np.array([0.3, 0.2, -0.4]), np.array([0.1, 0.2, -0.3])
    frame = None if expressed == "ground" else off
    model.load(kane.Force(on.point(at.tolist()), f.tolist(), frame, on_ground(off) if reacted else None))
    model.load(kane.Torque(on, t.tolist(), frame, off if reacted else None))
    e = kane.formulate(model)
    state = random_state(e, np.random.default_rng(3))
    change = rates(e, "momentum", state)
    poses = dict(zip(e.bodies[1:], evaluated(e, "poses", state).reshape(-1, 12), strict=True))

    def R(body):
        return poses[body.name][:9].reshape(3, 3)

    turn = np.eye(3) if frame is None else R(off)
    P = poses[on.name][9:] + R(on) @ at
    force, torque = turn @ f, turn @ t
    moment = np.cross(P, force) + torque
    if reacted:
        Q = poses[off.name][9:] + R(off) @ np.array([0.4, 0.0, 0.1])
        force, moment = force - force, moment - np.cross(Q, turn @ f) - torque
    scale = np.abs(evaluated(e, "momentum", state)).max() * np.abs(state.u).max() + 10.0
    bound = ROUNDING * scale * np.linalg.cond(mass_matrix(e, state)) ** 0.5
    np.testing.assert_allclose(change, [*force, *moment], rtol=0.0, atol=bound)


def on_ground(body):
    return body.point((0.4, 0.0, 0.1))


@pytest.mark.parametrize("seed", range(6))
def test_the_frames_in_which_bodies_are_described_change_no_acceleration(seed):
    model = random_tree(seed, 3 + seed % 3)
    e, f = kane.formulate(model), kane.formulate(reframed(model, seed))
    state = random_state(e, np.random.default_rng(seed))
    M = mass_matrix(e, state)
    close(mass_matrix(f, state), M, ROUNDING)
    close(evaluated(f, "inverse", state), evaluated(e, "inverse", state), ROUNDING)
    ours, theirs = evaluated(f, "forward", state), evaluated(e, "forward", state)
    close(ours, theirs, ROUNDING * np.linalg.cond(M))
    for name in ("energy", "momentum"):
        close(evaluated(f, name, state), evaluated(e, name, state), ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_uniform_motion_of_the_whole_is_not_felt(seed):
    """Galilei: a free tree that drifts has the accelerations of one that does not, but for w x v of its root."""
    e = kane.formulate(floating(seed, 4, (0.0, 0.0, -9.81)))
    state = random_state(e, np.random.default_rng(seed))
    names = [u.name for u in e.u]
    w = [names.index(f"j1_w{c}") for c in "xyz"]
    v = [names.index(f"j1_v{c}") for c in "xyz"]
    drift = np.array([0.4, -1.0, 2.0])  # in the root's frame at this instant
    u = state.u.copy()
    u[v] += drift
    still, moving = evaluated(e, "forward", state), evaluated(e, "forward", replace(state, u=u))
    moving[v] += np.cross(state.u[w], drift)
    close(moving, still, ROUNDING * np.linalg.cond(mass_matrix(e, state)))


def lifted(model, gravity):
    """The tree of a model of revolute and prismatic joints in a cabin that falls upwards against its gravity."""
    cabin = kane.Model("cabin", gravity=(0.0, 0.0, 0.0))
    t, bodies = cabin.time, {}
    body = cabin.ground
    for axis, g in zip("xyz", gravity, strict=True):
        frame = cabin.body(f"lift {axis}", mass=0.0)
        cabin.connect(body, frame, kane.Prismatic(-0.5 * g * t * t + 0.3 * t, axis=axis), name=f"lift {axis}")
        body = frame
    bodies[model.ground] = body
    for b in model.bodies[1:]:
        bodies[b] = cabin.body(b.name, mass=b.mass, com=b.com, inertia=b.inertia)
    for c in model.connections:
        poses = dict(at=c.p_PF, orientation=c.R_PF, child_at=c.p_CM, child_orientation=c.R_CM)
        cabin.connect(bodies[c.parent], bodies[c.child], c.joint, **poses, name=c.name)
    return cabin


@pytest.mark.parametrize("seed", range(3))
def test_a_cabin_that_accelerates_upwards_feels_like_gravity(seed):
    gravity = (0.5, -1.5, -9.81)
    model = random_tree(seed, 3, joints=(REVOLUTE, PRISMATIC, BALL))
    model.gravity = gravity
    e, f = kane.formulate(model), kane.formulate(lifted(model, gravity))
    state = random_state(e, np.random.default_rng(seed))
    ours = evaluated(f, "inverse", replace(state, inputs=state.inputs[:0]))
    close(ours, evaluated(e, "inverse", state), ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_without_weight_the_bias_is_quadratic_in_the_speeds(seed):
    model = random_tree(seed, 4)
    model.gravity = (0.0, 0.0, 0.0)
    e = kane.formulate(model)
    state = random_state(e, np.random.default_rng(seed))
    bias = evaluated(e, "bias", state)
    assert np.abs(bias).max() > 0.0 or len(bias) == 1
    close(evaluated(e, "bias", replace(state, u=-3.0 * state.u)), 9.0 * bias, ROUNDING)
    close(evaluated(e, "bias", replace(state, u=0.0 * state.u)) + 1.0, 1.0 + 0.0 * bias, ROUNDING)


def test_turning_the_ground_with_gravity_and_everything_changes_nothing():
    turn = kane.Rotation.euler("zyx", 0.4, -0.8, 1.3)
    gravity = (0.3, -0.4, -9.81)
    found = []
    for R, g in ((kane.Rotation.identity(), gravity), (turn, turn.apply(gravity))):
        m = kane.Model("turned", gravity=g)
        a = m.body("a", mass=1.0, inertia=(0.1, 0.2, 0.25), com=(0.1, 0.2, 0.3))
        b = m.body("b", mass=2.0, inertia=(0.3, 0.2, 0.25), com=(0.3, 0.0, 0.1))
        m.connect(m.ground, a, kane.Revolute("q1", axis=(1.0, 2.0, 3.0)), orientation=R)
        m.connect(a, b, kane.Spherical("ball"), at=(0.3, 0.0, 0.2))
        e = kane.formulate(m)
        found.append(evaluated(e, "forward", random_state(e, np.random.default_rng(5))))
    close(found[1], found[0], 1e3 * ROUNDING)
