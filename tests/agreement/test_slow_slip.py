"""Slip in space that begins with no acceleration: static friction is the kinetic one, and a push grows slowly.

The direction of slip then turns towards the push by mu g / |v| a second, without bound at the start. SciPy's Radau, of
the equations of the sliding point written by hand, vouches for where it goes.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane

MU, G, UNTIL = 0.3, 9.81, 2.0


def push(t):
    """Of a point of 1 kg, in shares of its greatest friction."""
    return np.array([0.9 + 0.1 * t, 0.05 * t])


def pushed(cart=0.0):
    """The point on the ground, or on a cart of this mass [kg]."""
    m = kane.Model("pushed", gravity=(0, 0, -G))
    N = floor = m.ground
    carriers = [m.body(name, mass=0.0) for name in ("bx", "by")]
    point = m.body("point", mass=1.0)
    for parent, child, axis in zip([N, *carriers], [*carriers, point], "xyz", strict=True):
        m.connect(parent, child, kane.Prismatic(axis, axis=axis))
    if cart:
        under, floor = m.body("under", mass=0.0), m.body("cart", mass=cart)
        m.connect(N, under, kane.Prismatic("cx", axis="x"))
        m.connect(under, floor, kane.Prismatic("cy", axis="y"))
    m.contact(point.point(), kane.Plane(floor.point(), floor.z), friction=kane.Coulomb(MU), name="floor")
    m.load(kane.Force(point.point(), (*(MU * G * x for x in (0.9 + 0.1 * m.time, 0.05 * m.time)), 0)))
    return kane.build(kane.formulate(m))


def by_hand():
    """When slip begins, and where the point is at last: |push| = 1, then v' = mu g (push - v / |v|)."""
    begins = max(np.roots([0.1**2 + 0.05**2, 2 * 0.9 * 0.1, 0.9**2 - 1.0]))
    late = 1e-5  # |v| is then mu g |push|' late^2 / 2 along the push, but for a share of late
    along, growth = push(begins), push(begins) @ np.array([0.1, 0.05])
    start = np.concatenate([np.zeros(2), MU * G * growth * late**2 / 2 * along])

    def slope(t, x):
        return np.concatenate([x[2:], MU * G * (push(t) - x[2:] / np.hypot(*x[2:]))])

    found = solve_ivp(slope, (begins + late, UNTIL), start, method="Radau", rtol=1e-9, atol=1e-15)
    return begins, found.y[:, -1]


# Where slip is as slow as tolerances its direction is not told: that costs some 1e-7 of the way, and 2e-6 of it where
# the relative tolerance is 1e-6.
@pytest.mark.parametrize(
    ("integrator", "near"),
    [(kane.RK8(), 1e-6), (kane.RK5(rtol=1e-9, atol=1e-12), 1e-6), (kane.RK5(atol=1e-10), 1e-6), (kane.RK5(), 5e-6)],
    ids=repr,
)
def test_a_point_begins_to_slip_where_no_static_friction_holds_it_back(integrator, near):
    begins, there = by_hand()
    run = kane.simulate(pushed(), until=UNTIL, integrator=integrator)
    slips = next(event for event in run.events if event.cause == "slips")
    assert slips.time == pytest.approx(begins, abs=1e-6)
    assert run.q[-1, :2] == pytest.approx(there[:2], rel=near)
    assert run.u[-1, :2] == pytest.approx(there[2:], rel=near)


def test_a_run_whose_slip_lingers_below_the_errors_of_its_steps_says_so():
    """On a cart that moves on, steps may err by the relative tolerance of its speed: with the cure that is named the
    point goes where it goes on the ground.
    """
    (_, there), dyn = by_hand(), pushed(cart=1e9)
    moving = {"x_dot": 1.0, "cx_dot": 1.0, "y_dot": 0.7, "cy_dot": 0.7}
    with pytest.warns(UserWarning, match="'floor' of 'pushed' slips at .* no faster than step errors .* rtol=1e-08"):
        kane.simulate(dyn, until=UNTIL, u=moving, integrator=kane.RK5())
    run = kane.simulate(dyn, until=UNTIL, u=moving, integrator=kane.RK5(rtol=1e-8))
    gone = [run["x"][-1] - run["cx"][-1], run["y"][-1] - run["cy"][-1]]
    assert gone == pytest.approx(there[:2], rel=1e-5)
