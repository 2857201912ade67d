"""Scenes by lot, planar and spatial: energy never grows, nothing gets inside anything, every run comes to its end."""

import pytest
from oracles.random_scenes import GROWTH, INSIDE, told

QUICK = range(5)
MANY = range(150)


def check(seeds, spatial):
    stopped = []
    for seed in seeds:
        found = told(seed, spatial=spatial)
        if found.error:
            stopped.append((seed, found.error))
            continue
        assert found.growth < GROWTH, (seed, found)
        assert found.inside < INSIDE, (seed, found)
    return stopped


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_scenes_by_lot_lose_energy_stay_outside_and_come_to_their_end(spatial):
    assert check(QUICK, spatial) == []


@pytest.mark.slow
@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_of_three_hundred_scenes_hardly_any_stops_with_an_error(spatial):
    assert len(check(MANY, spatial)) <= 3
