"""Slip in space that is slow and has to turn: friction across it balances what pushes there."""

import numpy as np
import pytest

import kane

N, STATIC, KINETIC, HEAVY = 9.81, 0.3, 0.2, 1e3


@pytest.mark.parametrize("integrator", [kane.RK8(rtol=1e-9), kane.RK5()], ids=repr)
def test_friction_turns_with_a_load_across_a_slip_that_has_hardly_begun(integrator):
    """A foot of 1 kg on a cart of 1 t, which alone moves along x: slip begins with 1 mm/s^2, and the load across it
    turns round before it has come to 1e-7 m/s. Across it the foot is in balance; the rest of friction brakes the cart.
    """
    m, until, rate = kane.Model("cart", gravity=(0, 0, -N)), 1e-4, 2e4
    cart, slide, foot = (m.body(name, mass=mass) for name, mass in (("cart", HEAVY - 1), ("slide", 0), ("foot", 1)))
    for parent, child, axis in ((m.ground, cart, "x"), (cart, slide, "y"), (slide, foot, "z")):
        m.connect(parent, child, kane.Prismatic(axis, axis=axis))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(foot.point(), floor, friction=kane.Coulomb(STATIC, KINETIC), name="foot")
    along, across = np.sqrt((1.001 * STATIC * N) ** 2 - 1.0), 1.0 - rate * m.time
    m.load(kane.Force(foot.point(), (along, across, 0)))
    run = kane.simulate(kane.build(kane.formulate(m)), until=until, integrator=integrator)
    assert [(e.name, e.cause) for e in run.events] == [("foot", "imposed")]
    x, w = np.polynomial.legendre.leggauss(20)
    across = 1.0 - rate * 0.5 * until * (1.0 + x)
    braked = w @ (along - np.sqrt((KINETIC * N) ** 2 - across**2)) * 0.5 * until / HEAVY
    # the foot lags behind its balance by some 1e-3 of the slip
    assert run["x_dot"][-1] == pytest.approx(braked, rel=1e-3)
