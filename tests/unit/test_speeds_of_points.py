"""Velocities of points along turning axes as generalized speeds: solved without a divisor, right at every heading."""

import numpy as np
import pytest

import kane

INERTIA, CENTRE, MASS = np.array([1.0, 2.0, 2.5]), (0.1, 0.2, 0.3), 2.0


def floating_body(along):
    """A body on three slides and three hinges; u1, u2, u3 along its axes, the others its centre's velocity."""
    m = kane.Model("body")
    carriers = [m.body(name, mass=0.0) for name in "ABCDE"]
    body = m.body("F", mass=MASS, inertia=INERTIA, com=CENTRE)
    joints = [kane.Prismatic(f"p_{axis}", axis=axis) for axis in "xyz"]
    joints += [kane.Revolute(f"turn_{axis}", axis=axis) for axis in "zyx"]
    for parent, child, joint in zip([m.ground, *carriers], [*carriers, body], joints, strict=True):
        m.connect(parent, child, joint)
    w, v = body.angular_velocity, body.point(CENTRE).velocity
    spins = {f"u{i}": w.dot(axis) for i, axis in enumerate((body.x, body.y, body.z), start=1)}
    m.speeds(**spins, **{f"u{i}": v.dot(body.direction(d)) for i, d in enumerate(along, start=4)})
    return kane.formulate(m)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("along", [np.eye(3), np.roll(np.eye(3), 1, axis=0), [(1, 0, 0), (1, 1, 0), (0, 1, 1)]])
def test_a_free_body_moves_by_newton_and_euler_in_its_own_axes(along, seed):
    """A few hundred operations on numbers of order ten, divided by cos of the second angle > 0.1: 1e-12."""
    dyn = kane.build(floating_body(along))
    q, (w, v) = np.random.default_rng(seed).uniform(-1.4, 1.4, 6), np.random.default_rng(seed).normal(size=(2, 3))
    R = dyn.poses(q)["F"].orientation
    wdot = -np.cross(w, INERTIA * w) / INERTIA
    vdot = R.T @ [0.0, 0.0, -9.81] - np.cross(w, v)
    u, udot = (np.concatenate([a, np.array(along) @ b]) for a, b in ((w, v), (wdot, vdot)))
    np.testing.assert_allclose(dyn.forward(q, u), udot, rtol=0, atol=1e-12 * np.abs(udot).max())


def test_velocities_along_three_axes_of_a_body_are_solved_without_a_divisor():
    """What remains is cos of the second angle, where the hinges' own rates are undetermined."""
    (divisor,) = floating_body(np.eye(3)).system.fails_where
    assert repr(divisor) in {"cos(turn_y)", "-cos(turn_y)"}


def sleigh(angle_at_rest):
    """A body on a plane, its point P without velocity across the body's x axis; u1 is P's velocity along it."""
    m = kane.Model("sleigh")
    body = m.body("body", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0.0, 0.0))
    plane = m.connect(
        m.ground, body, kane.Planar("at"), orientation=kane.Rotation.about("z", angle_at_rest), name="plane"
    )
    m.constrain(kane.NoSkid(body.point(), body.y))
    m.speeds(u1=body.point().velocity.dot(body.x), u2=plane["at_angle"].qdot)
    return kane.formulate(m)


@pytest.mark.parametrize("angle", [0.0, 0.5 * np.pi, np.pi, 2.0])
def test_a_speed_and_a_constraint_along_turning_axes_are_solved_at_every_heading(angle):
    """Kinematics and u1dot = a u2^2, u2dot = -m a u1 u2 / (I + m a^2), tens of operations on numbers of order one."""
    equations = sleigh(0.7)
    assert equations.system.fails_where == ()
    dyn, u = kane.build(equations), np.array([1.3, -0.8])
    q = [0.1, 0.2, angle]
    np.testing.assert_allclose(dyn.kinematics(q, u), [1.3 * np.cos(angle), 1.3 * np.sin(angle), -0.8], atol=1e-14)
    udot = [0.3 * 0.8**2, 2.0 * 0.3 * 1.3 * 0.8 / (0.1 + 2.0 * 0.3**2)]
    np.testing.assert_allclose(dyn.forward(q, u), udot, rtol=1e-13)


def test_speeds_of_choice_have_units_and_a_run_of_fewer_speeds_than_joints_have_is_labelled_and_saved(tmp_path):
    """Mixtures by parameters have units that cannot be known; numbers leave a unit as it is."""
    m = kane.library.chaplygin_sleigh()
    assert kane.formulate(m).speed_units == ("m/s", "rad/s")
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1, u={"u1": 1.0})
    run.save(tmp_path / "run.nc")
    assert run.to_xarray().u.sel(speed="u2").speed_units.item() == "rad/s"
    assert kane.formulate(kane.library.rolling_disk()).speed_units == ("m/s", "SI")
    m = kane.library.four_bar()
    m.speeds(u1=m.rate("q1"), u2=2.0 * m.rate("q1") - m.rate("q2"), u3=kane.cos(m.connections[0].q) * m.rate("q3"))
    assert kane.formulate(m).speed_units == ("rad/s", "rad/s", "SI")
