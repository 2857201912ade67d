"""Symbolic sparse elimination of linear equations; constant pivots come first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.expression.operations import PARAMETER
from kane.expression.traverse import has_leaf
from kane.formulation.tree.probe import Probe
from kane.geometry.scalars import is_zero

# A coefficient below this value counts as zero where others are of order one.
ZERO_COEFFICIENT_TOLERANCE = 1e-11


@dataclass(frozen=True)
class LinearRow:
    """Named equation: sum over columns of coefficients[j] x_j + rest = 0."""

    name: str
    coefficients: dict[int, Any]
    rest: Any


@dataclass(frozen=True)
class Elimination:
    """Rows in triangular form.

    Attributes:
        solved: unknowns and the rows that give them, in the order of elimination; earlier rows contain later unknowns.
        left: rows without unknowns.
        pivots: divisors that are not constants.
    """

    solved: list[tuple[int, LinearRow]]
    left: list[LinearRow]
    pivots: list[Expr]

    def values(self) -> dict[int, LinearRow]:
        """Return each unknown p in terms of the known columns: x_p = coefficients . x + rest."""
        known: dict[int, LinearRow] = {}
        for p, row in reversed(self.solved):
            total: dict[int, Any] = {}
            rest = row.rest
            for j, c in row.coefficients.items():
                if j in known:
                    rest = rest + c * known[j].rest
                    for i, x in known[j].coefficients.items():
                        total[i] = total.get(i, 0.0) + c * x
                elif j != p:
                    total[j] = total.get(j, 0.0) + c
            pivot = row.coefficients[p]
            scaled = {j: -(x / pivot) for j, x in total.items() if not is_zero(x)}
            known[p] = LinearRow(row.name, scaled, -(rest / pivot))
        return known


def eliminate(
    rows: Sequence[LinearRow], unknowns: Collection[int], probe: Probe, *, exact: bool = False
) -> Elimination:
    """Bring linear equations into triangular form in some of their columns.

    Pivots are constants first, then functions of parameters, then functions of the state. Among equal kinds the pivot
    with the least fill-in is taken (Markowitz 1957), then the last unknown. Before a state-dependent pivot is used,
    blocks that are orthogonal matrices are multiplied by their transposes. A velocity along the axes of a rotating body
    then needs no divisor. Two rows with the same two unknowns (a planar loop) are solved by Cramer's rule. Their
    determinant vanishes only where the rows are singular; a single coefficient as pivot vanishes at other states too.

    Args:
        rows: equations to eliminate.
        unknowns: columns to solve for.
        probe: decides which coefficients vanish.
        exact: stop if all remaining pivots depend on the state, because they may vanish.
    """
    work, wanted = list(rows), set(unknowns)
    found = Elimination([], [], [])
    while work:
        place = _pivot(work, wanted, probe)
        if place is None or _kind(work[place[0]].coefficients[place[1]]) > 1:
            turned = _turned(work, wanted, probe)
            if turned is not None:
                work = turned
                continue
            if place is None or exact:
                break
            pair = _pair(work, wanted, probe)
            if pair is not None:
                work = _solved_pair(found, work, pair)
                wanted -= {p for p, _ in found.solved[-2:]}
                continue
        r, p = place
        row = work.pop(r)
        pivot = row.coefficients[p]
        if isinstance(pivot, Expr) and not pivot.is_constant:
            found.pivots.append(pivot)
        found.solved.append((p, row))
        wanted.discard(p)
        work = [_without(other, p, row) if p in other.coefficients else other for other in work]
    found.left.extend(work)
    return found


def _pivot(rows: Sequence[LinearRow], wanted: set[int], probe: Probe) -> tuple[int, int] | None:
    many: dict[int, int] = {}
    for row in rows:
        for j in row.coefficients:
            many[j] = many.get(j, 0) + 1
    best, place = None, None
    values = iter(probe([c for row in rows for c in row.coefficients.values()]).tolist())
    for r, row in enumerate(rows):
        for j, c in row.coefficients.items():
            if abs(next(values)) < ZERO_COEFFICIENT_TOLERANCE or j not in wanted:
                continue
            kind = _kind(c)
            rank = (kind, (len(row.coefficients) - 1) * (many[j] - 1), -j)
            if best is None or rank < best:
                best, place = rank, (r, j)
    return place


def _pair(rows: Sequence[LinearRow], wanted: set[int], probe: Probe) -> tuple[LinearRow, LinearRow, int, int] | None:
    """Find two rows whose only unknowns are the same two; None if a row has a single unknown, which is solved first."""
    alike: dict[tuple[int, ...], list[LinearRow]] = {}
    for row in rows:
        columns = tuple(sorted(wanted & row.coefficients.keys()))
        if len(columns) == 1:
            return None
        alike.setdefault(columns, []).append(row)
    for columns, members in alike.items():
        for a, b in combinations(members, 2) if len(columns) == 2 else ():
            v = probe([row.coefficients[j] for row in (a, b) for j in columns])
            if abs(v[0] * v[3] - v[1] * v[2]) > ZERO_COEFFICIENT_TOLERANCE * np.linalg.norm(v[:2]) * np.linalg.norm(
                v[2:]
            ):
                return a, b, columns[0], columns[1]
    return None


def _solved_pair(
    found: Elimination, rows: Sequence[LinearRow], pair: tuple[LinearRow, LinearRow, int, int]
) -> list[LinearRow]:
    """Solve two rows for two unknowns by Cramer's rule, and return the other rows with these unknowns eliminated."""
    a, b, p, s = pair
    x, y = a.coefficients, b.coefficients
    determinant = x[p] * y[s] - x[s] * y[p]
    ratio = 1.0 / determinant
    found.pivots.append(determinant)
    left = [row for row in rows if row is not a and row is not b]
    for unknown, f, g in ((p, y[s], -x[s]), (s, -y[p], x[p])):
        others = {j: (f * x.get(j, 0.0) + g * y.get(j, 0.0)) * ratio for j in {**x, **y} if j not in (p, s)}
        row = LinearRow(a.name, {unknown: 1.0, **others}, (f * a.rest + g * b.rest) * ratio)
        found.solved.append((unknown, row))
        left = [_without(other, unknown, row) if unknown in other.coefficients else other for other in left]
    return left


def _kind(c: Any) -> int:
    """Return 0 for a constant, 1 for a function of parameters, 2 for a function of the state."""
    if not isinstance(c, Expr) or c.is_constant:
        return 0
    return 2 if has_leaf(c, lambda leaf: leaf.op != PARAMETER) else 1


def _turned(rows: Sequence[LinearRow], wanted: set[int], probe: Probe) -> list[LinearRow] | None:
    """Multiply rows with an orthogonal block Q in two or three unknowns by Q^T; return None without one.

    Q^T Q = 1 is tested numerically at a random state and random parameters; if it holds there, it holds at every state.
    """
    alike: dict[tuple[int, ...], list[tuple[int, np.ndarray]]] = {}
    for r, row in enumerate(rows):
        columns = [j for j, c in row.coefficients.items() if j in wanted]
        values = dict(zip(columns, probe.anywhere([row.coefficients[j] for j in columns]), strict=True))
        for size in (2, 3):
            for block in combinations(sorted(columns), size):
                v = np.array([values[j] for j in block])
                if abs(v @ v - 1.0) < ZERO_COEFFICIENT_TOLERANCE:
                    alike.setdefault(block, []).append((r, v))
    for block, members in alike.items():
        for chosen in combinations(members, len(block)):
            Q = np.array([v for _, v in chosen])
            if np.abs(Q @ Q.T - np.eye(len(block))).max() < ZERO_COEFFICIENT_TOLERANCE:
                return _times_transpose(rows, [r for r, _ in chosen], block)
    return None


def _times_transpose(rows: Sequence[LinearRow], members: Sequence[int], block: Sequence[int]) -> list[LinearRow]:
    """Return the rows, with the rows of an orthogonal block Q multiplied by Q^T."""
    done = list(rows)
    for r, j in zip(members, block, strict=True):
        coefficients: dict[int, Any] = {j: 1.0}
        rest: Any = 0.0
        for k in members:
            q = rows[k].coefficients.get(j, 0.0)
            rest = rest + q * rows[k].rest
            for i, c in rows[k].coefficients.items():
                if i not in block:
                    coefficients[i] = coefficients.get(i, 0.0) + q * c
        kept = {i: c for i, c in coefficients.items() if not _vanishes(c)}
        done[r] = LinearRow(rows[r].name, kept, rest)
    return done


def _without(row: LinearRow, p: int, by: LinearRow) -> LinearRow:
    """Return the row with unknown p eliminated."""
    factor = row.coefficients[p] / by.coefficients[p]
    coefficients = {j: c for j, c in row.coefficients.items() if j != p}
    for j, c in by.coefficients.items():
        if j != p:
            x = coefficients.get(j, 0.0) - factor * c
            if _vanishes(x):
                coefficients.pop(j, None)
            else:
                coefficients[j] = x
    return LinearRow(row.name, coefficients, row.rest - factor * by.rest)


def _vanishes(x: Any) -> bool:
    if isinstance(x, Expr) and not x.is_constant:
        return False
    return abs(float(x)) < ZERO_COEFFICIENT_TOLERANCE
