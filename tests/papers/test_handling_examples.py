"""Things that are pushed and carried: a box in a gripper, dominoes in a row."""

import runpy

import numpy as np
import pytest
from scipy.integrate import quad


@pytest.fixture(scope="module")
def gripper(root):
    return runpy.run_path(str(root / "examples" / "gripper.py"), run_name="example")


def test_a_box_is_lifted_by_friction_that_keeps_its_bound_and_does_not_creep(gripper):
    """Who vouches: Newton's law for the box, 2 friction = m (g + a), and the motion that the arm is given."""
    g = gripper
    run = g["lift"](g["gripper"]())
    share = np.clip((run.time - g["BEGINS"]) / g["TAKES"], 0.0, 1.0)
    rise = g["HEIGHT"] * (share - np.sin(2 * np.pi * share) / (2 * np.pi))
    assert run["box_z"] - g["SIZES"][2] / 2 == pytest.approx(rise, abs=3e-10)  # the tolerance, 1e-9, of 0.3 m
    assert abs(run.q[:, 1:6]).max() < 1e-12
    up = run.time > g["BEGINS"]
    acceleration = g["HEIGHT"] * 2 * np.pi / g["TAKES"] ** 2 * np.sin(2 * np.pi * share[up])
    for side in ("left", "right"):
        assert g["friction"](run, side)[up] == pytest.approx(g["MASS"] * (g["G"] + acceleration) / 2, rel=1e-9)
        for name in (x for x in run.reactions if x.startswith(side)):
            N, first, second = run.reactions[name].T
            assert N.min() >= 0.0
            assert (np.hypot(first, second) <= g["FRICTION"] * N + 1e-9).all()
    assert not any(run.active(name)[-1] for name in run.reactions if name.startswith("table"))


@pytest.fixture(scope="module")
def dominoes(root):
    return runpy.run_path(str(root / "examples" / "dominoes.py"), run_name="example")


class Row:
    """Dominoes that lean on each other have one freedom, the lean a of the foremost one: that behind leans by

        b = a + asin((p cos a - d) / h)

    Energy is kept between strikes; a strike, without rebound and through all that lean, keeps the momentum along the
    motion that is possible after it: the rate becomes T / (T + 1) of what it was, T the sum of (db / da)^2.
    """

    def __init__(self, example):
        self.p, self.d, self.h = example["PITCH"], example["THICKNESS"], example["HEIGHT"]
        self.inertia = (self.h**2 + self.d**2) / 3
        self.g = example["G"]

    def leans(self, a, n):
        """Of n dominoes and their rates by that of the foremost, which is the first of them."""
        angles, rates = [a], [1.0]
        for _ in range(n - 1):
            a = angles[-1]
            share = (self.p * np.cos(a) - self.d) / self.h
            angles.append(a + np.arcsin(share))
            rates.append(rates[-1] * (1.0 - self.p * np.sin(a) / self.h / np.sqrt(1.0 - share**2)))
        return np.array(angles), np.array(rates)

    def height(self, a, n):
        angles, _ = self.leans(a, n)
        return float(np.sum(self.h * np.cos(angles) + self.d * np.sin(angles)) / 2)

    def strikes(self, count, tilt, rate):
        """The times of strikes."""
        struck, time, times = np.arcsin((self.p - self.d) / self.h), 0.0, []
        for n in range(1, count):
            _, rates = self.leans(tilt, n)
            energy = self.inertia / 2 * rate**2 * (rates @ rates) + self.g * self.height(tilt, n)

            def speed(a, n=n, energy=energy):
                _, rates = self.leans(a, n)
                return np.sqrt(2 * (energy - self.g * self.height(a, n)) / self.inertia / (rates @ rates))

            time += quad(lambda a, speed=speed: 1.0 / speed(a), tilt, struck, epsabs=1e-13, epsrel=1e-12)[0]
            times.append(time)
            _, rates = self.leans(struck, n)
            total = rates @ rates
            tilt, rate = 0.0, speed(struck) * total / (total + 1.0)
        return np.array(times)


def test_dominoes_fall_as_a_chain_of_one_freedom_does(dominoes):
    """Who vouches: energy and momentum of dominoes that lean on each other [van Leeuwen 2010, without friction]."""
    found = dominoes["strikes"](dominoes["topple"](dominoes["row"]()))
    known = Row(dominoes).strikes(dominoes["COUNT"], dominoes["TILT"], dominoes["RATE"])
    assert found == pytest.approx(known, rel=1e-7)
    speeds = dominoes["PITCH"] / np.diff(found)
    assert (np.diff(speeds) > 0.0).all()
    assert speeds[-1] == pytest.approx(speeds[-2], rel=5e-3)  # a pulse that keeps its speed


def test_friction_between_dominoes_slows_the_pulse(dominoes):
    smooth = dominoes["strikes"](dominoes["topple"](dominoes["row"](6)))
    rough = dominoes["strikes"](dominoes["topple"](dominoes["row"](6, friction=0.2)))
    assert len(rough) == 5
    assert rough[0] == pytest.approx(smooth[0], rel=1e-9)  # alone
    assert (np.diff(rough) > np.diff(smooth)).all()
