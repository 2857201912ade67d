"""The examples of contacts against closed forms: each is a page in examples/, whose models are taken from there."""

import itertools
import math
import runpy

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane

# Runs by RK8 to 1e-9 a step; errors add up over some tens of steps.
SOLVED = 1e-8


def example(root, name):
    return runpy.run_path(str(root / "examples" / f"{name}.py"), run_name="example")


def built(model):
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def ball(root):
    return example(root, "bouncing_ball")


@pytest.fixture(scope="module")
def thrown(ball):
    return kane.simulate(built(ball["ball"]()), until=3.0, q={"y": ball["R"] + ball["HEIGHT"]}, u=ball["THROWN"])


def test_a_ball_bounces_at_the_times_of_the_geometric_series_and_rests_in_finite_time(ball, thrown):
    """Who vouches: free fall, and departure with e times the speed of approach."""
    first = math.sqrt(2 * ball["HEIGHT"] / ball["G"])
    e = ball["E"]
    expected = [first * (1 + 2 * sum(e**k for k in range(1, n + 1))) for n in range(10)]
    np.testing.assert_allclose([x.time for x in thrown.events[:10]], expected, rtol=1e-10)
    last = thrown.events[-1]
    assert last.cause == "imposed"
    assert last.time == pytest.approx(first * (1 + e) / (1 - e), rel=1e-5)  # the series ends where speeds are rounding
    resting = thrown.time > last.time
    assert abs(thrown["y"][resting] - ball["R"]).max() < 1e-14
    assert abs(thrown["y_dot"][resting]).max() < 1e-14


def test_the_first_impact_of_a_spinning_ball_slips_and_the_second_one_sticks(ball, thrown):
    """Who vouches: P = -mu N while it slips, P = -2 m s / 7 for the slip s that sticks, by hand for a solid ball."""
    R, e, mu = ball["R"], ball["E"], ball["MU"]
    v, w = ball["THROWN"]["x_dot"], ball["THROWN"]["spin_dot"]
    fall = math.sqrt(2 * ball["G"] * ball["HEIGHT"])
    for k, event in enumerate(thrown.events[:2]):
        N = (1 + e) * fall * e**k
        P = -min(mu * N, 2 * (v + R * w) / 7)
        v, w = v + P, w + R * P / (0.4 * R * R)
        np.testing.assert_allclose(event.impulse, [N, P], rtol=1e-9)
        np.testing.assert_allclose([event.u[0], event.u[2]], [v, w], rtol=1e-9)
    assert abs(v + R * w) < 1e-9 * abs(v)  # it rolls


def test_energy_of_the_ball_is_what_impacts_have_left(ball, thrown):
    """Between impacts nothing slips but at the first one, in no time: what is lost is what events say."""
    left = thrown.energy[0] - sum(x.energy_lost for x in thrown.events)
    assert thrown.energy[-1] == pytest.approx(left, rel=1e-9)
    assert thrown["x_dot"][-1] == pytest.approx((5 * 2.0 - 2 * 0.1 * 60.0) / 7, rel=1e-9)


def test_an_elastic_ball_without_friction_keeps_its_energy(ball):
    m = ball["ball"](restitution=1.0, friction=0.0)
    run = kane.simulate(built(m), until=2.0, q={"y": 0.6}, u={"x_dot": 1.0})
    assert len(run.events) >= 3
    assert abs(run.energy - run.energy[0]).max() < SOLVED * run.energy[0]


@pytest.fixture(scope="module")
def friction(root):
    return example(root, "dry_friction")


def test_a_crate_sticks_on_a_slope_below_the_angle_of_friction_and_does_not_creep(friction):
    """4 s: the issue asks for less than 1e-15 m. Two corners share the friction and reach their bounds together."""
    run = kane.simulate(built(friction["crate"](math.atan(0.499999), kane.Coulomb(0.5, 0.4))), until=4.0, q={"y": 0.1})
    assert abs(run["x"]).max() < 1e-15
    assert abs(run["th"]).max() < 1e-15


def test_a_crate_slides_above_it_with_the_acceleration_of_kinetic_friction(friction):
    slope = math.atan(0.500001)
    run = kane.simulate(built(friction["crate"](slope, kane.Coulomb(0.5, 0.4))), until=4.0, q={"y": 0.1})
    a = friction["G"] * (math.sin(slope) - 0.4 * math.cos(slope))
    np.testing.assert_allclose(run["x"], a * run.time**2 / 2, rtol=1e-9, atol=1e-12)


def test_reactions_of_a_crate_that_slides_are_those_of_statics(friction):
    """Normal forces carry the weight, and their moment balances that of friction, at 0.1 m below the mass centre."""
    slope = 0.5
    run = kane.simulate(built(friction["crate"](slope, kane.Coulomb(0.5, 0.4))), until=1.0, q={"y": 0.1})
    weight = 2.0 * friction["G"] * math.cos(slope)
    (left, tangent_left), (right, tangent_right) = run.reactions["left"][-1], run.reactions["right"][-1]
    assert left + right == pytest.approx(weight, rel=1e-9)
    assert right - left == pytest.approx(0.4 * weight, rel=1e-9)  # 0.1 (N2 - N1) = 0.1 friction
    np.testing.assert_allclose([tangent_left, tangent_right], [-0.4 * left, -0.4 * right], rtol=1e-9)


def test_a_mass_on_a_belt_sticks_and_slips_at_the_times_of_its_closed_form(friction):
    """Carried by the belt until k x = mu_s m g; then x = x_k + (x_s - x_k) cos w t + V / w sin w t until x' = V."""
    k, V, g = friction["STIFFNESS"], friction["BELT"], friction["G"]
    at_static, at_kinetic, w = friction["STATIC"] * g / k, friction["KINETIC"] * g / k, math.sqrt(k)
    run = kane.simulate(built(friction["mass_on_belt"]()), until=4.0, u={"x_dot": V})
    over = at_static - at_kinetic
    slipping = 2 / w * (math.pi - math.atan(over * w / V))
    times = [at_static / V]
    for phase in itertools.cycle((slipping, 2 * over / V)):
        if times[-1] + phase > 4.0:
            break
        times.append(times[-1] + phase)
    found = [x for x in run.events if x.cause in ("slips", "sticks")]
    assert len(times) > 4
    np.testing.assert_allclose([x.time for x in found[: len(times)]], times, rtol=SOLVED)
    # Where it sticks again it is as far below x_k as it was above.
    assert found[1].q[0] == pytest.approx(at_kinetic - over, abs=SOLVED)


def test_a_pendulum_in_a_dry_bearing_loses_by_each_swing_what_friction_takes_and_stops(friction):
    """Who vouches: m g l (cos b - cos a) = -M |b - a| between turning points a and b."""
    static, kinetic = friction["BEARING"]
    run = kane.simulate(built(friction["pendulum"]()), until=8.0, q={"angle": 1.5})
    turns = [1.5, *(x.q[0] for x in run.events if x.cause in ("reverses", "sticks", "stuck"))]
    assert len(turns) > 3
    for a, b in itertools.pairwise(turns):
        if a != b:
            lost = friction["G"] * (math.cos(b) - math.cos(a))
            assert lost == pytest.approx(kinetic * abs(b - a), rel=SOLVED)
    assert run["angle_dot"][-1] == 0.0
    assert friction["G"] * abs(math.sin(run["angle"][-1])) < static


def test_docking_keeps_momentum_and_makes_one_body_of_two(root):
    """Who vouches: conservation laws; the energy that is lost, from the motion of one body."""
    docking = example(root, "docking")
    run = kane.simulate(built(docking["spacecraft"]()), until=12.0, q=docking["START"], u=docking["DRIFT"])
    held = docking["momentum"](run)
    np.testing.assert_allclose(held, np.tile(held[:, :1], len(run.time)), rtol=1e-9)
    docked = (run.time > run.events[0].time) & (run.time < docking["RELEASE"])
    np.testing.assert_allclose(run["a1_dot"][docked], run["a2_dot"][docked], rtol=1e-9)
    assert [x.cause for x in run.events] == ["imposed", "deleted"]
    before, after = run.energy[0], run.energy[-1]
    assert before - after == pytest.approx(run.events[0].energy_lost, rel=1e-9)
    assert run.events[1].time == pytest.approx(docking["RELEASE"], rel=1e-14)


def test_the_caster_that_sticks_and_is_free_again_moves_as_three_sets_of_equations_in_turn(root):
    """Gillespie's Example 3 whole. Who vouches: the printed equations of the cart, free and stuck, integrated in turn,
    with momentum projected onto the motion that is left (ERRATA): u1+ = C.M u / C.M C.
    """
    caster = example(root, "sticking_caster")
    times = np.array([caster["STICKS"], caster["FREE"], caster["UNTIL"]])
    dyn = built(caster["cart"]())
    start = kane.assemble(dyn, q={"q4": 0.05})
    run = kane.simulate(dyn, until=times[-1], q=start.q, u=start.u, inputs=caster["PUSH"], times=times)
    free, stuck = built(kane.library.shopping_cart()), built(kane.library.stuck_shopping_cart())
    one = kane.simulate(free, until=times[0], q=start.q, u=start.u, inputs=caster["PUSH"])
    q, u = one.final.q, one.final.u
    C = kane.assemble(stuck, q=q, u={"u1": 1.0}, fixed=[*(x.name for x in stuck.equations.q), "u1"]).u
    M = free.mass_matrix(q)
    jolted = C * (C @ M @ u) / (C @ M @ C)
    two = kane.simulate(stuck, start=times[0], until=times[1], q=q, u=jolted, inputs=caster["PUSH"])
    three = kane.simulate(free, start=times[1], until=times[2], q=two.final.q, u=two.final.u, inputs=caster["PUSH"])
    np.testing.assert_allclose(run.q[-2:], [two.final.q, three.final.q], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(run.u[-2:], [two.final.u, three.final.u], rtol=1e-7, atol=1e-8)


@pytest.fixture(scope="module")
def rocking(root):
    return example(root, "rocking_and_walking")


def test_a_rocking_block_keeps_of_its_rate_what_housner_says(rocking):
    """Before an impact the rate follows from energy; an impact hands over to the other corner: angular momentum about
    it stays, which leaves 1 - 1.5 sin^2 alpha [Housner 1963, Eq. 7].
    """
    run = rocking["rocking"](4.0)
    alpha = math.atan2(rocking["WIDTH"], rocking["HEIGHT"])
    R = math.hypot(rocking["WIDTH"], rocking["HEIGHT"]) / 2
    first = next(x for x in run.events if x.name == "left")
    before = math.sqrt(1.5 * rocking["G"] / R * (math.cos(alpha - rocking["TILT"]) - math.cos(alpha)))
    kept = 1 - 1.5 * math.sin(alpha) ** 2
    assert first.u[2] == pytest.approx(kept * before, rel=SOLVED)


def test_a_rimless_wheel_loses_by_each_step_the_cosine_of_its_spokes_and_walks_at_a_limit(rocking):
    """Who vouches: angular momentum about the next foot, w+ = cos(2 pi / n) w-, and energy from step to step.

    A foot that would hop no higher than 1e-12 m is held, which takes up to 4e-6 m/s of 10: at every tolerance of the
    integrator, and in either way of finding accelerations, that leaves up to 2e-7.
    """
    run = rocking["walking"](12.0)
    n, slope, l, g = rocking["SPOKES"], rocking["SLOPE"], rocking["LENGTH"], rocking["G"]
    rates = [-x.u[2] for x in run.events if x.time > 0.0 and x.cause == "imposed"]
    gain = 4 * g / l * math.sin(math.pi / n) * math.sin(slope)
    for a, b in itertools.pairwise(rates):
        assert b**2 == pytest.approx(math.cos(2 * math.pi / n) ** 2 * (a**2 + gain), rel=4e-7)
    limit = math.cos(2 * math.pi / n) * math.sqrt(gain / (1 - math.cos(2 * math.pi / n) ** 2))
    assert rates[-1] == pytest.approx(limit, rel=1e-5)


@pytest.fixture(scope="module")
def crank(root):
    return example(root, "slider_crank_stop")


def test_each_impact_of_a_slider_crank_on_its_stop_leaves_e_times_its_rates(crank):
    """One freedom: all rates turn round in one ratio. Who vouches: Poisson's law is Newton's without friction."""
    run = crank["motion"]()
    e, bounces = crank["RESTITUTION"], [x for x in run.events if x.cause == "bounces"]
    assert len(bounces) > 10
    inside = run["q3"].min()
    assert inside > crank["STOP"] - 1e-9
    for a, b in itertools.pairwise(bounces[:6]):
        assert b.impulse[0] == pytest.approx(e * a.impulse[0], rel=1e-2)  # torque and gravity work between them
    # Energy less the work of the torque changes in impacts only, by what they say.
    given = run.energy - crank["TORQUE"] * run["q1"]
    lost = [sum(x.energy_lost for x in run.events if x.time <= t) for t in run.time]
    np.testing.assert_allclose(given, given[0] - np.array(lost), rtol=SOLVED, atol=SOLVED)
    assert abs(run["u1"][-1]) < 1e-12
    assert run.events[-1].cause == "imposed"


def test_painleves_rod_stops_at_once_without_a_collision(root):
    """Who vouches: the impulse that stops the tip without lifting it, from the rod's mass by hand; it lies within the
    cone of friction. The other way, where friction is no puzzle, it slides on.
    """
    rod = example(root, "painleve_rod")
    a, v = rod["ANGLE"], rod["SPEED"]
    c, s = math.cos(a), math.sin(a)
    assert 1 + 3 * c * (c - rod["FRICTION"] * s) < 0.0
    W = np.array([[1 + 3 * c * c, -3 * s * c], [-3 * s * c, 1 + 3 * s * s]])  # of [normal, tangent], 1 kg, I = l^2 / 3
    P = np.linalg.solve(W, [0.0, v])
    run = rod["sliding"](-v)
    stopped = run.events[0]
    assert stopped.time == 0.0
    np.testing.assert_allclose(stopped.impulse, P, rtol=1e-9)
    assert abs(P[1]) < rod["FRICTION"] * P[0]
    assert stopped.energy_lost == pytest.approx(v * P[1] / 2, rel=1e-9)
    assert run.modes[-1] == "tip held"
    other = rod["sliding"](v)
    assert other.modes[-1] == "tip sliding"
    assert max(x.energy_lost for x in other.events) < 1e-12


@pytest.fixture(scope="module")
def walker(root):
    return example(root, "simplest_walker")


def footfalls(run):
    """Time, and angle and rate of the leg that is stood on, just after each step."""
    steps = {f"{x.time:.6f}": x for x in run.events if x.time > 0.0}  # one foot lands and the other leaves
    return [(x.time, *sorted(zip(x.q[2:], x.u[2:], strict=True))[1]) for x in steps.values()]


def test_the_simplest_walker_walks_the_published_gait(walker):
    """Who vouches: Garcia et al. 1998, of which the fixed point is known to twelve digits. Feet of 1e-10 of the hip's
    mass and steps of 1e-9 leave a few 1e-10.
    """
    run = walker["walk"]()
    found = footfalls(run)
    assert len(found) == 6
    for k, (time, angle, rate) in enumerate(found, start=1):
        assert time == pytest.approx(k * walker["PERIOD"], abs=2e-8)
        assert angle == pytest.approx(walker["ANGLE"], abs=5e-9)
        assert rate == pytest.approx(walker["RATE"], abs=5e-9)


def test_the_gait_of_the_simplest_walker_is_stable_with_the_published_eigenvalues(walker):
    """-0.190 +- 0.558 i, by differences of one step. Who vouches: Garcia et al. 1998, three digits."""
    start, h = np.array([walker["ANGLE"], walker["RATE"]]), 1e-5

    def step(begin):
        return np.array(footfalls(walker["walk"](4.2, *begin))[0][1:])

    J = np.column_stack([(step(start + h * e) - step(start - h * e)) / (2 * h) for e in np.eye(2)])
    found = np.linalg.eigvals(J)
    np.testing.assert_allclose(sorted(found, key=np.imag), [-0.190 - 0.558j, -0.190 + 0.558j], atol=1e-3)


@pytest.fixture(scope="module")
def piano(root):
    return example(root, "piano_action")


def test_the_hammer_of_a_piano_is_thrown_strikes_and_is_caught_at_the_times_of_closed_forms(piano):
    """Constant torques: with the jack key and hammer are one inertia, then each goes its own way."""
    p = piano
    run = p["stroke"]()
    one = p["KEY"] + p["RATIO"] ** 2 * p["HAMMER"]
    a = (p["FINGER"] - p["SPRING"] - p["RATIO"] * p["WEIGHT"]) / one
    letoff = math.sqrt(2 * p["LETOFF"] / a)
    thrown, falls = p["RATIO"] * a * letoff, p["WEIGHT"] / p["HAMMER"]
    way = p["STRING"] - p["RATIO"] * p["LETOFF"]
    strikes = letoff + (thrown - math.sqrt(thrown**2 - 2 * falls * way)) / falls
    speed = thrown - falls * (strikes - letoff)
    back = p["RESTITUTION"] * speed
    down = p["STRING"] - p["CHECK"]
    caught = strikes + (-back + math.sqrt(back**2 + 2 * falls * down)) / falls
    events = {(e.name, e.cause): e for e in reversed(run.events)}  # the first of each kind
    assert events["jack", "imposed"].time == 0.0
    assert events["jack", "deleted"].time == pytest.approx(letoff, rel=1e-9)
    assert events["hammer: upper", "bounces"].time == pytest.approx(strikes, rel=1e-9)
    struck = events["hammer: upper", "bounces"]
    assert struck.impulse == pytest.approx([p["HAMMER"] * (speed + back)], rel=1e-9)
    assert struck.energy_lost == pytest.approx(p["HAMMER"] * (speed**2 - back**2) / 2, rel=1e-9)
    check = events["check", "imposed"]
    assert check.time == pytest.approx(caught, rel=1e-9)
    assert check.impulse == pytest.approx([p["HAMMER"] * math.sqrt(back**2 + 2 * falls * down)], rel=1e-9)
    held = run.active("check")
    assert np.ptp(run["hammer"][held]) < 1e-12
    assert events["check", "deleted"].time > p["RELEASED"]
    assert run.final.q == pytest.approx([0.0, 0.0], abs=2e-6)  # the jack is under the hammer again
    assert "jack held" in run.modes[-1]


@pytest.fixture(scope="module")
def pushed(root):
    return example(root, "pushed_block")


def test_a_block_pushed_askew_slips_at_the_bound_and_then_as_friction_against_its_slip_has_it(pushed):
    """Who vouches: statics for the time, SciPy for the way in the plane of the slope."""
    p = pushed
    run = p["pushed"]()
    slips, stops = (next(e for e in run.events if e.cause == cause) for cause in ("slips", "sticks"))
    (rise, most), (end, _) = p["FORCES"][1:3]
    assert slips.time == pytest.approx(p["slips_at"]() * rise / most, rel=1e-10)
    sticking = run.time < slips.time
    assert abs(run.q[sticking]).max() < 1e-15
    weight, s = p["MASS"] * p["G"], p["SLOPE"]

    def load(t):
        push = np.interp(t, *zip(*p["FORCES"], strict=True)) / math.sqrt(2.0)
        return np.array([weight * math.sin(s) + push, push])

    def slope(t, x):
        v = x[2:]
        speed = np.linalg.norm(v)
        way = v / speed if speed > 1e-12 else load(t) / np.linalg.norm(load(t))
        return np.concatenate([v, (load(t) - p["KINETIC"] * weight * math.cos(s) * way) / p["MASS"]])

    options = {"rtol": 1e-11, "atol": 1e-13}
    first = solve_ivp(slope, (slips.time, rise), np.zeros(4), **options).y[:, -1]
    second = solve_ivp(slope, (rise, 0.5 * (rise + end)), first, **options).y[:, -1]
    found = kane.simulate(built(p["block"]()), until=0.5 * (rise + end), inputs={"push": askew(p)})
    assert found.final.q[:2] == pytest.approx(second[:2], rel=1e-6, abs=1e-8)
    assert found.final.u[:2] == pytest.approx(second[2:], rel=1e-6, abs=1e-8)
    assert stops.time > end - 0.5
    assert abs(run.u[-1]).max() == 0.0
    assert run.reactions["slope"][-1] == pytest.approx([weight * math.cos(s), 0.0, -weight * math.sin(s)], abs=1e-9)


def askew(p):
    times, forces = zip(*p["FORCES"], strict=True)
    return kane.Interpolated(list(times), list(forces))


@pytest.fixture(scope="module")
def disk(root):
    return example(root, "disk_on_rough_floor")


def test_a_disk_with_backspin_slips_until_it_rolls_back(disk):
    """mu g slows both the centre and the spin, until v = r w; m v r + I w about the floor is kept."""
    d = disk
    run = d["thrown"]()
    (stick,) = [e for e in run.events if e.cause == "sticks"]
    slip = d["SPEED"] - d["R"] * d["BACKSPIN"]
    assert stick.time == pytest.approx(slip / (3 * d["KINETIC"] * d["G"]), rel=1e-9)
    rolls = (2 * d["SPEED"] + d["R"] * d["BACKSPIN"]) / 3
    assert rolls < 0.0  # it comes back
    assert run["x_dot"][-1] == pytest.approx(rolls, rel=1e-9)
    assert run.energy[-1] - d["M"] * d["G"] * d["R"] == pytest.approx(0.75 * d["M"] * rolls**2, rel=1e-8)


def test_a_leaning_disk_rolls_as_one_that_rolls_for_good_until_friction_reaches_its_bound(disk):
    """Who vouches: the permanent constraint of rolling, and the reactions of a floor rough enough."""
    d = disk
    run, rough = d["leaning"](), d["leaning"](static=10.0)
    slips = next(e for e in run.events if e.cause == "slips")
    assert 0.1 < slips.time < d["UNTIL"]
    m = d["disk"]()
    m.intermittents.clear()
    body = next(b for b in m.bodies if b.name == "disk")
    m.constrain(kane.Rolling(kane.Disk(body.point(), body.y, d["R"]), kane.Plane(m.ground.point(), m.ground.z)))
    dyn = built(m)
    start = kane.assemble(dyn, q=run.q[0], u=run.u[0])
    rolling = kane.simulate(dyn, until=slips.time, q=start.q, u=start.u)
    assert slips.q == pytest.approx(rolling.final.q, rel=SOLVED, abs=SOLVED)
    assert slips.u == pytest.approx(rolling.final.u, rel=SOLVED, abs=SOLVED)
    force = rough.reactions["floor"]
    demand = np.hypot(force[:, 1], force[:, 2]) / force[:, 0]
    at = np.interp(slips.time, rough.time, demand)
    assert at == pytest.approx(d["STATIC"], rel=1e-5)  # a straight line between records
    assert demand[rough.time < slips.time - 2e-3].max() < d["STATIC"]
    after = run.time > slips.time + 1e-6
    assert (run.energy[after][-1] < run.energy[0]).all()


@pytest.mark.parametrize("shapes", ["box on cylinder", "capsule on capsule"])
def test_a_block_rocks_on_a_cylinder_as_one_that_rolls_does(shapes):
    """Rolling by the angle a brings the centre to (R + h) n + R a t. Who vouches: that, the energy, and for small
    angles w^2 = g (R - h) / (k^2 + h^2), whose next term is of the order of R^2 a^2 / (k^2 + h^2).
    """
    R, side, mass, g, a = 0.5, 0.2, 2.0, 9.81, 0.005
    h, k2 = side / 2, side**2 / 6
    m = kane.Model("block on a cylinder", gravity=(0, -g, 0))
    body = m.body("block", mass=mass, inertia=(mass * k2,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "angle")))
    if shapes == "box on cylinder":
        log, block = kane.Cylinder(m.ground.point(), m.ground.z, R), kane.Box(side, side, 0.3, body.point())
    else:
        log = kane.Capsule(m.ground.point((0, 0, -1)), m.ground.point((0, 0, 1)), R)
        block = kane.Capsule(body.point((-0.2, 0, 0)), body.point((0.2, 0, 0)), h)
    m.contact(block, log, friction=kane.Coulomb(0.9), name="log")

    def centre(a):
        return np.array([-(R + h) * np.sin(a) + R * a * np.cos(a), (R + h) * np.cos(a) + R * a * np.sin(a)])

    x, y = centre(a)
    turns = kane.Event(m.connections[0]["angle"].q, name="upright")
    run = kane.simulate(built(m), until=3.0, q={"x": x, "y": y, "angle": a}, events=[turns])
    assert run.active("log").all()
    assert np.array([run["x"], run["y"]]) == pytest.approx(centre(run["angle"]), abs=1e-8)
    assert run.energy == pytest.approx(np.full(len(run), run.energy[0]), rel=1e-9)
    upright = [event.time for event in run.events if event.name == "upright"]
    w = math.sqrt(g * (R - h) / (k2 + h**2))
    assert np.diff(upright) == pytest.approx(np.full(len(upright) - 1, math.pi / w), rel=2e-4)


@pytest.mark.slow  # the example itself, which compares the way down the chute, is among the quick tests
def test_a_part_of_an_stl_file_slides_down_a_chute_over_its_end_and_comes_to_rest_on_the_table(root, tmp_path):
    """Who vouches: the inclined plane, free fall of the mass centre, and the energy that impacts and friction take."""
    module = example(root, "part_on_chute")
    run = module["slide"](dyn := module["machine"](module["write_stl"](tmp_path / "part.stl")))
    a = module["G"] * (np.sin(module["SLOPE"]) - module["KINETIC"] * np.cos(module["SLOPE"]))
    early = run.time < 0.6
    way = np.hypot(run["part_x"] - run["part_x"][0], run["part_z"] - run["part_z"][0])
    assert way[early] == pytest.approx(0.5 * a * run.time[early] ** 2, abs=1e-8)
    left = max(e.time for e in run.events if e.name.startswith("chute") and e.cause == "deleted")
    landed = min(e.time for e in run.events if e.name.startswith("table"))
    flies = (run.time > left) & (run.time < landed)
    pose = [dyn.poses(q)["part"] for q in run.q[flies]]
    heights = np.array([(p.position + 0.01 * p.orientation[:, 2])[2] for p in pose])  # of the mass centre
    assert np.polyfit(run.time[flies], heights, 2)[0] == pytest.approx(-module["G"] / 2, rel=1e-6)
    assert np.diff(run.energy).max() < 1e-8
    assert abs(run.u[-1]).max() < 1e-9
    assert run["part_z"][-1] == pytest.approx(-0.2, abs=1e-9)
    assert any("edge" in e.name for e in run.events)
