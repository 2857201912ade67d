"""``kane.Steppers``: a ``Stepper`` for each row vouches for its bits, events and modes."""

import pickle

import numpy as np
import pytest

import kane
from kane.ensembles import row_runs

DT = 2.0**-7


def arm():
    """A driven double pendulum."""
    m = kane.Model("arm")
    upper, lower = (m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.01), com=(0, 0, -0.5)) for name in ("upper", "lower"))
    shoulder = m.connect(m.ground, upper, kane.Revolute("a", axis="x"))
    elbow = m.connect(upper, lower, kane.Revolute("b", axis="x"), at=(0, 0, -1))
    m.load(kane.Motor(shoulder, m.input("torque")))
    m.load(kane.Motor(elbow, m.input("hand")))
    return m, {"q": {"a": np.linspace(0.1, 2.0, 5), "b": 0.3}}


def linkage():
    m = kane.library.four_bar()
    dyn = kane.build(kane.formulate(m))
    starts = [kane.assemble(dyn, q={"q1": a}, u={"u1": 1.0}, fixed=["q1", "u1"]) for a in np.linspace(0.4, 0.6, 5)]
    return m, {"q": np.array([s.q for s in starts]), "u": np.array([s.u for s in starts])}


def balls(restitution=0.0):
    """Two balls that land one after the other, slip, and roll."""
    m = kane.Model("balls")
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for name in "ab":
        ball = m.body(name, mass=m.parameter(f"m{name}", 1.0), inertia=(0.01, 0.01, 0.01))
        m.connect(m.ground, ball, kane.Free(f"f{name}"))
        m.contact(kane.Sphere(ball.point(), 0.1), floor, friction=kane.Coulomb(0.3), restitution=restitution, name=name)
    m.load(kane.Force(ball.point(), (m.input("push"), 0, 0)))
    return m, {"q": {"fa_z": np.linspace(0.12, 0.2, 5), "fb_z": 0.2}, "u": {"fa_vx": 1.0, "fb_vx": 1.0}}


def bouncing():
    return balls(0.7)


def coin():
    """A coin that rolls without slip, which is a permanent constraint of its velocity."""
    return kane.library.rolling_coin(), {"q": {"lean": np.linspace(0.3, 0.5, 5)}, "u": {"u2": 14.0, "u3": 6.0}}


SCENES = [arm, linkage, balls, bouncing, coin]
METHODS = [kane.RK4(), kane.RK5(), kane.RK8(), kane.MoreauJean()]


def built(scene):
    model, start = scene()
    return kane.build(kane.formulate(model), target=kane.LLVM(threads=2)), start


def row(given, i):
    """The arguments of a single run, from those of many."""
    if isinstance(given, dict):
        return {name: np.broadcast_to(value, 5)[i] for name, value in given.items()}
    return np.asarray(given)[i]


def singles(dyn, start, **more):
    return [kane.Stepper(dyn, **{name: row(given, i) for name, given in start.items()}, **more) for i in range(5)]


def seen(events):
    return [(e.name, e.time, e.cause, e.energy_lost, e.impulse.tolist()) for e in events]


def assert_equal(many, each, changed, told):
    for i, single in enumerate(each):
        assert (many.q[i] == single.q).all()
        assert (many.u[i] == single.u).all()
        assert many.time[i] == single.time
        assert many.modes[i] == single.mode
        assert changed[i] == bool(told[i])
        assert seen(many.events(i)) == seen(told[i])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.__name__)
def test_each_row_has_the_bits_events_and_modes_of_a_stepper(scene, method, threads, monkeypatch):
    dyn, start = built(scene)
    if method.name == "MoreauJean" and scene not in (balls, bouncing):
        pytest.skip("time steps are for contacts")
    monkeypatch.setattr(row_runs, "SHORT_STEP", 0.0 if threads == 2 else np.inf)
    many, each = kane.Steppers(dyn, 5, integrator=method, **start), singles(dyn, start, integrator=method)
    rng, found = np.random.default_rng(1), 0
    dt = DT / 8 if scene is linkage else DT
    for k in range(60):
        inputs = rng.normal(size=(5, len(dyn.equations.inputs)))
        for single, own in zip(each, inputs, strict=True):
            single.inputs = own
        length = dt if k % 20 else dt / 2
        changed, told = many.step(length, inputs), [single.step(length) for single in each]
        assert_equal(many, each, changed, told)
        found += changed.sum()
    assert (found > 10) == (scene in (balls, bouncing))


@pytest.mark.parametrize("method", [kane.RK4(), kane.RK8(), kane.MoreauJean()], ids=lambda m: m.name)
@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.__name__)
def test_a_row_that_begins_again_has_the_bits_of_a_new_stepper_and_leaves_the_others(scene, method):
    dyn, start = built(scene)
    if method.name == "MoreauJean" and scene not in (balls, bouncing):
        pytest.skip("time steps are for contacts")
    many, each = kane.Steppers(dyn, 5, integrator=method, **start), singles(dyn, start, integrator=method)
    dt, again = DT / 8 if scene is linkage else DT, [3, 1]
    for k in range(60):
        if k in (5, 37, 45):
            chosen = np.isin(np.arange(5), again) if k == 37 else again
            order = sorted(again) if k == 37 else again
            part = {name: _rows(given, order) for name, given in start.items()}
            many.reset(chosen, **part)
            fresh = singles(dyn, start, integrator=method)
            for i in again:
                each[i] = fresh[i]
        length = dt if k % 20 else dt / 2
        changed, told = many.step(length), [single.step(length) for single in each]
        assert_equal(many, each, changed, told)


def _rows(given, rows):
    if isinstance(given, dict):
        return {name: np.broadcast_to(value, 5)[rows] for name, value in given.items()}
    return np.asarray(given)[rows]


@pytest.mark.parametrize("method", [kane.RK4(), kane.RK8(), kane.MoreauJean()], ids=lambda m: m.name)
@pytest.mark.parametrize("scene", [arm, linkage, balls, bouncing], ids=lambda s: s.__name__)
def test_rows_continue_the_run_of_a_stepper_with_its_contacts(scene, method):
    """The stepper itself vouches. Its times are multiples of the step, and those of the rows sums, up to rounding."""
    dyn, start = built(scene)
    if method.name == "MoreauJean" and scene not in (balls, bouncing):
        pytest.skip("time steps are for contacts")
    plant, dt = singles(dyn, start, integrator=method)[1], DT / 8 if scene is linkage else DT
    many = kane.Steppers(dyn, 5, integrator=method, **start)
    for k in range(40):
        plant.step(dt)
        many.step(dt)
        if k % 3 == 0:  # both rows began together; before, they were in other states
            assert (many.q[0] == many.q[3]).all() or k == 0
            assert (many.u[0] == many.u[3]).all() or k == 0
        many.reset([0, 3] if k % 3 == 2 else np.arange(5) == 3, like=plant)
        assert (many.q[3] == plant.q).all()
        assert (many.u[3] == plant.u).all()
        assert many.modes[3] == plant.mode
    told = [event for _ in range(20) for event in plant.step(dt)]
    found = [event for _ in range(20) if many.step(dt)[3] for event in many.events(3)]
    assert [(e.name, e.cause) for e in found] == [(e.name, e.cause) for e in told]
    assert many.q[3] == pytest.approx(plant.q, rel=1e-9, abs=1e-9)
    assert many.u[3] == pytest.approx(plant.u, rel=1e-8, abs=1e-8)


def test_a_stepper_that_differs_is_refused_by_name():
    dyn, start = built(balls)
    many, other = kane.Steppers(dyn, 5, integrator=kane.RK4(), **start), kane.build(dyn.equations)
    high = {"fa_z": 1.0, "fb_z": 1.0}
    for wrong in (kane.Stepper(dyn, q=high), kane.Stepper(other, q=high, integrator=kane.RK4())):
        bad(many, lambda s, wrong=wrong: s.reset([1], like=wrong), "is not like these")
    heavy = kane.Stepper(dyn, q=high, parameters={"mb": 2.0}, integrator=kane.RK4())
    bad(many, lambda s: s.reset([1], like=heavy), "row 1 and .* different parameters")
    bad(many, lambda s: s.reset([1], like=dyn), "like= needs a kane.Stepper")
    bad(many, lambda s: s.reset([1], like=heavy, q=high), "either q and u")


def test_rows_have_their_own_parameters():
    dyn, start = built(bouncing)
    masses = np.linspace(0.5, 2.0, 5)
    start["parameters"] = {"mb": masses}
    for method in (kane.RK8(), kane.MoreauJean()):
        many, each = kane.Steppers(dyn, 5, integrator=method, **start), singles(dyn, start, integrator=method)
        for k in range(50):
            if k == 20:
                many.reset([2], q=row(start["q"], 2), u=start["u"])
                each[2] = singles(dyn, start, integrator=method)[2]
            changed, told = many.step(DT, [0.4]), []
            for single in each:
                single.inputs = [0.4]
                told.append(single.step(DT))
            assert_equal(many, each, changed, told)


def test_an_expression_of_the_state_closes_the_loop_of_each_row():
    model, start = arm()
    dyn = kane.build(kane.formulate(model))
    start["inputs"] = {"torque": -3.0 * model.connections[0].coordinates[0], "hand": np.arange(5.0)}
    many = kane.Steppers(dyn, 5, integrator=kane.RK4(), **start)
    each = [
        kane.Stepper(dyn, q=row(start["q"], i), inputs={**start["inputs"], "hand": float(i)}, integrator=kane.RK4())
        for i in range(5)
    ]
    for _ in range(30):
        assert_equal(many, each, many.step(DT), [single.step(DT) for single in each])
    with pytest.raises(kane.errors.ModelError, match="'torque' is given by an expression"):
        many.step(DT, np.zeros((5, 2)))
    many.step(DT, {"hand": np.ones(5)})
    assert (many.inputs[:, 1] == 1.0).all()


def test_events_of_the_user_end_the_steps_of_their_rows():
    dyn, start = built(arm)
    turns = kane.Event(dyn.equations.u[0], terminal=True, name="turns back")
    many = kane.Steppers(dyn, 5, events=turns, **start)
    each = singles(dyn, start, events=turns)
    found = 0
    for _ in range(200):
        changed, told = many.step(DT), [single.step(DT) for single in each]
        assert_equal(many, each, changed, told)
        found += changed.sum()
    assert found > 5
    assert len(set(many.time.tolist())) > 1


@pytest.mark.parametrize("method", [kane.RK8(), kane.MoreauJean()], ids=lambda m: m.name)
def test_forces_of_balls_that_roll_and_slide(method):
    """Two balls of 1 and 2 kg on a floor: the normal force is m g, sliding friction mu m g against the slip."""
    dyn, _ = built(balls)
    start = {"q": {"fa_z": 0.1, "fb_z": 0.1}, "u": {"fa_vx": [0.0, 1.0], "fb_vx": 1.0}}
    many = kane.Steppers(dyn, 2, integrator=method, parameters={"mb": 2.0}, **start)
    many.step(1e-4)
    forces = many.reactions
    g = 9.81
    assert np.abs(forces["a"][:, 0] - g).max() < 3e-3  # a time step errs by its length times g and the slip speed
    assert np.abs(forces["b"][:, 0] - 2 * g).max() < 6e-3
    friction = np.linalg.norm(forces["a"][:, 1:], axis=1), np.linalg.norm(forces["b"][:, 1:], axis=1)
    assert friction[0] == pytest.approx([0.0, 0.3 * g], abs=1e-3)
    assert friction[1] == pytest.approx([0.6 * g, 0.6 * g], abs=2e-3)
    assert many.active("a").tolist() == [True, True]
    with pytest.raises(kane.errors.ModelError, match="'c'"):
        forces["c"]
    with pytest.raises(kane.errors.ModelError, match="'c'"):
        many.active("c")


def test_rows_that_fail_are_named_and_the_others_move_on():
    m = kane.Model("runaway")
    body = m.body("body", mass=1.0)
    m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    many = kane.Steppers(
        kane.build(kane.formulate(m)), 4, integrator=kane.RK4(), u={"x_dot": [1.0, 1e308, 2.0, 1.5e308]}
    )
    with pytest.raises(kane.errors.SimulationError, match=r"2 of 4 rows .* reset\(\[1, 3\]\); row 1: .*finite"):
        many.step(4.0)
    assert many.time.tolist() == [4.0, 0.0, 4.0, 0.0]
    assert many.q[:, 0] == pytest.approx([4.0, 0.0, 8.0, 0.0], rel=1e-15)
    many.reset([1, 3], u={"x_dot": 1.0})
    assert not many.step(4.0).any()
    assert many.time.tolist() == [8.0, 4.0, 8.0, 4.0]


def bad(many, call, message):
    before = many.q, many.u, many.time, many.inputs
    with pytest.raises(kane.errors.ModelError, match=message):
        call(many)
    after = many.q, many.u, many.time, many.inputs
    assert all((x == y).all() for x, y in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.step(0.0), "dt"),
        (lambda s: s.step(float("nan")), "dt"),
        (lambda s: s.step("1"), "dt"),
        (lambda s: s.step(DT, np.zeros((4, 1))), r"inputs have shape \(4, 1\); give \(5, 1\)"),
        (lambda s: s.step(DT, np.zeros((5, 2))), r"inputs have shape \(5, 2\)"),
        (lambda s: s.step(DT, [[0], [0], [np.nan], [0], [0]]), "'push' of row 2 is not finite"),
        (lambda s: s.step(DT, {"push": [0, np.inf, 0, 0, 0]}), "'push' of row 1"),
        (lambda s: s.step(DT, {"push": [0, 0]}), "2 of inputs, 5 of n"),
        (lambda s: s.step(DT, {"pull": 1.0}), "pull"),
        (lambda s: s.reset([5]), "no row 5; the 5 rows are 0 to 4"),
        (lambda s: s.reset([-1]), "no row -1"),
        (lambda s: s.reset([1, 1]), "twice"),
        (lambda s: s.reset([0.5]), "give indices from 0 to 4"),
        (lambda s: s.reset([True, False]), "mask of shape"),
        (lambda s: s.reset("a"), "rows are 'a'"),
        (lambda s: s.reset([0, 2], q=np.zeros((3, 14))), "3 of q, 2 of n"),
        (lambda s: s.reset([0, 2], q={"fa_z": [0.2, np.nan], "fb_z": 0.2}), "row 2 cannot start: .*fa_z"),
        (lambda s: s.reset([0, 2], q={"fa_z": [0.2, 0.05], "fb_z": 0.2}), "row 2 cannot start: .*'a' is violated by"),
        (lambda s: s.reset([4], q={"fa_qw": 2.0, "fa_z": 0.2, "fb_z": 0.2}), "row 4 cannot start: .*length 2"),
        (lambda s: s.events(7), "no row 7"),
    ],
)
def test_bad_calls_name_the_row_and_change_nothing(call, message):
    dyn, start = built(balls)
    many = kane.Steppers(dyn, 5, **start)
    many.step(DT, np.ones((5, 1)))
    bad(many, call, message)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", True, None])
def test_the_number_of_rows_is_a_positive_integer(n):
    dyn, _ = built(arm)
    with pytest.raises(kane.errors.ModelError, match="n"):
        kane.Steppers(dyn, n)


def sampled(model):
    return {"torque": kane.Sampled(lambda t, q, u: -q[0], period=0.01)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda m: {"inputs": lambda t, q, u: np.zeros(2)}, "inputs"),
        (lambda m: {"inputs": sampled(m)}, "'torque'"),
        (lambda m: {"inputs": {"torque": ([0.0, 1.0], [0.0, 1.0])}}, "'torque'"),
        (lambda m: {"inputs": {"torque": kane.select(m.time < 0.1, 0.0, 1.0)}}, "expressions of time"),
        (lambda m: {"integrator": kane.Midpoint()}, "steps of Midpoint"),
        (lambda m: {"integrator": kane.RK4}, "RK4"),
        (lambda m: {"q": np.zeros((3, 2))}, "3 of q, 2 of n"),
        (lambda m: {"q": [[0.0, 0.0], [np.nan, 0.0]]}, "row 1 cannot start"),
        (lambda m: {"inputs": np.zeros((3, 2))}, "3 of inputs, 2 of n"),
    ],
)
def test_what_steppers_do_not_take_is_refused_by_name(given, message):
    model, _ = arm()
    with pytest.raises(kane.errors.ModelError, match=message):
        kane.Steppers(kane.build(kane.formulate(model)), 2, **given(model))


def test_a_linkage_that_is_not_closed_names_its_row():
    dyn, start = built(linkage)
    many = kane.Steppers(dyn, 5, **start)
    wrong = start["q"][:2].copy()
    wrong[1, 1] += 0.1
    bad(many, lambda s: s.reset([1, 3], q=wrong, u=start["u"][:2]), "row 3 cannot start: .*assemble")


def test_steppers_are_not_copied_and_serve_one_thread():
    dyn, start = built(arm)
    many = kane.Steppers(dyn, 5, **start)
    assert len(many) == 5
    assert repr(many) == "5 Steppers of 'arm' by RK8"
    assert many.equations is dyn.equations
    with pytest.raises(kane.errors.ModelError, match="cannot be copied"):
        pickle.dumps(many)
    with many._alone, pytest.raises(kane.errors.ModelError, match="one thread at a time"):
        many.step(DT)
