"""Operation counts of mobile manipulators beside the bound that Tanner & Kyriakopoulos derive for their equations."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import kane
from kane.library.mobile_manipulator import ArmLink, Platform, mobile_manipulator

LINKS = range(1, 8)
# Measured: at most 0.24 of the bound with Table I's level arm, one link and four wheels, and 0.38 with skew links.
SHARE = {"level": 0.25, "skew": 0.40}


def skew(links):
    """Links without a zero or right angle anywhere, on a base away from the platform's mass centre."""
    random = np.random.default_rng(links)
    triples = lambda low, high: tuple(map(float, random.uniform(low, high, 3)))  # noqa: E731
    return [
        ArmLink(
            2.0, triples(0.5, 0.6), triples(-0.5, 0.5), triples(-0.5, 0.5), kane.Rotation.euler("xyz", *triples(-1, 1))
        )
        for _ in range(links)
    ]


@cache
def counts(arm, links, wheels):
    """Of inverse and forward dynamics, all constraints embedded."""
    if arm == "level":
        model = mobile_manipulator(links, wheels)
    else:
        high = Platform(base_at=(0.1, 0.05, 0.2), first_joint=(0.03, 0.02, 0.3))
        model = mobile_manipulator(skew(links), wheels, platform=high)
    return kane.formulate(model).count()


@pytest.mark.parametrize("wheels", [3, 4])
@pytest.mark.parametrize("links", LINKS)
@pytest.mark.parametrize("arm", SHARE)
def test_forward_dynamics_needs_a_fraction_of_the_printed_bound(arm, links, wheels):
    """37.5 m^2 + 441.5 m + 88 + 28 w and 31.5 m^2 + 392.5 m + 26 + 11 w, which solve for no acceleration (Sec. 5.2)."""
    row = counts(arm, links, wheels)["forward"]
    assert row["mul"] + row["div"] < SHARE[arm] * (37.5 * links**2 + 441.5 * links + 88 + 28 * wheels)
    assert row["add"] < SHARE[arm] * (31.5 * links**2 + 392.5 * links + 26 + 11 * wheels)


@pytest.mark.parametrize("wheels", [3, 4])
def test_one_more_link_costs_inverse_dynamics_the_same_at_any_length(wheels):
    """The recursive route is linear in m; Table I's second link repeated."""
    rows = [counts("level", links, wheels)["inverse"] for links in LINKS]
    for kind in ("mul", "add", "trig"):
        steps = {after[kind] - before[kind] for before, after in pairwise(rows[1:])}
        assert len(steps) == 1, (kind, steps)


@pytest.mark.parametrize("wheels", [3, 4])
def test_a_skew_link_costs_inverse_dynamics_no_more_than_angeles_joint(wheels):
    """105 mul and 90 add a joint (Angeles, Ma & Rojas 1988), with what platform, base and wheels cost beside."""
    for links in LINKS:
        row = counts("skew", links, wheels)["inverse"]
        one = counts("skew", 1, wheels)["inverse"]
        assert row["mul"] - one["mul"] <= 105 * (links - 1)
        assert row["add"] - one["add"] <= 90 * (links - 1)


def test_the_wheels_angles_of_turning_stand_in_no_equation_of_motion():
    """Two functions of phi and each joint, and nothing of the heading or the wheels."""
    for links in (1, 3):
        assert counts("level", links, 3)["forward"]["trig"] == 2 * (1 + links)
