"""Constraints embedded in numbers beside an SVD of their own, the embedding on the graph, and Pinocchio."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from oracles.multipliers import accelerations, null_space, parts

import kane
from kane.formulation.constraints.embedding import NumericalEmbedding


def numerical(model):
    """Dynamics with the constraints embedded at each state, whatever the graph could do."""
    return kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))


def inputs_of(dyn):
    """The defaults that the model declares."""
    return np.array([dyn.equations.defaults[leaf.name] for leaf in dyn.equations.inputs])


def projected(dyn, q, u, t=0.0):
    """The state put onto the constraints."""
    x = dyn.project(np.concatenate([[t], q, u]), inputs_of(dyn), dyn.project.stage(dyn.parameters))
    nq, n = len(q), len(u)
    # Metres and radians of mechanisms of some metres: rounding of a few operations.
    residuals = dyn.constraint_residuals(x[:nq], x[nq : nq + n], t)
    assert np.abs(residuals.configuration).max(initial=0.0) < 1e-13
    assert np.abs(residuals.motion).max() < 1e-11
    return x[:nq], x[nq : nq + n]


def knife_edge():
    """A sleigh whose blade stands off its mass centre, driven and braked."""
    model = kane.Model("sleigh")
    body = model.body("body", mass=3.0, inertia=(0.3, 0.5, 0.7), com=(0.3, 0.1, 0))
    model.connect(model.ground, body, kane.Planar("base"))
    blade = body.point((-0.4, 0, 0))
    model.load(kane.Force(blade, (model.input("thrust", 2.0), 0, 0), expressed_in=body))
    model.constrain(blade.velocity.dot(body.y), name="blade")
    return model


def ball_linkage():
    """Two hinged arms joined by a rod with a ball at either end (RSSR): a spatial loop with two quaternions."""
    model = kane.Model("rssr", gravity=(0, 0, -9.81))
    left = model.body("left", mass=1.0, inertia=(0.1, 0.1, 0.02), com=(0, 0, 0.3))
    right = model.body("right", mass=2.0, inertia=(0.2, 0.2, 0.04), com=(0, 0, 0.4))
    rod = model.body("rod", mass=0.5, inertia=(0.02, 0.1, 0.1), com=(0.6, 0, 0))
    model.connect(model.ground, left, kane.Revolute("a", axis="y"))
    model.connect(model.ground, right, kane.Revolute("b", axis="x"), at=(1.2, 0.1, 0))
    model.connect(left, rod, kane.Spherical("ball"), at=(0, 0, 0.8))
    model.close(rod, right, kane.Spherical("end"), at=(1.2, 0, 0), child_at=(0, 0, 0.8))
    return model


def gear_train():
    """Two wheels on one shaft line whose ratio is imposed twice, the second time as three times the first."""
    model = kane.Model("gears")
    a = model.body("a", mass=1.0, inertia=(0.2, 0.2, 0.3))
    b = model.body("b", mass=1.0, inertia=(0.5, 0.5, 0.8))
    first = model.connect(model.ground, a, kane.Revolute("a", axis="z"))
    second = model.connect(model.ground, b, kane.Revolute("b", axis="z"))
    model.load(kane.Motor(first, 1.5))
    model.constrain(first.q + 2.0 * second.q, name="ratio")
    model.constrain(3.0 * first.q + 6.0 * second.q, name="ratio again")
    return model


# Model, a guess of q, and how many freedoms are left.
MECHANISMS = {
    "four-bar": (kane.library.four_bar, [1.0, -0.5, 1.5], 1),
    "five windows": (lambda: kane.library.n_four_bar(5), [0.4] * 6 + [-0.4] * 5, 1),
    "bricard": (kane.library.bricard, [0.0] * 6, 1),
    "sleigh": (knife_edge, [0.1, 0.2, 0.7], 2),
    "ball linkage": (ball_linkage, [0.1, -0.2, 1, 0, 0, 0, 1, 0, 0, 0], 2),
    "gears": (gear_train, [0.3, 0.2], 1),
}


@pytest.fixture(scope="module", params=MECHANISMS, name="case")
def _case(request):
    make, guess, freedoms = MECHANISMS[request.param]
    dyn = numerical(make())
    u = np.random.default_rng(5).normal(size=len(dyn.equations.u))
    return dyn, *projected(dyn, np.array(guess, float), u), freedoms


def test_accelerations_are_those_of_the_multipliers(case):
    dyn, q, u, _ = case
    expected = accelerations(dyn, q, u)
    # Two solutions of systems of condition 1e3 at most, in double precision.
    assert np.allclose(dyn.forward(q, u, inputs_of(dyn)), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_as_many_speeds_are_independent_as_freedoms_are_left(case):
    dyn, q, _, freedoms = case
    assert len(dyn.independent(q)) == freedoms
    assert null_space(parts(dyn, q, np.zeros(len(dyn.equations.u)))[2]).shape[1] == freedoms


def test_inverse_dynamics_and_mass_matrix_are_projections_of_the_unconstrained_ones(case):
    """R spans the null space of A and is one at the independent speeds, which fixes it."""
    dyn, q, u, _ = case
    M, h, A, _, _ = parts(dyn, q, u, inputs=[0.0] * len(dyn.equations.inputs))
    names = [leaf.name for leaf in dyn.equations.u]
    own = [names.index(name) for name in dyn.independent(q)]
    N = null_space(A)
    R = np.zeros_like(M)
    R[:, own] = N @ np.linalg.inv(N[own])
    scale = np.abs(M).max()
    assert np.allclose(dyn.mass_matrix(q), R.T @ M @ R, atol=1e-9 * scale)
    udot = dyn.forward(q, u, inputs_of(dyn))
    expected = R.T @ (M @ udot + h)
    assert np.allclose(dyn.inverse(q, u, udot), expected, atol=1e-9 * max(1.0, np.abs(h).max()))
    bent = udot + 7.0 * ~np.isin(np.arange(len(u)), own)
    assert np.allclose(dyn.inverse(q, u, bent), expected, atol=1e-9 * max(1.0, np.abs(h).max()))


def test_power_of_what_is_not_conserved_changes_the_energy(case):
    """d/dt of the energy is the power of the inputs: constraint forces do no work (rows here do not depend on time)."""
    dyn, q, u, _ = case
    h = 1e-4
    states = []
    for side in (-1, 1):
        rates = dyn.rhs(0.0, np.concatenate([q, u]), inputs_of(dyn))
        middle = np.concatenate([q, u]) + side * h / 2 * rates
        x = np.concatenate([q, u]) + side * h * dyn.rhs(0.0, middle, inputs_of(dyn))
        states.append(dyn.energy(x[: len(q)], x[len(q) :]).total)
    B = np.zeros(len(u))
    if dyn.equations.inputs:
        B = dyn.function("input_matrix")(
            np.concatenate([[0.0], q, u]), (), dyn.function("input_matrix").stage(dyn.parameters)
        ).reshape(len(u), -1) @ inputs_of(dyn)
    expected = B @ u
    if dyn.equations.name == "gears":
        expected += 1.5 * u[0]
    # The midpoint rule and the central difference are wrong by h^2 times third derivatives, of 1e3 in these units.
    assert (states[1] - states[0]) / (2 * h) == pytest.approx(expected, abs=1e-3)


def test_the_kept_choice_gives_the_same_accelerations_as_one_afresh(case):
    dyn, q, u, _ = case
    stage = dyn.project.stage(dyn.parameters)
    x, inputs = np.concatenate([[0.0], q, u]), inputs_of(dyn)
    dyn.project(x, inputs, stage)
    kept = dyn.function("rhs")(x, inputs, stage)
    expected = dyn.rhs(0.0, x[1:], inputs)
    assert np.allclose(kept, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_a_batch_gives_what_single_calls_give(case):
    dyn, q, u, _ = case
    speeds = np.random.default_rng(1).normal(size=(3, 50, len(u)))
    for method in (
        lambda q, u: dyn.forward(q, u, inputs_of(dyn)),
        dyn.bias,
        dyn.kinematics,
        lambda q, u: dyn.energy(q, u).kinetic,
    ):
        together = method(q, speeds)
        assert together.shape[:2] == (3, 50)
        assert np.array_equal(together[2, 49], method(q, speeds[2, 49]))


def test_dependent_speeds_of_the_argument_are_not_read(case):
    dyn, q, u, _ = case
    names = [leaf.name for leaf in dyn.equations.u]
    free = np.isin(names, dyn.independent(q))
    expected = dyn.rhs(0.0, np.concatenate([q, u]), inputs_of(dyn))
    found = dyn.rhs(0.0, np.concatenate([q, np.where(free, u, 99.0)]), inputs_of(dyn))
    # The dependent block is conditioned better than 1e3, and 99 is cancelled.
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def four_bar_both_ways():
    model = kane.library.four_bar()
    model.speeds(dependent=["u2", "u3"])
    on_graph = kane.formulate(model)
    assert on_graph.embedding.u
    return kane.build(on_graph), kane.build(dataclasses.replace(on_graph, embedding=NumericalEmbedding("in numbers")))


def test_the_graph_and_the_numbers_agree():
    graph, numbers = four_bar_both_ways()
    for angle in (0.3, 1.0, 2.5, 4.0):
        q, u = projected(numbers, np.array([angle, -angle, 1.5]), np.array([1.0, -2.0, 0.5]))
        torque = [0.7]
        assert np.allclose(graph.forward(q, u, torque), numbers.forward(q, u, torque), rtol=1e-10, atol=1e-10)
        x = np.concatenate([q, u])
        assert np.allclose(graph.rhs(0.0, x, torque), numbers.rhs(0.0, x, torque), rtol=1e-10, atol=1e-10)
        assert graph.energy(q, u).total == pytest.approx(numbers.energy(q, u).total, rel=1e-12)


def test_projection_by_the_choice_of_the_graph_keeps_its_independent_speeds():
    graph, _ = four_bar_both_ways()
    q, u = projected(graph, np.array([1.0, -1.0, 1.5]), np.array([1.0, -2.0, 0.5]))
    assert u[0] == 1.0
    assert graph.independent(q) == ("u1",)
    assert 0.0 < graph.conditioning(q) <= 1.0
    assert np.allclose(graph.kinematics(q, u), u, rtol=1e-13)


def test_pinocchio_agrees_on_a_closed_loop():
    """The four-bar as a tree with a contact between the ends, by Pinocchio's proximal constraint dynamics."""
    dyn = numerical(kane.library.four_bar())
    a, b, c, d, mu = 0.3, 0.9, 0.7, 1.0, 2.0
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -9.81, 0.0])
    joints = []
    for parent, at, length in ((0, 0.0, a), (1, a, b), (0, d, c)):
        place = pin.SE3(np.eye(3), np.array([at, 0.0, 0.0]))
        joint = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{len(joints)}")
        across = mu * length**3 / 12
        inertia = pin.Inertia(mu * length, np.array([length / 2, 0.0, 0.0]), np.diag([0.0, across, across]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        joints.append(joint)
    ends = [pin.SE3(np.eye(3), np.array([x, 0.0, 0.0])) for x in (b, c)]
    contact = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, joints[1], ends[0], joints[2], ends[1], pin.LOCAL
    )
    q, u = projected(dyn, np.array([1.0, -0.5, 1.5]), np.array([1.0, -2.0, 0.5]))
    models, data, contacts = (
        pin.StdVec_RigidConstraintModel(),
        model.createData(),
        pin.StdVec_RigidConstraintData(),
    )
    models.append(contact)
    contacts.append(contact.createData())
    pin.initConstraintDynamics(model, data, models, contacts)
    settings = pin.ProximalSettings(1e-13, 1e-10, 50)
    expected = pin.constraintDynamics(model, data, q, u, np.array([0.7, 0, 0]), models, contacts, settings)
    # Pinocchio stops at 1e-13 of its residual; its third row, out of the plane, is empty.
    assert np.allclose(dyn.forward(q, u, [0.7]), expected, rtol=1e-7, atol=1e-7)


def test_inputs_for_undoes_forward_where_there_are_as_many_inputs_as_freedoms():
    """Of the four-bar's crank torque (embedded in numbers), and of the cart's force and moment (on the graph)."""
    for model, q, u, inputs in (
        (kane.library.four_bar(), None, {"u1": 2.0}, [0.7]),
        (kane.library.shopping_cart(), [0.1, 0.2, 0.3, 0.4], [1.0, 0.2, 0.3], [0.7, 0.3]),
    ):
        dyn = kane.build(kane.formulate(model))
        state = kane.assemble(dyn, q=q, u=u)
        udot = dyn.forward(state.q, state.u, inputs)
        np.testing.assert_allclose(dyn.inputs_for(state.q, state.u, udot), inputs, rtol=1e-11)
        batch = dyn.inputs_for(np.tile(state.q, (3, 1)), state.u, udot)
        np.testing.assert_allclose(batch, np.tile(inputs, (3, 1)), rtol=1e-11)


def test_inputs_that_are_not_as_many_as_freedoms_are_not_determined():
    dyn = kane.build(kane.formulate(kane.library.bricard()))
    state = kane.assemble(dyn)
    with pytest.raises(kane.ModelError, match="1 generalized forces of independent speeds do not determine 0 inputs"):
        dyn.inputs_for(state.q, state.u, np.zeros_like(state.u))
