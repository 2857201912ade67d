"""Steps of Moreau and Jean over what accelerations cannot pass: closed forms, an impact without collision, energy."""

from math import cos, sin
from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane.analysis.certificate.contact_claims import ContactRun
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.dynamics.run_interface import STEPPED_OVER
from kane.engine.laws.impact import DONE, strike
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import ADOPTED, OPEN, SLIDING, STICKING
from kane.engine.memory.views import impact_at, impact_size, transition_at
from kane.errors import SimulationError
from kane.simulation.integrator_state import Status
from kane.simulation.results.contact_log import ContactLog

HALF = 0.5


def departure(model, status):
    """What takes steps from states of a model whose candidates all have this status; None where there is none."""
    f = contact_functions(kane.build(kane.formulate(model)))
    eqs = f.equations
    sizes = len(eqs.intermittents), len(eqs.constraints), len(eqs.u), len(eqs.q)

    def step(t, x, length):
        stage = f.project.stage(np.zeros(0))
        contact_constants_of(stage).state.status[:] = status
        out = f.moreau_jean_step(np.concatenate([[t], x, [length, 1.0], np.zeros(sizes[1])]), np.zeros(0), stage)
        found = transition_at(out, 0, *sizes)
        if found.status[0] != ADOPTED:
            return None
        return SimpleNamespace(
            x=np.concatenate([found.q, found.u]),
            energy_lost=found.energy_lost[0],
            impulses=found.impulses,
            statuses=found.statuses.astype(int),
        )

    return step


def slider(mu):
    """A point of 2 kg on a floor, in the plane of x and y."""
    m = kane.Model("slider", gravity=(0, -9.81, 0))
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    m.connect(m.ground, carriage, kane.Prismatic("x", axis="x"))
    m.connect(carriage, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(mu), name="floor")
    return m


def test_a_point_that_slides_loses_mu_g_h_and_one_that_falls_lands():
    mu, h, g = 0.5, 1e-2, 9.81
    sliding = departure(slider(mu), SLIDING)(0.0, np.array([0.0, 0.0, 3.0, 0.0]), h)
    assert sliding.x == pytest.approx([h * (3.0 - mu * g * h / 2), 0.0, 3.0 - mu * g * h, 0.0], abs=1e-14)
    assert sorted(np.abs(sliding.impulses[sliding.impulses != 0.0])) == pytest.approx([mu * 2 * g * h, 2 * g * h])
    assert sliding.statuses.tolist() == [SLIDING]
    stopping = departure(slider(mu), STICKING)(0.0, np.array([0.0, 0.0, 0.02, 0.0]), h)
    assert stopping.x[2:] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert stopping.statuses.tolist() == [STICKING]
    falling = departure(slider(mu), OPEN)(0.0, np.array([0.0, 0.004, 0.0, -1.0]), h)
    assert falling.x[3] == 0.0
    assert falling.energy_lost == pytest.approx(1.0 + g * h)  # kinetic energy at the start, and work of gravity
    assert departure(slider(mu), OPEN)(0.0, np.array([0.0, 1.0, 0.0, -1.0]), h) is None


def rod(mu):
    """A thin rod of 1 kg whose lower end touches a table."""
    m = kane.Model("rod", gravity=(0, -9.81, 0))
    body = m.body("rod", mass=1.0, inertia=(0.0, HALF**2 / 3, HALF**2 / 3))
    m.connect(m.ground, body, kane.Planar(("x", "y", "a")))
    table = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(body.point((-HALF, 0, 0)), table, friction=kane.Coulomb(mu), name="tip")
    return m


def state(a, speed, turning=0.0):
    """The tip at the origin with this speed along x."""
    q = [HALF * cos(a), HALF * sin(a), a]
    return np.array([*q, speed - HALF * sin(a) * turning, HALF * cos(a) * turning, turning])


def test_a_short_step_of_painleves_rod_is_the_impact_without_collision():
    """Where N > 0 accelerates the tip downwards, and it falls without: the impulse does not vanish with the step."""
    a, mu, speed = np.radians(60.0), 1.6, -2.0
    p = 1 + 3 * cos(a) * (cos(a) - mu * sin(a))
    assert p < 0.0
    J = np.array([[0.0, 1.0, -HALF * cos(a)], [1.0, 0.0, HALF * sin(a)]])
    W = J @ np.diag([1.0, 1.0, 3.0 / HALF**2]) @ J.T
    b = impact_at(np.zeros(impact_size()), 0)
    b.G[:2, :2], b.v[1], b.static[0], b.kinetic[0] = W, speed, mu, mu
    assert strike(b, 1, 0, 0.0) == DONE
    steps = [departure(rod(mu), SLIDING)(0.0, state(a, speed), h) for h in (1e-5, 1e-7)]
    for step, h in zip(steps, (1e-5, 1e-7), strict=True):
        normal, rub = step.impulses[step.impulses != 0.0]
        assert [normal, abs(rub)] == pytest.approx([b.p[0], abs(b.p[1])], rel=20 * h)
        assert step.statuses.tolist() == [STICKING]


@pytest.mark.parametrize("mu", [0.3, 1.0, 1.6, 3.0])
def test_no_step_of_a_rod_takes_less_than_nothing_wherever_it_starts(mu):
    """p < 0 and p > 0, tip leading and trailing, turning either way: there is a solution, and it takes energy."""
    rng, start = np.random.default_rng(1), departure(rod(mu), SLIDING)
    for _ in range(100):
        x = state(rng.uniform(0.1, 3.0), rng.uniform(-5, 5), rng.uniform(-8, 8))
        step = start(0.0, x, 10.0 ** rng.uniform(-8, -3))
        assert step is not None
        assert step.energy_lost >= -1e-12
        assert step.impulses[step.impulses != 0.0].size in (0, 2)


def test_a_run_goes_on_behind_such_a_step_and_tells_of_it():
    left = [None]

    class Hesitates(kane.RK8):
        """A method that takes no step once, on the way."""

        def advance(self, integration, steps):
            if left and integration.time > 0.0:
                left.pop()
                return Status.STUCK
            return super().advance(integration, 1)

    dyn = kane.build(kane.formulate(slider(0.5)))
    run = kane.simulate(dyn, until=0.1, u={"x_dot": 1.0}, integrator=Hesitates())
    (over,) = [event for event in run.events if event.cause == "is stepped over"]
    assert over.energy_lost > 0.0
    # Each step misses Coulomb's motion by the order of its length squared, here (0.1 s / 2^26)^2.
    assert run.u[-1] == pytest.approx([1.0 - 0.5 * 9.81 * 0.1, 0.0], abs=1e-12)
    assert np.diff(run.energy).max() <= 0.0
    assert "is stepped over" in str(run)
    with pytest.raises(kane.ModelError, match=r"takes a Moreau-Jean time step at t = .* not available"):
        kane.sensitivities(run, wrt=["x"])


class Never(kane.RK8):
    """A method that takes no step."""

    def advance(self, integration, steps):
        return Status.STUCK


def test_what_such_steps_do_not_pass_ends_with_an_error_that_says_so():
    dyn = kane.build(kane.formulate(slider(0.5)))
    with pytest.raises(SimulationError, match=r"6 steps of Moreau and Jean in a row.*a dynamic jam, or chatter"):
        kane.simulate(dyn, until=1.0, u={"x_dot": 1.0}, integrator=Never())


def test_without_a_contact_nothing_is_stepped_over():
    dyn = kane.build(kane.formulate(slider(0.5)))
    with pytest.raises(SimulationError) as info:
        kane.simulate(dyn, until=1.0, q={"y": 1.0}, integrator=Never())
    assert "Moreau" not in str(info.value)


def test_certificates_ask_momentum_of_changes_that_take_no_time():
    """Forces act over a step of Moreau and Jean, so that its impulses are not all of the change of momentum."""
    times, column, none = np.arange(3.0), np.arange(3.0)[:, None], np.zeros((0, 1), np.int8)
    kinds = ("bounces", STEPPED_OVER, "sticks")
    changed = times, np.zeros(3, np.int64), kinds, times, column, np.zeros((3, 1), np.int8), column, column, column
    log = ContactLog(("c",), ("c: normal",), np.zeros(1, np.int64), none, np.zeros((0, 1)), *changed)
    run = ContactRun(SimpleNamespace(contact_log=log), np.zeros(0), "")
    assert run.log.kinds == kinds
    assert run.at_once.times.tolist() == [0.0, 2.0]
    assert run.at_once.kinds == ("bounces", "sticks")
