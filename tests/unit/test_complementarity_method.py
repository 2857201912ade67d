"""Each function of the solver of reactions alone: scales, residual, Newton's step, length and order, sweeps, turns.

The residual f - P(f - rho a) is written here again, for complex numbers, so that its derivative by a complex step has
no error of differences. NumPy vouches for linear equations and for shortest solutions.
"""

from itertools import pairwise

import numpy as np
import pytest

from kane.engine.laws import newton as method
from kane.engine.laws.generated_laws import coulomb_ratio
from kane.engine.linear.elimination import solve_square
from kane.engine.memory.views import reaction_problem_at, reaction_problem_size

STEP = 1e-40
MU = 0.5


def problem(W, b, blocks, bound, least=None):
    """A problem in which scratch is no number until it is written."""
    m, k = len(b), len(bound)
    p = reaction_problem_at(np.full(reaction_problem_size(m, k), np.nan), 0, m, k)
    p.W[:], p.b[:], p.f[:], p.bound[:] = W, b, 0.0, bound
    p.row[:], p.pushes[:], p.tangents[:] = np.array(blocks, np.int64).reshape(-1, 3).T
    p.least[:] = 0.0 if least is None else least
    p.place[:] = p.unknown[:] = p.pivots[:] = -7
    return p


def rows_of(p):
    """First row, whether it is a normal one, and the tangents, of each block."""
    return list(zip(p.row, p.pushes, p.tangents, strict=True))


def natural(p, f, rho=None):
    """F(f) = f - P(f - rho (W f + b)), of complex f by their real parts."""
    rho = p.rho if rho is None else rho
    shift, F = f - rho * (p.W @ f + p.b), np.zeros_like(f)
    for k, (first, pushes, tangents) in enumerate(rows_of(p)):
        bound, t = p.bound[k], slice(first + pushes, first + pushes + tangents)
        if pushes:
            F[first] = f[first] - (shift[first] if shift[first].real > p.least[k] else p.least[k])
            bound = bound * (f[first] if f[first].real > 0.0 else 0.0)
        size = np.sqrt(np.sum(shift[t] * shift[t]))
        inside = not size.real > np.real(bound)
        F[t] = f[t] - (shift[t] if inside else bound * shift[t] / size)
    return F


def jacobian(p, f):
    columns = [natural(p, f + 1j * STEP * e).imag / STEP for e in np.eye(len(f))]
    return np.array(columns).T


def measured(p, f):
    """The largest entry of F of each block over its forces, or over rho b, where that is more."""
    F, force, most = natural(p, f), np.abs(f).max(), 0.0
    for k, (first, pushes, tangents) in enumerate(rows_of(p)):
        rows = slice(first, first + pushes + tangents)
        size = max(force, abs(p.least[k]) if pushes else 0.0, np.abs(p.rho[rows] * p.b[rows]).max())
        most = max(most, np.abs(F[rows]).max() / size)
    return most


def every_kind(seed=0):
    """Contacts with two tangents, one and none, friction of given bounds with one and with two, a least force."""
    rng = np.random.default_rng(seed)
    blocks = [(0, 1, 2), (3, 1, 1), (5, 1, 0), (6, 0, 1), (7, 0, 2), (9, 1, 2)]
    J = rng.normal(size=(12, 14))
    p = problem(J @ J.T, 3.0 * rng.normal(size=12), blocks, [MU, 0.3, 0.0, 0.7, 0.4, 0.6], [0, 0, 0, 0, 0, 0.25])
    method.scale_rows(p, 1.0)
    return p, rng


def pressed(seed, contacts=2, tangents=2, coupling=1.0):
    """Contacts that are pressed together and pushed sideways; more so than friction holds at the first."""
    rng = np.random.default_rng(seed)
    size = 1 + tangents
    m = contacts * size
    J = rng.normal(size=(m, m + 2))
    W = coupling * J @ J.T / m + np.diag(rng.uniform(1.0, 3.0, m))
    b = rng.normal(size=m)
    b[::size] = -rng.uniform(2.0, 6.0, contacts)
    b[1::size] *= 4.0
    p = problem(W, b, [(size * k, 1, tangents) for k in range(contacts)], [MU] * contacts)
    method.scale_rows(p, 1.0)
    return p


def solution(p, start=None):
    """By Newton's method on the residual that is written here, from many starts."""
    rng, m = np.random.default_rng(1), len(p.b)
    for attempt in range(60):
        f = np.abs(rng.normal(size=m)) if attempt or start is None else np.array(start)
        for _ in range(40):
            f = f - np.linalg.lstsq(jacobian(p, f + 0j), natural(p, f + 0j).real, rcond=None)[0]
        if np.abs(natural(p, f + 0j)).max() < 1e-13 * max(1.0, np.abs(f).max()):
            return f
    raise AssertionError("no solution")


def test_the_scales_of_rows_are_the_share_over_their_response_and_of_two_tangents_over_a_bound_of_both():
    blocks = [(0, 1, 2), (3, 0, 1), (4, 1, 1), (6, 0, 2)]
    W = np.diag([0.5, 3.0, 5.0, 0.25, 11.0, 0.125, 17.0, 16.0])
    W[1, 2] = W[2, 1] = -1.5
    W[6, 7] = W[7, 6] = 4.0
    p = problem(W, np.zeros(8), blocks, [MU] * 4)
    method.scale_rows(p, 3.0)
    expected = 3.0 / np.array([0.5, 6.5, 6.5, 0.25, 11.0, 0.125, 21.0, 21.0])
    np.testing.assert_allclose(p.rho, expected, rtol=1e-15)
    for vector in np.linalg.eigvalsh(W[1:3, 1:3]):
        assert vector * p.rho[1] <= 3.0
    p.W[1:3, 1:3], p.W[6:, 6:] = 0.125 * np.eye(2), 0.125 * np.eye(2)
    method.scale_rows(p, 3.0)
    assert p.rho[[1, 2, 6, 7]].tolist() == [24.0] * 4
    p.W[:] = 0.0
    method.scale_rows(p, 3.0)
    assert p.rho.tolist() == [3.0] * 8


@pytest.mark.parametrize(
    ("shift", "tangents", "bound", "ratio"),
    [
        ([3.0, 4.0], 2, 2.5, 0.5),
        ([3.0, 4.0], 2, 5.0, 1.0),
        ([3.0, -4.0], 2, 4.0, 0.8),
        ([0.0, 0.0], 2, 0.0, 1.0),
        ([-3.0, 9.0], 1, 1.5, 0.5),
        ([9.0, -4.0], 1, 10.0, 1.0),
        ([3.0, 4.0], 0, 0.0, 1.0),
    ],
)
def test_friction_is_multiplied_by_what_takes_it_to_its_bound(shift, tangents, bound, ratio):
    assert coulomb_ratio(np.array([np.nan, *shift]), 1, tangents, bound) == ratio


def test_the_residual_is_that_of_the_projection_over_the_forces():
    seen = set()
    for seed in range(24):
        p, rng = every_kind(seed)
        method.scale_rows(p, 10.0 ** rng.integers(-1, 2))
        p.f[:] = 10.0 ** rng.integers(-2, 3) * rng.normal(size=12)
        p.least[-1] = 10.0 ** rng.integers(-2, 4)
        found, F = method.find_residual(p), natural(p, p.f + 0j)
        assert found == pytest.approx(measured(p, p.f + 0j), rel=1e-12)
        np.testing.assert_allclose(p.a, p.W @ p.f + p.b, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(p.shift, p.f - p.rho * p.a, rtol=1e-12, atol=1e-9)
        seen.add(int(np.argmax(np.abs(F))))
    assert len(seen) > 4  # rows of every kind were the largest


@pytest.mark.parametrize("row", range(12))
def test_one_row_that_breaks_its_law_is_the_residual(row):
    """Forces and accelerations are zero but for one row, which is pushed out of its law by 1e-3."""
    p, _ = every_kind()
    p.W[:], p.b[:], p.f[:], p.least[-1] = np.eye(12), 0.0, 0.0, 0.0
    method.scale_rows(p, 1.0)
    p.f[[0, 3, 5, 9]] = 2.0
    p.b[[0, 3, 5, 9]] = -2.0
    assert method.find_residual(p) == 0.0
    p.b[row] -= 1e-3
    assert method.find_residual(p) == pytest.approx(1e-3 / (2.0 + (1e-3 if row in (0, 3, 5, 9) else 0.0)), rel=1e-9)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_the_residual_of_what_is_not_finite_is_infinity(wrong):
    p, _ = every_kind()
    p.b[3] = wrong
    assert method.find_residual(p) == np.inf


def test_a_residual_of_no_force_and_no_load_is_zero():
    p = problem(np.eye(3), np.zeros(3), [(0, 1, 2)], [MU])
    method.scale_rows(p, 1.0)
    assert method.find_residual(p) == 0.0


@pytest.mark.parametrize("whole", [False, True])
def test_a_step_is_that_of_newtons_method_on_the_laws(whole):
    """What parts has no force here: equations of slip do not know of a force that is given up in the same step."""
    pieces = set()
    for seed in range(12):
        p, rng = every_kind(seed)
        p.f[:] = rng.normal(size=12)
        p.f[[0, 3, 5, 9]] = rng.uniform(0.5, 2.0, 4)
        if seed % 2:  # the second contact parts
            p.f[3:5] = 0.0
        if seed > 6:  # the last one takes its least force, and its friction goes on
            p.f[9] = 0.25
        p.b[[0, 3, 5, 9]] = rng.normal(size=4) - p.W[[0, 3, 5, 9]] @ p.f
        p.b[3] += 9.0 * (seed % 2)
        p.b[9] += 9.0 * (seed > 6)
        before = p.f.copy()
        F, J = natural(p, before + 0j).real, jacobian(p, before)
        method.find_residual(p)
        method._step(p, whole)
        expected = before - np.linalg.solve(J, F)
        np.testing.assert_allclose(p.f, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        pieces.update(np.flatnonzero(np.abs(J - np.diag(np.diag(J))).sum(axis=1) > 0).tolist())
    assert len(pieces) > 10


@pytest.mark.parametrize("blocks", [[(0, 0, 1), (1, 1, 1)], [(0, 0, 2), (2, 1, 0)], [(0, 1, 0), (1, 1, 0)]])
def test_a_step_is_that_of_newtons_method_whatever_the_first_and_the_last_block_are(blocks):
    m = sum(blocks[-1])
    W = np.eye(m) + 0.3
    f = np.linspace(1.0, 2.0, m)
    p = problem(W, np.linspace(-0.4, 0.3, m) - W @ f, blocks, [0.2, 0.2])
    method.scale_rows(p, 1.0)
    p.f[:] = f
    expected = f - np.linalg.solve(jacobian(p, f), natural(p, f + 0j).real)
    method.find_residual(p)
    method._step(p, False)
    np.testing.assert_allclose(p.f, expected, rtol=1e-12)


@pytest.mark.parametrize("whole", [False, True])
def test_where_rows_repeat_others_the_step_is_the_shortest(whole):
    rng = np.random.default_rng(5)
    half = rng.normal(size=(3, 3))
    W = np.kron(np.ones((2, 2)), half @ half.T)  # two contacts at one point
    f = np.array([1.0, 0.1, 0.2, 3.0, 0.2, -0.1])
    p = problem(W, np.array([-0.1, 0.2, 0.1] * 2) - W @ f, [(0, 1, 2), (3, 1, 2)], [9.0, 9.0])
    method.scale_rows(p, 1.0)
    p.f[:] = f
    before = p.f.copy()
    F, J = natural(p, before + 0j).real, jacobian(p, before)
    method.find_residual(p)
    method._step(p, whole)
    inverse = np.linalg.pinv(J)
    expected = inverse @ (J @ before - F) if whole else before - inverse @ F
    np.testing.assert_allclose(p.f, expected, rtol=1e-10)


def test_what_parts_gives_its_force_up_and_accelerations_follow():
    p, rng = every_kind(3)
    p.f[:] = rng.normal(size=12)
    p.f[[0, 5, 9]], p.f[1] = 1.0, -1.0
    p.b[[0, 5, 9]] = 9.0 + np.abs(p.W[[0, 5, 9]]).sum(axis=1) * 9.0
    p.b[3] = -9.0 - np.abs(p.W[3]).sum() * 9.0
    method.find_residual(p)
    count = method.choose_unknown(p, 0.0)
    expected = p.f.copy()
    kept = [3, 4, 6, 7, 8, 10, 11]  # friction of what has a least force stays unknown
    assert count == 7
    assert p.place[:12].tolist() == [kept.index(r) if r in kept else -1 for r in range(12)]
    assert p.unknown[:7].tolist() == kept
    assert expected[[0, 1, 2, 5, 9]].tolist() == [0.0, 0.0, 0.0, 0.0, 0.25]
    np.testing.assert_allclose(p.a, p.W @ p.f + p.b, rtol=1e-11)


@pytest.mark.parametrize(("below", "closed", "unknown"), [(0.5, 0.0, 0), (0.5, 1.0, 1), (0.5, 0.25, 0), (-0.5, 0.0, 1)])
@pytest.mark.parametrize("least", [0.0, 2.0])
def test_a_contact_parts_when_its_shifted_reaction_is_further_below_the_least_than_allowed(
    below, closed, unknown, least
):
    p = problem(np.eye(1), [0.0], [(0, 1, 0)], [0.0], [least])
    p.f[0], p.shift[0], p.a[0] = 1.0, least - below, 0.0
    assert method.choose_unknown(p, closed) == unknown
    assert p.f[0] == (1.0 if unknown else least)


@pytest.mark.parametrize(("tangents", "contacts"), [(1, 3), (2, 2)])
def test_near_a_solution_each_step_squares_the_error(tangents, contacts):
    slipped = 0
    for seed in range(4):
        p = pressed(seed, contacts, tangents, 0.2)
        exact = solution(p)
        normal = exact[:: 1 + tangents]
        friction = np.linalg.norm(exact.reshape(contacts, -1)[:, 1:], axis=1)
        slipped += np.sum((normal > 0.0) & (friction > 0.999 * MU * normal))
        p.f[:] = exact * (1.0 + 1e-3 * np.cos(np.arange(len(exact))))
        errors = [np.abs(p.f - exact).max()]
        for _ in range(3):
            method.find_residual(p)
            method._step(p, False)
            errors.append(np.abs(p.f - exact).max())
        size = np.abs(exact).max()
        for before, after in pairwise(errors):
            assert after <= 10.0 * before**2 / size + 1e-14 * size
        assert errors[-1] < 1e-13 * size
    assert slipped >= 4


def lengthened():
    """Problems at which a whole step of Newton's method leaves more than there was, with the halvings that it takes."""
    found = []
    for seed in range(60):
        p = pressed(seed, 3, 2, 3.0)
        p.bound[:] = 1.5
        p.f[:] = np.random.default_rng(seed).normal(size=9)
        p.f[::3] = np.abs(p.f[::3])
        start, before = p.f.copy(), method.find_residual(p)
        method._step(p, False)
        change, halvings = p.f - start, 0
        left = [measured(p, start + 0.5**k * change + 0j) for k in range(7)]
        while halvings < 6 and not left[halvings] < before:
            halvings += 1
        if halvings and np.abs(np.array(left) / before - 1.0).min() > 1e-6:
            found.append((p, start, change, halvings))
    return found


def test_a_step_that_leaves_more_is_halved_until_it_leaves_less():
    lengths = set()
    for p, start, change, halvings in lengthened():
        for most in (0, 2, 6):
            p.f[:] = start
            before = method.find_residual(p)
            assert method.approach(p, False, 1, most) == np.inf
            end = start + 0.5 ** min(halvings, most) * change
            np.testing.assert_allclose(p.f, end, rtol=1e-9, atol=1e-12)
            better = measured(p, end + 0j) < before
            np.testing.assert_allclose(p.best, end if better else start, rtol=1e-9, atol=1e-12)
        lengths.add(halvings)
    assert {1, 6} <= lengths


@pytest.mark.parametrize(
    ("residuals", "halvings", "end"),
    [([0.5], 6, 8.0), ([1.0, 0.5], 6, 4.0), ([2.0, 1.5, 0.9], 6, 2.0), ([2.0, 1.5, 0.9], 1, 4.0), ([2.0] * 9, 3, 1.0)],
)
def test_a_step_has_the_length_of_the_first_that_leaves_less(monkeypatch, residuals, halvings, end):
    p, left = problem(np.eye(1), [-1.0], [(0, 1, 0)], [0.0]), [1.0, *residuals]
    monkeypatch.setattr(method, "_step", lambda p, whole: p.f.fill(8.0))
    monkeypatch.setattr(method, "find_residual", lambda p: left.pop(0))
    assert method.approach(p, True, 1, halvings) == np.inf
    assert p.f[0] == end
    assert p.best[0] == (end if min(residuals[: halvings + 1]) < 1.0 else 0.0)


def test_as_many_steps_are_made_as_are_asked_for_and_no_more(monkeypatch):
    p, made = pressed(0), []
    monkeypatch.setattr(method, "_step", lambda p, whole: made.append(whole))
    monkeypatch.setattr(method, "find_residual", lambda p: 1.0)
    for steps, whole in ((3, True), (5, False)):
        made.clear()
        assert method.approach(p, whole, steps, 0) == np.inf
        assert made == [whole] * steps


def follow(monkeypatch, residuals):
    """``approach`` with these residuals, f counting the steps; the changes that ``_refine`` asks for are 100."""
    p, left = problem(np.eye(1), [-1.0], [(0, 1, 0)], [0.0]), list(residuals)

    def step(p, whole):
        p.f[0] += 1.0 if whole else 100.0

    monkeypatch.setattr(method, "_step", step)
    monkeypatch.setattr(method, "find_residual", lambda p: left.pop(0))
    p.f[0] = 0.0
    return method.approach(p, True, 10, 0), p.f[0], p.best[0], len(left)


@pytest.mark.parametrize(
    ("residuals", "expected"),
    [
        ([1e-13, 1e-14], (1e-14, 100.0, 0.0, 0)),  # solved, and better by one more change
        ([9e-14, 9e-14], (9e-14, 100.0, 0.0, 0)),
        ([1e-14, 2e-14, 1e-14], (1e-14, 0.0, 0.0, 0)),  # the change is taken back
        ([1.0, 1e-13, 2e-13, 1e-13], (1e-13, 1.0, 1.0, 0)),
        ([1.0, 9e-13, 5e-13, 9e-13], (9e-13, 2.0, 2.0, 0)),  # less than halved: what is left is rounding
        ([1.0, 9e-13, 4e-13, 3e-13, 4e-13], (4e-13, 3.0, 3.0, 0)),
        ([1.0, 1.1e-12, 1.0e-12, 7.0], (7.0, 2.0, 2.0, 0)),
        ([1.0, 5e-13, 0.3, 5e-13], (5e-13, 1.0, 1.0, 0)),  # the best is kept, not the last
        ([1.0, 0.3, 0.9, *[0.5] * 8], (np.inf, 10.0, 1.0, 0)),
        ([1.0, 0.6, 0.3, *[0.3] * 8], (np.inf, 10.0, 2.0, 0)),
        ([1.2e-13, 1.1e-13, 7.0], (7.0, 1.0, 1.0, 0)),
    ],
)
def test_steps_end_where_nothing_is_left_or_where_rounding_is_all_that_is(monkeypatch, residuals, expected):
    assert follow(monkeypatch, residuals) == expected


def test_a_sweep_solves_each_block_by_itself():
    for seed in range(6):
        p, rng = every_kind(seed)
        p.f[:] = rng.normal(size=12)
        f = p.f.copy()
        for k, (first, pushes, tangents) in enumerate(rows_of(p)):
            bound, t = p.bound[k], slice(first + pushes, first + pushes + tangents)
            if pushes:
                f[first] = max(p.least[k], f[first] - p.rho[first] * (p.W[first] @ f + p.b[first]))
                bound = bound * f[first]
            shift = f[t] - p.rho[t] * (p.W[t] @ f + p.b[t])
            size = np.linalg.norm(shift)
            f[t] = shift * (bound / size if size > bound else 1.0)
        method._sweep(p)
        np.testing.assert_allclose(p.f, f, rtol=1e-11, atol=1e-13)


def test_sweeps_come_near_a_solution():
    p = pressed(1, 2, 2, 0.2)
    exact = solution(p)
    for _ in range(60):
        method._sweep(p)
    np.testing.assert_allclose(p.f, exact, atol=1e-9)


def test_shares_go_up_and_down_in_turn():
    share, found = 1.0, []
    for _ in range(6):
        share = method._next(share)
        found.append(share)
    assert found == pytest.approx([10.0, 0.1, 100.0, 0.01, 1000.0, 0.001], rel=1e-15)


def test_turns_change_scales_kinds_of_steps_and_double_their_sweeps(monkeypatch):
    """What leads nowhere: eight turns, of which each begins where sweeps from the best that was met have led."""
    p, told = pressed(0), []

    def approach(p, whole, steps, halvings):
        told.append(("newton", bool(whole), steps, halvings, float(p.f[0])))
        p.f[:], p.best[:] = 50.0, 7.0
        return np.inf

    monkeypatch.setattr(method, "approach", approach)
    monkeypatch.setattr(method, "_approach_from_inside", lambda p, wider: told.append(("inside", wider)) or np.inf)
    monkeypatch.setattr(method, "scale_rows", lambda p, share: told.append(("scale", round(share, 12))))
    monkeypatch.setattr(method, "_sweep", lambda p: p.f.__setitem__(0, p.f[0] + 1.0))
    monkeypatch.setattr(method, "find_residual", lambda p: 0.125)
    p.f[:] = 0.0
    assert method.solve_complementarity(p) == 0.125
    expected, share, begin = [], [1.0, 10.0, 0.1, 100.0, 0.01, 1e3, 1e-3, 1e4], 0.0
    for turn in range(8):
        expected += [("scale", share[turn]), ("newton", turn % 2 == 0, 10, 6 if turn else 0, begin)]
        expected += [("inside", 3.0 ** (turn - 1))] if turn else []
        expected += [("scale", method.RELAXED), ("scale", 1.0)]
        begin = 7.0 + 20.0 * 2**turn
    assert told == expected
    assert p.f[0] == begin


@pytest.mark.parametrize(("newton", "inside", "calls"), [([1e-12], [], 1), ([1.1e-12, 5e-13], [], 2)])
def test_turns_end_with_what_may_be_adopted(monkeypatch, newton, inside, calls):
    p, told = pressed(0), []
    monkeypatch.setattr(method, "approach", lambda p, *_: told.append(p.best.fill(0.0)) or newton[len(told) - 1])
    assert method.solve_complementarity(p) == newton[-1]
    assert len(told) == calls
    told.clear()
    monkeypatch.setattr(method, "approach", lambda p, *_: told.append(p.best.fill(0.0)) or np.inf)
    monkeypatch.setattr(method, "_approach_from_inside", lambda p, wider: 1e-12)
    assert method.solve_complementarity(p) == 1e-12
    assert len(told) == 2


def test_forces_that_are_no_numbers_are_left_for_none(monkeypatch):
    p = pressed(0)
    monkeypatch.setattr(method, "approach", lambda p, *_: p.best.fill(np.nan) or np.inf)
    monkeypatch.setattr(method, "_approach_from_inside", lambda p, wider: np.inf)
    monkeypatch.setattr(method, "_sweep", lambda p: None)
    assert method.solve_complementarity(p) == pytest.approx(measured(p, np.zeros(6) + 0j), rel=1e-12)
    assert p.f.tolist() == [0.0] * 6


def inside(monkeypatch, near, newton):
    """``_approach_from_inside`` where inner points leave this and Newton's method that, in turn."""
    p, told, left, reached = pressed(0), [], list(near), list(newton)

    def approach_inside(p, wider, near):
        p.f[:] = 10.0 + len(told)
        told.append(("inner", wider, near))
        return left.pop(0)

    def approach(p, whole, steps, halvings):
        told.append((bool(whole), steps, halvings, float(p.f[0])))
        p.f[:] = -1.0
        return reached.pop(0)

    monkeypatch.setattr(method, "approach_inside", approach_inside)
    monkeypatch.setattr(method, "approach", approach)
    monkeypatch.setattr(method, "scale_rows", lambda p, share: told.append(("scale", share)))
    return method._approach_from_inside(p, 3.0), told


def test_from_inside_newtons_method_takes_the_shortest_forces_then_the_shortest_changes(monkeypatch):
    found, told = inside(monkeypatch, [9e-5], [1.1e-12, 1e-12])
    assert found == 1e-12
    assert told == [("inner", 3.0, 1e-7), ("scale", 1.0), (True, 3, 0, 10.0), (False, 5, 0, 10.0)]
    found, told = inside(monkeypatch, [9e-5], [1e-12])
    assert (found, len(told)) == (1e-12, 3)


def test_from_inside_four_starts_are_tried_and_closer_after_one_that_was_near(monkeypatch):
    found, told = inside(monkeypatch, [1e-4, 9e-5, 1.0, np.inf], [1.0, 1.0])
    assert found == np.inf
    starts = [x for x in told if x[0] == "inner"]
    assert [x[2] for x in starts] == [1e-7, 1e-7, 1e-10, 1e-10]
    assert [x[1] for x in starts] == pytest.approx([3.0, 1 / 3, 30.0, 1 / 30], rel=1e-12)
    assert len(told) == 7


def linear(K, x):
    found = np.array(x)
    solve_square(np.array(K), len(x), np.full(len(x), -7), found)
    return found


@pytest.mark.parametrize(("m", "rank"), [(1, 1), (4, 4), (5, 3), (6, 1), (6, 5)])
def test_equations_are_solved_and_of_many_solutions_the_shortest_is_taken(m, rank):
    rng = np.random.default_rng(m + rank)
    for _ in range(5):
        K = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, m))
        K[:, rng.integers(m)] *= 1.0 if rank < m else 1e3
        x = K @ rng.normal(size=m)
        expected = np.linalg.pinv(K, rcond=1e-10) @ x
        np.testing.assert_allclose(linear(K, x), expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("size", [1.0, 1e-13])
def test_a_column_that_repeats_one_before_it_is_put_last(size):
    K = size * np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [1.0, 2.0, 3.0]])
    expected = np.array([1.0, 2.0, 4.0])  # K (5, 0, 4), of which the shortest is taken
    np.testing.assert_allclose(linear(K, K @ [5.0, 0.0, 4.0]), expected, rtol=1e-12)


def test_a_pivot_counts_above_a_hundred_billionth_of_the_largest():
    for small, second in ((2e-11, 3.0), (5e-12, 0.0)):
        found = linear([[4.0, 0.0], [0.0, 4.0 * small]], [8.0, 4.0 * small * 3.0])
        assert found == pytest.approx([2.0, second], rel=1e-12)


def test_rows_are_exchanged_for_the_largest_pivot():
    """Without exchanges 1e-20 as a pivot would leave no digit of the other row."""
    assert linear([[1e-20, 1.0], [1.0, 1.0]], [1.0, 2.0]) == pytest.approx([1.0, 1.0], rel=1e-12)
