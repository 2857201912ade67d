"""Emit the parts of a program as LLVM text: one function per group of equal parts, a table of indices, and a loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from kane.codegen.emit.lanes import constant_array, hexadecimal, loop_lines
from kane.codegen.emit.llvm_function import ArrayPlace, TableColumn
from kane.codegen.emit.repeats import ProgramPart
from kane.codegen.emit.steps import EmittedStep, crossing
from kane.deferred import NamedTuple
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT

# Fewest equal parts that share one function; smaller groups are written as straight-line code.
ALIKE = 3


class PartFunction(NamedTuple):
    """A function that the loop calls.

    Attributes:
        name: name of the function.
        steps: steps of the first of its parts.
        reads, stores: places of values; see ``Function``.
        home: column with the index in ``work`` at which its values begin; None if its rows have no such column.
        length: number of columns in its rows.
    """

    name: str
    steps: Sequence[EmittedStep]
    reads: Mapping[Expr, ArrayPlace]
    stores: Mapping[Expr, Sequence[ArrayPlace]]
    home: TableColumn | None
    length: int


class PartTable:
    """Parts of a program as functions (bodies) and table rows.

    Attributes:
        n_work: length of ``work``, in which parts pass values to each other.
        constants: name of the array of constants that differ between equal parts.
        functions: functions of the parts.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[ProgramPart],
        sources: Mapping[Expr, tuple[str, int]],
        stored: Mapping[Expr, Sequence[int]],
        piece: int,
    ) -> None:
        """Lay out ``work`` and the table; for the parts see ``repeated``.

        Consecutive parts that occur fewer than ALIKE times are joined to pieces of ``piece`` steps.
        """
        self.name, self._sources, self._stored = name, sources, stored
        self.constants = f"@{name}.constants"
        self._numbers: dict[float, int] = {}
        self._calls = _joined(parts, piece)
        self._nodes = [[node for step in part.steps for node in step.nodes] for part in self._calls]
        self._crossing = set(crossing([part.steps for part in self._calls]))
        self._alike: dict[int, list[int]] = {}
        for k, part in enumerate(self._calls):
            self._alike.setdefault(part.body, []).append(k)
        self._kept = {body: self._kept_of(members) for body, members in self._alike.items()}
        self._slots: dict[Expr, tuple[str, int]] = {}
        self._homes: list[int] = []
        self.n_work = 0
        for part, nodes in zip(self._calls, self._nodes, strict=True):
            self._homes.append(self.n_work)
            for i in self._kept[part.body]:
                self._slots[nodes[i]] = ("work", self.n_work)
                self.n_work += 1
        self._places: dict[Expr, ArrayPlace] = {**sources, **self._slots}
        self._rows: list[list[int]] = [[] for _ in self._calls]
        self.functions = [self._body(k, members) for k, members in enumerate(self._alike.values())]

    def _kept_of(self, members: Sequence[int]) -> list[int]:
        """Return the indices of the values that other parts read from at least one of these equal parts."""
        return sorted({i for k in members for i, node in enumerate(self._nodes[k]) if node in self._crossing})

    def _body(self, number: int, members: Sequence[int]) -> PartFunction:
        first = members[0]
        part, nodes, name = self._calls[first], self._nodes[first], f"{self.name}.{number}"
        stores: dict[Expr, list[ArrayPlace]] = {}
        if len(members) < ALIKE:
            for node in nodes:
                stores[node] = [("out", i) for i in self._stored.get(node, ())]
                stores[node] += [self._slots[node]] if node in self._slots else []
            return PartFunction(name, part.steps, self._places, stores, None, 0)
        home = TableColumn(self._column(members, [self._homes[k] for k in members])) if self._kept[part.body] else None
        for place, i in enumerate(self._kept[part.body]):
            stores.setdefault(nodes[i], []).append(("home", place))
        for i, node in enumerate(nodes):
            for j in range(len(self._stored.get(node, ()))):
                outputs = [self._stored[self._nodes[k][i]][j] for k in members]
                stores.setdefault(node, []).append(("out", TableColumn(self._column(members, outputs))))
        reads: dict[Expr, ArrayPlace] = {}
        for j, a in enumerate(part.reads):
            places = [self._place(self._calls[k].reads[j]) for k in members]
            array, index = places[0]
            if len(set(places)) > 1:
                reads[a] = array, TableColumn(self._column(members, [index for _, index in places]))
            elif a.op != CONSTANT:
                reads[a] = array, index
        return PartFunction(name, part.steps, reads, stores, home, len(self._rows[first]))

    def _column(self, members: Sequence[int], values: Iterable[int]) -> int:
        """Append a value to the row of each member and return the index of this column."""
        for k, value in zip(members, values, strict=True):
            self._rows[k].append(value)
        return len(self._rows[members[0]]) - 1

    def _place(self, node: Expr) -> tuple[str, int]:
        if node.op == CONSTANT:
            return self.constants, self._numbers.setdefault(node.data, len(self._numbers))
        return self._slots.get(node) or self._sources[node]

    def data(self) -> list[str]:
        """Return LLVM text of the table: functions, their order of calls, concatenated rows, and constants."""
        number = {body: k for k, body in enumerate(self._alike)}
        arrays = {
            "bodies": ("ptr", [f"@{function.name}" for function in self.functions]),
            "order": ("i32", [str(number[part.body]) for part in self._calls]),
            "rows": ("i32", [str(value) for row in self._rows for value in row]),
            "constants": ("double", [hexadecimal(value) for value in self._numbers]),
        }
        return [constant_array(f"@{self.name}.{word}", kind, values) for word, (kind, values) in arrays.items()]

    def loop(self, arguments: str) -> list[str]:
        """Return LLVM text of the loop that calls the parts; each part returns the address of the next part's row."""
        body = [
            f"  %which = getelementptr inbounds i32, ptr @{self.name}.order, i64 %k",
            "  %number = load i32, ptr %which, align 4",
            "  %body = zext i32 %number to i64",
            f"  %where = getelementptr inbounds ptr, ptr @{self.name}.bodies, i64 %body",
            "  %function = load ptr, ptr %where, align 8",
            f"  %row1 = call ptr %function({arguments}, ptr %row)",
        ]
        rows = ("%row", "ptr", f"@{self.name}.rows", "%row1")
        return [*loop_lines("0", len(self._calls), body, carried=[rows]), "  ret void"]


def _joined(parts: Sequence[ProgramPart], piece: int) -> list[ProgramPart]:
    """Return the parts; consecutive parts that occur fewer than ALIKE times are regrouped into ``piece`` steps each."""
    members: dict[int, int] = {}
    for part in parts:
        members[part.body] = members.get(part.body, 0) + 1
    found: list[ProgramPart] = []
    for few, run in groupby(parts, key=lambda part: members[part.body] < ALIKE):
        if not few:
            found += run
            continue
        steps = [step for part in run for step in part.steps]
        for i in range(0, len(steps), piece):
            found.append(ProgramPart(steps[i : i + piece], (), -1 - len(found)))  # a unique body number
    return found
