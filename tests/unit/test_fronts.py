"""Loops taken apart: the order is a multifrontal one, and fronts find what the whole system says, weak pivots too."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane import library
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.embedded import front_plan as planning
from kane.dynamics.embedded.constrained_function import each_state
from kane.dynamics.embedded.front_plan import plan_of
from kane.engine.linear.factorizations import RANK_TOLERANCE
from kane.engine.linear.fronts import factor_fronts, fronts_at, particular
from kane.engine.memory.views import embedding_terms_at, front_scratch_size
from kane.engine.rows import embedding
from kane.engine.rows import front_embedding as loops
from kane.engine.rows.front_embedding import solve_motion_by_fronts
from kane.formulation.constraints.fronts import Front, fronts
from kane.library.andrews_squeezer import ANDREWS_START

RODS = range(9)
WINDOWS = {"q": {f"a{i}": 0.7 for i in RODS} | {f"b{i}": -0.7 for i in RODS[1:]}}
PLATFORM = {"q": {"platform_z": 1.0, **{f"l{i}": 1.0 for i in range(1, 7)}}}
MECHANISMS = {
    "windows": (lambda: library.n_four_bar(8), WINDOWS),
    "Stewart platform": (library.stewart_platform, PLATFORM),
    "Andrews' squeezer": (library.andrews_squeezer, {"q": ANDREWS_START, "fixed": ["beta"]}),
    "bicycle": (library.whipple_bicycle, {"q": {"roll": 0.1, "steer": 0.2}, "fixed": ["roll", "steer"]}),
    "Bricard's chain": (library.bricard, {"q": {}}),  # one redundant equation
    "four-bar": (library.four_bar, {"q": {"q1": 1.0, "q3": 1.5}, "fixed": ["q1"]}),
}


def random_structure(seed):
    """Rows in groups that share few columns, and ties of M between columns of a row."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 14))
    rows = []
    for _ in range(int(random.integers(1, n))):
        start = int(random.integers(n))
        rows.append(sorted({start, *(int(k) % n for k in start + random.integers(0, 4, size=3))}))
    ties = [(i, i) for i in range(n)] + [(max(r), min(r)) for r in rows if random.random() < 0.5 and len(r) > 1]
    return random, n, rows, sorted(set(ties))


@pytest.mark.parametrize("seed", range(200))
def test_fronts_hold_every_row_and_tie_and_leave_their_rest_to_their_parents(seed):
    _, n, rows, ties = random_structure(seed)
    found = fronts(rows, ties, n)
    assert sorted(j for front in found for j in front.own) == list(range(n))
    assert sorted(i for front in found for i in front.rows) == list(range(len(rows)))
    whole = [{*front.own, *front.beyond} for front in found]
    for front, columns in zip(found, whole, strict=True):
        assert all(columns.issuperset(rows[i]) for i in front.rows)
        assert (front.parent is None) == (not front.beyond)
        if front.parent is not None:
            after = next(k for k, other in enumerate(found) if other is front.parent)
            assert after > found.index(front)
            assert whole[after].issuperset(front.beyond)
    assert all(any(columns.issuperset(tie) for columns in whole) for tie in ties)


def arrays_for(A, plan):
    work = np.zeros(front_scratch_size(plan.number, *A.shape))
    return fronts_at(A, np.array(plan.numbers), work, 0, plan.number)


@pytest.mark.parametrize("kind", ["regular", "weak", "redundant"])
@pytest.mark.parametrize("seed", range(150))
def test_random_systems_are_solved_as_their_multipliers_say(seed, kind):
    """M udot + h = A^T lambda, A udot + r = 0 by least squares of the whole; weak pivots go to the fronts beyond."""
    random, n, rows, ties = random_structure(seed)
    A, M, h = np.zeros((len(rows), n)), np.zeros((n, n)), random.normal(size=n)
    for i, row in enumerate(rows):
        A[i, row] = random.normal(size=len(row))
        if kind == "weak":
            A[i, row[0]] *= 10.0 ** -random.integers(2, 7)
    if kind == "redundant":
        rows = [*rows, rows[0]]
        A = np.vstack([A, 2.0 * A[0]])
    for i, j in ties:
        M[i, j] = M[j, i] = 0.1 * random.normal()
    M += (0.1 + np.abs(M).sum(axis=1)) * np.eye(n)
    r = -A @ random.normal(size=n)
    t = arrays_for(A.copy(), plan_of(fronts(rows, ties, n), ties))
    t.candidates[:] = 1
    e, z, udot = np.zeros(n), np.zeros(n), np.zeros(n)
    rank = factor_fronts(t, t.A)
    assert rank == np.linalg.matrix_rank(A, tol=2.0**-26 * np.linalg.norm(A, axis=0).max()) or kind == "weak"
    particular(t, t.A, r.copy(), e)
    solve_motion_by_fronts(t, M.copy(), h, e, z, udot)
    # Rounding of numbers of order one over the smallest pivot; rows that count as repeated may be off by that share.
    digits = 1e-12 if rank == np.linalg.matrix_rank(A) else RANK_TOLERANCE
    off = digits * (1.0 + np.abs(udot).max()) / smallest_pivot(t)
    np.testing.assert_allclose(A @ udot + r, 0.0, atol=off)
    if rank == np.linalg.matrix_rank(A):
        free = np.linalg.svd(A)[2][rank:]
        np.testing.assert_allclose(free @ (M @ udot + h), 0.0, atol=10.0 * off)


def test_weak_pivots_are_left_to_later_fronts_and_not_taken():
    """Where the own column of the first front is weak, its row is solved in the second."""
    last = Front([1, 2], [], [1])
    plan = plan_of([Front([0], [2], [0], last), last], [(i, i) for i in range(3)])
    for weak, chosen in ((1.0, 1), (1e-6, 0)):
        t = arrays_for(np.array([[weak, 0.0, 1.0], [0.0, 1.0, 0.5]]), plan)
        t.candidates[:] = 1
        assert factor_fronts(t, t.A) == 2
        assert smallest_pivot(t) > 0.5
        assert t.pivots[0] == chosen


def smallest_pivot(t):
    m, n = t.A.shape
    chosen = [t.lists[f * (n + m) + k] for f in range(t.number) for k in range(t.pivots[f])]
    return np.abs(t.diag[chosen]).min(initial=1.0)


@pytest.fixture(scope="module")
def mechanisms():
    """Every one by fronts, small as it may be, and apart from the cache: no other test may find these plans."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "A_FRONT", -(10**6))
        made = {}
        for name, (make, guess) in MECHANISMS.items():
            dyn = kane.build(kane.formulate(make()), target=kane.LLVM(cache=False))
            made[name] = dyn, kane.assemble(dyn, **guess)
            assert dyn.function("rhs").parts.plan.number > 0
            assert dyn.project.parts.plan.number > 0
        return made


def called(function, address, state, stage):
    out, work = np.zeros((1, function.first + function.n_out)), np.full(function.n_work, np.nan)
    each_state(address, state[None], np.zeros((1, function.n_rest)), stage[None], out, work)
    return out[0]


@pytest.mark.parametrize("name", MECHANISMS)
def test_accelerations_are_those_of_the_dense_route_with_the_choice_kept(mechanisms, name):
    dyn, start = mechanisms[name]
    random, n, nq = np.random.default_rng(3), len(dyn.equations.u), len(dyn.equations.q)
    project, rhs = dyn.project, dyn.function("rhs")
    for _ in range(10):
        stage = project.stage(dyn.parameters)
        state = np.concatenate([[0.0], start.q + 0.02 * random.normal(size=nq), random.normal(size=n)])
        state[1:] = project(state, np.zeros(project.n_rest), stage)[: nq + n]
        ours, theirs = (called(rhs, native.rhs(), state, stage) for native in (loops, embedding))
        # Some hundred operations with numbers of order ten, over pivots of at least a hundredth.
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_motions_that_are_free_are_those_of_the_dense_route(mechanisms, name):
    """Which speeds are independent may differ; what they span, the rank and the state that follows may not."""
    dyn, start = mechanisms[name]
    n, random = len(dyn.equations.u), np.random.default_rng(4)
    function = dyn.function("embedding")
    stage = function.stage(dyn.parameters)
    state = np.concatenate([[0.0], start.q, start.u + random.normal(size=n)])
    found = [called(function, native.embedding(), state, stage) for native in (loops, embedding)]
    spans = []
    for values in found:
        of = embedding_terms_at(values, 0, n)
        R, e_t, independent = of.R, of.e_t, of.independent
        assert np.array_equal(np.diag(R), independent)
        assert not e_t[independent == 1.0].any()
        assert 1e-3 < of.conditioning[0] <= 1.0
        spans.append(R @ np.linalg.pinv(R))
        A = ConstraintTerms.of(dyn, start.q).A
        assert np.abs(A @ R).max() < 1e-12 * np.abs(A).max() / of.conditioning[0]
    np.testing.assert_allclose(*spans, atol=1e-11)


@pytest.mark.parametrize("name", MECHANISMS)
def test_projection_moves_coordinates_and_speeds_as_the_dense_route_does(mechanisms, name):
    """The least change of coordinates does not depend on a choice; speeds follow from the independent ones."""
    dyn, start = mechanisms[name]
    random, n, nq = np.random.default_rng(5), len(dyn.equations.u), len(dyn.equations.q)
    dense = kane.build(dyn.equations).project  # made without the patch
    state = np.concatenate([[0.0], start.q + 1e-3 * random.normal(size=nq), random.normal(size=n)])
    found = [
        project(state, np.zeros(project.n_rest), project.stage(dyn.parameters)) for project in (dyn.project, dense)
    ]
    if name != "Bricard's chain":  # off its loop all six rows count, nearly dependent, which leads anywhere
        np.testing.assert_allclose(found[0][:nq], found[1][:nq], rtol=0, atol=1e-11)
    for values in found:
        terms = ConstraintTerms.of(dyn, values[:nq], values[nq : nq + n])
        assert np.abs(terms.residuals.configuration).max() < 1e-13
        assert np.abs(terms.motion).max() < 1e-10
    np.testing.assert_array_equal(found[0][nq + n : nq + n + 2], found[1][nq + n : nq + n + 2])


def test_where_windows_lie_flat_the_rank_of_each_falls_by_one(mechanisms):
    dyn, _ = mechanisms["windows"]
    flat = np.array([0.5 * np.pi] * 9 + [-0.5 * np.pi] * 8)
    function = dyn.function("embedding")
    state = np.concatenate([[0.0], flat, np.zeros(17)])
    found = function(state, (), function.stage(dyn.parameters))
    assert found[1:18].sum() == 9


def test_the_cost_of_windows_grows_with_their_number():
    """Every window adds one front of three columns, whatever stands beside it."""
    for n in (6, 20, 48):
        rows = [[i, i + 1, n + 1 + i] for i in range(n) for _ in range(2)]
        ties = [(i, i) for i in range(2 * n + 1)] + [(n + 1 + i, i) for i in range(n)]
        found = fronts(rows, ties, 2 * n + 1)
        assert len(found) == n
        assert max(len(front.own) + len(front.beyond) for front in found) <= 3


def test_small_kernels_of_fronts_do_what_they_say(monkeypatch):
    """By their definitions, with numbers that can be seen through."""
    t = SimpleNamespace(diag=np.array([0.5, -3.0, 0.2]), number=2, pivots=[1, 2], lists=[0, 9, 9, 9, 9, 2, 1, 9, 9, 9])
    assert loops.conditioning_of_fronts(t, 2, 4.0) == 0.2 / 4.0
    assert loops.conditioning_of_fronts(t, 2, 0.1) == 1.0
    M, h = np.full((3, 3), 7.0), np.full(3, 7.0)
    loops._unit_mass(M, h)
    assert (np.eye(3) == M).all()
    assert (h == 0.0).all()
    monkeypatch.setattr(loops, "particular", lambda t, A, x, e: None)
    monkeypatch.setattr(loops, "back", lambda t, A, e, v: v.__setitem__([0, 2], [0.5, -3.0]))
    u = np.array([1.0, 9.0, 1.0])
    change = loops._change(SimpleNamespace(A=None), np.zeros(2), np.zeros(2), None, np.zeros(3), u)
    assert u == pytest.approx([1.5, 9.0, -2.0])
    assert change == 3.0 / 2.0
    A, x = np.full((3, 2), 7.0), np.zeros(3)
    loops._only(SimpleNamespace(A=A), np.array([2, 0]), np.array([-1.0, 4.0]), x)
    assert x == pytest.approx([4.0, 0.0, -1.0])
    assert A.tolist() == [[7.0, 7.0], [0.0, 0.0], [7.0, 7.0]]
