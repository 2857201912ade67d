"""Examples of SymPy, PyDy and learn-multibody-dynamics, in our own words: SymPy's accelerations vouch, to 1e-10."""

import numpy as np
import pytest
import sympy as sm
import sympy.physics.mechanics as me
import sympy_models
from sympy_gallery import GALLERY, t

import kane

STATES = 3
AT = 0.4  # s


def of_sympy(given, states):
    """SymPy's accelerations at states (q, u, inputs), all at the time AT."""
    method = given.method
    if isinstance(method, me.System):
        method.form_eoms()
        method = method.eom_method
    symbols = [*method.q, *method.u, *given.inputs, t, *given.values]
    matrices = sm.lambdify(symbols, [method.mass_matrix, method.forcing], "numpy", cse=True)
    for q, u, inputs in states:
        M, f = matrices(*q, *u, *inputs, AT, *given.values.values())
        yield np.linalg.solve(M, f).ravel()


def random_states(eqs):
    """Random states that satisfy the constraints."""
    random, names = np.random.default_rng(2), [x.name for x in eqs.q]
    for _ in range(STATES):
        q, u = 0.4 + 0.3 * random.normal(size=len(eqs.q)), random.normal(size=len(eqs.u))
        if eqs.constraints:
            found = kane.assemble(eqs, q=dict(zip(names, q, strict=True)), u={eqs.u[0].name: u[0]})
            q, u = found.q, found.u
        yield q, u, random.normal(size=len(eqs.inputs))


@pytest.mark.parametrize("name", GALLERY)
def test_accelerations_equal_sympys(name):
    given = GALLERY[name]()
    eqs = kane.formulate(kane.model_from_sympy(given.method, parameters=given.values, inputs=given.inputs))
    dyn, states = kane.build(eqs), list(random_states(eqs))
    for state, expected in zip(states, of_sympy(given, states), strict=True):
        found = dyn.forward(*state, AT)
        assert np.isfinite(found).all()
        assert np.abs(found - expected).max() <= 1e-10 * max(1.0, np.abs(expected).max())


def test_the_rolling_disc_has_the_closed_form_of_the_textbook():
    """5 r u1' = 4 g sin q2 + 6 r u2 u3 - r u3^2 tan q2, 3 u2' = -2 u1 u3, u3' = u1 (u3 tan q2 - 2 u2)."""
    given, bodies, loads = sympy_models.located_disc(form=False)
    values = {"parameters": given.values, "bodies": bodies, "loads": loads}
    dyn = kane.build(kane.formulate(kane.model_from_sympy(given.method, **values)))
    (g, r), lean, (u1, u2, u3) = (9.81, 0.4), 0.3, (0.7, -1.1, 0.5)
    found = dyn.forward([0.2, lean, 0.1, 0.0, 0.0], [u1, u2, u3, 0.0, 0.0])
    tan = np.tan(lean)
    first = (4 * g * np.sin(lean) + 6 * r * u2 * u3 - r * u3**2 * tan) / (5 * r)
    assert found[:3] == pytest.approx([first, -2 * u1 * u3 / 3, u1 * (u3 * tan - 2 * u2)], rel=1e-12)
