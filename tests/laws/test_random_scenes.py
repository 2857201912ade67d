"""Scenes by lot, planar and spatial: energy never grows, nothing gets inside anything, every run comes to its end."""

import pytest
from oracles.random_scenes import GROWTH, INSIDE, told

QUICK = range(5)
MANY = range(150)


def check(seeds, spatial):
    """The scenes that stopped with an error, and those in which a gap closed and opened again within a quarter step."""
    stopped, missed = [], []
    for seed in seeds:
        found = told(seed, spatial=spatial)
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
def test_of_three_hundred_scenes_none_misses_a_contact_and_one_stops_with_an_error(spatial):
    """The one in space changes its mode again and again in one instant, and says so (docs/contacts.md)."""
    stopped, missed = check(MANY, spatial)
    assert len(stopped) <= spatial
    assert missed == []
