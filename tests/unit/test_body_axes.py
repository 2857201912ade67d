"""Rows of points that contacts hold, along the axes of their bodies.

What vouches: the rows that they stand for, at a random state that is not on them; both are derived from velocities, the
ones by the chain rule along the ground's directions, the others along the body's.
"""

import numpy as np
import pytest

import kane
from kane.formulation.constraints.body_axes import in_body_axes
from kane.formulation.read_model import probe_of
from tests.unit.test_compiled_contacts import tumbler

# Some hundred operations.
ROUNDING = 1e-12


def numbers(eqs, rows):
    """A, A u + b and the remainder at a random state."""
    n = len(eqs.u)
    each = [[*(row.coefficients.get(j, 0.0) for j in range(n)), row.motion, row.remainder] for row in rows]
    lift = eqs.t.arena.lift
    return np.array(probe_of(eqs.model).anywhere([lift(x) for row in each for x in row])).reshape(len(rows), n + 2)


@pytest.mark.parametrize("name", ["corner", "tip"])
def test_rows_along_the_axes_of_a_body_say_the_same_off_the_rows_too(name):
    """Each row along the ground is its direction times these; between two settlings a step is off both alike."""
    eqs = kane.formulate(tumbler()).with_intermittent_rows
    constraint = next(c for c in eqs.intermittents if c.name == name)
    turned = in_body_axes(constraint, eqs.system)
    lift = eqs.t.arena.lift
    D = probe_of(eqs.model).anywhere([lift(x) for d in turned.directions for x in d])
    found, expected = np.reshape(D, (3, 3)) @ numbers(eqs, turned.rows), numbers(eqs, constraint.rows)
    assert np.abs(found - expected).max() < ROUNDING * np.abs(expected).max()


@pytest.mark.parametrize(("third", "turns"), [((0, 0, 1), True), ((1, 0, 1), False)])
def test_directions_that_are_not_at_right_angles_stay_as_they_are(third, turns):
    """Their forces are no rotation of those along the body."""
    m = tumbler()
    v, N = m.bodies[1].point((0.1, 0.2, -0.1)).velocity, m.ground
    m.switch([v.dot(N.x), v.dot(N.y), v.dot(N.direction(third))], on=m.time - 1, off=m.time - 2, name="pin")
    eqs = kane.formulate(m).with_intermittent_rows
    pin = next(c for c in eqs.intermittents if c.name == "pin")
    assert (in_body_axes(pin, eqs.system) is not None) == turns
