"""Contact laws: the generated kernels are up to date, and their slopes are the derivatives of their residuals."""

import numpy as np
import pytest

from kane.codegen.contact_laws import write_laws
from kane.engine.laws.generated_laws import (
    BY_ACCELERATION,
    BY_FORCE,
    BY_NORMAL,
    RESIDUAL,
    closed_slopes,
    coulomb_residuals,
    coulomb_slopes,
    newton_velocity,
    poisson_impulse,
    signorini,
)

STEP = 1e-6


def test_the_generated_file_is_up_to_date():
    """Else run ``python -m kane.codegen.contact_laws.write_laws``."""
    assert write_laws.FILE.read_text() == write_laws.source()


@pytest.mark.parametrize("tangents", [1, 2])
def test_slopes_of_friction_are_differences_of_residuals(tangents):
    rng, slid = np.random.default_rng(tangents), 0
    for _ in range(60):
        W, b, mu = rng.normal(size=(2, 2)), rng.normal(size=2), 0.5
        f, rho, normal = rng.normal(size=2), rng.uniform(0.5, 2.0, 2), rng.uniform(0.0, 4.0)

        def residuals(normal, f, W=W, b=b, rho=rho, mu=mu):
            a = W @ f + b
            return np.array(coulomb_residuals(normal, f, a, f - rho * a, rho, 0, tangents, mu))[:tangents]

        a, slopes = W @ f + b, np.full((2, 6), np.nan)
        s = f - rho * a
        if abs(np.linalg.norm(s[:tangents]) - mu * normal) < 1e-3:
            continue
        slid += np.linalg.norm(s[:tangents]) > mu * normal
        coulomb_slopes(normal, f, a, s, rho, 0, tangents, mu, slopes)
        t = slice(0, tangents)
        assert slopes[t, RESIDUAL].tolist() == residuals(normal, f).tolist()
        found = slopes[t, BY_ACCELERATION : BY_ACCELERATION + tangents] @ W[t, t]
        found += slopes[t, BY_FORCE : BY_FORCE + tangents]
        for j in range(tangents):
            change = STEP * np.eye(2)[j]
            expected = (residuals(normal, f + change) - residuals(normal, f - change)) / (2 * STEP)
            np.testing.assert_allclose(found[:, j], expected, atol=1e-7)
        expected = (residuals(normal + STEP, f) - residuals(normal - STEP, f)) / (2 * STEP)
        np.testing.assert_allclose(slopes[t, BY_NORMAL], expected, atol=1e-7)
    assert 10 < slid < 50


def test_a_closed_contact_does_not_accelerate_and_an_open_one_has_its_least_force():
    assert signorini(3.0, 0.5, 2.0, 2.0, 0.25) == 1.0
    assert signorini(3.0, 2.0, -1.0, 2.0, 0.25) == 2.75
    slopes = np.full((2, 6), np.nan)
    closed_slopes(3.0, 0.5, 2.0, 2.0, 0.25, slopes)
    assert slopes[0, [RESIDUAL, BY_FORCE, BY_ACCELERATION]].tolist() == [1.0, 0.0, 2.0]


def test_restitution_reverses_an_approach_and_nothing_else():
    assert newton_velocity(0.5, -2.0) == 1.0
    assert newton_velocity(0.5, 2.0) == 0.0
    assert poisson_impulse(0.5, 4.0) == 2.0
