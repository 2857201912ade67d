"""Reference models: coordinates as stated, natively built, and the cart with pendulums against its closed form."""

import math

import numpy as np
import pytest
from oracles.formulated import built, formulated

import kane
from kane import ModelError, library
from kane.codegen.programs.program import Program
from kane.library import (
    chain,
    n_link_pendulum,
    n_link_pendulum_to_vertical,
    random_tree,
    stanford_arm,
    stanford_arm_feedback,
)
from kane.library.random_tree import PLAIN_JOINTS

FREE = ["qw", "qx", "qy", "qz", "x", "y", "z"]
SIX = [f"q{i}" for i in range(1, 7)]
MODELS = {
    "chain": (lambda: chain(4), ["q1", "q2", "q3", "q4"], ["tau1", "tau2", "tau3", "tau4"]),
    "one link": (lambda: chain(1), ["q1"], ["tau1"]),
    "n-link pendulum": (lambda: n_link_pendulum(3), ["q1", "q2", "q3", "q4"], ["F"]),
    "n-link pendulum to the vertical": (lambda: n_link_pendulum_to_vertical(3), ["q1", "q2", "q3", "q4"], ["F"]),
    "Stanford Arm": (
        stanford_arm,
        ["q1", "q2", "q3", "q4", "q5", "q6"],
        ["tau1", "tau2", "tau3", "tau4", "tau5", "sigma"],
    ),
    "random tree": (
        lambda: random_tree(10, 5, joints=PLAIN_JOINTS),
        ["j1", *(f"j2_{x}" for x in FREE), *(f"j3_{x}" for x in FREE), "j4", *(f"j5_q{x}" for x in "wxyz")],
        ["tau1", "tau4"],
    ),
    "Stanford Arm by its table": (library.stanford_arm_dh, SIX, [f"tau{i}" for i in range(1, 7)]),
    "six-axis arm": (library.six_axis_arm, SIX, [f"tau{i}" for i in range(1, 7)]),
    "spacecraft": (
        library.spacecraft_tree,
        [
            *(f"root_q{x}" for x in "wxyz"),
            *("G1_1", "G1_2", "G1_3"),
            *(f"G2_q{x}" for x in "wxyz"),
            *("G3", "G4_1", "G4_2", "x", "y", "z"),
        ],
        [],
    ),
    "wrist": (library.wrist, ["q1", "q2", "q3"], ["T1", "T2", "T3", "F1", "F2", "F3"]),
    "wrist in measure numbers": (
        library.wrist_measure_numbers,
        ["q1", "q2", "q3"],
        ["T1", "T2", "T3", "F1", "F2", "F3"],
    ),
    "sliding disk": (library.sliding_disk, ["q1", "q2"], ["Ff"]),
    "stiff flyball governor": (library.stiff_flyball_governor, ["q1", "q2", "q3", "q4"], ["T"]),
    "rolling coin": (library.rolling_coin, ["x", "y", "yaw", "lean", "spin"], []),
    "Chaplygin's sleigh": (library.chaplygin_sleigh, ["x", "y", "angle"], []),
}
PLATFORM = [f"platform_{x}" for x in FREE]
CONSTRAINED = {
    "rolling disk": (library.rolling_disk, ["q1", "q2"], ["Ff"]),
    "shopping cart": (library.shopping_cart, ["q1", "q2", "q3", "q4"], ["F", "tau"]),
    "stuck shopping cart": (library.stuck_shopping_cart, ["q1", "q2", "q3", "q4"], ["F", "tau"]),
    "four-bar": (library.four_bar, ["q1", "q2", "q3"], ["T"]),
    "row of four-bars": (lambda: library.n_four_bar(2), ["a0", "a1", "a2", "b1", "b2"], []),
    "slider-crank": (library.slider_crank, ["q1", "q2", "q3"], ["T", "F"]),
    "Andrews' squeezer": (
        library.andrews_squeezer,
        ["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"],
        ["mom"],
    ),
    "Bricard": (library.bricard, SIX, []),
    "flyball governor": (library.flyball_governor, ["q1", "q2", "q3", "q4"], ["T"]),
    "Stewart platform": (
        library.stewart_platform,
        [*PLATFORM, *(f"{x}{i}" for i in range(1, 7) for x in "abl")],
        [f"F{i}" for i in range(1, 7)],
    ),
    "Whipple's bicycle": (
        library.whipple_bicycle,
        ["heave", "x", "y", "yaw", "roll", "pitch", "steer", "rear", "front"],
        [],
    ),
    "mobile manipulator": (
        library.mobile_manipulator,
        ["x", "y", "theta", "phi", "q1", "q2", "turn0", "turn1", "turn2"],
        ["steer0", *(f"drive{j}" for j in range(3)), "tau1", "tau2", *(f"{x}{a}" for x in "FT" for a in "xyz")],
    ),
}
EVERY = MODELS | CONSTRAINED
every_model = pytest.mark.parametrize(("make", "coordinates", "inputs"), EVERY.values(), ids=EVERY.keys())


@pytest.fixture(scope="module")
def pendulums():
    return {n: kane.build(kane.formulate(n_link_pendulum(n))) for n in (1, 2)}


def test_every_exported_model_is_in_this_suite():
    with_arguments = {"chain", "n_link_pendulum", "n_link_pendulum_to_vertical", "random_tree", "n_four_bar"}
    here = with_arguments | {make.__name__ for make, *_ in EVERY.values() if make.__name__ != "<lambda>"}
    of_models = {"stanford_arm_feedback", "lock_steering", "platform_wheels", "tanner_speeds"}
    assert here | of_models == set(library.__all__)


@every_model
def test_a_reference_model_has_the_coordinates_and_inputs_stated(make, coordinates, inputs):
    eqs = formulated(make)
    assert [x.name for x in eqs.q] == coordinates
    assert {x.name for x in eqs.inputs} == set(inputs)


def near_neutral(eqs):
    q = np.array(eqs.neutral) + 0.1
    for start in eqs.quaternions:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q


@pytest.mark.parametrize("name", MODELS)
def test_a_reference_model_moves(name):
    dyn = built(MODELS[name][0])
    eqs = dyn.equations
    random = np.random.default_rng(0)
    u, udot = random.normal(size=(2, len(eqs.u)))
    q = near_neutral(eqs)
    needed = dyn.inverse(q, u, udot)
    M, bias = dyn.mass_matrix(q), dyn.bias(q, u)
    # Two routes of a few hundred operations on numbers of the size of the largest force.
    np.testing.assert_allclose(M @ udot + bias, needed, rtol=0, atol=1e-12 * np.abs(needed).max())
    assert (np.linalg.eigvalsh(M) > 0).all()
    assert np.isfinite(dyn.forward(q, u, np.zeros(len(eqs.inputs)))).all()


@pytest.mark.parametrize("name", CONSTRAINED)
def test_a_constrained_reference_model_is_assembled_and_moves_within_its_constraints(name):
    """A udot + remainder = 0, as assemble left A u + b = 0: hundreds of operations."""
    dyn = built(CONSTRAINED[name][0])
    eqs = dyn.equations
    state = kane.assemble(dyn, q=near_neutral(eqs), u=np.random.default_rng(0).normal(size=len(eqs.u)))
    udot = dyn.forward(state.q, state.u, np.zeros(len(eqs.inputs)))
    assert eqs.constraints
    program = Program(
        "constraints persist",
        [
            eqs.system.arena.lift(sum(c * eqs.udot[j] for j, c in row.coefficients.items()) + row.remainder)
            for row in eqs.constraints
        ],
        state=(eqs.t, *eqs.q, *eqs.u),
        rest=eqs.udot,
        parameters=eqs.parameters,
    )
    left = dyn.evaluate(dyn.compile(program), state.q, state.u, udot)
    np.testing.assert_allclose(left, 0.0, atol=1e-9 * (1.0 + np.abs(udot).max()))


def test_the_links_of_a_chain_turn_about_x_y_and_z_in_turn():
    dyn = kane.build(kane.formulate(chain(4)))
    axes = dyn.jacobian("B4", np.zeros(4)).angular.T
    np.testing.assert_array_equal(axes, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    heights = [p.position.tolist() for p in dyn.poses(np.zeros(4)).values()]
    np.testing.assert_allclose(heights, [[0, 0, 0], [0, 0, 0.1], [0, 0, 0.2], [0, 0, 0.3]], rtol=1e-15)


PARAMETERS = {"mc": 1.3, "m": 0.7, "l": 0.6, "g": 9.5}


def cart_with_pendulums(angles, rates, force):
    """M and bias of a cart with point masses below it, written down in x and absolute angles (from straight down).

    x_i = x + l sum sin a_j, y_i = -l sum cos a_j, hence with c_i the masses below joint i:
    M_00 = mc + n m, M_0i = m l c_i cos a_i, M_ij = m l^2 c_max(i,j) cos(a_i - a_j),
    h_0 = -m l sum c_i sin a_i a_i'^2, h_i = m l^2 sum c_max(i,j) sin(a_i - a_j) a_j'^2 + m g l c_i sin a_i.
    """
    mc, m, l, g = PARAMETERS.values()
    n = len(angles)
    below = np.arange(n, 0, -1)
    pair = np.array([[below[max(i, j)] for j in range(n)] for i in range(n)])
    difference = angles[:, None] - angles[None, :]
    M = np.empty((n + 1, n + 1))
    M[0, 0] = mc + n * m
    M[0, 1:] = M[1:, 0] = m * l * below * np.cos(angles)
    M[1:, 1:] = m * l**2 * pair * np.cos(difference)
    h = np.empty(n + 1)
    h[0] = -m * l * np.sum(below * np.sin(angles) * rates**2)
    h[1:] = m * l**2 * (pair * np.sin(difference)) @ rates**2 + m * g * l * below * np.sin(angles)
    h[0] -= force
    return M, h


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_pendulum_on_a_cart_moves_as_its_closed_form_says(pendulums, n, seed):
    random = np.random.default_rng(seed)
    x, xdot, force = random.normal(size=3)
    angles, rates = random.normal(size=(2, n))  # absolute
    # Joint angles are those of each link to the link before: absolute = S relative.
    S = np.tril(np.ones((n, n)))
    q, u = np.concatenate([[x], np.linalg.solve(S, angles)]), np.concatenate([[xdot], np.linalg.solve(S, rates)])
    M, h = cart_with_pendulums(angles, rates, force)
    T = np.eye(n + 1)
    T[1:, 1:] = S
    dyn = pendulums[n]
    # Tens of operations on numbers of order 10, and a solution of condition number below 1e3.
    np.testing.assert_allclose(dyn.mass_matrix(q, parameters=PARAMETERS), T.T @ M @ T, rtol=1e-13, atol=1e-13)
    udot = np.linalg.solve(M @ T, -h)
    np.testing.assert_allclose(dyn.forward(q, u, [force], parameters=PARAMETERS), udot, rtol=1e-11, atol=1e-12)
    needed = T.T @ (h + np.eye(n + 1)[0] * force)
    np.testing.assert_allclose(dyn.bias(q, u, parameters=PARAMETERS), needed, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_with_angles_to_the_vertical_it_has_the_closed_form_itself(n):
    random = np.random.default_rng(n)
    q, u, force = random.normal(size=n + 1), random.normal(size=n + 1), random.normal()
    M, h = cart_with_pendulums(q[1:], u[1:], force)
    dyn = kane.build(kane.formulate(n_link_pendulum_to_vertical(n)))
    np.testing.assert_allclose(dyn.mass_matrix(q, parameters=PARAMETERS), M, rtol=1e-13, atol=1e-13)
    needed = h + np.eye(n + 1)[0] * force
    np.testing.assert_allclose(dyn.bias(q, u, parameters=PARAMETERS), needed, rtol=1e-13, atol=1e-13)


def test_the_energy_of_the_pendulum_on_a_cart_is_that_of_its_masses(pendulums):
    mc, m, l, g = PARAMETERS.values()
    q, u = np.array([0.3, 0.5]), np.array([-0.4, 1.2])
    energy = pendulums[1].energy(q, u, parameters=PARAMETERS)
    vx, vy = u[0] + l * math.cos(q[1]) * u[1], l * math.sin(q[1]) * u[1]
    assert energy.kinetic == pytest.approx(0.5 * mc * u[0] ** 2 + 0.5 * m * (vx**2 + vy**2), rel=1e-14)
    assert energy.potential == pytest.approx(-m * g * l * math.cos(q[1]), rel=1e-14)


def test_the_same_seed_gives_the_same_tree_and_another_another():
    def told(seed):
        m = random_tree(seed, 4)
        return [(b.mass, b.com, b.inertia) for b in m.bodies], [(c.joint, c.p_PF) for c in m.connections]

    assert told(5) == told(5)
    assert told(5) != told(6)


@pytest.mark.parametrize("make", [chain, n_link_pendulum, lambda n: random_tree(0, n)])
@pytest.mark.parametrize("n", [0, -1])
def test_a_model_of_no_links_is_refused(make, n):
    with pytest.raises(ModelError, match=r"at least (1|one body), not"):
        make(n)


@pytest.mark.parametrize("n", [1.5, "3", None])
def test_a_broken_number_of_links_is_refused(n):
    for make in (chain, n_link_pendulum):
        with pytest.raises(ModelError, match=r"the number of links must be a whole number of at least 1, not"):
            make(n)


def test_the_feedback_laws_of_the_stanford_arm_hold_it_at_its_target():
    m = stanford_arm()
    eqs = kane.substitute(kane.formulate(m), **stanford_arm_feedback(m))
    assert eqs.inputs == ()
    target = [math.pi / 3] * 5 + [0.1]
    udot = kane.build(eqs).forward(target, np.zeros(6))
    # Gravity is compensated in full, so that nothing moves: torques of 100 N m cancel, over inertias above 1e-3 kg m^2.
    np.testing.assert_allclose(udot, 0.0, atol=1e-10)


def test_the_feedback_of_the_stanford_arm_takes_gains_and_targets_by_name():
    m = stanford_arm()
    eqs = kane.substitute(kane.formulate(m), **stanford_arm_feedback(m, q1=0.5, k1=10.0, k2=0.0))
    bias = kane.build(eqs).bias([0.4, 1.0, 1.0, 1.0, 1.0, 0.1], np.zeros(6))
    assert bias[0] == pytest.approx(10.0 * (0.4 - 0.5), rel=1e-9)  # gravity has no moment about the vertical


def test_a_gain_that_is_none_is_refused():
    with pytest.raises((ModelError, TypeError), match=r"k13"):
        stanford_arm_feedback(stanford_arm(), k13=1.0)
