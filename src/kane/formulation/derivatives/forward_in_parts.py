"""Derivatives of accelerations as a program in parts: df of inverse dynamics, then M dudot = -df, a column per lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kane.codegen.programs.parts import MASKS, MEMORY, RESULT, Routine
from kane.deferred import NamedTuple
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.derivatives.forces import MAX_GRAPH_DERIVATIVE_SPEEDS
from kane.formulation.derivatives.implicit_rule import independent_speeds, mass_factor
from kane.formulation.derivatives.inverse_factor import InverseFactor, read_factor
from kane.formulation.derivatives.inverse_in_parts import DerivativeParts, Entry, InverseDerivatives
from kane.formulation.derivatives.link_blocks import LinkBlock, has_single_axes
from kane.formulation.equations import Equations
from kane.formulation.recursive import links_in_lanes as lanes
from kane.formulation.recursive.composite import unit_wrench
from kane.formulation.recursive.coriolis import Twist, both_wrenches
from kane.formulation.tree.sparse import TriangularFactor, solved, triangular_factor
from kane.formulation.tree.spatial import times
from kane.geometry.scalars import ZERO_VECTOR

# Time of a wide operation, in operations on single numbers: 1.1 to 1.7 in arms of 5 to 7 joints.
WIDE_OPERATION = 1.4


class RightSides(NamedTuple):
    """Columns of df, one per lane.

    Attributes:
        word: variable of differentiation.
        columns: column of each lane.
        block: links whose speeds are the columns; None for other columns.
        start: place in memory, row by row.
    """

    word: str
    columns: Sequence[int]
    block: LinkBlock | None
    start: int


class ForwardDerivatives(InverseDerivatives):
    """Writer of accelerations and their derivatives as a program in parts.

    Routines write entries of df to memory: those of whole blocks directly to the rows of right-hand sides. A routine on
    single numbers copies the other entries there.

    Args:
        equations, width: as for ``InverseDerivatives``.
        words: variables of differentiation, among "q", "u" and "inputs".

    Raises:
        ModelError: M is singular in every state.
    """

    home = MEMORY

    def __init__(self, equations: Equations, width: int, words: Sequence[str]) -> None:
        mass_factor(equations)  # raises ModelError
        super().__init__(equations, width)
        self._words, self._order = tuple(words), independent_speeds(equations)
        self._place = {speed: k for k, speed in enumerate(self._order)}
        self._sides = list(self._right_sides())
        self._still: dict[int, int] = {}  # places of the forces at zero accelerations
        self._starts = {(side.word, side.block): side.start for side in self._sides if side.block}

    def derivatives(self) -> DerivativeParts:
        self._put_reference()
        self._outwards()
        self._inwards()
        forces, loads = self._resisted(self._words, inputs=True)
        L = self._factor()
        values = self._accelerations(L, forces)
        self._columns()
        if self.reference:
            self._within_reference()
        self._efforts = self._single_efforts(loads)
        self._sides += self._of_inputs(loads)
        patterns = [self._rows(side, loads) for side in self._sides]
        self._arrange(patterns, loads)
        entries = self._solved(L, patterns)
        still = dict.fromkeys(self.equations.udot, self.system.arena.zero)
        whole = substitute_nodes([self._lifted(x) for x in self.parts.values], still)
        name = f"derivatives of forward by {', '.join(self._words)}"
        return DerivativeParts(self._program(name, whole, self.equations.inputs), values, entries)

    def _give(self, count: int) -> int:
        return self.parts.take(-(-count // self.width))

    def _right_sides(self) -> Iterator[RightSides]:
        n, take = len(self._order), self.parts.take
        for word in ("q", "u"):
            for block in self._blocks:
                yield RightSides(word, [self._speeds(x)[0] for x in block.links], block, take(n))
            for k in range(0, len(self._base_speeds), self.width):
                yield RightSides(word, self._base_speeds[k : k + self.width], None, take(n))

    def _single_efforts(self, loads: dict[Entry, Expr]) -> dict[int, list[int]]:
        """Return for each speed the inputs that are efforts along this speed alone."""
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
        """Yield right-hand sides of the other inputs, grouped by the block on whose speeds they act."""
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
                yield RightSides("inputs", group[k : k + self.width], None, self.parts.take(len(self._order)))

    def _upper_places(self, block: LinkBlock, above: int) -> tuple[int, int]:
        """Return rows of right-hand sides."""
        row = self._place[self._speeds(above)[0]] * self.width
        return self._starts["q", block] + row, self._starts["u", block] + row

    def _rows(self, side: RightSides, loads: dict[Entry, Expr]) -> list[int]:
        """Return the rows of a right-hand side that may be nonzero, in whole groups."""
        known = {(i, j) for word, i, j in (*self.entries, *loads) if word == side.word}
        there: set[int] = set()
        for row, speed in enumerate(self._order):
            if any((speed, j) in known for j in side.columns):
                there |= {row, *self._inwards_of(speed)}
        return [row for group in self._groups() if {*group} & there for row in group]

    def _groups(self) -> list[list[int]]:
        """Return the unknowns that are eliminated together: those of the reference, then those of each block."""
        found = [self._base_speeds] if self.reference else []
        found += [[self._speeds(x)[0] for x in block.links] for block in self._blocks]
        return [[self._place[speed] for speed in speeds] for speeds in found]

    def _inwards_of(self, speed: int) -> list[int]:
        """Return the unknowns of the reference and of the ancestors of a speed's link."""
        outer = [y for x in self._spots if speed in self._speeds(x) for y in self._inward[x]]
        return [self._place[j] for j in (*self._base_speeds, *(self._speeds(y)[0] for y in outer))]

    def _arrange(self, patterns: Sequence[list[int]], loads: dict[Entry, Expr]) -> None:
        """Complete the right-hand sides: copy entries that are elsewhere, and add the derivatives of loads."""
        at, n = Routine("kane_right_sides", wide=False), len(self._order)
        copied = Routine("kane_copies")
        copied.write("to", copied.read("of", 0, n))
        for side, rows in zip(self._sides, patterns, strict=True):
            entries = [[(side.word, speed, j) for j in side.columns] for speed in self._order]
            added = [loads.get(entry) for row in entries for entry in row]
            if side.word == "inputs" and all(x is None or x.is_constant for x in added):
                numbers = self.parts.constant([[_number(loads.get(x)) for x in row] for row in entries])
                self.parts.call(copied, len(side.columns), {"of": numbers, "to": side.start})
                continue
            for row in rows:
                for lane, entry in enumerate(entries[row]):
                    place = side.start + row * self.width + lane
                    known = self.entries.get(entry)
                    if known != place or entry in loads:
                        at.write(MEMORY, [self._loaded(at, known, loads.get(entry))], place)
        self.parts.call_once(at)

    def _loaded(self, at: Routine, known: int | None, load: Expr | None) -> Any:
        """Return an entry, plus the derivative of a load that the first part computes."""
        value = 0.0 if known is None else at.read(MEMORY, known)[0]
        if load is None:
            return value
        return value + at.read(MEMORY, self.parts.hold([load]))[0]

    def _masses_of(self, base: Sequence[Twist]) -> dict[tuple[int, int], int]:
        """Compute M except for the reference's own entries, and the forces at zero accelerations; return the places."""
        momenta, pairs, alone = lanes.momenta(), lanes.mass_pairs(self.width), lanes.base_mass_pairs(base)
        M: dict[tuple[int, int], int] = {}
        for block, at in zip(self._blocks, self._arrays, strict=True):
            unit, force, mass = (self.parts.take(count) for count in (6, 1, len(base)))
            arrays = at._asdict() | {"unit": unit, "force": force, "mass": mass}
            self.parts.call(momenta, len(block.links), arrays)
            if base:
                self.parts.call(alone, len(block.links), arrays)
            places = {x: self.parts.take(1) for x in self._ancestors(block)}
            rounds = []
            for x, place in places.items():
                b, lane = self._spots[x]
                above = {"above": self._arrays[b].joint + lane, "mass": place}
                rounds.append((above, self._descendants(block, x)))
            self.parts.call(pairs, len(block.links), arrays, rounds=rounds)
            for lane, y in enumerate(block.links):
                (i,) = self._speeds(y)
                self._still[i] = force + lane
                M |= {(i, self._speeds(x)[0]): places[x] + lane for x in self._inward[y]}
                M |= {(i, self._base_speeds[k]): mass + k * self.width + lane for k in range(len(base))}
        return M

    def _factor(self) -> TriangularFactor:
        """Compute M = L^T D L."""
        axes, speeds = self._base_axes, self._base_speeds
        at, M = Routine("kane_factor", wide=False), self._masses_of(axes)
        entries: dict[tuple[int, int], Any] = {
            (max(i, j), min(i, j)): at.read(MEMORY, place)[0] for (i, j), place in M.items()
        }
        if axes:
            whole = self._whole(at)
            for i, S in zip(speeds, axes, strict=True):
                unit = unit_wrench(whole.sigma, S.w, S.v)
                entries |= {(i, j): T.power(unit) for j, T in zip(speeds, axes, strict=True) if j <= i}
                self._still[i] = self.parts.take(1)
                at.write(MEMORY, [S.power(whole.force)], self._still[i])
        L, inverses = triangular_factor(entries, self._order, [leaf.name for leaf in self.equations.u])
        self._start = self._give(sum(map(len, L)) + len(inverses))
        at.write(MEMORY, [*inverses, *(x for row in L for x in row.values())], self._start)
        self.parts.call_once(at)
        return L, inverses

    def _accelerations(self, L: TriangularFactor, forces: dict[int, Expr]) -> tuple[int, ...]:
        """Compute udot as results, and add its contributions to Vdot and F; return the places of udot."""
        n, width, at = len(self._order), self.width, Routine("kane_accelerations", wide=False)
        start, result = self.parts.hold([forces.get(i, 0.0) for i in range(n)]), self.parts.give(n)
        b = [-(at.read(MEMORY, self._still[i])[0] + at.read(MEMORY, start + i)[0]) for i in range(n)]
        udot = solved(read_factor(at, MEMORY, self._start, L), b, self._order)
        at.write(RESULT, udot, result)
        for x, (block, lane) in self._spots.items():
            at.write(MEMORY, [udot[self._speeds(x)[0]]], self._arrays[block].pose + 13 * width + lane)
        base = self.parts.take(6)
        if self.reference:
            more = Twist(ZERO_VECTOR, ZERO_VECTOR)
            for S, j in zip(self._base_axes, self._base_speeds, strict=True):
                more = more.plus(Twist(times(udot[j], S.w), times(udot[j], S.v)))
            own = lanes.Whole.of(at.read(MEMORY, self._own, lanes.OWN_NUMBERS))
            f, n_ = both_wrenches(own.force, unit_wrench(own.sigma, *more))
            at.write(MEMORY, [*f, *n_], self._own + lanes.OWN_NUMBERS - 6)
        else:
            more = Twist((0.0,) * 3, (0.0,) * 3)
        for k, change in enumerate((*more.w, *more.v)):
            at.write(MEMORY, [change], base + k * width)
        self.parts.call_once(at)
        self._accelerate(base)
        return tuple(range(result, result + n))

    def _accelerate(self, base: int) -> None:
        """Add the contributions of udot to Vdot and F of every link, and to the sums of F beyond every joint."""
        width, count = self.width, self._count
        pushes, driven = lanes.pushes(), lanes.driven(count, width)
        pushed, more, wrench, beyond = ([self.parts.take(6) for _ in self._blocks] for _ in range(4))
        for b, (block, at) in enumerate(zip(self._blocks, self._arrays, strict=True)):
            above = base
            if block.above != self.reference:
                parent, lane = self._spots[block.above]
                above = more[parent] + lane
            arrays = at._asdict() | {"udot": at.pose + 13 * width, "pushed": pushed[b], "more": more[b]}
            arrays |= {"wrench": wrench[b], "above": above}
            self.parts.call(pushes, len(block.links), arrays)
            self.parts.call(driven, len(block.links), arrays | {MASKS: self._ancestor_masks(block)})
        routines = {size: lanes.wrench_sums(size[0], width, size[1]) for size in self._sizes()}
        for b in range(len(self._blocks) - 1, -1, -1):
            arrays = self._arrays[b]._asdict() | {"wrench": wrench[b], "all": wrench[b], "beyond": beyond[b]}
            self.parts.call(routines[self._size(b)], len(self._blocks[b].links), {**arrays, **self._beyond(b, beyond)})

    def _solved(self, L: TriangularFactor, patterns: Sequence[list[int]]) -> dict[Entry, int]:
        """Compute -M^-1 of each right-hand side, and return the places of the entries of dudot."""
        inverse = InverseFactor(L, self._groups(), self._start, self.parts)
        entries: dict[Entry, int] = {}
        for side, rows in zip(self._sides, patterns, strict=True):
            given, count = inverse.groups_of(rows), len(side.columns)
            inverse.eliminate(side.start, given, count)
            for k, at in inverse.multiply(side.start, given, count).items():
                entries |= {(side.word, self._order[k], j): at + lane for lane, j in enumerate(side.columns)}
        return entries | dict(self._by_efforts(inverse))

    def _by_efforts(self, inverse: InverseFactor) -> Iterator[tuple[Entry, int]]:
        """Yield the entries by efforts along single speeds: those of M^-1, each pair of groups computed once."""
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


def derivative_parts(
    equations: Equations, of: str, wrt: Sequence[str], width: int, on_graph: Callable[[], int]
) -> DerivativeParts | None:
    """Return the derivatives of a program as a program in parts; None if this is impossible or not faster.

    With few speeds, the expression graph may have fewer operations because it contains more zeros.

    Args:
        equations: equations of a model.
        of, wrt: as for ``derivative``.
        width: number of doubles per register.
        on_graph: returns the number of operations of the symbolic program.

    Raises:
        ModelError: M is singular in every state.
    """
    if width == 1 or not has_single_axes(equations, of, wrt):
        return None
    with collector_paused():
        writer = InverseDerivatives(equations, width) if of == "inverse" else ForwardDerivatives(equations, width, wrt)
        found = writer.derivatives()
    single, wide = found.program.operations
    few = len(equations.u) <= MAX_GRAPH_DERIVATIVE_SPEEDS
    return None if few and on_graph() < single + WIDE_OPERATION * wide else found
