"""Reactions of several rough contacts at once.

Going through all modes vouches for them in the plane, Pinocchio's ADMM solver in space, fifty digits for a ball in a
groove, and the laws themselves, evaluated by NumPy, everywhere.
"""

from itertools import product

import mpmath
import numpy as np
import pytest
from oracles.contact_reactions import Contacts, by_enumeration, by_lot, by_pinocchio, problem, solved, violation
from scipy.optimize import minimize

from kane.engine.laws.interior_point import approach_inside
from kane.engine.laws.least_reactions import shorten
from kane.engine.laws.newton import solve_complementarity

# A residual that counts as solved.
EXACT = 1e-12


@pytest.mark.parametrize(("contacts", "speeds"), [(1, 3), (2, 4), (3, 7)])
def test_reactions_in_the_plane_are_those_of_a_mode_that_going_through_all_of_them_finds(contacts, speeds):
    rng = np.random.default_rng(contacts)
    for _ in range(12):
        c = by_lot(rng, contacts, 1, speeds)
        f, residual = solved(c)
        assert residual < EXACT
        assert min(np.abs(f - other).max() for other in by_enumeration(c)) < 1e-9 * np.abs(f).max(initial=1.0)


@pytest.mark.parametrize(("contacts", "speeds"), [(1, 6), (3, 12)])
def test_reactions_in_space_are_those_of_pinocchio(contacts, speeds):
    """To 1e-5: what its solver is asked for is 1e-10 of the residual, which contacts of little weight enlarge."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(speeds)
    for _ in range(6):
        c = by_lot(rng, contacts, 2, speeds)
        f, residual = solved(c)
        assert residual < EXACT
        np.testing.assert_allclose(f, by_pinocchio(c), atol=1e-5 * max(1.0, np.abs(f).max()))


@pytest.mark.parametrize(
    ("contacts", "tangents", "speeds", "rank"), [(6, 2, 24, None), (4, 2, 6, 6), (3, 1, 3, 3), (4, 2, 9, 5)]
)
def test_reactions_keep_the_laws_also_where_rows_repeat_others(contacts, tangents, speeds, rank):
    rng = np.random.default_rng(speeds)
    for _ in range(5):
        c = by_lot(rng, contacts, tangents, speeds, rank)
        f, residual = solved(c)
        assert residual < EXACT
        assert violation(c, f) < 10 * EXACT


def test_reactions_of_a_ball_turned_in_a_groove_are_those_of_fifty_digits():
    """A torque beyond what both walls hold: both slip, and friction and normal forces hold the centre."""
    mpmath.mp.dps = 50
    c, mu, mass, inertia, radius, torque = np.sqrt(0.5), 0.5, 1.0, 0.004, 0.1, 2.0
    normals, tangents = [(c, c), (-c, c)], [(c, -c), (c, c)]
    J = np.array([[*normals[0], 0], [*tangents[0], radius], [*normals[1], 0], [*tangents[1], radius]])
    inverse = np.diag([1 / mass, 1 / mass, 1 / inertia])
    free = np.array([0.0, -9.81, torque / inertia])
    f, residual = solved(Contacts(J @ inverse @ J.T, J @ free, np.array([mu, mu]), 1))
    assert residual < EXACT
    # Friction is -mu N along the tangents.
    exact = mpmath.mpf(mu)
    A = mpmath.matrix(2, 2)
    for k in range(2):
        for j in range(2):
            A[j, k] = mpmath.mpf(J[2 * k, j]) - exact * mpmath.mpf(J[2 * k + 1, j])
    N = mpmath.lu_solve(A, mpmath.matrix([0, mpmath.mpf("9.81")]))
    expected = [float(N[0]), -mu * float(N[0]), float(N[1]), -mu * float(N[1])]
    np.testing.assert_allclose(f, expected, rtol=1e-12)


def test_a_box_on_four_corners_has_reactions_though_the_fourth_repeats_the_others():
    corners = np.array([(x, z) for x in (-0.1, 0.1) for z in (-0.1, 0.1)])
    rows = []
    for x, z in corners:
        # Normal y, tangents z and x, of velocity and turning rate about the centre, at height 0.1.
        r = np.array([x, -0.1, z])
        rows += [[*axis, *np.cross(r, axis)] for axis in np.eye(3)[[1, 2, 0]]]
    J, inverse = np.array(rows), np.diag(1 / np.array([2, 2, 2, 0.02, 0.02, 0.02]))
    push = 5.0
    c = Contacts(J @ inverse @ J.T, J @ inverse @ [push, -2 * 9.81, 0, 0, 0, 0], np.full(4, 0.5), 2)
    f, residual = solved(c)
    assert residual < EXACT
    assert violation(c, f) < EXACT
    np.testing.assert_allclose(J.T @ f, [-push, 2 * 9.81, 0, 0, 0, 0], atol=1e-10)


def test_where_there_are_two_solutions_the_one_that_it_starts_at_is_kept():
    """A contact whose slip jams it: with the friction either it sticks, or it slips away; each is found from itself."""
    rng, seen = np.random.default_rng(7), 0
    for _ in range(200):
        c = by_lot(rng, 2, 1, 3)._replace(friction=np.array([3.0, 3.0]))
        found = by_enumeration(c)
        if len(found) > 1:
            seen += 1
            for f in found:
                kept, residual = solved(c, f)
                assert residual < EXACT
                np.testing.assert_allclose(kept, f, atol=1e-8 * np.abs(f).max())
    assert seen > 0


def test_the_same_problem_gives_the_same_bits():
    c = by_lot(np.random.default_rng(0), 4, 2, 9)
    first, _ = solved(c)
    again, _ = solved(c)
    assert first.tobytes() == again.tobytes()


def test_what_has_no_solution_is_not_called_solved():
    """A push that accelerates what it pushes into the surface: W < 0, b < 0."""
    _, residual = solved(Contacts(np.array([[-1.0, 0.2], [0.2, 1.0]]), np.array([-1.0, 0.0]), np.array([0.0]), 1))
    assert residual > 1e-3


@pytest.mark.parametrize(("tangents", "speeds", "seed"), [(2, 6, 66), (2, 6, 106), (1, 3, 149)])
def test_contacts_of_one_body_that_relaxation_comes_nowhere_near_have_reactions_found_from_inside(
    tangents, speeds, seed
):
    """Six contacts with no more rows of rank than one body has speeds; what relaxation left here was 1e-6 and more."""
    c = by_lot(np.random.default_rng(seed), 6, tangents, speeds, speeds)
    f, residual = solved(c)
    assert residual < EXACT
    assert violation(c, f) < 10 * EXACT


@pytest.mark.parametrize(("speeds", "seed"), [(6, 763), (6, 2105), (10, 427), (10, 730)])
def test_where_a_start_from_inside_leads_nowhere_the_next_ones_find_reactions(speeds, seed):
    """Six contacts that one start a turn, each followed for 25 steps, left at more than 1e-12 after eight turns."""
    c = by_lot(np.random.default_rng(seed), 6, 2, speeds, speeds)
    f, residual = solved(c)
    assert residual < EXACT
    assert violation(c, f) < 10 * EXACT


@pytest.mark.parametrize("tangents", [0, 1, 2])
def test_inner_points_lead_near_reactions_of_cones_of_any_kind(tangents):
    """Without tangents, with one and with two; the first contact is smooth. Residuals are of the laws themselves."""
    rng = np.random.default_rng(tangents)
    c = by_lot(rng, 4, tangents, 9)
    c.friction[0] = 0.0
    p = problem(c.W.copy(), c.b.copy(), [1 + tangents] * 4, c.friction.copy())
    assert approach_inside(p, 1.0, 1e-9) < 1e-8
    assert violation(c, p.f) < 1e-4
    assert p.f.reshape(4, -1)[0, 1:] == pytest.approx(0.0, abs=1e-12)


def test_inner_points_are_none_where_a_force_has_a_least_size():
    c = by_lot(np.random.default_rng(0), 2, 2, 6)
    p = problem(c.W, c.b, [3, 3], c.friction)
    p.least[1] = 0.5
    assert approach_inside(p, 1.0, 1e-9) == np.inf


def flat_box(signs):
    """Impulses of a box that falls onto a face: two corners touch and keep still by rounding of these signs, two meet
    the floor. The fourth corner repeats the others.
    """
    corners, half = [(-1, -1), (-1, 1), (1, -1), (1, 1)], 0.15
    rows = []
    for x, y in corners:
        r = half * np.array([x, y, -1.0])
        rows += [[*np.cross(r, axis), *axis] for axis in np.eye(3)[[2, 0, 1]]]
    J, inverse = np.array(rows), np.diag([1 / 0.015] * 3 + [1.0] * 3)
    before = J @ [1.24, 0.0, 1.9, 0.06, -0.04, -0.186]  # it rolls over the edge at y = 0.15
    before[[3, 9]] = 1e-16 * np.array(signs)
    return Contacts(J @ inverse @ J.T, before, np.full(4, 0.5), 2)


def shortened(c):
    p = problem(c.W.copy(), c.b.copy(), [3] * len(c.friction), c.friction.copy())
    assert solve_complementarity(p) <= EXACT
    shorten(p)
    return p


def shortest_by_slsqp(c, start):
    """Of reactions that keep all corners on the floor and rub against the slip the shortest."""

    def laws(f):
        a = (c.W @ f + c.b).reshape(-1, 3)
        g, speed = f.reshape(-1, 3), np.hypot(a[:, 1], a[:, 2])
        rubbed = g[:, 1:] * speed[:, None] + c.friction[:, None] * g[:, :1] * a[:, 1:]
        return np.concatenate([a[:3, 0], rubbed.ravel()])

    found = minimize(
        lambda f: f @ f,
        start,
        jac=lambda f: 2.0 * f,
        constraints=({"type": "eq", "fun": laws}, {"type": "ineq", "fun": lambda f: f[::3]}),
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 500},
    )
    assert found.success
    assert np.abs(laws(found.x)).max() < 1e-9
    return found.x


def test_of_the_impulses_that_stop_a_flat_box_the_shortest_are_found_whatever_rounding_says():
    """Its normal impulses are open by one number, and with them friction and the speeds behind it."""
    found = [shortened(flat_box(signs)) for signs in product((-1.0, 1.0), repeat=2)]
    ways = np.array([solved(flat_box(signs))[0] for signs in product((-1.0, 1.0), repeat=2)])
    assert np.ptp(ways, axis=0).max() > 1e-2  # what Newton's method ends at depends on rounding
    c = flat_box((1.0, 1.0))
    exact = shortest_by_slsqp(c, ways[1])
    for p in found:
        np.testing.assert_allclose(p.f, found[0].f, atol=1e-10)
        assert violation(c, p.f) < EXACT
        np.testing.assert_allclose(p.f, exact, atol=1e-6)
        np.testing.assert_allclose(p.a, c.W @ p.f + c.b, atol=1e-14)


def test_a_contact_that_would_pull_in_the_shortest_reactions_takes_nothing():
    """A bar on four smooth supports in a line, its weight in the middle of the last two: by least squares the first
    would pull, and the other three carry it.
    """
    places, middle = np.arange(4.0), 2.5
    J = np.column_stack([np.ones(4), places - middle])
    c = Contacts(J @ J.T, J @ [-1.0, 0.0], np.zeros(4), 0)
    p = problem(c.W, c.b, [1] * 4, np.zeros(4))
    p.f[:] = 0.0, 0.0, 0.5, 0.5  # balance, with two supports that keep still and take nothing
    shorten(p)
    assert np.linalg.lstsq(J.T, np.array([1.0, 0.0]), rcond=None)[0][0] < -0.01
    np.testing.assert_allclose(p.f, [0.0, 1 / 3 - 1 / 4, 1 / 3, 1 / 3 + 1 / 4], atol=1e-12)


def test_reactions_that_are_unique_stay_as_they_are():
    c = by_lot(np.random.default_rng(3), 3, 2, 12)
    p = shortened(c)
    np.testing.assert_allclose(p.f, solved(c)[0], rtol=1e-12)
