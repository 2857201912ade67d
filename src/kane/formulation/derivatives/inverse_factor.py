"""-M^-1 b for several columns b at once, by the inverse of the factor of M, which has the zeros of the factor.

    M = L^T D L,   T = -L^-T,   C = D^-1 T,   -M^-1 b = C^T (L^-T b),   M^-1 = C^T T

If b acts on one branch, L^-T b is nonzero only between this branch and the root. The products of another branch
then take in only the unknowns between both branches and the root. With L instead of C, the unknowns of that branch
would depend on each other.

Source: Featherstone 2005 for L and its zeros. Products with its inverse need fewer operations, which was counted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kane.codegen.programs.parts import RESULT, PartsBuilder, Places, Routine
from kane.deferred import NamedTuple
from kane.formulation.tree.sparse import TriangularFactor


class _Columns(NamedTuple):
    """Columns of T and C, one per lane.

    Attributes:
        unknowns: unknowns to which the columns belong.
        T, C: their places in memory, row by row.
    """

    unknowns: Sequence[int]
    T: int
    C: int


class InverseFactor:
    """T and C in the memory of a program in parts, and the calls that multiply by them."""

    def __init__(self, L: TriangularFactor, groups: Sequence[Sequence[int]], start: int, parts: PartsBuilder) -> None:
        """Compute T and C.

        Args:
            L: factor of M.
            groups: unknowns that are eliminated together, those of parents first.
            start: place of the factor in memory; see ``read_factor``.
            parts: program in parts to which the calls are appended.
        """
        self._L, self._groups, self._start, self._parts = L, groups, start, parts
        of = {k: g for g, group in enumerate(groups) for k in group}
        self._ways = [{g, *(of[i] for k in group for i in L[0][k])} for g, group in enumerate(groups)]
        self._inward = [elimination(f"kane_eliminated{g}", L, group) for g, group in enumerate(groups)]
        self._products: dict[tuple[Any, ...], Routine] = {}
        self._columns = [list(self._inverted(g)) for g in range(len(groups))]

    def groups_of(self, rows: Iterable[int]) -> set[int]:
        """Return the groups whose unknowns are all among these rows."""
        there = {*rows}
        return {g for g, group in enumerate(self._groups) if {*group} <= there}

    def columns(self, g: int) -> Iterator[tuple[Sequence[int], int]]:
        """Yield the columns of T of a group: their unknowns and their place in memory."""
        for columns in self._columns[g]:
            yield columns.unknowns, columns.T

    def way(self, g: int) -> set[int]:
        """Return the groups between a group and the root, itself included."""
        return self._ways[g]

    def eliminate(self, at: int, given: set[int], count: int) -> None:
        """Replace b by L^-T b; its ``count`` columns are nonzero in the given groups only."""
        for g in sorted(given, reverse=True):
            self._parts.call(self._inward[g], count, {"factor": self._start, "b": at})

    def multiply(self, at: int, given: set[int], count: int, targets: Iterable[int] | None = None) -> dict[int, int]:
        """Compute C^T b for some groups, or for all, and return the place of each nonzero row in the results."""
        found: dict[int, int] = {}
        for g in range(len(self._groups)) if targets is None else targets:
            sources = sorted(given & self._ways[g])
            if not sources:
                continue
            for columns in self._columns[g]:
                result = self._parts.give(len(columns.unknowns) * self._parts.width)
                routine = self._product(columns, sources)
                self._parts.call(routine, count, {"b": at, "c": columns.C, "x": (RESULT, result)})
                found |= {k: result + i * self._parts.width for i, k in enumerate(columns.unknowns)}
        return found

    def _inverted(self, g: int) -> Iterator[_Columns]:
        """Compute T and C of the unknowns of a group."""
        group, parts, width = self._groups[g], self._parts, self._parts.width
        rows = [k for h in sorted(self._ways[g]) for k in self._groups[h]]
        begun, scaled = elimination(f"kane_begun{g}", self._L, group, begun=rows), _scaled(g, self._L, rows)
        for first in range(0, len(group), width):
            n = len(self._L[0])
            columns = _Columns(group[first : first + width], parts.take(n), parts.take(n))
            units = parts.constant([[-float(k == column) for column in columns.unknowns] for k in group])
            count = len(columns.unknowns)
            arrays: Places = {"factor": self._start, "b": columns.T, "c": columns.C, "unit": units}
            parts.call(begun, count, arrays)
            self.eliminate(columns.T, self._ways[g] - {g}, count)
            parts.call(scaled, count, arrays)
            yield columns

    def _product(self, columns: _Columns, sources: Sequence[int]) -> Routine:
        key = (*columns.unknowns, None, *sources)
        if key not in self._products:
            at = Routine(f"kane_products{len(self._products)}", plain={"c": 1})
            for lane, k in enumerate(columns.unknowns):
                total: Any = 0.0
                for a in (a for h in sources for a in self._groups[h] if a == k or a in self._L[0][k]):
                    (c,) = at.read("c", a * self._parts.width + lane)
                    total = total + c * at.read("b", a)[0]
                at.write("x", [total], lane)
            self._products[key] = at
        return self._products[key]


def read_factor(at: Routine, array: str, start: int, L: TriangularFactor) -> TriangularFactor:
    """Return the factor that an array contains: the inverses of D, then the rows of L."""
    rows, inverses = L
    found, start = at.read(array, start, len(inverses)), start + len(inverses)
    factor = []
    for row in rows:
        factor.append(dict(zip(row, at.read(array, start, len(row)), strict=True)))
        start += len(row)
    return factor, [*found]


def elimination(name: str, L: TriangularFactor, group: Sequence[int], *, begun: Sequence[int] = ()) -> Routine:
    """Return the routine that applies the rows of a group of unknowns in L^-T b.

    With rows ``begun``, b is zero in these rows except for the group, where it is the array "unit". They are all rows
    between the group and the root, because the next routines read them.
    """
    at = Routine(name, plain={"factor": 1})
    rows, _ = read_factor(at, "factor", 0, L)
    touched = sorted({*begun, *(i for k in group for i in (k, *rows[k]))})
    if begun:
        x: dict[int, Any] = dict.fromkeys(touched, 0.0) | dict(zip(group, at.read("unit", 0, len(group)), strict=True))
    else:
        x = {k: at.read("b", k)[0] for k in touched}
    for k in reversed(group):
        for i, m in rows[k].items():
            x[i] = x[i] - m * x[k]
    for k in touched:
        at.write("b", [x[k]], k)
    return at


def _scaled(g: int, L: TriangularFactor, rows: Sequence[int]) -> Routine:
    """Return the routine that computes D^-1 b of some rows."""
    at = Routine(f"kane_scaled{g}", plain={"factor": 1})
    _, inverses = read_factor(at, "factor", 0, L)
    for k in rows:
        at.write("c", [inverses[k] * at.read("b", k)[0]], k)
    return at
