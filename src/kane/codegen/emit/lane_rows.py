"""Emit the loop over consecutive states: it loads blocks of states into SIMD lanes and calls the program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from kane.codegen.emit.lanes import CACHE_LINE_BYTES, ONE, Lanes, align_lines
from kane.codegen.programs.program import Program
from kane.deferred import dataclass
from kane.expression.node import Expr


@dataclass(frozen=True)
class Segment:
    """Consecutive leaves that are read from one array of the caller.

    Attributes:
        array: name of the array of the program: "state", "rest" or "stage".
        leaves: leaves of the segment, in order.
        first: index of the first leaf in that array.
    """

    array: str
    leaves: tuple[Expr, ...]
    first: int


def segments(program: Program, lanes: Lanes, *, each: bool) -> list[Segment]:
    """Return segments for time, coordinates and speeds (or one for all three), for "rest", and for "stage" if ``each``.

    The state is one segment if its leaves are not in the order time, coordinates, speeds, or if there is one lane: the
    program then reads the caller's rows in place.
    """
    runs = [tuple(group) for _, group in groupby(program.state, key=lambda leaf: leaf.op)]
    found, first = [], 0
    for run in runs if len(runs) <= 3 and lanes != ONE else [program.state]:
        found.append(Segment("state", run, first))
        first += len(run)
    found.append(Segment("rest", program.rest, 0))
    if each:
        found.append(Segment("stage", program.stage_outputs, 0))
    return found


def state_widths(program: Program, lanes: Lanes) -> list[int]:
    """Return the number of leaves in each segment of the state."""
    return [len(segment.leaves) for segment in segments(program, lanes, each=False) if segment.array == "state"]


def rows_text(
    name: str, callee: str, program: Program, lanes: Lanes, *, each: bool, n_out: int | None = None
) -> tuple[str, int]:
    """Return LLVM text of the loop over states.

        void name(int64 n, const Source* sources, const double* stage, double* out, double* work)

    Each of the ``segments`` has one ``struct Source { const double* first; int64 stride; }``. The stride is in bytes
    from state to state; 0 means one row for all states. ``stage`` is not read if ``each``. An incomplete last block
    overlaps the block before it. If there are fewer states than lanes, each state is computed in all lanes. So the
    result of a state does not depend on its position, to the last bit.

    Args:
        name: name of the function.
        callee: name of the function of one block, whose arrays are laid out value by value.
        program: program whose leaves are read; unused leaves are not loaded.
        lanes: number of states per block, 1, 2, 4 or 8.
        each: whether every state has its own constants.
        n_out: number of results of the callee; by default those of the program.

    Returns:
        the text, and the scratch memory for this function and the arrays of its callee [doubles], without the callee's
        own scratch.
    """
    writer = _Rows(program, lanes, each, program.n_out if n_out is None else n_out)
    return writer.text(name, callee), writer.n_work


class _Rows:
    """Writer of the loop over states."""

    def __init__(self, program: Program, lanes: Lanes, each: bool, n_out: int) -> None:
        self.lanes = lanes
        self.used = {a for node in program.instructions for a in node.args}.union(program.outputs)
        self.each = each
        self.segments = segments(program, lanes, each=each)
        self.n_out = n_out
        sizes = {"state": len(program.state), "rest": len(program.rest), "out": self.n_out}
        sizes["stage"] = len(program.stage_outputs) if each else 0
        self.start: dict[str, int] = {}
        total = 0
        for array, size in sizes.items():
            self.start[array] = total
            total += size * lanes.width
        self.own = total  # the callee's scratch begins here
        self.n_work = 0 if lanes == ONE else total + CACHE_LINE_BYTES // 8
        self.lines: list[str] = []
        self.temporaries = 0

    def text(self, name: str, callee: str) -> str:
        self._enter()
        if self.lanes == ONE:
            operands, declarations = self._in_place(), []
        else:
            operands, declarations = self._fetched(), self._declarations()
        self.lines.append(f"  call void @{callee}({', '.join(f'ptr {x}' for x in operands)})")
        if self.lanes != ONE:
            self._deliver()
        return "\n".join(
            [
                *declarations,
                f"define void @{name}(i64 %n, ptr %sources, ptr %stage, ptr noalias %out, ptr %work) nounwind {{",
                *self.lines,
                "  %after = add i64 %i, %step",
                "  %over = icmp sgt i64 %after, %last",
                "  %following = select i1 %over, i64 %last, i64 %after",
                "  %done = icmp eq i64 %i, %last",
                "  br i1 %done, label %finish, label %next",
                "finish:",
                "  ret void",
                "}",
            ]
        )

    def _declarations(self) -> list[str]:
        w, t, bits = self.lanes.width, self.lanes.type, self.lanes.bits
        return [
            f"declare {t} @llvm.masked.load.v{w}f64.p0(ptr, i32 immarg, {bits}, {t})",
            f"declare void @llvm.masked.store.v{w}f64.p0({t}, ptr, i32 immarg, {bits})",
        ]

    def _in_place(self) -> list[str]:
        """Return the rows of one state as operands of the program."""
        rows = {segment.array: self._row(k) for k, segment in enumerate(self.segments)}
        out = self._at("%out", self._line(f"mul i64 %i, {8 * self.n_out}"))
        return [rows["state"], rows["rest"], rows.get("stage", "%stage"), out, "%work"]

    def _fetched(self) -> list[str]:
        """Copy a block of states into the buffers, and return the buffers as operands of the program."""
        for k, segment in enumerate(self.segments):
            self._fetch(k, segment)
        operands = [self._buffer(array, 0) for array in ("state", "rest")]
        operands.append(self._buffer("stage", 0) if self.each else "%stage")
        return [*operands, self._buffer("out", 0), self._at("%aligned", 8 * self.own)]

    def _row(self, k: int) -> str:
        """Return a pointer to the first row of a segment in this block."""
        return self._at(f"%first{k}", self._line(f"mul i64 %i, %stride{k}"))

    def _line(self, text: str) -> str:
        self.temporaries += 1
        name = f"%t{self.temporaries}"
        self.lines.append(f"  {name} = {text}")
        return name

    def _at(self, pointer: str, offset: int | str) -> str:
        return self._line(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")

    def _buffer(self, array: str, index: int) -> str:
        return self._at("%aligned", 8 * (self.start[array] + self.lanes.width * index))

    def _enter(self) -> None:
        self.lines += [
            "start:",
            *align_lines("%work", "%aligned"),
            f"  %few = icmp slt i64 %n, {self.lanes.width}",
            f"  %step = select i1 %few, i64 1, i64 {self.lanes.width}",
            "  %last = sub i64 %n, %step",
            f"  %apart = select i1 %few, i64 0, i64 {8 * self.n_out}",
        ]
        for k in range(len(self.segments)):
            pointer, stride = (self._at("%sources", 16 * k + at) for at in (0, 8))
            self.lines += [
                f"  %first{k} = load ptr, ptr {pointer}, align 8",
                f"  %stride{k} = load i64, ptr {stride}, align 8",
                f"  %apart{k} = select i1 %few, i64 0, i64 %stride{k}",
            ]
        self.lines += [
            "  %any = icmp sgt i64 %n, 0",
            "  br i1 %any, label %next, label %finish",
            "next:",
            "  %i = phi i64 [ 0, %start ], [ %following, %next ]",
        ]

    def _rows(self, pointer: str, apart: str) -> list[str]:
        """Return pointers to the rows of this block, starting with ``pointer``."""
        rows = [pointer]
        for _ in range(self.lanes.width - 1):
            rows.append(self._at(rows[-1], apart))
        return rows

    def _blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Return (first column, number of columns) of each group of at most ``width`` columns."""
        width = self.lanes.width
        return ((first, min(width, size - first)) for first in range(0, size, width))

    def _fetch(self, k: int, segment: Segment) -> None:
        """Copy one segment of this block of states into the buffer, value by value."""
        rows: list[str] = []
        for first, count in self._blocks(len(segment.leaves)):
            wanted = [c for c in range(count) if segment.leaves[first + c] in self.used]
            if not wanted:
                continue
            rows = rows or self._rows(self._row(k), f"%apart{k}")
            places = [self._at(row, 8 * first) for row in rows]
            columns = self._transposed([self._load(place, count) for place in places])
            for c in wanted:
                target = self._buffer(segment.array, segment.first + first + c)
                self.lines.append(f"  store {self.lanes.type} {columns[c]}, ptr {target}, align {8 * self.lanes.width}")

    def _deliver(self) -> None:
        """Copy the outputs of this block of states from the buffer to their rows."""
        t = self.lanes.type
        rows = self._rows(self._at("%out", self._line(f"mul i64 %i, {8 * self.n_out}")), "%apart")
        for first, count in self._blocks(self.n_out):
            columns = []
            for c in range(count):
                place = self._buffer("out", first + c)
                columns.append(self._line(f"load {t}, ptr {place}, align {8 * self.lanes.width}"))
            columns += ["poison"] * (self.lanes.width - count)
            for row, values in zip(rows, self._transposed(columns), strict=True):
                self._store(self._at(row, 8 * first), values, count)

    def _mask(self, count: int) -> str:
        width = self.lanes.width
        return "<" + ", ".join(f"i1 {'true' if c < count else 'false'}" for c in range(width)) + ">"

    def _load(self, place: str, count: int) -> str:
        t, width, bits = self.lanes.type, self.lanes.width, self.lanes.bits
        if count == width:
            return self._line(f"load {t}, ptr {place}, align 8")
        mask = f"{bits} {self._mask(count)}"
        return self._line(f"call {t} @llvm.masked.load.v{width}f64.p0(ptr {place}, i32 8, {mask}, {t} zeroinitializer)")

    def _store(self, place: str, values: str, count: int) -> None:
        t, width, bits = self.lanes.type, self.lanes.width, self.lanes.bits
        if count == width:
            self.lines.append(f"  store {t} {values}, ptr {place}, align 8")
            return
        mask = f"{bits} {self._mask(count)}"
        self.lines.append(f"  call void @llvm.masked.store.v{width}f64.p0({t} {values}, ptr {place}, i32 8, {mask})")

    def _transposed(self, rows: list[str]) -> list[str]:
        """Return the transpose of a square of values.

        Every step uses shuffles that processors have as one instruction. The first step exchanges neighbouring doubles;
        later steps take the even and the odd pairs of two registers.
        """
        width = self.lanes.width
        found = list(rows)
        low = [i for pair in range(0, width, 2) for i in (pair, width + pair)]
        self._shuffle(found, 1, (low, [i + 1 for i in low]))
        pairs = [(i, i + 1) for i in range(0, 2 * width, 2)]
        chosen = tuple([i for pair in pairs[parity::2] for i in pair] for parity in (0, 1))
        distance = 2
        while distance < width:
            self._shuffle(found, distance, chosen)
            distance *= 2
        return found

    def _shuffle(self, values: list[str], distance: int, choices: tuple[list[int], ...]) -> None:
        """Replace registers i and i + ``distance`` by the two selections ``choices`` from both."""
        t, width = self.lanes.type, self.lanes.width
        for i in range(width):
            if not i & distance:
                a, b = values[i], values[i + distance]
                for place, choice in zip((i, i + distance), choices, strict=True):
                    mask = f"<{width} x i32> <{', '.join(f'i32 {c}' for c in choice)}>"
                    values[place] = self._line(f"shufflevector {t} {a}, {t} {b}, {mask}")
