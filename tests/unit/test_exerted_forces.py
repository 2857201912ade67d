"""What loads, joints, constraints and contacts exert on bodies: Jacobians, Newton's law and closed forms vouch."""

import numpy as np
import pytest
from oracles.formulated import built, formulated

import kane
from kane.dynamics.reactions.exerted_forces import StatesOfArrows, acting
from kane.expression.interpret import interpret
from kane.formulation.reactions.exerted import exerted

WEIGHT = 9.81


def numbers(expressions, values):
    return np.array(interpret(list(expressions), values), float)


def belt():
    """A trolley that its wheel drives by its spin: torques on both, and a force on the axle of the wheel."""
    m = kane.Model("belt", gravity=(0, 0, -WEIGHT))
    trolley = m.body("trolley", mass=1.0, inertia=(1, 1, 1))
    wheel = m.body("wheel", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, trolley, kane.Planar(("x", "y", "th")))
    m.connect(trolley, wheel, kane.Revolute("spin", axis="z"), at=(0.2, 0, 0))
    spin = wheel.angular_velocity.dot(m.ground.z) - trolley.angular_velocity.dot(m.ground.z)
    m.constrain(trolley.point((0.2, 0, 0)).velocity.dot(trolley.x) - 0.3 * spin, name="belt")
    return m


@pytest.mark.parametrize(
    "name",
    ["four_bar", "andrews_squeezer", "stewart_platform", "rolling_disk", "whipple_bicycle", "mobile_manipulator",
     "belt"],
)  # fmt: skip
def test_forces_and_torques_have_the_power_of_the_rate_of_their_row(name):
    # sum f . v_P + t . w_B = A u + b, v and w by Jacobians, A and b as formulated; at a state off the constraints.
    eqs = formulated(belt if name == "belt" else getattr(kane.library, name))
    free, rng = eqs.unconstrained, np.random.default_rng(1)
    dyn = kane.build(free)
    q = np.array(eqs.neutral) + 0.1 * rng.normal(size=len(eqs.q))
    for first in eqs.quaternions:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])
    u = rng.normal(size=len(eqs.u))
    values = dict(zip((eqs.t, *eqs.q, *eqs.u), (0.0, *q, *u), strict=True))
    values |= {leaf: float(eqs.defaults[leaf.name]) for leaf in (*eqs.parameters, *eqs.inputs)}
    rates = {row.name: numbers([row.motion], values)[0] for row in free.constraints or eqs.constraints}
    tried = 0
    for constraint in eqs.model.constraints:
        parts = exerted(free, constraint.name).parts
        for k, title in enumerate(constraint.name_of(row) for row in constraint.rows):
            if title not in rates:  # redundant, or kept by the choice of speeds
                continue
            power = 0.0
            for part in parts:
                J = dyn.jacobian(eqs.bodies[part.body], q, at=numbers(map(eqs.t.arena.lift, part.at), values))
                power += (
                    numbers(part.forces[k], values) @ J.linear @ u + numbers(part.torques[k], values) @ J.angular @ u
                )
            assert power == pytest.approx(rates[title], rel=1e-9, abs=1e-11)
            tried += 1
    assert tried
    assert any(abs(rate) > 1e-3 for rate in rates.values())


def run_of(model, **given):
    return kane.simulate(kane.build(kane.formulate(model)), **given)


def of_run(run, name):
    contacts = run.reactions if run.dynamics().equations.intermittents else None
    states = StatesOfArrows(run.q, run.u, run.inputs, run.time, {}, contacts)
    return acting(run.dynamics(), name, states)


def rod():
    """A rod on a pivot at its end, with a spring from its tip to the ground and a motor."""
    m = kane.Model("rod", gravity=(0, 0, -WEIGHT))
    rod = m.body("rod", mass=2.0, inertia=(0.1, 0.1, 0.0), com=(0, 0, -0.5))
    pivot = m.connect(m.ground, rod, kane.Revolute("q1", axis="y"), at=(0, 0, 1.0))
    m.load(kane.Motor(pivot, 3.0))
    m.load(kane.PointSpring(rod.point((0, 0, -1.0)), m.ground.point((1.0, 0, 0)), 7.0, 0.4))
    return m


def test_what_acts_on_a_body_is_its_mass_times_the_acceleration_of_its_centre():
    run = run_of(rod(), until=1.0, q=[0.3], u=[0.2], dt=1e-3)
    forces = {name: of_run(run, name) for name in ("q1", "Motor on q1", "PointSpring on rod, ground")}
    assert [len(found) for found in forces.values()] == [1, 1, 1]  # the ground is not drawn on
    spring = forces["PointSpring on rod, ground"][0]
    centre = run.dynamics().poses(run.q)["rod"].position
    R = run.dynamics().poses(run.q)["rod"].orientation
    com = centre + R @ [0, 0, -0.5]
    a = np.gradient(np.gradient(com, run.time, axis=0, edge_order=2), run.time, axis=0, edge_order=2)[2:-2]
    total = forces["q1"][0].force + spring.force + [0, 0, -2.0 * WEIGHT]
    # Of second differences of 1 ms of a motion with some rad/s: h^2 a''/6.
    np.testing.assert_allclose(total[2:-2], 2.0 * a, atol=1e-3)
    tip = centre + R @ [0, 0, -1.0]
    stretch = np.array([1.0, 0, 0]) - tip
    length = np.linalg.norm(stretch, axis=1)[:, None]
    np.testing.assert_allclose(spring.force, 7.0 * (length - 0.4) * stretch / length, atol=1e-12)
    np.testing.assert_array_equal(spring.at, [0, 0, -1.0])
    motor = forces["Motor on q1"][0]
    np.testing.assert_allclose(motor.torque, np.tile([0, 3.0, 0], (len(run.time), 1)), atol=1e-15)
    assert not motor.force.any()


def ball(friction=None):
    m = kane.Model("ball", gravity=(0, 0, -WEIGHT))
    ball = m.body("ball", mass=2.0, inertia=(0.008, 0.008, 0.008))
    m.connect(m.ground, ball, kane.Free("ball"))
    sphere = ball.shape(kane.Sphere(ball.point(), 0.1))
    m.contact(sphere, kane.Plane(m.ground.point(), m.ground.z), friction=friction, name="floor")
    return m


def test_a_ball_that_slides_is_held_where_it_touches():
    eqs = kane.formulate(ball(kane.Coulomb(0.5)))
    q = dict(zip((leaf.name for leaf in eqs.q), eqs.neutral, strict=True))
    height = eqs.model.connections[0].coordinate_names[-1]
    forward = eqs.model.connections[0].speed_names[3]
    run = kane.simulate(kane.build(eqs), until=0.1, q={**q, height: 0.1}, u={forward: 3.0})
    (held,) = of_run(run, "floor")
    np.testing.assert_allclose(held.arm, np.tile([0, 0, -0.1], (len(run.time), 1)), atol=1e-9)
    np.testing.assert_allclose(held.torque, 0.0, atol=1e-8)
    np.testing.assert_allclose(held.force[:, 2], 2.0 * WEIGHT, rtol=1e-9)
    np.testing.assert_allclose(held.force[:, 0], -0.5 * 2.0 * WEIGHT, rtol=1e-9)
    joint = eqs.model.connections[0].name
    (free,) = of_run(run, joint)  # a joint that allows all motions exerts nothing: the floor does
    np.testing.assert_allclose(np.hstack([free.force, free.torque]), 0.0, atol=1e-12)
    with pytest.raises(kane.ModelError, match="depends on the forces of intermittent constraints"):
        acting(run.dynamics(), joint, StatesOfArrows(run.q, run.u, run.inputs, run.time, {}))


def test_where_a_wheel_rolls_is_where_its_force_acts():
    dyn = built(kane.library.whipple_bicycle)
    start = kane.assemble(dyn, u={"x_dot": 4.0}, fixed=["x_dot"])
    run = kane.simulate(dyn, until=0.3, q=start.q, u=start.u)
    (held,) = of_run(run, "rear wheel on the road")
    pose = dyn.poses(run.q)[dyn.equations.bodies[held.body]]
    place = pose.position + pose.orientation @ held.at + held.arm
    np.testing.assert_allclose(place[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(held.torque, 0.0, atol=1e-8 * np.abs(held.force).max())


def test_what_cannot_be_drawn_is_refused_by_name():
    run = run_of(rod(), until=0.1)
    with pytest.raises(kane.ModelError, match="no joint, constraint, contact or load 'nowhere'"):
        of_run(run, "nowhere")
    m = kane.Model("two", gravity=(0, 0, -WEIGHT))
    bar = m.body("bar", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, bar, kane.Prismatic("x", axis="x"))
    for k in range(2):
        m.constrain(bar.point((0, 0, float(k))).position.dot(m.ground.x), name=f"stop {k}")
    with pytest.raises(kane.ModelError, match="redundant constraints make the reaction of 'stop 0' indeterminate"):
        of_run(run_of(m, until=0.1), "stop 0")
