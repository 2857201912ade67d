"""No missing input is a zero: what a result depends on is given, or missed by name."""

import importlib.util

import numpy as np
import pytest

import kane

G = 9.81


@pytest.fixture(scope="module")
def rail():
    """A block that a carriage on a rail along x lifts by 0.1 sin t; an input and time push it across the rail."""
    m = kane.Model("rail", gravity=(0, -G, 0))
    block = m.body("block", mass=m.parameter("mass", 2.0), inertia=(1, 1, 1))
    carriage = m.body("carriage", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, carriage, kane.Prismatic("x", axis="x"))
    m.connect(carriage, block, kane.Prismatic(0.1 * kane.sin(m.time), axis="y"), name="lift")
    m.load(kane.Force(block.point(), (m.input("pull"), m.input("F", 1.0) + 3.0 * m.time, 0.0)))
    return kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def track(rail):
    """What the rail does to the carriage."""
    return kane.RevealedReactions(rail, kane.reveal_reactions(rail.equations, "x"))


def across(mass, F, t):
    """Newton's law across the rail: the force of the rail on both bodies."""
    return (mass + 1.0) * G - 0.1 * mass * np.sin(t) - F - 3.0 * t


def test_reactions_of_a_run_are_those_of_its_inputs_times_and_parameters(rail, track):
    run = kane.simulate(rail, until=2.0, inputs={"F": 20.0, "pull": 1.0}, parameters={"mass": 5.0})
    found = track(run)[:, track.names.index("x Fy")]
    np.testing.assert_allclose(found, across(5.0, 20.0, run.time), rtol=1e-12)  # a few operations
    np.testing.assert_array_equal(track(run), track(run.q, run.u, run.inputs, run.time, parameters={"mass": 5.0}))


def test_reactions_of_a_loop_under_a_torque_are_those_of_the_run_by_every_route():
    """The case of issue 9; the multipliers, another route, vouch for the numbers."""
    dyn = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(dyn, q={"q1": 0.5})
    run = kane.simulate(dyn, until=0.05, q=start.q, u=start.u, inputs={"T": 20.0})
    revealed = kane.reveal_reactions(dyn.equations, "q1")
    force, other = (kane.RevealedReactions(dyn, revealed, route=route) for route in (None, kane.Multipliers()))
    expected = other(run.q, run.u, np.full((len(run), 1), 20.0))
    # Two solutions of systems of condition 1e3 at most, in double precision.
    np.testing.assert_allclose(force(run), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(kane.ModelError, match=r"the reactions depend on T: give reactions\(run\)"):
        force(run.q, run.u)


MISSING = {
    "forward": (lambda d: d.forward([0.1], [0.2]), "'forward' of 'rail' depends on pull; give inputs, an array"),
    "rhs": (lambda d: d.rhs(0.0, [0.1, 0.2]), "'rhs' of 'rail' depends on pull; give inputs, an array"),
    "energy": (lambda d: d.energy([0.1], [0.2]), "'energy' of 'rail' depends on t; give the time"),
    "momentum": (lambda d: d.momentum([0.1], [0.2]), "'momentum' of 'rail' depends on t"),
    "poses": (lambda d: d.poses([0.1]), "'poses' of 'rail' depends on t"),
    "inverse kinematics": (
        lambda d: kane.inverse_kinematics(d, "block", position=(0.3, 0.0, 0.0)),
        "'poses' of 'rail' depends on t",
    ),
    "path tables": (
        lambda d: kane.path_tables(d.equations.model).evaluate([0.1], [0.2], values={"pull": 1.0}),
        "the matrices depend on t, F",
    ),
}


@pytest.mark.parametrize(("call", "message"), MISSING.values(), ids=MISSING)
def test_what_a_result_depends_on_is_missed_by_name(rail, call, message):
    with pytest.raises(kane.ModelError, match=message):
        call(rail)


def test_reactions_miss_inputs_and_time_by_name(track):
    for arguments, missing in (((), "pull, F, t"), (([1.0, 2.0],), "t")):
        with pytest.raises(kane.ModelError, match=f"the reactions depend on {missing}: give"):
            track([0.1], [0.2], *arguments)
    with pytest.raises(kane.ModelError, match="reactions take a trajectory, or q and u"):
        track([0.1])


def test_a_run_of_another_model_an_ensemble_or_a_run_with_more_is_refused(rail, track):
    run = kane.simulate(rail, until=0.1, dt=0.1, integrator=kane.RK4())
    with pytest.raises(kane.ModelError, match="a trajectory has its own u, inputs, t and parameters; give it alone"):
        track(run, run.u)
    other = kane.build(kane.formulate(kane.library.chain(1)))
    with pytest.raises(kane.ModelError, match="the run has the coordinates"):
        track(kane.simulate(other, until=0.1))
    with pytest.raises(kane.ModelError, match="this is an ensemble"):
        track(kane.simulate_many(rail, until=0.1, q=np.zeros((3, 1))))


def test_what_a_result_does_not_depend_on_may_be_left_out(rail):
    """The lift moves across the rail: M, bias and the forces along it know nothing of time."""
    assert rail.mass_matrix([0.1])[0, 0] == 3.0
    assert rail.inverse([0.1], [0.2], [2.0])[0] == 6.0
    assert rail.forward([0.1], [0.2], [3.0, 1.0])[0] == 1.0
    assert rail.jacobian("carriage", [0.1]).linear[0, 0] == 1.0


def test_constraints_that_depend_on_time_are_assembled_at_a_time():
    m = kane.Model("crane")
    bob = m.body("bob", mass=1.0)
    m.connect(m.ground, bob, kane.CustomJoint(("x", "z"), position=lambda x, z: (x, 0.0, z), units=("m", "m")))
    m.constrain(kane.Distance(m.ground.point(), bob.point(), 1.0 + 0.5 * m.time))
    m.load(kane.Force(bob.point(), (kane.sin(m.time), 0.0, 0.0)))
    equations = kane.formulate(m)
    with pytest.raises(kane.ModelError, match="the constraints of 'crane' depend on the time t; give t"):
        kane.assemble(equations, q=[0.6, -0.8])
    dyn = kane.build(equations)
    state = kane.assemble(dyn, q=[0.6, -0.8], t=2.0)
    for call in (lambda: dyn.kinematics(state.q, state.u), lambda: dyn.constraint_residuals(state.q, state.u)):
        with pytest.raises(kane.ModelError, match="of 'crane' depends on t; give the time"):
            call()


def test_an_embedding_in_numbers_demands_time_only_where_it_decides():
    """A load that depends on time changes accelerations, but neither the mass matrix nor the choice of speeds."""
    m = kane.library.four_bar()
    m.load(kane.Torque(m.bodies[1], (0.0, 0.0, kane.sin(m.time))))
    dyn = kane.build(kane.formulate(m))
    assert dyn.equations.embedding.numerical
    start = kane.assemble(dyn, q={"q1": 0.5})
    assert np.isfinite(dyn.mass_matrix(start.q)).all()
    assert len(dyn.independent(start.q)) == 1
    with pytest.raises(kane.ModelError, match="'forward' of 'four_bar' depends on t; give the time"):
        dyn.forward(start.q, start.u, [0.0])
    assert np.isfinite(dyn.forward(start.q, start.u, [0.0], 0.0)).all()


def test_speeds_that_decouple_at_a_state_need_its_time_where_the_mass_matrix_depends_on_it():
    m = kane.Model("reel")
    arm, bob = m.body("arm", mass=1.0, inertia=(1, 1, 1)), m.body("bob", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, arm, kane.Revolute("q1", axis="z"))
    m.connect(arm, bob, kane.Prismatic(1.0 + m.time, axis="x"), name="rope")
    m.connect(bob, m.body("vane", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q2", axis="z"))
    with pytest.raises(kane.ModelError, match="the mass matrix of 'reel' depends on the time t; give t"):
        kane.decoupling_speeds(m, q=[0.1, 0.2])
    assert len(kane.decoupling_speeds(m, q=[0.1, 0.2], t=0.5)) == 2


def test_exported_arrays_demand_the_inputs_and_not_what_has_no_effect(rail, tmp_path):
    (path,) = kane.export(rail.equations, tmp_path, kane.NumPySource(), quantities=["forward", "mass_matrix"])
    spec = importlib.util.spec_from_file_location("rail", path)
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    state = [0.0, 0.1, 0.2]
    with pytest.raises(TypeError, match="rest"):
        written.forward(state)
    assert written.forward(state, [3.0, 1.0]) == [1.0]
    assert written.mass_matrix(state) == [3.0]
