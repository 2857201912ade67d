"""Programs as LLVM text: functions of bounded size, one calling convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.codegen.emit.lane_rows import rows_text
from kane.codegen.emit.lanes import ONE, Lanes, intrinsics, lane_by_lane
from kane.codegen.emit.llvm_operations import EMITTERS, LIBRARY, contracted, fused_line, library_name, spline_function
from kane.codegen.emit.trig import sincos_functions, sincos_name
from kane.codegen.programs.program import Program
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, SIN, SPLINE, SUB
from kane.expression.spline import PiecewiseCubic

MAIN, STAGE, BATCH = "kane_main", "kane_stage", "kane_batch"
BATCH_EACH, STAGES = "kane_batch_each", "kane_stages"
LANES, ROWS = "kane_lanes", "kane_rows"
# Operations per function. LLVM's register allocator takes time that grows faster than a function does, but its
# scheduler interleaves what lies far apart in one function, from which forward dynamics gain. Measured on arms, ANYmal
# and Talos: against 600, pieces of 1,500 take a tenth longer to compile and run up to a fifth faster; larger ones bring
# no more. Programs of many pieces have nothing left to interleave: on chains of 100 joints, pieces of 700 take 40 %
# less time to compile than pieces of 1,500, and run as fast or faster.
PIECE = 1500
LONG_PROGRAM, PIECE_OF_LONG = 10_000, 700
# In lanes a value that crosses to another piece is a register of 64 bytes written and read: Talos in one piece runs a
# quarter to a third faster than in pieces of 1,500, and takes a tenth longer to compile.
PIECE_OF_LANES = 8000
# Angles of one state whose sines and cosines are evaluated side by side. Eight would fill the registers of AVX-512, but
# one such instruction in scalar code slows down processors of Intel: by 50 to 95 ns a call, however many angles.
_TOGETHER = 4


@dataclass(frozen=True)
class Module:
    """LLVM text of a program.

    Attributes:
        text: the module; ``emit_llvm`` says what it defines.
        n_work: doubles of scratch that any of its functions needs.
        symbols: functions of the C library that it calls.
    """

    text: str
    n_work: int
    symbols: tuple[str, ...]


def piece_for(program: Program, lanes: Lanes = ONE) -> int:
    """About how many operations a function of this program should hold."""
    if len(program.instructions) > LONG_PROGRAM:
        return PIECE_OF_LONG
    return PIECE if lanes == ONE else PIECE_OF_LANES


def emit_llvm(program: Program, *, fused: bool = True, piece: int | None = None) -> Module:
    """Write a program as LLVM text.

    Args:
        program: what to compute.
        fused: whether the machine has a fused multiply-add.
        piece: about how many operations one function may hold; ``piece_for`` unless given.
    """
    shared = _Shared(ONE, fused)
    sizes = [len(x) for x in (program.state, program.rest, program.stage_outputs, program.outputs)]
    n_state, n_rest, n_stage, n_out = sizes
    main = _main(MAIN, program, shared, piece)
    parameters = {leaf: ("parameters", i) for i, leaf in enumerate(program.parameters)}
    once = _Unit(STAGE, ("parameters", "out", "work"), parameters, shared)
    once.write(program.stage_nodes, (), program.stage_outputs, piece or piece_for(program))
    batches = [
        _loop(BATCH, MAIN, {"state": n_state, "rest": n_rest, "stage": 0, "out": n_out, "work": 0}),
        _loop(BATCH_EACH, MAIN, {"state": n_state, "rest": n_rest, "stage": n_stage, "out": n_out, "work": 0}),
        _loop(STAGES, STAGE, {"parameters": len(program.parameters), "stage": n_stage, "work": 0}),
    ]
    return _module([*main.lines, *once.lines, *batches], shared, max(main.n_work, once.n_work))


def emit_lanes(
    program: Program, lanes: Lanes, *, each: bool = False, fused: bool = True, piece: int | None = None
) -> Module:
    """Write the main part of a program for several states side by side, as LLVM text that defines

        void LANES(state, rest, stage, out, work)          one block of states, laid out value by value
        void ROWS(int64 n, sources, stage, out, work)      n states laid out one after the other; see ``rows_text``

    Args:
        program: what to compute.
        lanes: how many states side by side.
        each: whether every state has a stage of its own, also laid out value by value.
        fused: whether the machine has a fused multiply-add.
        piece: about how many operations one function may hold; ``piece_for`` unless given.
    """
    shared = _Shared(lanes, fused)
    main = _main(LANES, program, shared, piece, each=each)
    used = {a for node in program.instructions for a in node.args}.union(program.outputs)
    rows, n_work = rows_text(ROWS, LANES, program, lanes, used=used, each=each)
    return _module([*main.lines, rows], shared, n_work + lanes.width * main.n_work)


def _main(name: str, program: Program, shared: _Shared, piece: int | None, *, each: bool = False) -> _Unit:
    """The writer of the main part of a program, done."""
    groups = {"state": program.state, "rest": program.rest, "stage": program.stage_outputs}
    sources = {node: (array, i) for array, nodes in groups.items() for i, node in enumerate(nodes)}
    unit = _Unit(name, ("state", "rest", "stage", "out", "work"), sources, shared, plain=() if each else ("stage",))
    angles = program.angles if shared.lanes == ONE else ()
    unit.write(program.instructions, angles, program.outputs, piece or piece_for(program, shared.lanes))
    return unit


def _module(lines: Sequence[str], shared: _Shared, n_work: int) -> Module:
    text = "\n".join([*shared.text("\n".join(lines)), *lines, ""])
    return Module(text, n_work, tuple(s for s in LIBRARY if f"call double @{s}(" in text))


class _Shared:
    """What the functions of a module have in common: lanes, spline tables and the widths of trigonometry in use."""

    def __init__(self, lanes: Lanes, fused: bool) -> None:
        self.lanes = lanes
        self.fused = fused
        self.tables: dict[PiecewiseCubic, str] = {}
        self.widths: set[int] = set()

    def table(self, spline: PiecewiseCubic) -> str:
        name = self.tables.setdefault(spline, f"@spline{len(self.tables)}")
        return name if self.lanes == ONE else f"{name}.lanes"

    def text(self, body: str) -> list[str]:
        """What the body of the module refers to."""
        lanes = self.lanes
        found = [f"declare double @{name}({', '.join(['double'] * arity)})" for name, arity in LIBRARY.items()]
        for width in sorted({1, lanes.width, *self.widths}):
            found += intrinsics(Lanes(width), fused=self.fused)
        found.append(sincos_functions(sorted(self.widths), fused=self.fused))
        found += [spline_function(name, table) for table, name in self.tables.items()]
        if lanes != ONE:
            found += [lane_by_lane(f"{name}.lanes", name, 1, lanes) for name in self.tables.values()]
            called = [(symbol, library_name(symbol, lanes)) for symbol in LIBRARY]
            found += [lane_by_lane(name, f"@{s}", LIBRARY[s], lanes) for s, name in called if f"{name}(" in body]
        return found


@dataclass(frozen=True)
class _Step:
    """Operations emitted together: one, a sum with a product in it, or functions of angles that share an evaluation.

    Attributes:
        nodes: what is computed.
        reads: what it is computed from.
        angles: of sines and cosines.
        product: the argument of the sum that is a product, evaluated with it.
    """

    nodes: tuple[Expr, ...]
    reads: tuple[Expr, ...]
    angles: tuple[Expr, ...] = ()
    product: int | None = None


def _steps(instructions: Sequence[Expr], together: Sequence[Expr], products: Mapping[Expr, int]) -> list[_Step]:
    functions: dict[Expr, list[Expr]] = {}
    for node in instructions:
        if node.op == SIN or node.op == COS:
            functions.setdefault(node.args[0], []).append(node)
    chunks = [tuple(together[i : i + _TOGETHER]) for i in range(0, len(together), _TOGETHER)]
    groups = {angle: chunk for chunk in chunks for angle in chunk}
    steps = []
    done = {node.args[k] for node, k in products.items()}
    for node in instructions:
        if node in done:
            continue
        if node.op == SIN or node.op == COS:
            angles = groups.get(node.args[0], (node.args[0],))
            nodes = tuple(f for angle in angles for f in functions[angle])
            done.update(nodes)
            steps.append(_Step(nodes, angles, angles))
        elif node in products:
            k = products[node]
            steps.append(_Step((node,), (*node.args[k].args, node.args[1 - k]), product=k))
        else:
            steps.append(_Step((node,), node.args))
    return steps


class _Unit:
    """Writer of one function and of the pieces it is made of.

    Values that cross from piece to piece go through the work array; leaves are loaded where they are first used.
    """

    def __init__(
        self,
        name: str,
        arrays: tuple[str, ...],
        sources: Mapping[Expr, tuple[str, int]],
        shared: _Shared,
        *,
        plain: tuple[str, ...] = (),
    ) -> None:
        """``plain`` are arrays of single numbers, the same for all lanes."""
        self.name = name
        self.sources = sources
        self.shared = shared
        self.lanes = shared.lanes
        self.plain = plain
        self.lines: list[str] = []
        self.n_work = 0
        read_only = {"state", "rest", "stage", "parameters"}
        self.signature = ", ".join(f"ptr noalias {'readonly ' * (a in read_only)}%{a}" for a in arrays)
        self.call = ", ".join(f"ptr %{a}" for a in arrays)
        self.slots: dict[Expr, int] = {}
        self.sinks: dict[Expr, list[int]] = {}
        self.names: dict[Expr, str] = {}

    def write(self, nodes: Sequence[Expr], together: Sequence[Expr], outputs: Sequence[Expr], piece: int) -> None:
        steps = _steps(nodes, together, contracted(nodes, outputs) if self.shared.fused else {})
        size = -(-len(steps) // max(1, -(-len(steps) // piece))) or 1
        pieces = [steps[i : i + size] for i in range(0, len(steps), size)] or [steps]
        self._assign_slots(pieces)
        direct = self._sort_outputs(steps, outputs)
        if len(pieces) == 1:
            self._function(f"define void @{self.name}", pieces[0], direct)
            return
        for k, part in enumerate(pieces):
            self._function(f"define internal void @{self.name}.{k}", part, direct if k == 0 else ())
        calls = [f"  call void @{self.name}.{k}({self.call})" for k in range(len(pieces))]
        self.lines += [f"define void @{self.name}({self.signature}) nounwind {{", *calls, "  ret void", "}"]

    def _sort_outputs(self, steps: Sequence[_Step], outputs: Sequence[Expr]) -> list[tuple[int, Expr]]:
        """Note where computed outputs are stored; return those that are leaves or constants."""
        computed = {node for step in steps for node in step.nodes}
        direct = []
        for i, output in enumerate(outputs):
            if output in computed:
                self.sinks.setdefault(output, []).append(i)
            else:
                direct.append((i, output))
        return direct

    def _assign_slots(self, pieces: Sequence[Sequence[_Step]]) -> None:
        if len(pieces) == 1:
            return
        home = {node: k for k, part in enumerate(pieces) for step in part for node in step.nodes}
        for k, part in enumerate(pieces):
            for step in part:
                for a in step.reads:
                    if home.get(a, k) != k and a not in self.slots:
                        self.slots[a] = len(self.slots)
        self.n_work = len(self.slots)

    def _function(self, head: str, steps: Sequence[_Step], direct: Sequence[tuple[int, Expr]]) -> None:
        # What registers do not hold goes to the stack, where a vector that crosses a cache line costs twice.
        aligned = "" if self.lanes == ONE else ' "stackrealign"'
        self.lines.append(f"{head}({self.signature}) noinline nounwind{aligned} {{")
        self.names = {}
        for i, output in direct:
            self._store("out", i, self._name(output))
        for step in steps:
            if step.angles:
                self._trigonometry(step)
            else:
                self._operation(step)
        self.lines += ["  ret void", "}"]

    def _operation(self, step: _Step) -> None:
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
        if node in self.sinks or node in self.slots:
            self._keep(node, result)

    def _keep(self, node: Expr, result: str) -> None:
        for i in self.sinks.get(node, ()):
            self._store("out", i, result)
        if node in self.slots:
            self._store("work", self.slots[node], result)

    def _trigonometry(self, step: _Step) -> None:
        """One call for all angles of the step."""
        angles = step.angles
        operands = [self._name(a) for a in angles]
        label = f"%trig{step.nodes[0].id}"
        kind, packed = self.lanes, operands[0]
        if len(angles) > 1:
            kind, packed = self._pack(operands, label)
        self.shared.widths.add(kind.width)
        self.lines.append(f"  {label} = call {kind.pair} {sincos_name(kind.width)}({kind.type} {packed})")
        places = {angle: (i,) if len(angles) > 1 else () for i, angle in enumerate(angles)}
        for node in step.nodes:
            result = f"%v{node.id}"
            self.lines.append(EMITTERS[node.op](kind, result, label, *places[node.args[0]]))
            self.names[node] = result
            self._keep(node, result)

    def _pack(self, operands: list[str], label: str) -> tuple[Lanes, str]:
        """Several angles of one state side by side; unused lanes repeat the last."""
        kind = next(Lanes(w) for w in (2, 4, 8) if w >= len(operands))
        packed = "poison"
        for i in range(kind.width):
            operand = operands[min(i, len(operands) - 1)]
            self.lines.append(f"  {label}.{i} = insertelement {kind.type} {packed}, double {operand}, i32 {i}")
            packed = f"{label}.{i}"
        return kind, packed

    def _name(self, node: Expr) -> str:
        """The operand for a node: known here, an immediate, or loaded now."""
        found = self.names.get(node)
        if found is not None:
            return found
        if node.op == CONSTANT:
            found = self.lanes.number(node.data)
        else:
            found = f"%v{node.id}"
            self._load(found, *(self.sources.get(node) or ("work", self.slots[node])))
        self.names[node] = found
        return found

    def _load(self, name: str, array: str, index: int) -> None:
        t = self.lanes.type
        if array not in self.plain or self.lanes == ONE:
            self.lines.append(f"  {name}.a = getelementptr inbounds {t}, ptr %{array}, i64 {index}")
            self.lines.append(f"  {name} = load {t}, ptr {name}.a, align 8")
            return
        self.lines += [
            f"  {name}.a = getelementptr inbounds double, ptr %{array}, i64 {index}",
            f"  {name}.d = load double, ptr {name}.a, align 8",
            f"  {name}.e = insertelement {t} poison, double {name}.d, i32 0",
            f"  {name} = shufflevector {t} {name}.e, {t} poison, <{self.lanes.width} x i32> zeroinitializer",
        ]

    def _store(self, array: str, index: int, value: str) -> None:
        address = f"%s{len(self.lines)}"
        self.lines.append(f"  {address} = getelementptr inbounds {self.lanes.type}, ptr %{array}, i64 {index}")
        self.lines.append(f"  store {self.lanes.type} {value}, ptr {address}, align 8")


def _loop(name: str, callee: str, strides: Mapping[str, int]) -> str:
    """A function that calls another n times, its arrays advancing by so many doubles."""
    signature = ", ".join(f"ptr %{a}" for a in strides)
    moving = {a: n for a, n in strides.items() if n}
    advance = "\n".join(f"  %{a}1 = getelementptr inbounds double, ptr %{a}i, i64 {n}" for a, n in moving.items())
    phis = "\n".join(f"  %{a}i = phi ptr [ %{a}, %start ], [ %{a}1, %next ]" for a in moving)
    operands = ", ".join(f"ptr %{a}{'i' * (a in moving)}" for a in strides)
    return f"""define void @{name}(i64 %n, {signature}) nounwind {{
start:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %next, label %finish
next:
  %i = phi i64 [ %n, %start ], [ %j, %next ]
{phis}
  call void @{callee}({operands})
{advance}
  %j = add i64 %i, -1
  %more = icmp sgt i64 %j, 0
  br i1 %more, label %next, label %finish
finish:
  ret void
}}"""
