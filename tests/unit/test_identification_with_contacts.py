"""Motions with contacts, stops and friction that sticks, fitted without accelerations.

Runs with known parameters vouch, and noise by a generator of random numbers: what is found must lie about what was put
in as its standard errors say. Derivatives are vouched for by differences of stretches with the same events.
"""

import numpy as np
import pytest

import kane
from kane.analysis.identification import estimate
from kane.analysis.identification.contact_variational import ContactVariational
from kane.errors import ModelError

NOISE = 1e-3, 5e-3


def ball():
    """A ball that falls through a thick medium and bounces."""
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    e, c, mass = m.parameter("e", 0.8), m.parameter("c", 0.1), m.parameter("m", 0.5)
    B = m.body("B", mass=mass, inertia=(1, 1, 1))
    drop = m.connect(m.ground, B, kane.Prismatic("y", axis="y"))
    m.load(kane.Damper(drop, c))
    m.contact(kane.Sphere(B.point(), 0.1), kane.Plane(m.ground.point(), m.ground.y), restitution=e, name="floor")
    return kane.build(kane.formulate(m)), {"q": [1.0], "u": [0.0]}


def block():
    """A block in the plane that a spring draws over a rough floor, which alone holds it up."""
    m = kane.Model("block", gravity=(0, -9.81, 0))
    k, mu, r = m.parameter("k", 40.0), m.parameter("mu", 0.1), m.parameter("r", 0.1)
    B = m.body("B", mass=2.0, inertia=(1, 1, 1))
    plane = m.connect(m.ground, B, kane.Planar(("x", "y", "th")))
    m.load(kane.Force(B.point(), (-k * plane.q[0], 0, 0)))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(kane.Sphere(B.point(), r), floor, friction=kane.Coulomb(mu), name="floor")
    return kane.build(kane.formulate(m)), {"q": [0.5, 0.1, 0.0], "u": [0.0, 0.0, 0.0]}


def slider():
    """A slide with dry friction on a spring, which turns, and sticks in the end."""
    m = kane.Model("slider")
    k, T = m.parameter("k", 40.0), m.parameter("T", 4.0)
    joint = m.connect(m.ground, m.body("B", mass=2.0, inertia=(1, 1, 1)), kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(joint, k))
    m.stick(joint, static=1.2 * T, kinetic=T, name="brake")
    return kane.build(kane.formulate(m)), {"q": [0.25], "u": [0.0]}


def between_stops():
    """A slide on a spring between two stops."""
    m = kane.Model("stops")
    k, c, e = m.parameter("k", 30.0), m.parameter("c", 0.2), m.parameter("e", 0.7)
    joint = m.connect(m.ground, m.body("B", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(joint, k))
    m.load(kane.Damper(joint, c))
    m.stop(joint, lower=-0.3, upper=0.6, restitution=e)
    return kane.build(kane.formulate(m)), {"q": [0.5], "u": [0.0]}


def puck():
    """A wheel that a spring draws and the floor turns by friction, which slips as it bounces."""
    m = kane.Model("puck", gravity=(0, -9.81, 0))
    mass, k = m.parameter("mass", 1.5), m.parameter("k", 3.0)
    B = m.body("B", mass=mass, inertia=(0.006, 0.006, 0.006))
    m.connect(m.ground, B, kane.Planar(("x", "y", "th")))
    m.load(kane.PointSpring(m.ground.point((0, 0.3, 0)), B.point(), k, 0.2))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(kane.Sphere(B.point(), 0.1), floor, restitution=0.6, friction=kane.Coulomb(0.15), name="floor")
    return kane.build(kane.formulate(m)), {"q": [1.0, 0.5, 0.0], "u": [-6.0, 0.0, 0.0]}


def fits(made, times, names, seeds, speeds=True, **guess):
    """What is found of noisy data, (fit, what it misses in standard errors, chi square over its freedoms)."""
    dyn, start = made
    run = kane.simulate(dyn, until=times[-1], times=times, **start)
    truth = {leaf.name: dyn.equations.defaults[leaf.name] for leaf in dyn.equations.parameters}
    for seed in seeds:
        random = np.random.default_rng(seed)
        q, u = (x + s * random.normal(size=x.shape) for x, s in zip((run.q, run.u), NOISE, strict=True))
        fit = kane.identify(dyn, kane.Measurements(times, q, u if speeds else None), names, start=guess)
        z = [(fit.values[n] - truth[n]) / fit.standard_errors[n] for n in names]
        sizes = np.repeat(NOISE, [q.shape[1], u.shape[1]])[: len(fit.channels)]
        yield fit, z, np.sum((fit.residuals / sizes) ** 2) / (fit.residuals.size - len(names) - len(sizes))


def require_stated_errors(found):
    for fit, z, chi in found:
        assert np.abs(z).max() < 4.0, fit  # in standard errors
        assert chi == pytest.approx(1.0, abs=5.0 * np.sqrt(2.0 / fit.residuals.size))  # five of its own deviations


def test_a_bouncing_ball_has_its_restitution_and_its_drag_within_their_stated_errors():
    require_stated_errors(fits(ball(), np.linspace(0.0, 1.2, 61), ["e", "c"], range(1), e=0.7, c=0.13))


COORDINATES_ALONE = {
    "ball": (ball, np.linspace(0.0, 1.2, 61), {"e": 0.7, "c": 0.13}),
    "stops": (between_stops, np.linspace(0.0, 1.5, 76), {"k": 32.0, "c": 0.22, "e": 0.67}),
    "block": (block, np.linspace(0.0, 0.9, 46), {"k": 50.0}),
    "puck": (puck, np.linspace(0.0, 0.9, 91), {"mass": 1.3, "k": 2.5}),
}


@pytest.mark.parametrize("kind", COORDINATES_ALONE)
def test_coordinates_alone_of_what_strikes_and_slips_give_the_parameters_within_their_stated_errors(kind):
    made, times, guess = COORDINATES_ALONE[kind]
    require_stated_errors(fits(made(), times, list(guess), range(1), speeds=False, **guess))


def test_stops_a_spring_and_a_damper_are_found_within_their_stated_errors():
    times = np.linspace(0.0, 1.5, 76)
    require_stated_errors(fits(between_stops(), times, ["k", "c", "e"], range(1), k=36.0, c=0.26, e=0.6))


def test_the_spring_of_a_slide_that_sticks_is_found_within_its_stated_error():
    dyn, start = slider()
    start["u"] = [-0.4]
    (ends,) = [event.time for event in kane.simulate(dyn, until=1.0, **start).events if event.time > 0.0]
    assert ends < 0.78  # the last of three stretches begins at rest
    require_stated_errors(fits((dyn, start), np.linspace(0.0, 1.0, 51), ["k"], range(1), k=50.0))


def test_a_block_that_a_floor_holds_up_has_its_spring_within_its_stated_error():
    require_stated_errors(fits(block(), np.linspace(0.0, 0.9, 46), ["k"], range(1), k=50.0))


def test_what_contacts_alone_tell_apart_is_told_apart():
    """In flight a mass and a spring are known by their ratio; friction turns a known inertia by the mass."""
    found = list(fits(puck(), np.linspace(0.0, 0.9, 91), ["mass", "k"], range(1), mass=1.3, k=2.5))
    require_stated_errors(found)
    assert not found[0][0].unidentifiable


@pytest.mark.slow
def test_errors_are_as_large_as_they_are_said_to_be_with_contacts():
    times = np.linspace(0.0, 1.5, 101)
    z = [z for _, z, _ in fits(between_stops(), times, ["k", "c", "e"], range(12), k=36.0, c=0.26, e=0.6)]
    z += [z for _, z, _ in fits(ball(), times, ["e", "c"], range(12), e=0.7, c=0.13)]
    z = np.concatenate(z)
    assert np.abs(z).max() < 4.5
    assert np.std(z) == pytest.approx(1.0, abs=0.4)  # four standard deviations of that of 60 numbers: 0.37


@pytest.mark.parametrize("apart", [-2e-4, 2e-4])
def test_a_row_next_to_an_impact_is_compared_with_the_motion_on_its_own_side(apart):
    """An impact 0.2 ms from a row, which begins and parameters of the search put on its other side."""
    dyn, start = ball()
    (hit,) = [event.time for event in kane.simulate(dyn, until=0.6, **start).events]
    times = np.concatenate([np.linspace(0.0, hit + apart, 21), np.linspace(hit + apart, 0.8, 21)[1:]])
    for guess in (0.05, 0.15):  # of the drag: the impact comes 0.9 ms too early, or too late
        require_stated_errors(fits((dyn, start), times, ["c"], range(1), c=guess))


KINDS = {"ball": (ball, ["e", "c", "m"]), "block": (block, ["k", "mu"]), "slider": (slider, ["k", "T"])}


def differences(value, h):
    """The derivative of value(e) at zero: errors h^2 by its third derivative, and rounding over h."""
    return (value(h) - value(-h)) / (2.0 * h)


@pytest.mark.parametrize("kind", list(KINDS))
def test_derivatives_of_a_stretch_are_those_of_runs_with_the_same_events(kind):
    made, names = KINDS[kind]
    dyn, start = made()
    known, t = [leaf.name for leaf in dyn.equations.parameters], np.linspace(0.0, 0.8, 9)
    closed = tuple(c.normal for c in dyn.equations.intermittents if c.normal is not None and kind == "block")
    motion = ContactVariational.among(dyn, None, dyn.parameters, names, {0.0: closed})
    x0 = np.concatenate([start["q"], start["u"]])
    x0[-1 if kind == "ball" else len(start["q"])] = -0.3  # what slips does so from the start
    fine = kane.RK8(rtol=1e-12, atol=1e-12)

    def stretch(x, parameters=dyn.parameters):
        return motion.run(motion.projected(0.0, x, parameters)[None], [t], parameters, fine)

    at = stretch(x0)
    (T,) = at.moves
    assert T.shape[1] == {"ball": 2, "block": 4, "slider": 2}[kind]  # a floor takes y and its rate
    assert bool(at.instead) == (kind == "ball")

    def numbers(found):
        return np.concatenate([found.x, [other.x for other in found.instead]]) if found.instead else found.x

    S = np.concatenate([at.S, [other.S for other in at.instead]]) if at.instead else at.S
    for k in range(S.shape[2]):
        if k < T.shape[1]:
            moved = differences(lambda h, k=k: numbers(stretch(x0 + h * T[:, k])), 1e-5)
        else:
            p = np.array([name == names[k - T.shape[1]] for name in known], float)
            moved = differences(lambda h, p=p: numbers(stretch(x0, dyn.parameters + h * p)), 1e-5)
        np.testing.assert_allclose(S[..., k], moved, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(moved).max()))


def test_a_row_that_is_on_the_other_side_of_an_impact_is_named():
    dyn, start = ball()
    run = kane.simulate(dyn, until=0.8, times=np.linspace(0.0, 0.8, 41), **start)
    random = np.random.default_rng(0)
    q, u = (x + s * random.normal(size=x.shape) for x, s in zip((run.q, run.u), NOISE, strict=True))
    u[10] *= -1.0  # as if it had bounced on the way
    with pytest.raises(ModelError, match=r"misses the data in row 10 at 0\.2 s by .* times the noise of y_dot"):
        kane.identify(dyn, kane.Measurements(run.time, q, u), ["c"], noise=NOISE)


def test_a_search_that_finds_nothing_names_the_stretch_that_is_farthest_off(monkeypatch):
    """No motion counts as near here; the second of three stretches, rows 20 to 40, errs by six times the noise."""
    monkeypatch.setattr(estimate, "EXPLAINED", 0.0)
    monkeypatch.setattr(estimate, "ROUGH", 0.0)
    dyn, start = ball()
    run = kane.simulate(dyn, until=1.2, times=np.linspace(0.0, 1.2, 61), **start)
    random = np.random.default_rng(0)
    q, u = (x + s * random.normal(size=x.shape) for x, s in zip((run.q, run.u), NOISE, strict=True))
    u[[28, 30, 32, 34], 0] += 6.0 * NOISE[1] * np.array([1.0, -1.0, 1.0, -1.0])
    with pytest.raises(ModelError, match=r"no motion near the data \(it is farthest off between t = 0\.4 s and 0\.8 s"):
        kane.identify(dyn, kane.Measurements(run.time, q, u), ["e", "c"], noise=NOISE)


def test_a_first_row_that_does_not_say_what_is_closed_is_refused():
    dyn, _ = ball()
    run = kane.simulate(dyn, until=0.6, times=np.linspace(0.0, 0.6, 31), q=[0.1], u=[4.0])  # it has just bounced
    with pytest.raises(ModelError, match="the first row does not show whether floor is closed"):
        kane.identify(dyn, kane.Measurements(run.time, run.q, run.u), ["c"])


def test_a_gap_that_is_closed_where_stretches_begin_is_taken_as_known():
    dyn, _ = block()
    t = np.linspace(0.0, 0.4, 21)
    x = 0.5 * np.cos(np.sqrt(20.0) * t)
    q = np.column_stack([x, np.full(21, 0.1), np.zeros(21)])
    u = np.column_stack([np.gradient(x, t), np.zeros(21), np.zeros(21)])
    with pytest.raises(ModelError, match="'r' occurs in 'floor', which is closed"):
        kane.identify(dyn, kane.Measurements(t, q, u), ["k", "r"])
