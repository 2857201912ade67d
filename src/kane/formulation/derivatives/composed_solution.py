"""Derivatives of accelerations as a composed program: those of forces, then M dudot = -df, columns side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kane.codegen.programs.composed import MASKS, MEMORY, RESULT, Routine, Sweep
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.derivatives.blocks import LinkBlock, ValuePlace, is_composable
from kane.formulation.derivatives.composed import ComposedTerms, Composition, Entry, composed_terms, in_memory
from kane.formulation.derivatives.composed_inverse import InverseFactor, read_factor
from kane.formulation.derivatives.forces import MAX_GRAPH_DERIVATIVE_SPEEDS
from kane.formulation.derivatives.implicit_rule import independent_speeds, mass_factor
from kane.formulation.equations import Equations
from kane.formulation.recursive import side_by_side as beside
from kane.formulation.recursive.composite import unit_wrench
from kane.formulation.recursive.coriolis import Twist, both_wrenches
from kane.formulation.tree.sparse import TriangularFactor, solved, triangular_factor
from kane.formulation.tree.spatial import times
from kane.geometry.scalars import ZERO_VECTOR

# Cost of an operation on links side by side, in operations on single numbers: 1.1 to 1.7 in arms of 5 to 7 joints.
WORTH_SIDES = 1.4


class RightSides(NamedTuple):
    """Columns of df side by side.

    Attributes:
        word: of what is varied.
        columns: by lane.
        block: the links whose speeds they are, if they are.
        start: where in memory they lie, row by row.
    """

    word: str
    columns: Sequence[int]
    block: LinkBlock | None
    start: int


class Solution(Composition):
    """The composed program of accelerations and their derivatives, in the making.

    Entries of df are left where they are found; those that are side by side in the rows of right-hand sides, the others
    are put there one by one.
    """

    home = MEMORY

    def __init__(self, equations: Equations, width: int, words: Sequence[str]) -> None:
        super().__init__(equations, width)
        self._words, self._order = tuple(words), independent_speeds(equations)
        self._place = {speed: k for k, speed in enumerate(self._order)}
        self._sides = list(self._right_sides())
        self._still: dict[int, int] = {}
        self._starts = {(side.word, side.block): side.start for side in self._sides if side.block}

    def accelerations(self) -> ComposedTerms:
        """All of it."""
        self._put_reference()
        self._outwards()
        self._inwards()
        forces, loads = self._resisted(self._words, inputs=True)
        L = self._factor()
        values = self._driven(L, forces)
        self._columns()
        if self.reference:
            self._within_reference()
        self._efforts = self._single_efforts(loads)
        self._sides += self._of_inputs(loads)
        patterns = [self._rows(side, loads) for side in self._sides]
        self._arrange(patterns, loads)
        entries = self._solved(L, patterns)
        still = dict.fromkeys(self.equations.udot, self.system.arena.zero)
        whole = substitute_nodes([self._lifted(x) for x in self.layout.values], still)
        name = f"derivatives of forward by {', '.join(self._words)}"
        return ComposedTerms(self._program(name, whole, self.equations.inputs), values, entries)

    def _give(self, count: int) -> int:
        return self.layout.take(-(-count // self.width))

    def _right_sides(self) -> Iterator[RightSides]:
        n, take = len(self._order), self.layout.take
        for word in ("q", "u"):
            for block in self._blocks:
                yield RightSides(word, [self._speeds(x)[0] for x in block.links], block, take(n))
            alone = self._speeds(self.reference) if self.reference else []
            for k in range(0, len(alone), self.width):
                yield RightSides(word, alone[k : k + self.width], None, take(n))

    def _single_efforts(self, loads: dict[Entry, Expr]) -> dict[int, list[int]]:
        """For each speed the inputs that are efforts along it, and nothing else."""
        of: dict[int, list[tuple[int, Expr]]] = {}
        for (word, i, j), x in loads.items():
            if word == "inputs":
                of.setdefault(j, []).append((i, x))
        found: dict[int, list[int]] = {}
        for j, [(i, x), *more] in of.items():
            if not more and x.is_constant and x.data == -1.0:
                found.setdefault(i, []).append(j)
        return found

    def _of_inputs(self, loads: dict[Entry, Expr]) -> Iterator[RightSides]:
        """Inputs side by side that act on the speeds of one block, or on several."""
        known = {j for inputs in self._efforts.values() for j in inputs}
        acting: dict[int, set[int]] = {
            j: set() for j in range(len(self.equations.inputs) if "inputs" in self._words else 0) if j not in known
        }
        for word, i, j in loads:
            if word == "inputs" and j in acting:
                acting[j].add(i)
        groups: dict[int, list[int]] = {}
        for j, speeds in acting.items():
            homes = [b for b, block in enumerate(self._blocks) if speeds <= {self._speeds(x)[0] for x in block.links}]
            groups.setdefault(homes[0] if homes else -1, []).append(j)
        for group in groups.values():
            for k in range(0, len(group), self.width):
                yield RightSides("inputs", group[k : k + self.width], None, self.layout.take(len(self._order)))

    def _results(self, block: LinkBlock, above: int) -> dict[str, ValuePlace]:
        """Entries of the forces of a link by the block's speeds are in right-hand sides at once."""
        speeds = self._speeds(above)
        own = self._give(3 * len(speeds) * self.width)
        self._note_own(block, above, own)
        row = self._place[speeds[0]] * self.width
        by_q, by_u = (self._starts[word, block] + row for word in ("q", "u"))
        return {"own": (MEMORY, own), "by_q": (MEMORY, by_q), "by_u": (MEMORY, by_u)}

    def _in_place(self, side: RightSides, row: int, lane: int) -> bool:
        """Whether an entry lies in its right-hand side already."""
        speed = self._order[row]
        if side.block is None:
            return False
        x = side.block.links[lane]
        if self.reference and speed in self._speeds(self.reference):
            return True
        return speed != side.columns[lane] and any(speed in self._speeds(y) for y in self._inward(x))

    def _rows(self, side: RightSides, loads: dict[Entry, Expr]) -> list[int]:
        """Rows of right-hand sides that may not be zero, those of whole blocks."""
        known = {(i, j) for word, i, j in (*self.entries, *loads) if word == side.word}
        there: set[int] = set()
        for row, speed in enumerate(self._order):
            if any((speed, j) in known or self._in_place(side, row, k) for k, j in enumerate(side.columns)):
                there |= {row, *self._inwards_of(speed)}
        return [row for group in self._groups() if {*group} & there for row in group]

    def _groups(self) -> list[list[int]]:
        """Places of unknowns that are eliminated together: those of the reference, then those of each block."""
        found = [self._speeds(self.reference)] if self.reference else []
        found += [[self._speeds(x)[0] for x in block.links] for block in self._blocks]
        return [[self._place[speed] for speed in speeds] for speeds in found]

    def _inwards_of(self, speed: int) -> list[int]:
        """Places of the unknowns inwards of one."""
        outer = [y for x in self._spots if speed in self._speeds(x) for y in self._inward(x)]
        alone = self._speeds(self.reference) if self.reference else []
        return [self._place[j] for j in (*alone, *(self._speeds(y)[0] for y in outer))]

    def _arrange(self, patterns: Sequence[list[int]], loads: dict[Entry, Expr]) -> None:
        """Put what does not lie in right-hand sides there, with what loads add."""
        at, n = Routine("kane_right_sides", wide=False), len(self._order)
        copied = Routine("kane_copies")
        copied.write("to", copied.read("of", 0, n))
        for side, rows in zip(self._sides, patterns, strict=True):
            entries = [[(side.word, speed, j) for j in side.columns] for speed in self._order]
            added = [loads.get(entry) for row in entries for entry in row]
            if side.word == "inputs" and all(x is None or x.is_constant for x in added):
                numbers = self.layout.constant([[_number(loads.get(x)) for x in row] for row in entries])
                self._call(copied, len(side.columns), {"of": numbers, "to": (MEMORY, side.start)})
                continue
            for row in rows:
                for lane, entry in enumerate(entries[row]):
                    place = side.start + row * self.width + lane
                    known = place if self._in_place(side, row, lane) else self.entries.get(entry)
                    if known != place or entry in loads:
                        at.write(MEMORY, [self._loaded(at, known, loads.get(entry))], place)
        self._call(at)

    def _loaded(self, at: Routine, known: int | None, load: Expr | None) -> Any:
        """An entry with what loads add."""
        value = 0.0 if known is None else at.read(MEMORY, known)[0]
        if load is None:
            return value
        start = self.layout.take(1)
        self.layout.put(start, [load])
        return value + at.read(MEMORY, start)[0]

    def _masses_of(self, base: Sequence[Twist]) -> dict[tuple[int, int], int]:
        """Where the entries of M are but for those of the reference alone; forces of no accelerations are noted."""
        momenta, pairs, alone = beside.momenta(), beside.mass_pairs(self.width), beside.base_mass_pairs(base)
        M: dict[tuple[int, int], int] = {}
        for block, at in zip(self._blocks, self._at, strict=True):
            unit, force, mass = (self.layout.take(count) for count in (6, 1, len(base)))
            given = {"joint": at.joint, "total": at.total, "unit": unit, "force": force}
            self._call(momenta, len(block.links), in_memory(given))
            if base:
                self._call(alone, len(block.links), in_memory({"unit": unit, "mass": mass}))
            places = {x: self.layout.take(1) for x in self._hung_on(block)}
            swept = []
            for x, place in places.items():
                b, lane = self._spots[x]
                arrays = {"above": (MEMORY, self._at[b].joint + lane), "mass": (MEMORY, place)}
                swept.append(Sweep(arrays, self._hanging_on(block, x)))
            self._call(pairs, len(block.links), in_memory({"unit": unit}), again=swept)
            for lane, y in enumerate(block.links):
                (i,) = self._speeds(y)
                self._still[i] = force + lane
                M |= {(i, self._speeds(x)[0]): places[x] + lane for x in self._inward(y)}
                M |= {(i, self._speeds(self.reference)[k]): mass + k * self.width + lane for k in range(len(base))}
        return M

    def _factor(self) -> TriangularFactor:
        """M = L^T D L."""
        axes = beside.own_axes(self.system, self.reference) if self.reference else []
        at, M = Routine("kane_factor", wide=False), self._masses_of(axes)
        entries: dict[tuple[int, int], Any] = {
            (max(i, j), min(i, j)): at.read(MEMORY, place)[0] for (i, j), place in M.items()
        }
        if axes:
            whole, speeds = self._whole(at), self._speeds(self.reference)
            for i, S in zip(speeds, axes, strict=True):
                unit = unit_wrench(whole.sigma, S.w, S.v)
                entries |= {(i, j): T.power(unit) for j, T in zip(speeds, axes, strict=True) if j <= i}
                self._still[i] = self.layout.take(1)
                at.write(MEMORY, [S.power(whole.force)], self._still[i])
        L, inverses = triangular_factor(entries, self._order, [leaf.name for leaf in self.equations.u])
        self._start = self._give(sum(map(len, L)) + len(inverses))
        at.write(MEMORY, [*inverses, *(x for row in L for x in row.values())], self._start)
        self._call(at)
        return L, inverses

    def _driven(self, L: TriangularFactor, forces: dict[int, Expr]) -> tuple[int, ...]:
        """udot, among the results; what it adds to Vdot and F."""
        n, width, at = len(self._order), self.width, Routine("kane_accelerations", wide=False)
        start, result = self._give(n), self.layout.give(n)
        self.layout.put(start, [forces.get(i, 0.0) for i in range(n)])
        b = [-(at.read(MEMORY, self._still[i])[0] + at.read(MEMORY, start + i)[0]) for i in range(n)]
        udot = solved(read_factor(at, MEMORY, self._start, L), b, self._order)
        at.write(RESULT, udot, result)
        for x, (block, lane) in self._spots.items():
            at.write(MEMORY, [udot[self._speeds(x)[0]]], self._at[block].pose + 13 * width + lane)
        base = self.layout.take(6)
        if self.reference:
            more = Twist(ZERO_VECTOR, ZERO_VECTOR)
            for S, j in zip(beside.own_axes(self.system, self.reference), self._speeds(self.reference), strict=True):
                more = more.plus(Twist(times(udot[j], S.w), times(udot[j], S.v)))
            own = beside.Whole.of(at.read(MEMORY, self._own, beside.OWN_NUMBERS))
            f, n_ = both_wrenches(own.force, unit_wrench(own.sigma, *more))
            at.write(MEMORY, [*f, *n_], self._own + beside.OWN_NUMBERS - 6)
        else:
            more = Twist((0.0,) * 3, (0.0,) * 3)
        for k, change in enumerate((*more.w, *more.v)):
            at.write(MEMORY, [change], base + k * width)
        self._call(at)
        self._push(base)
        return tuple(range(result, result + n))

    def _push(self, base: int) -> None:
        """What udot adds to Vdot and F of every link, and to F of all beyond every joint."""
        width, count = self.width, self._count
        pushes, driven = beside.pushes(), beside.driven(count, width)
        pushed, more, wrench, beyond = ([self.layout.take(6) for _ in self._blocks] for _ in range(4))
        for b, (block, at) in enumerate(zip(self._blocks, self._at, strict=True)):
            given = {"joint": at.joint, "udot": at.pose + 13 * width, "pushed": pushed[b]}
            self._call(pushes, len(block.links), in_memory(given))
            above = base
            if block.above != self.reference:
                parent, lane = self._spots[block.above]
                above = more[parent] + lane
            masks = self._padded(self._masks(block, outwards=True), count)
            given = {"own": at.own, "rate": at.rate, "more": more[b], "wrench": wrench[b], "above": above}
            given["pushed"] = pushed[b]
            self._call(driven, len(block.links), in_memory(given) | {MASKS: masks})
        routines = {size: beside.wrench_sums(size[0], width, size[1]) for size in self._sizes()}
        for b in range(len(self._blocks) - 1, -1, -1):
            masks, arrays = self._beyond(b, beyond)
            given = {"wrench": wrench[b], "all": wrench[b], "total": self._at[b].total, "beyond": beyond[b]}
            links = len(self._blocks[b].links)
            self._call(routines[links, len(arrays)], links, in_memory(given) | arrays | {MASKS: masks})

    def _solved(self, L: TriangularFactor, patterns: Sequence[list[int]]) -> dict[Entry, int]:
        """Where the entries of dudot are, -M^-1 of each right-hand side."""
        inverse = InverseFactor(L, self._groups(), self._start, self.layout, self._call)
        entries: dict[Entry, int] = {}
        for side, rows in zip(self._sides, patterns, strict=True):
            given, count = inverse.groups_of(rows), len(side.columns)
            inverse.eliminate(side.start, given, count)
            for k, at in inverse.multiply(side.start, given, count).items():
                entries |= {(side.word, self._order[k], j): at + lane for lane, j in enumerate(side.columns)}
        return entries | dict(self._by_efforts(inverse))

    def _by_efforts(self, inverse: InverseFactor) -> Iterator[tuple[Entry, int]]:
        """Entries by inputs that are efforts of one speed each: those of M^-1, of two groups of speeds once only."""
        driven = [g for g, group in enumerate(self._groups()) if any(self._order[k] in self._efforts for k in group)]
        for g in driven:
            targets = [h for h in range(len(self._groups())) if h <= g or h not in driven]
            for columns, at in inverse.columns(g):
                for k, place in inverse.multiply(at, inverse.way(g), len(columns), targets).items():
                    for lane, column in enumerate(columns):
                        i, j = self._order[k], self._order[column]
                        yield from ((("inputs", i, word), place + lane) for word in self._efforts.get(j, ()))
                        yield from ((("inputs", j, word), place + lane) for word in self._efforts.get(i, ()))


def _number(x: Expr | None) -> float:
    return 0.0 if x is None else float(x.data)


def composed_derivatives(
    equations: Equations, of: str, wrt: Sequence[str], width: int, on_graph: Callable[[], int]
) -> ComposedTerms | None:
    """The derivatives of a program with links side by side; None where that cannot be or is not worth it.

    With many speeds it is, without a look at the graph; with few of them the graph may see more of what is zero.

    Args:
        equations: of a model.
        of, wrt: as of ``derivative``.
        width: how many doubles a register holds.
        on_graph: how many operations the program on the graph has.

    Raises:
        ModelError: M is singular whatever the state.
    """
    if width == 1 or not is_composable(equations, of, wrt):
        return None
    found = composed_terms(equations, width) if of == "inverse" else composed_solution(equations, width, wrt)
    single, wide = found.program.operations
    few = len(equations.u) <= MAX_GRAPH_DERIVATIVE_SPEEDS
    return None if few and on_graph() < single + WORTH_SIDES * wide else found


def composed_solution(equations: Equations, width: int, words: Sequence[str]) -> ComposedTerms:
    """udot of "forward" and its derivatives by q, u and perhaps inputs, of ``is_composable`` equations.

    Args:
        equations: of a model.
        width: how many doubles a register holds.
        words: what is varied.

    Raises:
        ModelError: M is singular whatever the state.
    """
    with collector_paused():
        mass_factor(equations)  # raises where M is singular whatever the state
        return Solution(equations, width, words).accelerations()
