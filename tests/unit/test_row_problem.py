"""The row problem of sensitivities: closed forms at acceleration and velocity level, and differences."""

import numpy as np
import pytest

import kane
from kane.analysis.sensitivities.contact_motions import ContactMotions
from kane.analysis.sensitivities.row_equations import RowEquations
from kane.engine.memory.contact_codes import SLIDING
from kane.simulation.inputs.input_plan import plan_inputs

G, MU, HALF, LENGTH = 9.81, 0.3, 0.1, 0.2


def box():
    """A box in the plane: of its four corners on the floor two are redundant."""
    m = kane.Model("box", gravity=(0, -G, 0))
    B = m.body("B", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, B, kane.Planar("p", axis="z"))
    friction = kane.Coulomb(0.35, m.parameter("mu", MU))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(B.shape(kane.Box(2 * LENGTH, 2 * HALF, 0.2)), floor, friction=friction, name="box")
    return kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def dyn():
    return box()


def test_sliding_on_redundant_corners_has_the_acceleration_and_the_derivative_of_the_closed_form(dyn):
    touching = [c.name[-2] == "-" for c in dyn.equations.intermittents]
    statuses = np.where(touching, SLIDING, 0).astype(np.int8)
    motions = ContactMotions(dyn, plan_inputs(None, (), ()), dyn.parameters, ("mu",))
    t, x, none = np.zeros(1), np.array([[0.0, HALF, 0.0, 1.0, 0.0, 0.0]]), np.zeros((1, 0))
    motion = motions.motion_at(statuses, 0.0, x[0])
    assert len(motion.frictions) == 4
    np.testing.assert_allclose(motion.rates(t, x, none)[0, 3:], [-MU * G, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(motion.derivatives(t, x, none)[1][0, 3:, 0], [-G, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_an_impact_on_one_corner_has_the_impulse_and_the_derivatives_of_differences(dyn, ratio):
    c = next(c for c in dyn.equations.intermittents if c.name.endswith("---"))
    problem = RowEquations((c.normal,), (), (ratio,), lambda force: [c.numbers.gap])
    code = problem.compiled(dyn, ())

    def at(x):
        return code.at(np.zeros(1), x[None], np.zeros((1, 0)), np.zeros((0, 2)), dyn.parameters)

    x = np.array([0.1, 0.2, 0.3, 0.4, -1.5, 0.6])
    impact = at(x)
    y, f = impact.z[0, :3], impact.z[0, 3:]
    M, A = impact.M[0], impact.A[0]
    np.testing.assert_allclose(M @ (y - x[3:]), A.T @ f, atol=1e-12)
    np.testing.assert_allclose(A @ y, -ratio * A @ x[3:], atol=1e-12)
    np.testing.assert_allclose(impact.with_forces(y[None])[0], impact.z[0], atol=1e-12)
    found, step = impact.derivatives(impact.z), 1e-6
    for k, unit in enumerate(np.eye(6)):
        ends = [at(x + sign * step * unit) for sign in (1.0, -1.0)]
        difference = (ends[0].z[0] - ends[1].z[0]) / (2 * step)
        np.testing.assert_allclose(found.z[0, :, k], difference, atol=1e-8)
        gap = (ends[0].outputs[0, 0] - ends[1].outputs[0, 0]) / (2 * step)
        assert found.outputs[0, 0, k] == pytest.approx(gap, abs=1e-8)
