"""Gimbals that switch charts against ball joints (quaternions), which are singular nowhere: orientations, energies,
momenta, events, through singularities of the angles. Without charts the same runs stop there.
"""

import numpy as np
import pytest

import kane
from kane.geometry import quaternion
from kane.model.joints.gimbal.angles import angles_along, angular_velocity_matrix, rotation_matrix

AXES = {"x": 0, "y": 1, "z": 2}
FINE = kane.RK8(rtol=1e-11, atol=1e-11)
BALL = "ball"
SPEEDS = [kane.MeasureNumbers(), kane.AngleRates()]


def axes(sequence):
    return tuple(AXES[letter] for letter in sequence)


def joint(name, kind, sequence):
    return kane.Spherical(name) if kind == BALL else kane.Gimbal(name, sequence=sequence, speeds=kind)


def started(kind, sequence, R, w):
    """q and u of one joint with orientation R and angular velocity w in M."""
    if kind == BALL:
        return quaternion.from_matrix(R), w
    q = angles_along(axes(sequence), R[None], np.zeros(3))[0]
    return q, (w if kind == kane.MeasureNumbers() else np.linalg.solve(angular_velocity_matrix(axes(sequence), q), w))


def orientations(run, kind, sequence, first=0):
    if kind == BALL:
        return np.array([kane.Rotation.quaternion(*q[first : first + 4]).as_numpy() for q in run.q])
    return rotation_matrix(axes(sequence), run.q[:, first : first + 3])


def free_body(kind, sequence, inertia):
    model = kane.Model("tumbling", gravity=(0, 0, 0))
    model.connect(model.ground, model.body("B", mass=2.0, inertia=inertia), joint("B", kind, sequence))
    return kane.build(kane.formulate(model))


def tumble(kind, sequence, inertia, until, charts=None):
    """A body that is exactly at the singularity of its angles at t = 2 s, to the 1e-11 of the way back from there."""
    singular = np.array([0.4, 0.0 if sequence[0] == sequence[2] else np.pi / 2, 0.0])
    ball = free_body(BALL, sequence, inertia)
    there = quaternion.from_matrix(rotation_matrix(axes(sequence), singular))
    w = (2.0, 2.0, 2.0) if len(set(inertia)) == 1 else (1.0, -1.5, 2.0)
    back = kane.simulate(ball, start=2.0, until=0.0, q=there, u=w, integrator=kane.RK8(rtol=1e-13, atol=1e-13))
    R = kane.Rotation.quaternion(*back.final.q).as_numpy()
    q, u = started(kind, sequence, R, back.final.u)
    dyn = free_body(kind, sequence, inertia)
    return dyn, kane.simulate(dyn, until=until, q=q, u=u, integrator=FINE, charts=charts)


@pytest.mark.parametrize("kind", SPEEDS, ids=repr)
@pytest.mark.parametrize(
    ("sequence", "inertia", "passes"), [("zyx", (1.0, 2.0, 2.5), 1), ("zyx", (1.0,) * 3, 40), ("zxz", (1.0, 2, 2.5), 1)]
)
def test_a_body_tumbles_through_the_singularity_of_its_angles_as_a_quaternion_does(kind, sequence, inertia, passes):
    dyn, run = tumble(kind, sequence, inertia, 40.0, kane.Charts())
    _, ball = tumble(BALL, sequence, inertia, 40.0)
    assert len(run.chart_switches) >= passes
    # Steps err by 1e-11, and there are some thousand of them, in angles that stretch errors up to three times,
    # 1 / sin 0.3; a switch that lost half of the digits would show.
    assert orientations(run, kind, sequence) == pytest.approx(orientations(ball, BALL, sequence), abs=1e-8)
    assert run.energy == pytest.approx(ball.energy, rel=1e-9)
    # Rates of angles beside the singularity are as large as 1e10: nothing follows from them in double precision.
    clear = kane.Gimbal("B", sequence=sequence).distance_to_singularity(run.q) > 1e-3
    momentum = dyn.momentum(run.q, run.u).angular
    assert momentum[clear] == pytest.approx(np.tile(momentum[0], (clear.sum(), 1)), abs=1e-8)
    assert (run.time == ball.time).all()


@pytest.mark.parametrize("kind", SPEEDS, ids=repr)
def test_without_charts_the_run_ends_at_the_singularity(kind):
    with pytest.raises(kane.SimulationError, match="singular where the second is 90 or -90 deg") as failed:
        tumble(kind, "zyx", (1.0, 2.0, 2.5), 40.0)
    assert "from t = 1.99999" in str(failed.value) or "from t = 2" in str(failed.value)
    assert "kane.Charts()" in str(failed.value)


def test_angles_are_those_of_the_run_without_charts_where_that_passes_by():
    dyn = free_body(kane.MeasureNumbers(), "zyx", (1.0, 2.0, 2.5))
    start = {"until": 6.0, "q": [0.2, 0.5, 0.1], "u": [0.3, 3.0, 0.4], "integrator": FINE}
    with_charts, without = kane.simulate(dyn, charts=kane.Charts(), **start), kane.simulate(dyn, **start)
    nearest = kane.Gimbal("B", sequence="zyx").distance_to_singularity(without.q).min()
    assert 1e-3 < nearest < 0.3
    assert len(with_charts.chart_switches) >= 2
    # Errors of 1e-10 are stretched by 1 / nearest.
    assert with_charts.q == pytest.approx(without.q, abs=1e-6)
    assert with_charts.u == pytest.approx(without.u, abs=1e-8)


def pair(kinds, *, change=lambda model, a, b: None):
    """Two bodies with ball joints or gimbals, one on the other, on a cart."""
    model = kane.Model("pair")
    cart = model.body("cart", mass=3.0)
    a = model.body("a", mass=1.0, inertia=(0.1, 0.2, 0.25), com=(0.1, 0.05, 0))
    b = model.body("b", mass=0.7, inertia=(0.1, 0.12, 0.15), com=(0, 0.1, 0.1))
    model.connect(model.ground, cart, kane.Prismatic("x", axis="x"))
    model.connect(cart, a, joint("a", kinds[0], "zyx"), at=(0, 0, 0.3))
    model.connect(a, b, joint("b", kinds[1], "zxz"), child_at=(0, 0, 0.2))
    drive = model.input("drive")
    model.load(kane.Force(a.point((0, 0, 0.1)), (drive, 0, 0)))
    model.load(kane.PointSpring(model.ground.point((0, 0, 1)), b.point((0.1, 0, 0)), stiffness=0.5))
    change(model, a, b)
    return model, a, b


def pair_run(kinds, *, until=4.0, change=lambda model, a, b: None, given=lambda e: e, u=None, x_dot=0.5, **options):
    model, a, b = pair(kinds, change=change)
    turns = [started(kinds[0], "zyx", rotation_matrix(axes("zyx"), np.array([0.3, 0.2, -0.4])), np.array([1.0, 7, 2]))]
    turns += [started(kinds[1], "zxz", rotation_matrix(axes("zxz"), np.array([0.5, 0.9, 0.1])), np.array([-3.0, 2, 1]))]
    q = np.concatenate([[0.0], *(q for q, _ in turns)])
    if u is None:
        u = np.concatenate([[x_dot], *(u for _, u in turns)])
    N = model.ground
    options = {"inputs": {"drive": 0.3 * b.x.dot(N.z)}, "events": [kane.Event(a.z.dot(N.x), name="level")]} | options
    dyn = kane.build(given(kane.formulate(model)))
    return kane.simulate(dyn, until=until, q=q, u=u, integrator=FINE, **options)


def require_same(run, ball, kinds, tolerance):
    """The runs of gimbals and of ball joints are one motion."""
    first = 4 if kinds[0] != BALL else 5
    same = pytest.approx
    assert orientations(run, kinds[0], "zyx", 1) == same(orientations(ball, BALL, "zyx", 1), abs=tolerance)
    assert orientations(run, kinds[1], "zxz", first) == same(orientations(ball, BALL, "zxz", 5), abs=tolerance)
    assert run["x"] == same(ball["x"], abs=tolerance)
    assert run.energy == same(ball.energy, abs=10 * tolerance)
    assert run.inputs == same(ball.inputs, abs=tolerance)
    assert [e.name for e in run.events] == [e.name for e in ball.events]
    assert [e.time for e in run.events] == same([e.time for e in ball.events], abs=tolerance)
    assert [e.q[0] for e in run.events] == same([e.q[0] for e in ball.events], abs=10 * tolerance)


@pytest.fixture(scope="module")
def balls():
    return pair_run((BALL, BALL))


@pytest.mark.parametrize("kinds", [(SPEEDS[0], SPEEDS[1]), (SPEEDS[1], SPEEDS[0]), (SPEEDS[1], BALL)], ids=repr)
def test_two_gimbals_on_a_moving_cart_switch_each_when_it_has_to(kinds, balls):
    run = pair_run(kinds, charts=kane.Charts())
    switched = {(s.joint, s.chart) for s in run.chart_switches}
    assert {("a", "zyz"), ("a", "zyx")} <= switched
    assert ({("b", "zxy"), ("b", "zxz")} <= switched) == (kinds[1] != BALL)
    assert len(balls.events) >= 5
    require_same(run, balls, kinds, 1e-8)


def test_speeds_of_choice_stay_what_they_are(balls):
    def choose(model, a, b):
        w = a.angular_velocity
        own = model.connections
        model.speeds(
            x_dot=own[0].qdot,
            **{f"w{c}": w.dot(getattr(a, c)) for c in "xyz"},
            **{f"r{c}": b.angular_velocity.dot(getattr(b, c)) - w.dot(getattr(b, c)) for c in "xyz"},
        )

    kinds = (SPEEDS[1], SPEEDS[1])
    run = pair_run(kinds, change=choose, u=[0.5, 1.0, 7.0, 2.0, -3.0, 2.0, 1.0], charts=kane.Charts())
    assert len(run.chart_switches) >= 5
    require_same(run, balls, kinds, 1e-8)
    assert run.u == pytest.approx(balls.u, abs=1e-7)


@pytest.mark.parametrize("route", [kane.explicit, lambda e: kane.substitute(e, drive=0.0)], ids=["explicit", "given"])
def test_equations_by_another_route_and_with_numbers_put_in_switch_as_well(route):
    kinds = (SPEEDS[0], SPEEDS[1])
    plain = {"until": 1.5, "inputs": None, "given": route}
    require_same(pair_run(kinds, charts=kane.Charts(), **plain), pair_run((BALL, BALL), **plain), kinds, 1e-8)


def test_constraints_are_kept_from_chart_to_chart():
    def tie(model, a, b):
        model.constrain(a.point((0, 0, 0.1)).velocity.dot(a.x), name="no slip along x")

    kinds = (SPEEDS[0], SPEEDS[1])
    R = rotation_matrix(axes("zyx"), np.array([0.3, 0.2, -0.4]))
    tied = {"change": tie, "until": 3.0, "x_dot": -0.1 * 7.0 / R[0, 0]}  # a.x . v = R_xx x_dot + 0.1 m w_y
    run, ball = pair_run(kinds, charts=kane.Charts(), **tied), pair_run((BALL, BALL), **tied)
    assert len(run.chart_switches) >= 2
    require_same(run, ball, kinds, 1e-8)
    assert float(run.residuals["motion_residual"].max()) < 1e-12

    def tie_and_name(model, a, b):
        tie(model, a, b)
        model.speeds(dependent=["a_wy"])  # 0.1 m a_wy is what the cart's speed along a.x makes it, in any chart

    start = dict(
        zip([*run.to_xarray().coordinate.values, *run.to_xarray().speed.values], [*run.q[0], *run.u[0]], strict=True)
    )
    q = {name: start[name] for name in start if not name.endswith(("_dot", "wx", "wy", "wz"))}
    u = {name: start[name] for name in start if name not in (*q, "a_wy")}
    model, _, b = pair(kinds, change=tie_and_name)
    dyn, drive = kane.build(kane.formulate(model)), {"drive": 0.3 * b.x.dot(model.ground.z)}
    followed = kane.simulate(dyn, until=3.0, q=q, u=u, inputs=drive, integrator=FINE, charts=kane.Charts())
    assert orientations(followed, kinds[0], "zyx", 1) == pytest.approx(orientations(run, kinds[0], "zyx", 1), abs=1e-8)


def loop(kind):
    """Two bars between two points of the ground: a ball joint, and gimbals or ball joints at the ends."""
    model = kane.Model("loop")
    a = model.body("a", mass=1.0, inertia=(0.1, 0.2, 0.25), com=(0.2, 0, 0.05))
    b = model.body("b", mass=1.0, inertia=(0.1, 0.2, 0.25), com=(0.2, 0.03, 0))
    model.connect(model.ground, a, joint("front", kind, "zyz"))
    model.connect(a, b, kane.Spherical("elbow"), at=(0.5, 0, 0))
    model.close(model.ground, b, joint("rear", kind, "zxz"), at=(0.6, 0, 0), child_at=(0.4, 0, 0))
    return kane.build(kane.formulate(model))


def test_loops_closed_by_gimbals_and_embedded_in_numbers_switch_as_well():
    ball, gimbals = loop(BALL), loop(kane.MeasureNumbers())
    assert gimbals.equations.embedding.numerical
    guess = kane.assemble(ball, u={"front_wx": 9.0, "front_wy": 3.0, "elbow_wx": 2.0})
    start = kane.simulate(ball, until=0.15, q=guess.q, u=guess.u, integrator=FINE).final
    one = kane.simulate(ball, until=1.5, q=start.q, u=start.u, integrator=FINE)
    names = [x.name for x in ball.equations.q]
    q = {name: x for name, x in zip(names, start.q, strict=True) if name.startswith("elbow")}
    ends = (("front", "zyz"), ("rear", "zxz"))
    for name, sequence in ends:
        R = orientations(one, BALL, sequence, names.index(f"{name}_qw"))[0]
        angles = angles_along(axes(sequence), R[None], np.zeros(3))[0]
        q |= {f"{name}_{i + 1}": x for i, x in enumerate(angles)}
    run = kane.simulate(gimbals, until=1.5, q=q, u=start.u, integrator=FINE, charts=kane.Charts())
    assert any(s.time > 0.0 for s in run.chart_switches)
    for name, sequence in ends:
        first = [x.name for x in gimbals.equations.q].index(f"{name}_1")
        theirs = orientations(one, BALL, sequence, names.index(f"{name}_qw"))
        assert orientations(run, kane.MeasureNumbers(), sequence, first) == pytest.approx(theirs, abs=1e-8)
    assert run.u == pytest.approx(one.u, abs=1e-7)
    assert float(run.residuals["configuration_residual"].max()) < 1e-12
    assert (np.diff(run.to_xarray()["switches"]) >= 0).all()


def friction(model, a, b):
    """A force that depends on the reaction of a joint that switches."""
    reaction = model.connections[1].reaction_force
    model.load(kane.Force(model.bodies[1].point((0, 0, 0)), (-0.1 * reaction.dot(model.ground.z), 0, 0)))


def damped(model, a, b):
    model.load(kane.Torque(b, (0, model.parameter("c", 0.1) * b.angular_velocity.dot(b.y), 0)))


OPTIONS = {
    "held": {"inputs": {"drive": kane.Held([0, 0.37, 1.1], [1.0, -2.0, 3.0])}},
    "interpolated": {"inputs": {"drive": kane.Interpolated([0, 0.37, 1.1, 2.0], [1.0, -2.0, 3.0, 3.0])}},
    "reaction": {"change": friction},
    "parameter": {"change": damped, "parameters": {"c": -0.3}},
    "substituted": {"change": damped, "given": lambda equations: kane.substitute(equations, c=-0.3)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_whatever_drives_the_system_goes_on_in_the_other_chart(name):
    kinds = (SPEEDS[1], SPEEDS[0])
    run, ball = (
        pair_run(k, charts=c, until=2.0, **OPTIONS[name]) for k, c in ((kinds, kane.Charts()), ((BALL,) * 2, None))
    )
    assert {s.joint for s in run.chart_switches} == {"a", "b"}
    require_same(run, ball, kinds, 1e-8)
