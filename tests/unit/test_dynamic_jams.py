"""Contacts that slide until their friction lets no normal force hold them (Painleve's paradox, dynamic jam).

SciPy vouches for the slide, equations of one sliding contact written here by hand; its impulse without collision stops
the slip without normal velocity. Then the body flies.
"""

import warnings
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane
from kane.engine.memory.views import contact_table_at, contact_table_size
from kane.engine.rows.row_forces import find_responses

G = 9.81
HALF, UNTIL = 0.5, 0.145
JAMS = r"^'{}' of '{}' jams at t = {}.* s: its friction cancels the response .* \(Painleve\)"


class Slide(NamedTuple):
    """A body of 1 kg in the plane that slides along x on one of its points.

    Attributes:
        inertia: about the centre of mass [kg m^2].
        arm: from the centre to the point, in the axes of the body.
        mu: kinetic friction.
        start: angle, its rate, velocity of the centre along x.
    """

    inertia: float
    arm: tuple[float, float]
    mu: float
    start: tuple[float, float, float]

    def terms(self, state):
        """Arm in the axes of the ground, direction of friction, W and b of N = -b / W."""
        angle, rate, v = state
        c, s = np.cos(angle), np.sin(angle)
        rx, ry = c * self.arm[0] - s * self.arm[1], s * self.arm[0] + c * self.arm[1]
        f = -np.sign(v - rate * ry) * self.mu
        W = 1.0 + rx * (rx - f * ry) / self.inertia
        return rx, ry, f, W, -G - ry * rate * rate

    def jam(self):
        """The time at which W vanishes, but for 1e-9, and the state."""

        def slope(_, state):
            rx, ry, f, W, b = self.terms(state)
            N = -b / W
            return [state[1], N * (rx - f * ry) / self.inertia, f * N]

        def ends(_, state):
            return self.terms(state)[3] - 1e-9

        ends.terminal = True
        run = solve_ivp(slope, (0, 1), self.start, method="DOP853", rtol=1e-12, atol=1e-14, events=[ends])
        return run.t[-1], run.y[:, -1]

    def stopped(self):
        """Time, impulse along the normal and the tangent, and velocities of the centre and the angle behind it."""
        t, state = self.jam()
        rx, ry, f, _, _ = self.terms(state)
        _, rate, v = state
        P = -(v - rate * ry) / (f - ry * (rx - f * ry) / self.inertia)
        rate += P * (rx - f * ry) / self.inertia
        v += f * P
        return t, np.array([P, f * P]), np.array([v, -rate * rx, rate])


ROD = Slide(HALF**2 / 3, (-HALF, 0.0), 1.6, (0.5, 2.0, -8.0 - HALF * np.sin(0.5) * 2.0))
BOX = Slide(1e-2, (0.1, -0.1), 1.98, (0.0, 0.0, 10.0))


def rod_on(m, name="rod", contact="tip"):
    body = m.body(name, mass=1.0, inertia=(0.0, HALF**2 / 3, HALF**2 / 3))
    m.connect(m.ground, body, kane.Planar((f"{name} x", f"{name} y", f"{name} a")))
    tip = body.point((-HALF, 0, 0))
    m.contact(tip, kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(1.6), name=contact)


def start_of(name="rod", slip=-8.0, turning=2.0, angle=0.5):
    c, s = HALF * np.cos(angle), HALF * np.sin(angle)
    q = {f"{name} x": 0.0, f"{name} y": s, f"{name} a": angle}
    return q, {f"{name} x_dot": slip - s * turning, f"{name} y_dot": c * turning, f"{name} a_dot": turning}


@pytest.fixture(scope="module")
def rod():
    m = kane.Model("rod", gravity=(0, -G, 0))
    rod_on(m)
    return kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def box():
    m = kane.Model("box", gravity=(0, -G, 0))
    body = m.body("box", mass=1.0, inertia=(1e-2,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "a")))
    for x, name in ((-0.1, "left"), (0.1, "right")):
        floor = kane.Plane(m.ground.point(), m.ground.y)
        m.contact(body.point((x, -0.1, 0)), floor, friction=kane.Coulomb(2.0, 1.98), name=name)
    return kane.build(kane.formulate(m))


# The impulse that normal forces make from W = 1e-8 on: they grow without bound.
CLOSE = 3e-6
METHODS = [
    ({}, CLOSE),
    ({"integrator": kane.RK8(rtol=1e-11, atol=1e-13)}, CLOSE),
    ({"integrator": kane.RK8(rtol=1e-13, atol=1e-15)}, CLOSE),
    ({"integrator": kane.RK5()}, CLOSE),
    ({"integrator": kane.BDF()}, 1e-4),
    ({"integrator": kane.RK4(), "dt": 1e-3}, 3e-3),
    (
        {"integrator": kane.RK4(), "dt": 1e-4},
        5e-2,
    ),  # near the jam forces grow without bound, which no fixed step follows
    ({"integrator": kane.RK4(), "dt": 1e-5}, 2e-4),
]


def check(run, slide, name, tolerance):
    """The one event behind the start, and the flight from there."""
    t, impulse, u = slide.stopped()
    (jam,) = [event for event in run.events if event.name == name and event.time > 0.0]
    assert jam.cause == "jams"
    assert jam.time == pytest.approx(t, abs=tolerance)
    np.testing.assert_allclose(jam.impulse, impulse, rtol=tolerance)
    u[1] -= G * (run.time[-1] - t)
    np.testing.assert_allclose(run.u[-1], u, atol=10 * tolerance)
    assert run.modes[-1] == "free"


@pytest.mark.parametrize(("how", "tolerance"), METHODS)
def test_painleves_rod_jams_where_scipy_has_it_by_any_method_and_tolerance(rod, how, tolerance):
    q, u = start_of()
    with pytest.warns(UserWarning, match=JAMS.format("tip", "rod", "0.130")) as said:
        run = kane.simulate(rod, until=UNTIL, q=q, u=u, **how)
    assert len(said) == 1
    check(run, ROD, "tip", tolerance)


@pytest.mark.parametrize(("how", "tolerance"), METHODS)
def test_a_box_thrown_flat_jams_on_its_edge_by_any_method_and_tolerance(box, how, tolerance):
    with pytest.warns(UserWarning, match=JAMS.format("right", "box", "0.00205")):
        run = kane.simulate(box, until=0.03, q={"y": 0.1}, u={"x_dot": 10.0}, **how)
    check(run, BOX, "right", tolerance)


@pytest.mark.filterwarnings("ignore:'tip' of 'rod' jams")
def test_compiled_modes_jam_as_the_numeric_ones_do_and_lanes_as_a_run_alone(rod):
    q, u = start_of()
    fast = kane.compile_modes(rod, ("free", "tip sliding"))
    check(kane.simulate(fast, until=UNTIL, q=q, u=u), ROD, "tip", CLOSE)
    starts = [start_of(slip=slip) for slip in (-8.0, -7.9, 3.0)]
    values = [np.array([list(x.values()) for x in each]) for each in zip(*starts, strict=True)]
    many = kane.simulate_many(fast, until=UNTIL, q=values[0], u=values[1])
    for k, (q, u) in enumerate(starts):
        run = kane.simulate(fast, until=UNTIL, q=q, u=u, times=[])
        assert np.array_equal(many.u[k, -1], run.u[-1])


def test_rods_side_by_side_jam_each_as_alone():
    """Slower slip is stopped by a smaller impulse; the third one slides the other way, and goes on."""
    m = kane.Model("rods", gravity=(0, -G, 0))
    names = ("first", "second", "third")
    for name in names:
        rod_on(m, name, f"{name} tip")
    other = ROD._replace(start=(0.5, 2.1, -7.0 - HALF * np.sin(0.5) * 2.1))
    starts = [start_of("first"), start_of("second", slip=-7.0, turning=2.1), start_of("third", slip=8.0)]
    q, u = ({k: x for start in starts for k, x in start[which].items()} for which in (0, 1))
    with pytest.warns(UserWarning, match="jams"):
        run = kane.simulate(kane.build(kane.formulate(m)), until=0.135, q=q, u=u)
    jams = [event for event in run.events if event.time > 0.0]
    assert [(event.name, event.cause) for event in jams] == [("second tip", "jams"), ("first tip", "jams")]
    for event, slide in zip(jams, (other, ROD), strict=True):
        t, impulse, _ = slide.stopped()
        assert event.time == pytest.approx(t, abs=1e-7)
        np.testing.assert_allclose(event.impulse, impulse, rtol=CLOSE)
    assert run.modes[-1] == "third tip sliding"


def test_rods_that_jam_at_one_time_are_struck_each_as_alone():
    """Slip of another speed does not change the time."""
    m = kane.Model("rods", gravity=(0, -G, 0))
    for name in ("first", "second"):
        rod_on(m, name, f"{name} tip")
    starts = [start_of("first"), start_of("second", slip=-7.0)]
    q, u = ({k: x for start in starts for k, x in start[which].items()} for which in (0, 1))
    with pytest.warns(UserWarning, match="'first tip' of 'rods' jams"):
        run = kane.simulate(kane.build(kane.formulate(m)), until=0.135, q=q, u=u)
    struck = [event for event in run.events if event.time > 0.0]
    assert [event.name for event in struck] == ["first tip", "second tip"]
    for event, slide in zip(struck, (ROD, ROD._replace(start=(0.5, 2.0, ROD.start[2] + 1.0))), strict=True):
        t, impulse, _ = slide.stopped()
        assert event.time == pytest.approx(t, abs=1e-7)
        np.testing.assert_allclose(event.impulse, impulse, rtol=CLOSE)


@pytest.mark.filterwarnings("ignore:'tip' of 'rod.*' jams")
def test_a_rod_of_two_halves_that_a_constraint_holds_together_jams_as_one():
    """W is asked for with permanent constraints kept."""
    m = kane.Model("rod of two", gravity=(0, -G, 0))
    own = (0.0, HALF**2 / 24, HALF**2 / 24)
    lower = m.body("lower", mass=0.5, inertia=own)
    upper = m.body("upper", mass=0.5, inertia=own, com=(HALF / 2, 0, 0))
    m.connect(m.ground, lower, kane.Planar(("x", "y", "a")))
    bend = m.connect(lower, upper, kane.Revolute("bend", axis="z"), at=(HALF / 2, 0, 0))
    m.constrain(kane.Prescribed(bend, 0.0))
    tip = lower.point((-HALF / 2, 0, 0))
    m.contact(tip, kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(1.6), name="tip")
    c, s = HALF / 2 * np.cos(0.5), HALF / 2 * np.sin(0.5)
    q, u = {"x": 0.0, "y": s, "a": 0.5}, {"x_dot": -8.0 - 2.0 * s, "y_dot": 2.0 * c, "a_dot": 2.0}
    run = kane.simulate(kane.build(kane.formulate(m)), until=UNTIL, q=q, u=u)
    t, impulse, _ = ROD.stopped()
    (jam,) = [event for event in run.events if event.time > 0.0]
    assert (jam.cause, jam.time) == ("jams", pytest.approx(t, abs=1e-7))
    np.testing.assert_allclose(jam.impulse, impulse, rtol=CLOSE)


@pytest.mark.filterwarnings("ignore:'tip' of 'rod' jams")
def test_a_jam_in_space_is_that_of_the_plane():
    """A thin rod cannot turn about itself: a body with some inertia about its axis, pushed in its own plane."""
    m = kane.Model("rod", gravity=(0, -G, 0))
    body = m.body("rod", mass=1.0, inertia=(0.01, HALF**2 / 3, HALF**2 / 3))
    m.connect(m.ground, body, kane.Free("r"))
    tip = body.point((-HALF, 0, 0))
    m.contact(tip, kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(1.6), name="tip")
    dyn = kane.build(kane.formulate(m))
    c, s = np.cos(0.5), np.sin(0.5)
    v = np.array([-8.0 - HALF * s * 2.0, HALF * c * 2.0])
    q = {"r_x": 0.0, "r_y": HALF * s, "r_qw": np.cos(0.25), "r_qz": np.sin(0.25)}
    own = v @ np.array([[c, -s], [s, c]])
    run = kane.simulate(dyn, until=UNTIL, q=q, u={"r_vx": own[0], "r_vy": own[1], "r_wz": 2.0})
    t, impulse, _ = ROD.stopped()
    (jam,) = [event for event in run.events if event.time > 0.0]
    assert (jam.cause, jam.time) == ("jams", pytest.approx(t, abs=1e-7))
    assert np.sort(np.abs(jam.impulse)) == pytest.approx(np.sort([0.0, *np.abs(impulse)]), abs=2 * CLOSE)


def test_friction_that_pushes_nothing_into_the_floor_warns_of_nothing(rod):
    q, u = start_of(slip=8.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = kane.simulate(rod, until=UNTIL, q=q, u=u)
    assert "jams" not in [event.cause for event in run.events]


@pytest.mark.filterwarnings("ignore:'tip' of 'rod' jams")
def test_a_jam_has_no_derivatives(rod):
    q, u = start_of()
    run = kane.simulate(rod, until=UNTIL, q=q, u=u)
    with pytest.raises(kane.ModelError, match=r"a contact of 'rod' jams at t = 0\.130.*derive a run that ends before"):
        kane.sensitivities(run, wrt=["rod a_dot"])


class _Contacts(NamedTuple):
    """What ``find_responses`` reads and writes."""

    block: SimpleNamespace
    table: tuple
    N: np.ndarray
    K: np.ndarray
    B: np.ndarray
    response: np.ndarray
    path: np.ndarray
    pivots: np.ndarray


def responses(K):
    n = len(K)
    table = contact_table_at(np.zeros(contact_table_size(n), np.int64), 0, n)
    table.normal[:] = 3 * np.arange(n)
    c = _Contacts(
        SimpleNamespace(constraints=n),
        table,
        3.0 * np.arange(n),
        np.array(K),
        np.full((n, n), np.nan),
        np.full(n, np.nan),
        np.full((6, n + 1), np.nan),
        np.full(n, -7),
    )
    find_responses(c, n)
    assert np.array_equal(c.K, K)
    return c.response


def test_responses_multiply_to_the_determinant_and_contacts_apart_keep_their_own():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5):
        for _ in range(20):
            K = np.eye(n) + 0.3 * rng.normal(size=(n, n))
            found = responses(K)
            assert np.prod(found) == pytest.approx(np.linalg.det(K), rel=1e-9)
    found = responses(np.diag([0.5, -1e-9, 2.0, -0.25]))
    assert found.tolist() == [0.5, -1e-9, 2.0, -0.25]


def test_of_contacts_that_hold_each_other_the_one_that_would_be_driven_in_alone_has_a_positive_response():
    K = np.array([[-0.1, 1.0], [-1.0, 2.0]])  # det 0.8: stable where the second one is stiff enough
    assert responses(K) == pytest.approx([0.4, 2.0])
    assert min(responses(np.array([[-0.1, 1.0], [1.0, 2.0]]))) < 0.0
