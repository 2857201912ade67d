"""Andrews' squeezing mechanism against the published solution.

Source: the test set for IVP solvers of Bari (Mazzia & Magherini), problem Andrews: initial values, and the solution at
0.03 s computed there with tolerances of 1e-14 from the equations of Hairer & Wanner, section VII.7.
"""

import numpy as np
import pytest
from oracles.multipliers import parts

import kane
from kane.library import andrews_squeezer
from kane.library.andrews_squeezer import ANDREWS_START

# beta, Theta, gamma, Phi, delta, Omega, epsilon at 0.03 s [rad], their rates, and the multipliers of the loops [N].
ANGLES = [
    *(15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948),
    *(0.5244099658805304, 0.5347301163226948, 1.048080741042263),
]
RATES = [
    *(1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385),
    *(0.5735699284790808, -19.29337464421385, 0.3231791658026955),
]
ACCELERATIONS = [
    *(-24631.76316945196, 51850.37701610329, 324102.5686413781, 566749.3645176213),
    *(16743.62929479361, -566749.3645176222, 9826.520791458422),
]
MULTIPLIERS = [
    *(199.1753333731910, -29.75531228015052, 23.06654119098399),
    *(31.45271365475927, 22.64249232082739, 11.61740700019673),
]
# At the start: the two accelerations and the two multipliers that are not zero.
STARTING = (14222.4439199541138, -10666.8329399655854)
FIRST_MULTIPLIERS = (98.5668703962410896, -6.12268834425566265)


@pytest.fixture(scope="module")
def squeezer():
    return kane.build(kane.formulate(andrews_squeezer()))


MOMENT = [0.033]  # N m, of the motor


def multipliers(dyn, q, u):
    """l of M udot + h = A^T l; the rows are the loops of the source with the sign that makes l that of the source."""
    M, h, A, _, _ = parts(dyn, q, u)
    return np.linalg.lstsq(A.T, M @ dyn.forward(q, u, MOMENT) + h, rcond=None)[0]


def test_the_published_start_is_assembled_and_has_the_published_accelerations_and_forces(squeezer):
    state = kane.assemble(squeezer, q=ANDREWS_START)
    assert (state.rank, state.redundant) == (6, ())
    np.testing.assert_allclose(state.q, list(ANDREWS_START.values()), rtol=0, atol=1e-14)
    udot = squeezer.forward(state.q, state.u, MOMENT)
    # Light links: masses of 1e-6 kg m^2 and lengths of 1e-2 m make 1e4 of rounding in 14,000 rad/s^2.
    np.testing.assert_allclose(udot, [*STARTING, 0, 0, 0, 0, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(multipliers(squeezer, state.q, state.u), [*FIRST_MULTIPLIERS, 0, 0, 0, 0], atol=1e-10)


@pytest.mark.parametrize("integrator", [kane.RK5(rtol=1e-9, atol=1e-9), kane.RK8(rtol=1e-9, atol=1e-9)])
def test_the_solution_at_three_hundredths_of_a_second_is_the_published_one(squeezer, integrator):
    run = kane.simulate(squeezer, until=0.03, q=ANDREWS_START, integrator=integrator)
    # The figure of issue 5. RK5 and RK8 at 1e-12 meet each other within 3e-12, and the printed values within 2e-9.
    np.testing.assert_allclose(run.q[-1], ANGLES, rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.u[-1], RATES, rtol=0, atol=2e-5)  # rates of 1e3 rad/s change by 2e4 in each second
    assert run.residuals.configuration_residual.max() < 1e-14
    udot = squeezer.forward(run.q[-1], run.u[-1], MOMENT)
    np.testing.assert_allclose(udot, ACCELERATIONS, rtol=0, atol=2e-7 * max(ACCELERATIONS))
    # Of an index-3 problem: the printed multipliers have lost digits that the printed angles have.
    np.testing.assert_allclose(multipliers(squeezer, run.q[-1], run.u[-1]), MULTIPLIERS, rtol=0, atol=5e-5)
