"""Inertia against sums over particles; every refusal by its message."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Peer

from kane.errors import ModelError
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.operations import PARAMETER
from kane.geometry.inertia import (
    checked_inertia,
    combine,
    inertia_matrix,
    inertia_of_second_moment,
    nearest_valid_inertia,
    of_six,
    point_inertia,
    rotated_inertia,
    second_moment,
    shift_from_mass_centre,
    six,
)
from kane.geometry.rotation import Rotation

# Sums of a dozen products of numbers of order one.
ROUND_OFF = 1e-13
ZERO = ((0.0, 0.0, 0.0),) * 3


def particles(seed, n=6):
    """Masses, places and the body they make: mass, mass centre, inertia about it."""
    rng = np.random.default_rng(seed)
    m, r = rng.uniform(0.1, 1.0, n), rng.normal(size=(n, 3))
    return m, r, body_of(m, r)


def body_of(m, r):
    com = m @ r / m.sum()
    return m.sum(), tuple(com), about(m, r, com)


def about(m, r, point):
    d = r - np.asarray(point)
    return sum(mass * (x @ x * np.eye(3) - np.outer(x, x)) for mass, x in zip(m, d, strict=True))


def valid(seed):
    return particles(seed)[2][2]


def test_three_principal_moments_six_numbers_and_a_matrix_are_read():
    assert inertia_matrix((1, 2, 2.5)) == ((1, 0, 0), (0, 2, 0), (0, 0, 2.5))
    assert inertia_matrix((1, 2, 3, 4, 5, 6)) == ((1, 4, 5), (4, 2, 6), (5, 6, 3))
    assert inertia_matrix(np.array(((1, 4, 5), (4, 2, 6), (5, 6, 3)))) == ((1, 4, 5), (4, 2, 6), (5, 6, 3))
    assert six(of_six((1, 2, 3, 4, 5, 6))) == (1, 2, 3, 4, 5, 6)


def test_parameters_stay_in_the_inertia():
    a, b = (Arena().leaf(PARAMETER, name) for name in "ab")
    assert inertia_matrix((a, a, 1.0, b, 0, 0)) == ((a, b, 0.0), (b, a, 0.0), (0.0, 0.0, 1.0))
    assert inertia_matrix(((a, b, 0), (b, a, 0), (0, 0, 1))) == inertia_matrix((a, a, 1, b, 0, 0))


@pytest.mark.parametrize("spec", [(1, 2), (1, 2, 3, 4), "abc", 3.0, ()])
def test_an_inertia_of_another_shape_is_refused(spec):
    with pytest.raises(ModelError, match="give 3 principal moments, 6"):
        inertia_matrix(spec)


def test_a_malformed_inertia_is_refused_naming_the_place():
    with pytest.raises(ModelError, match=r"the inertia of A\[1\] is nan"):
        inertia_matrix((1, math.nan, 1), "the inertia of A")
    with pytest.raises(ModelError, match=r"is 'x'; give a finite number"):
        inertia_matrix((1, 1, "x"))
    with pytest.raises(ModelError, match=r"row 1 of the inertia is \(1, 2\)"):
        inertia_matrix(((1, 0, 0), (1, 2), (0, 0, 1)))


def test_an_unsymmetric_inertia_is_refused_naming_the_entries():
    with pytest.raises(ModelError, match=r"entry \(0, 2\) is 0.1 and entry \(2, 0\) is 0.2"):
        inertia_matrix(((1, 0, 0.1), (0, 1, 0), (0.2, 0, 1)))
    arena = Arena()
    a, b = arena.leaf(PARAMETER, "a"), arena.leaf(PARAMETER, "b")
    with pytest.raises(ModelError, match=r"not symmetric: entry \(0, 1\) is a and entry \(1, 0\) is b"):
        inertia_matrix(((1, a, 0), (b, 1, 0), (0, 0, 1)))


@pytest.mark.parametrize(
    "inertia",
    [
        (1, 1, 2),
        (0, 1, 1),
        (0, 0, 0),
        (1, 1, 2 * (1 + 4e-10)),
        six(of_six((1, 1, 1, 0.1, 0.2, 0.3))),
    ],
)
def test_what_a_body_can_have_is_accepted(inertia):
    checked_inertia("A", 1.0, inertia_matrix(inertia))
    checked_inertia("A", 0.0, inertia_matrix(inertia))


def test_every_set_of_particles_is_accepted():
    for seed in range(20):
        checked_inertia("A", 1.0, inertia_matrix(valid(seed)))
        m, r, _ = particles(seed, n=2)
        checked_inertia("A", 1.0, inertia_matrix(body_of(m, r)[2]))


def test_moments_as_large_as_numbers_can_be_are_compared_without_overflow(recwarn):
    assert checked_inertia("A", 1.0, inertia_matrix((1e308, 1e308, 1e308)))[0][0] == 1e308
    assert not recwarn.list


@pytest.mark.parametrize("mass", [-1.0, math.nan, math.inf, -math.inf])
def test_a_mass_that_is_none_is_refused(mass):
    with pytest.raises(ModelError, match=r"the mass of Arm is .* kg; it must be finite and not negative"):
        checked_inertia("Arm", mass, ZERO)


def test_the_triangle_inequality_is_held_to_and_the_cure_is_offered():
    with pytest.raises(ModelError) as caught:
        checked_inertia("Arm", 1.0, inertia_matrix((1.0, 1.0, 2.1)))
    message = str(caught.value)
    assert "inertia of Arm" in message
    assert "triangle inequality" in message
    assert "principal moments are (1, 1, 2.1)" in message
    assert "nearest valid inertia is ((1.05, 0, 0), (0, 1.05, 0), (0, 0, 2.1))" in message


def test_a_violation_just_above_the_tolerance_is_refused():
    with pytest.raises(ModelError, match="triangle"):
        checked_inertia("A", 1.0, inertia_matrix((1.0, 1.0, 2.0 + 1e-8)))


def test_a_negative_principal_moment_is_refused():
    with pytest.raises(ModelError, match=r"a principal moment of inertia is negative; .* \(-1, 1, 3\)"):
        checked_inertia("Arm", 1.0, inertia_matrix((1.0, 1.0, 1.0, 2.0, 0.0, 0.0)))


@pytest.mark.parametrize("moments", [(-5e-20, 0.0, 0.0), (-5e-20,) * 3, (-5e-20, 1e-18, 1e-17), (-4e-16, 0.0, 0.0)])
def test_round_off_of_no_inertia_is_no_inertia(moments):
    found = checked_inertia("A", 1.0, inertia_matrix(moments))
    assert [found[i][i] for i in range(3)] == [max(x, 0.0) for x in moments]


def test_a_principal_moment_of_round_off_is_zero():
    assert checked_inertia("A", 1.0, inertia_matrix((-5e-20, 1.0, 1.0)))[0][0] == 0.0
    R = np.array(Rotation.about("z", 0.3).entries, float) @ np.array(Rotation.about("x", 0.7).entries, float)
    turned = R @ np.diag([0.0, 1.0, 3.0]) @ R.T
    with pytest.raises(ModelError, match=r"principal moments are \(0, 1, 3\)\."):  # eigenvalues are -1e-16, 1, 3
        checked_inertia("A", 1.0, inertia_matrix(((turned + turned.T) / 2).tolist()))


def test_small_bodies_are_not_taken_for_round_off():
    """A grain of a nanogram, a hundredth of a millimetre wide."""
    with pytest.raises(ModelError, match="negative"):
        checked_inertia("grain", 1e-12, inertia_matrix((-1e-22, 1e-22, 1e-22)))


def test_an_inertia_that_is_not_finite_is_refused():
    with pytest.raises(ModelError, match=r"the inertia of Arm is .*; every entry must be finite"):
        checked_inertia("Arm", 1.0, of_six((math.inf, 1.0, 1.0, 0.0, 0.0, 0.0)))


def test_what_is_symbolic_is_not_checked_yet():
    p = Arena().leaf(PARAMETER, "p")
    checked_inertia("A", p, inertia_matrix((p, -1.0, 5.0)))
    with pytest.raises(ModelError, match="mass of A"):
        checked_inertia("A", -1.0, inertia_matrix((p, p, p)))
    with pytest.raises(ModelError, match="triangle"):
        checked_inertia("A", p, inertia_matrix((1.0, 1.0, 5.0)))


def test_the_nearest_valid_inertia_is_valid_and_leaves_a_valid_one_alone():
    for seed in range(10):
        S = np.random.default_rng(seed).normal(size=(3, 3))
        nearest = nearest_valid_inertia(inertia_matrix(S + S.T))
        checked_inertia("A", 1.0, nearest)
        np.testing.assert_allclose(nearest_valid_inertia(inertia_matrix(valid(seed))), valid(seed), atol=ROUND_OFF)


def test_no_valid_inertia_nearby_has_a_nearer_second_moment():
    rng = np.random.default_rng(11)
    given = inertia_matrix((1.0, 1.0, 3.0, 0.2, 0.1, -0.3))
    best = np.linalg.norm(np.array(second_moment(nearest_valid_inertia(given))) - np.array(second_moment(given)))
    assert best > 0.1
    for _ in range(200):
        root = rng.normal(size=(3, 3)) * 0.1 + np.linalg.cholesky(
            np.array(second_moment(nearest_valid_inertia(given))) + 1e-12 * np.eye(3)
        )
        assert np.linalg.norm(root @ root.T - np.array(second_moment(given))) >= best - 1e-9  # 1e-12 was added above


def test_the_nearest_valid_inertia_needs_numbers():
    with pytest.raises(ModelError, match="for numbers only"):
        nearest_valid_inertia(inertia_matrix((Arena().leaf(PARAMETER, "p"), 1, 1)))


def test_second_moments_are_sums_over_particles_and_lead_back():
    m, r, (_, com, inertia) = particles(1)
    d = r - com
    J = second_moment(inertia_matrix(inertia))
    np.testing.assert_allclose(J, (m[:, None] * d).T @ d, atol=ROUND_OFF)
    np.testing.assert_allclose(inertia_of_second_moment(J), inertia, atol=ROUND_OFF)


def test_the_parallel_axis_theorem_holds():
    m, r, (mass, com, inertia) = particles(2)
    P = np.array((0.3, -1.0, 2.0))
    p = tuple(P - com)
    shifted = shift_from_mass_centre(inertia_matrix(inertia), mass, p)
    np.testing.assert_allclose(shifted, about(m, r, P), atol=ROUND_OFF)


def test_a_particle_on_an_axis_has_exact_zeros():
    assert point_inertia(2.0, (0.0, 3.0, 0.0)) == ((18.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 18.0))


def test_turning_the_axes_turns_the_particles():
    m, r, (_, com, inertia) = particles(3)
    R = Rotation.euler("zxz", 0.3, 0.4, 0.5)
    turned = r @ R.as_numpy().T
    expected = about(m, turned, R.as_numpy() @ com)
    np.testing.assert_allclose(rotated_inertia(inertia_matrix(inertia), R), expected, atol=ROUND_OFF)
    np.testing.assert_allclose(R.as_numpy(), Peer.from_euler("ZXZ", (0.3, 0.4, 0.5)).as_matrix(), atol=ROUND_OFF)


def test_several_bodies_are_as_one():
    sets = [particles(seed, n) for seed, n in ((4, 3), (5, 6), (6, 1))]
    m, r = np.concatenate([s[0] for s in sets]), np.concatenate([s[1] for s in sets])
    mass, com, inertia = combine([(s[2][0], s[2][1], inertia_matrix(s[2][2])) for s in sets])
    assert mass == pytest.approx(m.sum(), rel=1e-15)
    np.testing.assert_allclose(com, m @ r / m.sum(), atol=ROUND_OFF)
    np.testing.assert_allclose(inertia, about(m, r, com), atol=ROUND_OFF)


def test_bodies_without_mass_combine_to_their_inertia_at_the_origin():
    rotor = (0.0, (1.0, 0.0, 0.0), inertia_matrix((1, 1, 2)))
    assert combine([rotor, rotor]) == (0.0, (0.0, 0.0, 0.0), inertia_matrix((2, 2, 4)))
    assert combine([]) == (0.0, (0.0, 0.0, 0.0), ZERO)


def test_bodies_with_parameters_combine_to_expressions_of_the_right_value():
    arena = Arena()
    m, h, moment = (arena.leaf(PARAMETER, name) for name in ("m", "h", "moment"))
    numbers = {m: 2.0, h: 0.3, moment: 0.1}
    other = (1.5, (0.1, 0.2, 0.0), inertia_matrix((0.2, 0.3, 0.4)))
    ours = combine([(m, (0.0, 0.0, h), inertia_matrix((moment, moment, 0.05))), other])
    known = combine([(2.0, (0.0, 0.0, 0.3), inertia_matrix((0.1, 0.1, 0.05))), other])
    flat = [ours[0], *ours[1], *six(ours[2])]
    values = [interpret([x], numbers)[0] if isinstance(x, Expr) else x for x in flat]
    np.testing.assert_allclose(values, [known[0], *known[1], *six(known[2])], atol=ROUND_OFF)
