"""Directions of slow slip in space: native code beside the expressions of compiled programs, and what rounding does."""

import numpy as np
import pytest

import kane
from kane.engine.laws.slip import LEAST_BEGUN, slip_direction, slip_left
from kane.engine.memory.views import contact_state_at, contact_state_size
from kane.formulation.quantities.responses import direction_of, left_of


def turned(before, v, begun=LEAST_BEGUN):
    state = contact_state_at(np.zeros(contact_state_size(1)), 0, 1)
    state.along[0], state.begun[0] = before, begun
    return np.array(slip_direction(state, 0, 2, *map(float, v)))


def test_expressions_give_the_directions_of_native_code():
    names = ("vx", "vy", "x", "y", "begun")
    m = kane.Model("slip")
    vx, vy, x, y, begun = (m.parameter(name, 1.0) for name in names)
    direction, left = direction_of([vx, vy], [x, y], begun), left_of([vx, vy], [x, y])
    rng = np.random.default_rng(0)
    for _ in range(200):
        angle, size = rng.uniform(0, 2 * np.pi), 10.0 ** rng.uniform(-17, -5)
        before, v, b = (np.cos(angle), np.sin(angle)), size * rng.normal(size=2), 10.0 ** rng.uniform(-9, -6)
        values = dict(zip(names, (*v, *before, b), strict=True))
        found = [kane.evaluate(part, values) for part in direction]
        assert found == pytest.approx(turned(before, v, b), abs=1e-14)
        values.pop("begun")
        assert kane.evaluate(left, values) == pytest.approx(slip_left(*before, *v), rel=1e-14, abs=1e-14 * size)


def test_rounding_across_a_slip_that_ends_turns_no_friction():
    """Of speeds of 1 m/s; what it turned friction by before, 2.5e-8 rad, made it grow in steps of 1 ms."""
    assert turned((1.0, 0.0), (1e-13, 5e-17)) == pytest.approx((1.0, 0.0), abs=1e-15)


def test_slow_slip_turns_with_what_it_has_across_and_fast_slip_has_its_own_direction():
    b = LEAST_BEGUN
    # along it counts as b, and a hundredth of that across by half: slower slip would turn ever faster
    assert turned((1.0, 0.0), (0.0, 0.01 * b)) == pytest.approx((1.0, 0.005), rel=0.02)
    assert turned((1.0, 0.0), (3e-6, 4e-6)) == pytest.approx((0.6, 0.8), rel=1e-13)


@pytest.mark.parametrize(("across", "goes_on"), [(0.9, False), (-0.9, False), (1.1, True), (-1.1, True)])
def test_slip_ends_where_it_goes_back_more_than_across(across, goes_on):
    assert (slip_left(1.0, 0.0, -1.0, across) > 0.0) == goes_on


def test_what_is_left_of_slip_does_not_depend_on_the_axes():
    """The closed form: the part along the direction and the size of the part across it."""
    for angle in np.linspace(0.0, 6.0, 7):
        x, y = np.cos(angle), np.sin(angle)
        for along, across in ((2.0, 0.3), (-2.0, 0.3), (-0.2, -3.0)):
            v = (along * x - across * y, along * y + across * x)
            assert slip_left(x, y, *v) == pytest.approx(along + abs(across), rel=1e-14)
