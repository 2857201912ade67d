"""The native embedding: its algebra against NumPy, choices that change with the rank, and states put onto constraints.

The kernels are Python functions too, and run as such where they are tested by themselves.
"""

import dataclasses
from itertools import pairwise
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import scipy.linalg
from oracles.interpreted import views
from oracles.multipliers import accelerations

import kane
from kane.engine.linear import factorizations as algebra
from kane.engine.memory import constraint_codes as header
from kane.engine.memory.constants import CONSTRAINT_HEADER
from kane.engine.memory.fill import filled
from kane.engine.memory.views import FactorScratch, constraint_scratch_at
from kane.engine.project import newton
from kane.engine.project import projection as projection
from kane.engine.rows import embedding
from kane.formulation.constraints.embedding import NumericalEmbedding
from kane.simulation.projection import selection_in


def factors(A):
    n = A.shape[1]
    return FactorScratch(A.copy(), np.arange(n), np.zeros(n), np.zeros(n), np.zeros((2, n)), np.zeros(n), 0)


def rows_of_rank(m, n, rank, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))


@pytest.mark.parametrize(("m", "n", "rank"), [(3, 5, 3), (5, 3, 3), (6, 6, 5), (4, 7, 2), (1, 1, 1), (3, 4, 0)])
def test_the_rank_is_found_and_least_squares_are_those_of_numpy(m, n, rank):
    A = rows_of_rank(m, n, rank, seed=m * n)
    f = factors(A)
    assert algebra.factor(f, -1) == rank
    assert sorted(f.order) == list(range(n))
    b = np.random.default_rng(1).normal(size=m)
    x = b.copy()
    algebra.to_q(f, rank, x)
    algebra.solve_upper(f, rank, x)
    block = A[:, f.order[:rank]]
    expected = np.linalg.lstsq(block, b, rcond=None)[0]
    # Random blocks of this size are conditioned better than 1e3.
    assert np.allclose(x[:rank], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rank", [3, 4])
def test_the_least_solution_of_equations_is_that_of_the_pseudoinverse(rank):
    A = rows_of_rank(4, 7, rank, seed=3)
    b = A @ np.random.default_rng(2).normal(size=7)
    f = factors(A.T)
    assert algebra.factor(f, -1) == rank
    s = np.zeros(7)
    s[:rank] = b[f.order[:rank]]
    algebra.solve_lower(f, rank, s)
    algebra.from_q(f, rank, s)
    assert np.allclose(s, np.linalg.pinv(A, rcond=1e-10) @ b, rtol=1e-11, atol=1e-11)


def test_the_longest_column_is_that_of_numpy_whatever_stands_in_scratch_and_behind():
    for m, n in ((3, 5), (1, 1), (5, 2), (0, 3), (2, 0)):
        A = np.random.default_rng(m + n).normal(size=(m, n))
        scratch = np.full(n, 7.0)
        expected = np.linalg.norm(A, axis=0).max(initial=0.0)
        assert algebra.longest_column(A, scratch) == pytest.approx(expected, rel=1e-14)


def test_a_row_that_repeats_others_but_for_rounding_counts_as_none_and_one_that_is_shorter_does_not():
    """Beside a row, one that is by 1e-9 another is no other; one of a billionth of its length is."""
    for other, pivots in (([1.0, 1e-9], 1), ([1.0, 1e-5], 2), ([0.0, 1e-9], 2), ([0.0, 0.0], 1)):
        A = np.array([[1.0, 0.0], other])
        G = np.tril(A @ A.T)
        assert algebra.factor_cholesky(G, 2, algebra.REPEATED) == pivots
        assert np.count_nonzero(np.isfinite(np.diag(G))) == pivots
        x = np.array([2.0, 0.0])
        algebra.solve_cholesky(G, 2, x)
        assert np.allclose(A @ A.T @ x, [2.0, 0.0], atol=1e-5) or pivots == 1
        assert x[1] == 0.0 or pivots == 2
    G, x = np.array([[1.0, 0.0], [0.5, 1.25]]), np.ones(2)  # numbers that double precision holds, one of them 1
    assert algebra.factor_cholesky(G, 2, algebra.REPEATED) == 2
    algebra.solve_cholesky(G, 2, x)
    assert x.tolist() == [0.75, 0.5]


@pytest.mark.parametrize(("m", "rank"), [(4, 4), (4, 3), (9, 7), (3, 0)])
def test_the_least_solution_by_normal_equations_is_that_of_the_pseudoinverse_whatever_rows_repeat_others(m, rank):
    A = rows_of_rank(m, 7, rank, seed=m + rank)
    b = A @ np.random.default_rng(2).normal(size=7)
    G, y = np.tril(A @ A.T), b.copy()
    assert algebra.factor_cholesky(G, m, algebra.REPEATED) == rank
    algebra.solve_cholesky(G, m, y)
    # Random rows are conditioned better than 30, of which the square is lost, and their pivots better than that.
    np.testing.assert_allclose(A.T @ y, np.linalg.pinv(A, rcond=1e-10) @ b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_cholesky_gives_the_factor_of_numpy_and_touches_nothing_above_the_diagonal_or_beyond(n):
    random = np.random.default_rng(n)
    B = random.normal(size=(n, n + 2))
    whole = random.normal(size=(n + 2, n + 2))
    whole[:n, :n] = np.tril(B @ B.T) + np.triu(whole[:n, :n], 1)
    L, x = whole.copy(), random.normal(size=n)
    assert algebra.factor_cholesky(L, n, algebra.ROUNDING) == n
    expected = whole.copy()
    expected[:n, :n] = np.tril(np.linalg.cholesky(B @ B.T)) + np.triu(whole[:n, :n], 1)
    np.testing.assert_allclose(L, expected, rtol=1e-11, atol=1e-13)
    y, packed = x.copy(), (B @ B.T)[np.tril_indices(n)]
    algebra.solve_cholesky(L, n, y)
    np.testing.assert_allclose(y, np.linalg.solve(B @ B.T, x), rtol=1e-8)
    triangle = np.zeros((n, n))
    assert algebra.factor_triangle(packed, triangle)
    np.testing.assert_allclose(np.tril(triangle), np.tril(expected[:n, :n]), rtol=1e-11, atol=1e-13)
    packed[-1] -= 2.0 * expected[n - 1, n - 1] ** 2
    assert not algebra.factor_triangle(packed, triangle)


def test_a_pivot_of_cholesky_counts_down_to_the_tolerance_times_n_and_its_diagonal_entry():
    """M = [[4, 2], [2, 1 + d]] has the last pivot d: its entry is about 1, n is 2."""
    for excess, rank in ((1.01, 2), (0.99, 1)):
        tolerance = 1e-6
        L = np.array([[4.0, 0.0], [2.0, 1.0 + excess * 2.0 * tolerance]])
        assert algebra.factor_cholesky(L, 2, tolerance) == rank
        assert np.isinf(L[1, 1]) == (rank == 1)
    x = np.array([4.0, 2.0])
    algebra.solve_cholesky(L, 2, x)
    assert x.tolist() == [1.0, 0.0]
    ones = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 2.0, 3.0]])  # entries of one are no special case
    assert algebra.factor_cholesky(ones, 3, tolerance) == 3
    assert ones.tolist() == np.tril(np.ones((3, 3))).tolist()
    x = np.array([3.0, 2.0, 1.0])
    algebra.solve_upper_factor(ones, 3, x)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_loads_are_projected_onto_the_independent_speeds():
    """z = h + M e and -R^T z with R = [D; 1], in the order of the selection."""
    random, rank, n = np.random.default_rng(5), 2, 5
    f = SimpleNamespace(A=random.normal(size=(rank, n)), order=random.permutation(n))
    h, M, e = random.normal(size=n), random.normal(size=(n, n)), np.zeros(n)
    e[:rank] = random.normal(size=rank)
    z, udot = np.zeros(n), np.zeros(n)
    embedding.project_loads(f, rank, h, M, e, z, udot)
    expected = h[f.order] + M @ e
    np.testing.assert_allclose(z, expected, rtol=1e-14)
    np.testing.assert_allclose(udot[rank:], -expected[rank:] - f.A[:, rank:].T @ expected[:rank], rtol=1e-13)


@pytest.mark.parametrize("steps", [1, 3])
def test_newton_s_method_takes_as_many_steps_as_it_may_and_undoes_the_one_that_does_not_help(steps):
    seen = []

    def halve(problem, residual, taken):
        seen.append(taken)
        return 0.5 * residual

    found = newton.iterate(None, 1.0, steps, halve, lambda problem: pytest.fail("all steps help"))
    assert (found, seen) == ((steps, 0.5**steps, False), list(range(steps)))
    undone = []
    for start, satisfied in ((1.0, False), (newton.ROUNDED_RESIDUAL, True)):
        found = newton.iterate("problem", start, steps, lambda problem, residual, taken: residual, undone.append)
        assert found == (0, start, satisfied)
    assert undone == ["problem"] * 2
    assert newton.iterate(None, 1.0, steps, lambda *_: newton.NO_STEP, undone.append) == (0, np.inf, False)


def test_a_step_that_is_undone_restores_the_coordinates_and_nothing_else():
    state, q = np.arange(7.0), np.array([10.0, 20.0])
    problem = SimpleNamespace(state=state), SimpleNamespace(q=q), None, None, None
    projection._restore_coordinates(problem)
    assert state.tolist() == [0.0, 10.0, 20.0, 3.0, 4.0, 5.0, 6.0]


def volume(block):
    return np.sqrt(max(np.linalg.det(block.T @ block), 0.0))


def serves(A, order, rank):
    """NumPy's determinants of all choices that differ by one speed, and the rank of A by its singular values."""
    chosen, others = A[:, order[:rank]], A[:, order[rank:]].T
    exchanged = [volume(np.column_stack([np.delete(chosen, k, axis=1), a])) for k in range(rank) for a in others]
    true = np.linalg.matrix_rank(A) if A.any() else 0
    return true == rank and max(exchanged, default=0.0) <= 2.0 * volume(chosen)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_choice_serves_only_if_no_exchange_of_two_speeds_doubles_its_volume_and_the_rank_is_that_of_A(size):
    """Whatever the units of the rows."""
    for seed in range(30):
        random = np.random.default_rng(seed)
        A = size * rows_of_rank(3, 6, 3 if seed % 3 else 2, seed)
        order, rank = random.permutation(6), int(random.integers(2, 4))
        f = factors(A[:, order])
        algebra.factor(f, rank)
        assert projection.is_good_selection(f, rank, np.linalg.norm(A, axis=0).max()) == serves(A, order, rank)


def smallest(A, order, rank):
    """The smallest |R_kk| of columns in this order; infinity where there is none."""
    return np.abs(np.diag(np.linalg.qr(A[:, order[:rank]])[1])).min(initial=np.inf)


def choosing(A, mode, rank, order):
    """What ``choose`` works with: these rows, this header, and what another state has left in scratch."""
    m, n = A.shape
    f = factors(np.full((m, n), 7.0))
    head = SimpleNamespace(mode=mode, rank=np.array([rank]))
    return SimpleNamespace(head=head, f=f, rows=SimpleNamespace(A=A), lists=SimpleNamespace(order=order.copy()))


def drawn_choices(number):
    """Rows of every rank, and a mode, a rank and an order in force before, which may come of other rows.

    In every third the columns in force are orthonormal, and the others about twice each of them, with either sign: a
    choice that serves may then have pivots of less than half of the best.
    """
    random, n = np.random.default_rng(3), 5
    for seed in range(number):
        m, order = int(random.integers(0, 5)), random.permutation(n)
        true = int(random.integers(0, m + 1))
        A = rows_of_rank(m, n, true, seed)
        shape = true, n - true
        if seed % 3 == 0:
            A[:, order] = np.linalg.qr(A[:, :true])[0] @ np.eye(true, n)
            A[:, order[true:]] = A[:, order[:true]] @ (random.choice([-1, 1], shape) * random.uniform(1.6, 2.1, shape))
        best = scipy.linalg.qr(A, mode="r", pivoting=True)[1] if A.any() else np.arange(n)
        mode = int(random.choice([header.AFRESH, header.KEPT, header.KEPT, header.FIXED]))
        known = mode == header.FIXED or random.random() < 0.6
        yield A, true, best, mode, true if known else int(random.integers(header.UNCHOSEN, n)), order
    for mode in (header.AFRESH, header.KEPT):  # the first row in force, and the last that goes
        yield rows_of_rank(1, n, 1, 0), 1, np.abs(rows_of_rank(1, n, 1, 0)[0]).argsort()[::-1], mode, 0, np.arange(n)
        yield np.zeros((0, n)), 0, np.arange(n), mode, 1, np.arange(n)


def test_a_choice_in_force_stays_where_it_serves_or_its_pivots_do_and_else_that_by_pivoting_takes_its_place():
    """SciPy's QR with column pivoting gives the best choice, NumPy least squares by the one taken."""
    seen = set()
    for A, true, best, mode, rank, order in drawn_choices(400):
        a, random = choosing(A, mode, rank, order), np.random.default_rng(1)
        found, longest = projection.select_speeds(a)
        assert longest == pytest.approx(np.linalg.norm(A, axis=0).max(initial=0.0), rel=1e-14)
        assert found == true
        usual = mode == header.KEPT and rank == true
        by_volume = usual and serves(A, order, rank)
        by_pivots = usual and smallest(A, order, rank) >= 0.5 * smallest(A, best, rank)
        stays = mode == header.FIXED or by_volume or by_pivots
        used = order[:true] if stays else best[:true]
        if len(A) or true != rank:  # else there is nothing to be factored
            np.testing.assert_array_equal(a.f.order[:true], used)
            assert sorted(a.f.order) == list(range(len(order)))
        adopted = mode == header.KEPT and not stays
        np.testing.assert_array_equal(a.lists.order, a.f.order if adopted else order)
        assert a.head.rank[0] == (true if adopted else rank)
        b = random.normal(size=len(A))
        x = b.copy()
        algebra.to_q(a.f, true, x)
        algebra.solve_upper(a.f, true, x)
        expected = np.linalg.lstsq(A[:, used], b, rcond=None)[0]
        # Columns conditioned better than 2e3, of which least squares of what does not fit loses the square.
        np.testing.assert_allclose(x[:true], expected, rtol=0, atol=1e-9 * (1.0 + np.abs(expected).max(initial=0.0)))
        seen.add((mode, true == 0, len(A) == 0, bool(rank == true), bool(by_volume), bool(by_pivots)))
    for volume_does in (False, True):
        for pivots_do in (False, True):
            assert (header.KEPT, False, False, True, volume_does, pivots_do) in seen


def test_pivots_fall_and_are_within_a_small_factor_of_the_singular_values():
    A = rows_of_rank(5, 8, 5, seed=9)
    f = factors(A)
    algebra.factor(f, -1)
    pivots, sizes = np.abs(f.diag[:5]), np.linalg.svd(A, compute_uv=False)
    assert (np.diff(pivots) <= 1e-12).all()
    # Golub & Van Loan: pivoting bounds them by sqrt(n) 2^k in theory, in practice by a small number.
    assert (pivots / sizes < 3.0).all()
    assert (pivots / sizes > 1 / 3.0).all()
    assert algebra.smallest_pivot(f, 5) == pivots[-1]
    assert algebra.largest_pivot(f, 5) == pivots[0]


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e7])
def test_the_matrix_of_dependent_speeds_is_minus_the_pseudoinverse_times_the_rest(size):
    """D = -A_d^+ A_i whatever the units, and pivots that fall, for matrices of many shapes."""
    for seed in range(12):
        m, n, rank = ((3, 7, 2), (5, 6, 4), (4, 9, 4), (7, 4, 3))[seed % 4]
        A = size * rows_of_rank(m, n, rank, seed)
        f = factors(A)
        assert algebra.factor(f, -1) == rank
        assert (np.diff(np.abs(f.diag[:rank])) <= 1e-12 * size).all()
        algebra.solve_columns(f, rank)
        expected = -np.linalg.lstsq(A[:, f.order[:rank]], A[:, f.order[rank:]], rcond=None)[0]
        # Random blocks of this size are conditioned better than 1e3.
        np.testing.assert_allclose(f.A[:rank, rank:], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_a_dependent_speed_whose_pivot_is_zero_depends_on_nothing():
    for A, D in (
        ([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]], [-1.5, 0.0]),
        ([[2.0, -1.0, 3.0], [0.0, 1.0, 1.0]], [-2.0, -1.0]),
    ):
        f = factors(np.array(A))
        algebra.factor(f, 2)
        algebra.solve_columns(f, 2)
        np.testing.assert_allclose(f.A[:2, 2], D, rtol=1e-15)


def test_whole_numbers_are_no_special_case():
    """Rows of loops are full of ones: what is passed over is zero and nothing else."""
    source = np.random.default_rng(0)
    for _ in range(20):
        A = source.integers(-1, 2, size=(4, 6)).astype(float)
        f = factors(A)
        rank = algebra.factor(f, -1)
        assert rank == np.linalg.matrix_rank(A)
        b, x = A @ np.arange(6.0), A @ np.arange(6.0)
        algebra.to_q(f, rank, x)
        algebra.from_q(f, rank, x)
        np.testing.assert_allclose(x, b, rtol=0, atol=1e-13)
        algebra.solve_columns(f, rank)
        D = -np.linalg.lstsq(A[:, f.order[:rank]], A[:, f.order[rank:]], rcond=None)[0]
        np.testing.assert_allclose(f.A[:rank, rank:], D, rtol=0, atol=1e-13)


def test_a_vector_is_reflected_whatever_its_share():
    """Of x = 2 before 1 - v v^T / 8, v = 4: the share is exactly one."""
    f = factors(np.array([[2.0]]))
    x = np.array([2.0])
    algebra.to_q(f, algebra.factor(f, -1), x)
    assert x == [-2.0]


def test_a_pivot_is_judged_by_what_is_left_and_not_by_what_was():
    A = np.array([[1.0, 0.0, 0.0], [0.0, 2.1e-7, 2e-7], [0.0, 0.0, 1e-8]])
    assert algebra.factor(factors(A), -1) == 2


def test_columns_that_nearly_cancel_are_summed_anew():
    """What is left of two columns once the first is taken away, 2e-7 and 4e-7, has no digits in the running sums."""
    for short, longer in ((1, 2), (2, 1)):
        A = np.zeros((4, 3))
        A[0], A[3] = 1.0, 0.5
        A[short, short], A[longer, longer] = 2e-7, 4e-7
        f = factors(A)
        assert algebra.factor(f, -1) == 3
        left = np.linalg.qr(A[:, f.order])[1]
        np.testing.assert_allclose(np.abs(f.diag), np.abs(np.diag(left)), rtol=1e-6)
        assert (np.diff(np.abs(f.diag)) <= 0.0).all()


def test_a_pivot_that_has_lost_half_the_digits_counts_as_zero():
    for small, rank in ((1e-7, 2), (1e-9, 1)):
        assert algebra.factor(factors(np.array([[1.0, 0.0], [0.0, small]])), -1) == rank


def test_columns_in_a_given_order_are_not_exchanged_and_a_zero_pivot_gives_zero():
    A = np.array([[0.0, 2.0], [0.0, 0.0]])
    f = factors(A)
    assert algebra.factor(f, 1) == 1
    assert list(f.order) == [0, 1]
    x = np.array([1.0, 1.0])
    algebra.to_q(f, 1, x)
    algebra.solve_upper(f, 1, x)
    assert x[0] == 0.0
    assert algebra.smallest_pivot(f, 1) == 0.0


@pytest.mark.parametrize("place", range(3))
def test_a_residual_that_is_no_number_is_the_largest_wherever_it_stands(place):
    residual = np.array([2.0, 1.0, 3.0])
    residual[place] = np.nan
    assert np.isnan(projection._largest(residual))


def test_cholesky_solves_and_a_singular_matrix_gives_nan():
    B = np.random.default_rng(4).normal(size=(6, 6))
    M, b = B @ B.T + np.eye(6), np.arange(6.0)
    for size in (1e-10, 1.0, 1e10):
        x = b.copy()
        L = size * M
        assert algebra.factor_positive(L, 6)
        algebra.solve_cholesky(L, 6, x)
        assert np.allclose(x, np.linalg.solve(M, b) / size, rtol=1e-12, atol=0.0)
    nearly = 1e10 * np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]])
    for singular in (np.zeros((2, 2)), np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]]), nearly):
        x = np.ones(2)
        # The square root of zero divides in native code too, where it gives no warning.
        with np.errstate(all="ignore"):
            L = singular.copy()
            assert not algebra.factor_positive(L, 2)
            algebra.solve_cholesky(L, 2, x)
        assert np.isnan(x).all()


@pytest.mark.parametrize(("m", "n", "nq", "p"), [(2, 3, 4, 1), (3, 7, 5, 3), (1, 1, 2, 0), (4, 2, 3, 2)])
def test_the_arrays_of_a_call_lie_one_after_the_other_in_their_work(m, n, nq, p):
    """Programs share what is before them, and as much is asked for as they take: none may reach into another."""
    before, n_own = 11, n + 2
    work = np.full(before + 1000, np.nan)
    sizes = {"rows": m, "speeds": n, "coordinates": nq, "residuals": p, "own_speeds": n_own, "work": before}
    head = filled(CONSTRAINT_HEADER, **{a.name: np.zeros(int(a.length)) for a in CONSTRAINT_HEADER.arrays} | sizes)
    stage = np.concatenate([head, np.zeros(n + p, np.int64)]).view(np.float64)
    state = np.arange(1.0 + nq + n)
    with views():
        a = embedding.arrays_of(state.ctypes.data, stage.ctypes.data, work.ctypes.data)
        c = projection._correction_of(a, work.ctypes.data, a.active, np.zeros(0))
        at = constraint_scratch_at(work.ctypes.data, before, m, n, nq, p, 0, n_own)
    np.testing.assert_array_equal(a.state, state)
    assert (a.lists.order.ctypes.data, a.lists.order.size) == (stage.ctypes.data + 8 * len(head), n)
    of_factors = [x for x in a.f if isinstance(x, np.ndarray)]
    arrays = [a.state, a.rows.whole, a.unconstrained.whole, *of_factors, a.x, a.M, a.W, a.reduced, a.e, a.z, a.udot]
    of_projection = [c.gram, c.y, c.residual, c.s, c.q, c.slope]
    first = (at.own_state.ctypes.data - work.ctypes.data) // 8
    assert lies([*arrays, *of_projection], work) == [*range(before, first)]
    assert (at.own_found - first, at.front_lists - at.own_found) == (1 + nq + n_own, nq + n_own + 3)


def lies(arrays, work):
    """The places in ``work`` that arrays take, in order; one that is taken twice is there twice."""
    starts = [((x.__array_interface__["data"][0] - work.ctypes.data) // 8, x.size) for x in arrays]
    return sorted(k for start, size in starts for k in range(start, start + size))


def windows(n):
    return kane.build(kane.formulate(kane.library.n_four_bar(n)))


def window_state(n, angle, rate=1.0):
    """All standing rods at an angle, moving as parallelograms."""
    q = np.concatenate([np.full(n + 1, angle), np.full(n, -angle)])
    u = np.concatenate([np.full(n + 1, rate), np.full(n, -rate)])
    return np.concatenate([[0.0], q, u])


def project(dyn, x, stage=None):
    stage = dyn.project.stage(dyn.parameters) if stage is None else stage
    return dyn.project(x, np.zeros(len(dyn.equations.inputs)), stage)


def rank_in(stage):
    return int(selection_in(stage)[0])


@pytest.mark.parametrize("n", [1, 3, 6, pytest.param(40, marks=pytest.mark.slow)])
def test_freedoms_rise_where_all_rods_lie_along_a_line_and_fall_again_behind(n):
    """Gonzalez et al. 2006: from 1 to n + 1; the choice kept in the stage follows."""
    dyn = windows(n)
    stage = dyn.project.stage(dyn.parameters)
    for angle, freedoms in ((1.0, 1), (np.pi / 2, n + 1), (2.0, 1)):
        x = window_state(n, angle)
        found = project(dyn, x, stage)
        # A parallelogram satisfies its constraints up to rounding, so that settling has nothing to correct.
        assert np.allclose(found[: len(x) - 1], x[1:], atol=1e-12)
        assert rank_in(stage) == 2 * n + 1 - freedoms
        assert len(dyn.independent(x[1 : 2 * n + 2])) == freedoms
        udot = dyn.function("rhs")(x, (), stage)[2 * n + 1 :]
        expected = accelerations(dyn, x[1 : 2 * n + 2], x[2 * n + 2 :])
        # Accelerations of some 10 rad/s^2; the rows of so many windows are conditioned like n.
        assert np.allclose(udot, expected, rtol=1e-9, atol=1e-8)


def test_speeds_are_projected_when_the_rank_rises_again():
    n = 3
    dyn = windows(n)
    stage = dyn.project.stage(dyn.parameters)
    project(dyn, window_state(n, np.pi / 2), stage)
    x = window_state(n, np.pi / 2 + 0.1)
    x[1 + 2 * n + 1 :] += 0.01 * np.arange(2 * n + 1)
    found = project(dyn, x, stage)
    q, u = found[: 2 * n + 1], found[2 * n + 1 : -3]
    assert found[-2] > 1e-3
    assert np.abs(dyn.constraint_residuals(q, u).motion).max() < 1e-13


def test_near_the_singular_position_conditioning_falls_with_the_distance():
    dyn = windows(2)
    distances = (1e-1, 1e-2, 1e-3)
    values = [float(dyn.conditioning(window_state(2, np.pi / 2 - d)[1:6])) for d in distances]
    assert values[0] / values[1] == pytest.approx(10.0, rel=0.2)
    assert values[1] / values[2] == pytest.approx(10.0, rel=0.2)
    # What the constraints leave is smooth there, and so are accelerations: rows keep consistent within 1e-16 / d.
    before, after = (dyn.forward(x[1:6], x[6:]) for x in (window_state(2, np.pi / 2 - d) for d in (1e-3, -1e-3)))
    assert np.allclose(before, after, atol=0.05)


def four_bar():
    return kane.build(kane.formulate(kane.library.four_bar()))


GUESS = np.array([0.0, 1.0, -0.5, 1.5, 1.0, -2.0, 0.5])


def test_projection_reports_the_residuals_that_it_found_and_leaves_none():
    dyn = four_bar()
    before = dyn.constraint_residuals(GUESS[1:4], GUESS[4:])
    found = project(dyn, GUESS)
    assert found[-3] == np.abs(before.configuration).max()
    assert found[-2] == np.abs(before.motion).max()
    again = project(dyn, np.concatenate([[0.0], found[:6]]))
    # Newton's method ends below 1e-14 m, or where rounding of lengths of a metre lets nothing be gained.
    assert again[-3] < 1e-14
    assert again[-2] < 1e-14
    assert np.allclose(again[:6], found[:6], rtol=1e-14, atol=1e-14)


def test_projection_moves_coordinates_by_the_least_speeds():
    """To first order in the residual the change is that of the pseudoinverse of A."""
    dyn = four_bar()
    q = project(dyn, GUESS)[:3]
    shift = 1e-5 * np.array([1.0, 2.0, -1.0])
    moved = project(dyn, np.concatenate([[0.0], q + shift, np.zeros(3)]))[:3]
    A = dyn.evaluate(dyn.function("constraints"), q, np.zeros(3), t=0.0)[:6].reshape(2, 3)
    expected = shift - np.linalg.pinv(A) @ A @ shift
    # Second order: 1e-10 times curvatures of a few.
    assert np.allclose(moved - q, expected, atol=1e-9)


def test_projection_loop_by_loop_moves_coordinates_by_the_least_speeds_too():
    dyn, n = windows(6), 13
    assert dyn.project.parts.plan.number == 6
    q = window_state(6, 0.7)[1 : n + 1]
    shift = 1e-5 * np.cos(np.arange(n))
    moved = project(dyn, np.concatenate([[0.0], q + shift, np.zeros(n)]))[:n]
    A = dyn.evaluate(dyn.function("constraints"), q, np.zeros(n), t=0.0)[: 12 * n].reshape(12, n)
    assert np.allclose(moved - q, shift - np.linalg.pinv(A) @ A @ shift, atol=1e-9)


def closure(q, t, cos, sin):
    """What is open in a four-bar of 0.3, 0.9, 0.7 and 1 m whose second pin slides as sin(t) / 5."""
    return (
        0.3 * cos(q[0]) + 0.9 * cos(q[0] + q[1]) - 0.7 * cos(q[2]) - 1.0 - 0.2 * sin(t),
        0.3 * sin(q[0]) + 0.9 * sin(q[0] + q[1]) - 0.7 * sin(q[2]),
    )


def sliding_four_bar(speeds=0):
    """It in the joints' own speeds, or in so many of choice; of two, the motion constraints give the third rate."""
    model = kane.Model("sliding")
    crank, coupler, rocker = (model.body(name, mass=1.0, inertia=(0.1, 0.2, 0.2)) for name in ("crank", "coupler", "r"))
    a = model.connect(model.ground, crank, kane.Revolute("q1", axis="z"))
    b = model.connect(crank, coupler, kane.Revolute("q2", axis="z"), at=(0.3, 0, 0))
    c = model.connect(model.ground, rocker, kane.Revolute("q3", axis="z"), at=(1.0, 0, 0))
    for name, row in zip("xy", closure((a.q, b.q, c.q), model.time, kane.cos, kane.sin), strict=True):
        model.constrain(row, name=name)
    if speeds:
        chosen = {"v1": 2 * a.qdot + b.qdot + kane.sin(model.time), "v2": b.qdot - 3 * c.qdot, "v3": 5 * c.qdot}
        model.speeds(**dict(list(chosen.items())[:speeds]))
    return kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))


def closed_by_newton(q, t):
    """q by Newton's method with pseudoinverses, steps halved until they gain; and how often each was halved."""
    halved = []
    for _ in range(50):
        J = np.array([np.imag(closure(q + 1e-30j * e, t, np.cos, np.sin)) / 1e-30 for e in np.eye(3)]).T
        r, count = np.array(closure(q, t, np.cos, np.sin)), 0
        step = np.linalg.lstsq(J, -r, rcond=None)[0]
        while np.abs(closure(q + step / 2**count, t, np.cos, np.sin)).max() >= np.abs(r).max():
            count += 1
            if np.abs(r).max() < 1e-14 or count == 10:
                return q, halved
        q = q + step / 2**count
        halved.append(count)
    return q, halved


def scattered(number):
    """States far from closed, and where Newton's method takes them."""
    source = np.random.default_rng(5)
    for _ in range(number):
        q, t = source.uniform(-3.0, 3.0, 3), source.uniform(-2.0, 2.0)
        yield q, t, *closed_by_newton(q, t)


def test_a_newton_step_that_overshoots_is_halved_until_it_gains():
    """Against the same method in NumPy: of these starts many are halved once, some more often, most never."""
    dyn, seen = sliding_four_bar(), set()
    for q, t, expected, halved in scattered(40):
        found = project(dyn, np.concatenate([[t], q, np.zeros(3)]))
        np.testing.assert_allclose(found[:3], expected, rtol=0, atol=1e-9)
        assert np.abs(closure(found[:3], t, np.cos, np.sin)).max() < 1e-14
        seen.update(halved)
    assert seen >= {0, 1, 2}


@pytest.mark.parametrize("speeds", [2, 3])
def test_coordinates_are_moved_by_the_joints_own_speeds_whatever_speeds_are_chosen(speeds):
    """By the least change of the joints' rates, as NumPy finds it; speeds of choice are weighed otherwise."""
    dyn = sliding_four_bar(speeds)
    stage = dyn.project.stage(dyn.parameters)
    for q, t, expected, _ in scattered(10):
        found = project(dyn, np.concatenate([[t], q, np.full(speeds, 0.5)]), stage)
        np.testing.assert_allclose(found[:3], expected, rtol=0, atol=1e-9)
        size = np.abs(closure(q, t, np.cos, np.sin)).max()
        assert found[3 + speeds] == pytest.approx(size, rel=1e-14)
        # The one freedom is a speed of choice, and keeps its value.
        assert 0.5 in found[3 : 3 + speeds]
        # Where coordinates are closed, up to rounding of sums of four lengths, speeds alone are put onto their rows.
        moved = project(dyn, np.concatenate([[t], found[:3], np.full(speeds, 0.7)]), stage)
        np.testing.assert_allclose(moved[:3], found[:3], rtol=0, atol=1e-14)
        again = project(dyn, np.concatenate([[t], moved[: 3 + speeds]]), stage)
        assert speeds == 1 or moved[-2] > 1e-3
        assert again[-2] < 1e-14


def test_quaternions_and_parameters_reach_the_projection_by_the_joints_own_speeds():
    """A ball with a point of it at a height that a parameter gives: as without speeds of choice, but for rounding."""
    found = []
    for chosen in (False, True):
        model = kane.Model("ball")
        body = model.body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
        ball = model.connect(model.ground, body, kane.Spherical("ball"))
        height = body.point((0.3, 1.0, -0.5)).position.dot(model.ground.x)
        model.constrain(height - kane.exp(model.parameter("depth", -1.5)), name="height")
        if chosen:
            w1, w2, w3 = ball.speeds
            model.speeds(v1=w1 + 2 * w2, v2=w2 - 3 * w3, v3=w3 * kane.cos(model.time))
        dyn = kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))
        found.append(project(dyn, np.array([0.3, 0.9, 0.3, -0.2, 0.4, 0.1, 0.2, 0.3])))
    np.testing.assert_allclose(found[0][:4], found[1][:4], rtol=0, atol=1e-14)
    assert found[0][-3] == pytest.approx(found[1][-3], rel=1e-14)
    again = project(dyn, np.concatenate([[0.3], found[1][:7]]))
    assert again[-3] < 1e-14
    assert np.linalg.norm(found[0][:4]) == pytest.approx(1.0, abs=1e-15)


def test_a_step_that_gains_nothing_however_often_it_is_halved_is_taken_back():
    """x^2 + 1 = 0 from x = 1e-6: the step is 5e5 long, and a 512th of it still a thousand."""
    model = kane.Model("nowhere")
    first, second = (model.body(name, mass=1.0) for name in ("first", "second"))
    x = model.connect(model.ground, first, kane.Prismatic("x", axis="x")).q
    model.connect(first, second, kane.Prismatic("y", axis="y"))
    model.constrain(x * x + 1.0, name="nowhere")
    dyn = kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))
    assert list(project(dyn, np.array([0.0, 1e-6, 2.0, 0.0, 0.0]))[:2]) == [1e-6, 2.0]


def test_independent_speeds_are_kept_to_the_last_bit():
    dyn = four_bar()
    stage = dyn.project.stage(dyn.parameters)
    found = project(dyn, GUESS, stage)
    independent = selection_in(stage)[1 + rank_in(stage) :]
    assert len(independent) == 1
    assert found[3 + independent[0]] == GUESS[4 + independent[0]]


def test_the_choice_is_made_anew_when_it_is_twice_as_bad_as_the_best_and_not_before():
    """The crank turns all round while the choice of dependent speeds must change, seldom."""
    dyn = kane.build(dataclasses.replace(kane.formulate(slider_crank()), embedding=NumericalEmbedding("in numbers")))
    stage = dyn.project.stage(dyn.parameters)
    x, choices, worst = np.array([0.0, 0.1, -0.2, 1.5, 1.0, 0.0, 0.0]), [], 1.0
    for angle in np.linspace(0.1, 20.0, 400):
        x[1] = angle
        found = project(dyn, x, stage)
        x[1:4], worst = found[:3], min(worst, found[-1])
        choices.append(tuple(sorted(selection_in(stage)[1 : 1 + rank_in(stage)])))
    changes = sum(a != b for a, b in pairwise(choices))
    assert 0 < changes <= 16
    assert worst > 0.02


def test_a_choice_in_force_is_kept_while_its_smallest_pivot_is_half_that_of_the_best():
    """Pivots by NumPy's QR, the best choice that of a stage in which nothing is chosen; speeds close either way."""
    dyn = kane.build(dataclasses.replace(kane.formulate(slider_crank()), embedding=NumericalEmbedding("in numbers")))
    stage = dyn.project.stage(dyn.parameters)
    x, seen = np.array([0.0, 0.1, -0.2, 1.5, 1.0, 0.0, 0.0]), []
    order = None
    for angle in np.linspace(0.1, 20.0, 400):
        x[1], x[4:], fresh = angle, (1.0, -2.0, 0.5), dyn.project.stage(dyn.parameters)
        best, found = project(dyn, x, fresh), project(dyn, x, stage)
        x[1:4] = found[:3]
        A = dyn.evaluate(dyn.function("constraints"), x[1:4], np.zeros(3), t=0.0)[:6].reshape(2, 3)
        new, first = (selection_in(s)[1:] for s in (stage, fresh))
        if order is not None:
            share = smallest(A, order, 2) / smallest(A, first, 2)
            seen.append(share)
            np.testing.assert_array_equal(new, order if share >= 0.5 else first)
        order = new
        np.testing.assert_allclose(A @ found[3:6], 0.0, atol=1e-13)
        assert found[3 + new[2]] == x[4 + new[2]]
        longest = np.linalg.norm(A, axis=0).max()
        for result, used in ((found, new), (best, first)):
            assert result[-1] == pytest.approx(min(1.0, smallest(A, used, 2) / longest), rel=1e-11)
    # No share so near a half that rounding decides; some are on either side.
    assert min(seen) < 0.5 < sorted(seen)[20] < 1.0
    assert np.abs(np.array(seen) - 0.5).min() > 1e-6


def test_a_choice_made_for_good_stays_however_bad_it_is():
    """The speeds of rod and slider depend on that of the crank, even where the rod's barely moves the pin."""
    model = slider_crank()
    model.speeds(dependent=["u2", "u3"])
    dyn = kane.build(kane.formulate(model))
    stage = dyn.project.stage(dyn.parameters)
    for angle in (0.2, 1.5, 1.6, 4.0):
        found = project(dyn, np.array([0.0, angle, -angle - 0.3, 1.2, 1.0, 0.3, 0.2]), stage)
        A = dyn.evaluate(dyn.function("constraints"), found[:3], np.zeros(3), t=0.0)[:6].reshape(2, 3)
        order = selection_in(stage)[1:]
        assert sorted(order[:2]) == [1, 2]
        assert found[3] == 1.0
        np.testing.assert_allclose(A @ found[3:6], 0.0, atol=1e-13)
        longest = np.linalg.norm(A, axis=0).max()
        assert found[-1] == pytest.approx(min(1.0, smallest(A, order, 2) / longest), rel=1e-11)


def slider_crank():
    """Crank of 0.75 m, rod of 0.8 m: folded back on each other they nearly agree; the crank hardly moves the pin."""
    model = kane.Model("crank", gravity=(0, -9.81, 0))
    crank = model.body("crank", mass=1.0, inertia=(0.0, 0.1, 0.1), com=(0.4, 0, 0))
    rod = model.body("rod", mass=1.0, inertia=(0.0, 0.1, 0.1), com=(0.4, 0, 0))
    slider = model.body("slider", mass=1.0)
    model.connect(model.ground, crank, kane.Revolute("q1", axis="z"))
    model.connect(crank, rod, kane.Revolute("q2", axis="z"), at=(0.75, 0, 0))
    model.connect(model.ground, slider, kane.Prismatic("q3", axis="x"))
    ends = rod.point((0.8, 0, 0)), slider.point()
    model.constrain(kane.Coincidence(*ends, along=[model.ground.x, model.ground.y]), name="pin")
    return model


def test_a_speed_that_constraints_take_away_is_zero_and_a_small_one_beside_large_ones_stays():
    """Rows of 0.3, 0.1 and 0.7 leave rounding of one speed; each is judged by what itself has been."""
    model = kane.Model("sledges")
    bodies = [model.body(name, mass=1.0) for name in ("first", "second", "third", "fourth")]
    _, b, c, _ = (model.connect(model.ground, body, kane.Prismatic(body.name, axis="x")).qdot for body in bodies)
    model.constrain(0.3 * b + 0.1 * c, name="one")
    model.constrain(0.1 * b + 0.7 * c, name="two")
    dyn = kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))
    q = [0.0, 1e6, 0.0, 0.0]
    found = project(dyn, np.array([0.0, *q, 1e6, 1.0, -2.1, 1e-8]))
    assert found[:8].tolist() == [*q, 1e6, 0.0, 0.0, 1e-8]


def test_rows_that_cannot_all_hold_leave_a_residual_that_projection_reports_and_finite_speeds():
    model = kane.Model("contradiction")
    body = model.body("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.connect(model.ground, body, kane.Planar("base"))
    speed = body.point().velocity
    model.constrain(speed.dot(body.x) - 1.0, name="one")
    model.constrain(speed.dot(body.x) * (2.0 + kane.sin(model.time)) - 4.0, name="two")
    dyn = kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))
    first = project(dyn, np.zeros(7))
    again = project(dyn, np.concatenate([[0.0], first[:6]]))
    # Least squares of v = 1 and 2 v = 4: v = 9/5 leaves 4/5 and 2/5.
    assert np.isfinite(first).all()
    assert again[-2] == pytest.approx(0.8, rel=1e-12)


def test_rows_that_are_not_linear_in_the_speeds_are_solved_by_iteration():
    """A point of constant speed |v| = 2: u_d from u_i on the circle, and no acceleration where no force acts."""
    model = kane.Model("pace")
    body = model.body("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.connect(model.ground, body, kane.Planar("p"))
    v = body.point().velocity
    model.constrain(v.dot(model.ground.x) ** 2 + v.dot(model.ground.y) ** 2 - 4.0, name="pace")
    dyn = kane.build(kane.formulate(model))
    found = project(dyn, np.array([0.0, 0, 0, 0, 0.5, 3.0, 0.1]))
    u = found[3:6]
    assert np.hypot(u[0], u[1]) == pytest.approx(2.0, rel=1e-14)
    assert u[0] == 0.5
    assert np.array_equal(dyn.forward(found[:3], u), np.zeros(3))


def test_quaternions_are_normalised_by_projection():
    model = kane.Model("ball")
    body, other = (model.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in ("body", "other"))
    model.connect(model.ground, body, kane.Free("body"))
    x = model.connect(model.ground, other, kane.Prismatic("x", axis="x")).q
    model.constrain(body.point((0, 0, 1.0)).velocity.dot(body.x), name="blade")
    model.constrain(x - 0.7, name="held")  # of the configuration, and open nowhere here
    dyn = kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))
    start = dyn.equations.quaternions[0]
    state = np.concatenate([[0.0], np.full(15, 0.7)])
    state[1 + start : 5 + start] = [2.0, 0.2, 0.0, 0.0]
    q = project(dyn, state)[:8]
    # What stands before and behind a quaternion is left as it is.
    assert start + 4 < 8
    np.testing.assert_array_equal(np.delete(q, range(start, start + 4)), 0.7)
    assert np.linalg.norm(q[start : start + 4]) == pytest.approx(1.0, abs=1e-15)


def test_a_singular_mass_matrix_gives_nan_and_not_a_number_that_looks_right():
    model = kane.Model("massless")
    body = model.body("body", mass=model.parameter("m", 1.0))
    other = model.body("other", mass=1.0)
    model.connect(model.ground, body, kane.Prismatic("x", axis="x"))
    model.connect(model.ground, other, kane.Prismatic("y", axis="y"))
    third = model.body("third", mass=1.0)
    model.connect(model.ground, third, kane.Prismatic("z", axis="z"))
    model.constrain(other.point().velocity.dot(model.ground.y) - third.point().velocity.dot(model.ground.z))
    dyn = kane.build(dataclasses.replace(kane.formulate(model), embedding=NumericalEmbedding("in numbers")))
    assert np.isfinite(dyn.forward(np.zeros(3), np.zeros(3))).all()
    forward = dyn.function("forward")  # the native program itself: calls of Dynamics refuse the mass by name
    assert np.isnan(forward(np.zeros(forward.n_state), np.zeros(forward.n_rest), forward.stage(np.zeros(1)))).any()
    with pytest.raises(kane.ModelError, match="neither mass nor inertia with m = 0"):
        dyn.forward(np.zeros(3), np.zeros(3), parameters={"m": 0.0})


def test_parameters_of_each_state_reach_all_programs():
    dyn = four_bar()
    q, u = project(dyn, GUESS)[:3], np.array([1.0, 0.0, 0.0])
    heavy = dyn.forward(q, u, [0.0], parameters={"g": np.array([9.81, 0.0, 3.0])})
    for k, g in enumerate((9.81, 0.0, 3.0)):
        assert np.array_equal(heavy[k], dyn.forward(q, u, [0.0], parameters={"g": g}))
    assert not np.allclose(heavy[0], heavy[1])


def test_threads_give_the_same_bits():
    dyn = four_bar()
    q = project(dyn, GUESS)[:3]
    speeds = np.random.default_rng(0).normal(size=(1000, 3))
    function = dyn.function("forward")
    many = dyn.forward(q, speeds, [0.0])
    function.threads = 1
    assert np.array_equal(dyn.forward(q, speeds, [0.0]), many)


def test_shapes_are_checked_as_of_any_compiled_function():
    dyn = four_bar()
    with pytest.raises(kane.ModelError, match=r"q must have shape \(\.\.\., 3\)"):
        dyn.forward(np.zeros(4), np.zeros(3))
    with pytest.raises(kane.ModelError, match=r"forward: stage must have shape"):
        dyn.function("forward")(GUESS, [0.0], np.zeros(3))
    with pytest.raises(kane.ModelError, match="but q is a batch"):
        dyn.independent(np.zeros((5, 3)))
    with pytest.raises(kane.ModelError, match="no program"):
        dyn.function("nothing")


def test_without_constraints_there_is_nothing_to_project():
    assert kane.build(kane.formulate(kane.library.stanford_arm())).project is None


def correction(rows, counted, held, entries):
    """What settling works with for these rows of the configuration, of which ``counted`` says what is in force."""
    n = len(rows)
    return SimpleNamespace(
        gram=np.zeros((n, n)),
        y=np.zeros(n),
        diagonal=np.zeros(n),
        residual=np.zeros(n),
        s=np.zeros(np.shape(entries)[1]),
        rows=np.array(rows),
        row_mask=np.array(counted, dtype=np.int64),
        held=np.array(held),
    )


def residual_of(c):
    """Evaluate the residuals of a correction; return the largest."""
    arrays = SimpleNamespace(lists=SimpleNamespace(rows_of_residuals=c.rows))
    return projection.find_residual(arrays, c.residual, c.row_mask, c.held, None, None, None)


def test_a_row_in_force_is_measured_from_where_it_is_held_and_one_that_is_not_or_is_held_nowhere_counts_as_zero():
    def configuration(a, which, rest, stage, work, out):
        assert which == projection.CONFIGURATION
        out[:] = [0.5, -7.0, 0.2, 9.0]

    c = correction([2, 0, 1, 3], [1, 0, 1, 1], [0.1, 0.0, 0.3, np.nan], np.zeros((4, 2)))
    every = correction([2, 0, 1, 3], [], [], np.zeros((4, 2)))
    with mock.patch.object(projection, "call", configuration):
        assert residual_of(c) == 7.0
        assert residual_of(every) == 9.0
    assert c.residual.tolist() == [0.4, -7.0, 0.0, 0.0]
    assert every.residual.tolist() == [0.5, -7.0, 0.2, 9.0]


def test_the_residual_of_the_only_row_is_zero_where_it_is_not_in_force():
    def configuration(a, which, rest, stage, work, out):
        out[:] = 0.5

    c = correction([0], [0], [0.0], np.zeros((1, 2)))
    with mock.patch.object(projection, "call", configuration):
        assert residual_of(c) == 0.0


def test_the_least_speeds_are_those_of_the_rows_in_force_alone():
    """NumPy's pseudoinverse of these rows, the others left out; all of them where nothing is counted."""
    A = np.random.default_rng(6).normal(size=(4, 6))
    rows, residual = [3, 0, 2], np.array([0.3, -0.2, 0.0])
    for counted in ([1, 1, 0, 1], []):
        c = correction(rows, counted, np.zeros(3), A)
        c.residual[:] = residual
        kept = rows[:2] if counted else rows
        projection._solve_minimum_norm(A, c)
        expected = np.linalg.pinv(A[kept]) @ -residual[: len(kept)]
        np.testing.assert_allclose(c.s, expected, rtol=0, atol=1e-13)
    alone = correction([0], [0], [0.0], A)
    alone.residual[:] = 0.3
    projection._solve_minimum_norm(A, alone)
    assert not alone.s.any()


def test_the_least_speeds_of_rows_of_ones_are_no_special_case():
    """Of two speeds that are what they are, and of their sum: what is passed over is zero and nothing else."""
    for A, residual, expected in (
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [-1.0, -2.0], [1.0, 2.0, 0.0]),
        ([[1.0, 1.0, 0.0]], [-2.0], [1.0, 1.0, 0.0]),
    ):
        c = correction(range(len(A)), [], [], A)
        c.residual[:] = residual
        projection._solve_minimum_norm(np.array(A), c)
        np.testing.assert_allclose(c.s, expected, rtol=1e-15)
