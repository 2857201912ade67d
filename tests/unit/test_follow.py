"""Inverse dynamics along prescribed motions: exact derivatives, splines, quaternions, labels, refusals."""

import math

import numpy as np
import pytest

import kane
from kane.model.joints import MeasureNumbers
from kane.model.joints.gimbal.gimbal import Gimbal

TIMES = np.linspace(0.0, 2.0, 41)
# A few hundred roundings of 1.1e-16 on numbers of order one to a hundred.
ROUNDING = 1e-11
INERTIA = (0.3, 0.5, 0.7)


def pendulum():
    """A pendulum of mass 2 kg, 0.5 m below a hinge, with a motor and a parameter for its motion."""
    model = kane.Model("pendulum", gravity=(0.0, -10.0, 0.0))
    model.parameter("rate", 3.0)
    bob = model.body("bob", mass=2.0, com=(0.0, -0.5, 0.0))
    hinge = model.connect(model.ground, bob, kane.Revolute("q1", axis="z"))
    model.load(kane.Motor(hinge, model.input("tau")))
    return model


def torque(q, qddot):
    return 2.0 * 0.25 * qddot + 2.0 * 10.0 * 0.5 * np.sin(q)


def built(model):
    return kane.build(kane.formulate(model))


def spinning(joint):
    """A body with one point fixed, free of gravity."""
    model = kane.Model("top", gravity=(0.0, 0.0, 0.0))
    model.connect(model.ground, model.body("top", mass=1.0, inertia=INERTIA), joint)
    return built(model)


def test_the_torque_of_a_swinging_pendulum_is_its_formula():
    model = pendulum()
    t, rate = model.time, model.arena.leaf(model.parameter("w", 1.0).op, "rate")
    motion = kane.follow(built(model), q={"q1": 0.4 * kane.sin(rate * t)}, times=TIMES, parameters={"rate": 2.0})
    q = 0.4 * np.sin(2.0 * TIMES)
    np.testing.assert_allclose(motion["q1"], q, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion["u1"], 0.8 * np.cos(2.0 * TIMES), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion.udot[:, 0], -4.0 * q, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion["tau"], torque(q, -4.0 * q), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion.forces, motion.inputs, rtol=0, atol=ROUNDING)


def test_a_function_of_time_is_differentiated_exactly():
    motion = kane.follow(built(pendulum()), q={"q1": lambda t: t * t * t}, times=TIMES)
    np.testing.assert_allclose(motion.u[:, 0], 3.0 * TIMES**2, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion["tau"], torque(TIMES**3, 6.0 * TIMES), rtol=0, atol=ROUNDING)


def test_a_number_holds_a_coordinate():
    motion = kane.follow(built(pendulum()), q={"q1": 0.3}, times=[0.0])
    np.testing.assert_allclose(motion["tau"], torque(np.array([0.3]), 0.0), rtol=0, atol=ROUNDING)
    assert motion.udot[0, 0] == 0.0


@pytest.mark.parametrize("how", ["values at the times", "pairs", "all"])
def test_samples_are_followed_along_a_spline_of_fifth_degree(how):
    """Polynomials of fifth degree are their own splines: only rounding is left, magnified by 1/h^2 = 400 in q''."""
    q = 0.1 * TIMES**5 - 0.2 * TIMES**4 + TIMES
    qddot = 2.0 * TIMES**3 - 2.4 * TIMES**2
    given = {"values at the times": {"q1": q}, "pairs": {"q1": (TIMES, q)}, "all": q[:, None]}[how]
    motion = kane.follow(built(pendulum()), q=given, times=TIMES)
    np.testing.assert_allclose(motion["tau"], torque(q, qddot), rtol=0, atol=1e3 * ROUNDING)


def test_halving_the_distance_of_samples_divides_the_error_by_sixteen():
    """The second derivative of a spline of fifth degree is of fourth order; away from the ends, where it is worse."""
    errors = []
    for count in (41, 81):
        at = np.linspace(-2.0, 4.0, count)
        motion = kane.follow(built(pendulum()), q={"q1": (at, np.sin(2.0 * at))}, times=[0.9, 1.0, 1.1, 1.23])
        errors.append(np.abs(motion.udot[:, 0] + 4.0 * np.sin(2.0 * motion.time)).max())
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.7


def test_forces_put_back_as_inputs_make_the_motion():
    """The torque is joined by chords, off by h^2/8 of its second derivative: (0.5 ms)^2/8 x 20 N m/s^2 = 6e-7 N m."""
    dyn = built(pendulum())
    fine = np.linspace(0.0, 2.0, 4001)
    motion = kane.follow(dyn, q={"q1": lambda t: 0.4 * kane.sin(2.0 * t)}, times=fine)
    run = kane.simulate(dyn, until=2.0, dt=1e-3, u={"u1": 0.8}, inputs={"tau": (fine, motion["tau"])}, every=2000)
    assert run["q1"][-1] == pytest.approx(motion["q1"][-1], abs=1e-6)


def test_energy_changes_by_the_power_of_the_forces():
    dyn = built(kane.library.stanford_arm())
    times = np.linspace(0.0, 1.0, 1001)
    q = {f"q{i}": (lambda t, i=i: 1.0 + 0.2 * kane.sin((1.0 + 0.3 * i) * t)) for i in range(1, 7)}
    motion = kane.follow(dyn, q=q, times=times)
    power = (motion.forces * motion.u).sum(axis=1)
    E = motion.energy
    slope = (E[:-4] - 8.0 * E[1:-3] + 8.0 * E[3:-1] - E[4:]) / (12.0 * 1e-3)
    # Fourth-order differences over 1 ms: h^4/30 times some 1e3 W/s^4 is 1e-11; 40 J rounded to 1e-16 of it, over 1 ms,
    # is 1e-11 too.
    np.testing.assert_allclose(slope, power[2:-2], rtol=0, atol=1e-9)


def test_a_quaternion_of_unit_length_is_followed():
    """Rotation about the axis n through the angle t^2: w = 2 t n, torque I wdot + w x I w."""
    n = np.array([2.0, -1.0, 2.0]) / 3.0
    dyn = spinning(kane.Spherical("ball"))
    half = {"w": lambda t: kane.cos(0.5 * t * t)}
    half |= {c: (lambda t, k=k: n[k] * kane.sin(0.5 * t * t)) for k, c in enumerate("xyz")}
    motion = kane.follow(dyn, q={f"ball_q{c}": x for c, x in half.items()}, times=TIMES)
    w, wdot, moments = 2.0 * TIMES[:, None] * n, np.broadcast_to(2.0 * n, (41, 3)), np.array(INERTIA)
    np.testing.assert_allclose(motion.u, w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion.udot, wdot, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(motion.forces, moments * wdot + np.cross(w, moments * w), rtol=0, atol=ROUNDING)


def test_speeds_that_are_not_rates_are_found_from_the_kinematics():
    """The same motion in angle rates and in measure numbers of the angular velocity takes the same power."""
    angles = {"g_1": lambda t: 0.3 * kane.sin(t), "g_2": lambda t: 0.5 + 0.1 * t * t, "g_3": lambda t: 0.7 * t}
    rates = kane.follow(spinning(Gimbal("g", sequence="zxz")), q=angles, times=TIMES)
    measures = kane.follow(spinning(Gimbal("g", sequence="zxz", speeds=MeasureNumbers())), q=angles, times=TIMES)
    assert not np.allclose(rates.u, measures.u)
    np.testing.assert_allclose(rates["kinetic_energy"], measures["kinetic_energy"], rtol=0, atol=ROUNDING)
    power = [(motion.forces * motion.u).sum(axis=1) for motion in (rates, measures)]
    np.testing.assert_allclose(*power, rtol=0, atol=ROUNDING)
    w, moments = measures.u, np.array(INERTIA)
    np.testing.assert_allclose(
        measures.forces, moments * measures.udot + np.cross(w, moments * w), rtol=0, atol=ROUNDING
    )


def test_inputs_that_the_motion_does_not_determine_are_refused_and_forces_are_there():
    motion = kane.follow(built(kane.library.n_link_pendulum(1)), q={"q1": 0.0, "q2": lambda t: t}, times=TIMES)
    assert motion.forces.shape == (41, 2)
    with pytest.raises(kane.ModelError, match="do not determine 1 inputs"):
        _ = motion.inputs
    with pytest.raises(kane.ModelError, match="no coordinate"):
        _ = motion["F"]


def test_what_is_returned_has_names_units_a_picture_and_a_file(tmp_path):
    motion = kane.follow(built(pendulum()), q={"q1": lambda t: t}, times=TIMES)
    dataset = motion.to_xarray()
    assert dataset.forces.sel(speed="u1").shape == (41,)
    assert list(dataset.force_units.to_numpy()) == ["N m"]
    assert [ax.get_ylabel() for ax in motion.plot().axes] == ["q [rad]", "forces [N m]"]
    motion.save(tmp_path / "motion.nc")
    again = kane.FollowedMotion.load(tmp_path / "motion.nc")
    np.testing.assert_array_equal(again.udot, motion.udot)
    assert repr(again).startswith("<FollowedMotion of 'pendulum': 41 states")


def unit(t):
    return kane.cos(t)


@pytest.mark.parametrize(
    ("q", "words"),
    [
        ({}, "motion of q1 is not prescribed"),
        ({"q2": 1.0, "q1": 0.0}, "no coordinate 'q2'"),
        ({"q1": math.sin}, "for expressions use kane.sin"),
        ({"q1": lambda t: "t"}, "must return an expression"),
        ({"q1": kane.Interpolated([0.0, 1.0], [0.0, 1.0])}, "without derivatives"),
        ({"q1": float("nan")}, "not finite"),
        ({"q1": "up"}, "must be an expression"),
        ({"q1": (TIMES[:3], TIMES[:3])}, "at least 4"),
        ({"q1": (TIMES[::-1], TIMES)}, "increase strictly"),
        ({"q1": (TIMES[:10], TIMES[:10])}, "not cover all requested times"),
        (np.zeros((3, 1)), r"\(41, 1\) is needed"),
        ({"q1": kane.Model("other").time}, "another model"),
    ],
)
def test_a_motion_that_says_nothing_of_its_derivatives_is_refused(q, words):
    with pytest.raises(kane.ModelError, match=words):
        kane.follow(built(pendulum()), q=q, times=TIMES)


def test_a_motion_may_not_depend_on_what_it_causes():
    model = pendulum()
    with pytest.raises(kane.ModelError, match="the coordinate q1; it may depend only on time"):
        kane.follow(built(model), q={"q1": 2.0 * model.connections[0].q}, times=TIMES)


@pytest.mark.parametrize(
    ("w", "words"),
    [(1.1, "length 1.1"), (lambda t: kane.cos(t), "length 0.99.* at t = 0.05"), ("x", "must be an expr")],
)
def test_a_quaternion_that_is_not_of_unit_length_is_refused(w, words):
    q = {"ball_qw": w, "ball_qx": 0.0, "ball_qy": 0.0, "ball_qz": 0.0}
    with pytest.raises(kane.ModelError, match=words):
        kane.follow(spinning(kane.Spherical("ball")), q=q, times=[0.0, 0.05])


def test_rates_that_no_speeds_give_are_refused():
    q = {"ball_qw": (TIMES, 1.0 - (TIMES - 1.0)), "ball_qx": 0.0, "ball_qy": 0.0, "ball_qz": 0.0}
    with pytest.raises(kane.ModelError, match="no generalized speeds produce the prescribed dball_qw/dt"):
        kane.follow(spinning(kane.Spherical("ball")), q=q, times=[1.0])


def test_a_chart_at_its_singularity_is_refused():
    top = spinning(Gimbal("g", sequence="zxz", speeds=MeasureNumbers()))
    with pytest.raises(kane.ModelError, match=r"singular at t = 0\.05"):
        kane.follow(top, q={"g_1": 0.0, "g_2": lambda t: t - 0.05, "g_3": 0.0}, times=TIMES[:3])


@pytest.mark.parametrize("times", [[], [[0.0]], [float("inf")], "now"])
def test_times_that_are_no_row_of_numbers_are_refused(times):
    with pytest.raises(kane.ModelError, match="times must be"):
        kane.follow(built(pendulum()), q={"q1": 0.0}, times=times)


def test_follow_needs_dynamics_and_coordinates():
    with pytest.raises(kane.ModelError, match=r"kane\.build"):
        kane.follow(pendulum(), q={}, times=TIMES)
    with pytest.raises(kane.ModelError, match="no coordinates"):
        kane.follow(built(kane.Model("empty")), q={}, times=TIMES)
