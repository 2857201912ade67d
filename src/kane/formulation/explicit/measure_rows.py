"""Measure numbers of partial velocities as rows over the speeds: M = rows^T weights rows.

Two bodies with the same angular velocity, or with a common component of their mass centres' velocities, share a row.
Their masses or moments of inertia are added before any multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.expression.node import Expr
from kane.expression.operations import NEG
from kane.formulation.explicit.velocity_forms import VelocityForm
from kane.geometry.scalars import is_zero

MeasureRow = dict[int, Any]


class MeasureRows:
    """Distinct rows {speed: coefficient}, and the symmetric weights between them."""

    def __init__(self) -> None:
        self._rows: list[MeasureRow] = []
        self._known: dict[tuple[tuple[int, Any], ...], int] = {}
        self._weights: dict[tuple[int, int], Any] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def places(self, form: VelocityForm) -> list[int | None]:
        """Return the row of each of the three components of a vector's partial velocities; None for zero components."""
        return [self._place({r: v[i] for r, v in form.u.items() if not is_zero(v[i])}) for i in range(3)]

    def _place(self, row: MeasureRow) -> int | None:
        if not row:
            return None
        key = tuple(sorted((r, ("node", x.id) if x.__class__ is Expr else ("number", x)) for r, x in row.items()))
        if key not in self._known:
            self._known[key] = len(self._rows)
            self._rows.append(row)
        return self._known[key]

    def weigh(self, places: Sequence[int | None], weights: Sequence[Sequence[Any]]) -> None:
        """Add a symmetric 3 x 3 matrix (inertia, or mass) to the weights of three rows."""
        for i, a in zip(places, weights, strict=True):
            for j, x in zip(places, a, strict=True):
                if i is not None and j is not None and not is_zero(x):
                    self._weights[i, j] = self._weights.get((i, j), 0.0) + x

    def mass_entries(self) -> dict[tuple[int, int], Any]:
        """Return M_rs = sum over rows i, j of row_i[r] weight_ij row_j[s], s <= r."""
        coupled = {i for i, j in self._weights if i != j}
        M: dict[tuple[int, int], Any] = {}
        for i, momentum in self._momenta(coupled).items():
            for r, x in self._rows[i].items():
                for s, y in momentum.items():
                    if s <= r and not is_zero(y):
                        M[r, s] = M.get((r, s), 0.0) + x * y
        for (r, s, x, y), weight in self._pairs(coupled).items():
            M[r, s] = M.get((r, s), 0.0) + x * (weight * y)
        return M

    def _momenta(self, coupled: set[int]) -> dict[int, MeasureRow]:
        """Return the sum over j of weight_ij row_j for each row i that weights couple with others."""
        found: dict[int, MeasureRow] = {i: {} for i in sorted(coupled)}
        for (i, j), weight in self._weights.items():
            if i in coupled:
                for s, x in self._rows[j].items():
                    found[i][s] = found[i].get(s, 0.0) + weight * x
        return found

    def _pairs(self, coupled: set[int]) -> dict[tuple[int, int, Any, Any], Any]:
        """Return the weights of the products x y in M_rs of all other rows, added up if several rows give the same
        product.
        """
        found: dict[tuple[int, int, Any, Any], Any] = {}
        for (i, _), weight in self._weights.items():
            if i not in coupled:
                for r, x in self._rows[i].items():
                    for s, y in self._rows[i].items():
                        if s <= r:
                            (a, m), (b, n) = _unsigned(x), _unsigned(y)
                            key = (r, s, m, n)
                            found[key] = found.get(key, 0.0) + (weight if a == b else -weight)
        return found

    def projected(self, loads: Sequence[Any], n: int) -> list[Any]:
        """Return the sum over rows of row[r] load for each of n speeds, adding loads with equal coefficients first."""
        shared: list[dict[Any, Any]] = [{} for _ in range(n)]
        for row, load in zip(self._rows, loads, strict=True):
            if not is_zero(load):
                for r, x in row.items():
                    sign, size = _unsigned(x)
                    shared[r][size] = shared[r].get(size, 0.0) + (load if sign > 0 else -load)
        return [sum((x * load for x, load in terms.items()), 0.0) for terms in shared]


def _unsigned(x: Any) -> tuple[int, Any]:
    """Return sign and size of a number, or of an expression that is the negative of another."""
    if x.__class__ is Expr:
        return (-1, x.args[0]) if x.op == NEG else (1, x)
    return (-1, -x) if x < 0 else (1, x)
