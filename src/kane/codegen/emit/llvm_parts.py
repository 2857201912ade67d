"""Emit a program as functions of bounded size, called in sequence, or as a loop over parts with equal code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane.codegen.emit.fused import contracted
from kane.codegen.emit.lanes import ONE
from kane.codegen.emit.llvm_function import ArrayPlace, Function, Shared
from kane.codegen.emit.llvm_table import PartTable
from kane.codegen.emit.repeats import count_written_steps, repeated
from kane.codegen.emit.steps import EmittedStep, crossing, group_steps
from kane.expression.node import Expr

# Programs of more than LONG_PROGRAM operations outgrow the processor's caches and compile slowly. They become a loop
# over parts if writing equal parts once leaves less than the fraction MAX_WRITTEN_FRACTION of all steps.
LONG_PROGRAM, MAX_WRITTEN_FRACTION = 10_000, 0.5
# The time of LLVM grows with the square of the number of outputs that a function stores. For 8,000 stores it takes
# 1.6 s in functions of 1,000 or more, and 0.5 s in functions of 125. In lanes, each value that crosses to another
# function costs more.
MANY_STORES = 125


class Unit:
    """Writer of one function of a module and of the internal functions that it calls.

    Internal functions pass values to each other in the work array.
    """

    def __init__(
        self,
        name: str,
        arrays: tuple[str, ...],
        sources: Mapping[Expr, tuple[str, int]],
        shared: Shared,
        *,
        plain: tuple[str, ...] = (),
        results: Mapping[int, ArrayPlace] | None = None,
    ) -> None:
        """Begin.

        Args:
            name: name of the function.
            arrays: names of its arguments.
            sources: argument and index of each leaf.
            shared: data shared by all functions of the module.
            plain: arrays that have one number for all lanes.
            results: argument and index of each output; by default they are in the array "out".
        """
        self.name = name
        self.sources = sources
        self.shared = shared
        self.plain = plain
        self.results = results
        self.lines: list[str] = []
        self.n_work = 0
        read_only = {"state", "rest", "stage", "parameters", "numbers"}
        self.signature = ", ".join(f"ptr noalias {'readonly ' * (a.split('.')[0] in read_only)}%{a}" for a in arrays)
        self.call = ", ".join(f"ptr %{a}" for a in arrays)

    def write(
        self,
        nodes: Sequence[Expr],
        together: Sequence[Expr],
        outputs: Sequence[Expr],
        piece: int,
        *,
        places: Sequence[int] = (),
    ) -> None:
        """Write the function that computes the outputs, as internal functions of about ``piece`` steps each.

        ``places`` are the indices of the outputs in the array "out"; by default 0, 1, 2, ...
        """
        steps = group_steps(nodes, together, contracted(nodes, outputs) if self.shared.fused else {})
        computed = {node for step in steps for node in step.nodes}
        stored: dict[Expr, list[int]] = {}
        direct = []
        for i, output in zip(places or range(len(outputs)), outputs, strict=True):
            if output in computed:
                stored.setdefault(output, []).append(i)
            else:
                direct.append((i, output))
        if len(nodes) > LONG_PROGRAM and self.results is None:
            parts = repeated(steps, {leaf: array for leaf, (array, _) in self.sources.items()}, stored)
            if count_written_steps(parts) < MAX_WRITTEN_FRACTION * len(steps):
                self._write_table(PartTable(self.name, parts, self.sources, stored, piece), direct)
                return
        self._write_pieces(steps, stored, direct, piece)

    def _write_table(self, table: PartTable, direct: Sequence[tuple[int, Expr]]) -> None:
        """Write a loop that calls the function of each part with the part's row of the table."""
        self.n_work = table.n_work
        for function in table.functions:
            writer = Function(self.shared, (*self.plain, table.constants), function.reads, function.stores)
            writer.begin(function.home)
            lines = [
                *writer.write(function.steps),
                f"  %next = getelementptr inbounds i32, ptr %row, i64 {function.length}",
            ]
            self._function(f"define internal ptr @{function.name}", ", ptr readonly %row", lines, "ret ptr %next")
        moves = Function(self.shared, self.plain, self.sources, {}).write((), direct)
        self.lines += table.data()
        self.lines += [f"define void @{self.name}({self.signature}) nounwind {{", *moves, *table.loop(self.call), "}"]

    def _write_pieces(
        self,
        steps: Sequence[EmittedStep],
        stored: Mapping[Expr, Sequence[int]],
        direct: Sequence[tuple[int, Expr]],
        piece: int,
    ) -> None:
        """Write all steps in sequence, in functions of about equal size."""
        pieces = _pieces(steps, piece, stored if self.shared.lanes == ONE else {})
        slots: dict[Expr, ArrayPlace] = {}
        stores = {node: [self._result(i) for i in places] for node, places in stored.items()}
        for node in crossing(pieces) if len(pieces) > 1 else ():
            slots[node] = ("work", len(slots))
            stores.setdefault(node, []).append(slots[node])
        self.n_work = len(slots)
        reads = {**self.sources, **slots}
        names = [self.name] if len(pieces) == 1 else [f"{self.name}.{k}" for k in range(len(pieces))]
        for k, (name, part) in enumerate(zip(names, pieces, strict=True)):
            writer = Function(self.shared, self.plain, reads, stores)
            kind = "define" if len(pieces) == 1 else "define internal"
            copied = direct if k == 0 else ()
            if self.results is not None:
                for i, output in copied:
                    writer.put(output, [self._result(i)])
                copied = ()
            self._function(f"{kind} void @{name}", "", writer.write(part, copied), "ret void")
        if len(pieces) > 1:
            calls = [f"  call void @{name}({self.call})" for name in names]
            self.lines += [f"define void @{self.name}({self.signature}) nounwind {{", *calls, "  ret void", "}"]

    def _result(self, output: int) -> ArrayPlace:
        """Return the place of an output."""
        return ("out", output) if self.results is None else self.results[output]

    def _function(self, head: str, more: str, lines: Sequence[str], end: str) -> None:
        # Spilled vectors that cross a cache line on the stack cost twice, so the stack is aligned.
        aligned = "" if self.shared.lanes == ONE else ' "stackrealign"'
        self.lines += [f"{head}({self.signature}{more}) noinline nounwind{aligned} {{", *lines, f"  {end}", "}"]


def _pieces(
    steps: Sequence[EmittedStep], piece: int, stored: Mapping[Expr, Sequence[int]]
) -> list[Sequence[EmittedStep]]:
    """Return the steps in pieces of about equal size, none with many more than MANY_STORES stored outputs."""
    size = -(-len(steps) // max(1, -(-len(steps) // piece))) or 1
    found, start, stores = [], 0, 0
    for k, step in enumerate(steps):
        if k - start == size or stores >= MANY_STORES:
            found.append(steps[start:k])
            start, stores = k, 0
        stores += sum(len(stored.get(node, ())) for node in step.nodes)
    return [*found, steps[start:]]
