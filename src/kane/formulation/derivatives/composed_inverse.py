"""-M^-1 b with columns b side by side, by the inverse of the factor of M, which has the zeros that the factor has.

    M = L^T D L,   T = -L^-T,   C = D^-1 T,   -M^-1 b = C^T (L^-T b),   M^-1 = C^T T

Where b acts on one branch, L^-T b is zero but on the way from there to the root, and the products of each other branch
take in only what of that way it shares: with L, the unknowns of that branch would be found one from the other.

Source: Featherstone 2005 for L and its zeros; that products with its inverse need fewer operations was counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kane.codegen.programs.composed import MEMORY, RESULT, Routine
from kane.formulation.derivatives.blocks import ComposedLayout, ValuePlace
from kane.formulation.tree.sparse import TriangularFactor


class _Columns(NamedTuple):
    """Columns of T and C that lie side by side.

    Attributes:
        places: of their unknowns.
        T, C: where in memory they lie, row by row.
    """

    places: Sequence[int]
    T: int
    C: int


class InverseFactor:
    """T and C in the memory of a composed program, and the calls that multiply by them.

    Args:
        L: the factor.
        groups: places of unknowns that are done together, those of parents first.
        start: where in memory the factor lies.
        layout: of the program.
        call: takes a routine, how many parts it has, and where its arrays lie.
    """

    def __init__(
        self,
        L: TriangularFactor,
        groups: Sequence[Sequence[int]],
        start: int,
        layout: ComposedLayout,
        call: Callable[[Routine, int, Mapping[str, ValuePlace]], None],
    ) -> None:
        self._L, self._groups, self._start, self._layout, self._call = L, groups, start, layout, call
        of = {k: g for g, group in enumerate(groups) for k in group}
        self._ways = [{g, *(of[i] for k in group for i in L[0][k])} for g, group in enumerate(groups)]
        self._inward = [_elimination(f"kane_eliminated{g}", L, group) for g, group in enumerate(groups)]
        self._products: dict[tuple[Any, ...], Routine] = {}
        self._columns = [list(self._inverted(g)) for g in range(len(groups))]

    def groups_of(self, rows: Iterable[int]) -> set[int]:
        """The groups of which all places are among these."""
        there = {*rows}
        return {g for g, group in enumerate(self._groups) if {*group} <= there}

    def columns(self, g: int) -> Iterator[tuple[Sequence[int], int]]:
        """Columns of T that belong to a group, as places of their unknowns and where they lie."""
        for columns in self._columns[g]:
            yield columns.places, columns.T

    def way(self, g: int) -> set[int]:
        """The groups between one and the root, itself included."""
        return self._ways[g]

    def eliminate(self, at: int, given: set[int], count: int) -> None:
        """Replace b by L^-T b; its ``count`` columns are nonzero in the given groups only."""
        for g in sorted(given, reverse=True):
            self._call(self._inward[g], count, self._arrays(b=at))

    def multiply(self, at: int, given: set[int], count: int, targets: Iterable[int] | None = None) -> dict[int, int]:
        """C^T b for some groups, all if none are named: where in the results the rows that are not zero lie."""
        found: dict[int, int] = {}
        for g in range(len(self._groups)) if targets is None else targets:
            sources = sorted(given & self._ways[g])
            if not sources:
                continue
            for columns in self._columns[g]:
                result = self._layout.give(len(columns.places) * self._layout.width)
                routine = self._product(g, columns, sources)
                self._call(routine, count, self._arrays(b=at, c=columns.C) | {"x": (RESULT, result)})
                found |= {k: result + i * self._layout.width for i, k in enumerate(columns.places)}
        return found

    def _arrays(self, **places: int) -> dict[str, ValuePlace]:
        return {array: (MEMORY, place) for array, place in {"factor": self._start, **places}.items()}

    def _inverted(self, g: int) -> Iterator[_Columns]:
        """T and C of the unknowns of a group."""
        group, take, width = self._groups[g], self._layout.take, self._layout.width
        rows = [k for h in sorted(self._ways[g]) for k in self._groups[h]]
        begun, scaled = _elimination(f"kane_begun{g}", self._L, group, begun=rows), _scaled(g, self._L, rows)
        for first in range(0, len(group), width):
            columns = _Columns(group[first : first + width], take(len(self._L[0])), take(len(self._L[0])))
            units = self._layout.constant([[-float(k == column) for column in columns.places] for k in group])
            count, at = len(columns.places), self._arrays(b=columns.T, c=columns.C)
            self._call(begun, count, at | {"unit": units})
            self.eliminate(columns.T, self._ways[g] - {g}, count)
            self._call(scaled, count, at)
            yield columns

    def _product(self, g: int, columns: _Columns, sources: Sequence[int]) -> Routine:
        key = (*columns.places, None, *sources)
        if key not in self._products:
            at = Routine(f"kane_products{len(self._products)}", plain={"c": 1})
            for lane, k in enumerate(columns.places):
                total: Any = 0.0
                for a in (a for h in sources for a in self._groups[h] if a == k or a in self._L[0][k]):
                    (c,) = at.read("c", a * self._layout.width + lane)
                    total = total + c * at.read("b", a)[0]
                at.write("x", [total], lane)
            self._products[key] = at
        return self._products[key]


def read_factor(at: Routine, array: str, start: int, L: TriangularFactor) -> TriangularFactor:
    """A factor that lies in an array: the inverses of D, then the rows of L."""
    rows, inverses = L
    found, start = at.read(array, start, len(inverses)), start + len(inverses)
    factor = []
    for row in rows:
        factor.append(dict(zip(row, at.read(array, start, len(row)), strict=True)))
        start += len(row)
    return factor, [*found]


def _elimination(name: str, L: TriangularFactor, group: Sequence[int], *, begun: Sequence[int] = ()) -> Routine:
    """L^-T b as far as some unknowns, one branch or several, make it; rows ``begun`` are zero before but for these.

    Those begun are all of a way: its groups have unknowns of other branches as well, which the next routines read.
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
    """D^-1 b of the rows of a way."""
    at = Routine(f"kane_scaled{g}", plain={"factor": 1})
    _, inverses = read_factor(at, "factor", 0, L)
    for k in rows:
        at.write("c", [inverses[k] * at.read("b", k)[0]], k)
    return at
