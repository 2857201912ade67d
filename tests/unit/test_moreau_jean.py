"""Moreau-Jean time stepping as a method of runs.

Who vouches: closed forms (free flight, friction, bounces, rolling), the equations of a step with dense matrices, runs
with event location as steps shrink, and the energy.
"""

import numpy as np
import pytest

import kane
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.engine.hybrid.moreau_jean import SAME_MIDDLE
from kane.engine.memory.contact_codes import ADOPTED
from kane.engine.memory.views import constraint_rows_at, transition_at

G = 9.81
METHOD = kane.MoreauJean()


def balls(n=1, friction=0.5, restitution=0.0):
    """Balls of 0.1 m and 1 kg over a floor, in a row; neighbours may touch each other."""
    m = kane.Model("balls", gravity=(0, 0, -G))
    floor, shapes = kane.Plane(m.ground.point(), m.ground.z), []
    for k in range(n):
        b = m.body(f"b{k}", mass=1.0, inertia=(0.004,) * 3)
        m.connect(m.ground, b, kane.Free(f"f{k}"))
        shapes.append(kane.Sphere(b.point(), 0.1))
        law = {"friction": kane.Coulomb(friction), "restitution": restitution}
        m.contact(shapes[k], floor, **law, name=f"floor{k}")
        if k:
            m.contact(shapes[k], shapes[k - 1], **law, name=f"pair{k}")
    return m


def box(friction=0.4, restitution=0.0):
    """A box of 0.3 x 0.2 x 0.1 m and 1 kg over a floor."""
    m = kane.Model("box", gravity=(0, 0, -G))
    b = m.body("box", mass=1.0, inertia=(0.05 / 12, 0.1 / 12, 0.13 / 12))
    m.connect(m.ground, b, kane.Free("f"))
    floor, rough = kane.Plane(m.ground.point(), m.ground.z), kane.Coulomb(friction)
    m.contact(b.shape(kane.Box(0.3, 0.2, 0.1)), floor, friction=rough, restitution=restitution, name="floor")
    return m


def slider(friction, slope=0.0):
    """A point of 2 kg on an inclined plane, in the plane of x and y, with the input "push" along x."""
    m = kane.Model("slider", gravity=(G * np.sin(slope), -G * np.cos(slope), 0))
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    along = m.connect(m.ground, carriage, kane.Prismatic("x", axis="x"))
    m.connect(carriage, body, kane.Prismatic("y", axis="y"))
    m.load(kane.Motor(along, m.input("push")))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), friction=friction, name="floor")
    return m


def built(model):
    return kane.build(kane.formulate(model))


def run(dyn, dt, until, **state):
    return kane.simulate(dyn, until=until, integrator=METHOD, dt=dt, **state)


def test_free_flight_is_exact():
    flight = run(built(balls()), 0.01, 0.5, q={"f0_z": 5.0}, u={"f0_vz": 1.0, "f0_vx": 2.0})
    assert flight["f0_z"] == pytest.approx(5.0 + flight.time - G / 2 * flight.time**2, abs=1e-13)
    assert flight["f0_x"] == pytest.approx(2.0 * flight.time, abs=1e-13)


@pytest.mark.parametrize(("friction", "slides"), [(0.5, True), (0.7, False)])
def test_a_point_on_a_slope_slides_with_the_exact_acceleration_or_sticks(friction, slides):
    slope = np.radians(30.0)
    rate = G * (np.sin(slope) - friction * np.cos(slope)) if slides else 0.0
    found = run(built(slider(kane.Coulomb(friction), slope)), 1e-2, 1.0)
    assert found["x_dot"] == pytest.approx(rate * found.time, abs=1e-12)
    assert np.abs(found["y"]).max() < 1e-12
    assert found.modes[-1] == ("floor sliding" if slides else "floor held")


def test_static_friction_holds_above_kinetic_friction_until_the_point_slips():
    """The push grows by 10 N/s; static friction 0.6 holds up to 0.6 m g, and then kinetic friction 0.4 acts."""
    dyn = built(slider(kane.Coulomb(0.6, 0.4)))
    found = run(dyn, 1e-3, 2.0, inputs=([0.0, 2.0], [[0.0], [20.0]]))
    slips = 0.6 * 2.0 * G / 10.0
    (event,) = [e for e in found.events if e.cause == "slips"]
    assert event.time == pytest.approx(slips, abs=1e-3)
    left = 2.0 - slips
    assert found.final.u[0] == pytest.approx((10.0 * slips - 0.4 * 2.0 * G) * left / 2.0 + 2.5 * left**2, rel=2e-3)


def test_a_ball_bounces_with_newtons_restitution_and_comes_to_rest():
    e, h, speed = 0.6, 1e-3, np.sqrt(2 * G)
    found = run(built(balls(restitution=e)), h, 4.0, q={"f0_z": 1.1})
    (first, *_) = [event for event in found.events if event.cause == "bounces"]
    assert first.time == pytest.approx(speed / G, abs=2 * h)
    assert first.u[5] == pytest.approx(e * speed, abs=2 * G * h)
    assert first.energy_lost == pytest.approx((1 - e**2) * G, rel=0.01)
    assert found["f0_z"].min() > 0.1 - h / 2 * (speed + G * h)
    assert found["f0_z"][found.time > 3.5].min() > 0.1 - 1e-9
    assert found["f0_z"][-1] == pytest.approx(0.1, abs=1e-9)
    assert found.modes[-1] == "floor0 held"


def test_a_sliding_ball_rolls_at_five_sevenths_of_its_speed():
    """m v + I w / r is conserved: a ball of 2/5 m r^2 ends with 5/7 of its speed, at v = 2/7 v0 / (mu g)."""
    found = run(built(balls(friction=0.2)), 1e-3, 1.0, q={"f0_z": 0.1}, u={"f0_vx": 1.0})
    (event,) = [e for e in found.events if e.cause == "sticks"]
    assert event.time == pytest.approx(2 / 7 / (0.2 * G), abs=2e-3)
    assert np.hypot(found.final.u[3], found.final.u[5]) == pytest.approx(5 / 7, abs=1e-4)


def near_contact(n, rng):
    """Coordinates of n balls or of a box whose points are a few millimetres above or below the floor."""
    q = np.zeros((n, 7))
    q[:, :4] = [1.0, 0.0, 0.0, 0.0] + 0.02 * rng.normal(size=(n, 4))
    q[:, 4] = 0.2 * np.arange(n)
    q[:, 4:] += 1e-3 * rng.normal(size=(n, 3))
    q[:, 6] += 0.1 if n > 1 else 0.05
    return unit(q.ravel())


def unit(q):
    """Scale the quaternions of free bodies to length one."""
    q = q.reshape(-1, 7).copy()
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1)[:, None]
    return q.ravel()


@pytest.mark.parametrize(("bodies", "friction", "restitution"), [(3, 0.5, 0.0), (3, 0.5, 0.7), (1, 0.4, 0.0)])
def test_each_step_satisfies_its_equations_and_the_laws_of_contact(bodies, friction, restitution):
    """With M, A and the loads at the middle of the step, from the programs of the model."""
    dyn = built(balls(3, friction, restitution) if bodies > 1 else box(friction, restitution))
    f, h, closed, slid = contact_functions(dyn), 2e-3, 0, 0
    eqs = f.equations
    nq, n, m, nc = len(eqs.q), len(eqs.u), len(eqs.constraints), len(eqs.intermittents)
    constraints, _, kinematics, _ = f.parts.programs

    def call(program, q, u):
        return program(np.concatenate([[0.0], q, u]), np.zeros(program.n_rest), program.stage(np.zeros(0)))

    for seed in range(20):
        rng = np.random.default_rng(seed)
        q, u, guess = near_contact(bodies, rng), rng.normal(size=n), np.zeros(m)
        for _ in range(2):  # a good guess leaves the middle speeds as they are
            given, stage = np.concatenate([[0.0], q, u, [h, 0.0], guess]), f.project.stage(np.zeros(0))
            guessed, step = guess, transition_at(f.moreau_jean_step(given, np.zeros(0), stage), 0, nc, m, n, nq)
            guess = step.impulses.copy()
        assert step.status[0] == ADOPTED
        middle = unit(q + h / 2 * call(kinematics, q, u))
        A, M = constraint_rows_at(call(constraints, middle, u), 0, m, n).A, dyn.mass_matrix(middle)
        p, before, after = step.impulses, A @ u, A @ step.u
        between = u + np.linalg.solve(M, A.T @ guessed - h * dyn.bias(middle, u)) / 2
        assert between == pytest.approx((u + step.u) / 2, abs=SAME_MIDDLE * np.abs(step.u - u).max())
        assert M @ (step.u - u) + h * dyn.bias(middle, between) == pytest.approx(A.T @ p, abs=1e-11)
        for at in eqs.intermittent_places:
            normal, tangents, slip = p[at.start], p[at.start + 1 : at.stop], after[at.start + 1 : at.stop]
            left = after[at.start] + restitution * min(0.0, before[at.start])
            if before[at.start] > -0.3:  # too slow for a rebound beside five times the change by gravity, or not
                left = min(left, after[at.start], key=abs)
            assert normal >= 0.0
            if normal > 0.0:
                closed += 1
                assert left == pytest.approx(0.0, abs=1e-10)
            assert np.hypot(*tangents) <= friction * normal * (1 + 1e-9)
            if np.hypot(*slip) > 1e-6 and normal > 0.0:
                slid += 1
                assert tangents == pytest.approx(-friction * normal * slip / np.hypot(*slip), abs=1e-8)
    assert closed > 20
    assert slid > 10


@pytest.mark.parametrize(
    ("height", "order", "speeds"),
    [(0.05, 1, {"f_vx": 0.6, "f_vy": 0.2, "f_wz": 1.0}), (5.0, 2, {"f_wx": 5.0, "f_wy": 0.1, "f_vx": 1.0})],
    ids=["sliding", "flying"],
)
def test_errors_shrink_with_the_step_towards_the_run_with_events(height, order, speeds):
    """A box that slides and turns on its face has errors of order h; one that flies and tumbles, of order h^2."""
    dyn, state = built(box()), {"q": {"f_z": height}, "u": speeds}
    exact = kane.simulate(dyn, until=0.5, **state).final.q
    errors = [np.abs(run(dyn, h, 0.5, **state).final.q - exact).max() for h in (4e-3, 2e-3, 1e-3)]
    rates = -np.diff(np.log2(errors))
    assert rates == pytest.approx([order] * 2, abs=0.3)
    assert errors[-1] < 1e-3


def test_a_stop_throws_a_pendulum_back_by_its_restitution():
    """A disk on a hinge without gravity turns at a constant rate, which the stop reverses."""
    m = kane.Model("door")
    door = m.body("door", mass=1.0, inertia=(0.1,) * 3)
    m.stop(m.connect(m.ground, door, kane.Revolute("angle")), upper=0.5, lower=-10.0, restitution=0.4)
    found = run(built(m), 1e-3, 1.0, u={"angle_dot": 2.0})
    assert found.final.u[0] == pytest.approx(-0.8, abs=1e-12)
    assert found["angle"].max() == pytest.approx(0.5, abs=2e-3)
    assert found.final.q[0] == pytest.approx(0.5 - 0.8 * 0.75, abs=4e-3)


def test_a_joint_sticks_until_its_load_exceeds_the_bound_and_then_has_kinetic_friction():
    m = kane.Model("hinge")
    arm = m.body("arm", mass=1.0, inertia=(0.1,) * 3)
    hinge = m.connect(m.ground, arm, kane.Revolute("angle"))
    m.load(kane.Motor(hinge, m.input("torque")))
    m.stick(hinge, static=0.5, kinetic=0.3)
    dyn = built(m)
    assert run(dyn, 1e-3, 1.0, inputs={"torque": 0.49}).final.u[0] == pytest.approx(0.0, abs=1e-15)
    assert run(dyn, 1e-3, 1.0, inputs={"torque": 0.51}).final.u[0] == pytest.approx((0.51 - 0.3) / 0.1, rel=2e-3)
    stopped = run(dyn, 1e-3, 1.0, u={"angle_dot": 1.0})
    assert stopped.final.u[0] == pytest.approx(0.0, abs=1e-15)
    assert stopped.final.q[0] == pytest.approx(0.5 / (0.3 / 0.1), abs=2e-3)


def test_a_latch_catches_and_holds_and_a_switch_welds_for_a_time():
    m = kane.Model("sled")
    sled, load = m.body("sled", mass=1.0, inertia=(0.1,) * 3), m.body("load", mass=3.0, inertia=(0.1,) * 3)
    way = m.connect(m.ground, sled, kane.Prismatic("x", axis="x"))
    m.latch(1.0 - way.q, name="latch", off=m.time - 2.0)
    other = m.connect(m.ground, load, kane.Prismatic("y", axis="x"))
    m.switch(other.qdot - way.qdot, on=m.time - 0.5, off=m.time - 0.7, name="coupling")
    found = run(built(m), 1e-3, 1.5, u={"x_dot": 1.0})
    assert found["x_dot"][(found.time > 0.51) & (found.time < 0.69)] == pytest.approx(0.25, abs=1e-12)
    assert found["y_dot"][-1] == pytest.approx(0.25, abs=1e-12)
    assert {e.name for e in found.events} == {"coupling"}
    caught = run(built(m), 1e-3, 1.5, q={"x": 0.9}, u={"x_dot": 1.0})
    assert caught["x"][-1] == pytest.approx(1.0, abs=1e-10)
    assert caught["x_dot"][-1] == pytest.approx(0.0, abs=1e-12)


def constraint_residual(dyn, q):
    """Distance of the ends of coupler and rocker of the four-bar linkage [m]."""
    a, b, c, d = 0.3, 0.9, 0.7, 1.0
    coupler = a * np.exp(1j * q[0]) + b * np.exp(1j * (q[0] + q[1]))
    return abs(coupler - d - c * np.exp(1j * q[2]))


def test_a_loop_without_contacts_has_errors_of_second_order():
    """Velocities satisfy the loop at the ends of steps: with those of the middle, errors would be of order h."""
    m = kane.library.four_bar()
    m.stop(m.connections[0], upper=100.0, lower=-100.0)
    dyn = built(m)
    state = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"], u={"u1": 5.0})
    exact = kane.simulate(dyn, until=0.5, q=state.q, u=state.u).final
    found = [run(dyn, h, 0.5, q=state.q, u=state.u).final for h in (4e-3, 2e-3, 1e-3)]
    errors = [[np.abs(each.q - exact.q).max(), np.abs(each.u - exact.u).max()] for each in found]
    assert -np.diff(np.log2(errors), axis=0) == pytest.approx(np.full((2, 2), 2.0), abs=0.3)


def test_loops_stay_closed_and_their_motion_is_that_of_a_run_with_events():
    m = kane.library.four_bar()
    crank = m.connections[0]
    m.stop(crank, upper=1.5, lower=-10.0, restitution=0.5)
    dyn = built(m)
    state = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"], u={"u1": 1.0})
    exact = kane.simulate(dyn, until=0.6, q=state.q, u=state.u).final.q
    found = [run(dyn, h, 0.6, q=state.q, u=state.u) for h in (2e-3, 1e-3)]
    errors = [np.abs(each.final.q - exact).max() for each in found]
    assert errors[1] < 0.7 * errors[0] < 2e-2
    residuals = [constraint_residual(dyn, q) for q in found[1].q]
    assert np.max(residuals) < 2e-9  # two rows of 1e-9 m each


def test_a_stepper_takes_the_steps_of_a_run_to_the_bit():
    dyn, h, state = built(box(restitution=0.2)), 2.0**-9, {"q": {"f_z": 0.2}, "u": {"f_wx": 2.0, "f_vx": 1.0}}
    found = kane.simulate(dyn, until=200 * h, integrator=METHOD, dt=h, every=1, **state)
    stepper = kane.Stepper(dyn, integrator=METHOD, **state)
    events = [event for _ in range(200) for event in stepper.step(h)]
    assert np.array_equal(np.concatenate([stepper.q, stepper.u]), np.concatenate([found.final.q, found.final.u]))
    assert [(e.name, e.cause, e.time) for e in events] == [(e.name, e.cause, e.time) for e in found.events]


@pytest.mark.parametrize(
    "push",
    [
        3.0,
        kane.Held([0.0, 0.5], [3.0, 3.0]),
        kane.Interpolated([0.0, 1.0], [3.0, 3.0]),
        lambda t, q, u: 3.0,
        kane.Sampled(lambda t, q, u: 3.0, period=0.1),
    ],
    ids=["number", "held", "interpolated", "function", "sampled"],
)
def test_inputs_of_every_kind_act(push):
    found = run(built(slider(kane.Coulomb(0.1))), 1e-3, 1.0, inputs={"push": push})
    assert found.final.u[0] == pytest.approx(3.0 / 2.0 - 0.1 * G, abs=1e-12)
    assert np.array(found.inputs)[-1, 0] == 3.0


def test_loads_that_depend_on_time_are_taken_in_the_middle_of_a_step():
    """A force of 10 t N on 2 kg: the middle of each step makes u = 2.5 t^2 exactly."""
    m = kane.Model("pushed", gravity=(0, -G, 0))
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    m.load(kane.Motor(m.connect(m.ground, carriage, kane.Prismatic("x", axis="x")), 10.0 * m.time))
    m.connect(carriage, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), name="floor")
    assert run(built(m), 1e-2, 1.0).final.u[0] == pytest.approx(2.5, abs=1e-12)


def test_a_body_stays_on_a_platform_that_moves_in_time():
    """The platform rises by 0.3 t^2 m, with the same acceleration as the body: gaps are those at the ends of steps."""
    m = kane.Model("lift", gravity=(0, -G, 0))
    platform, body = m.body("platform", mass=0.0), m.body("body", mass=2.0)
    m.connect(m.ground, platform, kane.Prismatic(0.3 * m.time**2, axis="y"), name="lift")
    m.connect(m.ground, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(platform.point(), platform.y), name="stand")
    found = run(built(m), 1e-2, 1.0, every=1)
    assert found["y"] == pytest.approx(0.3 * found.time**2, abs=1e-9)
    assert np.array(found.reactions["stand"])[2:, 0] == pytest.approx(2.0 * (G + 0.6), abs=1e-6)


def test_steps_are_noted_only_where_the_contact_mode_changes():
    stepper = kane.Stepper(built(slider(kane.Coulomb(0.1))), u={"x_dot": 5.0}, integrator=METHOD)
    noted = [len(stepper.step(1e-3)) + len(stepper._integration.transitions.time) for _ in range(5)]
    assert noted == [2, 0, 0, 0, 0]


def test_forces_at_records_are_means_over_the_steps_before_them():
    found = run(built(balls()), 1e-3, 0.2, q={"f0_z": 0.1}, every=10)
    assert np.array(found.reactions["floor0"])[1:, 0] == pytest.approx(G, abs=1e-9)


def test_records_between_steps_and_terminal_events_are_on_the_lines_between_the_ends_of_steps():
    dyn = built(balls())
    (z,) = [x for x in dyn.equations.q if x.name == "f0_z"]
    half = kane.Event(z - 0.5, name="half", terminal=True)
    found = run(dyn, 1e-2, 1.0, q={"f0_z": 1.0}, times=[0.0, 0.105, 1.0], events=half)
    before, after = (1.0 - G / 2 * t**2 for t in (0.10, 0.11))
    assert found["f0_z"][1] == pytest.approx((before + after) / 2, abs=1e-12)
    assert found.time[-1] == pytest.approx(np.sqrt(1.0 / G), abs=1e-4)
    assert found["f0_z"][-1] == pytest.approx(0.5, abs=1e-9)


def test_impacts_and_friction_make_no_energy():
    """Between impacts the error of the middle speeds changes the energy by the order of h^2 in a step."""
    h, state = 2e-3, {"q": {"f_z": 0.3}, "u": {"f_wx": 5.0, "f_wy": 2.0, "f_vx": 1.0}}
    for restitution in (0.0, 0.5):
        found = run(built(box(restitution=restitution)), h, 2.0, every=1, **state)
        assert np.diff(found.energy).max() < 20 * h**2
        assert found.energy[-1] < found.energy[0] - 1.0
        lost = sum(event.energy_lost for event in found.events)
        # Corrections lift the box out of the floor after each impact, by up to h / 2 of 3 m/s.
        assert 0.0 < lost <= found.energy[0] - found.energy[-1] + 2 * G * h / 2 * 3.0


@pytest.mark.parametrize("h", [1e-3, 2e-4])
def test_a_box_that_lands_askew_on_a_box_comes_to_rest_there_without_energy(h):
    """Edges that cross nearly in line have up to 18 redundant rows, which leave residuals of 1e-7 of the impulses."""
    m = kane.Model("two", gravity=(0, 0, -G))
    below, q = kane.Plane(m.ground.point(), m.ground.z), {}
    for k in range(2):
        b = m.body(f"b{k}", mass=0.5, inertia=(6e-4,) * 3)
        m.connect(m.ground, b, kane.Free(f"b{k}"))
        shape = b.shape(kane.Box(0.1, 0.1, 0.06))
        m.contact(shape, below, friction=kane.Coulomb(0.4), name=f"c{k}")
        turn, below = np.array([1.0, 0.02 * k, 0.01 * k, 0.05 * k]), shape
        q |= dict(zip((f"b{k}_qw", f"b{k}_qx", f"b{k}_qy", f"b{k}_qz"), turn / np.linalg.norm(turn), strict=True))
        q |= {f"b{k}_z": 0.0301 + 0.075 * k, f"b{k}_x": 0.004 * k}
    found = run(built(m), h, 0.4, every=1, q=q)
    assert np.diff(found.energy).max() < 1e-9  # 1e-4 of an impulse of 5e-3 N s at 2 mm/s; rounding is 1e-15
    assert [found["b0_z"][-1], found["b1_z"][-1]] == pytest.approx([0.03, 0.09], abs=2e-5)
    assert abs(found.u[-1]).max() < 1e-6


def test_what_has_no_time_steps_is_refused_with_a_cure():
    m = kane.Model("arm")
    m.connect(m.ground, m.body("arm", mass=1.0, inertia=(0.1,) * 3), kane.Revolute("a"))
    with pytest.raises(kane.ModelError, match=r"'arm' has none; use kane\.RK8\(\)"):
        run(built(m), 1e-3, 1.0)
    with pytest.raises(kane.ModelError, match=r"'arm' has none"):
        kane.Stepper(built(m), integrator=METHOD).step(1e-3)
    with pytest.raises(kane.CallError, match=r"takes no dt=.*; give the length of a step to its method: stepper\.step"):
        kane.Stepper(None, dt=2e-3)
    with pytest.raises(kane.CallError, match=r"takes no dt=.*give the step to kane\.simulate"):
        kane.MoreauJean(dt=1e-3)
    with pytest.raises(kane.ModelError, match=r"step-size control"):
        kane.simulate_many(built(balls()), until=1.0, q={"f0_z": [0.3, 0.4]}, integrator=METHOD)


def test_steps_that_turn_bodies_far_are_told_with_a_step_that_does_not():
    dyn, state = built(box()), {"q": {"f_z": 2.0}, "u": {"f_wy": 20.0}}
    with pytest.warns(
        UserWarning, match=r"dt = 0\.1 s turn 'f_qw' of 'box' by up to 2\.03 rad each.*give dt = 0\.005 or less"
    ):
        run(dyn, 0.1, 0.3, **state)
    stepper = kane.Stepper(dyn, integrator=METHOD, **state)
    with pytest.warns(UserWarning, match=r"turn 'f_qw' of 'box' by up to") as told:
        [stepper.step(0.1) for _ in range(3)]
    assert len(told) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda d: kane.simulate(d, until=1.0, integrator=kane.MoreauJean),
        lambda d: kane.Stepper(d, integrator=kane.MoreauJean),
    ],
)
def test_a_class_in_place_of_an_integrator_is_refused_with_its_call(make):
    with pytest.raises(kane.ModelError, match=r"give an instance: MoreauJean\(\)"):
        make(built(balls()))


def test_quaternions_keep_their_length_where_contacts_are_corrected():
    found = run(built(box()), 2e-3, 1.0, every=1, q={"f_z": 0.2}, u={"f_wx": 5.0, "f_wy": 2.0})
    assert any(event.cause == "imposed" for event in found.events)
    assert np.linalg.norm(found.q[:, :4], axis=1) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("masses", [(1.0, 1e9), (1e9, 1.0), (1e-6, 1e3), (1e3, 1e-6)])
def test_balls_of_very_different_masses_rest_on_each_other(masses):
    """The floor carries both. Below 1e9 kg, rounding makes oscillations of 4e-6 of the force after 1 s, which decay."""
    m = kane.Model("two", gravity=(0, 0, -G))
    shapes = []
    for k, mass in enumerate(masses):
        body = m.body(f"b{k}", mass=mass, inertia=(0.004 * mass,) * 3)
        m.connect(m.ground, body, kane.Free(f"f{k}"))
        shapes.append(kane.Sphere(body.point(), 0.1))
    m.contact(shapes[0], kane.Plane(m.ground.point(), m.ground.z), friction=kane.Coulomb(0.5), name="floor")
    m.contact(shapes[1], shapes[0], friction=kane.Coulomb(0.5), name="pair")
    found = run(built(m), 1e-3, 1.0, q={"f0_z": 0.1, "f1_z": 0.32})
    assert [found["f0_z"][-1], found["f1_z"][-1]] == pytest.approx([0.1, 0.3], abs=1e-9)
    assert found.reactions["floor"][-1][0] == pytest.approx(G * sum(masses), rel=1e-5)


def test_a_run_that_locates_very_many_transitions_advises_time_steps():
    """A ball of restitution 0.999 bounces 2,000 times within 2 v / g (1 - 0.999^2000) / 0.001 = 0.2 s."""
    bouncing = built(balls(restitution=0.999))
    start = {"q": {"f0_z": 0.1}, "u": {"f0_vz": 1.1e-3}}
    with pytest.warns(UserWarning, match=r"changed their mode .* times .*try integrator=kane\.MoreauJean\(\), dt=1e-3"):
        kane.simulate(bouncing, until=0.3, **start)
