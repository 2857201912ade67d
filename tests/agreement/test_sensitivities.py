"""Derivatives of motions, vouched for by closed forms and by differences of simulations of their own; forwards and
backwards vouch for each other.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import kane
from kane.errors import ModelError


def oscillator():
    """m x'' + c x' + k x = F."""
    model = kane.Model("oscillator")
    k, c, mass = model.parameter("k", 30.0), model.parameter("c", 0.0), model.parameter("m", 2.0)
    A = model.body("A", mass=mass, inertia=(1, 1, 1))
    joint = model.connect(model.ground, A, kane.Prismatic("x", axis="x"))
    model.load(kane.Spring(joint, k))
    model.load(kane.Damper(joint, c))
    model.load(kane.Motor(joint, model.input("F")))
    return model, joint


@pytest.fixture(scope="module")
def swinging():
    dyn = kane.build(kane.formulate(oscillator()[0]))
    return dyn, kane.simulate(dyn, until=2.0, q=[0.4], u=[0.3], inputs=[0.0], times=np.linspace(0.0, 2.0, 41))


def test_an_oscillator_has_the_derivatives_of_its_closed_form(swinging):
    """x = x0 cos(w t) + v0 / w sin(w t), w^2 = k / m, and F / k (1 - cos(w t)) more under a force."""
    _, run = swinging
    s = kane.sensitivities(run, wrt=["k", "x", "x_dot", "F", "m"])
    k, m, x0, v0, t = 30.0, 2.0, 0.4, 0.3, run.time
    w = math.sqrt(k / m)
    by_w = -x0 * t * np.sin(w * t) + v0 * (t * np.cos(w * t) / w - np.sin(w * t) / w**2)
    expected = {
        "k": by_w * w / (2 * k),
        "m": -by_w * w / (2 * m),
        "x": np.cos(w * t),
        "x_dot": np.sin(w * t) / w,
        "F": (1 - np.cos(w * t)) / k,
    }
    for name, course in expected.items():
        np.testing.assert_allclose(s[name][:, 0], course, rtol=0, atol=1e-8, err_msg=name)  # RK8's tolerance is 1e-9
    np.testing.assert_allclose(s.run[:, 0], run.q[:, 0], atol=1e-9)
    assert s.final["k"][0] == s["k"][-1, 0]


def test_the_gradient_of_a_cost_follows_by_the_chain_rule(swinging):
    dyn, run = swinging
    x, v = dyn.equations.q[0], dyn.equations.u[0]
    k = dyn.equations.parameters[0]
    s = kane.sensitivities(run, wrt=["k", "x"])
    found = s.gradient(k * x * x / 2 + v * v)
    X, V = run.q[-1, 0], run.u[-1, 0]
    by_k = X**2 / 2 + 30.0 * X * s.final["k"][0] + 2 * V * s.final["k"][1]
    assert found["k"] == pytest.approx(by_k, abs=1e-7)
    assert found["x"] == pytest.approx(30.0 * X * s.final["x"][0] + 2 * V * s.final["x"][1], abs=1e-7)


def test_a_spinning_body_has_the_derivatives_of_differences():
    """Over steps of 1e-5 in runs to 1e-12: quaternions stay on their sphere, and so do derivatives on its tangents."""
    m = kane.Model("body")
    B = m.body("B", mass=1.0, inertia=(1.0, m.parameter("I2", 1.6), 2.0))
    m.connect(m.ground, B, kane.Spherical("s"))
    dyn, fine = kane.build(kane.formulate(m)), kane.RK8(rtol=1e-12, atol=1e-12)
    u = np.array([0.4, 2.0, 0.1])

    def end(value, speeds):
        run = kane.simulate(dyn, until=3.0, u=speeds, parameters={"I2": value}, integrator=fine)
        return np.concatenate([run.q[-1], run.u[-1]])

    run = kane.simulate(dyn, until=3.0, u=u, integrator=fine)
    s = kane.sensitivities(run, wrt=["I2", "s_wy"], integrator=fine)
    h, step = 1e-5, np.array([0.0, 1e-5, 0.0])
    np.testing.assert_allclose(s.final["I2"], (end(1.6 + h, u) - end(1.6 - h, u)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(s.final["s_wy"], (end(1.6, u + step) - end(1.6, u - step)) / (2 * h), atol=1e-7)
    assert abs(run.q[-1] @ s.final["I2"][:4]) < 1e-9


def test_laws_of_feedback_are_derived_with_the_motion():
    """F = -g x adds g to the stiffness."""
    model, joint = oscillator()
    g = model.parameter("g", 10.0)
    dyn = kane.build(kane.formulate(model))
    law = -g * joint.q
    run = kane.simulate(dyn, until=1.0, q=[0.4], inputs={"F": law})
    s = kane.sensitivities(run, wrt=["g", "k"], inputs={"F": law})
    np.testing.assert_allclose(s.final["g"], s.final["k"], atol=1e-8)
    with pytest.raises(ModelError, match="the inputs of this run vary"):
        kane.sensitivities(run, wrt=["g"])


def test_what_has_no_derivative_is_named(swinging):
    dyn, run = swinging
    with pytest.raises(ModelError, match="no parameter, coordinate, speed or input 'K'"):
        kane.sensitivities(run, wrt=["K"])
    with pytest.raises(ModelError, match="functions of Python"):
        kane.sensitivities(run, wrt=["k"], inputs=lambda t, q, u: [0.0])
    with pytest.raises(ModelError, match="sensitivities are those of a trajectory"):
        kane.sensitivities(dyn, wrt=["k"])
    with pytest.raises(ModelError, match="there is no derivative by 'm'"):
        kane.sensitivities(run, wrt=["k"])["m"]
    bar = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(bar)
    moved = kane.simulate(bar, until=0.1, q=start.q, u=start.u, inputs=[0.0])
    (free,) = bar.independent(start.q)
    dependent = next(name for name in ("u1", "u2", "u3") if name != free)
    with pytest.raises(ModelError, match=f"'{dependent}' is a dependent speed where .* follows from {free}; vary one"):
        kane.sensitivities(moved, wrt=[dependent])
    with pytest.raises(ModelError, match="give an explicit one that chooses its steps"):
        kane.sensitivities(moved, wrt=["q1"], integrator=kane.RK4())
    m = kane.Model("ball")
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Spherical("s"))
    ball = kane.simulate(kane.build(kane.formulate(m)), until=0.1)
    with pytest.raises(ModelError, match="part of a quaternion"):
        kane.sensitivities(ball, wrt=["s_qw"])


FINE = kane.RK8(rtol=1e-12, atol=1e-12)
# Differences over 2e-6 of runs to 1e-12: their error is some 1e-6 of the derivative's size of 1 to 10, and less.
STEP, DIFFERENCES = 1e-6, 2e-6


def differences(end, moved):
    return (end(moved) - end(-moved)) / (2 * STEP)


def of_end(run):
    return np.concatenate([run.q[-1], run.u[-1]])


def assert_directions_agree(s, cost):
    """By the transposed steps; sums of the same products in another order: 1e3 roundings."""
    ahead, back = s.gradient(cost), s.adjoint(cost)
    assert set(back) == set(ahead)
    size = max(1.0, *map(abs, ahead.values()))
    for name, value in ahead.items():
        assert back[name] == pytest.approx(value, abs=1e-12 * size)


def test_forwards_and_backwards_are_one(swinging):
    dyn, run = swinging
    x, v, k = dyn.equations.q[0], dyn.equations.u[0], dyn.equations.parameters[0]
    assert_directions_agree(kane.sensitivities(run, wrt=["k", "x", "x_dot", "F", "m"]), k * x * x / 2 + x * v)
    back = kane.sensitivities(run, wrt=["k"]).adjoint(x)
    with pytest.raises(KeyError, match="no derivative by 'm'"):
        back["m"]
    with pytest.raises(ModelError, match="has no samples"):
        back.samples("F")


def test_fixed_steps_have_the_derivatives_of_their_own_map():
    """x+ = P(h A) x with the polynomial of RK4, coarse enough to tell it from the exponential of A."""
    dyn = kane.build(kane.formulate(oscillator()[0]))
    run = kane.simulate(dyn, until=2.0, dt=0.1, q=[0.4], u=[0.3])
    s = kane.sensitivities(run, wrt=["x", "x_dot"])
    z = 0.1 * np.array([[0.0, 1.0], [-15.0, 0.0]])
    step = sum(np.linalg.matrix_power(z, k) / math.factorial(k) for k in range(5))
    found = np.column_stack([s.final["x"], s.final["x_dot"]])
    np.testing.assert_allclose(found, np.linalg.matrix_power(step, 20), rtol=0, atol=1e-12)


@pytest.fixture(scope="module", params=["numbers", "graph"])
def bar(request):
    free = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(free, q={"q1": 0.4}, u={"u1": 1.0}, fixed=["q1", "u1"])
    if request.param == "numbers":
        return free, start, free.independent(start.q)[0]
    return kane.build(kane.formulate(kane.library.four_bar(), near=start)), start, "u1"


def test_a_closed_loop_has_the_derivatives_of_whole_runs(bar):
    """The other coordinates follow q1 along the loop; the speed that is independent is held."""
    dyn, start, kept = bar
    place = [leaf.name for leaf in dyn.equations.u].index(kept)

    def end(moved=0.0, mu=0.0, torque=0.3):
        near = dict(zip(("q1", "q2", "q3"), start.q, strict=True)) | {"q1": 0.4 + moved}
        at = kane.assemble(dyn, q=near, u={kept: start.u[place]}, fixed=["q1", kept])
        values = {"mu": dyn.equations.defaults["mu"] + mu} if mu else None
        return kane.simulate(dyn, until=0.8, q=at.q, u=at.u, inputs=[torque], parameters=values, integrator=FINE)

    run = end()
    s = kane.sensitivities(run, wrt=["q1", "mu", "T"])
    np.testing.assert_allclose(s.final["q1"], differences(lambda h: of_end(end(h)), STEP), atol=DIFFERENCES)
    np.testing.assert_allclose(s.final["mu"], differences(lambda h: of_end(end(mu=h)), STEP), atol=DIFFERENCES)
    np.testing.assert_allclose(s.final["T"], differences(lambda h: of_end(end(torque=0.3 + h)), STEP), atol=DIFFERENCES)
    q, u = dyn.equations.q, dyn.equations.u
    assert_directions_agree(s, q[1] * u[0] + u[2] * u[2])


def test_the_length_of_a_rod_moves_the_loop_that_it_closes():
    """By the least displacements: what puts the old coordinates onto the new loop is what ``settle`` does."""
    dyn = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(dyn, q={"q1": 0.4}, u={"u1": 1.0}, fixed=["q1", "u1"])
    names = [p.name for p in dyn.equations.parameters]
    values = np.array([dyn.equations.defaults[name] for name in names])

    def end(moved):
        given = values + moved * (np.array(names) == "b")
        x = np.concatenate([[0.0], start.q, start.u])
        put = dyn.project(x, np.zeros(1), dyn.project.stage(given))[:6]
        run = kane.simulate(dyn, until=0.5, q=put[:3], u=put[3:], inputs=[0.3], parameters=given, integrator=FINE)
        return of_end(run)

    run = kane.simulate(dyn, until=0.5, q=start.q, u=start.u, inputs=[0.3], integrator=FINE)
    s = kane.sensitivities(run, wrt=["b"])
    np.testing.assert_allclose(s.final["b"], differences(end, STEP), atol=10 * DIFFERENCES)
    assert_directions_agree(s, dyn.equations.u[2])


def test_a_profile_of_an_input_has_the_derivatives_of_its_samples(bar):
    dyn, start, _ = bar
    times, values = np.linspace(0.0, 0.8, 6), np.array([0.3, 1.0, -0.5, 0.2, 0.8, 0.1])

    def run_with(values):
        profile = {"T": kane.Interpolated(times, values)}
        return kane.simulate(dyn, until=0.8, q=start.q, u=start.u, inputs=profile, integrator=FINE)

    cost = dyn.equations.q[1] * dyn.equations.u[0]
    s = kane.sensitivities(run_with(values), wrt=["q1"], inputs={"T": kane.Interpolated(times, values)})
    found = s.adjoint(cost)
    expected = []
    for unit in np.eye(6):
        ends = [run_with(values + sign * STEP * unit).final for sign in (1, -1)]
        expected.append((ends[0].q[1] * ends[0].u[0] - ends[1].q[1] * ends[1].u[0]) / (2 * STEP))
    np.testing.assert_allclose(found.samples("T"), expected, atol=DIFFERENCES)
    assert found.inputs.by.shape == (len(found.inputs.times), 1)
    assert found.inputs.by.sum() == pytest.approx(found.samples("T").sum(), abs=1e-12)


def bouncing(**start):
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    e = m.parameter("e", 0.8)
    B = m.body("B", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, B, kane.Prismatic("y", axis="y"))
    m.contact(kane.Sphere(B.point(), 0.1), kane.Plane(m.ground.point(), m.ground.y), restitution=e)
    dyn = kane.build(kane.formulate(m))
    return dyn, kane.simulate(dyn, integrator=FINE, **start)


def test_a_bouncing_ball_has_the_derivatives_of_its_closed_form():
    """One bounce from the height h: t1 = sqrt(2 h / g), v = e g t1, then y = v (t - t1) - g (t - t1)^2 / 2."""
    dyn, run = bouncing(until=1.0, q=[1.1])
    assert len(run.events) == 1
    s = kane.sensitivities(run, wrt=["y", "e"])
    g, e, h, t = 9.81, 0.8, 1.0, 1.0
    t1 = math.sqrt(2 * h / g)
    by_h = t1 / (2 * h)  # of t1
    np.testing.assert_allclose(s.final["e"], [g * t1 * (t - t1), g * t1], rtol=1e-9)
    np.testing.assert_allclose(
        s.final["y"], [by_h * g * ((e + 1) * t - (2 * e + 1) * t1), (e + 1) * g * by_h], rtol=1e-9
    )
    assert_directions_agree(s, dyn.equations.q[0] * dyn.equations.u[0])


def falling(count, joined=False, rough=False):
    """Balls that fall from one height, each on its own or, joined, as the ends of one rod that may turn."""
    m = kane.Model("falling", gravity=(0, -9.81, 0))
    e, floor = [m.parameter(f"e{k}", x) for k, x in zip(range(count), (0.8, 0.5, 0.0), strict=False)], m.ground
    friction = kane.Coulomb(0.3, 0.3) if rough else None
    rod = m.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1)) if joined else None
    if rod is not None:
        m.connect(m.ground, rod, kane.Planar(("x", "y", "th")))
    for k in range(count):
        body = rod if rod is not None else m.body(f"B{k}", mass=1.0 + k, inertia=(0.1, 0.1, 0.1))
        if rod is None:
            m.connect(m.ground, body, kane.Planar((f"x{k}", f"y{k}", f"th{k}")))
        place = body.point((0.3 - 0.6 * k, 0, 0)) if joined else body.point()
        m.contact(place, kane.Plane(floor.point(), floor.y), restitution=e[k], friction=friction, name=f"ball {k}")
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("rough", [False, True])
def test_independent_impacts_in_one_instant_have_the_derivatives_of_each_alone(rough):
    """Differences of whole runs, in which they are apart, vouch; nothing of one is in the others. The third stays."""
    dyn = falling(3, rough=rough)
    starts = {"q": {"y0": 1.0, "y1": 1.0, "y2": 1.0}, "u": {"x0_dot": 0.2, "x1_dot": 9.0, "x2_dot": 0.1}}
    run = kane.simulate(dyn, until=0.6, integrator=FINE, **starts)
    assert len({event.time for event in run.events}) == 1  # the same instant to the last bit
    s = kane.sensitivities(run, wrt=["y0", "y1", "x1_dot", "e1", "y2"])
    names = [leaf.name for leaf in (*dyn.equations.q, *dyn.equations.u)]
    for name in ("y0", "y1", "x1_dot", "e1", "y2"):

        def end(h, name=name):
            q, u = dict(starts["q"]), dict(starts["u"])
            values = {"e1": 0.5 + h} if name == "e1" else {}
            (q if name in q else u if name in u else {})[name] = (q | u).get(name, 0.0) + h
            return of_end(kane.simulate(dyn, until=0.6, integrator=FINE, q=q, u=u, parameters=values))

        np.testing.assert_allclose(s.final[name], differences(end, STEP), atol=DIFFERENCES)
        others = [k for k, leaf in enumerate(names) if name[1] not in leaf]
        assert not np.abs(s.final[name][others]).max() > 1e-12
    q, u = dyn.equations.q, dyn.equations.u
    assert_directions_agree(s, q[1] * u[4] + u[1] * u[3])


def test_impacts_in_one_instant_that_act_on_each_other_are_refused_by_name():
    dyn = falling(2, joined=True)
    run = kane.simulate(dyn, until=0.6, q={"y": 1.0})
    with pytest.raises(ModelError, match=r"'ball 0' and 'ball 1' strike at once at t = 0.45.* act on each other"):
        _ = kane.sensitivities(run, wrt=["y"]).final


@pytest.mark.parametrize("mass", [1e-7, 1.0, 1e7])
def test_an_impact_has_the_derivatives_of_whole_runs_whatever_the_mass(mass):
    """Nothing of a motion is changed by the unit of mass."""
    m, r = kane.Model("rod", gravity=(0, -9.81, 0)), 0.3
    inertia = m.parameter("I", mass * r**2)
    rod = m.body("rod", mass=mass, inertia=(inertia, inertia, inertia))
    m.connect(m.ground, rod, kane.Planar(("x", "y", "th")))
    m.contact(rod.point((r, 0, 0)), kane.Plane(m.ground.point(), m.ground.y), restitution=0.8, name="end")
    dyn = kane.build(kane.formulate(m))

    def ran(change=0.0):
        values = {"I": mass * r**2 * (1.0 + change)}
        return kane.simulate(dyn, until=0.5, q={"y": 1.0, "th": 0.3}, parameters=values, integrator=FINE)

    found = mass * r**2 * kane.sensitivities(ran(), wrt=["I"]).final["I"]
    assert np.abs(found).max() > 1.0
    np.testing.assert_allclose(found, differences(lambda h: of_end(ran(h)), STEP), atol=DIFFERENCES)


def test_impacts_that_act_on_each_other_by_one_large_parameter_alone_are_refused():
    """Each end of a rod is the centre of percussion of the other, and no longer with another I: little per kg m^2."""
    m = kane.Model("asteroid", gravity=(0, -9.81, 0))
    mass, r = 1e11, 0.3
    inertia = m.parameter("I", mass * r**2)
    rod = m.body("rod", mass=mass, inertia=(inertia, inertia, inertia))
    m.connect(m.ground, rod, kane.Planar(("x", "y", "th")))
    for k, x in enumerate((r, -r)):
        floor = kane.Plane(m.ground.point(), m.ground.y)
        m.contact(rod.point((x, 0, 0)), floor, restitution=0.8, name=f"end {k}")
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.6, q={"y": 1.0})
    _ = kane.sensitivities(run, wrt=["x"]).final
    with pytest.raises(ModelError, match=r"'end 0' and 'end 1' strike at once at t = 0.45.* act on each other"):
        _ = kane.sensitivities(run, wrt=["I"]).final


def test_two_equal_elastic_balls_exchange_where_they_would_be():
    """The first ends where the second stood, whatever its own start; the second where the first would have been."""
    m = kane.Model("balls")
    bodies = [m.body(f"B{k}", mass=1.0, inertia=(0.1, 0.1, 0.1)) for k in (1, 2)]
    for k, body in enumerate(bodies):
        m.connect(m.ground, body, kane.Prismatic(f"x{k + 1}", axis="x"))
    m.contact(*(kane.Sphere(body.point(), 0.1) for body in bodies), restitution=1.0)
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=2.0, q=[0.0, 1.0], u=[1.0, 0.0], integrator=kane.RK8(max_step=0.1))
    s = kane.sensitivities(run, wrt=["x1", "x2", "x1_dot"], integrator=kane.RK8(max_step=0.1))
    np.testing.assert_allclose(s.final["x1"], [0.0, 1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(s.final["x2"], [1.0, 0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(s.final["x1_dot"], [0.0, 2.0, 0.0, 1.0], atol=1e-12)
    assert dict(s.adjoint(dyn.equations.q[1])) == pytest.approx({"x1": 1.0, "x2": 0.0, "x1_dot": 2.0}, abs=1e-12)


def cart(kind):
    """A pendulum on a cart with a spring; the joint has a stop on which it comes to lie, or a brake holds the cart."""
    m = kane.Model("cart", gravity=(0, -9.81, 0))
    k, on, mass = m.parameter("k", 20.0), m.parameter("on", 0.4), m.parameter("mB", 1.0)
    A = m.body("A", mass=2.0, inertia=(1, 1, 1))
    B = m.body("B", mass=mass, inertia=(0.2, 0.2, 0.2), com=(0, -0.4, 0))
    slide = m.connect(m.ground, A, kane.Prismatic("x", axis="x"))
    swing = m.connect(A, B, kane.Revolute("th", axis="z"))
    m.load(kane.Spring(slide, k))
    if kind == "stop":
        m.stop(swing, lower=0.2, restitution=0.0)
    else:
        m.switch([slide.qdot], on=m.time - on, off=m.time - 2 * on, name="brake")
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("kind", ["stop", "switch"])
def test_what_is_imposed_and_deleted_has_the_derivatives_of_whole_runs(kind):
    dyn, q, u = cart(kind), np.array([0.2, 0.5]), np.array([0.1, -0.2])

    def end(**moved):
        values = {"k": 20.0, "on": 0.4, "mB": 1.0}
        values = {name: value + moved.get(name, 0.0) for name, value in values.items()}
        shift = [np.array([moved.get(name, 0.0) for name in names]) for names in (("x", "th"), ("x_dot", "th_dot"))]
        return kane.simulate(dyn, until=1.3, q=q + shift[0], u=u + shift[1], parameters=values, integrator=FINE)

    run = end()
    assert [x.cause for x in run.events] == (["imposed"] if kind == "stop" else ["imposed", "deleted"])
    names = ["x", "th", "th_dot", "k", "on", "mB"]
    s = kane.sensitivities(run, wrt=names)
    for name in names:
        expected = differences(lambda h, name=name: of_end(end(**{name: h})), STEP)
        np.testing.assert_allclose(s.final[name], expected, atol=DIFFERENCES, err_msg=name)
    assert_directions_agree(s, dyn.equations.q[0] + 2 * dyn.equations.u[1] * dyn.equations.u[0])


def pushed(force):
    m = kane.Model("pushed")
    joint = m.connect(m.ground, m.body("A", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(joint, force(joint)))
    return kane.build(kane.formulate(m))


def test_a_spring_that_begins_to_push_is_derived_and_a_force_that_jumps_is_refused():
    """The spring begins at t1 = (1/2 - x0) / v, where x is 1/2: then x = 1/2 + v / w sin(w (t - t1))."""
    dyn = pushed(lambda joint: kane.select(joint.q < 0.5, 0.0, -100.0 * (joint.q - 0.5)))
    run = kane.simulate(dyn, until=0.7, u=[1.0], integrator=FINE)
    s = kane.sensitivities(run, wrt=["x"])
    phase = 10.0 * 0.2
    # An error of 1e-12 lets a step of 1e-7 s pass over the kink; S errs by the stiffness, 100, times that, its rate by
    # the frequency, 10, times that again.
    np.testing.assert_allclose(s.final["x"], [np.cos(phase), -10 * np.sin(phase)], atol=1e-4)
    for force in (
        lambda joint: kane.select(joint.q < 0.5, 1.0, -1.0),
        lambda joint: kane.sign(0.5 - joint.q),
        lambda joint: kane.select(joint.q < 0.5, 0.0, kane.select(joint.q < 9.0, -2.0, 5.0)),
    ):
        run = kane.simulate(pushed(force), until=0.7, u=[1.0])
        with pytest.raises(ModelError, match=r"at t = 0\.[45]\d* s .* a force jumps"):
            kane.sensitivities(run, wrt=["x"])


# With T = sqrt(2 x(0) / g) and a time s behind the impact, dx/dx(0) = -e + (1 + e) s / T.
@pytest.mark.parametrize(
    ("later", "by_height"), [(-1e-9, 1.0), (1e-9, -0.5 + 1.5e-9 * math.sqrt(9.81 / 2))], ids=["before", "behind"]
)
def test_at_an_impact_at_the_last_time_derivatives_are_those_behind_it_if_the_run_has_it_among_its_events(
    later, by_height
):
    """Of dx/dx(0): 1 in free fall, -e behind an impact, which changes sign and size of what a height varies."""
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    joint = m.connect(m.ground, m.body("ball", mass=1.0), kane.Prismatic("x", axis="y"))
    m.stop(joint, lower=0, restitution=0.5)
    dyn = kane.build(kane.formulate(m))
    (impact, *_) = kane.simulate(dyn, until=0.6, q={"x": 1.0}).events
    run = kane.simulate(dyn, until=impact.time + later, q={"x": 1.0})
    assert len(run.events) == (later > 0.0)
    assert kane.sensitivities(run, wrt=["x"]).final["x"][0] == pytest.approx(by_height, abs=1e-9)
