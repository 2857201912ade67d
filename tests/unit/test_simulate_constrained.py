"""simulate with constraints: consistent starts, settled records, controllers, events, and what is refused."""

import math

import numpy as np
import pytest

import kane
from kane.engine.memory.run_memory import counts_of
from kane.simulation.driver import advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import Outcome
from kane.simulation.schedule.course import free_course

INTEGRATORS = {
    "RK4": {"integrator": kane.RK4(), "dt": 0.01},
    "RK5": {"integrator": kane.RK5()},
    "RK8": {"integrator": kane.RK8()},
    "Midpoint": {"integrator": kane.Midpoint(), "dt": 0.01},
    "Gauss4": {"integrator": kane.Gauss4(), "dt": 0.01},
    "BDF": {"integrator": kane.BDF(1e-8, 1e-10)},
}
# Newton's method ends where it gains nothing: some units in the last place of sums of numbers of order one.
CLOSED = 1e-13


def linkage(dependent=()):
    """kane.library.four_bar in small, whose crank turns; with a motor of torque T."""
    m = kane.Model("linkage", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (m.body(n, mass=1.0, inertia=(0.01, 0.02, 0.02)) for n in ("crank", "coupler", "rocker"))
    shaft = m.connect(m.ground, crank, kane.Revolute("q1", axis="z"))
    m.connect(crank, coupler, kane.Revolute("q2", axis="z"), at=(0.3, 0, 0))
    m.connect(m.ground, rocker, kane.Revolute("q3", axis="z"), at=(1.0, 0, 0))
    ends = coupler.point((0.9, 0, 0)), rocker.point((0.7, 0, 0))
    m.constrain(kane.Coincidence(*ends, along=[m.ground.x, m.ground.y]), name="pin")
    m.load(kane.Motor(shaft, m.input("T")))
    if dependent:
        m.speeds(dependent=dependent)
    return m


@pytest.fixture(scope="module")
def model():
    return linkage()


@pytest.fixture(scope="module")
def dyn(model):
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def start(dyn):
    found = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, u={"u1": 6.0}, fixed=["q1", "u1"])
    return {"q": found.q, "u": found.u}


@pytest.mark.parametrize("method", INTEGRATORS)
def test_recorded_states_satisfy_the_constraints_within_steps_and_at_their_ends(dyn, start, method):
    times = np.linspace(0, 2, 777)  # hardly any at the end of a step
    run = kane.simulate(dyn, until=2.0, times=times, **start, **INTEGRATORS[method])
    residuals = run.to_xarray()
    assert residuals.configuration_residual.max() < CLOSED
    assert residuals.motion_residual.max() < 1e2 * CLOSED  # speeds are of order ten, coefficients of order one
    assert residuals.configuration_drift.max() > 1e3 * CLOSED  # it is settling that does it
    assert 0.0 < residuals.conditioning.min() <= residuals.conditioning.max() <= 1.0


def test_what_is_recorded_does_not_change_the_run(dyn, start):
    few = kane.simulate(dyn, until=3.0, times=[], **start)
    many = kane.simulate(dyn, until=3.0, times=np.linspace(0, 3, 1001), **start)
    assert np.array_equal(few.final.q, many.final.q)
    assert np.array_equal(few.final.u, many.final.u)


def test_time_runs_back_to_the_start(dyn, start):
    end = kane.simulate(dyn, until=2.0, **start).final
    back = kane.simulate(dyn, start=2.0, until=0.0, q=end.q, u=end.u).final
    assert back.q == pytest.approx(start["q"], abs=1e-6)  # tolerances of 1e-9, some hundred steps
    assert back.u == pytest.approx(start["u"], abs=1e-5)


def test_an_interrupted_run_goes_on_from_where_it_ended(dyn, start):
    def interrupt(fraction):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        first = kane.simulate(dyn, until=2.0, every=1, progress=interrupt, **start)
    assert first.interrupted
    assert first.residuals.configuration_residual.max() < CLOSED
    rest = kane.simulate(dyn, start=first.final.time, until=2.0, q=first.final.q, u=first.final.u).final
    assert rest.q == pytest.approx(kane.simulate(dyn, until=2.0, **start).final.q, abs=1e-6)


def test_embedding_on_the_graph_and_in_numbers_give_the_same_motion(dyn, start):
    graph = kane.build(kane.formulate(linkage(dependent=["u2", "u3"])))
    assert graph.equations.embedding.u
    assert dyn.equations.embedding.numerical
    ends = [kane.simulate(d, until=2.0, inputs=[0.3], **start).final for d in (graph, dyn)]
    assert ends[0].q == pytest.approx(ends[1].q, abs=1e-6)
    stiff = kane.simulate(graph, until=2.0, inputs=[0.3], integrator=kane.BDF(1e-9, 1e-11), **start)
    assert stiff.final.q == pytest.approx(ends[1].q, abs=1e-4)
    assert stiff.residuals.configuration_residual.max() < CLOSED


def test_residuals_survive_a_file(dyn, start, tmp_path):
    run = kane.simulate(dyn, until=0.5, **start)
    run.save(tmp_path / "run.nc")
    loaded = kane.Trajectory.load(tmp_path / "run.nc")
    assert loaded.residuals.equals(run.residuals)
    assert loaded.residuals.configuration_residual.attrs["units"] == "m or rad"
    assert all("long_name" in variable.attrs for variable in loaded.residuals.data_vars.values())


def test_without_constraints_there_are_no_residuals():
    m = kane.Model("pendulum")
    m.connect(m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), kane.Revolute("q1", axis="y"))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1, q=[1.0])
    with pytest.raises(kane.ModelError, match="'pendulum' has no constraints"):
        _ = run.residuals


def test_constraints_do_no_work(dyn, start):
    names = [constant.name for constant in kane.simulate(dyn, until=1.0, **start).audit()]
    assert "energy" in names
    assert not {"P_x", "P_y", "H_z"} & {*names}


def test_fewer_speeds_than_coordinates_are_simulated_with_their_constraints():
    dyn = kane.build(kane.formulate(kane.library.shopping_cart()))
    assert len(dyn.equations.u) < len(dyn.equations.q)
    start = kane.assemble(dyn, q={"q3": 0.3, "q4": 0.2}, u={"u1": 0.5, "u3": 0.2})
    run = kane.simulate(dyn, until=1.0, q=start.q, u=start.u)
    assert np.abs(run.final.q - start.q).max() > 0.1
    assert run.residuals.motion_residual.max() < CLOSED


# Inputs and events ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dependent", [(), ("u2", "u3")])
def test_an_expression_drives_an_input_as_a_function_and_a_damper_do(start, dependent):
    m = linkage(dependent)
    speed = m.rate("q1")
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=1.0, inputs={"T": -0.4 * speed}, **start)
    called = kane.simulate(dyn, until=1.0, inputs={"T": lambda t, q, u: -0.4 * u[0]}, **start)
    damped = linkage(dependent)
    damped.load(kane.Damper(damped.connections[0], 0.4))
    reference = kane.simulate(kane.build(kane.formulate(damped)), until=1.0, **start)
    assert run.final.q == pytest.approx(reference.final.q, abs=1e-7)
    assert called.final.q == pytest.approx(reference.final.q, abs=1e-7)
    assert run.inputs[:, 0] == pytest.approx(-0.4 * run["u1"], abs=1e-12)


def test_sampled_inputs_pass_through(dyn, start):
    times = np.linspace(0, 1, 11)
    held = kane.simulate(dyn, until=1.0, inputs={"T": kane.Held(times, np.full(11, 0.3))}, **start)
    constant = kane.simulate(dyn, until=1.0, inputs=[0.3], **start)
    assert held.final.q == pytest.approx(constant.final.q, abs=1e-7)


def test_events_happen_at_projected_states(model, dyn, start):
    crank = model.connections[0].q
    run = kane.simulate(dyn, until=2.0, events=[kane.Event(kane.sin(crank), name="level")], **start)
    assert len(run.events) > 2
    for event in run.events:
        residual = dyn.constraint_residuals(event.q, event.u, event.time)
        assert np.abs(residual.configuration).max() < CLOSED
        assert math.sin(event.q[0]) == pytest.approx(0.0, abs=1e-9)
    stop = kane.simulate(dyn, until=2.0, events=[kane.Event(kane.sin(crank), terminal=True)], **start)
    assert stop.final.time == run.events[0].time
    assert stop.residuals.configuration_residual[-1] < CLOSED
    onwards = kane.simulate(dyn, start=stop.final.time, until=2.0, q=stop.final.q, u=stop.final.u)
    assert onwards.final.q == pytest.approx(run.final.q, abs=1e-6)


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [kane.RK8(), kane.BDF()], ids=repr)
def test_looking_for_events_projects_no_state_until_one_is_near(model, dyn, start, method):
    """What looks aside has a choice of its own, which is made by the first state that it settles."""
    crank = model.connections[0].q

    def integration(value):
        posed = InitialValueProblem.of(dyn, None, None, (kane.Event(crank - value, name="there"),))
        made = posed.integration(free_course(0.0, 1.0, 1, None), posed.initial_state(0.0, start["q"], start["u"]))
        assert advance_to_end(made, monitored_advance(posed, method), lambda _: None) is Outcome.FINISHED
        return made

    far = integration(100.0)
    assert not far.system.aside.out.any()
    near = integration(float(far.states()[-1, 1:][0] + start["q"][0]) / 2)
    assert near.system.aside.out.any()
    assert counts_of(near.store).events[0] == 1


def test_a_start_that_is_not_consistent_is_an_error_that_offers_assemble(dyn, start):
    with pytest.raises(kane.ModelError, match=r"configuration does not satisfy .*'pin: .*kane.assemble\(dyn"):
        kane.simulate(dyn, until=1.0, q=[1.0, 0.0, 0.0])
    with pytest.raises(kane.ModelError, match=r"motion does not satisfy the constraint 'pin: .*kane.assemble\(dyn"):
        kane.simulate(dyn, until=1.0, q=start["q"], u={"u1": 1.0})


def test_a_start_that_was_rounded_is_projected(dyn, start):
    run = kane.simulate(dyn, until=0.1, q=np.round(start["q"], 8), u=np.round(start["u"], 7))
    assert 1e-10 < run.to_xarray().configuration_drift[0] < 1e-7
    assert run.residuals.configuration_residual[0] < CLOSED


def test_a_motion_that_opens_the_loop_cannot_be_followed(dyn, start):
    with pytest.raises(kane.ModelError, match=r"cannot follow this motion: at t = 0\.5 s the configuration .* 'pin: "):
        kane.follow(dyn, q={"q1": lambda t: 1.0 + t, "q2": start["q"][1], "q3": start["q"][2]}, times=[0.0, 0.5])


@pytest.mark.parametrize("dependent", [(), ("u2", "u3")])
def test_forces_along_a_motion_are_those_that_made_it(dyn, dependent, start):
    # A run under a constant torque, sampled: a spline of fifth degree through it has its accelerations to 1e-6.
    run = kane.simulate(dyn, until=0.5, times=np.linspace(0, 0.5, 501), inputs=[0.7], **start)
    other = kane.build(kane.formulate(linkage(dependent)))
    at = np.linspace(0.1, 0.4, 7)
    samples = {name: (run.time, run[name]) for name in ("q1", "q2", "q3")}
    found = kane.follow(other, q=samples, times=at)
    # One freedom: the power of the forces is that of the torque.
    assert (found.forces * found.u).sum(axis=1) == pytest.approx(0.7 * found["u1"], abs=1e-4)


def test_inverse_kinematics_refuses_closed_loops(dyn):
    with pytest.raises(kane.ModelError, match=r"does not support constraints, which 'linkage' has.*kane\.assemble"):
        kane.inverse_kinematics(dyn, "rocker", position=(1.0, 0, 0))


@pytest.mark.parametrize("take", [lambda e: e.count(), lambda e: e.listing(), lambda e: e.forward, lambda e: e.bias])
def test_expressions_of_what_is_embedded_in_numbers_do_not_exist(dyn, take):
    with pytest.raises(kane.ModelError, match=r"embedded numerically.*model\.speeds\(dependent="):
        take(dyn.equations)


def test_equations_embedded_in_numbers_cannot_be_exported_and_leave_no_files(dyn, tmp_path):
    with pytest.raises(kane.ModelError, match="embedded numerically"):
        kane.export(dyn.equations, tmp_path / "out", kane.CSource())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("near", [False, True], ids=["numbers", "graph"])
def test_ensembles_under_constraints_have_the_bits_of_simulate(near):
    """In numbers and on the graph; one that cannot start harms no other."""
    model = kane.library.four_bar()
    equations = kane.formulate(model)
    state = kane.assemble(equations, q={"q1": 1.0, "q3": 1.5}, u={"u1": 4.0}, fixed=["q1", "u1"])
    dyn = kane.build(kane.formulate(model, near=state) if near else equations)
    q = np.tile(state.q, (3, 1))
    q[1, -1] += 0.5
    each = {"parameters": [1.0, 1.0, 1.5], "inputs": [0.0, 0.0, 3.0]}
    u = {"u1": 4.0} if near else state.u
    options = {"until": 0.5, "times": [0.1, 0.2], "integrator": kane.RK5(), "u": u}
    found = kane.simulate_many(dyn, q=q, parameters={"mu": each["parameters"]}, inputs={"T": each["inputs"]}, **options)
    assert list(found.failures) == [1]
    assert "cannot start there" in found.failures[1]
    for i in (0, 2):
        own = {"parameters": {"mu": each["parameters"][i]}, "inputs": {"T": each["inputs"][i]}}
        run = kane.simulate(dyn, q=q[i], **own, **options)
        np.testing.assert_array_equal(found.q[i], run.q)
        np.testing.assert_array_equal(found.u[i], run.u)


def test_dependent_speeds_that_the_model_names_follow_from_the_others_at_the_start():
    """Of the cart (Gillespie 2003, Eq. 60): u3 = (-sin(q4) u1 + L2 cos(q4) u2) / L3, whatever is left out."""
    dyn = kane.build(kane.formulate(kane.library.shopping_cart()))
    parameters = dyn.equations.defaults
    run = kane.simulate(dyn, until=0.1, q={"q4": 0.3}, u={"u1": 1.0, "u2": 0.2})
    expected = (-math.sin(0.3) * 1.0 + parameters["L2"] * math.cos(0.3) * 0.2) / parameters["L3"]
    assert run.u[0, 2] == pytest.approx(expected, rel=1e-14)
    with pytest.raises(kane.ModelError, match="cannot start there: the motion does not satisfy"):
        kane.simulate(dyn, until=0.1, q={"q4": 0.3}, u={"u1": 1.0, "u2": 0.2, "u3": 5.0})
