"""Rows made of velocities of one link in the ground, joint by joint and from the accelerations of the recursion.

What vouches: the same rows derived from velocities that are carried out along the tree, and by the chain rule, at a
random state that is not on them.
"""

import numpy as np
import pytest

import kane
from kane.formulation.constraints.point_rows import PointRows
from kane.formulation.constraints.rows import row_equation
from kane.formulation.read_model import probe_of

# Some hundred operations.
ROUNDING = 1e-12


def arm_on_a_turntable():
    """Joints of several freedoms on a base that turns as time says; surfaces whose normals move, and a slope."""
    m = kane.Model("arm", gravity=(1, -2, -9))
    N, table = m.ground, m.body("table", mass=1, inertia=(0.1, 0.1, 0.2))
    arm, hand = (m.body(name, mass=1, inertia=(0.02, 0.03, 0.04), com=(0.1, 0.02, 0)) for name in ("arm", "hand"))
    m.connect(N, table, kane.Revolute(0.5 * m.time * m.time, axis="z"), at=(0.1, 0.2, 0.3))
    m.connect(table, arm, kane.Spherical("s"), at=(0.2, 0, 0.1))
    m.connect(arm, hand, kane.Cylindrical(("x", "turn"), axis="y"), at=(0.3, -0.1, 0))
    rough = kane.Coulomb(0.5)
    m.contact(
        hand.point((0.1, 0.2, -0.3)), kane.Plane(N.point(), N.direction((0.6, 0, 0.8))), friction=rough, name="tip"
    )
    m.contact(kane.Sphere(arm.point((0, 0.1, 0)), 0.05), kane.Plane(N.point(), N.z), friction=rough, name="ball")
    m.contact(hand.point((0, 0, 0.1)), kane.Cylinder(N.point(), N.x, 0.2), friction=rough, name="on a pipe")
    m.contact(hand.point((0.4, 0, 0)), kane.Plane(table.point(), table.z), friction=rough, name="on the table")
    return m


def chosen_speeds():
    """Speeds that are none of the joints' own."""
    m = kane.Model("double pendulum", gravity=(0, -9.81, 0))
    upper, lower = (m.body(name, mass=1, inertia=(0.01, 0.02, 0.03), com=(0.2, 0, 0)) for name in ("upper", "lower"))
    a = m.connect(m.ground, upper, kane.Revolute("a", axis="z"))
    b = m.connect(upper, lower, kane.Revolute("b", axis="x"), at=(0.4, 0, 0))
    m.speeds(w1=a.qdot + 2 * b.qdot, w2=b.qdot)
    m.contact(
        lower.point((0.3, 0.1, 0)), kane.Plane(m.ground.point(), m.ground.y), friction=kane.Coulomb(1), name="tip"
    )
    return m


def numbers(eqs, *equations):
    """Of each A, A u + b and the remainder, at one random state."""
    n, lift = len(eqs.u), eqs.t.arena.lift
    each = [[*(e.coefficients.get(j, 0.0) for j in range(n)), e.motion, e.remainder] for e in equations]
    found = probe_of(eqs.model).anywhere([lift(x) for row in each for x in row])
    return np.reshape(found, (len(equations), n + 2))


@pytest.mark.parametrize(
    ("model", "names"), [(arm_on_a_turntable, ["tip", "ball", "on a pipe"]), (chosen_speeds, ["tip"])]
)
def test_rows_of_one_link_say_what_the_chain_rule_says_off_the_rows_too(model, names):
    eqs = kane.formulate(model()).with_intermittent_rows
    made = PointRows(eqs.system)
    for c in eqs.model.intermittents:
        for row in c.rows if c.name in names else ():
            found, expected = made.equation(row, row.name), row_equation(row, row.name, eqs.system)
            assert found.remainder is not expected.remainder
            a, b = numbers(eqs, found, expected)
            assert np.abs(a - b).max() < ROUNDING * np.abs(b).max()


def test_rows_of_two_links_or_of_other_rates_stay_as_they_are():
    m = arm_on_a_turntable()
    tip = m.bodies[-1].point((0.1, 0, 0))
    m.switch(tip.velocity.dot(m.ground.x) - 0.2 * m.rate("x"), on=m.time - 1, off=m.time - 2, name="geared")
    eqs = kane.formulate(m).with_intermittent_rows
    made = PointRows(eqs.system)
    for row in (row for c in eqs.model.intermittents if c.name in ("on the table", "geared") for row in c.rows):
        assert made.equation(row, row.name).remainder is row_equation(row, row.name, eqs.system).remainder
