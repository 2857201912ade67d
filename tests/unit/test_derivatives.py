"""What is asked of derivatives, and how they answer: shapes, names, sparsity, errors."""

import numpy as np
import pytest

import kane
from kane.dynamics.derivatives.derivatives import LONG_ROW
from kane.errors import ModelError


@pytest.fixture(scope="module")
def pendulum():
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    L = m.parameter("L", 0.5)
    A = m.body("A", mass=2.0, inertia=(0, 0, 0), com=(0, -L, 0))
    j = m.connect(m.ground, A, kane.Revolute("q1", axis="z"))
    m.load(kane.Motor(j, m.input("T")))
    return m, A, kane.build(kane.formulate(m))


def test_a_pendulum_has_the_slopes_of_its_closed_form(pendulum):
    """udot = (T - m g L sin q) / (m L^2)."""
    dyn, m, g, L, q, T = pendulum[2], 2.0, 9.81, 0.5, 0.4, 0.3
    J = dyn.derivatives("forward", wrt=("q", "u", "inputs", "L", "t"))([q], [0.7], [T], 0.0)
    np.testing.assert_allclose(J.value, [(T - m * g * L * np.sin(q)) / (m * L**2)], rtol=1e-14)
    np.testing.assert_allclose(J["q"], [[-g * np.cos(q) / L]], rtol=1e-14)
    np.testing.assert_allclose(J["inputs"], [[1 / (m * L**2)]], rtol=1e-14)
    np.testing.assert_allclose(J["L"], [g * np.sin(q) / L**2 - 2 * T / (m * L**3)], rtol=1e-14)
    np.testing.assert_array_equal(J["u"], [[0.0]])
    np.testing.assert_array_equal(J["t"], [0.0])


def test_parameters_may_have_values_of_their_own_and_be_a_batch(pendulum):
    d = pendulum[2].derivatives("forward", wrt=("q",))
    found = d([0.0], [0.0], [0.0], parameters={"L": np.array([0.5, 1.0])})
    np.testing.assert_allclose(found["q"], [[[-9.81 / 0.5]], [[-9.81]]], rtol=1e-14)


def test_outputs_of_a_users_own_have_derivatives(pendulum):
    m, A, dyn = pendulum
    P = A.point((0.0, -1.0, 0.0))
    one = dyn.derivatives(P.position.dot(m.ground.x), wrt=("q", "u"))([0.4], [0.7])
    np.testing.assert_allclose(one.value, np.sin(0.4), rtol=1e-14)
    np.testing.assert_allclose(one["q"], [np.cos(0.4)], rtol=1e-14)
    two = dyn.derivatives([P.velocity.dot(m.ground.x), P.velocity.dot(m.ground.y)], wrt=("q", "u"))([0.4], [0.7])
    np.testing.assert_allclose(two["u"], [[np.cos(0.4)], [np.sin(0.4)]], rtol=1e-14)
    np.testing.assert_allclose(two["q"], [[-0.7 * np.sin(0.4)], [0.7 * np.cos(0.4)]], rtol=1e-14)


def test_what_is_zero_in_every_state_is_not_computed():
    """Where the cart of a pendulum is, and how fast it goes, changes no force."""
    equations = kane.formulate(kane.library.n_link_pendulum(4))
    d = kane.build(equations).derivatives("inverse", wrt=("q", "u", "udot"))
    assert not d.sparsity["q"][:, 0].any()
    assert not d.sparsity["u"][:, 0].any()
    assert d.sparsity["udot"].all()
    assert len(d.program.outputs) == 5 + sum(block.sum() for block in d.sparsity.values())


def test_a_quaternion_is_varied_by_small_rotations(pendulum):
    m = kane.Model("free", gravity=(0, 0, -9.81))
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(0.1, 0.2, 0.3)), kane.Free("base"))
    dyn = kane.build(kane.formulate(m))
    d = dyn.derivatives("forward", wrt=("q",))
    q = np.array([1.0, 0, 0, 0, 1.0, 2.0, 3.0])
    # Gravity seen from the turned body: d(R^T g) = -s x g.
    expected = np.zeros((6, 6))
    expected[3:, :3] = np.cross(np.eye(3), [0, 0, 9.81]).T
    np.testing.assert_allclose(d(q, np.zeros(6))["q"], expected, atol=1e-14)
    assert d.columns["q"] == ("base_wx", "base_wy", "base_wz", "base_vx", "base_vy", "base_vz")


@pytest.mark.parametrize(
    ("of", "wrt", "words"),
    [
        ("forwards", ("q",), "there is no program 'forwards'; did you mean forward?"),
        ("forward", ("Q",), "there is no derivative with respect to 'Q'"),
        ("forward", ("udot",), "there is no derivative with respect to 'udot'"),
        ("inverse", ("inputs",), "there is no derivative with respect to 'inputs'"),
        ("forward", ("q", "q"), "names something twice"),
        ("forward", "q", "wrt"),
        ("forward", 3.0, "wrt"),
        ([3.0], ("q",), "there are no derivatives of [3.0]"),
        (3.0, ("q",), "there are no derivatives of 3.0"),
        ([], ("q",), "there are no derivatives of"),
    ],
)
def test_what_cannot_be_derived_is_named(pendulum, of, wrt, words):
    with pytest.raises(ModelError) as error:
        pendulum[2].derivatives(of, wrt=wrt)
    assert words in str(error.value)


def test_an_expression_of_another_model_is_refused(pendulum):
    other = kane.Model("other")
    with pytest.raises(ModelError, match="not an expression of the model 'pendulum'"):
        pendulum[2].derivatives(other.parameter("x", 1.0), wrt=("q",))


def test_what_outputs_read_must_be_given(pendulum):
    dyn = pendulum[2]
    with pytest.raises(ModelError, match="depends on T"):
        dyn.derivatives("forward", wrt=("q",))([0.1], [0.0])
    with pytest.raises(ModelError, match="give udot as the third"):
        dyn.derivatives("inverse", wrt=("q",))([0.1], [0.0])
    four_bar = kane.build(kane.formulate(kane.library.four_bar()))
    with pytest.raises(ModelError, match="give inputs as the third"):
        four_bar.derivatives("forward", wrt=("q",))(kane.assemble(four_bar).q, np.zeros(3))


def test_a_block_that_was_not_asked_for_is_named(pendulum):
    with pytest.raises(KeyError, match="no derivative with respect to 'u' was requested; there are q"):
        pendulum[2].derivatives("energy", wrt=("q",))([0.1], [0.0])["u"]


def test_at_a_switch_the_slope_is_that_of_the_branch_taken():
    m = kane.Model("stop")
    A = m.body("A", mass=1.0, inertia=(1, 1, 1))
    j = m.connect(m.ground, A, kane.Prismatic("q1", axis="x"))
    m.load(kane.Motor(j, kane.select(j.q < 1.0, 0.0, -100.0 * (j.q - 1.0))))
    d = kane.build(kane.formulate(m)).derivatives("forward", wrt=("q",))
    assert d([np.nextafter(1.0, 0.0)], [0.0])["q"] == 0.0
    assert d([1.0], [0.0])["q"] == -100.0


def test_at_a_kink_the_slope_is_one_sided_and_of_a_size_without_sign_it_is_zero():
    """``maximum`` and ``minimum`` pass on one argument where both are equal; |x| has the mean of both sides."""
    m = kane.Model("kinks")
    j = m.connect(m.ground, m.body("A", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("q1", axis="x"))
    dyn = kane.build(kane.formulate(m))
    kinks = [kane.maximum(2 * j.q, j.q), kane.minimum(2 * j.q, j.q), kane.absolute(j.q), kane.sign(j.q)]
    d = dyn.derivatives(kinks, wrt=("q",))
    greatest, least, *rest = d([0.0], [0.0])["q"][:, 0].tolist()
    assert greatest in (1.0, 2.0)
    assert least in (1.0, 2.0)
    assert rest == [0.0, 0.0]
    np.testing.assert_array_equal(d([0.5], [0.0])["q"][:, 0], [2.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(d([-0.5], [0.0])["q"][:, 0], [1.0, 2.0, -1.0, 0.0])
    assert not d.hessian([0.0], [0.0], weights=np.ones(4))["q", "q"].any()


def test_coordinates_by_themselves_are_what_methods_of_integration_take():
    """Those of a quaternion one by one; along the sphere they say what small rotations do."""
    m = kane.Model("ball", gravity=(0, 0, -9.81))
    B = m.body("B", mass=1.0, inertia=(1.0, 2.0, 2.5), com=(0.1, 0.0, 0.2))
    m.connect(m.ground, B, kane.Spherical("s"))
    dyn = kane.build(kane.formulate(m))
    q, u = np.array([0.5, 0.5, -0.5, 0.5]), np.array([0.3, -0.2, 0.4])
    J = dyn.derivatives("rhs", wrt=("coordinates", "q"))(q, u)
    turned = 0.5 * np.array([[-q[1], -q[2], -q[3]], [q[0], -q[3], q[2]], [q[3], q[0], -q[1]], [-q[2], q[1], q[0]]])
    np.testing.assert_allclose(J["coordinates"] @ turned, J["q"], atol=1e-14)  # some tens of roundings


def test_a_second_call_makes_no_new_code(pendulum):
    dyn = pendulum[2]
    assert dyn.derivatives("forward", wrt=("q", "u")) is dyn.derivatives("forward", wrt=("q", "u"))


def test_words_that_were_not_asked_for_are_named_in_second_derivatives_too():
    m = kane.Model("slide")
    m.connect(m.ground, m.body("A", mass=1.0), kane.Prismatic("x", axis="x"))
    second = kane.build(kane.formulate(m)).derivatives("forward", wrt=("q", "u")).hessian([0.0], [0.0], weights=[1.0])
    with pytest.raises(KeyError, match="no derivative with respect to 'zz' was requested; there are q, u"):
        second["q", "zz"]
    with pytest.raises(KeyError, match="second derivatives need a pair of names"):
        second["q"]


@pytest.mark.parametrize("of", ["forward", "rhs", "inverse", "energy", "power"])
def test_derivatives_by_nothing_are_values_alone(pendulum, of):
    """Under constraints in numbers too, where columns are put together from parts."""
    loop = kane.library.four_bar()
    dyn = kane.build(kane.formulate(loop))
    q, u, rest = [1.0, 0.3, 1.5], [0.1, 0.2, 0.3], [0.5] * (3 if of == "inverse" else 1)
    asked = dyn.equations.u[0] * dyn.equations.q[0] if of == "power" else of
    d, by_time = (dyn.derivatives(asked, wrt=words) for words in ((), ("t",)))
    found, whole = d(q, u, rest, 0.0), by_time(q, u, rest, 0.0)
    assert dict(found) == {}
    assert d.columns == {}
    np.testing.assert_array_equal(found.value, whole.value)
    assert found.whole.shape == (*np.shape(whole.value), 0)
    assert d.hessian(q, u, rest, 0.0, weights=np.ones(len(d.outputs))) == {}


def test_long_derivatives_of_many_states_are_those_of_single_states():
    """Results of blocks of states are unpacked together; the last block is not full."""
    dyn, rng = kane.build(kane.formulate(kane.library.chain(12))), np.random.default_rng(0)
    d = dyn.derivatives("poses", wrt=("q",))
    q, u = rng.normal(size=(2, 70, 12))
    found = d(q, u).whole
    assert found[0].size >= LONG_ROW
    assert (found == 0.0).all(axis=0).any()
    assert np.array_equal(found, [d(*state).whole for state in zip(q, u, strict=True)])
