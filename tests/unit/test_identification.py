"""Identification of parameters from measured motions.

Motions are made by inverse and forward dynamics with known parameters, and noise by a generator of random numbers: what
is found must lie about what was put in as its standard errors say.
"""

import re

import numpy as np
import pytest
from oracles.robots import ur5

import kane
from kane.errors import ModelError

TIME = np.linspace(0.0, 10.0, 300)


def swung(n, seed=1, times=TIME):
    """q, u and udot of a motion of five harmonics."""
    random, w = np.random.default_rng(seed), 2.0 * np.pi / 10.0 * np.arange(1, 6)
    a, b = 0.4 * random.normal(size=(2, 5, n))
    s, c = np.sin(np.outer(times, w)), np.cos(np.outer(times, w))
    return s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b


@pytest.fixture(scope="module")
def robot():
    model = kane.inertial_parameters(ur5())
    return kane.build(kane.formulate(model)), list(model.parameters)


def pendulum():
    """Two rods hinged to each other: the second hangs at the distance L from the first joint, with a spring and oil."""
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    p = {"L": 0.7, "mB": 2.0, "hB": 0.5, "IB": 0.3, "k": 5.0, "c": 0.4, "friction": 0.3}
    L, mB, hB, IB, k, c, friction = (m.parameter(name, value) for name, value in p.items())
    A = m.body("A", mass=1.0, com=(0.35, 0, 0), inertia=(0.01, 0.05, 0.05))
    B = m.body("B", mass=mB, moments=((hB, 0, 0), (0.01, IB, IB)))
    first = m.connect(m.ground, A, kane.Revolute("q1", axis="z"))
    second = m.connect(A, B, kane.Revolute("q2", axis="z"), at=(L, 0, 0))
    for joint, name in ((first, "t1"), (second, "t2")):
        m.load(kane.Motor(joint, m.input(name)))
    m.load(kane.Spring(second, k))
    m.load(kane.Damper(first, c))
    m.load(kane.Motor(first, -friction * kane.tanh(first.qdot / 0.05)))
    return kane.build(kane.formulate(m)), list(p)


def measured(dyn, noise=0.0, seed=0, parameters=None, times=TIME):
    q, u, udot = swung(len(dyn.equations.u), times=times)
    forces = dyn.inverse(q, u, udot, parameters=parameters)
    forces = forces + noise * np.random.default_rng(seed).normal(size=forces.shape)
    return kane.Measurements(times, q, u, udot, forces=forces)


def is_body(values, ten):
    """Whether kane takes ten numbers for those of a body."""
    m, *rest = (values[name] for name in ten)
    try:
        kane.Model().body("B", mass=m, moments=(rest[:3], rest[3:]))
    except ModelError:
        return False
    return True


# Bodies by moments.


def test_a_body_by_its_moments_moves_as_the_same_by_mass_centre_and_inertia():
    by_moments = kane.inertial_parameters(ur5())
    ours, theirs = (kane.build(kane.formulate(m)) for m in (by_moments, ur5()))
    state = swung(6)
    np.testing.assert_allclose(ours.inverse(*state), theirs.inverse(*state), atol=1e-12)  # torques of order ten
    explicit = kane.build(kane.explicit(kane.formulate(by_moments)))  # which reads mass centres and central inertias
    np.testing.assert_allclose(explicit.inverse(*state), theirs.inverse(*state), atol=1e-11)


def test_a_model_with_inertial_parameters_is_saved_and_read(tmp_path):
    model = kane.inertial_parameters(ur5(), ["wrist_3_link"])
    assert list(model.parameters) == [
        f"wrist_3_link_{x}" for x in ["m", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz"]
    ]
    kane.save_model(model, tmp_path / "ur5.json")
    again = kane.load_model(tmp_path / "ur5.json")
    assert kane.formulate(again).listing() == kane.formulate(model).listing()


def test_bad_moments_are_refused():
    m = kane.Model()
    with pytest.raises(ModelError, match="by moments= and by com="):
        m.body("A", mass=1.0, com=(0.1, 0, 0), moments=((0, 0, 0), (1, 1, 1)))
    with pytest.raises(ModelError, match="first moment and the inertia"):
        m.body("A", mass=1.0, moments=3)
    with pytest.raises(ModelError, match="not physically consistent"):
        m.body("A", mass=1.0, moments=((1.0, 0, 0), (0.1, 0.1, 0.1)))  # less than m r^2 about the origin
    with pytest.raises(ModelError, match="no mass"):
        m.body("A", mass=0.0, moments=((1.0, 0, 0), (1, 1, 1)))
    k = m.parameter("k", 1.0)
    m.body("A", mass=k)
    with pytest.raises(ModelError, match="'A' are expressions"):
        kane.inertial_parameters(m, ["A"])
    with pytest.raises(ModelError, match="ground"):
        kane.inertial_parameters(m, ["ground"])


# The UR5.


def test_combinations_lie_about_the_truth_as_their_covariance_says(robot):
    """chi^2 of each seed has 36 degrees of freedom; the sum over seeds has mean and variance of its own."""
    dyn, names = robot
    found = [kane.identify(dyn, measured(dyn, 0.2, seed), names) for seed in range(20)]
    missed = np.array([[c.value for c in fit.base_parameters] - fit.B @ dyn.parameters for fit in found])
    total = sum(x @ np.linalg.solve(fit.covariance, x) for x, fit in zip(missed, found, strict=True))
    freedoms = missed.size
    assert freedoms == 20 * 36
    assert abs(total - freedoms) < 4.0 * np.sqrt(2.0 * freedoms)  # four standard deviations of chi^2
    errors = np.array([[c.standard_error for c in fit.base_parameters] for fit in found])
    assert np.abs(missed / errors).max() < 5.0  # of 720 normal numbers, one in 2,400 tries
    assert np.std(missed / errors) == pytest.approx(1.0, abs=0.11)  # four standard deviations of a standard deviation
    np.testing.assert_allclose([fit.noise for fit in found], 0.2, rtol=0.25)  # of 300 numbers each: 4 %


def test_nothing_is_claimed_of_the_rest(robot):
    dyn, names = robot
    fit = kane.identify(dyn, measured(dyn, 0.2), names)
    free = np.linalg.svd(fit.B)[2][len(fit.B) :]  # directions of which no motion depends
    touched = {name for name, x in zip(names, np.abs(free).max(axis=0), strict=True) if x > 1e-9}
    assert touched == set(fit.unidentifiable.names) == {n for n in names if np.isinf(fit.standard_errors[n])}
    state = swung(6, seed=7)
    shifted = {n: v + 3.0 * x for (n, v), x in zip(fit.values.items(), free[0], strict=True)}
    there = [dyn.inverse(*state, parameters=values) for values in (fit.values, shifted)]
    np.testing.assert_allclose(*there, atol=1e-9)  # torques of order hundred
    assert "shoulder_link_m" in fit.unidentifiable
    assert "wrist_3_link_yy" not in fit.unidentifiable
    text = repr(fit.unidentifiable)
    assert "cannot be identified: shoulder_link turns about a fixed axis, which is vertical" in text
    assert "wrist_3_link_xx, wrist_3_link_zz: only wrist_3_link_xx - wrist_3_link_zz appears" in text
    assert "36 combinations of 60 parameters" in repr(fit)


def test_the_values_as_a_whole_give_the_measured_motion_and_run(robot):
    dyn, names = robot
    start = {name: 1.3 * value + 0.01 for name, value in zip(names, dyn.parameters, strict=True)}
    fit = kane.identify(dyn, measured(dyn), names, start=start)
    state = swung(6, seed=5)
    np.testing.assert_allclose(dyn.inverse(*state, parameters=fit.values), dyn.inverse(*state), atol=1e-8)
    assert fit.values != pytest.approx(dict(zip(names, dyn.parameters, strict=True)), abs=1e-3)
    run = kane.simulate(dyn, until=0.1, parameters=fit.values)
    assert run.time[-1] == 0.1


def test_a_full_set_is_that_of_bodies_and_gives_the_same_forces(robot):
    dyn, names = robot
    random = np.random.default_rng(3)
    start = {name: value * (1.0 + 0.3 * random.normal()) for name, value in zip(names, dyn.parameters, strict=True)}
    fit = kane.identify(dyn, measured(dyn, 0.05), names, start=start)
    found = fit.physically_consistent()
    assert found.misfit < 36 + 4 * np.sqrt(72)
    assert all(is_body(found.values, ten) for ten in fit.bodies.values())
    assert not all(is_body(fit.values, ten) for ten in fit.bodies.values())
    state = swung(6, seed=5)
    left = dyn.inverse(*state, parameters=found.values) - dyn.inverse(*state)
    assert np.abs(left).max() < 0.2  # some errors of 0.05 over the root of 1,800 measured numbers and 36 unknown ones


def test_a_full_set_of_true_bodies_from_the_truth_is_the_truth(robot):
    dyn, names = robot
    found = kane.identify(dyn, measured(dyn), names, noise=0.1).physically_consistent()
    assert found.misfit < 1e-12
    assert found.values == pytest.approx(dict(zip(names, dyn.parameters, strict=True)), abs=1e-8)


# Parameters of all kinds.


def test_lengths_springs_oil_and_friction_are_found_with_masses():
    dyn, names = pendulum()
    start = dict(zip(names, [0.5, 1.0, 0.2, 0.1, 2.0, 0.0, 0.0], strict=True))
    fit = kane.identify(dyn, measured(dyn), names, start=start)
    truth = dict(zip(names, dyn.parameters, strict=True))
    assert fit.values == pytest.approx(truth, abs=1e-8)
    assert not fit.unidentifiable
    assert str(fit.unidentifiable) == "nothing: every parameter has a value of its own"
    noisy = [kane.identify(dyn, measured(dyn, 0.05, seed), names, start=start) for seed in range(20)]
    z = np.array([[(f.values[n] - truth[n]) / f.standard_errors[n] for n in names] for f in noisy])
    assert np.abs(z).max() < 4.5  # of 140 normal numbers
    assert np.std(z) == pytest.approx(1.0, abs=0.25)


def test_masses_that_act_together_are_named():
    m = kane.Model("carts", gravity=(0, 0, 0))
    m2, m3 = m.parameter("m2", 2.0), m.parameter("m3", 3.0)
    cart, load = m.body("cart", mass=m2), m.body("load", mass=m3)
    rail = m.connect(m.ground, cart, kane.Prismatic("x", axis="x"))
    m.connect(cart, load, kane.Weld())
    m.load(kane.Motor(rail, m.input("F")))
    dyn = kane.build(kane.formulate(m))
    fit = kane.identify(dyn, measured(dyn), ["m2", "m3"])
    assert str(fit.unidentifiable) == "m2, m3: only m2 + m3 appears"
    (found,) = fit.base_parameters
    assert found.value == pytest.approx(5.0, abs=1e-12)
    assert fit.standard_errors == {"m2": np.inf, "m3": np.inf}


def test_what_these_data_alone_do_not_tell_apart_is_said():
    dyn, _ = pendulum()
    q, u, udot = swung(2)
    q[:, 1] = u[:, 1] = udot[:, 1] = 0.0  # the second joint stands still
    data = kane.Measurements(TIME, q, u, udot, forces=dyn.inverse(q, u, udot))
    fit = kane.identify(dyn, data, ["mB", "hB", "IB", "k"])
    assert "k cannot be identified: these data do not depend on it; another motion may" in str(fit.unidentifiable)
    assert "k" in fit.unidentifiable
    assert kane.identify(dyn, measured(dyn), ["mB", "hB", "IB", "k"]).unidentifiable == ()


def test_inputs_serve_instead_of_forces_and_the_scale_of_a_free_motion_is_unknown():
    dyn, _ = pendulum()
    q, u, udot = swung(2)
    given = kane.Measurements(TIME, q, u, udot, inputs=dyn.inputs_for(q, u, udot))
    assert kane.identify(dyn, given, ["mB", "k"]).values == pytest.approx({"mB": 2.0, "k": 5.0}, abs=1e-9)
    m = kane.Model("free", gravity=(0, -9.81, 0))
    mass, h, inertia = m.parameter("m", 1.0), m.parameter("h", 0.4), m.parameter("I", 0.3)
    bob = m.body("bob", mass=mass, moments=((h, 0, 0), (0.1, inertia, inertia)))
    m.connect(m.ground, bob, kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(m))
    udot = dyn.forward(q[:, :1], u[:, :1])
    fit = kane.identify(dyn, kane.Measurements(TIME, q[:, :1], u[:, :1], udot), ["m", "h", "I"])
    assert "m cannot be identified" in str(fit.unidentifiable)
    assert "h, I: only h - 1.333 I appears" in str(fit.unidentifiable)  # one pendulum in I / h: their ratio


def test_closed_loops_are_projected_on_what_they_allow():
    """The four-bar linkage: torque on the crank only; its links are alike but for their lengths."""
    equations = kane.formulate(kane.library.four_bar())
    dyn = kane.build(equations)
    at = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, u={"u1": 3.0}, fixed=["q1", "u1"])
    run = kane.simulate(dyn, until=2.0, q=at.q, u=at.u, inputs={"T": kane.cos(3 * dyn.equations.t)})
    q, u, t, T = np.array(run.q), np.array(run.u), np.array(run.time), np.array(run.inputs)
    data = kane.Measurements(t, q, u, dyn.forward(q, u, T, t), inputs=T)
    fit = kane.identify(dyn, data, ["mu", "g"], start={"mu": 1.0, "g": 5.0})
    assert fit.values == pytest.approx({"mu": 2.0, "g": 9.81}, rel=1e-7)  # constraints are kept to 1e-9
    assert fit.channels == ("freedom 1",)
    with pytest.raises(ModelError, match="'a' occurs in the constraint 'loop"):
        kane.identify(dyn, data, ["mu", "a"])


def test_long_motions_are_taken_in_pieces_and_give_the_same(monkeypatch):
    dyn, names = pendulum()
    data = measured(dyn, 0.05)
    whole = kane.identify(dyn, data, names)
    monkeypatch.setattr("kane.analysis.identification.regression.STATES_IN_MEMORY", 70)
    pieces = kane.identify(dyn, data, names)
    assert pieces.values == pytest.approx(whole.values, rel=1e-9)
    np.testing.assert_allclose(pieces.residuals, whole.residuals, atol=1e-9)
    np.testing.assert_allclose(pieces.covariance, whole.covariance, rtol=1e-6)


def test_a_floating_body_tells_its_mass_by_its_thrust_alone():
    """Three torques and a thrust on a free body: the inertia is known with the mass, by the forces that are known."""
    m = kane.Model("drone", gravity=(0, 0, -9.81))
    mass, *rest = (m.parameter(n, x) for n, x in {"m": 1.5, "xx": 0.02, "yy": 0.03, "zz": 0.04}.items())
    body = m.body("body", mass=mass, inertia=rest)
    m.connect(m.ground, body, kane.Free("base"))
    m.load(kane.Force(body.point(), (0, 0, m.input("thrust")), body))
    m.load(kane.Torque(body, tuple(m.input(f"t{k}") for k in "xyz"), body))
    dyn = kane.build(kane.formulate(m))
    random = np.random.default_rng(0)
    q = random.normal(size=(50, 7))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    u, inputs = random.normal(size=(50, 6)), random.normal(size=(50, 4))
    data = kane.Measurements(np.arange(50.0), q, u, dyn.forward(q, u, inputs), inputs=inputs)
    fit = kane.identify(dyn, data, ["m", "xx", "yy", "zz"], start={"m": 1.0, "xx": 0.1, "yy": 0.1, "zz": 0.1})
    assert fit.values == pytest.approx({"m": 1.5, "xx": 0.02, "yy": 0.03, "zz": 0.04}, rel=1e-9)
    q[7] *= 1.1
    with pytest.raises(ModelError, match="length"):
        kane.identify(dyn, kane.Measurements(np.arange(50.0), q, u, u, inputs=inputs), ["m"])


# Motions without accelerations.


def driven(dyn, inputs, until=4.0):
    """States of the pendulum, driven, at 200 times."""
    t = np.linspace(0.0, until, 201)
    run = kane.simulate(dyn, until=until, inputs=inputs, times=t, q={"q1": -1.0})
    return t, np.array(run.q), np.array(run.u)


def test_motions_without_accelerations_give_parameters_within_their_errors():
    dyn, names = pendulum()
    truth = dict(zip(names, dyn.parameters, strict=True))
    guess = dict(zip(names, [0.6, 1.6, 0.4, 0.2, 4.0, 0.2, 0.1], strict=True))
    t = np.linspace(0.0, 4.0, 201)
    tau = np.column_stack([6.0 * np.sin(2.0 * t), 3.0 * np.cos(3.1 * t)])
    t, q, u = driven(dyn, kane.Interpolated(t, tau))
    z = []
    for seed in range(12):
        random = np.random.default_rng(seed)
        rough = q + 0.002 * random.normal(size=q.shape), u + 0.02 * random.normal(size=u.shape)
        fit = kane.identify(dyn, kane.Measurements(t, *rough, inputs=tau), names, start=guess)
        assert fit.channels == ("q1", "q2", "u1", "u2")
        z += [(fit.values[n] - truth[n]) / fit.standard_errors[n] for n in names]
    assert np.abs(z).max() < 4.5  # of 84 normal numbers
    assert np.std(z) == pytest.approx(1.0, abs=0.35)  # four standard deviations of that of 84, which hang together
    np.testing.assert_allclose(fit.noise, [0.002, 0.002, 0.02, 0.02], rtol=0.2)  # of 200 numbers each: 5 %


def test_torques_that_a_digital_controller_holds_are_held_in_the_fit():
    dyn, names = pendulum()
    t = np.linspace(0.0, 4.0, 201)
    held = kane.Held(t, np.column_stack([6.0 * np.sin(2.0 * t), 3.0 * np.cos(3.1 * t)]))
    t, q, u = driven(dyn, held)
    fit = kane.identify(dyn, kane.Measurements(t, q, u, inputs=held), names, start={"mB": 1.5, "k": 4.0})
    assert fit.values == pytest.approx(
        dict(zip(names, dyn.parameters, strict=True)), rel=1e-5
    )  # runs to 1e-8, in stretches
    wrong = kane.identify(dyn, kane.Measurements(t, q, u, inputs=held.values), names)
    assert np.abs(wrong.residuals).max() > 100 * np.abs(fit.residuals).max()


def test_a_free_motion_gives_what_its_scale_leaves_and_an_unstable_one_too():
    m = kane.Model("free", gravity=(0, -9.81, 0))
    mass, h, inertia = m.parameter("m", 1.0), m.parameter("h", 0.4), m.parameter("I", 0.3)
    bob = m.body("bob", mass=mass, moments=((h, 0, 0), (0.1, inertia, inertia)))
    m.connect(m.ground, bob, kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(m))
    t = np.linspace(0.0, 6.0, 301)
    run = kane.simulate(
        dyn, until=6.0, times=t, q=[np.pi / 2 - 1e-3]
    )  # near the top, where errors grow by e^3.6 a second
    fit = kane.identify(dyn, kane.Measurements(t, run.q, run.u), ["m", "h", "I"], start={"h": 0.5})
    assert "h, I: only h - " in str(fit.unidentifiable)
    assert fit.values["h"] / fit.values["I"] == pytest.approx(0.4 / 0.3, rel=1e-6)


def test_what_cannot_be_fitted_without_accelerations_is_refused():
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    ball = m.body("B", mass=m.parameter("m", 1.0), inertia=(0.1, 0.1, 0.1))
    drop = m.connect(m.ground, ball, kane.Prismatic("y", axis="y"))
    m.load(kane.Damper(drop, 0.1))
    m.latch(drop.q, name="hook")
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(ModelError, match="'hook' is a latch or a switch, and measured states do not show"):
        kane.identify(dyn, kane.Measurements(np.arange(20.0), np.ones(20), np.zeros(20)), ["m"])


# Excitation.


def test_a_designed_motion_keeps_its_limits_and_tells_more_than_one_at_random(robot):
    dyn, names = robot
    limits = {"q": (-2.0, 1.0), "u": 1.5, "udot": 3.0}
    motion = kane.excitation(dyn, names, duration=8.0, **limits, harmonics=4)
    t = np.linspace(0.0, 16.0, 4001)
    q, u, udot = motion.at(t)
    assert q.min() >= -2.0
    assert q.max() <= 1.0
    assert np.abs(u).max() <= 1.5
    assert np.abs(udot).max() <= 3.0
    full = np.max(
        [np.abs(q + 0.5).max(axis=0) / 1.5, np.abs(u).max(axis=0) / 1.5, np.abs(udot).max(axis=0) / 3.0], axis=0
    )
    np.testing.assert_allclose(full, 1.0, atol=1e-3)  # limits are used fully, up to what lies between two samples
    np.testing.assert_allclose(np.gradient(q, t, axis=0)[1:-1], u[1:-1], atol=1e-3)  # second-order differences
    np.testing.assert_allclose(np.gradient(u, t, axis=0)[1:-1], udot[1:-1], atol=1e-3)
    np.testing.assert_allclose([u[0], udot[0]], 0.0, atol=1e-12)
    np.testing.assert_allclose(q[2000], q[0], atol=1e-12)
    t = np.arange(0.0, 8.0, 0.01)
    q, u, udot = motion.at(t)
    fit = kane.identify(dyn, kane.Measurements(t, q, u, udot, forces=dyn.inverse(q, u, udot)), names, noise=0.1)
    assert fit.condition == pytest.approx(motion.condition, rel=0.1)  # sampled at other times
    ordinary = kane.identify(dyn, measured(dyn), names, noise=0.1)
    assert fit.condition < 0.75 * ordinary.condition


def test_bad_limits_are_refused(robot):
    dyn, names = robot
    good = {"duration": 5.0, "q": (-1.0, 1.0), "u": 1.0, "udot": 2.0}
    for changed, message in [
        ({"q": (1.0, -1.0)}, "least and the largest"),
        ({"q": {"elbow_joint": (-1, 1)}}, "no entry for shoulder_pan_joint"),
        ({"u": {"elbow": 1.0}}, "there is no limit of u 'elbow'"),
        ({"u": 0.0}, "positive number"),
        ({"duration": -1.0}, "duration"),
        ({"harmonics": 2}, "at least 3"),
    ]:
        with pytest.raises(ModelError, match=message):
            kane.excitation(dyn, names, **{**good, **changed})
    with pytest.raises(ModelError, match="none of shoulder_link_m has any effect"):
        kane.excitation(dyn, ["shoulder_link_m"], **good)
    closed = kane.build(kane.formulate(kane.library.four_bar()))
    with pytest.raises(ModelError, match="constraints"):
        kane.excitation(closed, ["mu"], **good)


# Bad input.


def test_bad_data_are_refused():
    q, u, udot = swung(2)
    twice = TIME.copy()
    twice[7] = twice[6]
    broken = q.copy()
    broken[3, 1] = np.nan
    for arguments, message in [
        ((twice, q, u, udot), r"times must increase; number 7 is 0.20\d* s, after 0.20\d* s"),
        ((TIME[::-1], q, u, udot), "times must increase"),
        ((TIME[:1], q[:1], u[:1]), "at least two states"),
        ((TIME, q[:-1], u, udot), "one row for each of the 300 times"),
        ((TIME, broken, u, udot), r"q has nan in row 3"),
        ((TIME, q, u, udot, q, q), "inputs and forces are both given"),
        ((TIME, q, u, None, None, q), "needs accelerations"),
        ((TIME, q, u, "udot"), "must be an array"),
        ((TIME, q, None, udot), "udot is given without u"),
        ((TIME, None, u), "q is None"),
    ]:
        with pytest.raises(ModelError, match=message):
            kane.Measurements(*arguments)


def test_data_at_rest_that_say_nothing_are_refused():
    m = kane.Model("slider", gravity=(0, 0, 0))
    mass = m.parameter("m", 2.0)
    m.load(kane.Motor(m.connect(m.ground, m.body("A", mass=mass), kane.Prismatic("x", axis="x")), m.input("F")))
    dyn = kane.build(kane.formulate(m))
    still = np.zeros((30, 1))
    for data in (
        kane.Measurements(np.arange(30.0), still, still, still, inputs=still),
        kane.Measurements(np.arange(30.0), still, still, inputs=still),
    ):
        with pytest.raises(ModelError, match="these data do not depend on m"):
            kane.identify(dyn, data, ["m"])
    for data in (
        kane.Measurements(np.arange(30.0), still, still, still),
        kane.Measurements(np.arange(30.0), still, still),
    ):  # an input that nobody measured is not one of zero
        with pytest.raises(
            ModelError, match=r"neither inputs nor forces, but 'slider' has the inputs F; .*inputs=.*forces="
        ):
            kane.identify(dyn, data, ["m"])


def test_bad_questions_are_refused():
    dyn, names = pendulum()
    data = measured(dyn)
    for arguments, message in [
        ((data, ["mass"]), "there is no parameter 'mass'"),
        ((data, []), "at least one"),
        ((data, ["mB", "mB"]), "each once"),
        ((3, ["mB"]), "takes kane.Measurements"),
        ((kane.Measurements(TIME, *(x[:, :1] for x in swung(2)), forces=data.forces), ["mB"]), "q has 1 columns"),
        ((measured(dyn, times=TIME[:2]), names), "4 measured numbers are too few for 7 unknowns"),
    ]:
        with pytest.raises(ModelError, match=message):
            kane.identify(dyn, *arguments)
    for noise in (-1.0, 1e308, 1e-308):
        with pytest.raises(ModelError, match=re.escape(f"noise={noise}")):
            kane.identify(dyn, data, names, noise=noise)
    m = kane.Model("still", gravity=(0, 0, -9.81))
    mass = m.parameter("mass", 1.0)
    turn = m.connect(m.ground, m.body("disk", mass=mass, inertia=(1, 1, 1)), kane.Revolute("q1", axis="z"))
    m.load(kane.Motor(turn, m.input("T")))
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(ModelError, match="none of mass has any effect"):
        kane.identify(dyn, measured(dyn), ["mass"])


def stopped_slider(extra=None):
    """A mass between two stops, pushed to and fro, and what was measured of it."""
    m = kane.Model("slider")
    c, mass = m.parameter("c", 0.5), m.parameter("M", 1.0)
    b = m.body("b", mass=mass)
    j = m.connect(m.ground, b, kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(j, m.input("F")))
    m.load(kane.Damper(j, c))
    m.stop(j, lower=-0.2, upper=0.2)
    if extra is not None:
        extra(m, j)
    return kane.build(kane.formulate(m))


def test_rows_in_which_a_stop_is_closed_are_refused_and_the_others_give_the_parameters():
    """Who vouches: the parameters with which the motion was made."""
    dyn, t = stopped_slider(), np.arange(0.0, 2.0, 0.01)
    inputs = np.sin(3 * t)[:, None]
    q, u = np.minimum(0.3 * np.sin(t), 0.2)[:, None], (0.3 * np.cos(t))[:, None]
    open_ = q[:, 0] < 0.2
    udot = dyn.forward(q, u, inputs)
    with pytest.raises(ModelError, match=rf"'stop of x: upper' is closed in {sum(~open_)} of 200 rows.*row 73 .*leave"):
        kane.identify(dyn, kane.Measurements(t, q, u, udot, inputs=inputs), ["c", "M"])
    free = kane.Measurements(t[open_], q[open_], u[open_], udot[open_], inputs=inputs[open_])
    fit = kane.identify(dyn, free, ["c", "M"], start={"c": 0.5})
    assert fit.values == pytest.approx({"c": 0.5, "M": 1.0})


def test_friction_that_sticks_is_refused_with_the_load_that_takes_its_place():
    dyn, t = stopped_slider(lambda m, j: m.stick(j, static=0.2, name="rust")), np.linspace(0.0, 1.0, 20)
    rows = 0.1 * np.sin(t)[:, None]
    with pytest.raises(ModelError, match=r"'rust' is a stick, .*; leave it out .*kane\.Motor"):
        kane.identify(dyn, kane.Measurements(t, rows, rows, rows, inputs=rows), ["M"])
