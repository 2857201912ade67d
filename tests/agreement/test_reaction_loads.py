"""Friction from normal forces: loads that depend on reactions agree with hand-written equations of motion."""

import numpy as np
import pytest

import kane

# A dozen products and one solution of three equations.
ROUNDING = 1e-12


def sliding_rod(friction):
    """A rod of mass 2 and half length 0.7 in a vertical plane; its end P slides along the ground. ``friction`` makes
    the force along x of the normal force N and the friction coefficient."""
    model = kane.Model("rod", gravity=(0.0, -9.81, 0.0))
    mu = model.parameter("mu", 0.3)
    rod = model.body("rod", mass=2.0, inertia=(0.0, 0.4, 0.4), com=(0.7, 0.0, 0.0))
    model.connect(model.ground, rod, kane.Planar(("x", "y", "theta")), name="plane")
    P = rod.point()
    contact = model.constrain(P.position.dot(model.ground.y), name="contact")
    (N,) = contact.reactions
    model.load(kane.Force(P, (friction(N, mu), 0.0, 0.0), expressed_in=model.ground))
    return model


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("theta", [0.4, 1.2, 2.0])
def test_a_rod_that_slides_with_coulomb_friction_moves_as_newton_and_euler_say(mu, theta):
    """Unknowns xdd, thetadd and N of m a = F and I alpha = M about the mass centre."""
    dyn = kane.build(kane.formulate(sliding_rod(lambda N, mu: -mu * N)))
    w, m, l, I = 1.7, 2.0, 0.7, 0.4
    s, c = np.sin(theta), np.cos(theta)
    matrix = [[m, -m * l * s, mu], [0.0, m * l * c, -1.0], [0.0, I, l * c + l * s * mu]]
    xdd, thetadd, _ = np.linalg.solve(matrix, [m * l * c * w * w, m * l * s * w * w - m * 9.81, 0.0])
    udot = dyn.forward([0.2, 0.0, theta], [1.0, 0.0, w], parameters={"mu": mu})
    np.testing.assert_allclose(udot, [xdd, 0.0, thetadd], rtol=0, atol=ROUNDING * (1 + abs(xdd) + abs(thetadd)))


def test_a_block_on_an_incline_slides_with_friction_of_its_guide():
    """xdd = -g (sin + mu cos), the guide being a sliding joint."""
    model = kane.Model("block", gravity=(0.0, -9.81, 0.0))
    block = model.body("block", mass=2.0)
    incline = kane.Rotation.about("z", 0.5)
    guide = model.connect(model.ground, block, kane.Prismatic("q1", axis="x"), orientation=incline)
    N = guide.reaction_force.dot(block.y)
    model.load(kane.Force(block.point(), (-0.2 * N, 0.0, 0.0), expressed_in=block))
    equations = kane.formulate(model)
    assert equations.inputs == ()
    expected = -9.81 * (np.sin(0.5) + 0.2 * np.cos(0.5))
    np.testing.assert_allclose(kane.build(equations).forward([0.0], [1.0]), [expected], rtol=ROUNDING)


def test_friction_takes_what_the_inputs_press():
    """A force F presses the block on its guide: m xdd = -mu F, and B = -mu."""
    model = kane.Model("pressed", gravity=(0.0, 0.0, 0.0))
    block = model.body("block", mass=2.0)
    guide = model.connect(model.ground, block, kane.Prismatic("q1", axis="x"))
    model.load(kane.Force(block.point(), (0.0, -model.input("F"), 0.0)))
    model.load(kane.Force(block.point(), (-0.25 * guide.reaction_force.dot(model.ground.y), 0.0, 0.0)))
    dyn = kane.build(kane.formulate(model))
    np.testing.assert_allclose(dyn.forward([0.0], [0.0], [3.0]), [-0.25 * 3.0 / 2.0], rtol=ROUNDING)
    np.testing.assert_allclose(dyn.inputs_for([0.0], [0.0], [-0.375]), [3.0], rtol=ROUNDING)


def test_a_load_that_is_not_linear_in_a_reaction_is_refused():
    with pytest.raises(kane.ModelError, match=r"not linear in the reactions contact .* leave its absolute value out"):
        kane.formulate(sliding_rod(lambda N, mu: -mu * kane.absolute(N)))


def test_a_load_that_depends_on_what_redundant_constraints_share_is_refused():
    model = sliding_rod(lambda N, mu: -mu * N)
    rod = model.bodies[1]
    model.constrain(rod.point().position.dot(model.ground.y), name="contact again")
    with pytest.raises(kane.ModelError, match="depends on the reaction contact, which redundant constraints share"):
        kane.formulate(model)


def test_a_direction_of_another_model_is_refused():
    model = sliding_rod(lambda N, mu: N)
    with pytest.raises(kane.ModelError, match="takes a direction of model 'rod'"):
        model.connections[0].reaction_force.dot(kane.Model("other").ground.x)


def test_a_run_and_an_event_that_name_a_reaction_say_where_it_belongs():
    model = kane.Model("block")
    block = model.body("block", mass=1.0)
    guide = model.connect(model.ground, block, kane.Prismatic("q1", axis="x"))
    model.load(kane.Force(block.point(), (model.input("F"), 0.0, 0.0)))
    N = guide.reaction_force.dot(block.z)
    dyn = kane.build(kane.formulate(model))
    with pytest.raises(kane.ModelError, match=r"'q1 Fz', which is a reaction: kane.substitute\(equations, ...\) puts"):
        kane.simulate(dyn, until=1.0, inputs={"F": -0.2 * N})
    with pytest.raises(kane.ModelError, match=r"the reaction 'q1 Fz'; take its expression from kane.reveal_reactions"):
        kane.simulate(dyn, until=1.0, events=[kane.Event(N - 1.0)])
