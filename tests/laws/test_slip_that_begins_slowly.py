"""Slip in space that is slow and has to turn: friction across it balances what pushes there."""

import numpy as np
import pytest

import kane

N, STATIC, KINETIC, HEAVY, UNTIL = 9.81, 0.3, 0.2, 1e3, 1e-4


def begin(across, turns, integrator):
    """A foot of 1 kg on a cart of 1 t, which alone moves along x: slip begins with 1 mm/s^2, and the load across it
    turns before it has come to 1e-7 m/s. Across it the foot is in balance; the rest of friction brakes the cart.

    Args:
        across: the load across x as the slip begins [N].
        turns: of which this share is gone at last; with 2 it has turned round.
        integrator: of the run.

    Returns:
        The run, and how fast the cart is at last, by quadrature [m/s].
    """
    m, rate = kane.Model("cart", gravity=(0, 0, -N)), turns * across / UNTIL
    cart, slide, foot = (m.body(name, mass=mass) for name, mass in (("cart", HEAVY - 1), ("slide", 0), ("foot", 1)))
    for parent, child, axis in ((m.ground, cart, "x"), (cart, slide, "y"), (slide, foot, "z")):
        m.connect(parent, child, kane.Prismatic(axis, axis=axis))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(foot.point(), floor, friction=kane.Coulomb(STATIC, KINETIC), name="foot")
    along = np.sqrt((1.001 * STATIC * N) ** 2 - across**2)
    m.load(kane.Force(foot.point(), (along, across - rate * m.time, 0)))
    run = kane.simulate(kane.build(kane.formulate(m)), until=UNTIL, integrator=integrator)
    x, w = np.polynomial.legendre.leggauss(20)
    beside = across - rate * 0.5 * UNTIL * (1.0 + x)
    return run, w @ (along - np.sqrt((KINETIC * N) ** 2 - beside**2)) * 0.5 * UNTIL / HEAVY


@pytest.mark.parametrize("integrator", [kane.RK8(rtol=1e-9), kane.RK5()], ids=repr)
def test_friction_turns_with_a_load_across_a_slip_that_has_hardly_begun(integrator):
    run, exact = begin(1.0, 2.0, integrator)
    assert [(e.name, e.cause) for e in run.events] == [("foot", "imposed")]
    # the foot lags behind its balance by some 1e-3 of the slip
    assert run["x_dot"][-1] == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize(("across", "turns"), [(1.0, 2.0), (1.8, 0.5), (1.9, 2.0)])
def test_slip_of_a_tenth_of_the_tolerance_goes_on_while_it_turns(across, turns):
    """Friction of 1.96 N is nearly all across: what the foot lags behind its balance is far more than its slip, and
    mostly back along it. Held, it would stay so, as static friction is more.
    """
    run, exact = begin(across, turns, kane.RK5(rtol=1e-6, atol=1e-6))
    assert [(e.name, e.cause) for e in run.events] == [("foot", "imposed")]
    assert run["x_dot"][-1] == pytest.approx(exact, abs=1e-6)  # the tolerance
    assert run["x_dot"][-1] > 0.5 * exact
