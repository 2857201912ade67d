"""The bicycle's small motions about straight running have the published eigenvalues (Meijaard et al. 2007, Table 2)."""

import numpy as np
import pytest
from oracles.formulated import built

import kane
from kane.library import whipple_bicycle

# Weave (real and imaginary part), capsize, castering [1/s], by speed [m/s].
PUBLISHED = {
    4.0: (0.41325331521125 + 3.07910818603206j, -1.42944427361326, -12.15861426576447),
    5.0: (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.07838969279822),
}
SMALL, STEP = 1e-5, 0.05
LATERAL = ("roll", "steer", "roll_dot", "steer_dot")


@pytest.fixture(scope="module")
def dyn():
    return built(whipple_bicycle)


def start(dyn, v, **lateral):
    rolling = {"x_dot": v, "rear_dot": -v / 0.3, "front_dot": -v / 0.35}
    q = {"heave": -0.3} | {name: x for name, x in lateral.items() if not name.endswith("dot")}
    u = rolling | {name: x for name, x in lateral.items() if name.endswith("dot")}
    held = ["x", "y", "yaw", "roll", "steer", "rear", "front", "x_dot", "roll_dot", "steer_dot"]
    return kane.assemble(dyn, q=q, u=u, fixed=held)


def lateral(dyn, run):
    names = [leaf.name for leaf in (*dyn.equations.q, *dyn.equations.u)]
    states = np.hstack([run.q, run.u])
    return states[:, [names.index(name) for name in LATERAL]]


@pytest.mark.parametrize("v", PUBLISHED)
def test_small_motions_have_the_published_eigenvalues(dyn, v):
    """X(t + h) = exp(A h) X(t) for four small starts. Cubes of 1e-5 beside 1e-5 leave ten digits, the integration at
    1e-9 of 1e-5 relative to roll (atol 1e-16) as many; the fastest mode decays by half within a step."""
    before, after = [], []
    for name in LATERAL:
        state = start(dyn, v, **{name: SMALL})
        run = kane.simulate(
            dyn,
            until=4 * STEP,
            q=state.q,
            u=state.u,
            integrator=kane.RK8(rtol=1e-12, atol=1e-16),
            times=STEP * np.arange(5),
        )
        X = lateral(dyn, run)
        before.append(X[:-1])
        after.append(X[1:])
    E = np.linalg.lstsq(np.vstack(before), np.vstack(after), rcond=None)[0].T
    found = np.log(np.linalg.eigvals(E).astype(complex)) / STEP
    weave, capsize, castering = PUBLISHED[v]
    for expected in (weave, np.conj(weave), capsize, castering):
        assert np.abs(found - expected).min() < 1e-7 * abs(expected), (expected, found)


def test_straight_running_is_steady_and_a_push_keeps_the_energy(dyn):
    """1,000 J of motion, followed at 1e-10."""
    state = start(dyn, 5.0, roll_dot=0.5)
    run = kane.simulate(dyn, until=5.0, q=state.q, u=state.u, integrator=kane.RK8(rtol=1e-10, atol=1e-12))
    energy = dyn.energy(run.q, run.u).total
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    steady = start(dyn, 5.0)
    np.testing.assert_allclose(dyn.forward(steady.q, steady.u), 0.0, atol=1e-12)
