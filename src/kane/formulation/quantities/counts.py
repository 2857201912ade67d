"""The table of operation counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kane.expression.operations import COST_CLASSES
from kane.formulation.constraints.embedding import COUNTED
from kane.formulation.quantities.programs import Derived, program


class OperationTable(Mapping[str, dict[str, int]]):
    """Exact run-time operations: one row per quantity, columns mul, add, div, trig, other. Prints as a table.

    Expressions of parameters alone are computed once and not counted; a change of sign is part of the sum that follows.
    """

    def __init__(self, rows: Mapping[str, dict[str, int]]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> dict[str, int]:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        head = f"{'':14}" + "".join(f"{c:>8}" for c in COST_CLASSES)
        lines = [f"{n.replace('_', ' '):14}" + "".join(f"{row[c]:8d}" for c in COST_CLASSES) for n, row in self.items()]
        return "\n".join([head, *lines])


def count_programs(equations: Derived, names: Sequence[str] = COUNTED) -> OperationTable:
    """Count the operations of programs, by default inverse and forward dynamics, M (one triangle), bias, kinematics."""
    return OperationTable({name: program(equations, name).count() for name in names})
