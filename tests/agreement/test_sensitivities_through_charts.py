"""Derivatives of runs whose gimbals change their angles near singularities: differences of whole runs vouch."""

import numpy as np
import pytest

import kane
from kane.errors import ModelError

FINE = kane.RK8(rtol=1e-12, atol=1e-12)
# Four differences over 1e-4 and 2e-4 of runs to 1e-12, extrapolated: 1e-8 of rounding, times what angles amplify.
STEP, DIFFERENCES = 1e-4, 1e-6


def top(speeds):
    """A heavy body on a gimbal, turned about the vertical."""
    m = kane.Model("top", gravity=(0, 0, -9.81))
    body = m.body("B", mass=1.0, com=(0.02, 0.01, 0.05), inertia=(m.parameter("A", 0.4), 0.3, 0.2))
    m.connect(m.ground, body, kane.Gimbal("g", sequence="zyx", speeds=speeds))
    m.load(kane.Torque(body, (0, 0, m.input("tau", default=0.1))))
    return kane.build(kane.formulate(m))


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("speeds", "second"),  # which goes to other angles and back, or begins in others
    [
        (kane.AngleRates(), 1.2),
        pytest.param(kane.AngleRates(), 1.5, marks=slow),
        pytest.param(kane.MeasureNumbers(), 1.2, marks=slow),
        pytest.param(kane.MeasureNumbers(), 1.5, marks=slow),
    ],
)
def test_through_changes_of_charts_a_run_has_the_derivatives_of_whole_runs(speeds, second):
    dyn = top(speeds)
    q, u = ([leaf.name for leaf in leaves] for leaves in (dyn.equations.q, dyn.equations.u))
    until, spin, changes = (0.8, (0.2, 4.0, 0.3), 2) if second == 1.2 else (0.9, (1.0, 0.7, -0.4), 1)
    begins = dict(zip([*q, *u], [0.3, second, -0.2, *spin], strict=True))

    def run(name="", h=0.0):
        start = {key: value + h * (key == name) for key, value in begins.items()}
        return kane.simulate(
            dyn,
            until=until,
            times=np.linspace(0.0, until, 7),
            q={key: start[key] for key in q},
            u={key: start[key] for key in u},
            inputs=[0.1 + h * (name == "tau")],
            parameters={"A": 0.4 + h * (name == "A")},
            integrator=FINE,
            charts=kane.Charts(within=0.3),
        )

    found = run()
    assert len(found.chart_switches) >= changes
    names = [q[1], u[1], "A", "tau"]
    s = kane.sensitivities(found, wrt=names)
    np.testing.assert_allclose(s.run, np.hstack([found.q, found.u]), atol=1e-9)
    for name in names:
        away = {k: np.hstack([r.q, r.u]) for k in (-2, -1, 1, 2) for r in [run(name, k * STEP)]}
        by = (8.0 * (away[1] - away[-1]) - (away[2] - away[-2])) / (12.0 * STEP)
        size = np.maximum(1.0, np.abs(by))
        np.testing.assert_allclose(s[name] / size, by / size, atol=DIFFERENCES)
    leaves = dyn.equations.q, dyn.equations.u
    cost = leaves[0][0] * leaves[1][1] + leaves[0][2]
    assert dict(s.adjoint(cost)) == pytest.approx(s.gradient(cost), rel=1e-10, abs=1e-11)


def test_sampled_laws_in_other_charts_are_refused_by_name():
    dyn = top(kane.MeasureNumbers())
    laws = {"tau": kane.Sampled(0.1 - 0.2 * dyn.equations.u[2], period=0.1)}
    q = {leaf.name: value for leaf, value in zip(dyn.equations.q, [0.3, 1.5, 0.0], strict=True)}
    run = kane.simulate(dyn, until=0.3, q=q, inputs=laws, charts=kane.Charts())
    with pytest.raises(ModelError, match=r"'top' ran in charts under sampled laws"):
        kane.sensitivities(run, wrt=["A"], inputs=laws)
