"""Copies of a scene side by side, which share nothing: each moves, and has events, as it does alone.

The scene alone vouches for its copies: fewer rows, other programs, one island.
"""

import math

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine

import kane
from kane.engine.memory.contact_codes import ADOPTED, SLIDING

G, HEIGHT, MU = 9.81, 0.05, (0.3, 0.4, 0.6)


def boxes(numbers):
    """Boxes on four corners that slide until friction has stopped them, each with a coefficient of its own."""
    m, start = kane.Model("boxes", gravity=(0, 0, -G)), {"q": {}, "u": {}}
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k in numbers:
        box = m.body(f"b{k}", mass=2.0, inertia=(0.02, 0.02, 0.04))
        m.connect(m.ground, box, kane.Free(f"f{k}"))
        start["q"] |= {f"f{k}_qw": 1.0, f"f{k}_z": HEIGHT}
        start["u"] |= {f"f{k}_vx": 1.0, f"f{k}_vy": 0.3 * k}
        for i, (x, y) in enumerate((x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)):
            m.contact(box.point((x, y, -HEIGHT)), floor, friction=kane.Coulomb(MU[k]), name=f"c{k}{i}")
    return kane.build(kane.formulate(m)), start


def events_of(run, k):
    return [(e.name, e.cause) for e in run.events if e.name.startswith(f"c{k}")]


@pytest.mark.parametrize("settings", [{"integrator": kane.RK4(), "dt": 1e-3}, {}])
def test_boxes_side_by_side_slide_to_rest_as_each_does_alone(settings):
    """Their events are at different times; accelerations are constant between them, so that steps do not err."""
    (together, start), until = boxes(range(3)), 0.5
    run = kane.simulate(together, until=until, every=1, **settings, **start)
    for k in range(3):
        dyn, own = boxes([k])
        alone = kane.simulate(dyn, until=until, every=1, **settings, **own)
        assert events_of(run, k) == events_of(alone, k)
        times = [[e.time for e in r.events if e.name.startswith(f"c{k}")] for r in (run, alone)]
        assert times[0] == pytest.approx(times[1], abs=1e-9)  # where speeds below 1e-9 m/s count as none
        for name in (f"f{k}_x", f"f{k}_y", f"f{k}_z", f"f{k}_qw", f"f{k}_qz"):
            assert run[name][-1] == pytest.approx(float(alone[name][-1]), abs=1e-13)


def test_four_corners_that_stop_together_take_no_shorter_steps_than_one_contact_does():
    """The speed falls linearly: only its end makes steps short. Rounding across the slip, which grows in the last stage
    of a step that ends there, would make friction, and errors that ask for steps shorter and shorter.
    """
    dyn, start = boxes([0])
    run = kane.simulate(dyn, until=0.5, every=1, **start)
    causes = [(e.cause, e.time) for e in run.events if e.time > 0]
    assert [cause for cause, _ in causes] == ["sticks"] * 4
    assert len({time for _, time in causes}) == 1
    assert len(run.time) < 12  # eight states; nineteen with friction of rounding


def test_a_plate_on_sixteen_feet_stops_at_once_where_the_closed_form_says():
    """All feet slip alike but for rounding, of which steps that are cut and taken again must not make friction."""
    m, mu = kane.Model("plate", gravity=(0, 0, -G)), 0.4
    body = m.body("plate", mass=2.0, inertia=(0.02, 0.02, 0.04))
    m.connect(m.ground, body, kane.Free("f"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k in range(16):
        x, y = 0.2 * math.cos(math.pi * k / 8), 0.2 * math.sin(math.pi * k / 8)
        m.contact(body.point((x, y, -HEIGHT)), floor, friction=kane.Coulomb(mu), name=f"c{k}")
    start = {"q": {"f_qw": 1.0, "f_z": HEIGHT}, "u": {"f_vx": 1.0}}
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.3, integrator=kane.RK4(), dt=1e-3, **start)
    stopped = [e for e in run.events if e.time > 0]
    assert [e.cause for e in stopped] == ["sticks"] * 16
    # what slips slower than 1e-9 m/s at an event counts as none: 2.5e-10 s of this friction
    assert [e.time for e in stopped] == pytest.approx([1 / (mu * G)] * 16, abs=1e-9)
    assert float(run["f_x"][-1]) == pytest.approx(1 / (2 * mu * G), abs=1e-14)  # some units in the last place


def chains(count):
    """Chains of two links on a floor, three contacts each; a force by input on each link."""
    m = kane.Model("chains", gravity=(0, -G, 0))
    floor, friction = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(0.4)
    for k in range(count):
        first, second = (
            m.body(f"{name}{k}", mass=mass, inertia=(0.01, 0.02, 0.015)) for name, mass in (("a", 1), ("b", 2))
        )
        m.connect(m.ground, first, kane.Free(f"f{k}"))
        m.connect(first, second, kane.Spherical(f"s{k}"), at=(0.2, 0, 0), child_at=(-0.2, 0, 0))
        for link in (first, second):
            m.load(kane.Force(link.point((0.05, 0, 0)), tuple(m.input(f"{axis}{link.name}") for axis in "xyz")))
        for name, link, place in (("l", first, -0.15), ("m", second, -0.15), ("r", second, 0.15)):
            m.contact(link.point((place, 0, -0.02)), floor, friction=friction, name=f"{name}{k}")
    machine = ContactMachine(m)
    q = np.zeros(machine.nq)
    q[list(machine.equations.quaternions)] = 1.0
    return machine, q


def begin(machine, q, forces):
    """The change at rest under these forces, and accelerations in the mode behind it."""
    machine.fresh()
    machine.inputs[:] = forces
    rest = np.zeros(machine.n)
    return machine.transition(q, rest), machine.call("rhs", q, rest)[machine.nq :]


def test_chains_side_by_side_find_the_modes_that_each_finds_alone():
    """Pulled out of rest by forces by lot; together they need more flips than one island may have."""
    rng, copies, compared = np.random.default_rng(0), 4, 0
    (together, places), (alone, place) = chains(copies), chains(1)
    for _ in range(40):
        forces = rng.normal(size=(copies, alone.inputs.size)) * np.tile([8.0, 20.0, 8.0], 2)
        each = [begin(alone, place, given) for given in forces]
        if any(changed.status != ADOPTED for changed, _ in each):
            continue
        whole, udot = begin(together, places, forces.ravel())
        assert whole.statuses == [status for changed, _ in each for status in changed.statuses]
        expected = np.concatenate([own for _, own in each])
        assert udot == pytest.approx(expected, abs=1e-9 * (1.0 + np.abs(expected).max()))
        compared += SLIDING in whole.statuses
    assert compared > 25
