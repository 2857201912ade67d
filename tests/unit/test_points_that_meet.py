"""Springs, dampers and ropes between points that meet: limits in closed form, or errors that name them."""

import numpy as np
import pytest

import kane


def particle(load=None, constraint=None):
    """A mass of 2 kg that moves in a plane without weight, tied to the origin."""
    m = kane.Model("particle", gravity=(0, 0, 0))
    body = m.body("P", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect("ground", body, kane.Planar(("x", "y", "th")))
    if load is not None:
        m.load(load(body.point(), m.ground.point()))
    if constraint is not None:
        m.constrain(constraint(body.point(), m.ground.point()))
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("start", [(0.0, 0.0), (-0.3, -0.4), (0.06, 0.08)])
def test_a_damper_slows_a_motion_through_the_point_as_along_a_line(start):
    dyn = particle(lambda P, O: kane.PointDamper(P, O, 3.0))
    q, u = np.array([*start, 0.0]), np.array([0.6, 0.8, 0.0])
    run = kane.simulate(dyn, until=1.0, q=q, u=u)
    decay = np.exp(-1.5)  # m dv/dt = -c v along the line through the origin
    np.testing.assert_allclose(run.q[-1], q + u * (1.0 - decay) / 1.5, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(run.u[-1], u * decay, rtol=0.0, atol=1e-8)


def test_a_damper_at_rest_where_its_points_meet_does_nothing_and_both_sides_are_opposite():
    dyn = particle(lambda P, O: kane.PointDamper(O, P, 3.0))
    np.testing.assert_array_equal(dyn.forward(np.zeros(3), np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(dyn.forward(np.zeros(3), [1.0, -2.0, 0.5]), [-1.5, 3.0, 0.0], rtol=1e-15)


def test_a_spring_without_length_swings_through_the_point():
    dyn = particle(lambda P, O: kane.PointSpring(P, O, 8.0))
    run = kane.simulate(dyn, until=1.0, u={"x_dot": 0.6, "y_dot": 0.8})
    np.testing.assert_allclose(run.q[-1], np.array([0.6, 0.8, 0.0]) * np.sin(2.0) / 2.0, rtol=0.0, atol=1e-8)


def test_a_spring_with_a_length_ends_a_run_where_its_points_meet_by_name():
    dyn = particle(lambda P, O: kane.PointSpring(P, O, 8.0, rest=0.1))
    with pytest.raises(kane.SimulationError, match="the load 'PointSpring on P, ground' has no finite value there"):
        kane.simulate(dyn, until=1.0, u={"x_dot": 1.0})
    with pytest.raises(kane.ModelError, match="the accelerations of 'particle' are not finite here"):
        kane.linearize(dyn, tolerance=np.inf)


def test_an_effort_that_divides_by_zero_is_named_as_well():
    m = kane.Model("odd")
    slide = m.connect("ground", m.body("A", mass=1.0), kane.Prismatic("s", axis="x"))
    m.load(kane.Motor(slide, 1.0 / (m.time - 0.5)))
    m.load(kane.Spring(slide, 2.0))
    with pytest.raises(kane.SimulationError, match="'Motor on s' has no finite value there") as found:
        kane.simulate(kane.build(kane.formulate(m)), start=0.5, until=1.0)
    assert "Spring" not in str(found.value)


def test_a_rope_whose_points_meet_is_assembled_from_elsewhere_or_refused_by_name():
    dyn = particle(constraint=lambda P, O: kane.Rope([P, O, O.body.point((1.0, 0.0, 0.0))], 1.5))
    found = kane.assemble(dyn)
    assert np.hypot(*found.q[:2]) == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(kane.ModelError, match="rope through P, ground: length"):
        kane.assemble(dyn, fixed=["x", "y", "th"])
    with pytest.raises(kane.ModelError, match=r"does not satisfy the constraints .*kane\.assemble"):
        kane.linearize(dyn)
    with pytest.raises(kane.ModelError, match=r"rope through P, ground: length.*kane\.assemble"):
        kane.simulate(dyn, until=1.0)
