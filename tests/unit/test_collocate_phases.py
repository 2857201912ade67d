"""Phases of ``kane.collocate``: closed forms, a published gait, simulations, momentum, differences, bad arguments."""

from __future__ import annotations

import math
import pickle
import runpy

import numpy as np
import pytest

import kane
from kane.analysis.optimal_control.collocation_method import COLLOCATION_METHODS
from kane.errors import ModelError

G = 9.81


def _ball(restitution=0.5) -> tuple[kane.Model, kane.Dynamics]:
    m = kane.Model("ball", gravity=(0.0, 0.0, -G))
    ball = m.body("ball", mass=2.0)
    rail = m.connect(m.ground, ball, kane.Prismatic("z", axis="z"))
    m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.z), restitution=restitution, name="floor")
    m.load(kane.Motor(rail, m.input("F")))
    return m, kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def ball() -> tuple[kane.Model, kane.Dynamics]:
    return _ball()


HAND, BALL, PALM = 1.0, 0.5, "palm: lower"


@pytest.fixture(scope="module")
def juggler() -> tuple[kane.Model, kane.Dynamics]:
    """Return a hand that moves vertically, and a ball that can leave its palm."""
    m = kane.Model("juggler", gravity=(0.0, 0.0, -G))
    hand, ball = m.body("hand", mass=HAND), m.body("ball", mass=BALL)
    arm = m.connect(m.ground, hand, kane.Prismatic("y", axis="z"))
    m.stop(m.connect(hand, ball, kane.Prismatic("gap", axis="z")), lower=0.0, name="palm")
    m.load(kane.Motor(arm, m.input("F")))
    return m, kane.build(kane.formulate(m))


REST = {"y": 0.0, "gap": 0.0, "y_dot": 0.0, "gap_dot": 0.0}


def _juggle(juggler, flight=0.6, **changes):
    _, dyn = juggler
    held = f"{PALM} held"
    given = {
        "phases": [
            kane.Phase(held, duration=0.5, end={"y": 0.3}),
            kane.Phase("free", duration=flight),
            kane.Phase(held, duration=0.5, start={"y": 0.3}),
        ],
        "start": REST,
        "end": REST,
        "objective": 1e-3 * kane.integral(dyn.equations.inputs[0] ** 2),
    }
    return kane.collocate(dyn, **{**given, **changes})


@pytest.mark.parametrize("method", COLLOCATION_METHODS)
def test_a_ball_bounces_at_the_times_of_the_closed_form(ball, method):
    # t = sqrt(2 h / g); v+ = e v; p = m (1 + e) v; loss = m v^2 (1 - e^2) / 2; it rises for e v / g.
    _, dyn = ball
    errors = []
    for nodes in (21, 41):
        found = kane.collocate(
            dyn,
            phases=[
                kane.Phase("free", duration=(0.1, 2.0), nodes=nodes, bounces="floor"),
                kane.Phase("free", duration=(0.1, 2.0), nodes=nodes),
            ],
            start={"z": 1.0, "z_dot": 0.0}, end={"z_dot": 0.0}, inputs={"F": 0.0}, method=method, begin=3.0,
        )  # fmt: skip
        assert found.solved
        fall = math.sqrt(2.0 / G)
        errors.append(abs(found.switch_times[0] - 3.0 - fall))
    if method == "backward euler":
        assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)  # order 1; the others are exact for parabolas
        return
    assert max(errors) < 1e-8
    v = G * fall
    assert found.time[-1] == pytest.approx(3.0 + 1.5 * fall, abs=1e-8)
    assert found["z"][-1] == pytest.approx(0.25, abs=1e-7)
    assert found.impulses == [pytest.approx({"floor: normal": 2.0 * 1.5 * v})]
    (event,) = found.trajectory.events
    assert (event.name, event.cause) == ("floor", "bounces")
    assert event.energy_lost == pytest.approx(v**2 * 0.75)
    assert event.u == pytest.approx([0.5 * v])
    assert kane.verify(found).simulated < 1e-8


@pytest.mark.parametrize("method", ["trapezoid", "hermite-simpson", "radau", "midpoint"])
def test_a_ball_is_thrown_and_caught(juggler, method):
    # The flight between equal heights of the hand takes T = 2 v / g. At the catch p = M m / (M + m) times the approach.
    found = _juggle(juggler, method=method)
    assert found.solved
    held, flight, caught = found.phases
    v = 0.5 * G * 0.6
    assert held.u[-1] == pytest.approx([v, 0.0], abs=1e-9)
    w, approach = flight.u[-1]
    assert w + approach == pytest.approx(-v, abs=1e-7)
    reduced = HAND * BALL / (HAND + BALL)
    assert found.impulses == [{}, {f"{PALM}: normal": pytest.approx(-reduced * approach)}]
    assert caught.u[0] == pytest.approx([(HAND * w - BALL * v) / (HAND + BALL), 0.0], abs=1e-7)
    thrown, landed = found.trajectory.events
    assert (thrown.cause, landed.cause) == ("deleted", "imposed")
    assert landed.energy_lost == pytest.approx(0.5 * reduced * approach**2)
    # The ball's force is m (a + g) while it is held, zero at the throw, and never pulls.
    accelerations = held.solution.z[held.mesh.accelerations][:, 0]
    assert held.multipliers[:, 0] == pytest.approx(BALL * (accelerations + G), abs=1e-8)
    assert min(held.multipliers.min(), caught.multipliers.min()) > -1e-8
    if method != "midpoint":
        assert held.multipliers[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert found.trajectory.modes == (f"{PALM} held", "free")
    checks = kane.verify(found)
    assert checks.problem == ""
    assert checks.simulated < 10.0 * checks.between  # errors of 40 to 60 intervals add up
    assert [x.cause for x in checks.trajectory.events] == ["imposed", "deleted", "imposed"]  # first at the start


def test_a_finer_mesh_agrees_with_the_event_driven_simulation(juggler):
    found = _juggle(juggler)
    fine = kane.refine(found, 1e-5)
    assert fine.solved
    # The throw requires zero force at one collocation point, whose weight is that of its interval.
    assert fine.objective == pytest.approx(found.objective, rel=2e-2)
    assert fine.objective < found.objective
    checks = kane.verify(fine)
    assert checks.between < 1e-5
    assert checks.simulated < 1e-5
    assert checks.energy < 1e-6


def test_forces_of_contacts_may_be_limited_and_may_be_objectives(juggler):
    m, dyn = juggler
    free, force, held = _juggle(juggler), m.reaction(PALM), f"{PALM} held"
    most = 0.99 * float(free.phases[2].multipliers.max())
    found = _juggle(
        juggler,
        phases=[
            kane.Phase(held, duration=0.5, end={"y": 0.3}),
            kane.Phase("free", duration=0.6),
            kane.Phase(held, duration=(0.5, 0.55), start={"y": 0.3}, path=[(force, None, most)]),
        ],
        boundary=[(kane.integral(force), 0.0, 20.0), kane.final(force) - 4.0],
        objective=1e-3 * kane.integral(dyn.equations.inputs[0] ** 2 + 0.01 * force**2),
    )
    assert found.solved
    assert float(found.phases[2].multipliers.max()) == pytest.approx(most, rel=1e-6)
    assert found.phases[2].multipliers[-1, 0] == pytest.approx(4.0, abs=1e-7)
    # Momentum of the ball: the impulse of the palm over the motion is its weight times the duration.
    given = (
        sum(phase.duration * phase.mesh.point_weights @ phase.multipliers[:, 0] for phase in found.phases[::2])
        + found.impulses[1][f"{PALM}: normal"]
    )
    assert given == pytest.approx(BALL * G * found.duration, rel=1e-9)


@pytest.fixture(scope="module")
def walker(root):
    return runpy.run_path(str(root / "examples" / "simplest_walker.py"))


def _walk(walker, guess=None, nodes=31, **changes):
    """Return a periodic gait, from a stance leg at 0.15 rad to the next step; the legs exchange their names."""
    dyn = kane.build(kane.formulate(walker["walker"]()))
    (*_, a, b), (*_, at, bt) = dyn.equations.q, dyn.equations.u
    given = {
        "phases": [
            kane.Phase("foot a held", duration=(3.0, 4.5), nodes=nodes, passes=["foot b"]),
            kane.Phase("foot b held", duration=(0.1, 0.5), nodes=11, passes=["foot a"]),
        ],
        "start": {"a": 0.15, "x": 0.0},
        "boundary": [
            kane.final(after) - kane.initial(before) for before, after in ((a, b), (b, a), (at, bt), (bt, at))
        ],
        "method": "radau",
        "tolerance": 1e-10,
    }
    return kane.collocate(dyn, guess=guess, **{**given, **changes})


def test_the_simplest_walker_has_the_published_gait(walker):
    """Garcia et al. 1998: at slope 0.009 the stance angle after a step is 0.200310900544, and its rate -0.199832473005.

    Feet of 1e-10 of the hip's mass change it by less than 1e-9, the mesh by a few 1e-10.
    """
    found = _walk(walker, walker["walk"](walker["PERIOD"] + 0.3))
    assert found.solved
    after = found.phases[1]
    assert after["b"][0] == pytest.approx(walker["ANGLE"], abs=2e-9)
    assert after["b_dot"][0] == pytest.approx(walker["RATE"], abs=2e-9)
    assert found.duration == pytest.approx(walker["PERIOD"], abs=1e-7)
    landed, left = found.trajectory.events
    assert [(landed.name, landed.cause), (left.name, left.cause)] == [("foot b", "imposed"), ("foot a", "deleted")]
    # The energy that a step takes is that which the slope gives: m g l sin(slope) times the length of the step.
    length = 2.0 * math.sin(walker["ANGLE"])
    assert landed.energy_lost == pytest.approx(math.sin(walker["SLOPE"]) * length, rel=1e-7)
    assert kane.verify(found).simulated < 1e-7


@pytest.fixture(scope="module")
def hopper(root):
    return runpy.run_path(str(root / "examples" / "one_legged_hopper.py"))


@pytest.fixture(scope="module")
def hop(hopper):
    return hopper["hop"](*hopper["hopper"]())


def test_the_forces_on_a_hopper_balance_its_weight_over_a_period(hop):
    # Periodic speeds: int N dt + p = M g T along the normal, and zero along the floor. Momentum is not linear in the
    # state, so that the quadrature of the method has a small error.
    assert hop.solved
    stance, (landing, leaving) = hop.phases[1], hop.impulses
    found = stance.duration * stance.mesh.point_weights @ stance.multipliers
    assert leaving == {}
    normal, tangential = found + np.array([landing["foot: normal"], landing["foot: tangent 2"]])
    assert normal == pytest.approx(11.5 * G * hop.duration, rel=1e-5)
    assert tangential == pytest.approx(0.0, abs=1e-4)
    N, f = stance.multipliers.T
    assert (np.abs(f) <= 0.7 * N + 1e-6).all()
    assert abs(landing["foot: tangent 2"]) <= 0.7 * landing["foot: normal"] + 1e-8


def test_the_energy_of_a_hopper_balances_over_a_period(hop):
    # Over a period the energy is the same, so that the actuators supply the loss of the landing.
    run = hop.trajectory
    lost = sum(event.energy_lost for event in run.events)
    work = 0.0
    for phase in hop.phases:
        rates = np.array([np.interp(phase.point_time, phase.time, phase[x]) for x in ("hip_dot", "length_dot")])
        work += phase.duration * phase.mesh.point_weights @ (phase["torque"] * rates[0] + phase["thrust"] * rates[1])
    assert run.energy[-1] == pytest.approx(run.energy[0], abs=1e-6)
    assert lost > 10.0
    assert work == pytest.approx(lost, rel=0.02)  # rates at midpoints are means of those at nodes


def test_a_hopper_is_simulated_through_its_landing(hop):
    checks = kane.verify(hop)
    assert checks.problem == ""
    assert checks.simulated < 2e-3
    assert checks.energy < 1e-5


def test_a_solution_is_a_warm_start_and_can_be_pickled(juggler):
    found = _juggle(juggler)
    again = _juggle(juggler, guess=found)
    assert len(again.solution.steps) < len(found.solution.steps)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.objective == found.objective
    np.testing.assert_array_equal(copy.trajectory.q, found.trajectory.q)
    assert kane.verify(copy).simulated == pytest.approx(kane.verify(found).simulated, rel=1e-6)
    assert "3 phases" in repr(found)
    np.testing.assert_array_equal(found.point_inputs[:, 0], found["F"])
    assert len(found.point_time) == len(found.point_inputs)


@pytest.mark.parametrize("method", ["trapezoid", "hermite-simpson", "midpoint"])
def test_derivatives_of_all_phases_are_slopes(hopper, method):
    """Jacobian and Hessian, with transitions, cones and conditions on the whole, agree with central differences."""
    m, dyn = hopper["hopper"]()
    q, thrust = dyn.equations.q, dyn.equations.inputs[1]
    found = kane.collocate(
        dyn,
        phases=[
            kane.Phase("free", duration=(0.1, 0.3), nodes=3),
            kane.Phase("foot held", duration=(0.1, 0.4), nodes=3, boundary=[kane.final(q[0]) ** 2 - 1.0]),
            kane.Phase("free", duration=0.2, nodes=3),
        ],
        boundary=[kane.integral(m.reaction("foot") ** 2) - kane.final(m.time) * kane.initial(q[0])],
        objective=kane.integral(m.time * thrust**2) + kane.final(thrust) ** 2, method=method, iterations=1,
    )  # fmt: skip
    program = found.places.program()
    random = np.random.default_rng(7)
    z = 0.3 * random.normal(size=found.places.unknowns)
    weights = random.normal(size=found.places.total)
    n, h = len(z), 1e-6

    def slopes(at):
        total = 0.7 * program.objective_gradient(at)
        r, c = program.jacobian_places
        np.add.at(total, c, weights[r] * program.jacobian(at))
        return total

    jacobian = np.zeros((found.places.total, n))
    np.add.at(jacobian, program.jacobian_places, program.jacobian(z))
    hessian = np.zeros((n, n))
    np.add.at(hessian, program.hessian_places, program.hessian(z, 0.7, weights))
    hessian += np.tril(hessian, -1).T
    for k in range(n):
        step = h * np.eye(n)[k]
        ahead, behind = (program.constraints(z + s * step).copy() for s in (1.0, -1.0))
        np.testing.assert_allclose(jacobian[:, k], (ahead - behind) / (2.0 * h), atol=2e-6)
        ahead, behind = (slopes(z + s * step) for s in (1.0, -1.0))
        np.testing.assert_allclose(hessian[:, k], (ahead - behind) / (2.0 * h), atol=2e-5)


def test_a_latch_catches_and_a_switch_lets_go_at_their_guards():
    # A cart at 2 m/s meets a latch at x = 1; force F pushes it until then. A switch opens the latch at t = 2 s.
    m = kane.Model("cart")
    cart = m.connect(m.ground, m.body("cart", mass=3.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(cart, m.input("F")))
    m.latch(1.0 - cart.q, off=m.time - 2.0, name="latch")
    dyn = kane.build(kane.formulate(m))
    found = kane.collocate(
        dyn,
        phases=[
            kane.Phase("free", duration=(0.1, 3.0)),
            kane.Phase("latch held", duration=(0.1, 3.0)),
            kane.Phase("free", duration=0.5),
        ],
        start={"x": 0.0, "x_dot": 2.0}, end={"x": 0.75}, bounds={"F": (-9.0, 9.0)},
        objective=kane.integral(dyn.equations.inputs[0] ** 2),
    )  # fmt: skip
    assert found.solved
    assert found.phases[1].time[-1] == pytest.approx(2.0, abs=1e-8)
    assert found.switch_times[0] == pytest.approx(0.5, abs=1e-3)  # no effort before the catch
    assert found.impulses[0]["latch: normal"] == pytest.approx(3.0 * 2.0, rel=1e-3)
    # From rest, 0.25 m in 0.5 s with a free end: F = -3 m d (T - t) / T^3, so int F^2 dt = 3 m^2 d^2 / T^3.
    assert found.objective == pytest.approx(3.0 * 9.0 * 0.25**2 / 0.5**3, rel=1e-3)
    assert kane.verify(found).simulated < 1e-3


@pytest.mark.parametrize("on_rotor", [False, True])
def test_a_clutch_closes_by_an_impulse_when_its_switch_is_on(on_rotor):
    # Angular momentum: both rotors have the mean of their speeds, weighted by their inertias. A sticking ring beside
    # them gets no impulse. On a rotor it would slip, because its finite effort has no impulse.
    m = kane.Model("clutch")
    rotors = [m.body(name, mass=1.0, inertia=(j, j, j)) for name, j in (("one", 1.0), ("two", 3.0))]
    one, two = (m.connect(m.ground, body, kane.Revolute(body.name, axis="z")) for body in rotors)
    ring = m.body("ring", mass=1.0, inertia=(0.5, 0.5, 0.5))
    at = rotors[0] if on_rotor else m.ground
    m.stick(m.connect(at, ring, kane.Revolute("ring", axis="z")), static=9.0, name="ring")
    m.switch(one.qdot - two.qdot, on=m.time - 1.5, name="clutch")
    dyn = kane.build(kane.formulate(m))
    start = {"one_dot": 4.0, "two_dot": 0.0, "ring_dot": 0.0, "one": 0.0, "two": 0.0, "ring": 0.0}
    found = kane.collocate(
        dyn,
        phases=[kane.Phase("ring held", duration=(0.1, 3.0)), kane.Phase("ring held, clutch held", duration=1.0)],
        start=start,
    )
    if on_rotor:
        assert not found.solved
        return
    assert found.solved
    assert found.switch_times == pytest.approx([1.5], abs=1e-8)
    assert found.phases[1].u[0] == pytest.approx([1.0, 1.0, 0.0], abs=1e-8)
    (jump,) = (p for name, p in found.impulses[0].items() if name.startswith("clutch"))
    assert abs(jump) == pytest.approx(3.0)
    assert kane.verify(found).simulated < 1e-7
    with pytest.raises(ModelError, match="phase 1: 'ring' never opens; add 'ring held' to the mode 'free'"):
        kane.collocate(dyn, phases=[kane.Phase("free", duration=1.0)])


def test_a_loop_strikes_its_stop_and_stays():
    """The jump of a closed loop agrees with the event-driven simulation; corrections of coordinates vanish."""
    m = kane.library.four_bar()
    joint = next(c for c in m.connections if c.name == "q1")
    m.stop(joint, lower=0.6, name="end")
    dyn = kane.build(kane.formulate(m))
    closed = kane.assemble(dyn.equations, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"])
    start = dict(zip(("q1", "q2", "q3"), map(float, closed.q), strict=True)) | dict.fromkeys(("u1", "u2", "u3"), 0.0)
    found = kane.collocate(
        dyn,
        phases=[kane.Phase("free", duration=(0.05, 2.0)), kane.Phase("end: lower held", duration=0.2)],
        start=start, objective=kane.final(m.time) + kane.integral(dyn.equations.inputs[0] ** 2), method="radau",
    )  # fmt: skip
    assert found.solved
    jumps = found.solution.z[found.places.impulses[0]][len(found.impulses[0]) :]
    assert np.abs(jumps).max() < 1e-8
    assert found.phases[1].q[0, 0] == pytest.approx(0.6, abs=1e-9)
    assert kane.verify(found).simulated < 1e-4


def test_a_free_body_bounces_on_a_sphere_and_keeps_its_quaternion():
    m = kane.Model("sphere", gravity=(0.0, 0.0, -G))
    body = m.body("body", mass=1.0, inertia=(0.01, 0.02, 0.03))
    m.connect(m.ground, body, kane.Free("b"))
    m.contact(
        kane.Sphere(body.point((0.0, 0.02, 0.0)), 0.1), kane.Plane(m.ground.point(), m.ground.z), restitution=0.8,
        name="floor",
    )  # fmt: skip
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=0.8, q={"b_z": 1.0}, u={"b_wx": 1.0, "b_wy": 2.0, "b_vx": 0.3})
    start = dict(zip((x.name for x in dyn.equations.q), map(float, run.q[0]), strict=True))
    start |= dict(zip((x.name for x in dyn.equations.u), map(float, run.u[0]), strict=True))
    found = kane.collocate(
        dyn,
        phases=[
            kane.Phase("free", duration=(0.1, 1.0), bounces=["floor"]),
            kane.Phase("free", duration=(0.1, 1.0)),
        ],
        start=start, boundary=[kane.final(m.time) - 0.8], method="radau",
    )  # fmt: skip
    assert found.solved
    event = run.events[0]
    assert found.switch_times[0] == pytest.approx(event.time, abs=1e-7)
    assert found.phases[1].u[0] == pytest.approx(event.u, abs=1e-6)
    assert found.impulses[0]["floor: normal"] == pytest.approx(event.impulse[0], rel=1e-6)
    assert found.q[-1] == pytest.approx(run.q[-1], abs=1e-6)


def test_a_leg_in_space_jumps_with_a_round_foot():
    """Two tangents, a rolling sphere and a quaternion: impulses and forces stay in the cone; the simulation agrees."""
    m = kane.Model("pogo", gravity=(0.0, 0.0, -G))
    body, shank = m.body("b", mass=8.0, inertia=(0.3, 0.3, 0.2)), m.body("shank", mass=0.5, inertia=(0.01, 0.01, 5e-3))
    foot = m.body("foot", mass=0.5, inertia=(2e-3,) * 3)
    m.connect(m.ground, body, kane.Free("b"))
    hip = m.connect(body, shank, kane.Universal(("roll", "swing"), axis1="x", axis2="y"))
    leg = m.connect(shank, foot, kane.Prismatic("length", axis=(0, 0, -1)))
    for joint, name in ((leg, "thrust"), (hip["roll"], "tx"), (hip["swing"], "ty")):
        m.load(kane.Motor(joint, m.input(name)))
    ground = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Sphere(foot.point(), 0.05), ground, friction=kane.Coulomb(0.8), name="foot")
    dyn = kane.build(kane.formulate(m))
    thrust, tx, ty = dyn.equations.inputs
    start = dict.fromkeys((x.name for x in (*dyn.equations.q, *dyn.equations.u)), 0.0)
    stance = {"nodes": 11, "guess": {"thrust": 90.0}}
    found = kane.collocate(
        dyn,
        phases=[
            kane.Phase("foot held", duration=(0.1, 0.6), **stance),
            kane.Phase("free", duration=(0.1, 0.6), nodes=11, end={"b_x": (0.15, None), "b_y": (0.05, None)}),
            kane.Phase("foot held", duration=0.2, **stance),
        ],
        start=start | {"b_qw": 1.0, "b_z": 0.65, "length": 0.6},
        bounds={"length": (0.4, 0.8), "roll": (-0.7, 0.7), "swing": (-0.7, 0.7), "thrust": (-200, 400)},
        objective=kane.integral((thrust / 100) ** 2 + (tx / 10) ** 2 + (ty / 10) ** 2),
    )
    assert found.solved
    normal, *tangents = found.impulses[1].values()
    # A cone in space is an inequality of squares, which may be violated by 1e-8 of its scale.
    assert math.hypot(*tangents) <= 0.8 * normal + 1e-4
    for phase in found.phases[::2]:
        N, *f = phase.multipliers.T
        assert (np.hypot(*f) <= 0.8 * N + 1e-4).all()
    assert np.linalg.norm(found.q[:, :4], axis=1) == pytest.approx(1.0, abs=1e-8)
    checks = kane.verify(found)
    assert checks.problem == ""
    assert checks.simulated < 10.0 * checks.between  # errors of 40 to 60 intervals add up


def test_a_phase_may_end_at_a_waypoint(ball):
    # Without a guard nothing jumps: least effort without gravity's work from rest to rest through a given height.
    _, dyn = ball
    force = dyn.equations.inputs[0]
    rest = {"z_dot": 0.0}
    found = kane.collocate(
        dyn, phases=[kane.Phase("free", duration=0.5, end={"z": 2.0}), kane.Phase("free", duration=0.5)],
        start={"z": 1.0} | rest, end={"z": 1.0} | rest, objective=kane.integral((force - 2.0 * G) ** 2),
    )  # fmt: skip
    assert found.solved
    assert found.impulses == [{}]
    middle = found.phases[0]
    assert middle.u[-1] == pytest.approx(found.phases[1].u[0], abs=1e-9)
    # Cubic splines with z' = 0 at the ends and, by symmetry, in the middle: 12 m^2 d^2 / T^3 for each half.
    assert found.objective == pytest.approx(2.0 * 12.0 * 4.0 / 0.5**3, rel=1e-8)


def test_bad_phases_are_named(ball, juggler):
    _, dyn = ball

    def refused(match, *phases, on=dyn, **changes):
        with pytest.raises(ModelError, match=match):
            kane.collocate(on, **{"phases": list(phases), **changes})

    free, held = kane.Phase("free", duration=1.0), kane.Phase("floor held", duration=1.0)
    plastic = _ball(0.0)[1]
    refused("phase 1: 'flor held' is no mode of 'ball'.*'floor held'", kane.Phase("flor held", duration=1.0))
    refused("phase 1: 3 is no mode of 'ball'", kane.Phase(3, duration=1.0))
    refused(
        r"phase 2 \('free'\) has no duration", kane.Phase("free", duration=1.0, bounces="floor"), kane.Phase("free")
    )
    refused(r"nothing ends phase 1 \('free'\).*bounces=\['floor'\]", free, free)
    refused("'floor' is held after the impact at the end of phase 1 .*restitution 0.5, so that it bounces", free, held)
    refused("there is no open contact 'flor' in phase 1, as bounces= names; did you mean floor",
            kane.Phase("free", duration=1.0, bounces="flor"), free)  # fmt: skip
    refused("'floor' bounces at the end of phase 1 .*but is held in phase 2",
            kane.Phase("free", duration=1.0, bounces="floor"), held, on=plastic)  # fmt: skip
    refused("there is no open contact 'floor' in phase 1, as passes= names",
            kane.Phase("floor held", duration=1.0, passes=["floor"]))  # fmt: skip
    refused(r"bounces= of phase 2 \('free'\) has no effect: .* no phase follows this one; give bounces= to the phase "
            "before the bounce", free, kane.Phase("free", duration=1.0, bounces="floor"), boundary=[])  # fmt: skip
    refused("phase 1: '' is no mode of 'ball': write 'free'", kane.Phase("", duration=1.0))
    refused("duration and nodes belong to each kane.Phase", free, duration=1.0)
    refused("phases is .*give a list such as", "free")
    refused("phases is", on=dyn)
    refused("the duration of phase 1 is -1", kane.Phase("free", duration=-1.0))
    refused("there is no coordinate or speed 'y'", kane.Phase("free", duration=1.0, start={"y": 0.0}))
    refused(
        "start of phase 1 from 1 to 1 contradict", kane.Phase("free", duration=1.0, start={"z": 1.0}), start={"z": 0.5}
    )
    ends = {"start": {"z": 1.0, "z_dot": 0.0}, "end": {"z": 2.0}}
    refused("end of 'z' from 2 to 2 and end of phase 1 from 1 to 1 contradict",
            kane.Phase("free", duration=1.0, end={"z": 1.0}), **ends)  # fmt: skip
    refused("bounds of 'z' from 0 to 1.5 and end from 2 to 2 contradict", free, **ends, bounds={"z": (0, 1.5)})
    refused("the gap of 'floor' in phase 1 at t = 0 s is off by 1; change these values, or leave", free,
            start={"z": -1.0, "z_dot": 0.0}, objective=0.0)  # fmt: skip
    refused("boundary condition 1 of phase 1 depends on z at no time",
            kane.Phase("free", duration=1.0, boundary=[dyn.equations.q[0]]))  # fmt: skip
    refused("guess is 3; with phases", free, guess=3)
    refused("guess is a run through the modes free; phases has floor held; give guess=", held, on=plastic,
            guess=kane.simulate(plastic, until=0.1, q={"z": 1.0}))  # fmt: skip
    refused("guess has 3 phases, but phases has 1; give guess=", kane.Phase("free", duration=1.0), on=juggler[1],
            guess=_juggle(juggler, iterations=1))  # fmt: skip
    block = kane.Model("block")
    block.connect(block.ground, block.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    without = kane.build(kane.formulate(block))
    refused("'block' has no contacts.*leave phases out", free, on=without)
    with pytest.raises(ModelError, match="there is no duration; give seconds, or limits"):
        kane.collocate(without, nodes=5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_push_on_a_sticking_block_is_that_of_coulombs_law(sign):
    m = kane.Model("block", gravity=(0.0, 0.0, -G))
    slide, block = m.body("slide", mass=0.0), m.body("block", mass=2.0)
    along = m.connect(m.ground, slide, kane.Prismatic("x", axis="x"))
    m.connect(slide, block, kane.Prismatic("z", axis="z"))
    m.load(kane.Motor(along, m.input("F")))
    ground = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(block.point(), ground, friction=kane.Coulomb(0.4, 0.3), name="sole")
    dyn = kane.build(kane.formulate(m))
    found = kane.collocate(
        dyn, phases=[kane.Phase("sole held", duration=1.0, nodes=5)], start={"x": 0.0},
        objective=sign * kane.integral(dyn.equations.inputs[0]),
    )  # fmt: skip
    assert found.solved
    assert found["F"] == pytest.approx(-sign * 0.4 * 2.0 * G, rel=1e-6)


def test_redundant_rows_of_a_phase_are_refused():
    m = kane.Model("sled", gravity=(0.0, 0.0, -G))
    sled = m.body("sled", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, sled, kane.Planar(("z", "x", "turn"), axis="y"))
    ground = kane.Plane(m.ground.point(), m.ground.z)
    for name, x in (("heel", -0.1), ("toe", 0.1)):
        m.contact(sled.point((x, 0, 0)), ground, friction=kane.Coulomb(0.5), name=name)
    dyn = kane.build(kane.formulate(m))
    with pytest.raises(ModelError, match="heel: normal, heel: tangent 2, toe: normal, toe: tangent 2 are redundant"):
        kane.collocate(dyn, phases=[kane.Phase("heel held, toe held", duration=1.0)])


def test_contacts_that_slide_or_bounce_with_friction_are_refused(hopper):
    _, dyn = hopper["hopper"]()
    with pytest.raises(ModelError, match=r"phase 1: 'foot' slides; phases with sliding friction .*: let it stick"):
        kane.collocate(dyn, phases=[kane.Phase("foot sliding", duration=1.0)])
    with pytest.raises(ModelError, match=r"phase 1 \('free'\): 'foot' bounces with friction, .*; leave"):
        kane.collocate(dyn, phases=[kane.Phase("free", duration=1.0, bounces="foot"), kane.Phase("free", duration=1.0)])


def test_a_result_that_is_no_solution_names_phase_and_equation(ball):
    # In 0.1 s the ball cannot reach the floor.
    _, dyn = ball
    found = kane.collocate(
        dyn, phases=[kane.Phase("free", duration=0.1, bounces="floor"), kane.Phase("free", duration=0.1)],
        start={"z": 1.0, "z_dot": 0.0}, inputs={"F": 0.0},
    )  # fmt: skip
    assert not found.solved
    assert "infeasible" in found.message
    assert "the guard of 'floor' at the end of phase 1 is off by" in found.message
