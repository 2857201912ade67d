"""Scenes by lot, planar and spatial: energy never grows, nothing gets inside anything, every run comes to its end.

`python -m benchmarks.scenes` runs and certifies a thousand larger ones; docs/contacts.md says what became of them.
"""

import numpy as np
import pytest
from oracles.random_scenes import FAMILIES, GROWTH, INSIDE, UNTIL, gaps_of, told

import kane

QUICK = range(3)
STEP = 2e-3  # of time steps [s]
MANY = range(150)


def check(seeds, spatial, family="small"):
    """The scenes that stopped with an error, and those in which a gap closed and opened again within a quarter step."""
    stopped, missed = [], []
    for seed in seeds:
        found = told(*FAMILIES[family].scene(seed, spatial=spatial))
        if found.error:
            stopped.append((seed, found.error))
        elif found.inside >= INSIDE:
            missed.append((seed, found.inside))
        assert found.growth < GROWTH, (seed, found)
    return stopped, missed


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_scenes_by_lot_lose_energy_stay_outside_and_come_to_their_end(spatial):
    assert check(QUICK, spatial) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_of_three_hundred_scenes_none_misses_a_contact_or_stops_with_an_error(spatial):
    assert check(MANY, spatial) == ([], [])


def step_through(seeds, spatial, family):
    """Run scenes by time steps, and check energy and penetration.

    The energy never exceeds the one at the start, except in varied scenes: loops that swing fast have errors of order
    h^2, up to 1.8e-4 of the energy in 50 scenes in the plane.

    No contact penetrates by more than half a step times its approach speed. Levers are shorter than 2 m, so that this
    speed is below twice the sum of all |u|.
    """
    for seed in seeds:
        model, q = FAMILIES[family].scene(seed, spatial=spatial)
        dyn = kane.build(kane.formulate(model))
        q = kane.assemble(dyn, q=q).q
        run = kane.simulate(dyn, until=UNTIL, q=q, integrator=kane.MoreauJean(), dt=STEP, every=1)
        share = 1e-3 if family == "varied" else 1e-6
        assert run.energy.max() - run.energy[0] < share * max(1.0, abs(run.energy[0])), seed
        assert -gaps_of(dyn, run).min(initial=0.0) <= STEP / 2 * 2.0 * np.abs(run.u).sum(axis=1).max() + 1e-9, seed


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_time_steps_of_scenes_by_lot_gain_no_energy_and_penetrate_by_less_than_half_a_step(spatial):
    step_through(QUICK, spatial, "small")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["small", "large", "varied"])
@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_time_steps_of_many_scenes_gain_no_energy_and_penetrate_by_less_than_half_a_step(spatial, family):
    step_through(MANY if family == "small" else range(50), spatial, family)


def test_a_dropped_box_comes_to_rest_on_a_face():
    """It once made no progress where three corners lay on the floor and one was about to slip."""
    m = kane.Model("box", gravity=(0, 0, -9.81))
    box = m.body("box", mass=1, inertia=(0.1,) * 3)
    m.connect(m.ground, box, kane.Free("b"))
    floor, rough = kane.Plane(m.ground.point(), m.ground.z), kane.Coulomb(0.5, 0.4)
    m.contact(kane.Box(0.4, 0.4, 0.4, box.point()), floor, restitution=0.4, friction=rough, name="c")
    start = {"b_qw": 0.9, "b_qx": 0.4, "b_qy": 0.1, "b_qz": 0.02**0.5, "b_z": 1.0}
    run = kane.simulate(kane.build(kane.formulate(m)), until=3.0, q=start, u={"b_vx": 1.5, "b_wy": 2.0})
    assert run.final.u == pytest.approx([0.0] * 6, abs=1e-15)  # rounding of what it falls with, 4 m/s
    assert run["b_z"][-1] == pytest.approx(0.2, abs=1e-9)
    assert run.modes[-1].count("held") == 4
