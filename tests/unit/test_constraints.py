"""Every constraint: its motion equations against Jacobians and the derivatives of positions, its effect against closed
forms."""

import math

import numpy as np
import pytest
from oracles.two_chains import PARAMETERS, P, Q, State, machine
from scipy.interpolate import CubicSpline

import kane
from kane import (
    Cam,
    Coincidence,
    Disk,
    Distance,
    Gear,
    NoSkid,
    Parallel,
    Plane,
    Prescribed,
    Ring,
    Rolling,
    Rope,
    Sphere,
)
from kane.expression.derivative import total_time_derivative
from kane.expression.interpret import interpret
from kane.expression.traverse import leaves as leaves_of
from kane.formulation.quantities.programs import quantity
from kane.geometry import quaternion

# Sums of some hundred products of numbers of order one by two routes.
TOLERANCE = {"rtol": 1e-11, "atol": 1e-11}


def coin(s):
    return Disk(s.B.point(P), s.B.direction((1.0, 2.0, 0.5)), s.p.r)


def wheel(s):
    """A disk on the axle about which its body turns."""
    return Disk(s.B.point((0.0, 0.3, 0.0)), s.B.y, s.p.r)


def ramp(s, body):
    """A plane whose normal depends on a parameter."""
    return Plane(body.point(Q), body.direction((-kane.sin(s.p.slope), 0.3, kane.cos(s.p.slope))))


EXAMPLES = {
    "coincidence": lambda s: Coincidence(s.B.point(P), s.D.point(Q)),
    "on a plane": lambda s: Coincidence(s.B.point(P), s.D.point(Q), along=[s.D.direction((1.0, 2.0, s.p.r))]),
    "on a line of a third body": lambda s: Coincidence(s.B.point(P), s.N.point(Q), along=[s.C.x, s.C.z]),
    "distance": lambda s: Distance(s.B.point(P), s.D.point(Q), s.p.L),
    "rope": lambda s: Rope([s.N.point(P), s.B.point(P), s.B.point(Q), s.D.point(Q)], s.p.L + 0.1 * s.t * s.t),
    "parallel": lambda s: Parallel(s.B.direction((1.0, s.p.r, 0.3)), s.D.direction((0.2, 0.1, 3.0))),
    "coin on the ground": lambda s: Rolling(coin(s), ramp(s, s.N)),
    "coin on a body": lambda s: Rolling(coin(s), ramp(s, s.D)),
    "wheel on the ground": lambda s: Rolling(wheel(s), ramp(s, s.N)),
    "wheel on a body": lambda s: Rolling(wheel(s), ramp(s, s.D)),
    "sphere on the ground": lambda s: Rolling(Sphere(s.B.point(P), s.p.r), ramp(s, s.N)),
    "sphere on a body": lambda s: Rolling(Sphere(s.B.point(P), s.p.r), ramp(s, s.D)),
    "sliding coin": lambda s: kane.Sliding(coin(s), ramp(s, s.D)),
    "wheel on wheel": lambda s: Rolling(coin(s), Disk(s.D.point(Q), s.D.z, 0.8)),
    "wheel on a coin": lambda s: Rolling(wheel(s), Disk(s.D.point(Q), s.D.z, 0.8)),
    "wheel in a ring": lambda s: Rolling(coin(s), Ring(s.D.point(Q), s.D.z, 0.8)),
}


def constrained(example, seed=1):
    """The machine with one constraint, its equations by name of the row, and a state."""
    s = machine()
    constraint = example(s)
    s.m.constrain(constraint, name="c")
    equations = kane.formulate(s.m)
    return s, constraint, equations, {e.name.removeprefix("c: "): e for e in equations.constraints}, State(seed)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_motion_equation_is_the_time_derivative_of_its_configuration_equation(example):
    """Who vouches: the derivative of the graph of positions, beside velocities by recursion."""
    _, _, equations, rows, state = constrained(example)
    compared = [row for row in rows.values() if row.configuration is not None]
    rates = dict(zip(equations.q, equations.unconstrained.kinematics, strict=True))
    derived = total_time_derivative([row.configuration for row in compared], rates)
    assert compared
    found = state.values(equations, [row.motion for row in compared])
    assert np.abs(found).min() > 1e-3  # so that nothing is compared with nothing
    np.testing.assert_allclose(found, state.values(equations, derived), **TOLERANCE)


def test_the_rate_of_a_distance_that_changes_with_time_is_right_where_the_distance_is():
    _, c, equations, rows, state = constrained(lambda s: Distance(s.B.point(P), s.D.point(Q), s.p.L * kane.exp(s.t)))
    rates = dict(zip(equations.q, equations.unconstrained.kinematics, strict=True))
    row = rows["length"]
    derived = total_time_derivative([row.configuration], rates)
    L = np.linalg.norm(state.place(c.P) - state.place(c.Q)) / math.exp(state.t)
    held, found, expected = state.values(equations, [row.configuration, row.motion, *derived], L=L)
    assert abs(held) < 1e-12
    np.testing.assert_allclose(found, expected, **TOLERANCE)


def test_the_residual_of_a_distance_is_in_metres():
    _, c, equations, rows, state = constrained(EXAMPLES["distance"])
    actual = np.linalg.norm(state.place(c.P) - state.place(c.Q))
    found = state.values(equations, [rows["length"].configuration], L=actual - 1e-6)[0]
    assert found == pytest.approx(1e-6, rel=1e-5)  # (p^2 - L^2)/(2 L) = e + e^2/(2 L)


def test_the_residual_of_a_point_off_a_plane_is_in_metres_however_long_the_normal():
    _, c, equations, rows, state = constrained(
        lambda s: Coincidence(s.B.point(P), s.N.point(Q), along=[s.N.direction((3.0, 0.0, 4.0))])
    )
    expected = (state.place(c.P) - state.place(c.Q)) @ np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(state.values(equations, [rows["direction 1"].configuration]), [expected], **TOLERANCE)


def test_sliding_leaves_slip_free():
    assert list(constrained(EXAMPLES["sliding coin"])[3]) == ["touch"]


def lowest(state, disk, n):
    """The offset from the centre to the point of a circle that is lowest along -n, by the phase of its height."""
    a = state.R(disk.centre.body) @ np.array(disk.axle.components)
    a = a / np.linalg.norm(a)
    e1 = np.cross(a, [0.3, -0.5, 0.9])
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(a, e1)
    phase = math.atan2(e2 @ n, e1 @ n) + math.pi
    return a, PARAMETERS["r"] * (math.cos(phase) * e1 + math.sin(phase) * e2)


def normal(state, plane):
    slope = PARAMETERS["slope"]
    n = state.R(plane.body) @ np.array([-math.sin(slope), 0.3, math.cos(slope)])
    return n / np.linalg.norm(n)


@pytest.mark.parametrize("name", ["coin on the ground", "coin on a body", "wheel on the ground", "wheel on a body"])
def test_the_lowest_point_of_a_rolling_coin_has_no_velocity_along_heading_across_and_normal(name):
    """Who vouches: the velocity of the material point, by Jacobians; the gap, by the height of that point."""
    _, c, equations, rows, state = constrained(EXAMPLES[name])
    disk, plane = c.roller, c.surface
    n = normal(state, plane)
    a, offset = lowest(state, disk, n)
    place = state.place(disk.centre) + offset
    v = state.velocity(disk.centre.body, place) - state.velocity(plane.body, place)
    heading = np.cross(a, n) / np.linalg.norm(np.cross(a, n))
    across = np.cross(n, heading)
    found = state.values(equations, [rows[k].motion for k in ("no slip", "no skid", "touch")])
    gap = (place - state.place(plane.point)) @ n
    np.testing.assert_allclose(found, [v @ heading, v @ across, v @ n], **TOLERANCE)
    np.testing.assert_allclose(state.values(equations, [rows["touch"].configuration]), [gap], **TOLERANCE)


@pytest.mark.parametrize("name", ["sphere on the ground", "sphere on a body"])
def test_the_lowest_point_of_a_rolling_sphere_has_no_velocity(name):
    """Who vouches: the velocity of the material point, by Jacobians."""
    _, c, equations, rows, state = constrained(EXAMPLES[name])
    n = normal(state, c.surface)
    place = state.place(c.roller.centre) - PARAMETERS["r"] * n
    v = state.velocity(c.roller.centre.body, place) - state.velocity(c.surface.body, place)
    along_1, along_2, along_n = state.values(equations, [row.motion for row in rows.values()])
    assert along_n == pytest.approx(v @ n, rel=1e-11)
    assert math.hypot(along_1, along_2) == pytest.approx(np.linalg.norm(v - (v @ n) * n), rel=1e-11)


def test_a_knife_edge_on_a_moving_body_does_not_move_across_it():
    """Who vouches: the velocity of the material points, by Jacobians."""
    s, _, equations, rows, state = constrained(
        lambda s: NoSkid(s.B.point(P), s.B.direction((0.0, 3.0, 4.0)), on=s.D), seed=2
    )
    place = state.place(s.B.point(P))
    v = state.velocity(s.B, place) - state.velocity(s.D, place)
    d = state.R(s.B) @ np.array([0.0, 0.6, 0.8])
    np.testing.assert_allclose(state.values(equations, [rows["no skid"].motion]), [v @ d], **TOLERANCE)


def wheels(surface_radius, surface):
    """A wheel of radius 0.2 and another or a ring about parallel axes, each on a turning carrier, in touch."""
    m = kane.Model("wheels")
    carrier, small, large = (m.body(n, mass=1.0, inertia=(1.0, 1.0, 1.0)) for n in ("carrier", "small", "large"))
    m.connect(m.ground, carrier, kane.Revolute("phi", axis="z"))
    arm = surface_radius + (0.2 if surface is Disk else -0.2)
    m.connect(carrier, small, kane.Revolute("planet", axis="z"), at=(arm, 0.0, 0.0))
    m.connect(m.ground, large, kane.Revolute("wheel", axis="z"))
    m.constrain(Rolling(Disk(small.point(), small.z, 0.2), surface(large.point(), large.z, surface_radius)), name="c")
    return kane.formulate(m)


@pytest.mark.parametrize(("surface", "sign"), [(Disk, 1.0), (Ring, -1.0)])
def test_wheels_turn_as_willis_says(surface, sign):
    """Who vouches: Willis' equation of planetary gears, r (w_small - w_carrier) = -+R (w_large - w_carrier)."""
    equations = wheels(0.5, surface)
    slip = equations.constraints[0]
    leaves = dict(zip(equations.q, (0.3, -0.4, 1.1), strict=True))
    carrier, planet, large = (interpret([slip.coefficients[k]], leaves)[0] for k in range(3))
    # The planet's coordinate is its angle against the carrier.
    assert large / planet == pytest.approx(sign * 0.5 / 0.2, rel=1e-12)
    assert carrier / planet == pytest.approx(-sign * 0.5 / 0.2, rel=1e-12)


def test_the_equations_of_an_upright_wheel_do_not_depend_on_how_far_it_has_turned():
    """Who vouches: a steered wheel by hand, v . heading - r spin and v . axle, with v of its centre."""
    m = kane.Model("cart")
    platform, fork, tyre = (m.body(n, mass=1.0, inertia=(1.0, 1.0, 1.0)) for n in ("platform", "fork", "tyre"))
    m.connect(m.ground, platform, kane.Planar("p", axis="z"), at=(0.0, 0.0, 0.15))
    m.connect(platform, fork, kane.Revolute("steer", axis="z"), at=(0.3, 0.0, 0.0))
    m.connect(fork, tyre, kane.Revolute("roll", axis="y"))
    m.constrain(Rolling(Disk(tyre.point(), tyre.y, 0.15), Plane(m.ground.point(), m.ground.z)), name="c")
    equations = kane.formulate(m)
    assert [row.name for row in equations.constraints] == ["c: no slip", "c: no skid"]  # it touches by its joints
    x = dict(zip([leaf.name for leaf in equations.q], (0.4, -0.2, 0.3, 0.5, 1.1), strict=True))
    leaves = {leaf: x[leaf.name] for leaf in equations.q}
    found = [
        {equations.u[j].name: interpret([c], leaves)[0] for j, c in row.coefficients.items()}
        for row in equations.constraints
    ]
    c, s, c_steer, s_steer = math.cos(0.8), math.sin(0.8), math.cos(0.5), math.sin(0.5)
    slip = {"p_x_dot": c, "p_y_dot": s, "p_angle_dot": 0.3 * s_steer, "roll_dot": -0.15}
    skid = {"p_x_dot": -s, "p_y_dot": c, "p_angle_dot": 0.3 * c_steer}
    assert found == [pytest.approx(slip, rel=1e-14), pytest.approx(skid, rel=1e-14)]
    turned = {leaf.name for row in equations.constraints for leaf in leaves_of(row.coefficients.values())}
    assert "roll" not in turned


def test_that_wheels_touch_is_left_out_where_their_carrier_sees_to_it():
    assert [row.name for row in wheels(0.5, Disk).constraints] == ["c: no slip"]


def accelerations(m, q, u):
    """udot by the names of the speeds, by multipliers: M udot + h = A^T lambda and A udot = -remainder, in NumPy.

    The state must satisfy the constraints. What embeds them must give the same."""
    equations = kane.formulate(m)
    n, rows = len(equations.u), equations.constraints
    leaves = dict(zip(equations.q, q, strict=True)) | dict(zip(equations.u, u, strict=True)) | {equations.t: 0.0}
    residuals = [x for row in rows for x in (row.configuration, row.motion) if x is not None]
    np.testing.assert_allclose(interpret(residuals, leaves), 0.0, atol=1e-13)
    values = np.array(interpret(list(quantity(equations, "unconstrained").outputs), leaves))
    triangle, h, remainder = np.split(values[: n * (n + 1) // 2 + n + len(rows)], [n * (n + 1) // 2, -len(rows)])
    M, A = np.zeros((n, n)), np.zeros((len(rows), n))
    M[np.tril_indices(n)] = triangle
    M = M + np.tril(M, -1).T
    for k, row in enumerate(rows):
        A[k, list(row.coefficients)] = interpret(list(row.coefficients.values()), leaves)
    KKT = np.block([[M, -A.T], [A, np.zeros((len(rows), len(rows)))]])
    udot = np.linalg.solve(KKT, np.concatenate([-h, -remainder]))[:n]
    # Accelerations of order 10 through matrices with condition numbers of some hundreds.
    np.testing.assert_allclose(kane.build(equations).forward(q, u), udot, rtol=1e-11, atol=1e-11)
    return dict(zip([x.name for x in equations.u], udot, strict=True))


def slider(m, name, axis="z", mass=1.0):
    """A body that slides from the origin."""
    body = m.body(name, mass=mass)
    m.connect(m.ground, body, kane.Prismatic(name + "_s", axis=axis))
    return body


def test_two_masses_on_a_rope_fall_as_atwood_says():
    """Who vouches: a = g (m_a - m_b) / (m_a + m_b)."""
    m = kane.Model("atwood")
    a, b = slider(m, "a", mass=3.0), slider(m, "b", mass=2.0)
    eyes = m.ground.point((0.0, 0.1, 2.0)), m.ground.point((0.0, 0.3, 2.0))
    m.constrain(Rope([a.point((0.0, 0.1, 0.0)), *eyes, b.point((0.0, 0.3, 0.0))], 4.2))
    found = accelerations(m, [0.4, -0.4], [0.3, -0.3])
    assert found["a_s_dot"] == pytest.approx(-9.81 / 5.0, rel=1e-12)
    assert found["b_s_dot"] == pytest.approx(9.81 / 5.0, rel=1e-12)


def test_a_tackle_of_four_parts_lifts_a_quarter_as_fast():
    """Who vouches: the load hangs on four parts, so that u_load = -u_hand / 4; m a = F with the hand's 4 in between."""
    m = kane.Model("tackle")
    load, hand = slider(m, "load", mass=8.0), slider(m, "hand", mass=1.0)
    top, block = m.ground.point((0.0, 0.0, 5.0)), load.point()
    m.constrain(Rope([top, block, top, block, top, hand.point()], 17.0))
    found = accelerations(m, [1.0, 4.0], [0.1, -0.4])
    # Lagrange: (m_hand + m_load / 16) a_hand = -(m_hand - m_load / 4) g.
    assert found["hand_s_dot"] == pytest.approx(-(1.0 - 8.0 / 4) * 9.81 / (1.0 + 8.0 / 16), rel=1e-12)
    assert found["load_s_dot"] == pytest.approx(-found["hand_s_dot"] / 4, rel=1e-12)


def test_a_drum_and_its_weight_fall_with_the_inertia_of_both():
    """Who vouches: (m r^2 + I) alpha = m g r."""
    m = kane.Model("winch")
    slider(m, "weight", mass=2.0)
    drum = m.body("drum", mass=1.0, inertia=(0.5, 0.4, 0.5))
    turn = m.connect(m.ground, drum, kane.Revolute("turn", axis="y"))
    m.constrain(Gear(m.connections[0], turn, ratio=-0.3, offset=0.5))
    found = accelerations(m, [0.5 - 0.3 * 0.8, 0.8], [0.0, 0.0])
    assert found["turn_dot"] == pytest.approx(2.0 * 9.81 * 0.3 / (2.0 * 0.09 + 0.4), rel=1e-12)


@pytest.mark.parametrize(("share", "shape"), [(2 / 5, Sphere), (1 / 2, lambda P, r: Disk(P, P.body.y, r))])
def test_a_ball_and_a_disk_roll_down_a_ramp_as_their_inertia_says(share, shape):
    """Who vouches: a = g sin(slope) / (1 + I / (m r^2)), straight down the steepest line."""
    m, slope = kane.Model("ball"), 0.4
    ball = m.body("ball", mass=2.0, inertia=(share * 2.0 * 0.09,) * 3)
    m.connect(m.ground, ball, kane.Free("b"))
    n = np.array([math.sin(slope), 0.0, math.cos(slope)])
    m.constrain(Rolling(shape(ball.point(), 0.3), Plane(m.ground.point(), m.ground.direction(n.tolist()))))
    q = [1.0, 0.0, 0.0, 0.0, *(0.3 * n)]
    found = accelerations(m, q, np.zeros(6))
    expected = 9.81 * math.sin(slope) / (1 + share) * np.array([math.cos(slope), 0.0, -math.sin(slope)])
    np.testing.assert_allclose([found[f"b_v{k}"] for k in "xyz"], expected, atol=1e-12)


def test_a_skate_on_a_slope_runs_down_its_edge_and_not_across():
    """Who vouches: a = g sin(slope) cos(heading) along the edge."""
    m = kane.Model("skate", gravity=(9.81 * math.sin(0.2), 0.0, -9.81 * math.cos(0.2)))
    skate = m.body("skate", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, skate, kane.Planar("s", axis="z"))
    m.constrain(NoSkid(skate.point(), skate.y))
    found = accelerations(m, [0.0, 0.0, 0.5], [0.0, 0.0, 0.0])
    along = 9.81 * math.sin(0.2) * math.cos(0.5)
    assert found["s_x_dot"] == pytest.approx(along * math.cos(0.5), rel=1e-12)
    assert found["s_y_dot"] == pytest.approx(along * math.sin(0.5), rel=1e-12)


ANGLES, LIFTS = [-3.0, -1.0, 0.5, 3.0], [0.0, 1.0, -1.0, 2.0]


@pytest.mark.parametrize(
    ("profile", "derivatives"),
    [
        (lambda x: 0.1 * kane.sin(2 * x), [0.1 * math.sin(1.4), 0.2 * math.cos(1.4), -0.4 * math.sin(1.4)]),
        (lambda x: kane.spline(x, ANGLES, LIFTS), [CubicSpline(ANGLES, LIFTS)(0.7, order) for order in range(3)]),
    ],
    ids=["sine", "spline"],
)
def test_the_follower_of_a_cam_that_turns_evenly_is_accelerated_by_its_curvature(profile, derivatives):
    """Who vouches: d2 y(x)/dt2 = y'' xdot^2 with x = 0.7 + 3 t; the spline by scipy."""
    m = kane.Model("cam")
    slider(m, "follower")
    wheel = m.body("wheel", mass=1.0, inertia=(1.0, 1.0, 1.0))
    turn = m.connect(m.ground, wheel, kane.Revolute("x", axis="z"))
    m.constrain(Cam(m.connections[0], turn, profile))
    m.constrain(Prescribed(turn, 0.7 + 3 * m.time))
    lift, slope, curvature = derivatives
    found = accelerations(m, [lift, 0.7], [3 * slope, 3.0])
    assert found["x_dot"] == pytest.approx(0.0, abs=1e-12)
    assert found["follower_s_dot"] == pytest.approx(9 * curvature, rel=1e-12)


def test_one_coordinate_of_a_joint_that_has_several_can_be_prescribed():
    m = kane.Model("cart")
    cart = m.body("cart", mass=2.0, inertia=(1.0, 1.0, 1.0))
    joint = m.connect(m.ground, cart, kane.Planar("c", axis="z"))
    m.constrain(Prescribed(joint["c_y"], 0.5 * m.time * m.time))
    assert accelerations(m, [0.3, 0.0, 0.2], [0.4, 0.0, 0.1])["c_y_dot"] == pytest.approx(1.0, rel=1e-14)


def coin_on_table():
    """A coin of radius r and mass m on the xy-plane; its axle is its z axis."""
    m, r = kane.Model("coin"), 0.2
    body = m.body("coin", mass=3.0, inertia=(3.0 * r * r / 4, 3.0 * r * r / 4, 3.0 * r * r / 2))
    m.connect(m.ground, body, kane.Free("c"))
    m.constrain(Rolling(Disk(body.point(), body.z, r), Plane(m.ground.point(), m.ground.z)))
    return m, r


def steady_turn(r, lean, turning):
    """State q, u of the coin, the axle's orientation R and w, in the turn that the next test explains."""
    spin = (-4 * 9.81 * math.sin(lean) / (turning * r * math.cos(lean)) - 5 * turning * math.sin(lean)) / 6
    axle, y = np.array([math.cos(lean), 0.0, math.sin(lean)]), np.array([0.0, 1.0, 0.0])
    R = np.column_stack([np.cross(y, axle), y, axle])
    w = np.array([0.0, 0.0, turning]) + spin * axle
    centre = r * np.array([-math.sin(lean), 0.0, math.cos(lean)])
    return [*quaternion.from_matrix(R), *centre], [*(R.T @ w), *(R.T @ np.cross(w, centre))], R, w


def test_a_leaning_coin_rolls_round_and_round_at_the_speed_of_its_lean():
    """Who vouches: steady turns, from the balance of moments about the contact done by hand here.

    The axle a = x cos e + z sin e turns about the vertical at W, and the disk at s about it: w = W z + s a. Its centre,
    c = r (z cos e - x sin e) from the contact, is accelerated by W r (W sin e + s) x. Its angular momentum about the
    centre, (m r^2/4) W (z - a sin e) + (m r^2/2) (s + W sin e) a, changes by W z x itself. The moment of the contact
    force about the centre, -c x m (g z + acceleration), is that change: (6 s + 5 W sin e) W r cos e = -4 g sin e.
    """
    m, r = coin_on_table()
    q, u, R, w = steady_turn(r, 0.3, 2.5)
    found = accelerations(m, q, u)
    # The whole figure turns about the vertical: dw/dt = turning z x w. The measure numbers of w along the disk's axes
    # change by R^T dw/dt, because w x w = 0.
    expected = R.T @ np.cross([0.0, 0.0, 2.5], w)
    np.testing.assert_allclose([found[f"c_w{k}"] for k in "xyz"], expected, atol=1e-10)


def test_a_coin_in_a_steady_turn_comes_back_after_a_circle_on_the_table_all_the_way():
    """Who vouches: the centre describes a circle once in 2 pi / 2.5 s; the plane is not left."""
    m, r = coin_on_table()
    q, u, _, _ = steady_turn(r, 0.3, 2.5)
    dynamics = kane.build(kane.formulate(m))
    circle = kane.simulate(dynamics, until=2 * math.pi / 2.5, q=q, u=u)
    np.testing.assert_allclose(circle.q[-1][4:], q[4:], atol=1e-8)  # steps of relative tolerance 1e-9
    upright = 1 - 2 * (circle.q[:, 1] ** 2 + circle.q[:, 2] ** 2)  # vertical part of the axle
    np.testing.assert_allclose(circle.q[:, 6], r * np.sqrt(1 - upright**2), rtol=0, atol=1e-12)
