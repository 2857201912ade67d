"""Bodies that spin on a table, against equations of motion written by hand."""

import runpy

import numpy as np
import pytest
from scipy.integrate import solve_ivp

ORACLE = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-13}


@pytest.fixture(scope="module")
def rattleback(root):
    return runpy.run_path(str(root / "examples" / "rattleback.py"), run_name="example")


@pytest.fixture(scope="module")
def stone(rattleback):
    return rattleback["stone"]()


def rolling_stone(example):
    """(k, w)' along the axes of the stone, k upwards, as Bondi has it [Proc. R. Soc. Lond. A 405 (1986) 265].

    Of the mass centre, v = -w x r with r to the point of the ellipsoid whose outward normal is -k; force and moment
    there eliminated: I w' + w x I w = m r x (v' + g k).
    """
    inertia, squares = np.array(example["INERTIA"]), np.square(example["AXES"])
    m, g, above = example["MASS"], example["G"], np.array([0.0, 0.0, example["BELOW"]])

    def slope(t, x):
        k, w = x[:3], x[3:]
        turning = np.cross(k, w)
        reach = np.sqrt(squares @ k**2)
        r = above - squares * k / reach
        along = -squares * turning / reach + squares * k * (squares @ (k * turning)) / reach**3
        known = -np.cross(w, along) - np.cross(w, np.cross(w, r)) + g * k  # v' + g k, but for w'
        about = inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
        return np.concatenate([turning, np.linalg.solve(about, m * np.cross(r, known) - np.cross(w, inertia @ w))])

    return slope


@pytest.mark.parametrize(
    ("way", "closely"),
    [pytest.param(-1.0, 2e-5, marks=pytest.mark.slow), pytest.param(1.0, 1e-8, marks=pytest.mark.slow)],
)
def test_a_rattleback_moves_as_bondis_equations_have_it(rattleback, stone, way, closely):
    """Rattling grows by a factor of ten thousand before the stone turns back, and errors of the start with it."""
    run = rattleback["spun"](stone, way * rattleback["SPIN"], until=10.0)
    start = [0.0, 0.0, 1.0, rattleback["TAP"], 0.0, way * rattleback["SPIN"]]
    known = solve_ivp(rolling_stone(rattleback), run.time[[0, -1]], start, t_eval=run.time, **ORACLE)
    found = np.array([run[f"stone_w{axis}"] for axis in "xyz"])
    assert abs(found - known.y[3:]).max() < closely
    assert run.energy == pytest.approx(np.full(len(run), run.energy[0]), rel=1e-9)
    assert run.active("table").all()


def test_a_rattleback_turns_back_one_way_only(rattleback, stone):
    wrong, right = (rattleback["spun"](stone, way * rattleback["SPIN"], until=12.0) for way in (-1.0, 1.0))
    assert wrong["stone_wz"][0] < -4.9
    assert wrong["stone_wz"][-1] > 4.9
    assert right["stone_wz"].min() > 4.9
    force = wrong.reactions["table"]
    assert force[:, 0].min() > 0.0
    assert (np.hypot(force[:, 1], force[:, 2]) <= force[:, 0]).all()  # within Coulomb's cone, of coefficient one


@pytest.fixture(scope="module")
def tippe(root):
    return runpy.run_path(str(root / "examples" / "tippe_top.py"), run_name="example")


def sliding_top(example):
    """(k, w, v of the mass centre)' of a ball with eccentric mass centre that slides: Newton and Euler, along the axes
    of the top, in which k is upwards. The height of the mass centre, R - a R k_z, says the normal force.
    """
    m, g, R, mu = example["MASS"], example["G"], example["R"], example["FRICTION"]
    inertia, lift = np.diag([example["ACROSS"], example["ACROSS"], example["ALONG"]]), example["ECCENTRICITY"] * R

    def slope(t, x):
        k, w, v = np.split(x, 3)
        r = np.array([0.0, 0.0, lift]) - R * k  # from the mass centre to the point in contact
        slip = v + np.cross(w, r)
        f = k - mu * slip / np.linalg.norm(slip)  # force over N
        turning = np.cross(k, w)
        # m g + m z'' = N with z'' = -lift k_z'', k' = k x w, k'' = k' x w + k x w', w' = I^-1 (N r x f - w x I w)
        free, forced = np.linalg.solve(inertia, np.column_stack([-np.cross(w, inertia @ w), np.cross(r, f)])).T
        known = np.cross(turning, w)[2] + np.cross(k, free)[2]
        N = m * (g - lift * known) / (1.0 + m * lift * np.cross(k, forced)[2])
        return np.concatenate([turning, free + N * forced, N / m * f - g * k - np.cross(w, v)])

    return slope


@pytest.mark.parametrize("until", [1.5, pytest.param(5.0, marks=pytest.mark.slow)])
def test_a_tippe_top_moves_as_newton_and_euler_have_it(tippe, until):
    """It slides all the time; at first its middle is at rest. The oracle in Python takes most of the time."""
    run = tippe["spun"](tippe["top"](), until=until)
    assert set(run.modes) == {"table sliding"}
    k = tippe["upwards"](run)
    w = np.column_stack([run[f"top_w{axis}"] for axis in "xyz"])
    below = np.array([0.0, 0.0, -tippe["ECCENTRICITY"] * tippe["R"]])
    start = np.concatenate([k[0], w[0], np.cross(w[0], below)])
    known = solve_ivp(sliding_top(tippe), run.time[[0, -1]], start, t_eval=run.time, **ORACLE | {"rtol": 1e-9}).y
    assert abs(known[:3].T - k).max() < 1e-5
    assert abs(known[3:6].T - w).max() < 1e-5 * tippe["SPIN"]
    if until == 5.0:
        assert np.degrees(np.arccos(k[-1, 2])) > 120.0


@pytest.mark.parametrize(("ratio", "least", "most"), [(0.7, 0.0, 6.0), (0.9, 170.0, 180.0), (1.3, 90.0, 130.0)])
def test_a_fast_tippe_top_turns_over_where_the_ratio_of_its_inertias_lets_it(tippe, ratio, least, most):
    """Who vouches: 1 - a < A / C < 1 + a for turning over; below it stays, above it stops between (see the example)."""
    across = ratio * tippe["ALONG"]
    run = tippe["spun"](tippe["top"](across), until=10.0)
    assert least <= np.degrees(np.arccos(tippe["upwards"](run)[-1, 2])) <= most
    J = tippe["jellett"](run, across)
    assert pytest.approx(np.full(len(J), J[0]), rel=1e-8) == J


def test_a_slow_tippe_top_stays_upright(tippe):
    run = tippe["spun"](tippe["top"](), 0.8 * tippe["threshold"]())
    assert np.degrees(np.arccos(tippe["upwards"](run)[:, 2])).max() < 6.0
