"""Derivatives of motions with dry friction, vouched for by closed forms and by differences of whole runs; forwards and
backwards vouch for each other.
"""

from __future__ import annotations

import numpy as np
import pytest

import kane
import kane.analysis.sensitivities.contact_motions as motions_file
import kane.analysis.sensitivities.row_equations as problem_file
from kane.errors import ModelError

FINE = kane.RK8(rtol=1e-12, atol=1e-12)
# Differences over 2e-5 of runs to 1e-12: 1e-7 of rounding, and what is cubic is less.
STEP, DIFFERENCES = 1e-5, 2e-7


def planar_block(static, kinetic, restitution=0.0):
    """A disk on the floor of the plane, pushed by a force F below its centre."""
    m = kane.Model("block", gravity=(0, -9.81, 0))
    friction = kane.Coulomb(m.parameter("static", static), m.parameter("kinetic", kinetic))
    B = m.body("B", mass=m.parameter("mB", 1.5), inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, B, kane.Planar("p", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(kane.Sphere(B.point(), 0.1), floor, friction=friction, restitution=restitution, name="floor")
    m.load(kane.Force(B.point((0, -0.1, 0)), (m.input("F", default=0.0), 0, 0)))
    return kane.build(kane.formulate(m))


def planar_box(static, kinetic):
    """A box on the floor of the plane: four contacts, of which two would do."""
    m = kane.Model("box", gravity=(0, -9.81, 0))
    friction = kane.Coulomb(m.parameter("static", static), m.parameter("kinetic", kinetic))
    B = m.body("B", mass=m.parameter("mB", 2.0), inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, B, kane.Planar("p", axis="z"))
    m.contact(B.shape(kane.Box(0.4, 0.2, 0.2)), kane.Plane(m.ground.point(), m.ground.y), friction=friction)
    m.load(kane.Force(B.point(), (m.input("F", default=0.0), 0, 0)))
    return kane.build(kane.formulate(m))


def pendulum_that_sticks():
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    B = m.body("B", mass=1.5, inertia=(0.1, 0.1, 0.1), com=(0, -0.5, 0))
    joint = m.connect(m.ground, B, kane.Revolute("th", axis="z"))
    m.stick(joint, static=m.parameter("static", 0.9), kinetic=m.parameter("kinetic", 0.5))
    return kane.build(kane.formulate(m))


def ball_in_space():
    m = kane.Model("ball", gravity=(0, 0, -9.81))
    B = m.body("B", mass=m.parameter("mB", 1.5), inertia=(0.1, 0.12, 0.14))
    m.connect(m.ground, B, kane.Free("f"))
    friction = kane.Coulomb(m.parameter("kinetic", 0.3))
    m.contact(kane.Sphere(B.point(), 0.2), kane.Plane(m.ground.point(), m.ground.z), friction=friction, name="floor")
    return kane.build(kane.formulate(m))


def feet_in_space(static, kinetic, feet):
    """A body on some feet, pushed beside its centre."""
    m = kane.Model("feet", gravity=(0, 0, -9.81))
    B = m.body("B", mass=m.parameter("mB", 2.0), inertia=(0.1, 0.12, 0.14))
    m.connect(m.ground, B, kane.Free("f"))
    friction = kane.Coulomb(m.parameter("static", static), m.parameter("kinetic", kinetic))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k, (x, y) in enumerate(feet):
        shape = B.point((x, y, -0.1)) if len(feet) > 1 else kane.Sphere(B.point(), 0.1)
        m.contact(shape, floor, friction=friction, name=f"foot {k + 1}")
    m.load(kane.Force(B.point((0.03, 0.02, -0.1)), (m.input("Fx", default=0.0), m.input("Fy", default=0.0), 0)))
    return kane.build(kane.formulate(m))


def folding_body_in_space():
    """Three feet and, on an arm that turns about the vertical, two more: what they share depends on the angle."""
    m = kane.Model("folding", gravity=(0, 0, -9.81))
    B = m.body("B", mass=m.parameter("mB", 2.0), inertia=(0.1, 0.12, 0.14))
    m.connect(m.ground, B, kane.Free("f"))
    arm = m.body("arm", mass=1.0, inertia=(0.02, 0.03, 0.03), com=(0.15, 0, 0))
    m.connect(B, arm, kane.Revolute("phi", axis="z"))
    friction = kane.Coulomb(m.parameter("static", 0.4), m.parameter("kinetic", 0.3))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    places = [(B, THREE), (arm, [(0.3, 0.02), (0.25, -0.04)])]
    for k, point in enumerate(body.point((*xy, -0.1)) for body, feet in places for xy in feet):
        m.contact(point, floor, friction=friction, name=f"foot {k + 1}")
    return kane.build(kane.formulate(m))


THREE = [(0.2, 0.1), (-0.2, 0.13), (0.05, -0.15)]
FOUR = [(0.2, 0.1), (-0.2, 0.13), (-0.12, -0.14), (0.15, -0.15)]
PUSH = {
    "Fx": kane.Interpolated([0, 0.6, 0.7, 2], [0, 14.0, -4, -4.0]),
    "Fy": kane.Interpolated([0, 0.5, 2], [0, 2.0, 0]),
}
RUNS = {
    "slides to rest": (
        lambda: planar_block(0.35, 0.3),
        {"until": 0.8, "q": {"p_y": 0.1}, "u": {"p_x_dot": 1.0}},
        ["imposed", "sticks"],
        ["p_x", "p_x_dot", "p_angle_dot", "kinetic", "mB"],
    ),
    "bounces while it slips": (
        lambda: planar_block(0.3, 0.2, restitution=0.6),
        {"until": 0.9, "q": {"p_y": 0.6}, "u": {"p_x_dot": 3.0}},
        ["bounces", "bounces"],
        ["p_y", "p_x_dot", "kinetic", "mB"],
    ),
    "is pushed until it slips": (
        lambda: planar_block(0.4, 0.3),
        {"until": 1.8, "q": {"p_y": 0.1}, "inputs": {"F": kane.Interpolated([0, 1, 2], [0.0, 12.0, 3.0])}},
        ["imposed", "slips"],
        ["p_x", "static", "kinetic", "mB"],
    ),
    "slides to rest on four corners": (
        lambda: planar_box(0.35, 0.3),
        {"until": 0.6, "q": {"p_y": 0.1}, "u": {"p_x_dot": 1.0}},
        ["imposed"] * 4 + ["sticks"] * 4,
        ["p_x", "p_x_dot", "kinetic", "mB"],
    ),
    "is pushed until four corners slip": (
        lambda: planar_box(0.4, 0.3),
        {"until": 1.5, "q": {"p_y": 0.1}, "inputs": {"F": kane.Interpolated([0, 2], [0.0, 14.0])}},
        ["imposed"] * 4 + ["slips"] * 4,
        ["p_x", "static", "kinetic", "mB"],
    ),
    "falls on an edge, slips and rocks to rest": (
        lambda: planar_box(0.35, 0.3),
        {"until": 0.32, "q": {"p_y": 0.3, "p_angle": 0.2}, "u": {"p_x_dot": 0.5}},
        ["imposed"] * 2
        + ["slips"] * 2
        + ["imposed", "deleted", "deleted", "imposed"]
        + ["imposed"] * 2
        + ["deleted"] * 2,
        ["p_y", "p_angle", "p_x_dot", "kinetic", "mB"],
    ),
    "swings against dry friction": (
        pendulum_that_sticks,
        {"until": 2.5, "q": {"th": 1.0}, "u": {"th_dot": 0.1}},
        ["slips", "reverses", "reverses", "reverses"],
        ["th", "th_dot", "kinetic"],
    ),
    "slides and spins in space": (
        ball_in_space,
        {"until": 0.2, "q": {"f_z": 0.2}, "u": {"f_vx": 1.0, "f_vy": 0.4, "f_wx": 0.5}},
        ["imposed"],
        ["f_vx", "f_wx", "kinetic", "mB"],
    ),
    "slides and spins in space until it rolls": (
        ball_in_space,
        {"until": 0.5, "q": {"f_z": 0.2}, "u": {"f_vx": 0.4, "f_vy": 0.1, "f_wx": 0.5}},
        ["imposed", "sticks"],
        ["f_vx", "f_vy", "f_wx", "kinetic", "mB"],
    ),
    "is pushed in space until it slips, and turned until it rolls": (
        lambda: feet_in_space(0.4, 0.3, [(0.0, 0.0)]),
        {"until": 1.6, "q": {"f_z": 0.1}, "inputs": PUSH},
        ["imposed", "slips", "sticks"],
        ["static", "kinetic", "mB"],
    ),
    "slides and turns in space to rest, on one foot before the others": (
        lambda: feet_in_space(0.4, 0.3, THREE),
        {"until": 0.6, "q": {"f_z": 0.1}, "u": {"f_vx": 1.0, "f_vy": 0.2, "f_wz": 2.0}},
        ["imposed"] * 3 + ["sticks"] * 3,
        ["f_vx", "f_wz", "kinetic", "mB"],
    ),
    "slides and turns on four feet, whose normal forces are open": (
        lambda: feet_in_space(0.4, 0.3, FOUR),
        {"until": 0.1, "q": {"f_z": 0.1}, "u": {"f_vx": 0.5, "f_vy": -0.8, "f_wz": 4.0}},
        ["imposed"] * 4,
        ["f_vx", "f_wz", "kinetic", "mB"],
    ),
    "slides and turns on four feet, of which one comes to rest first": (
        lambda: feet_in_space(0.4, 0.3, FOUR),
        {"until": 0.6, "q": {"f_z": 0.1}, "u": {"f_vx": 1.0, "f_vy": 0.2, "f_wz": 2.0}},
        ["imposed"] * 4 + ["sticks"] * 4,
        ["f_vx", "f_wz", "kinetic", "mB"],
    ),
    "slides, turns and folds on five feet": (
        folding_body_in_space,
        {"until": 0.1, "q": {"f_z": 0.1, "phi": 0.3}, "u": {"f_vx": 1.0, "f_vy": 0.2, "f_wz": 2.0, "phi_dot": 3.0}},
        ["imposed"] * 5,
        ["f_vx", "phi", "kinetic", "mB"],
    ),
}


# The equations of each mode take two seconds to derive, and each foot that comes to rest makes another mode. In the
# quick tests one foot in space and four corners in the plane come to rest, and four feet in space slide. A body that is
# pushed until it slips comes to roll, as a ball does.
SLOW = [
    "slides and spins in space until it rolls",
    "slides and turns in space to rest, on one foot before the others",
    "slides and turns on four feet, of which one comes to rest first",
]


@pytest.mark.parametrize("case", [pytest.param(x, marks=pytest.mark.slow) if x in SLOW else x for x in RUNS])
def test_what_slips_has_the_derivatives_of_whole_runs(case):
    make, given, causes, names = RUNS[case]
    dyn = make()
    e = dyn.equations

    def end(name=None, step=0.0):
        values = {p.name: v for p, v in zip(e.parameters, dyn.parameters, strict=True)}
        start = {"q": dict(given.get("q", {})), "u": dict(given.get("u", {}))}
        for group, leaves in (("q", e.q), ("u", e.u)):
            if name in [leaf.name for leaf in leaves]:
                start[group][name] = start[group].get(name, 0.0) + step
        if name in values:
            values[name] += step
        more = {key: given[key] for key in ("until", "inputs") if key in given}
        return kane.simulate(dyn, parameters=values, integrator=FINE, **start, **more)

    run = end()
    assert [x.cause for x in run.events] == causes
    s = kane.sensitivities(run, wrt=names, inputs=given.get("inputs"))
    for name in names:
        ends = [np.concatenate([x.q[-1], x.u[-1]]) for x in (end(name, STEP), end(name, -STEP))]
        expected = (ends[0] - ends[1]) / (2 * STEP)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(s.final[name], expected, rtol=0, atol=DIFFERENCES * size, err_msg=name)
    cost = e.q[0] * e.u[-1] + 2 * e.q[1] if len(e.q) > 1 else e.q[0] * e.u[0] + 2 * e.q[0]
    ahead, back = s.gradient(cost), s.adjoint(cost)
    for name, value in ahead.items():
        assert back[name] == pytest.approx(value, abs=1e-12 * max(1.0, *map(abs, ahead.values())))


def test_a_block_that_comes_to_rest_has_the_derivatives_of_its_closed_form():
    """Without rotation it goes v^2 / (2 mu g)."""
    m = kane.Model("block", gravity=(0, -9.81, 0))
    mu = m.parameter("mu", 0.3)
    carriage = m.body("carriage", mass=0.0)
    m.connect(m.ground, carriage, kane.Prismatic("x", axis="x"))
    B = m.body("B", mass=1.5)
    m.connect(carriage, B, kane.Prismatic("y", axis="y"))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(kane.Sphere(B.point(), 0.1), floor, friction=kane.Coulomb(mu))
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q={"y": 0.1}, u={"x_dot": 1.2}, integrator=FINE)
    s = kane.sensitivities(run, wrt=["x_dot", "mu"])
    found = s.final["x_dot"][0], s.final["mu"][0]
    assert found == pytest.approx([1.2 / (0.3 * 9.81), -(1.2**2) / (2 * 0.3**2 * 9.81)], rel=1e-9)


def test_a_force_that_makes_a_block_slip_has_the_derivatives_of_its_samples():
    """The samples move the beginning of the slip too; differences of whole runs vouch."""
    dyn, times, values = planar_block(0.4, 0.3), [0.0, 1.0, 2.0], np.array([0.0, 12.0, 3.0])

    def end(k=0, step=0.0):
        force = kane.Interpolated(times, values + step * np.eye(3)[k])
        run = kane.simulate(dyn, until=1.8, q={"p_y": 0.1}, inputs={"F": force}, integrator=FINE)
        return run, force, run["p_x"][-1]

    run, force, _ = end()
    found = kane.sensitivities(run, wrt=["p_x"], inputs={"F": force}).adjoint(dyn.equations.q[0]).samples("F")
    expected = [(end(k, STEP)[2] - end(k, -STEP)[2]) / (2 * STEP) for k in range(3)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=DIFFERENCES)


def test_in_space_a_slip_that_begins_with_no_acceleration_is_refused():
    """Static friction is a hair above the kinetic one: for a moment forces are in balance."""
    dyn, push = feet_in_space(0.3 * (1.0 + 5e-4), 0.3, [(0.0, 0.0)]), kane.Interpolated([0, 2], [0.0, 12.0])
    inputs = {"Fx": push, "Fy": kane.Held([0.0], [0.0])}
    run = kane.simulate(dyn, until=1.2, q={"f_z": 0.1}, inputs=inputs)
    assert "slips" in [x.cause for x in run.events]
    with pytest.raises(ModelError, match=r"begins at t = .* with no acceleration to speak of"):
        kane.sensitivities(run, wrt=["mB"], inputs=inputs)


def test_a_box_that_falls_flat_is_refused_for_any_turn_of_it_would_part_its_impacts():
    run = kane.simulate(planar_box(0.35, 0.3), until=0.5, q={"p_y": 0.3})
    with pytest.raises(ModelError, match=r"strike at once at t = 0\.2019\d+ s and act on each other"):
        kane.sensitivities(run, wrt=["p_y"])


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_a_body_that_slips_as_its_bouncing_ends_is_derived_beyond(restitution):
    """The last impact of a series rubs like one that bounces, and has no rebound; against differences of runs."""
    m = kane.Model("block", gravity=(0, -9.81, 0))
    b, h = m.body("b", mass=2.0), m.body("h", mass=0.0)
    m.connect(m.ground, h, kane.Prismatic("x", axis="x"))
    m.connect(h, b, kane.Prismatic("y", axis="y"))
    mu, e = m.parameter("mu", 0.4), m.parameter("e", restitution)
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(b.point(), floor, restitution=e, friction=kane.Coulomb(mu, 0.75 * mu), name="f")
    dyn = kane.build(kane.formulate(m))

    def ran(y=0.3, **values):
        precise = kane.RK8(rtol=1e-11, atol=1e-13)
        return kane.simulate(dyn, until=0.7, q={"y": y}, u={"x_dot": 5.0}, parameters=values, integrator=precise)

    def end(**values):
        run = ran(**values)
        return np.concatenate([run.q[-1], run.u[-1]])

    run, step = ran(), 1e-6
    assert run.events[-1].cause == "imposed"
    s = kane.sensitivities(run, wrt=["mu", "y"])
    for name, value in {"mu": 0.4, "y": 0.3}.items():
        difference = (end(**{name: value + step}) - end(**{name: value - step})) / (2.0 * step)
        # Runs err by some 3e-11, of rtol and some 3 m, their differences by that over twice the step.
        assert s.final[name] == pytest.approx(difference, abs=2e-5)


@pytest.mark.parametrize("wrong", ["shares", "friction"])
def test_derived_equations_that_are_not_those_of_the_run_are_told_by_their_steps(monkeypatch, wrong):
    """Normal forces shared in another way, as they were once, in silence; or another friction."""
    dyn = feet_in_space(0.4, 0.3, FOUR)
    run = kane.simulate(dyn, until=0.05, q={"f_z": 0.1}, u={"f_vx": 0.5, "f_vy": -0.8, "f_wz": 4.0})
    kane.sensitivities(run, wrt=["f_vx"])
    if wrong == "shares":
        own = problem_file.outside_column_space
        monkeypatch.setattr(problem_file, "outside_column_space", lambda A: 0.0 * own(A))
    else:
        monkeypatch.setattr(
            motions_file, "Friction", lambda N, T, kinetic: problem_file.Friction(N, T, 1.001 * kinetic)
        )
        dyn = feet_in_space(0.4, 0.3, FOUR)  # whose programs are not compiled yet
        run = kane.simulate(dyn, until=0.05, q={"f_z": 0.1}, u={"f_vx": 0.5, "f_vy": -0.8, "f_wz": 4.0})
    with pytest.raises(ModelError, match=r"not those of the run at t = 0 s, with foot 1 sliding, .* change f_\w+ by"):
        kane.sensitivities(run, wrt=["f_vx"])


def test_another_friction_is_told_however_far_the_body_is_from_the_origin(monkeypatch):
    """No force depends on where a foot stands: 10,000 km away it is wrong by as much, and told by steps as short."""
    start = {"q": {"f_x": 1e7, "f_z": 0.1}, "u": {"f_vx": 0.5, "f_vy": -0.8, "f_wz": 4.0}}
    dyn = feet_in_space(0.4, 0.3, FOUR)
    kane.sensitivities(kane.simulate(dyn, until=0.01, **start), wrt=["f_vx"])
    monkeypatch.setattr(motions_file, "Friction", lambda N, T, mu: problem_file.Friction(N, T, 1.001 * mu))
    dyn = feet_in_space(0.4, 0.3, FOUR)  # whose programs are not compiled yet
    run = kane.simulate(dyn, until=0.01, **start)
    with pytest.raises(ModelError, match=r"not those of the run at t = 0 s, with foot 1 sliding, .* change f_\w+ by"):
        kane.sensitivities(run, wrt=["f_vx"])
