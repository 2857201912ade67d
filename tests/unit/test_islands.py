"""Forces of rows in islands, kernels called as they are written: NumPy says which forces are the shortest."""

from types import SimpleNamespace

import numpy as np
import pytest

from kane.engine.memory.contact_codes import COULOMB, MANY_SPEEDS, SLIDING, STICKING
from kane.engine.memory.views import (
    contact_state_at,
    contact_state_size,
    contact_table_at,
    contact_table_size,
    gap_terms_at,
    gap_terms_size,
    record_tail_at,
    row_record_at,
    row_record_size,
)
from kane.engine.rows.islands import note_group, share_friction, solve_islands
from kane.engine.rows.row_problem import DEPENDENT, NO_SOLUTION, SOLVED
from kane.engine.rows.tree_response import LIMITS

CORNERS = [(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)]
STATIC_FRICTION = 0.5
# What scratch may hold before it is written: an index that there is none of.
RUBBISH = 10**9


class Boxes:
    """Boxes in random metrics on corners that stick, or slip with friction: rows of each corner, and M and h.

    Attributes:
        quick: what the kernels are given.
        A, AF: rows, without and with the friction of what slips.
        M, h: of the boxes.
        box, sticks: of each row its box, and whether it is of friction that sticks.
    """

    def __init__(self, rng, slips, corners=CORNERS, least_speeds=0):
        n = max(6 * len(slips), least_speeds)
        self.M, self.h = np.eye(n), rng.normal(size=n)
        rows, self.box, self.sticks, groups = [], [], [], []
        for k, slip in enumerate(slips):
            own, T = slice(6 * k, 6 * k + 6), rng.normal(size=(6, 6))
            self.M[own, own] = 3 * np.eye(6) + (0.1 if slip else 1.0) * T @ T.T
            way = rng.uniform(0, 6)
            for x, y in corners:
                A = np.zeros((3, n))
                for row, axis in zip(A, np.eye(3)[[2, 0, 1]], strict=True):
                    row[own] = [*axis, *np.cross([x, y, -0.05], axis)]
                friction = -0.3 * (np.cos(way) * A[1] + np.sin(way) * A[2])
                found = [(A[0], A[0] + friction)] if slip else [(row, row) for row in A]
                groups.append((own, len(found), slip))
                rows += found
                self.box += [k] * len(found)
                self.sticks += [False] if slip else [False, True, True]
        self.A, self.AF = (np.array(x) for x in zip(*rows, strict=True))
        self._load(groups)

    def _load(self, groups):
        """Records: y = L^-1 a, w = D^-1 L^-1 of the row with friction, b, square, reach, remainder."""
        n, m, G = len(self.h), len(self.A), len(groups)
        C = np.linalg.cholesky(self.M)
        L, D = C / np.diag(C), np.diag(C) ** 2
        self.Y, self.W = np.linalg.solve(L, self.A.T).T, np.linalg.solve(L, self.AF.T).T / D
        self.L, self.scaled = L, -np.linalg.solve(L, self.h) / D
        self.b = -self.Y @ self.scaled
        groups_of = ("place", "rows", "width", "constraint", "root", "next")
        integers = {"owner": n, "slot": G, "tail": m, "loose": m, "exchanges": m, "number": n, "column": n}
        integers |= {f"group_{name}": G for name in groups_of}
        numbers = {"force": m, "pivot": m, "b": m, "square": m, "reach": m}
        k = SimpleNamespace(
            n=n,
            S=np.full((m, m), np.nan),
            Y=np.full((m, n), np.nan),
            W=np.full((n, m), np.nan),
            table=contact_table_at(np.zeros(contact_table_size(G), int), 0, G),
            state=contact_state_at(np.zeros(contact_state_size(G)), 0, G),
            given=SimpleNamespace(scaled=self.scaled.copy(), records=np.full((m + 2 * G) * row_record_size(n), np.nan)),
        )
        vars(k).update({name: np.full(size, RUBBISH) for name, size in integers.items()})
        vars(k).update({name: np.full(size, np.nan) for name, size in numbers.items()})
        k.table.friction[:] = COULOMB
        k.state.status[:] = [SLIDING if slip else STICKING for _, _, slip in groups]
        place, row = 0, 0
        for group, (own, count, _) in enumerate(groups):
            columns = np.arange(n)[own] if n > MANY_SPEEDS else np.arange(n)
            first, width = (place + len(columns) if n > MANY_SPEEDS else place), len(columns)
            k.given.records[place : place + width] = columns
            for r in range(row, row + count):
                record = row_record_at(k.given.records, first + (r - row) * row_record_size(width), width)
                record.y[:], record.w[:] = self.Y[r, columns], self.W[r, columns]
                record.b[0], record.square[0] = self.b[r], self.Y[r] ** 2 @ (1 / D)
                record.reach[0], record.remainder[0] = np.abs(self.W[r]).max(), 1.0
            place, row = note_group(k, group, group, place, count, width), row + count
        self.quick, self.groups = k, G

    def forces(self):
        """Those in the range of the rows, which hold these."""
        U, values, _ = np.linalg.svd(self.A, full_matrices=False)
        Q = U[:, values > 1e-9 * values[0]]
        S = self.Y @ self.W.T
        return Q @ np.linalg.solve(Q.T @ S @ Q, Q.T @ self.b)


@pytest.mark.parametrize("least_speeds", [0, MANY_SPEEDS + 1])
@pytest.mark.parametrize("slips", [[False], [True], [False, True, False]])
def test_forces_of_rows_that_repeat_others_are_the_shortest_and_hold_all_rows(slips, least_speeds):
    """Four corners of each box: 12 rows of rank 6 that stick, 4 of rank 3 that slip."""
    boxes = Boxes(np.random.default_rng(len(slips)), slips, least_speeds=least_speeds)
    k = boxes.quick
    how, least = solve_islands(k, boxes.groups, True, LIMITS)
    assert how == DEPENDENT
    assert 1e-3 < least < 1
    expected = boxes.forces()
    assert k.force == pytest.approx(expected, rel=1e-10, abs=1e-10)
    accelerations = np.linalg.solve(boxes.L.T, k.given.scaled)
    assert accelerations == pytest.approx(np.linalg.solve(boxes.M, boxes.AF.T @ expected - boxes.h), abs=1e-10)
    assert boxes.A @ accelerations == pytest.approx(0, abs=1e-10)
    if not any(slips):
        again = Boxes(np.random.default_rng(len(slips)), slips, least_speeds=least_speeds).quick
        assert solve_islands(again, boxes.groups, False, LIMITS) == (how, least)
        assert again.given.scaled == pytest.approx(k.given.scaled, abs=1e-10)


@pytest.mark.parametrize("slips", [[False], [True], [False, True]])
@pytest.mark.parametrize("angle", [3e-10, 1e-7, 1e-4, 3e-3])
def test_corners_turned_by_a_hair_are_solved_as_well_as_corners_that_are_not(slips, angle):
    """Row by row, the second corner along the first tangent would hardly differ from the first one, by the angle."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert_solved(Boxes(np.random.default_rng(7), slips, corners=(turn @ np.transpose(CORNERS)).T))


@pytest.mark.parametrize("slips", [[False], [True]])
def test_thirty_feet_side_by_side_are_solved_as_well_as_three(slips):
    """Three that are 12 degrees apart say little of a plate, whose other feet would be solved for by them."""
    turns = 2 * np.pi * np.arange(30) / 30
    assert_solved(Boxes(np.random.default_rng(8), slips, corners=np.column_stack([np.cos(turns), np.sin(turns)]) / 5))


def assert_solved(boxes):
    """Forces of rows that repeat others are those of least norm, by NumPy's singular values."""
    assert solve_islands(boxes.quick, boxes.groups, True, LIMITS)[0] == DEPENDENT
    assert boxes.quick.force == pytest.approx(boxes.forces(), rel=1e-10, abs=1e-10)


def test_boxes_side_by_side_have_the_forces_that_each_has_alone_to_the_last_bit():
    rng = np.random.default_rng(0)
    together = Boxes(rng, [False] * 6)
    assert len(together.h) > MANY_SPEEDS
    solve_islands(together.quick, together.groups, True, LIMITS)
    first = together.quick.force.reshape(6, 12)
    for k in range(6):
        alone = Boxes(np.random.default_rng(0), [False] * 6)
        others = np.arange(36) // 6 != k
        alone.h[others] = 0.0
        alone._load([(slice(6 * (g // 4), 6 * (g // 4) + 6), 3, False) for g in range(24)])
        solve_islands(alone.quick, alone.groups, True, LIMITS)
        assert alone.quick.force.reshape(6, 12)[k].tobytes() == first[k].tobytes()


def test_friction_that_is_redundant_is_shared_out_as_its_bounds():
    """The least sum of f^2 / (mu N) of what makes the same, by the pseudoinverse; normal forces stay."""
    boxes = Boxes(np.random.default_rng(4), [False, True, False])
    k = boxes.quick
    solve_islands(k, boxes.groups, True, LIMITS)
    before, gaps = k.force.copy(), gap_terms_at(np.zeros(gap_terms_size(boxes.groups)), 0, boxes.groups)
    gaps.static[:] = STATIC_FRICTION
    assert share_friction(k, len(before), gaps, LIMITS)
    sticks, box = np.array(boxes.sticks), np.array(boxes.box)
    normal = np.repeat(before[~sticks], np.where([g < 4 or g > 7 for g in range(12)], 3, 1))
    least = np.array([1e-6 * np.abs(before[box == i]).max() for i in box])
    weight = np.sqrt(np.maximum(STATIC_FRICTION * normal, least))[sticks]
    B, made = boxes.A[sticks].T * weight, boxes.A[sticks].T @ before[sticks]
    expected = before.copy()
    expected[sticks] = weight * (np.linalg.pinv(B, rcond=1e-10) @ made)
    assert np.abs(expected - before).max() > 0.1
    assert k.force == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_three_corners_that_slip_have_forces_that_are_determined():
    boxes = Boxes(np.random.default_rng(2), [True, True], corners=CORNERS[:3])
    how, _ = solve_islands(boxes.quick, boxes.groups, True, LIMITS)
    assert how == SOLVED
    assert boxes.quick.force == pytest.approx(boxes.forces(), abs=1e-10)


def test_rows_that_contradict_those_they_repeat_are_not_solved():
    boxes = Boxes(np.random.default_rng(3), [False])
    record_tail_at(boxes.quick.given.records, boxes.quick.tail[-1]).b[0] += 1.0
    assert solve_islands(boxes.quick, boxes.groups, True, LIMITS) == (NO_SOLUTION, 0.0)
