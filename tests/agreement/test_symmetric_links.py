"""Links alike about their axis need no angle in the equations: the explicit route, which does not know it, vouches."""

import numpy as np
import pytest

import kane
from kane.expression.traverse import leaves


def rotor(inertia, com=(0.0, 0.0, 0.0), *, force=False, child=False, speeds=False):
    """A body that tumbles and carries a wheel on a skew axle."""
    m = kane.Model("rotor", gravity=(0.0, 0.0, -9.81))
    a = m.body("a", mass=2.0, inertia=(0.3, 0.2, 0.25), com=(0.1, 0.0, 0.2))
    m.connect(m.ground, a, kane.Universal(("q1", "q2")))
    w = m.body("w", mass=0.7, inertia=inertia, com=com)
    skew = kane.Rotation.about("x", 0.4)
    turn = m.connect(a, w, kane.Revolute("q3", axis="y"), at=(0.3, 0.1, -0.2), orientation=skew)
    m.load(kane.Motor(turn, m.input("tau")))
    if force:
        m.load(kane.Force(w.point((0.2, 0.0, 0.0)), (1.0, 2.0, 3.0), expressed_in=w))
    if child:
        b = m.body("b", mass=0.3, inertia=(0.01, 0.01, 0.01), com=(0.1, 0.0, 0.0))
        m.connect(w, b, kane.Revolute("q4", axis="x"), at=(0.2, 0.0, 0.0))
    if speeds:
        m.speeds(**{f"u{i}": w.angular_velocity.dot(axis) for i, axis in enumerate((w.x, w.y, w.z), start=1)})
    return m


DISK = (0.02, 0.04, 0.02)
CASES = {
    "a disk": (rotor(DISK), False),
    "a disk off its axle": (rotor(DISK, (0.05, 0.0, 0.0)), True),
    "a disk off along its axle": (rotor(DISK, (0.0, 0.1, 0.0)), False),
    "no disk": (rotor((0.02, 0.04, 0.03)), True),
    "a disk with a force fixed in it": (rotor(DISK, force=True), True),
    "a disk that carries a link": (rotor(DISK, child=True), True),
    "a disk with its own axes for speeds": (rotor(DISK, speeds=True), True),
}


@pytest.mark.parametrize(("model", "needs_angle"), CASES.values(), ids=CASES)
def test_the_angle_of_a_link_stands_in_the_equations_only_where_it_matters(model, needs_angle):
    eqs, explicit = kane.formulate(model), kane.explicit(model)
    assert (eqs.q[2] in leaves([*eqs.forward, *eqs.inverse])) == needs_angle
    random = np.random.default_rng(5)
    n = len(eqs.u)
    here, there = kane.build(eqs), kane.build(explicit)
    q, u = random.uniform(0.3, 1.2, n), random.normal(size=n)
    given = random.normal(size=len(eqs.inputs))
    expected = there.forward(q, u, given)
    # Some hundred operations, and a mass matrix with a condition of 1e2.
    np.testing.assert_allclose(here.forward(q, u, given), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
