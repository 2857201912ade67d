"""Derivatives of motions under sampled laws, and of what is found at the event that ends a run: differences of whole
runs and closed forms vouch.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import kane
from kane.errors import ModelError

FINE = kane.RK8(rtol=1e-12, atol=1e-12)
# Differences over 2e-5 of runs to 1e-12: 1e-7 of rounding, and what is cubic is less.
STEP, DIFFERENCES = 1e-5, 2e-7


def controlled(delay=0.0, jitter=0.0):
    """A pendulum under a digital controller with an integrator; its laws."""
    m = kane.Model("controlled", gravity=(0, -9.81, 0))
    B = m.body("B", mass=m.parameter("mB", 1.5), inertia=(0.1, 0.1, 0.1), com=(0, -0.5, 0))
    joint = m.connect(m.ground, B, kane.Revolute("th", axis="z"))
    total, gain = m.input("total", default=0.1), m.parameter("gain", 6.0)
    m.load(kane.Motor(joint, m.input("tau", default=0.2)))
    law = kane.Sampled(-gain * joint.q - 2 * joint.qdot - total, period=0.05, delay=delay, jitter=jitter)
    return kane.build(kane.formulate(m)), {"tau": law, "total": kane.Sampled(total + 0.3 * joint.q, period=0.05)}


@pytest.mark.parametrize(("delay", "jitter"), [(0.0, 0.0), (0.013, 0.0), (0.07, 0.01)])
def test_under_sampled_laws_a_motion_has_the_derivatives_of_whole_runs(delay, jitter):
    dyn, laws = controlled(delay, jitter)

    def end(name=None, step=0.0):
        moved = {word: step * (word == name) for word in ("th", "th_dot", "gain", "mB")}
        values = {"gain": 6.0 + moved["gain"], "mB": 1.5 + moved["mB"]}
        start = {"q": [0.4 + moved["th"]], "u": [0.1 + moved["th_dot"]]}
        return kane.simulate(dyn, until=0.98, inputs=laws, parameters=values, integrator=FINE, **start)

    names = ["th", "th_dot", "gain", "mB"]
    s = kane.sensitivities(end(), wrt=names, inputs=laws)
    for name in names:
        ends = [np.concatenate([x.q[-1], x.u[-1]]) for x in (end(name, STEP), end(name, -STEP))]
        np.testing.assert_allclose(s.final[name], (ends[0] - ends[1]) / (2 * STEP), rtol=0, atol=DIFFERENCES)
    cost = dyn.equations.q[0] * 2 + dyn.equations.u[0] ** 2
    ahead, back = s.gradient(cost), s.adjoint(cost)
    for name, value in ahead.items():
        assert back[name] == pytest.approx(value, abs=1e-13)


def jumping(kind):
    """Masses that an input which jumps sets free: from dry friction, at two contacts at once, from the floor."""
    m = kane.Model(kind, gravity=(0, -9.81, 0))
    k = m.parameter("k", 30.0)
    rail, B = m.body("rail", mass=0.0), m.body("B", mass=1.0)
    x = m.connect(m.ground, rail, kane.Prismatic("x", axis="x"))
    y = m.connect(rail, B, kane.Prismatic("y", axis="y"))
    m.load(kane.PointSpring(m.ground.point((0, 1, 0)), B.point(), k, 0.9))
    rough = None if kind == "lifted" else kane.Coulomb(0.5, 0.4)
    m.contact(B.point(), kane.Plane(m.ground.point(), m.ground.y), friction=rough, name="floor")
    if kind == "pulled from both":
        m.stick(x, static=0.6, kinetic=0.5)
    m.load(kane.Motor(y if kind == "lifted" else x, m.input("f")))
    answer = kane.Sampled(kane.select(m.time > 0.25, k * (0.45 - 0.2 * x.q), 0.0), period=0.1, delay=0.04)
    return kane.build(kane.formulate(m)), {"f": kane.Held([0.0, 0.5], [0.0, 12.0])}, {"f": answer}


@pytest.mark.parametrize("kind", ["pulled", "pulled from both", "lifted"])
@pytest.mark.parametrize("sampled", [False, True])
def test_what_an_input_that_jumps_sets_free_has_the_derivatives_of_whole_runs(kind, sampled):
    """Friction jumps over its bound, and a floor that pushed lets go: at the time of the input, which nothing moves."""
    dyn, held, answered = jumping(kind)
    inputs = answered if sampled else held
    begin = {"u": [0.3, 0.0]} if kind == "lifted" else {}

    def end(x=0.0, k=0.0):
        given = {"q": [0.2 + x, 0.0], "parameters": {"k": 30.0 + k}, **begin}
        return kane.simulate(dyn, until=0.7, inputs=inputs, integrator=FINE, **given)

    run = end()
    free = [e for e in run.events if e.cause in ("slips", "deleted") and e.time > 0.0]
    assert [e.time for e in free] == pytest.approx([0.34 if sampled else 0.5] * len(free), abs=1e-12)
    assert len(free) == (2 if kind == "pulled from both" else 1)
    s = kane.sensitivities(run, wrt=["x", "k"], inputs=inputs)
    for name in ("x", "k"):
        ends = [np.concatenate([at.q[-1], at.u[-1]]) for at in (end(**{name: STEP}), end(**{name: -STEP}))]
        assert np.abs(s.final[name]).max() > 1e-3
        np.testing.assert_allclose(s.final[name], (ends[0] - ends[1]) / (2 * STEP), rtol=0, atol=DIFFERENCES)


def in_python(derivative):
    """The controller as a function of Python, with its derivative."""
    dyn, laws = controlled(0.013)
    laws["tau"] = kane.Sampled(
        lambda t, q, u: -6.0 * np.sin(q[0]) - 2.0 * u[0] ** 3, period=0.05, delay=0.013, derivative=derivative
    )
    return dyn, laws


def slopes(t, q, u):
    return [-6.0 * np.cos(q[0])], [-6.0 * u[0] ** 2]


def test_a_sampled_law_in_python_has_no_derivatives_unless_they_are_given():
    dyn, laws = in_python(None)
    run = kane.simulate(dyn, until=0.3, inputs=laws)
    with pytest.raises(ModelError, match=r"'tau' is a function of Python, .* derivative=, a function of \(t, q, u\)"):
        kane.sensitivities(run, wrt=["gain"], inputs=laws)


def test_a_law_in_python_with_its_derivative_is_derived_as_the_same_in_an_expression_is():
    """Differences of whole runs vouch, and the law as an expression."""
    dyn, laws = in_python(slopes)

    def end(th=0.0, mB=0.0):
        given = {"q": [0.4 + th], "u": [0.1], "parameters": {"mB": 1.5 + mB}}
        return kane.simulate(dyn, until=0.98, inputs=laws, integrator=FINE, **given)

    s = kane.sensitivities(end(), wrt=["th", "mB"], inputs=laws)
    for name in ("th", "mB"):
        ends = [np.concatenate([x.q[-1], x.u[-1]]) for x in (end(**{name: STEP}), end(**{name: -STEP}))]
        np.testing.assert_allclose(s.final[name], (ends[0] - ends[1]) / (2 * STEP), rtol=0, atol=DIFFERENCES)
    q, u = dyn.equations.q[0], dyn.equations.u[0]
    law = kane.Sampled(-6.0 * kane.sin(q) - 2.0 * u * u * u, period=0.05, delay=0.013)
    other = kane.sensitivities(end(), wrt=["th", "mB"], inputs=laws | {"tau": law})
    for name in ("th", "mB"):
        np.testing.assert_allclose(s.final[name], other.final[name], rtol=1e-9, atol=1e-11)
    back = s.adjoint(q * 2 + u**2)
    assert back == pytest.approx(s.gradient(q * 2 + u**2), abs=1e-13)


def test_laws_for_all_inputs_have_a_row_of_derivatives_for_each():
    dyn, _ = controlled()
    A = np.array([[-4.0, -2.0], [0.3, 0.1]])
    both = kane.Sampled(lambda t, q, u: A @ [q[0], u[0]], period=0.05, derivative=lambda t, q, u: (A[:, :1], A[:, 1:]))
    q, u = dyn.equations.q[0], dyn.equations.u[0]
    names = [leaf.name for leaf in dyn.equations.inputs]
    each = {name: kane.Sampled(a * q + b * u, period=0.05) for name, (a, b) in zip(names, A.tolist(), strict=True)}
    ends = [
        kane.sensitivities(kane.simulate(dyn, until=0.5, inputs=laws, q=[0.4]), wrt=["th"], inputs=laws).final["th"]
        for laws in (both, each)
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("derivative", "message"),
    [
        (lambda t, q, u: 1.0, r"derivative of the sampled law of 'tau' at t = 0 s is 1.0; return two arrays"),
        (lambda t, q, u: ([1.0, 2.0], [0.0]), r"finite numbers of shapes \(1, 1\) and \(1, 1\).* got \(1, 2\)"),
        (lambda t, q, u: ([np.nan], [0.0]), r"finite numbers"),
    ],
)
def test_derivatives_of_laws_that_are_none_are_refused(derivative, message):
    dyn, laws = in_python(derivative)
    run = kane.simulate(dyn, until=0.3, inputs=laws)
    with pytest.raises(ModelError, match=message):
        kane.sensitivities(run, wrt=["gain"], inputs=laws)
    with pytest.raises(ModelError, match="derivative= is for a law in Python without state"):
        kane.Sampled(dyn.equations.q[0], period=0.1, derivative=slopes)
    with pytest.raises(ModelError, match="give a function of"):
        kane.Sampled(lambda t, q, u: 0.0, period=0.1, derivative=1.0)


@pytest.fixture(scope="module")
def throw():
    """A ball from height 1 m, where it lands, and how far that is."""
    m = kane.Model("throw", gravity=(0, -9.81, 0))
    ball = m.body("ball", mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    m.connect(m.ground, ball, kane.Planar(("x", "y", "th")))
    place, gap = (ball.point().position.dot(axis) for axis in (m.ground.x, m.ground.y))
    return kane.build(kane.formulate(m)), kane.Event(gap, terminal=True), place, m.time


def test_what_is_found_at_an_event_moves_with_its_time(throw):
    """It lands at x = vx T, where h + vy T = g T^2 / 2: T in closed form vouches."""
    dyn, lands, place, time = throw
    g, h, vx, vy = 9.81, 1.0, 3.0, 0.4
    run = kane.simulate(dyn, until=5.0, events=[lands], q={"y": h}, u={"x_dot": vx, "y_dot": vy})
    names = ["y", "x_dot", "y_dot"]
    s = kane.sensitivities(run, wrt=names, ends=lands)
    root = math.sqrt(vy**2 + 2 * g * h)
    T = (vy + root) / g
    by_time = [1 / root, 0.0, T / root]
    assert [s.end[name] for name in names] == pytest.approx(by_time, rel=1e-9)
    assert [s.gradient(time)[name] for name in names] == pytest.approx(by_time, rel=1e-9)
    expected = [vx / root, T, vx * T / root]
    for found in (s.gradient(place), s.adjoint(place), {name: s.final[name][0] for name in names}):
        assert [found[name] for name in names] == pytest.approx(expected, rel=1e-9)
    assert s["y"][-1, 0] == pytest.approx(0.0, abs=1e-12)  # at the last time as it is


def test_a_run_that_ended_otherwise_did_not_end_at_the_event(throw):
    dyn, lands, _, _ = throw
    run = kane.simulate(dyn, until=0.1, q={"y": 1.0})
    with pytest.raises(ModelError, match=r"did not end at this event: at its last time, 0\.1 s"):
        kane.sensitivities(run, wrt=["y"], ends=lands)
    with pytest.raises(ModelError, match=r"ends= is the kane.Event"):
        kane.sensitivities(run, wrt=["y"], ends=lands.expression)


def test_a_name_given_twice_is_refused(throw):
    dyn, lands, _, _ = throw
    run = kane.simulate(dyn, until=5.0, events=[lands], q={"y": 1.0})
    with pytest.raises(ModelError, match=r"wrt=\['y', 'y'\] names something twice"):
        kane.sensitivities(run, wrt=["y", "y"])
