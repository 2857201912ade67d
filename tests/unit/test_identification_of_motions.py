"""Motions without accelerations on constraints and with quaternions: multiple shooting in tangent coordinates.

Runs with known parameters vouch, and noise by a generator of random numbers: what is found must lie about what was put
in as its standard errors say. Derivatives are vouched for by differences of whole runs, extrapolated after Richardson.
"""

import numpy as np
import pytest

import kane
from kane.analysis.identification.channels import Channels
from kane.analysis.identification.variational import Variational
from kane.errors import ModelError

TRUTH = {
    "four-bar": {"mu": 2.0, "oil": 3.0},
    "sleigh": {"mass": 1.5, "I": 0.2},
    "body": {"A": 0.3, "B": 0.5, "m": 1.2},
    "ball joint": {"A": 0.3, "C": 0.25, "m": 1.2},
}


def four_bar():
    """A closed loop with oil in the shaft."""
    m = kane.library.four_bar()
    m.load(kane.Damper(m.connections[0], m.parameter("oil", 3.0)))
    return m, {"q": {"q1": 1.0, "q3": 1.5}, "fixed": ["q1"]}, lambda t: (12.0 + 15.0 * np.sin(6.0 * t),)


def sleigh():
    """A blade that does not slip sideways, half a metre behind the mass centre: a constraint of the motion alone."""
    m = kane.Model("sleigh")
    mass, I = m.parameter("mass", 1.5), m.parameter("I", 0.2)
    body = m.body("S", mass=mass, com=(0.5, 0, 0), inertia=(0.1, 0.1, I))
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    m.constrain(kane.NoSkid(body.point(), body.y))
    m.load(kane.Force(body.point((1.0, 0, 0)), (0, m.input("F"), 0), body))
    return m, {"u": {"th_dot": 1.0}}, lambda t: (np.sin(3.0 * t),)


def turned(joint, name, com):
    """A body of unknown inertia that three torques turn."""
    m = kane.Model(name, gravity=(0, 0, -9.81))
    A, B, C, mass = (m.parameter(n, v) for n, v in (("A", 0.3), ("B", 0.5), ("C", 0.25), ("m", 1.2)))
    body = m.body("R", mass=mass, com=com, inertia=(A, B, C))
    m.connect(m.ground, body, joint)
    m.load(kane.Torque(body, [m.input(f"T{axis}") for axis in "xyz"], body))
    return m, body


def body():
    """A free rigid body, turned by thrusters and pushed by one."""
    m, R = turned(kane.Free("f"), "body", (0, 0, 0))
    m.load(kane.Force(R.point((0.1, 0, 0)), (m.input("F"), 0, 0), R))
    u = dict(zip((leaf.name for leaf in kane.formulate(m).u), [0.2, -0.1, 0.3, 1.0, 0.5, -0.7], strict=True))
    return m, {"u": u}, lambda t: (np.sin(2 * t), np.cos(3 * t), -np.sin(t), 2 * np.cos(t))


def ball_joint():
    """A body that hangs from a ball joint."""
    m, _ = turned(kane.Spherical("s"), "ball joint", (0, 0, -0.3))
    return m, {}, lambda t: (np.sin(2 * t), np.cos(3 * t), -np.sin(t))


KINDS = {"four-bar": four_bar, "sleigh": sleigh, "body": body, "ball joint": ball_joint}


@pytest.fixture(scope="module", params=list(KINDS))
def moved(request):
    """Native code, the inputs and a run with them, and the parameters that made it."""
    model, begins, inputs = KINDS[request.param]()
    dyn = kane.build(kane.formulate(model))
    start = kane.assemble(dyn, **begins)
    t = np.linspace(0.0, 3.0, 121)
    tau = np.column_stack([np.broadcast_to(x, t.shape) for x in inputs(t)])
    profile = kane.Interpolated(t, tau)
    run = kane.simulate(dyn, until=3.0, times=t, inputs=profile, q=start.q, u=start.u)
    return dyn, profile, run, TRUTH[request.param]


def noisy(run, inputs, quaternions, seed):
    """What is measured of a run: 1 mm or mrad, 5 mm/s or mrad/s; quaternions of unit length, of either sign."""
    random = np.random.default_rng(seed)
    q, u = run.q + 1e-3 * random.normal(size=run.q.shape), run.u + 5e-3 * random.normal(size=run.u.shape)
    for start in quaternions:
        part = q[:, start : start + 4]
        part *= random.choice([-1.0, 1.0], size=(len(q), 1)) / np.linalg.norm(part, axis=1, keepdims=True)
    return kane.Measurements(run.time, q, u, inputs=inputs)


def errors(moved, seeds):
    """What is missed of the truth, in standard errors, and the noise found."""
    dyn, profile, run, truth = moved
    guess, z, noise = {name: 1.3 * value for name, value in truth.items()}, [], []
    for seed in seeds:
        data = noisy(run, profile.values, dyn.equations.quaternions, seed)
        fit = kane.identify(dyn, data, list(truth), start=guess)
        assert fit.residuals.shape == (len(run.time), len(fit.channels))
        z += [(fit.values[n] - truth[n]) / fit.standard_errors[n] for n in truth]
        noise.append(dict(zip(fit.channels, fit.noise, strict=True)))
    return np.array(z), noise


def test_parameters_are_found_within_their_stated_errors(moved):
    z, noise = errors(moved, range(2))
    assert np.abs(z).max() < 4.0  # of six normal numbers
    for name, size in noise[0].items():  # a rotation is twice what moves the parts of a quaternion
        speed = name in [leaf.name for leaf in moved[0].equations.u]
        expected = 5e-3 if speed else 2e-3 if name.endswith(" dt") else 1e-3
        assert size == pytest.approx(expected, rel=0.25)  # of 121 numbers: four times 6 %


@pytest.mark.slow
def test_errors_of_many_fits_are_as_large_as_they_are_said_to_be(moved):
    z, _ = errors(moved, range(12))
    assert np.abs(z).max() < 4.5
    assert np.std(z) == pytest.approx(1.0, abs=0.6)  # four standard deviations of that of 24 numbers: 0.58


def differences(value, h=1e-3):
    """The derivative of value(e) at zero, extrapolated after Richardson: errors h^4."""
    return (8.0 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12.0 * h)


def test_derivatives_by_parameters_and_tangent_coordinates_are_those_of_whole_runs(moved):
    dyn, profile, run, truth = moved
    motion = Variational.of(dyn, profile, dyn.parameters, list(truth))
    x0, t = np.hstack([run.q, run.u])[0], run.time[:11]
    (T,) = motion.run(x0[None], [t], dyn.parameters, kane.RK8()).moves
    channels = Channels.of(dyn)
    assert T.shape[1] == {"four_bar": 2, "sleigh": 5, "body": 12, "ball joint": 6}[dyn.equations.name]

    def states(z, parameters, of=motion):
        x = of.projected(t[0], x0 + T @ z, parameters)
        return of.run(x[None], [t], parameters, kane.RK8(rtol=1e-13, atol=1e-13))[:2]

    x, S = states(np.zeros(T.shape[1]), dyn.parameters)
    names = [leaf.name for leaf in dyn.equations.parameters]
    for k in range(S.shape[2]):
        z, p = np.zeros(T.shape[1]), np.zeros(len(names))
        if k < len(z):
            z[k] = 1.0
        else:
            p[names.index(list(truth)[k - len(z)])] = 1.0
        moved_by = differences(lambda h, z=z, p=p: states(h * z, dyn.parameters + h * p)[0])
        C = channels.slopes(x)
        np.testing.assert_allclose(C @ S[..., k, None], C @ moved_by[..., None], rtol=1e-7, atol=1e-8)


def test_a_loop_embedded_on_the_graph_gives_what_the_same_in_numbers_gives():
    fits = []
    model, begins, inputs = four_bar()
    start, t = kane.assemble(kane.build(kane.formulate(model)), **begins), np.linspace(0.0, 1.5, 61)
    for near in (None, start):
        dyn = kane.build(kane.formulate(model, near=near))
        tau = np.column_stack([np.broadcast_to(x, t.shape) for x in inputs(t)])
        run = kane.simulate(dyn, until=1.5, times=t, inputs=kane.Interpolated(t, tau), q=start.q, u=start.u)
        fits.append(kane.identify(dyn, noisy(run, tau, (), 0), ["mu", "oil"], start={"mu": 2.5}))
    for name in ("mu", "oil"):  # one least squares from two codes: it ends where a step gains nothing
        apart = fits[0].values[name] - fits[1].values[name]
        assert abs(apart) < 1e-3 * fits[0].standard_errors[name]
        assert fits[0].standard_errors[name] == pytest.approx(fits[1].standard_errors[name], rel=1e-3)


def test_data_that_are_no_states_of_the_loop_are_refused():
    model, _, _ = four_bar()
    dyn, random = kane.build(kane.formulate(model)), np.random.default_rng(0)
    q, u = np.array([np.pi, 0.0, np.pi / 2]) + 1e-3 * random.normal(size=(40, 3)), np.zeros((40, 3))
    with pytest.raises(ModelError, match=r"constraints of 'four_bar' do not hold in these data: projection moves q"):
        kane.identify(dyn, kane.Measurements(0.02 * np.arange(40.0), q, u, inputs=np.zeros(40)), ["mu", "oil"])


def test_coordinates_alone_give_the_parameters_within_their_stated_errors(moved):
    """No speeds were measured: those where stretches begin are sought with the parameters."""
    dyn, profile, run, truth = moved
    guess, z = {name: 1.3 * value for name, value in truth.items()}, []
    for seed in range(2):
        q = noisy(run, profile.values, dyn.equations.quaternions, seed).q
        fit = kane.identify(dyn, kane.Measurements(run.time, q, inputs=profile.values), list(truth), start=guess)
        z += [(fit.values[n] - truth[n]) / fit.standard_errors[n] for n in truth]
        assert fit.channels == Channels.of(dyn).names[: len(fit.noise)]
        assert fit.residuals.shape == (len(run.time), len(fit.channels)) == (len(run.time), len(dyn.equations.u))
        expected = [2e-3 if name.endswith(" dt") else 1e-3 for name in fit.channels]
        assert fit.noise == pytest.approx(expected, rel=0.25)  # of 121 numbers: four times 6 %
    assert np.abs(z).max() < 4.0  # of six normal numbers


def test_coordinates_without_noise_give_the_parameters_to_the_error_of_the_run(moved):
    dyn, profile, run, truth = moved
    begins = slice(41)  # without noise a third of the motion gives the same digits
    fit = kane.identify(
        dyn,
        kane.Measurements(run.time[begins], run.q[begins], None, inputs=profile.values[begins]),
        list(truth),
        start={name: 1.3 * value for name, value in truth.items()},
    )
    assert fit.values == pytest.approx(truth, rel=1e-8)  # RK8 keeps 1e-9 a step


def test_speeds_that_were_measured_lower_the_errors(moved):
    dyn, profile, run, truth = moved
    whole = noisy(run, profile.values, dyn.equations.quaternions, 0)
    errors_of = [
        kane.identify(dyn, kane.Measurements(run.time, whole.q, u, inputs=profile.values), list(truth)).standard_errors
        for u in (whole.u, None)
    ]
    assert all(errors_of[0][name] < errors_of[1][name] for name in truth)


def test_noise_of_coordinates_alone_has_as_many_numbers_as_these(moved):
    dyn, profile, run, truth = moved
    data = kane.Measurements(run.time[:41], run.q[:41], inputs=profile.values[:41])
    with pytest.raises(ModelError, match=f"or {len(dyn.equations.u)}: for "):
        kane.identify(dyn, data, list(truth), noise=[1e-3] * 20)
    fit = kane.identify(dyn, data, list(truth), noise=1e-3)
    assert fit.noise == pytest.approx(np.full(len(dyn.equations.u), 1e-3))
