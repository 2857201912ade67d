"""Trajectories whose constraints come and go, side by side in their compiled modes.

What vouches: ``simulate``, which knows no lanes, to the last bit; and counts of what was left to runs of their own.
"""

import numpy as np
import pytest

import kane
from kane.ensembles.one_by_one import OneByOne
from kane.ensembles.projected_lanes import ProjectedLanes
from tests.unit.test_compiled_contacts import crate, slider

LANES = kane.LLVM(threads=1)


@pytest.fixture
def alone(monkeypatch):
    """The numbers of trajectories that were made alone."""
    numbers, run = [], OneByOne.run

    def noted(self, progress):
        numbers.extend(self.trajectories.order.tolist())
        return run(self, progress)

    monkeypatch.setattr(OneByOne, "run", noted)
    return numbers


def compiled(model, modes):
    return kane.compile_modes(kane.build(kane.formulate(model), target=LANES), modes)


def require_same(fast, many, q, u, numbers, **how):
    """The bits of ``simulate``, for these trajectories."""
    for i in numbers:
        run = kane.simulate(fast, q=q[i], u=u[i], **how)
        assert np.array_equal(many.q[i], run.q), i
        assert np.array_equal(many.u[i], run.u), i


CRATE = ("bearing held", "bearing sliding", "left sliding, right sliding, bearing held")


def test_trajectories_in_many_modes_have_the_bits_of_simulate(alone):
    fast = compiled(crate(), CRATE)
    random, n = np.random.default_rng(3), 11
    q, u = np.zeros((n, 4)), random.uniform(-1.0, 1.0, (n, 4))
    q[:, 1], q[:, 2] = random.uniform(0.15, 0.3, n), random.uniform(-0.3, 0.3, n)
    how = {"until": 0.8, "times": [0.1, 0.5, 0.7]}
    inputs = random.uniform(-0.2, 0.2, n)
    many = kane.simulate_many(fast, q=q, u=u, inputs={"T": inputs}, **how)
    assert not many.failures
    assert not alone
    for i in (0, 4, n - 1):
        run = kane.simulate(fast, q=q[i], u=u[i], inputs={"T": inputs[i]}, **how)
        assert np.array_equal(many.q[i], run.q)
        assert np.array_equal(many.u[i], run.u)
        assert run.events
    assert len(set(many.steps.tolist())) > 3


def test_loops_with_contacts_and_parameters_of_their_own_run_side_by_side(alone):
    fast = compiled(slider(), ("free", "track sliding"))
    start = kane.assemble(fast, q={"a": 0.5, "b": -1.0, "y": 0.05}, fixed=["y"])
    n = 9
    u = np.zeros((n, len(start.u)))
    q = np.tile(start.q, (n, 1))
    many = kane.simulate_many(fast, until=0.3, q=q, u=u, times=[0.1])
    assert not alone
    assert not many.failures
    require_same(fast, many, q, u, (0, 8), until=0.3, times=[0.1])


def test_bodies_in_space_that_slide_run_side_by_side(alone):
    m = kane.Model("puck", gravity=(0, 0, -9.81))
    mu, body = m.parameter("mu", 0.4), m.body("puck", mass=1, inertia=(0.01, 0.01, 0.02))
    m.connect(m.ground, body, kane.Free("p"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k in range(3):
        at = (0.1 * np.cos(2 * k), 0.1 * np.sin(2 * k), -0.02)
        m.contact(body.point(at), floor, friction=kane.Coulomb(mu), restitution=0.2, name=f"c{k}")
    fast = compiled(m, ("free", "c0 sliding, c1 sliding, c2 sliding", "c0 sliding"))
    n = 10
    random = np.random.default_rng(5)
    u, q = random.uniform(-1, 1, (n, 6)), np.tile([1.0, 0, 0, 0, 0, 0, 0.02], (n, 1))
    q[::2, 6] = 0.1
    u[1::2, [0, 1, 5]] = 0.0
    values = {"mu": np.linspace(0.2, 0.6, n)}
    many = kane.simulate_many(fast, until=0.4, q=q, u=u, parameters=values)
    assert not alone
    for i in (0, 1, 8, 9):
        run = kane.simulate(fast, until=0.4, q=q[i], u=u[i], parameters={"mu": values["mu"][i]}, times=[])
        assert np.array_equal(many.q[i, -1], run.q[-1])
        assert np.array_equal(many.u[i, -1], run.u[-1])


def test_a_latch_that_is_armed_anew_and_modes_that_are_not_compiled_run_side_by_side(alone):
    m = kane.Model("cart", gravity=(0, 0, 0))
    body = m.body("cart", mass=2.0)
    track = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(track, 50.0))
    m.latch(0.2 - track.q, off=track.q * 0 + kane.sin(12 * m.time) - 0.9, name="hook")
    m.switch(track.qdot, on=kane.sin(5 * m.time) - 0.5, off=kane.sin(5 * m.time) * -1 - 0.5, name="brake")
    fast = compiled(m, ("free", "hook held"))
    n = 9
    q, u = np.zeros((n, 1)), np.linspace(-1.5, 2.0, n)[:, None]
    many = kane.simulate_many(fast, until=2.0, q=q, u=u)
    assert not alone
    for i in range(n):
        run = kane.simulate(fast, until=2.0, q=q[i], u=u[i], times=[])
        assert np.array_equal(many.q[i, -1], run.q[-1])
        assert np.array_equal(many.u[i, -1], run.u[-1])


def rod():
    """Painleve's rod, whose tip may jam where no force of contact is possible."""
    m = kane.Model("rod", gravity=(0, -9.81, 0))
    body = m.body("rod", mass=1.0, inertia=(0.0, 0.25 / 3, 0.25 / 3))
    m.connect(m.ground, body, kane.Planar(("x", "y", "a")))
    table = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(body.point((-0.5, 0, 0)), table, friction=kane.Coulomb(1.6), name="tip")
    return m


def test_what_lanes_cannot_pass_is_made_alone_from_its_start(alone):
    m = kane.Model("block", gravity=(0, -9.81, 0))
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    track = m.connect(m.ground, carriage, kane.Prismatic("x", axis="x"))
    m.connect(carriage, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(0.1), name="floor")
    m.load(kane.Motor(track, 1.0 / (1.0 - track.q) ** 2))
    fast = compiled(m, ("floor sliding",))
    q, u = np.zeros((6, 2)), np.zeros((6, 2))
    u[::2, 0], u[1::2, 0] = 3.0, -3.0
    many = kane.simulate_many(fast, until=0.6, q=q, u=u)
    assert sorted(alone) == [0, 2, 4]
    assert not many.failures
    for i in range(2):
        run = kane.simulate(fast, until=0.6, q=q[i], u=u[i], times=[])
        assert np.array_equal(many.q[i, -1], run.q[-1])
        assert ("is stepped over" in str(run)) == (i == 0)


def test_painleves_rod_jams_in_its_lane(alone):
    fast = compiled(rod(), ("free", "tip sliding"))
    q = np.array([[0.25, 0.5 * np.sin(np.pi / 3), np.pi / 3]] * 4)
    u = np.array([[2.0, 0, 0], [-2.0, 0, 0], [1.0, 0, 0], [-1.0, 0, 0]])
    many = kane.simulate_many(fast, until=0.1, q=q, u=u)
    assert not alone
    for i in range(4):
        run = kane.simulate(fast, until=0.1, q=q[i], u=u[i], times=[])
        assert np.array_equal(many.q[i, -1], run.q[-1])
    assert [event.cause for event in run.events if event.time == 0.0]


def test_starts_that_are_refused_harm_no_other_and_have_the_reason_of_simulate():
    fast = compiled(rod(), ("free", "tip sliding"))
    q = np.array([[0.0, 1.0, 0.3], [0.0, 0.1, np.pi / 2], [0.0, 1.1, 0.3]])
    many = kane.simulate_many(fast, until=0.2, q=q)
    with pytest.raises(kane.ModelError) as alone:
        kane.simulate(fast, until=0.2, q=q[1])
    reason = str(alone.value).partition("; start with")[0]  # then the call that moves this start out
    assert many.failures.keys() == {1}
    assert many.failures[1].startswith(f"{reason}; start with")
    run = kane.simulate(fast, until=0.2, q=q[2], times=[])
    assert np.array_equal(many.q[2, -1], run.q[-1])


def test_threads_change_no_bit():
    model = rod()
    fast = [
        kane.compile_modes(kane.build(kane.formulate(model), target=kane.LLVM(threads=k)), ("free", "tip held"))
        for k in (1, 3)
    ]
    q = np.column_stack([np.zeros(40), np.linspace(0.6, 1.2, 40), np.linspace(-1.0, 1.0, 40)])
    first, second = (kane.simulate_many(each, until=0.6, q=q) for each in fast)
    assert np.array_equal(first.q, second.q)


def test_lanes_are_what_carries_them(monkeypatch):
    """The other tests would pass if all trajectories were made alone without OneByOne being asked."""
    asked = []
    made = ProjectedLanes.lanes
    monkeypatch.setattr(ProjectedLanes, "lanes", lambda self, system: asked.append(1) or made(self, system))
    fast = compiled(rod(), ("free", "tip sliding"))
    kane.simulate_many(fast, until=0.1, q=[[0.0, 1.0, 0.3]] * 3)
    assert asked
