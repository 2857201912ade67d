"""Runs of models whose constraints come and go: what happened, when, with what impulse, and what the trajectory says.

Closed forms vouch: free fall between impacts, Coulomb friction of a block on two corners, the balance of energy.
"""

import matplotlib as mpl
import numpy as np
import pytest

import kane

mpl.use("Agg")

G, MASS, KEPT = 10.0, 2.0, 0.5
STATIC, KINETIC, HALF, HEIGHT = 0.5, 0.4, 0.1, 0.1


@pytest.fixture(scope="module")
def ball():
    model = kane.Model("ball", gravity=(0, -G, 0))
    ground, body = model.ground, model.body("ball", mass=MASS)
    model.connect(ground, body, kane.Prismatic("y", axis="y"))
    model.contact(body.point(), kane.Plane(ground.point(), ground.y), restitution=KEPT, name="floor")
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def block():
    """A block on two corners, pushed along the floor by an input."""
    model = kane.Model("block", gravity=(0, -G, 0))
    ground, body = model.ground, model.body("block", mass=MASS, inertia=(0.02,) * 3)
    model.connect(ground, body, kane.Planar(("x", "y", "angle")))
    push = model.input("push")
    model.load(kane.Force(body.point((0, -HEIGHT, 0)), (push, 0, 0)))
    floor, friction = kane.Plane(ground.point(), ground.y), kane.Coulomb(static=STATIC, kinetic=KINETIC)
    for name, x in (("left", -HALF), ("right", HALF)):
        model.contact(body.point((x, -HEIGHT, 0)), floor, friction=friction, name=name)
    return kane.build(kane.formulate(model))


SLIDING = {"q": {"y": HEIGHT}, "u": {"x_dot": 1.0}}
STOPS = 1.0 / (KINETIC * G)


@pytest.fixture(scope="module")
def fallen(ball):
    return kane.simulate(ball, until=2.0, q={"y": 1.0})


@pytest.fixture(scope="module")
def slid(block):
    return kane.simulate(block, until=0.6, **SLIDING)


def test_a_ball_bounces_at_the_times_of_free_fall_and_comes_to_rest(fallen):
    first, speed = np.sqrt(2.0 / G), np.sqrt(2.0 * G)
    bounces = [e for e in fallen.events if e.cause == "bounces"]
    n = len(bounces)
    exact = first + 2.0 * speed / G * np.concatenate([[0.0], np.cumsum(KEPT ** np.arange(1, n))])
    assert n >= 10
    # Each bounce halves the speed and so doubles the share of what it was off by.
    assert [e.time for e in bounces][:10] == pytest.approx(exact[:10], rel=1e-11)
    assert fallen.events[-1].cause == "imposed"
    assert fallen.final.q[0] == pytest.approx(0.0, abs=1e-12)
    assert fallen.final.u[0] == 0.0
    assert fallen["y"].min() > -1e-12
    assert fallen.modes == ("free", "floor held")


def test_impulses_are_changes_of_momentum_and_the_energy_lost_adds_up(fallen):
    run = fallen.to_xarray()
    jump = MASS * (run.change_u - run.change_u_before).to_numpy()[:, 0]
    assert [e.impulse.tolist() for e in fallen.events] == [[pytest.approx(x, rel=1e-12)] for x in jump]
    lost = sum(e.energy_lost for e in fallen.events)
    assert fallen.energy[0] - fallen.energy[-1] == pytest.approx(lost, rel=1e-9)
    assert lost == pytest.approx(MASS * G * 1.0, rel=1e-9)


def test_the_floor_pushes_as_much_as_it_must_while_it_is_in_force(fallen):
    active = fallen.active("floor")
    assert (active == (fallen.time > fallen.events[-1].time)).all()
    assert fallen.reactions["floor"][active, 0] == pytest.approx(np.full(active.sum(), MASS * G))
    assert not fallen.reactions["floor"][~active].any()


def test_a_block_slides_to_rest_as_friction_and_moments_have_it(slid):
    sticks = [e for e in slid.events if e.cause == "sticks"]
    assert [e.time for e in sticks] == pytest.approx([STOPS] * 2, rel=1e-10)  # both corners at once
    assert [e.name for e in sticks] == ["left", "right"]
    assert slid.final.q == pytest.approx([0.5 / (KINETIC * G), HEIGHT, 0.0], abs=1e-11)
    assert slid.modes == ("left sliding, right sliding", "left held, right held")
    # Friction m g k at the floor, HEIGHT under the centre, tips the block forwards.
    weight = MASS * G
    front, back = 0.5 * weight * (1.0 + KINETIC * HEIGHT / HALF), 0.5 * weight * (1.0 - KINETIC * HEIGHT / HALF)
    slides = (slid.time > 0.0) & (slid.time < STOPS)
    for name, normal in (("right", front), ("left", back)):
        found = slid.reactions[name][slides]
        assert found == pytest.approx(np.tile([normal, -KINETIC * normal], (len(found), 1)), rel=1e-9)
    resting = slid.time > STOPS + 1e-9
    total = slid.reactions["left"][resting] + slid.reactions["right"][resting]
    assert total == pytest.approx(np.tile([weight, 0.0], (len(total), 1)), abs=1e-9)


def test_friction_holds_up_to_its_threshold_and_then_slips(block):
    ramp = {"push": 4.0 * block.equations.t}
    run = kane.simulate(block, until=3.0, q={"y": HEIGHT}, inputs=ramp)
    slips, _ = [e for e in run.events if e.cause == "slips"]  # both corners at once
    # Both corners share the load, as the push acts along the floor.
    assert slips.time == pytest.approx(STATIC * MASS * G / 4.0, rel=1e-9)
    assert run["x"][run.time < slips.time] == pytest.approx(np.zeros((run.time < slips.time).sum()), abs=1e-15)
    after = 3.0 - slips.time
    exact = (2.0 * 9.0 - 0.5 * 4.0 * slips.time**2) / MASS - KINETIC * G * after  # integral of 4 t / m - k g
    assert run.final.u[0] == pytest.approx(exact, rel=1e-9)


def test_slip_in_space_begins_and_goes_on_where_static_friction_is_no_more_than_kinetic():
    """The acceleration begins with zero: its direction was rounding, and no mode was found. A push grows by 1 kN/s."""
    m = kane.Model("slab", gravity=(0, 0, -G))
    last = m.ground
    for axis in "xyz":
        body = m.body(axis, mass=MASS if axis == "z" else 0.0)
        m.connect(last, body, kane.Prismatic(axis, axis=axis))
        last = body
    m.load(kane.Force(last.point(), (600.0 * m.time, 800.0 * m.time, 0), m.ground))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(last.point(), floor, friction=kane.Coulomb(STATIC), name="floor")
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.02)
    bound = 1e-3 * STATIC * MASS * G  # s
    slips = next(e for e in run.events if e.cause == "slips")
    assert slips.time == pytest.approx(bound, rel=1e-9)
    speed = 500.0 * (0.02 - bound) ** 2 / MASS
    assert run.final.u == pytest.approx([0.6 * speed, 0.8 * speed, 0.0], rel=1e-6)


METHODS = [kane.RK5(1e-10, 1e-12), kane.RK4(), kane.Gauss4(), kane.BDF(1e-9, 1e-11)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method_tells_the_same_story(block, slid, method):
    step = {"dt": 2e-3} if method.fixed else {}
    run = kane.simulate(block, until=0.6, integrator=method, **step, **SLIDING)
    assert [(e.name, e.cause) for e in run.events] == [(e.name, e.cause) for e in slid.events]
    assert [e.time for e in run.events] == pytest.approx([e.time for e in slid.events], abs=1e-7)
    assert run.final.q == pytest.approx(slid.final.q, abs=1e-7)


def test_a_stepper_and_an_ensemble_are_the_same_run(block, slid):
    stepper, events = kane.Stepper(block, **SLIDING), []
    for _ in range(60):
        events += stepper.step(0.01)
    assert [(e.name, e.cause) for e in events] == [(e.name, e.cause) for e in slid.events]
    assert stepper.q == pytest.approx(slid.final.q, abs=1e-10)
    many = kane.simulate_many(block, until=0.6, q=SLIDING["q"], u={"x_dot": np.array([0.5, 1.0])})
    assert (many.q[1, -1] == slid.final.q).all()
    assert many.q[0, -1, 0] == pytest.approx(0.5**3 / (KINETIC * G), rel=1e-10)


def test_a_stepper_that_rests_goes_on_resting(block):
    stepper = kane.Stepper(block, **SLIDING)
    for _ in range(300):
        stepper.step(0.01)
    assert stepper.q == pytest.approx([0.5 / (KINETIC * G), HEIGHT, 0.0], abs=1e-10)


def test_a_stepper_says_what_is_in_force_at_the_moment(block):
    stepper = kane.Stepper(block, **SLIDING)
    assert stepper.mode == "free"  # the first step begins with what touches
    stepper.step(0.5 * STOPS)
    assert stepper.mode == "left sliding, right sliding"
    stepper.step(STOPS)
    assert stepper.mode == "left held, right held"
    assert stepper.active("left")
    stepper.delete("left").wait()
    stepper.step(0.01)
    assert stepper.mode == "right held"
    with pytest.raises(kane.ModelError, match=r"no contact, stop, stick, latch or switch 'left'; known are right"):
        stepper.active("left")


@pytest.mark.parametrize("kind", ["expression", "function", "constant"])
def test_inputs_of_all_kinds_act_on_what_slides(block, kind):
    push = {"expression": 2.0 + 0.0 * block.equations.t, "function": lambda t, q, u: 2.0, "constant": 2.0}[kind]
    run = kane.simulate(block, until=0.2, inputs={"push": push}, **SLIDING)
    assert run.final.u[0] == pytest.approx(1.0 + (2.0 / MASS - KINETIC * G) * 0.2, rel=1e-9)


def test_the_story_survives_a_file(slid, tmp_path):
    slid.save(tmp_path / "run.nc")
    again = kane.Trajectory.load(tmp_path / "run.nc")
    assert str(again) == str(slid)
    assert again.modes == slid.modes
    assert (again.active("left") == slid.active("left")).all()
    assert (again.reactions["right"] == slid.reactions["right"]).all()


def test_a_run_prints_with_the_table_of_its_events(fallen):
    lines = str(fallen).splitlines()
    assert lines[0] == repr(fallen)
    assert lines[1].split() == ["time", "[s]", "event", "cause", "impulse", "energy", "lost", "[J]"]
    assert lines[2].split()[:3] == ["0.447214", "floor", "bounces"]
    assert len(lines) == 2 + len(fallen.events)


def test_rounding_is_not_written_beside_what_a_run_is_made_of(block):
    """What sticks again and again loses some 1e-25 J at each time."""
    push = 1.2 * STATIC * MASS * G * kane.sin(3.0 * block.equations.t)
    run = kane.simulate(block, until=5.0, q={"y": HEIGHT}, inputs={"push": push})
    assert any(0.0 < event.energy_lost < 1e-20 for event in run.events if event.cause == "sticks")
    assert {line.split()[-1] for line in str(run).splitlines()[2:] if "more" not in line} == {"0"}


def test_of_many_events_the_first_and_the_last_ones_are_printed():
    model = kane.Model("lively", gravity=(0, -G, 0))
    body = model.body("ball", mass=MASS)
    model.connect(model.ground, body, kane.Prismatic("y", axis="y"))
    model.contact(body.point(), kane.Plane(model.ground.point(), model.ground.y), restitution=0.8, name="floor")
    run = kane.simulate(kane.build(kane.formulate(model)), until=5.0, q={"y": 1.0})
    lines = str(run).splitlines()[2:]
    assert len(run.events) > 50
    assert lines[30] == f"... {len(run.events) - 40} more ..."
    assert [line.split()[0] for line in lines[:30]] == [f"{event.time:.6f}" for event in run.events[:30]]
    assert [line.split()[0] for line in lines[31:]] == [f"{event.time:.6f}" for event in run.events[-10:]]
    assert "imposed" in lines[-1]


def test_pictures_show_what_was_in_force_below_the_curves(slid, ball):
    bands = slid.plot("x").axes[-1]
    assert [label.get_text() for label in bands.get_yticklabels()] == ["left", "right"]
    free = kane.simulate(ball, until=0.1, q={"y": 1.0})
    assert len(free.plot("y").axes) == 1


def test_what_cannot_be_run_is_refused(ball, block, fallen):
    with pytest.raises(kane.ModelError, match=r"cannot start there: 'left' is violated by 0\.05 m"):
        kane.simulate(block, until=1.0, q={"y": 0.05})
    with pytest.raises(kane.ModelError, match="goes back in time"):
        kane.simulate(ball, until=-1.0, q={"y": 1.0})
    with pytest.raises(kane.ModelError, match=r"'flor'.*did you mean floor"):
        fallen.active("flor")


def test_a_run_without_such_constraints_says_so():
    model = kane.Model("plain")
    model.connect(model.ground, model.body("B", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1", axis="x"))
    run = kane.simulate(kane.build(kane.formulate(model)), until=0.1)
    with pytest.raises(kane.ModelError, match="'plain' has no intermittent constraints"):
        print(run.modes)
    assert str(run) == repr(run)


def test_two_balls_that_meet_within_one_step_of_free_flight_bounce():
    """Nothing acts on them, so that steps are as long as the run: no probe of any falls into their encounter."""
    model = kane.Model("two balls")
    for name, mass in (("a", 1.0), ("b", 1.0)):
        body = model.body(name, mass=mass, inertia=(0.1,) * 3)
        model.connect(model.ground, body, kane.Planar((f"x_{name}", f"y_{name}", f"angle_{name}")))
    _, a, b = model.bodies
    model.contact(kane.Sphere(a.point(), 0.1), kane.Sphere(b.point(), 0.1), restitution=1.0, name="touch")
    dyn = kane.build(kane.formulate(model))
    run = kane.simulate(dyn, until=20.0, q={"x_a": -5.0}, u={"x_a_dot": 1.0})
    (touch,) = run.events
    assert touch.time == pytest.approx(4.8, rel=1e-12)
    np.testing.assert_allclose(run.u[-1], [0, 0, 0, 1, 0, 0], atol=1e-12)


@pytest.mark.parametrize("above", [1e-3, 1e-6, -1e-6], ids=["deep", "grazing", "past"])
def test_a_throw_that_only_just_reaches_the_ceiling_strikes_it(above):
    """The way up and down is one step of RK8; the ceiling is this much below its top, or above it."""
    model = kane.Model("throw", gravity=(0, -G, 0))
    ground, body = model.ground, model.body("ball", mass=MASS)
    model.connect(ground, body, kane.Prismatic("y", axis="y"))
    model.contact(
        body.point(), kane.Plane(ground.point((0, 1.0 - above, 0)), ground.direction((0, -1, 0))), name="ceiling"
    )
    run = kane.simulate(kane.build(kane.formulate(model)), until=1.0, u={"y_dot": np.sqrt(2.0 * G)})
    times = [event.time for event in run.events]
    expected = [np.sqrt(2.0 / G) - np.sqrt(2.0 * above / G)] if above > 0 else []
    assert times == pytest.approx(expected, rel=1e-9)


def small(size, *, turned):
    """A run of a cube of water that falls on a floor, its length, speeds and times as the square root of its size."""
    model = kane.Model("cube", gravity=(0, 0, -G))
    mass = 1000.0 * (2.0 * size) ** 3
    body = model.body("cube", mass=mass, inertia=(mass * (2.0 * size) ** 2 / 6.0,) * 3)
    model.connect(model.ground, body, kane.Free("b"))
    floor, box = kane.Plane(model.ground.point(), model.ground.z), kane.Box(2 * size, 2 * size, 2 * size, body.point())
    model.contact(box, floor, restitution=0.3, friction=kane.Coulomb(0.5, 0.4), name="floor")
    q = {"b_z": 3.0 * size} | (dict(b_qw=0.9, b_qx=0.4, b_qy=0.1, b_qz=0.02**0.5) if turned else {})
    return kane.simulate(kane.build(kane.formulate(model)), until=0.9 * size**0.5, q=q)


@pytest.mark.parametrize("turned", [True, False])
def test_a_cube_of_a_micrometre_falls_as_one_of_a_metre_does(turned):
    """Gravity is the same: times are as the roots of sizes. Gaps are closed to 1e-11 m, 1e-5 of this cube."""
    metre, micro = small(1.0, turned=turned), small(1e-6, turned=turned)
    assert [(e.name, e.cause) for e in micro.events[:6]] == [(e.name, e.cause) for e in metre.events[:6]]
    assert [e.time / 1e-3 for e in micro.events[:6]] == pytest.approx([e.time for e in metre.events[:6]], abs=1e-4)
    for one, other in zip(micro.events[:6], metre.events[:6], strict=True):
        assert one.impulse / 1e-21 == pytest.approx(other.impulse, rel=1e-3, abs=1e-3 * np.abs(other.impulse).max())
    lines = str(micro).splitlines()[2:]
    assert lines[0].split()[0] == f"{micro.events[0].time:.9f}"
    assert f" {micro.events[0].impulse[0]:.4g} " in lines[0]


def test_a_record_in_the_instant_in_which_an_input_jumps_has_forces_of_the_mode_behind_it():
    """A mass is pressed on the floor, and from 0.5 s on pulled off it: no record has a force that holds it back."""
    model = kane.Model("lifted", gravity=(0, -G, 0))
    body = model.body("body", mass=MASS)
    joint = model.connect(model.ground, body, kane.Prismatic("y", axis="y"))
    model.load(kane.Motor(joint, model.input("lift")))
    model.contact(body.point(), kane.Plane(model.ground.point(), model.ground.y), name="floor")
    lift = kane.Held([0.0, 0.5, 1.0], [-5.0, 3.0 * MASS * G, 0.0])
    times = np.arange(11) / 16
    run = kane.simulate(
        kane.build(kane.formulate(model)), until=times[-1], q={"y": 0.0}, inputs={"lift": lift}, times=times
    )
    normal, jump = run.reactions["floor"][:, 0], 8
    assert run.time[jump] == 0.5
    assert [event.time for event in run.events if event.cause == "deleted"] == [0.5]
    np.testing.assert_allclose(normal[:jump], MASS * G + 5.0, rtol=1e-12)
    assert normal[jump:].tolist() == [0.0, 0.0, 0.0]
    assert run.active("floor").tolist() == [True] * jump + [False] * 3
