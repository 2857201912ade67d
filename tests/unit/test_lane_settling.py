"""Closed loops settled side by side: every lane gets the bits that it gets alone.

What vouches: ``kane.simulate``, whose settling goes state by state through other code (``engine/choices``); that lanes
were settled together is read off what they note.
"""

import numpy as np
import pytest

import kane
from kane import library
from kane.ensembles.projected_lanes import ProjectedLanes


@pytest.fixture
def lanes(monkeypatch):
    """What lanes have of their own in the runs that follow."""
    found, made = [], ProjectedLanes.lanes

    def noted(self, system):
        single, choices = made(self, system)
        found.append(choices)
        return single, choices

    monkeypatch.setattr(ProjectedLanes, "lanes", noted)
    return found


@pytest.fixture(scope="module")
def four_bars():
    """A four-bar with all its choices compiled."""
    dyn = kane.build(kane.formulate(library.four_bar()), target=kane.LLVM(threads=1))
    return kane.compile_modes(dyn, ["u1, u2 dependent", "u1, u3 dependent", "u2, u3 dependent"])


def turning(fast, size=1.0):
    """Where a motion begins in which all three angles turn back, with rods of this length [m]."""
    parameters = {"a": size, "b": size, "c": size, "d": 1.5 * size, "g": 0.0}
    start = kane.assemble(fast, q={"q1": 1.0, "q3": 1.5}, u={"u2": 3.0}, fixed=["q1", "u2"], parameters=parameters)
    return {"q": start.q, "u": start.u, "parameters": parameters}


def assert_bits(fast, how, count=11, **asked):
    """Runs that start faster and slower: together, and each alone."""
    speeds = np.linspace(0.5, 1.5, count)[:, None] * how["u"]
    asked |= {"parameters": how["parameters"]}
    many = kane.simulate_many(fast, q=np.tile(how["q"], (count, 1)), u=speeds, **asked)
    assert many.finished.all()
    for k in range(count):
        alone = kane.simulate(fast, q=how["q"], u=speeds[k], **asked)
        assert np.array_equal(many.q[k], alone.q)
        assert np.array_equal(many.u[k], alone.u)


@pytest.mark.parametrize("rtol", [1e-3, 1e-9], ids=["with several steps of Newton's method", "with one"])
def test_lanes_in_different_choices_are_projected_together(lanes, four_bars, rtol):
    assert_bits(four_bars, turning(four_bars), until=2.0, times=(0.3, 1.7), integrator=kane.RK5(rtol, rtol))
    (own,) = lanes
    assert own.projection.projected.any()
    assert (own.projection.sizes[1] > 1e-14).any(), "no state was off its constraints"


def test_a_step_that_gains_nothing_beside_rounding_is_taken_back(lanes, four_bars):
    """Rods of a kilometre: residuals of rounding are above those of rods of a metre."""
    assert_bits(four_bars, turning(four_bars, 1000.0), until=2.0, times=(1.7,))
    own = lanes[0].projection
    assert (own.sizes[0][own.projected == 1] > 1e-14).any()


def test_unit_quaternions_are_scaled_as_alone(lanes):
    """A pendulum on a ball joint whose tip is held on a line by a second rod, in coordinates with a quaternion."""
    model = kane.Model("two rods in space", gravity=(0.0, 0.0, -9.81))
    near, far = (model.body(name, mass=1.0, inertia=(0.1, 0.1, 0.02)) for name in "AB")
    model.connect(model.ground, near, kane.Spherical("p"))
    model.connect(model.ground, far, kane.Spherical("s"), at=(1.0, 0.0, 0.0))
    model.constrain(kane.Coincidence(near.point((0.5, 0.0, -0.5)), far.point((-0.5, 0.0, -0.5))), name="ends")
    dyn = kane.build(kane.formulate(model), target=kane.LLVM(threads=1))
    start = kane.assemble(dyn)
    rng = np.random.default_rng(1)
    start = kane.assemble(dyn, q=start.q, u=rng.standard_normal(len(start.u)))
    modes = kane.simulate(dyn, until=0.3, q=start.q, u=start.u).modes
    fast = kane.compile_modes(dyn, modes, near=start)
    assert_bits(fast, {"q": start.q, "u": start.u, "parameters": {}}, count=9, until=0.2, times=(0.1,))
    assert lanes[0].projection.projected.any()


def test_a_state_that_is_not_finite_stays_as_it_is_and_harms_no_other(four_bars):
    """A torque of 1e300 N m throws one crank beyond all numbers."""
    fast, how = four_bars, turning(four_bars)
    inputs = np.where(np.arange(9) == 4, 1e300, 0.1)[:, None]
    asked = {"until": 0.5, "times": (0.2,), "parameters": how["parameters"]}
    many = kane.simulate_many(fast, q=np.tile(how["q"], (9, 1)), u=np.tile(how["u"], (9, 1)), inputs=inputs, **asked)
    assert sorted(many.failures) == [4]
    alone = kane.simulate(fast, q=how["q"], u=how["u"], inputs=[0.1], **asked)
    for k in (0, 3, 5, 8):
        assert np.array_equal(many.q[k], alone.q)
    with pytest.raises(kane.SimulationError):
        kane.simulate(fast, q=how["q"], u=how["u"], inputs=[1e300], **asked)
