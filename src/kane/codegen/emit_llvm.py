"""Programs as LLVM text: functions of bounded size, one calling convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kane.codegen.llvm_operations import EMITTERS, LIBRARY, hexadecimal, spline_function
from kane.codegen.program import Program
from kane.codegen.trig import sincos_functions, sincos_name, sincos_type
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, SIN, SPLINE
from kane.expression.spline import PiecewiseCubic

MAIN, STAGE, BATCH = "kane_main", "kane_stage", "kane_batch"
# Operations per function. LLVM's register allocator takes time that grows faster than a function does, but its
# scheduler interleaves what lies far apart in one function, from which forward dynamics gain. Measured on arms, ANYmal
# and Talos: against 600, pieces of 1,500 take a tenth longer to compile and run up to a fifth faster; larger ones bring
# no more. Programs of many pieces have nothing left to interleave: on chains of 100 joints, pieces of 700 take 40 %
# less time to compile than pieces of 1,500, and run as fast or faster.
PIECE = 1500
LONG_PROGRAM, PIECE_OF_LONG = 10_000, 700
_LANES = 8


@dataclass(frozen=True)
class Module:
    """LLVM text of a program.

    Attributes:
        text: the module; it defines MAIN, STAGE and BATCH.
        n_work: doubles of scratch that either function needs.
        symbols: functions of the C library that it calls.
    """

    text: str
    n_work: int
    symbols: tuple[str, ...]


def piece_for(program: Program) -> int:
    """About how many operations a function of this program should hold."""
    return PIECE_OF_LONG if len(program.instructions) > LONG_PROGRAM else PIECE


def emit_llvm(program: Program, *, fused: bool = True, piece: int | None = None) -> Module:
    """Write a program as LLVM text.

    Args:
        program: what to compute.
        fused: whether the machine has a fused multiply-add.
        piece: about how many operations one function may hold; ``piece_for`` unless given.
    """
    piece = piece or piece_for(program)
    shared = _Shared()
    state = {leaf: ("state", i) for i, leaf in enumerate(program.state)}
    rest = {leaf: ("rest", i) for i, leaf in enumerate(program.rest)}
    stage = {node: ("stage", i) for i, node in enumerate(program.stage_outputs)}
    main = _Unit(MAIN, ("state", "rest", "stage", "out", "work"), {**state, **rest, **stage}, shared)
    main.write(_steps(program.instructions, program.angles), program.outputs, piece)
    parameters = {leaf: ("parameters", i) for i, leaf in enumerate(program.parameters)}
    once = _Unit(STAGE, ("parameters", "out", "work"), parameters, shared)
    once.write(_steps(program.stage_nodes, ()), program.stage_outputs, piece)
    batch = _batch(len(program.state), len(program.rest), len(program.outputs))
    text = "\n".join([*shared.text(fused), *main.lines, *once.lines, batch, ""])
    return Module(text, max(main.n_work, once.n_work), tuple(s for s in LIBRARY if f"call double @{s}(" in text))


class _Shared:
    """What the functions of a module have in common: spline tables and the widths of trigonometry in use."""

    def __init__(self) -> None:
        self.tables: dict[PiecewiseCubic, str] = {}
        self.lanes: set[int] = set()

    def table(self, spline: PiecewiseCubic) -> str:
        return self.tables.setdefault(spline, f"@spline{len(self.tables)}")

    def text(self, fused: bool) -> list[str]:
        library = [f"declare double @{name}({', '.join(['double'] * arity)})" for name, arity in LIBRARY.items()]
        intrinsics = ["declare double @llvm.fabs.f64(double)", "declare double @llvm.sqrt.f64(double)"]
        trig = sincos_functions(sorted(self.lanes), fused=fused)
        splines = [spline_function(name, table) for table, name in self.tables.items()]
        return [*library, *intrinsics, trig, *splines]


@dataclass(frozen=True)
class _Step:
    """Operations emitted together: one, or the sines and cosines of the angles that share an evaluation."""

    nodes: tuple[Expr, ...]
    angles: tuple[Expr, ...] = ()


def _steps(instructions: Sequence[Expr], together: Sequence[Expr]) -> list[_Step]:
    functions: dict[Expr, list[Expr]] = {}
    for node in instructions:
        if node.op == SIN or node.op == COS:
            functions.setdefault(node.args[0], []).append(node)
    chunks = [tuple(together[i : i + _LANES]) for i in range(0, len(together), _LANES)]
    groups = {angle: chunk for chunk in chunks for angle in chunk}
    steps = []
    emitted: set[Expr] = set()
    for node in instructions:
        if node.op != SIN and node.op != COS:
            steps.append(_Step((node,)))
        elif node not in emitted:
            angles = groups.get(node.args[0], (node.args[0],))
            nodes = tuple(f for angle in angles for f in functions[angle])
            emitted.update(nodes)
            steps.append(_Step(nodes, angles))
    return steps


class _Unit:
    """Writer of one function and of the pieces it is made of.

    Values that cross from piece to piece go through the work array; leaves are loaded where they are first used.
    """

    def __init__(
        self, name: str, arrays: tuple[str, ...], sources: Mapping[Expr, tuple[str, int]], shared: _Shared
    ) -> None:
        self.name = name
        self.sources = sources
        self.shared = shared
        self.lines: list[str] = []
        self.n_work = 0
        read_only = {"state", "rest", "stage", "parameters"}
        self.signature = ", ".join(f"ptr noalias {'readonly ' * (a in read_only)}%{a}" for a in arrays)
        self.call = ", ".join(f"ptr %{a}" for a in arrays)
        self.slots: dict[Expr, int] = {}
        self.sinks: dict[Expr, list[int]] = {}
        self.names: dict[Expr, str] = {}

    def write(self, steps: Sequence[_Step], outputs: Sequence[Expr], piece: int) -> None:
        size = -(-len(steps) // max(1, -(-len(steps) // piece))) or 1
        pieces = [steps[i : i + size] for i in range(0, len(steps), size)] or [()]
        self._assign_slots(pieces)
        computed = {node for step in steps for node in step.nodes}
        direct = []
        for i, output in enumerate(outputs):
            if output in computed:
                self.sinks.setdefault(output, []).append(i)
            else:
                direct.append((i, output))
        if len(pieces) == 1:
            self._function(f"define void @{self.name}", pieces[0], direct)
            return
        for k, part in enumerate(pieces):
            self._function(f"define internal void @{self.name}.{k}", part, direct if k == 0 else ())
        calls = [f"  call void @{self.name}.{k}({self.call})" for k in range(len(pieces))]
        self.lines += [f"define void @{self.name}({self.signature}) nounwind {{", *calls, "  ret void", "}"]

    def _assign_slots(self, pieces: Sequence[Sequence[_Step]]) -> None:
        if len(pieces) == 1:
            return
        home = {node: k for k, part in enumerate(pieces) for step in part for node in step.nodes}
        for k, part in enumerate(pieces):
            for step in part:
                for node in step.nodes:
                    for a in node.args:
                        if home.get(a, k) != k and a not in self.slots:
                            self.slots[a] = len(self.slots)
        self.n_work = len(self.slots)

    def _function(self, head: str, steps: Sequence[_Step], direct: Sequence[tuple[int, Expr]]) -> None:
        self.lines.append(f"{head}({self.signature}) noinline nounwind {{")
        self.names = {}
        for i, output in direct:
            self._store("out", i, self._name(output))
        for step in steps:
            if step.angles:
                self._trigonometry(step)
            else:
                self._operation(step.nodes[0])
        self.lines += ["  ret void", "}"]

    def _operation(self, node: Expr) -> None:
        names = self.names
        operands = [names.get(a) or self._name(a) for a in node.args]
        if node.op == SPLINE:
            operands.append(self.shared.table(node.data))
        result = f"%v{node.id}"
        self.lines.append(EMITTERS[node.op](result, *operands))
        names[node] = result
        if node in self.sinks or node in self.slots:
            self._keep(node, result)

    def _keep(self, node: Expr, result: str) -> None:
        for i in self.sinks.get(node, ()):
            self._store("out", i, result)
        if node in self.slots:
            self._store("work", self.slots[node], result)

    def _trigonometry(self, step: _Step) -> None:
        """One call for all angles of the step; unused lanes repeat the last angle."""
        angles = step.angles
        lanes = next(w for w in (1, 2, 4, 8) if w >= len(angles))
        self.shared.lanes.add(lanes)
        operands = [self._name(a) for a in angles]
        operands += operands[-1:] * (lanes - len(angles))
        kind = sincos_type(lanes)
        label = f"%trig{step.nodes[0].id}"
        packed = operands[0]
        if lanes > 1:
            previous = "poison"
            for i, operand in enumerate(operands):
                packed = f"{label}.{i}"
                self.lines.append(f"  {packed} = insertelement {kind} {previous}, double {operand}, i32 {i}")
                previous = packed
        self.lines.append(f"  {label} = call {{ {kind}, {kind} }} {sincos_name(lanes)}({kind} {packed})")
        lane = {angle: str(i) if lanes > 1 else "" for i, angle in enumerate(angles)}
        for node in step.nodes:
            result = f"%v{node.id}"
            self.lines.append(EMITTERS[node.op](result, label, kind, lane[node.args[0]]))
            self.names[node] = result
            self._keep(node, result)

    def _name(self, node: Expr) -> str:
        """The operand for a node: known here, an immediate, or loaded now."""
        found = self.names.get(node)
        if found is not None:
            return found
        if node.op == CONSTANT:
            found = hexadecimal(node.data)
        else:
            array, index = self.sources.get(node) or ("work", self.slots[node])
            found = f"%v{node.id}"
            self.lines.append(f"  {found}.a = getelementptr inbounds double, ptr %{array}, i64 {index}")
            self.lines.append(f"  {found} = load double, ptr {found}.a, align 8")
        self.names[node] = found
        return found

    def _store(self, array: str, index: int, value: str) -> None:
        address = f"%s{len(self.lines)}"
        self.lines.append(f"  {address} = getelementptr inbounds double, ptr %{array}, i64 {index}")
        self.lines.append(f"  store double {value}, ptr {address}, align 8")


def _batch(n_state: int, n_rest: int, n_out: int) -> str:
    """The loop over many states, one after the other."""
    arrays = (("state", n_state), ("rest", n_rest), ("out", n_out))
    advance = "\n".join(f"  %{a}1 = getelementptr inbounds double, ptr %{a}i, i64 {n}" for a, n in arrays)
    phis = "\n".join(f"  %{a}i = phi ptr [ %{a}, %start ], [ %{a}1, %next ]" for a, _ in arrays)
    return f"""define void @{BATCH}(i64 %n, ptr %state, ptr %rest, ptr %stage, ptr %out, ptr %work) nounwind {{
start:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %next, label %finish
next:
  %i = phi i64 [ %n, %start ], [ %j, %next ]
{phis}
  call void @{MAIN}(ptr %statei, ptr %resti, ptr %stage, ptr %outi, ptr %work)
{advance}
  %j = add i64 %i, -1
  %more = icmp sgt i64 %j, 0
  br i1 %more, label %next, label %finish
finish:
  ret void
}}"""
