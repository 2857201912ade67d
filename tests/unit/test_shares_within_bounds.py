"""Forces shared within their bounds, kernels called as written: a linear program says how large margins can be."""

from types import SimpleNamespace

import numpy as np
import pytest
from oracles.source_mutants import everywhere
from scipy.optimize import linprog

from kane.native import algebra
from kane.native.contacts import shares
from kane.native.contacts.header import (
    BILATERAL,
    BLOCK,
    CANDIDATES,
    CHANGING,
    COULOMB,
    FRICTION,
    HELD,
    NORMAL,
    NUMBERS,
    STATIC,
    STATUS,
    TABLE,
    TANGENT,
    TANGENTS,
)

FEET = [-0.3, 0.1, 0.4]


def block_on_feet(angle, static, push):
    """A block on feet in the plane, all held: 3 speeds, a normal row and a tangent of each foot; and the load."""
    m, nc, n = 2 * len(FEET), len(FEET), 3
    A = np.array([row for x in FEET for row in ((0.0, 1.0, x), (1.0, 0.0, 0.1))])
    load = np.array([np.sin(angle) + push, np.cos(angle), 0.0])
    c = SimpleNamespace(forces=np.linalg.lstsq(A.T, load, rcond=None)[0], every=np.append(A.ravel(), np.zeros(m)))
    c.block, c.table, c.changing = np.zeros(BLOCK, int), np.zeros(TABLE * nc, int), np.zeros(CHANGING * nc, int)
    c.gaps, c.counted, c.l = np.zeros(NUMBERS * nc), np.ones(m, int), np.zeros(m)
    c.E, c.B, c.H, c.path = np.zeros((n, m)), np.zeros((m, m)), np.zeros((m + 1, m + 1)), np.zeros((6, m + 1))
    c.block[CANDIDATES], c.changing[STATUS::CHANGING], c.gaps[STATIC::NUMBERS] = nc, HELD, static
    c.table[NORMAL::TABLE], c.table[TANGENT::TABLE] = range(0, m, 2), range(1, m, 2)
    c.table[TANGENTS::TABLE], c.table[FRICTION::TABLE], c.table[BILATERAL::TABLE] = 1, COULOMB, 0
    return c, A, load


def greatest_margin(A, load, static):
    """The greatest t with mu N - |f| >= t and N >= t of all feet, for forces that hold the load."""
    m = len(A)
    rows = []
    for k in range(0, m, 2):
        for bound, friction in ((static, 1.0), (static, -1.0), (1.0, 0.0)):
            row = np.zeros(m + 1)
            row[k], row[k + 1], row[m] = -bound, friction, 1.0
            rows.append(row)
    balance = np.hstack([A.T, np.zeros((3, 1))])
    found = linprog([*np.zeros(m), -1.0], rows, np.zeros(len(rows)), balance, load, bounds=(None, None))
    return -found.fun


def margin_of(forces, static):
    normal, friction = forces[::2], np.abs(forces[1::2])
    return min((static * normal - friction).min(), normal.min())


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

    factor = algebra.factor_positive
    with everywhere(factor, counted):
        shares.share_within_bounds(c)
    # Some 50; 140 to 180 where each point of the path was found to rounding, and the last looked for below it.
    assert len(steps) < 80
    assert A.T @ c.forces == pytest.approx(load, abs=1e-12)
    most = min(greatest_margin(A, load, static), shares.ENOUGH * scale)
    # As exact as the weight of the norm leaves it, and the end of the path.
    assert margin_of(c.forces, static) == pytest.approx(most, abs=2e-6 * scale)
    assert shares.keeps_bounds(c) == (most > 0) or abs(most) < 1e-8
