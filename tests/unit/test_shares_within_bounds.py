"""Forces shared within their bounds, kernels called as written: a linear program says how large margins can be."""

from types import SimpleNamespace

import numpy as np
import pytest
from oracles.source_mutants import everywhere
from scipy.linalg import block_diag
from scipy.optimize import linprog

from kane.engine.laws import internal_blocks as blocks
from kane.engine.laws import internal_forces as shares
from kane.engine.linear import factorizations as algebra
from kane.engine.memory.contact_codes import COULOMB, STICKING, UNBOUNDED
from kane.engine.memory.views import (
    ConstraintRows,
    contact_state_at,
    contact_state_size,
    contact_table_at,
    contact_table_size,
    factor_scratch_size,
    gap_terms_at,
    gap_terms_size,
)

FEET = [-0.3, 0.1, 0.4]


def block_on_feet(angle, static, push):
    """A block on feet in the plane, all held: 3 speeds, a normal row and a tangent of each foot; and the load."""
    A = np.array([row for x in FEET for row in ((0.0, 1.0, x), (1.0, 0.0, 0.1))])
    load = np.array([np.sin(angle) + push, np.cos(angle), 0.0])
    return held(A, load, static, 1), A, load


def balls_between_walls(lean):
    """A ball in a corner, on the floor, and one that leans on it and on the wall opposite; 12 speeds, 5 contacts."""
    gap, turn = 0.08, 0.06 * np.array([-np.sin(lean), np.cos(lean)])  # of the centres, which are 0.1 m apart
    across = np.array([-gap, *turn]) / 0.1
    places = [(0, (0, 0, 1)), (0, (-1, 0, 0)), (0, (0, -1, 0)), (1, (1, 0, 0)), (1, across)]
    rows = []
    for ball, n in places:
        n = np.asarray(n, float)
        first = np.cross(n, [0.0, 1.0, 0.0] if abs(n[1]) < 0.9 else [0.0, 0.0, 1.0])
        first /= np.linalg.norm(first)
        for d in (n, first, np.cross(n, first)):
            row = np.zeros((2, 6))
            row[ball] = [*d, *np.cross(-0.05 * n, d)]
            if n is across:
                row[0] = [*-d, *np.cross(0.05 * n, -d)]
            rows.append(row.ravel())
    weight = np.zeros(12)
    weight[[2, 8]] = 1.0
    A = np.array(rows)
    return A, A.T @ np.linalg.lstsq(A.T, weight, rcond=None)[0]  # without what turns the one that leans, which is free


def held(A, load, static, tangents):
    """What the kernels read of contacts that are held, each with so many tangents behind its normal row."""
    (m, n), nc = A.shape, len(A) // (1 + tangents)
    c = SimpleNamespace(
        forces=np.linalg.lstsq(A.T, load, rcond=None)[0], all_rows=ConstraintRows(A, np.zeros(m), None, 0)
    )
    c.block, c.table = SimpleNamespace(constraints=nc), contact_table_at(np.zeros(contact_table_size(nc), int), 0, nc)
    c.state, c.gaps = (
        contact_state_at(np.zeros(contact_state_size(nc)), 0, nc),
        gap_terms_at(np.zeros(gap_terms_size(nc)), 0, nc),
    )
    c.row_mask, c.l, c.h, c.pivots = np.ones(m, int), np.zeros(m), np.zeros(n), np.zeros(nc, int)
    c.remainder = np.zeros(m)
    c.redundant = np.zeros(factor_scratch_size(n, m))
    c.B, c.H, c.path = np.zeros((m, m)), np.zeros((m + 1, m + 1)), np.zeros((6, m + 1))
    c.state.status[:], c.gaps.static[:] = STICKING, static
    c.table.normal[:], c.table.tangent[:] = range(0, m, 1 + tangents), range(1, m, 1 + tangents)
    c.table.tangents[:], c.table.friction[:], c.table.bilateral[:] = tangents, COULOMB, 0
    return c


def widen(c):
    """Move all forces together to the greatest least margin."""
    shares.widen_margin(c, shares.list_sticking(c), shares.find_null_space(c), shares.largest_force(c))


def greatest_margin(A, load, static, directions):
    """The greatest t, mu N - d.f >= t for each direction d and N >= t of all contacts; the forces hold the load."""
    m, tangents, rows = len(A), len(directions[0]), []
    for k in range(0, m, 1 + tangents):
        for bound, direction in ((1.0, np.zeros(tangents)), *((static, d) for d in directions)):
            row = np.zeros(m + 1)
            row[k], row[k + 1 : k + 1 + tangents], row[m] = -bound, direction, 1.0
            rows.append(row)
    balance = np.hstack([A.T, np.zeros((len(load), 1))])
    found = linprog(
        [*np.zeros(m), -1.0], rows, np.zeros(len(rows)), balance, load, bounds=[*[(None, None)] * m, (None, 10.0)]
    )
    return -found.fun


def margin_of(forces, static, tangents):
    each = forces.reshape(-1, 1 + tangents)
    return min((static * each[:, 0] - np.linalg.norm(each[:, 1:], axis=1)).min(), each[:, 0].min())


# The last two are as a slip begins: what holds is just enough, and just not.
@pytest.mark.parametrize(("push", "excess"), [(0.3, None), (0.9, None), (0.2, 1e-9), (0.2, -1e-9)])
def test_forces_have_the_margin_that_a_linear_program_finds_in_a_few_of_newtons_steps(push, excess):
    angle, static = 0.2, 0.6
    if excess is not None:
        static = (np.sin(angle) + push) / np.cos(angle) + excess
    c, A, load = block_on_feet(angle, static, push)
    c.forces += np.linalg.svd(A.T)[2][3:].T @ np.array([0.5, -0.4, 0.3])  # outside their bounds, and they hold as well
    assert not shares.keeps_bounds(c)
    scale = np.abs(c.forces).max()
    steps = []

    def counted(*arguments):
        steps.append(1)
        return factor(*arguments)

    factor = algebra.factor_cholesky
    with everywhere(factor, counted):
        widen(c)
    # Some 50; 140 to 180 where each point of the path was found to rounding, and the last looked for below it.
    assert len(steps) < 80
    assert A.T @ c.forces == pytest.approx(load, abs=1e-12)
    most = min(greatest_margin(A, load, static, [(1.0,), (-1.0,)]), shares.ENOUGH * scale)
    # As exact as the weight of the norm leaves it, and the end of the path.
    assert margin_of(c.forces, static, 1) == pytest.approx(most, abs=2e-6 * scale)
    assert shares.keeps_bounds(c) == (most > 0) or abs(most) < 1e-8


@pytest.mark.parametrize("static", [0.3, 0.5])
@pytest.mark.parametrize("lean", [-0.2, 0.0, 0.4])
def test_balls_pressed_between_walls_have_the_margin_that_there_is(lean, static):
    """Walls may press as they like, which hardly changes the margin: the path comes from far away, and its last two
    points still lie far apart. What was extrapolated from them had left the bounds, by 0.02 to 0.04 of the load.

    Who vouches: a linear program, of cones with 360 sides.
    """
    turns = 2 * np.pi * np.arange(360) / 360
    A, load = balls_between_walls(lean)
    c = held(A, load, static, 2)
    scale = np.abs(c.forces).max()
    most = min(
        greatest_margin(A, load, static, list(zip(np.cos(turns), np.sin(turns), strict=True))), shares.ENOUGH * scale
    )
    widen(c)
    assert A.T @ c.forces == pytest.approx(load, abs=1e-11)
    # Sides of the cones are up to 1 - cos(pi / 360) = 4e-5 further out than the cones.
    assert margin_of(c.forces, static, 2) == pytest.approx(most, abs=1e-4 * scale)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_whether_forces_keep_their_bounds_does_not_depend_on_their_size(size):
    """By the margins themselves: a friction of 0.5 N at a bound of 0.6 N is within it, and at 0.4 N it is not."""
    for static, keeps in ((0.6, True), (0.4, False)):
        c, _, _ = block_on_feet(0.0, static, 0.0)
        c.forces[:] = size * np.tile([1.0, 0.5], len(FEET))
        assert shares.keeps_bounds(c) == keeps


def test_friction_without_a_bound_never_leaves_it():
    """By the margins themselves: forces that push, with any friction."""
    c, _, _ = block_on_feet(0.0, 0.1, 0.0)
    c.forces[:] = np.tile([1.0, 50.0], len(FEET))
    assert not shares.keeps_bounds(c)
    c.table.friction[:] = UNBOUNDED
    assert shares.keeps_bounds(c)


def test_contacts_that_cannot_be_held_take_no_margin_from_others():
    """Two pairs of balls apart: one can be held, one cannot. A linear program vouches for the margin of each."""
    turns = 2 * np.pi * np.arange(360) / 360
    sides, static = list(zip(np.cos(turns), np.sin(turns), strict=True)), 0.3
    pairs = [balls_between_walls(lean) for lean in (-0.2, 0.4)]
    c = held(block_diag(*(A for A, _ in pairs)), np.concatenate([load for _, load in pairs]), static, 2)
    scale = np.abs(c.forces).max()
    blocks.share_within_bounds(c)
    for (A, load), forces in zip(pairs, np.split(c.forces, 2), strict=True):
        assert A.T @ forces == pytest.approx(load, abs=1e-11)
        most = min(greatest_margin(A, load, static, sides), shares.ENOUGH * scale)
        found = margin_of(forces, static, 2)
        # A margin of zero suffices, if contacts that would pull carry nothing.
        assert found == pytest.approx(most, abs=1e-4 * scale) or (most > 0.0 and found >= -1e-12 * scale)
