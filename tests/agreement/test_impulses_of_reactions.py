"""Impulses of reactions at transitions: against momentum balances of single bodies, closed forms, and multipliers.

Who vouches: momentum of each body from its mass properties, poses and Jacobians; the centre of percussion by hand;
least squares of NumPy for the multipliers of a closed loop.
"""

import numpy as np
import pytest
from oracles.numbers import interpreted

import kane
from kane.library import random_tree
from kane.library.random_tree import JOINT_MAKERS

# Some hundred products of numbers of order one to ten, and the rounding of the impulses of the run.
ROUNDING = 1e-9


def constants_of(equations, vectors):
    """Values of constant vectors of a model."""
    return interpreted(equations, [x for v in vectors for x in v], {}).reshape(-1, 3)


def left_over(dyn, run, body, point, along):
    """Momentum of each body, linear and about Bcm, that the impulses of joints and of the contact row leave.

    The row acts on a point of the body, given in its frame, in a direction of N.
    """
    eqs, model, record = dyn.equations, dyn.equations.model, run.contact_log.records[0]
    revealed = kane.RevealedReactions(dyn, kane.reveal_reactions(eqs, *model.connections))
    found = np.asarray(revealed.impulses(run))[0].reshape(-1, 2, 3)
    poses, jump = dyn.poses(record.q), record.u - record.u_before
    wrenches = {b.name: [] for b in model.bodies}  # (force, torque, point), in N
    for c, (force, torque) in zip(model.connections, found, strict=True):
        pose = poses[c.child.name]
        axes = constants_of(eqs, [c.R_CM.apply(e) for e in np.eye(3)])
        at = pose.position + pose.orientation @ constants_of(eqs, [c.p_CM])[0]
        F, T = pose.orientation @ axes.T @ force, pose.orientation @ axes.T @ torque
        wrenches[c.child.name].append((F, T, at))
        if c.parent is not model.ground:
            wrenches[c.parent.name].append((-F, -T, at))
    pose = poses[body.name]
    push = record.impulses[0] * along, np.zeros(3), pose.position + pose.orientation @ point
    wrenches[body.name].append(push)
    left, size = [], 1.0
    for b in model.bodies:
        if b is model.ground:
            continue
        com, R = constants_of(eqs, [b.com])[0], poses[b.name].orientation
        J = dyn.jacobian(b, record.q, at=com)
        centre = poses[b.name].position + R @ com
        linear = float(b.mass) * J.linear @ jump
        angular = R @ constants_of(eqs, b.inertia) @ R.T @ J.angular @ jump
        for F, T, at in wrenches[b.name]:
            linear, angular = linear - F, angular - T - np.cross(at - centre, F)
            size = max(size, np.abs(F).max(), np.abs(T).max())
        left.append([linear, angular])
    return np.array(left) / size, record


@pytest.mark.parametrize("k", range(len(JOINT_MAKERS)))
def test_impulses_balance_the_momentum_of_each_body_for_every_joint(k):
    """Three joints of a kind and a weld; a switch stops a point of the last body along x."""
    m = random_tree(k, 3, joints=[JOINT_MAKERS[k]])
    tip = m.body("tip", mass=0.7, inertia=(0.3, 0.4, 0.5), com=(0.1, -0.2, 0.3))
    m.connect(m.bodies[-2], tip, kane.Weld(), at=(0.3, 0.2, -0.4), name="weld")
    point = np.array([0.5, -0.3, 0.2])
    m.switch(tip.point(tuple(point)).velocity.dot(m.ground.x), on=m.time - 0.01, name="stop")
    dyn = kane.build(kane.formulate(m))
    rng = np.random.default_rng(k)
    run = kane.simulate(dyn, until=0.02, u=0.3 * rng.normal(size=len(dyn.equations.u)))
    left, record = left_over(dyn, run, tip, point, np.array([1.0, 0, 0]))
    assert abs(record.impulses[0]) > 1e-3
    assert np.abs(left).max() < ROUNDING


def pendulum(place):
    """A rod of 1 m and 2 kg on a pivot, which strikes a stone at a distance from the pivot."""
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    rod = m.body("rod", mass=2.0, inertia=(0, 2 / 12, 2 / 12), com=(0.5, 0, 0))
    m.connect(m.ground, rod, kane.Revolute("q1", axis="z"))
    stone = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(rod.point((place, 0, 0)), stone, restitution=kane.Stronge(0.5), name="stone")
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("place", [0.4, 2 / 3, 0.9])
def test_a_pendulum_struck_at_its_centre_of_percussion_has_no_impulse_in_its_pivot(place):
    """By hand: P a = J w and P + F = m w / 2, so that F = P (3 a / 2 - 1), which vanishes at a = 2/3."""
    dyn = pendulum(place)
    run = kane.simulate(dyn, until=0.5, q={"q1": 0.3})
    revealed = kane.RevealedReactions(dyn, kane.reveal_reactions(dyn.equations, "q1"))
    P, found = run.events[0].impulse[0], dict(zip(revealed.names, np.asarray(revealed.impulses(run))[0], strict=True))
    assert P > 1.0
    assert found["q1 Fy"] == pytest.approx(P * (1.5 * place - 1.0), abs=1e-12)
    assert found["q1 Fx"] == pytest.approx(0.0, abs=1e-12)
    assert found["q1 Tz"] == pytest.approx(0.0, abs=1e-12)


def test_impulses_of_a_closed_loop_are_its_multipliers():
    """A brake stops the crank of a four-bar: M (u+ - u-) = A^T L, with rows of the loop and of the brake."""
    m = kane.library.four_bar()
    crank = next(c for c in m.connections if c.name == "q1")
    m.switch(crank.qdot, on=m.time - 0.1, name="brake")
    dyn = kane.build(kane.formulate(m))
    eqs = dyn.equations
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    run = kane.simulate(dyn, until=0.2, q=start.q, u=start.u)
    record = run.contact_log.records[0]
    revealed = kane.RevealedReactions(dyn, kane.reveal_reactions(eqs, *(c.name for c in m.constraints)))
    values = np.asarray(revealed.impulses(run))[0]
    M, rows = kane.build(eqs.unconstrained).mass_matrix(record.q), eqs.with_intermittent_rows.constraints
    point = dict(zip((*eqs.q, *eqs.u), (*record.q, *record.u), strict=True)) | {eqs.t: record.time}
    point |= {p: eqs.defaults[p.name] for p in eqs.parameters}
    A = np.zeros((len(rows), len(M)))
    for i, row in enumerate(rows):
        A[i, list(row.coefficients)] = interpreted(eqs, row.coefficients.values(), point)
    momentum = M @ (record.u - record.u_before)
    multipliers = np.linalg.lstsq(A.T, momentum, rcond=1e-12)[0]
    assert A.T @ multipliers == pytest.approx(momentum, abs=1e-9)
    by_name = dict(zip((row.name for row in rows), multipliers, strict=True))
    known = [(name, x) for name, x in zip(revealed.names, values, strict=True) if np.isfinite(x)]
    assert len(known) > 1
    assert max(abs(x) for _, x in known) > 0.1
    for name, x in known:
        assert x == pytest.approx(by_name[name], abs=1e-9)


def test_impulses_survive_a_file_and_runs_without_transitions_have_none(tmp_path):
    dyn = pendulum(0.9)
    revealed = kane.RevealedReactions(dyn, kane.reveal_reactions(dyn.equations, "q1"))
    run = kane.simulate(dyn, until=0.5, q={"q1": 0.3})
    run.save(tmp_path / "run.h5")
    again = kane.Trajectory.load(tmp_path / "run.h5")
    assert np.array_equal(revealed.impulses(again), revealed.impulses(run))
    assert len(revealed.impulses(run)) == len(run.contact_log.records)
    assert revealed.impulses(kane.simulate(dyn, until=0.01, q={"q1": 0.3})).shape == (0, 6)


def test_runs_of_time_steps_and_other_arguments_are_refused():
    dyn, other = pendulum(0.9), kane.build(kane.formulate(kane.library.four_bar()))
    revealed = kane.RevealedReactions(dyn, kane.reveal_reactions(dyn.equations, "q1"))
    with pytest.raises(kane.ModelError, match="take a trajectory"):
        revealed.impulses([0.3])
    start = kane.assemble(other, q={"q1": 0.5}, fixed=["q1"])
    with pytest.raises(kane.ModelError, match="give a run of this model"):
        revealed.impulses(kane.simulate(other, until=0.01, q=start.q, u=start.u))
    with pytest.raises(kane.ModelError, match=r"steps of kane\.MoreauJean"):
        revealed.impulses(kane.simulate(dyn, until=0.1, dt=0.01, integrator=kane.MoreauJean(), q={"q1": 0.3}))
