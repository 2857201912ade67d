"""What switches, latches and ``Stepper.impose`` hold: the motion, and the configuration that goes with it, as found.

Who vouches: expressions of coordinates written down by hand; the same mechanism with a permanent constraint.
"""

import numpy as np
import pytest

import kane

G, AT, UNTIL, COARSE = 9.81, 0.5, 8.0, 1e-6
START = {"q": {"q1": 0.3, "q2": -0.5}, "u": {"u1": -0.4, "u2": 2.0}}


def arm(declare):
    """A double pendulum of lengths 0.5 and 0.5, and what ``declare`` adds to it."""
    m = kane.Model("arm", gravity=(0, -G, 0))
    one, two = (m.body(name, mass=k, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0)) for k, name in ((1, "one"), (2, "two")))
    shoulder = m.connect(m.ground, one, kane.Revolute("q1", axis="z"))
    elbow = m.connect(one, two, kane.Revolute("q2", axis="z"), at=(0.5, 0, 0))
    declare(m, shoulder, elbow, two.point((0.5, 0, 0)))
    return kane.build(kane.formulate(m))


def tip(q):
    """Where the end of the arm is."""
    both = q[..., 0] + q[..., 1]
    return 0.5 * np.cos(q[..., 0]) + 0.5 * np.cos(both), 0.5 * np.sin(q[..., 0]) + 0.5 * np.sin(both)


# What is imposed, and what it holds as a function of time and coordinates.
KINDS = {
    "rate": (lambda m, a, b, P: b.qdot, lambda t, q: q[:, 1]),
    "rates": (lambda m, a, b, P: b.qdot + m.parameter("k", 2.0) * a.qdot, lambda t, q: q[:, 1] + 2.0 * q[:, 0]),
    "drive": (lambda m, a, b, P: a.qdot - m.parameter("w", 0.3), lambda t, q: q[:, 0] - 0.3 * t),
    "velocity": (lambda m, a, b, P: P.velocity.dot(m.ground.x), lambda t, q: tip(q)[0]),
    "turning": (lambda m, a, b, P: P.body.angular_velocity.dot(m.ground.z), lambda t, q: q.sum(axis=1)),
    "gear": (lambda m, a, b, P: kane.Gear(a, b, 3.0), lambda t, q: q[:, 0] - 3.0 * q[:, 1]),
    "distance": (lambda m, a, b, P: kane.Distance(P, m.ground.point((0, 2, 0)), 2.0), lambda t, q: far(q)),
    "line": (lambda m, a, b, P: kane.Coincidence(P, m.ground.point(), [m.ground.y]), lambda t, q: tip(q)[1]),
}


def far(q):
    """The distance of the end from a point above, squared over twice the length of the constraint."""
    x, y = tip(q)
    return (x**2 + (y - 2.0) ** 2) / 4.0


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_switch_imposes_keeps_the_configuration_that_it_found(kind):
    imposed, held = KINDS[kind]
    dyn = arm(lambda m, *parts: m.switch(imposed(m, *parts), on=m.time - AT, name="hold"))
    run = kane.simulate(dyn, until=UNTIL, integrator=kane.RK8(rtol=COARSE), **START)
    after = held(run.time, run.q)[run.active("hold")]
    assert np.ptp(after) < 2e-13  # 1e-14 of each step's end, and rounding of sums; 1e-7 and more without projection
    (event,) = run.events
    assert after[-1] == pytest.approx(held(event.time, event.q[None])[0], abs=2e-13)
    assert np.ptp(run.q[run.active("hold")], axis=0).max() > 0.1  # it goes on moving
    assert run.residuals["configuration_residual"].max() < 2e-13


@pytest.mark.parametrize("method", [kane.RK4(), kane.Gauss4(), kane.BDF(rtol=1e-6)], ids=lambda method: method.name)
def test_every_method_keeps_it(method):
    step = {"dt": 0.01} if method.fixed else {}
    imposed, held = KINDS["velocity"]
    dyn = arm(lambda m, *parts: m.switch(imposed(m, *parts), on=m.time - AT, name="hold"))
    run = kane.simulate(dyn, until=3.0, integrator=method, **step, **START)
    assert np.ptp(held(run.time, run.q)[run.active("hold")]) < 2e-13


def test_it_moves_as_under_a_permanent_constraint_from_then_on():
    dyn = arm(lambda m, a, b, P: m.switch(b.qdot, on=m.time - AT, name="hold"))
    run = kane.simulate(dyn, until=UNTIL, **START)
    (event,) = run.events
    fixed = arm(lambda m, a, b, P: m.constrain(kane.Prescribed(b, float(event.q[1]))))
    other = kane.simulate(fixed, until=UNTIL, start=event.time, q=event.q, u=event.u)
    assert run.final.q == pytest.approx(other.final.q, rel=1e-7)
    assert run.final.q[1] == pytest.approx(event.q[1], abs=1e-15)


def test_what_is_imposed_again_keeps_what_it_finds_then():
    dyn = arm(
        lambda m, a, b, P: m.switch(b.qdot, on=kane.sin(3 * m.time) - 0.5, off=-kane.sin(3 * m.time), name="hold")
    )
    run = kane.simulate(dyn, until=3.0, integrator=kane.RK8(rtol=COARSE), **START)
    held = [event.q[1] for event in run.events if event.cause == "imposed"]
    assert len(held) == 2
    assert abs(held[0] - held[1]) > 0.1
    ends = np.flatnonzero(np.diff(run.active("hold").astype(int)) == -1)
    assert [run.q[ends[0], 1], run.q[-1, 1]] == pytest.approx(held, abs=1e-13)


def test_a_latch_keeps_its_gap_and_what_it_holds_besides():
    """Two carts: one runs into the other, and keeps it, and their angles."""
    m = kane.Model("carts")
    a, b = (m.body(name, mass=1.0, inertia=(0.1,) * 3) for name in "ab")
    one = m.connect(m.ground, a, kane.Planar(("x1", "y1", "th1")))
    m.connect(m.ground, b, kane.Planar(("x2", "y2", "th2")))
    turning = [x.angular_velocity.dot(m.ground.z) for x in (a, b)]
    across = [x.point().velocity.dot(m.ground.y) for x in (a, b)]
    apart = b.point().position.dot(m.ground.x) - a.point().position.dot(m.ground.x)
    m.latch(apart - 0.2, holds=[turning[0] - turning[1], across[0] - across[1]], name="latch")
    m.load(kane.Spring(one["y1"], 30.0))
    start = {"q": {"x1": -0.5, "y1": 0.1}, "u": {"x1_dot": 1.0, "th1_dot": 0.7}}
    run = kane.simulate(kane.build(kane.formulate(m)), until=20.0, integrator=kane.RK8(rtol=COARSE), **start)
    q = run.q[run.active("latch")]
    for held in (q[:, 3] - q[:, 0], q[:, 5] - q[:, 2], q[:, 4] - q[:, 1]):
        assert np.ptp(held) < 2e-13
    assert q[-1, 3] - q[-1, 0] == pytest.approx(0.2, abs=1e-13)
    assert np.ptp(q[:, 1]) > 0.05


def test_speeds_of_choice_keep_it_too():
    def declare(m, a, b, P):
        m.speeds(w1=a.qdot + b.qdot, w2=b.qdot)
        m.switch(P.velocity.dot(m.ground.x), on=m.time - AT, name="hold")

    run = kane.simulate(arm(declare), until=3.0, integrator=kane.RK8(rtol=COARSE), q=START["q"], u={"w1": 1.0})
    assert np.ptp(tip(run.q)[0][run.active("hold")]) < 2e-13


def test_what_is_imposed_on_line_keeps_it_while_others_come_and_go():
    stepper = kane.Stepper(arm(lambda m, a, b, P: None), integrator=kane.RK8(rtol=COARSE), **START)
    elbow = stepper.equations.model.connections[1]
    stepper.step(0.3)
    stepper.impose(elbow.qdot, name="hold").wait()
    (event,) = stepper.step(0.3)
    shoulder = stepper.equations.model.connections[0]
    stepper.impose(shoulder.qdot, name="stop").wait()
    stepper.step(0.3)
    stepper.delete("stop").wait()
    for _ in range(50):
        stepper.step(0.1)
    assert stepper.q[1] == pytest.approx(event.q[1], abs=1e-14)
    assert abs(stepper.u[0]) > 0.1


def test_what_has_no_integral_holds_the_motion_alone():
    """A blade, and a turning rate in space: neither is the time derivative of a function of the coordinates."""
    m = kane.Model("sleigh")
    blade = m.body("blade", mass=1.0, inertia=(0.1,) * 3)
    m.connect(m.ground, blade, kane.Planar(("x", "y", "th")))
    m.switch(kane.NoSkid(blade.point((0.1, 0, 0)), blade.y), on=m.time - AT, name="edge")
    m.switch(blade.point().velocity.dot(m.ground.x), on=m.time - AT, name="rail")
    eqs = kane.formulate(m)
    assert [row.name for row in eqs.with_intermittent_rows.held] == ["rail: rate"]
    run = kane.simulate(kane.build(eqs), until=2.0, u={"x_dot": 0.5, "th_dot": 1.0})
    assert (
        np.abs(np.cos(run["th"]) * run["y_dot"] - np.sin(run["th"]) * run["x_dot"] + 0.1 * run["th_dot"])[
            run.active("edge")
        ].max()
        < 1e-12
    )
    s = kane.Model("top")
    top = s.body("top", mass=1.0, inertia=(0.1, 0.2, 0.3))
    s.connect(s.ground, top, kane.Free("top"))
    s.switch(top.angular_velocity.dot(top.x), on=s.time - AT, name="bearing")
    s.switch(top.point((0.1, 0, 0)).velocity.dot(s.ground.x), on=s.time - AT, name="rail")
    assert [row.name for row in kane.formulate(s).with_intermittent_rows.held] == ["rail: rate"]


def test_speeds_are_zero_where_everything_rests():
    m = kane.Model("block", gravity=(3.0, -G, 0))
    block = m.body("block", mass=2, inertia=(0.02,) * 3)
    m.connect(m.ground, block, kane.Planar(("x", "y", "th")))
    floor, rough = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(0.5, 0.4)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(block.point((x, -0.1, 0)), floor, restitution=0.3, friction=rough, name=side)
    run = kane.simulate(kane.build(kane.formulate(m)), until=3.0, q={"y": 0.3, "th": 0.3}, u={"x_dot": 1.0})
    assert run.modes[-1] == "left held, right held"
    assert (run.u[-1] == 0.0).all()


def test_a_mode_taken_by_itself_restricts_no_more_than_its_constraints():
    """Sensitivities take the equations of a mode as those of a model: nothing there is held as it was found."""
    dyn = arm(lambda m, a, b, P: m.switch(P.velocity.dot(m.ground.x), on=m.time - AT, name="hold"))
    eqs = dyn.equations.with_intermittent_rows
    assert len(eqs.held) == 1
    whole = kane.build(eqs)
    assert whole.function("configuration").n_out == 0
    q, u = np.array([0.3, -0.5]), np.array([-0.4, 2.0])
    assert (whole.project(np.array([0.0, *q, *u]), [], whole.project.stage(whole.parameters))[:2] == q).all()


class Several:
    """A body on a joint with several speeds, whose last speed somebody holds from AT on."""

    JOINTS = {
        "Planar": lambda: kane.Planar(("x", "y", "th")),
        "Cylindrical": lambda: kane.Cylindrical("nut", "x"),
        "Universal": lambda: kane.Universal(("a", "b")),
        "Gimbal": lambda: kane.Gimbal("ring", "zyx"),
        "Gimbal of measure numbers": lambda: kane.Gimbal("ring", "zyx", speeds=kane.MeasureNumbers()),
        "Spherical": lambda: kane.Spherical("ball"),
        "Free": lambda: kane.Free("free"),
        "CustomJoint": lambda: kane.CustomJoint(
            ("turn", "lift"), lambda a, b: kane.Rotation.about("y", a), lambda a, b: (0.1 * a, 0, b), ("rad", "m")
        ),
    }
    COORDINATES = ("Planar", "Cylindrical", "Universal", "Gimbal", "CustomJoint")  # whose last speed is a rate

    def __init__(self, kind, declare=lambda m, c: None, gap=None):
        m = kane.Model("several", gravity=(0.3, -1.0, -0.4))
        b = m.body("b", mass=1.3, inertia=(0.2, 0.3, 0.25), com=(0.1, 0.2, -0.1))
        self.joint = m.connect(m.ground, b, self.JOINTS[kind]())
        declare(m, self.joint)
        self.dyn = kane.build(kane.formulate(m))
        self.start = {"u": np.linspace(0.3, 0.7, len(self.joint.speeds))}


@pytest.mark.parametrize("kind", Several.JOINTS)
@pytest.mark.parametrize("how", ["switch", "latch"])
def test_any_speed_of_a_joint_with_several_can_be_held_at_times(kind, how):
    def declare(m, c):
        if how == "switch":
            m.switch(2.0 * c.speeds[-1], on=m.time - AT, name="hold")
        else:
            slider = m.body("slider", mass=1.0)
            q = m.connect(m.ground, slider, kane.Prismatic("s", axis="x"), at=(0, 0, 9)).q
            m.latch(1.0 - q, holds=[c.speeds[-1], c.speeds[0]], name="hold")

    made = Several(kind, declare)
    u = made.start["u"] if how == "switch" else [*made.start["u"], 2.0]
    run = kane.simulate(made.dyn, until=1.5, u=u)
    (event,) = [e for e in run.events if e.name == "hold"]
    last = made.dyn.equations.u.index(next(x for x in made.dyn.equations.u if x.data == made.joint.speed_names[-1]))
    held = run.active("hold")
    assert 0.3 < event.time < 0.7
    assert abs(run.u[~held, last]).min() > 1e-3
    assert abs(run.u[held, last]).max() < 1e-14
    if kind in Several.COORDINATES:
        assert np.ptp(run[made.joint.coordinate_names[-1]][held]) < 2e-14


@pytest.mark.parametrize("kind", Several.JOINTS)
def test_what_holds_a_speed_from_the_start_moves_as_under_a_permanent_constraint(kind):
    permanent = Several(kind, lambda m, c: m.constrain(c.speeds[-1]))
    start = {"u": permanent.start["u"] * ([1.0] * (len(permanent.joint.speeds) - 1) + [0.0])}
    wanted = kane.simulate(permanent.dyn, until=1.0, integrator=kane.RK8(), **start).final
    switched = Several(kind, lambda m, c: m.switch(c.speeds[-1], on=m.time + 1.0, name="hold"))
    found = kane.simulate(switched.dyn, until=1.0, integrator=kane.RK8(), **start).final
    assert found.q == pytest.approx(wanted.q, rel=1e-7, abs=1e-9)
    assert found.u == pytest.approx(wanted.u, rel=1e-7, abs=1e-9)


def test_a_speed_times_a_parameter_is_held_on_line_too():
    """Planar: L th' - x' = 0, of which L th - x is the integral."""
    lengths = []
    made = Several("Planar", lambda m, c: lengths.append(m.parameter("L", 0.4)))
    stepper = kane.Stepper(made.dyn, integrator=kane.RK8(rtol=COARSE), **made.start)
    stepper.step(AT)
    joint = stepper.equations.model.connections[0]
    stepper.impose(lengths[0] * joint.speeds[2] - joint.speeds[0], name="belt").wait()
    stepper.step(0.1)
    found = 0.4 * stepper.q[2] - stepper.q[0]
    for _ in range(20):
        stepper.step(0.1)
    assert 0.4 * stepper.q[2] - stepper.q[0] == pytest.approx(found, abs=1e-13)
    assert abs(stepper.u[0]) > 0.1
