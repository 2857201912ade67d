"""Examples of impacts that meet: closed forms, balance of forces, and a time stepping written here."""

import importlib.util
import sys

import numpy as np
import pytest


@pytest.fixture
def example(root):
    def load(name):
        spec = importlib.util.spec_from_file_location(f"example_{name}", root / "examples" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_the_cradle_disperses_as_by_hand(example, e):
    cradle = example("newtons_cradle")
    shares = cradle.first_impact(cradle.run("together", e, until=0.4))
    assert shares == pytest.approx([(1 - 4 * e) / 5, *[(1 + e) / 5] * 4], abs=1e-8)


def test_in_turn_the_last_ball_leaves(example):
    cradle = example("newtons_cradle")
    assert cradle.first_impact(cradle.run("in turn", until=0.4)) == pytest.approx([0, 0, 0, 0, 1], abs=1e-8)


def test_two_rough_walls_give_back_no_more_than_came(example):
    """By Poisson's law as it stands the body would have four times its energy."""
    walls = example("two_rough_walls")
    before, made = walls.by_poisson()
    assert before == pytest.approx(2.625)
    assert made > 4.0 * before
    run = walls.struck()
    assert run.energy[-1] == pytest.approx(before, rel=1e-11)
    assert {event.name for event in run.events} == {"first", "second"}


def stepped(until, dt):
    """When contacts of the woodpecker were struck, which, and the speeds behind it, by Moreau's time stepping.

    Newton's law, Coulomb's between friction impulse and slip behind it; M, h and directions as in Glocker (1995).
    """
    a, b, c, g, M, S = 0.01, 0.015, 0.0056, 9.81, 0.0003, 0.0045
    mass = np.array([[S + M, S * a, S * b], [S * a, 5e-9 + S * a * a, S * a * b], [S * b, S * a * b, 7e-7 + S * b * b]])
    normals = np.array([[0, 0, -0.02], [0, 0.0058, 0], [0, -0.0058, 0]])
    slips = np.array([[1, a, b - 0.0201], [1, 0.0031, 0], [1, 0.0031, 0]])
    gaps, W, struck, before = np.array([0.0024, 0.0006, 0.0006]), np.linalg.inv(mass), [], {1}
    q, u = np.array([0, -0.0006 / 0.0058, -0.2788]), np.array([-0.3411, 0, -7.4583])
    for step in range(round(until / dt)):
        middle = q + dt / 2 * u
        spring = c * (middle[1] - middle[2])
        free = u + dt * W @ [-(S + M) * g, -spring - S * g * a, spring - S * g * b]
        near = np.flatnonzero(gaps + normals @ middle <= 0)
        J = np.vstack([normals[near], slips[near]])
        G, w, p, k = J @ W @ J.T, J @ free, np.zeros(2 * len(near)), len(near)
        w[:k] += np.where(near == 0, 0.5, 0.0) * (normals[near] @ u)
        for _ in range(500 if k else 0):
            old = p.copy()
            for j in range(k):
                p[j] = max(0.0, p[j] - (w[j] + G[j] @ p) / G[j, j])
                p[k + j] = np.clip(p[k + j] - (w[k + j] + G[k + j] @ p) / G[k + j, k + j], -0.3 * p[j], 0.3 * p[j])
            if np.abs(p - old).max() < 1e-14:
                break
        after = free + W @ J.T @ p
        if set(near) - before:
            struck.append((step * dt, *(set(near) - before), after))
        q, u, before = q + dt / 2 * (u + after), after, set(near)
    return struck


def test_the_woodpecker_goes_as_by_time_stepping_up_to_the_beak_and_finds_a_cycle_near_the_published_one(example):
    woodpecker = example("woodpecker")
    run = woodpecker.hop(3.0)
    struck = stepped(0.0805, 2.5e-5)
    ((t, who, after),) = struck
    upper = next(event for event in run.events if event.name == "upper edge")
    assert (who, upper.time) == (2, pytest.approx(t, abs=1e-4))
    assert upper.u == pytest.approx(after, rel=5e-3, abs=1e-3)
    passed = [event for event in run.events if event.name == "section"]
    periods = np.diff([event.time for event in passed])
    assert periods[-4:] == pytest.approx([0.1512] * 4, abs=2e-4)
    assert abs(periods[-1] - periods[-2]) < abs(periods[1] - periods[0]) / 50
    assert passed[-1].u == pytest.approx([-0.3411, 0.0, -7.4583], rel=0.06)


def test_balls_in_a_groove_come_to_rest_and_the_walls_carry_them(example):
    bag = example("bag_of_spheres")
    run = bag.dropped()
    assert np.abs(run.u[-1]).max() < 1e-12
    assert bag.support(run) == pytest.approx(3 * 9.81, rel=1e-9)
    assert np.diff(run.energy).max() < 1e-10
    for name, forces in run.reactions.items():
        assert forces[-1][0] >= -1e-9, name
