"""Gimbals that change their angles in runs with contacts and stops, against ball joints (quaternions), which are
singular nowhere: times, impulses, statuses, forces and energies of one motion.
"""

from functools import cache

import numpy as np
import pytest

import kane
from kane.geometry import quaternion
from kane.model.joints.gimbal.angles import angles_along, angular_velocity_matrix, rotation_matrix

AXES = {"x": 0, "y": 1, "z": 2}
FINE = kane.RK8(rtol=1e-12, atol=1e-12)
BALL = "ball"
SPEEDS = [kane.MeasureNumbers(), kane.AngleRates()]


def thrown(kind, sequence="zyx", change=lambda m, body: None):
    """A body with a round nose, not in its centre of mass, over a rough floor; it also carries a slide with stops."""
    m = kane.Model("thrown", gravity=(0, 0, -9.81))
    N = m.ground
    carriers = [m.body(name, mass=0.2) for name in ("bx", "by", "bz")]
    body = m.body("body", mass=1.0, inertia=(0.01, 0.012, 0.006))
    for parent, child, axis in zip([N, *carriers], carriers, "xyz", strict=False):
        m.connect(parent, child, kane.Prismatic(axis, axis=axis))
    joint = kane.Spherical("o") if kind == BALL else kane.Gimbal("o", sequence=sequence, speeds=kind)
    m.connect(carriers[-1], body, joint)
    slide = m.connect(body, m.body("bead", mass=0.1), kane.Prismatic("s", axis=(0.6, 0, 0.8)))
    nose = kane.Sphere(body.point((0.02, 0.01, 0.03)), 0.1)
    m.contact(nose, kane.Plane(N.point(), N.z), restitution=0.6, friction=kane.Coulomb(0.35, 0.25), name="floor")
    m.stop(slide, lower=-0.05, upper=0.05, restitution=0.3, name="end")
    push, turn = m.input("push"), m.input("turn")
    m.load(kane.Force(body.point(), (push, 0, 0)))
    m.load(kane.Torque(body, (0, 0, turn)))
    change(m, body)
    return m


def started(kind, sequence, R, w):
    if kind == BALL:
        return quaternion.from_matrix(R), w
    q = angles_along([AXES[x] for x in sequence], R[None], np.zeros(3))[0]
    W = angular_velocity_matrix([AXES[x] for x in sequence], q)
    return q, (w if kind == kane.MeasureNumbers() else np.linalg.solve(W, w))


def start(kind, sequence="zyx"):
    R = rotation_matrix((2, 1, 0), np.array([0.3, 0.2, -0.4]))
    turn, w = started(kind, sequence, R, np.array([2.0, 9.0, 1.0]))
    q, u = np.concatenate([[0, 0, 0.5], turn, [0.01]]), np.concatenate([[0.3, 0.2, 0.0], w, [0.0]])
    return {"q": q, "u": u, "charts": None if kind == BALL else kane.Charts()}


@cache
def built(kind, sequence="zyx", change=lambda m, body: None):
    return kane.build(kane.formulate(thrown(kind, sequence, change)))


def thrown_run(kind, sequence="zyx", *, until=1.5, integrator=FINE, **options):
    dyn = built(kind, sequence)
    return kane.simulate(dyn, until=until, integrator=integrator, **start(kind, sequence), **options)


def require_same_events(found, wanted, tolerance):
    """Of two runs, as each has them in its own coordinates."""
    assert [(e.name, e.cause) for e in found] == [(e.name, e.cause) for e in wanted]
    assert [e.time for e in found] == pytest.approx([e.time for e in wanted], abs=tolerance)
    for e, f in zip(found, wanted, strict=True):
        assert e.impulse == pytest.approx(f.impulse, abs=tolerance)
        assert e.energy_lost == pytest.approx(f.energy_lost, abs=tolerance)
        assert e.q[:3] == pytest.approx(f.q[:3], abs=tolerance)


def orientations(run, kind, sequence):
    if kind == BALL:
        return np.array([kane.Rotation.quaternion(*q[3:7]).as_numpy() for q in run.q])
    return rotation_matrix([AXES[x] for x in sequence], run.q[:, 3:6])


@pytest.fixture(scope="module")
def ball():
    return thrown_run(BALL)


@pytest.mark.parametrize(("kind", "sequence"), [(SPEEDS[0], "zyx"), (SPEEDS[1], "zyx"), (SPEEDS[0], "zxz")], ids=repr)
def test_a_body_bounces_slides_and_sticks_in_changing_angles_as_it_does_by_a_quaternion(kind, sequence, ball):
    run = thrown_run(kind, sequence)
    assert len(run.chart_switches) >= (1 if sequence == "zxz" else 2)
    assert {"bounces", "imposed", "deleted", "sticks"} <= {e.cause for e in ball.events}
    # Both err by some 1e-12 a step; bounces that become ever lower, whose times are those of least speed, by 1e-10.
    require_same_events(run.events, ball.events, 1e-9)
    assert run.energy == pytest.approx(ball.energy, abs=1e-9)
    assert orientations(run, kind, sequence) == pytest.approx(orientations(ball, BALL, ""), abs=1e-9)
    for name in ("floor", "end: upper"):
        assert (run.active(name) == ball.active(name)).all()
        assert run.reactions[name] == pytest.approx(ball.reactions[name], abs=1e-6)
    assert {*run.modes} == {*ball.modes}


@pytest.mark.parametrize(
    ("integrator", "dt", "tolerance"),
    [
        (kane.RK5(rtol=1e-10, atol=1e-10), None, 1e-9),
        (kane.BDF(rtol=1e-9, atol=1e-9), None, 1e-6),
        (kane.RK4(), 1e-3, 1e-8),
        (kane.Midpoint(), 1e-3, 1e-4),
        (kane.Gauss4(), 1e-3, 1e-8),
    ],
    ids=repr,
)
def test_every_integrator_changes_charts_and_contacts_in_one_run(integrator, dt, tolerance, ball):
    run = thrown_run(SPEEDS[0], until=0.78, integrator=integrator, dt=dt)
    assert [s.chart for s in run.chart_switches] == ["zyz", "zyx"]
    require_same_events(run.events, [e for e in ball.events if e.time < 0.78], tolerance)


def rolling(kind, friction, w):
    """A ball of 2/5 m r^2 on a slope, of which it rolls down, started with an angular velocity."""
    m = kane.Model("rolling", gravity=(9.81 * np.sin(0.2), 0, -9.81 * np.cos(0.2)))
    N = m.ground
    carriers = [m.body(name, mass=0.0) for name in ("bx", "by", "bz")]
    body = m.body("ball", mass=1.0, inertia=(0.004,) * 3)
    for parent, child, axis in zip([N, *carriers], carriers, "xyz", strict=False):
        m.connect(parent, child, kane.Prismatic(axis, axis=axis))
    m.connect(
        carriers[-1], body, kane.Spherical("o") if kind == BALL else kane.Gimbal("o", sequence="zyx", speeds=kind)
    )
    m.contact(kane.Sphere(body.point(), 0.1), kane.Plane(N.point(), N.z), friction=kane.Coulomb(friction), name="slope")
    turn, w = started(kind, "zyx", rotation_matrix((2, 1, 0), np.array([0.1, 0.0, 0.05])), np.array(w))
    q, u = np.concatenate([[0, 0, 0.1], turn]), np.concatenate([[0, 0, 0], w])
    charts = None if kind == BALL else kane.Charts()
    dyn = kane.build(kane.formulate(m))
    return kane.simulate(dyn, until=2.0, q=q, u=u, charts=charts, integrator=kane.RK8(rtol=1e-11, atol=1e-11))


@pytest.mark.parametrize("kind", SPEEDS, ids=repr)
def test_a_ball_that_rolls_keeps_rolling_while_its_angles_change(kind):
    run = rolling(kind, 0.5, (0.0, 0.0, 0.0))
    # x = 5/14 g t^2 sin(slope), and it turns by 28 rad about y, beside the singularity of zyx twice in each turn.
    assert run["x"] == pytest.approx(5 / 14 * 9.81 * np.sin(0.2) * run.time**2, abs=1e-8)
    assert len(run.chart_switches) >= 16
    assert run.active("slope")[1:].all()
    assert [e.cause for e in run.events] == ["imposed"]
    friction = 2 / 7 * 9.81 * np.sin(0.2)
    assert np.hypot(*run.reactions["slope"][1:, 1:].T) == pytest.approx(friction, abs=1e-8)


def test_a_ball_that_slides_keeps_its_direction_of_slip_while_its_angles_change():
    run, ball = (rolling(kind, 0.04, (12.0, 30.0, 3.0)) for kind in (SPEEDS[0], BALL))
    assert len(run.chart_switches) > 2
    assert run.active("slope")[1:].all()
    require_same_events(run.events, ball.events, 1e-9)
    assert run.q[:, :3] == pytest.approx(ball.q[:, :3], abs=1e-8)
    assert run.reactions["slope"] == pytest.approx(ball.reactions["slope"], abs=1e-8)


def sampled(kind):
    """A run whose inputs are given at ticks: by a law in Python, which sees positions, and by measures of the body."""
    dyn = built(kind)
    N, b = dyn.equations.model.ground, dyn.equations.model.bodies[4]
    inputs = {
        "push": kane.Sampled(lambda t, q, u: 2.0 * q[2] - 0.3 * u[0] + 0.1 * t, period=0.02),
        "turn": kane.Sampled(-0.05 * b.x.dot(N.y) - 0.02 * b.angular_velocity.dot(b.z), period=0.01, delay=0.004),
    }
    return kane.simulate(dyn, until=0.8, integrator=FINE, inputs=inputs, **start(kind))


def test_sampled_laws_act_in_changing_angles_on_what_touches():
    run, ball = sampled(SPEEDS[0]), sampled(BALL)
    assert len(run.chart_switches) >= 2
    assert len(ball.events) >= 5
    require_same_events(run.events, ball.events, 1e-9)
    assert run.inputs == pytest.approx(ball.inputs, abs=1e-9)
    assert np.ptp(run.inputs, axis=0).min() > 1e-2


def test_a_sampled_law_in_python_sees_the_angles_that_were_declared():
    seen = []
    law = kane.Sampled(lambda t, q, u: seen.append((t, *q[3:6])) or 0.0, period=0.05)
    run = kane.simulate(
        built(SPEEDS[0]), until=0.8, inputs={"turn": law}, times=np.arange(16) * 0.05, **start(SPEEDS[0])
    )
    assert len(run.chart_switches) == 2
    assert np.array(seen)[:, 1:] == pytest.approx(run.q[: len(seen), 3:6], abs=1e-12)


def test_a_stepper_tells_what_simulate_does_in_the_angles_that_were_declared(ball):
    dyn = built(SPEEDS[0])
    run = kane.simulate(dyn, until=0.8, integrator=FINE, **start(SPEEDS[0]))
    stepper = kane.Stepper(dyn, integrator=FINE, **start(SPEEDS[0]))
    events = [event for _ in range(16) for event in stepper.step(0.05)]
    require_same_events(events, run.events, 1e-10)
    for e, f in zip(events, run.events, strict=True):
        assert (e.q, e.u) == (pytest.approx(f.q, abs=1e-9), pytest.approx(f.u, abs=1e-8))
    assert stepper.q == pytest.approx(run.final.q, abs=1e-9)
    assert stepper.mode == "free"


def hooked(m, body):
    """From 0.1 s to 0.75 s a hook holds a point of the body where it is found, along two directions."""
    N, point = m.ground, body.point((0.0, 0.05, 0.1))
    held = [point.velocity.dot(N.x), point.velocity.dot(N.y)]
    m.switch(held, on=m.time - 0.1, off=m.time - 0.75, name="hook")


def test_what_is_held_as_it_was_found_stays_where_it_is_while_angles_change():
    runs = [
        kane.simulate(built(kind, change=hooked), until=0.8, integrator=FINE, **start(kind))
        for kind in (SPEEDS[1], BALL)
    ]
    run, ball = runs
    assert any(0.1 < s.time < 0.75 for s in run.chart_switches)
    require_same_events(run.events, ball.events, 1e-9)
    held = (run.time > 0.1) & (run.time < 0.75)
    turned, point = orientations(run, SPEEDS[1], "zyx")[held], np.array([0.0, 0.05, 0.1])
    places = (run.q[held, :3] + turned @ point)[:, :2]
    assert np.ptp(places, axis=0) == pytest.approx(0.0, abs=1e-10)


def test_modes_that_are_compiled_go_on_in_numbers_in_other_angles(ball):
    fast = kane.compile_modes(built(SPEEDS[0]), ["free", "floor sliding"])
    run = kane.simulate(fast, until=1.0, integrator=FINE, **start(SPEEDS[0]))
    require_same_events(run.events, [e for e in ball.events if e.time < 1.0], 1e-9)


def test_a_row_of_other_charts_is_used_again():
    dyn = built(SPEEDS[0])
    stepper = kane.Stepper(dyn, **start(SPEEDS[0]))
    for _ in range(40):
        stepper.step(0.05)
    assert len(stepper._integration.system.automaton.table) == 2


def test_derivatives_through_both_are_refused():
    run = thrown_run(SPEEDS[0], until=0.3)
    assert len(run.chart_switches) == 1
    with pytest.raises(kane.ModelError, match="in charts with intermittent constraints"):
        kane.sensitivities(run, wrt=["x_dot"])


def test_what_refers_to_angles_that_change_is_refused_by_its_name():
    def of_angle(m, body):
        m.switch(m.connections[3].qdot[1], on=m.time - 1, name="brake")

    with pytest.raises(kane.ModelError, match=r"'brake' refers to 'o_.*', while charts of the gimbal 'o' are switched"):
        kane.simulate(built(SPEEDS[0], change=of_angle), until=0.1, **start(SPEEDS[0]))


def test_contacts_that_are_never_met_change_nothing_in_a_run_that_changes_its_charts():
    """Beside the same run without contacts."""

    def body(with_floor):
        m = kane.Model("turning", gravity=(0, 0, 0))
        link = m.body("body", mass=1.0, inertia=(0.01, 0.012, 0.006))
        m.connect(m.ground, link, kane.Gimbal("o", sequence="zyx"))
        if with_floor:
            m.contact(link.point((0.1, 0, 0)), kane.Plane(m.ground.point((0, 0, -1)), m.ground.z), name="floor")
        return kane.build(kane.formulate(m))

    options = {"until": 0.4, "u": [0.5, 9.0, 1.0], "charts": kane.Charts(), "integrator": kane.RK5(1e-6, 1e-8)}
    found, wanted = (kane.simulate(body(with_floor), **options) for with_floor in (True, False))
    assert [(s.joint, s.chart) for s in found.chart_switches] == [(s.joint, s.chart) for s in wanted.chart_switches]
    assert len(wanted.chart_switches) > 0
    assert found.u[-1] == pytest.approx(wanted.u[-1], abs=1e-9)
