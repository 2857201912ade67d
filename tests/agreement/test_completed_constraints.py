"""Constraints that complete fewer speeds than joints have: the same motion as with all speeds, and no drift."""

import numpy as np
import pytest

import kane
from kane.library import four_bar

START = {"u1": 2.0}


@pytest.fixture(scope="module")
def in_one_speed():
    """The four-bar in the rate of its crank alone; the loop determines the other two."""
    model = four_bar()
    model.speeds(u1=model.connections[0].qdot)
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def in_all_speeds():
    return kane.build(kane.formulate(four_bar()))


def test_the_loop_is_in_no_equation_of_the_speeds_but_still_closes(in_one_speed):
    equations = in_one_speed.equations
    assert equations.constraints == ()
    assert [row.name for row in equations.closing] == ["loop: direction 1", "loop: direction 2"]
    assert len(equations.fails_where) == 1  # the determinant of the two rows
    state = kane.assemble(in_one_speed, u=[2.0])
    assert state.rank == 2
    assert state.free == ("q2", "u1")


def test_one_speed_moves_the_four_bar_as_three_do(in_one_speed, in_all_speeds):
    """Both at the default tolerance 1e-9 over 0.3 s."""
    one = kane.assemble(in_one_speed, u=START)
    three = kane.assemble(in_all_speeds, q=one.q, u=START, fixed=["u1"])
    np.testing.assert_allclose(three.q, one.q, rtol=0, atol=1e-12)
    short, long = (
        kane.simulate(dyn, until=0.3, q=state.q, u=state.u)
        for dyn, state in ((in_one_speed, one), (in_all_speeds, three))
    )
    np.testing.assert_allclose(short.final.q, long.final.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(short.final.u[0], long.final.u[0], rtol=0, atol=1e-8)


def test_coordinates_are_projected_by_the_joints_own_speeds(in_one_speed):
    """No motion of the one speed takes a gap away, once there is one; settling takes it away to round-off."""
    state = kane.assemble(in_one_speed, u=START)
    apart = np.add(state.q, [0.0, 1e-4, 0.0])
    project = in_one_speed.project
    out = project(
        np.concatenate([[0.0], apart, state.u]), np.zeros(project.n_rest), project.stage(in_one_speed.parameters)
    )
    left = in_one_speed.constraint_residuals(out[:3], out[3:4]).configuration
    assert out[4] > 1e-5
    assert np.abs(left).max() < 1e-14


def test_an_expression_drives_speeds_that_keep_the_loop_as_a_function_of_time_does(in_one_speed):
    """The expression was put into equations of other outputs before; the function of Python vouches for the motion."""
    state, (torque,) = kane.assemble(in_one_speed, u=START), in_one_speed.equations.inputs
    law = {torque.name: 3.0 * kane.sin(in_one_speed.equations.t)}
    runs = [
        kane.simulate(in_one_speed, until=0.3, q=state.q, u=state.u, inputs=inputs)
        for inputs in (law, {torque.name: lambda t, q, u: 3.0 * np.sin(t)})
    ]
    # Both at the default tolerance 1e-9.
    np.testing.assert_allclose(runs[0].final.q, runs[1].final.q, rtol=0, atol=1e-8)
