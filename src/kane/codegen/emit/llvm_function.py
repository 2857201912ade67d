"""Emit one function of a program as LLVM text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from kane.codegen.emit.lanes import ONE, Lanes, intrinsics, lane_by_lane
from kane.codegen.emit.llvm_operations import EMITTERS, LIBRARY, fused_line, library_name, spline_function
from kane.codegen.emit.steps import EmittedStep
from kane.codegen.emit.trig import LIKELY, sincos_functions, sincos_name, sincos_of_small
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, SPLINE, SUB
from kane.expression.spline import PiecewiseCubic


class TableColumn(NamedTuple):
    """An index that a function reads from column ``place`` of its row of the table."""

    place: int


# Name of an array, and index in it.
ArrayPlace = tuple[str, int | TableColumn]


# Outputs that are zero, from MANY_ZEROS on, are cleared by one call together with the outputs between them, if at most
# BETWEEN_ZEROS are between two zeros.
MANY_ZEROS, BETWEEN_ZEROS = 16, 16


class Shared:
    """Data shared by all functions of a module.

    Attributes:
        lanes: states per call.
        fused: whether the machine has a fused multiply-add.
        tables: names of the spline tables.
        widths, vectors: numbers of lanes of the sine functions, and of the values.
    """

    def __init__(self, lanes: Lanes, fused: bool) -> None:
        self.lanes = lanes
        self.fused = fused
        self.tables: dict[PiecewiseCubic, str] = {}
        self.widths: set[int] = set()
        self.vectors = {1, lanes.width}

    def table(self, spline: PiecewiseCubic) -> str:
        name = self.tables.setdefault(spline, f"@spline{len(self.tables)}")
        return name if self.lanes == ONE else f"{name}.lanes"

    def text(self, body: str) -> list[str]:
        """Return the declarations and functions to which the body of the module refers."""
        lanes = self.lanes
        found = ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
        found += [f"declare double @{name}({', '.join(['double'] * arity)})" for name, arity in LIBRARY.items()]
        for width in sorted(self.vectors | self.widths):
            found += intrinsics(Lanes(width), fused=self.fused)
        found.append(sincos_functions(sorted(self.widths), fused=self.fused))
        found += [spline_function(name, table) for table, name in self.tables.items()]
        if lanes != ONE:
            found += [lane_by_lane(f"{name}.lanes", name, 1, lanes) for name in self.tables.values()]
            called = [(symbol, library_name(symbol, lanes)) for symbol in LIBRARY]
            found += [lane_by_lane(name, f"@{s}", LIBRARY[s], lanes) for s, name in called if f"{name}(" in body]
        return found


class Function:
    """Writer of one function.

    Leaves and values of other functions are loaded at their first use.

    Attributes:
        lines: lines of LLVM text.
    """

    def __init__(
        self,
        shared: Shared,
        plain: Sequence[str],
        reads: Mapping[Expr, ArrayPlace],
        stores: Mapping[Expr, Sequence[ArrayPlace]],
        *,
        lanes: Lanes | None = None,
    ) -> None:
        """Store the arguments; nothing is written yet.

        Args:
            shared: data shared by the module's functions.
            plain: arrays with one number for all lanes.
            reads: places of values that other functions compute; constants without a place are immediates.
            stores: places to which computed values are stored.
            lanes: lanes of the values; by default one lane per state.
        """
        self.shared, self.lanes = shared, lanes or shared.lanes
        shared.vectors.add(self.lanes.width)
        self.plain, self.reads, self.stores = plain, reads, stores
        self.lines: list[str] = []
        self.names: dict[Expr, str] = {}

    def begin(self, home: TableColumn | None) -> None:
        """Write the address at which the array "home" begins in ``work``."""
        if home is not None:
            at = self._index("%home", home)
            self.lines.append(f"  %home = getelementptr inbounds {self.lanes.type}, ptr %work, i64 {at}")

    def write(self, steps: Sequence[EmittedStep], direct: Sequence[tuple[int, Expr]] = ()) -> list[str]:
        """Write the body and return its lines; ``direct`` are (index, node) of outputs that are only copied."""
        cleared = list(_cleared([i for i, output in direct if _is_zero(output)]))
        for span in cleared:
            self._clear(span.start, len(span))
        done = {i for span in cleared for i in span}
        for i, output in direct:
            if not (i in done and _is_zero(output)):
                self._store("out", i, self._name(output))
        for of_angles, run in groupby(steps, lambda step: bool(step.angles)):
            if of_angles:
                for together in _without_own_angles(run):
                    self._trigonometry(together)
            else:
                for step in run:
                    self._operation(step)
        return self.lines

    def load(self, node: Expr) -> None:
        """Load a leaf now, before its first use."""
        self._name(node)

    def put(self, node: Expr, places: Sequence[ArrayPlace]) -> None:
        """Store a node that another function computes."""
        for array, index in places:
            self._store(array, index, self._name(node))

    def _operation(self, step: EmittedStep) -> None:
        node, lanes = step.nodes[0], self.lanes
        names = self.names
        operands = [names.get(a) or self._name(a) for a in step.reads]
        result = f"%v{node.id}"
        if step.product is not None:
            signs = (node.op == SUB and step.product == 1, node.op == SUB and step.product == 0)
            line = fused_line(lanes, result, operands, signs)
        else:
            if node.op == SPLINE:
                operands.append(self.shared.table(node.data))
            line = EMITTERS[node.op](lanes, result, *operands)
        self.lines.append(line)
        names[node] = result
        self._keep(node, result)

    def _keep(self, node: Expr, result: str) -> None:
        for array, index in self.stores.get(node, ()):
            self._store(array, index, result)

    def _trigonometry(self, steps: Sequence[EmittedStep]) -> None:
        """Write the evaluation of sines and cosines in lanes, and extract the required ones."""
        packed = [self._packed(step) for step in steps]
        self.shared.widths.update(kind.width for kind, _ in packed)
        evaluate = self._inlined if self.lanes == ONE else self._called
        evaluate([_label(step) for step in steps], packed)
        for step, (kind, _) in zip(steps, packed, strict=True):
            several = len(step.angles) > 1
            places = {angle: (i,) if several else () for i, angle in enumerate(step.angles)}
            for node in step.nodes:
                result = f"%v{node.id}"
                self.lines.append(EMITTERS[node.op](kind, result, _label(step), *places[node.args[0]]))
                self.names[node] = result
                self._keep(node, result)

    def _called(self, labels: Sequence[str], packed: Sequence[tuple[Lanes, str]], end: str = "") -> None:
        for label, (kind, x) in zip(labels, packed, strict=True):
            self.lines.append(f"  {label}{end} = call {kind.pair} {sincos_name(kind.width)}({kind.type} {x})")

    def _inlined(self, labels: Sequence[str], packed: Sequence[tuple[Lanes, str]]) -> None:
        """Write small angles inline, because calls spill the registers; call the functions if an angle is large."""
        block, lines = labels[0].removeprefix("%"), self.lines
        lines += [f"  br label %{block}.fast", f"{block}.fast:"]
        pairs, every = [], "true"
        for label, (kind, x) in zip(labels, packed, strict=True):
            found = sincos_of_small(x, label, kind, fused=self.shared.fused)
            lines += [*found.lines, f"  {label}.every = and i1 {every}, {found.small}"]
            pairs.append(found.pair)
            every = f"{label}.every"
        lines += [f"  br i1 {every}, label %{block}.done, label %{block}.slow, {LIKELY}", f"{block}.slow:"]
        self._called(labels, packed, ".called")
        lines += [f"  br label %{block}.done", f"{block}.done:"]
        for label, pair, (kind, _) in zip(labels, pairs, packed, strict=True):
            lines.append(f"  {label} = phi {kind.pair} [ {pair}, %{block}.fast ], [ {label}.called, %{block}.slow ]")

    def _packed(self, step: EmittedStep) -> tuple[Lanes, str]:
        """Return the angles of a step as one operand, several angles of one state in lanes.

        Unused lanes repeat the last angle.
        """
        angles = step.angles
        if len(angles) == 1:
            return self.lanes, self._name(angles[0])
        kind, packed = next(Lanes(w) for w in (2, 4, 8) if w >= len(angles)), "poison"
        operands = [self._name(angle, apart=True) for angle in angles]
        for i in range(kind.width):
            operand = operands[min(i, len(operands) - 1)]
            name = f"{_label(step)}.{i}"
            self.lines.append(f"  {name} = insertelement {kind.type} {packed}, double {operand}, i32 {i}")
            packed = name
        return kind, packed

    def _name(self, node: Expr, *, apart: bool = False) -> str:
        """Return the operand of a node, loaded if necessary; ``apart`` forbids a vector load with its neighbours."""
        found = self.names.get(node)
        if found is not None:
            return found
        place = self.reads.get(node)
        if place is None:
            found = self.lanes.number(node.data)
        else:
            found = f"%v{node.id}"
            self._load(found, *place, apart=apart)
        self.names[node] = found
        return found

    def _load(self, name: str, array: str, index: int | TableColumn, *, apart: bool) -> None:
        t = self.lanes.type
        at = self._index(name, index)
        if array not in self.plain or self.lanes == ONE:
            self.lines.append(f"  {name}.a = getelementptr inbounds {t}, ptr {_base(array)}, i64 {at}")
            # "volatile" keeps single loads: a vector load of doubles that were stored one by one waits for the cache.
            self.lines.append(f"  {name} = load {'volatile ' * apart}{t}, ptr {name}.a, align 8")
            return
        self.lines += [
            f"  {name}.a = getelementptr inbounds double, ptr {_base(array)}, i64 {at}",
            f"  {name}.d = load double, ptr {name}.a, align 8",
            f"  {name}.e = insertelement {t} poison, double {name}.d, i32 0",
            f"  {name} = shufflevector {t} {name}.e, {t} poison, <{self.lanes.width} x i32> zeroinitializer",
        ]

    def _clear(self, first: int, count: int) -> None:
        """Set consecutive outputs to zero by one call: LLVM takes long for thousands of stores."""
        address, size = f"%s{len(self.lines)}", 8 * self.lanes.width * count
        self.lines.append(f"  {address} = getelementptr inbounds {self.lanes.type}, ptr %out, i64 {first}")
        self.lines.append(f"  call void @llvm.memset.p0.i64(ptr align 8 {address}, i8 0, i64 {size}, i1 false)")

    def _store(self, array: str, index: int | TableColumn, value: str) -> None:
        address = f"%s{len(self.lines)}"
        at = self._index(address, index)
        self.lines.append(f"  {address} = getelementptr inbounds {self.lanes.type}, ptr {_base(array)}, i64 {at}")
        self.lines.append(f"  store {self.lanes.type} {value}, ptr {address}, align 8")

    def _index(self, name: str, index: int | TableColumn) -> str:
        """Return an index as an operand: an immediate, or a value read from the row of the table."""
        if isinstance(index, int):
            return str(index)
        self.lines += [
            f"  {name}.r = getelementptr inbounds i32, ptr %row, i64 {index.place}",
            f"  {name}.o = load i32, ptr {name}.r, align 4",
            f"  {name}.i = zext i32 {name}.o to i64",
        ]
        return f"{name}.i"


def _without_own_angles(steps: Iterable[EmittedStep]) -> Iterator[list[EmittedStep]]:
    """Divide steps of sines and cosines where an angle is a sine or cosine of an earlier step, as in sin(sin(x))."""
    together: list[EmittedStep] = []
    for step in steps:
        if any(angle in other.nodes for other in together for angle in step.angles):
            yield together
            together = []
        together.append(step)
    yield together


def _label(step: EmittedStep) -> str:
    return f"%trig{step.nodes[0].id}"


def _base(array: str) -> str:
    """Return the LLVM name of an array: an argument, or a global array if its name starts with @."""
    return array if array.startswith("@") else f"%{array}"


def _is_zero(output: Expr) -> bool:
    return bool(output.op == CONSTANT and output.data == 0.0)  # constants have no negative zero


def _cleared(zeros: Sequence[int]) -> Iterator[range]:
    """Return the ranges of outputs that are cleared, for the indices of the zeros in ascending order."""
    start = 0
    for end in range(1, len(zeros) + 1):
        if end == len(zeros) or zeros[end] - zeros[end - 1] > BETWEEN_ZEROS + 1:
            if end - start >= MANY_ZEROS:
                yield range(zeros[start], zeros[end - 1] + 1)
            start = end
