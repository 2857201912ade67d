"""Derivatives of inverse dynamics as a composed program, links and speeds side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.composed import MASKS, MEMORY, RESULT, Call, Composed, Routine, Sweep
from kane.codegen.programs.program import Program
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.formulation.derivatives.blocks import ComposedLayout, LinkBlock, Region, ValuePlace, blocks_of, reference_of
from kane.formulation.derivatives.variables import Variable, variables
from kane.formulation.equations import Equations
from kane.formulation.recursive import side_by_side as beside
from kane.formulation.recursive.coriolis import Twist
from kane.formulation.recursive.recursive_route import RecursiveRoute
from kane.geometry.scalars import ZERO_VECTOR

# An entry: "q", "u" or "udot", the speed whose force, and the column.
Entry = tuple[str, int, int]


@dataclass(frozen=True)
class ComposedTerms:
    """What native code of the derivatives of inverse dynamics gives.

    Attributes:
        program: the code.
        values: places of the forces in its result, by speed.
        entries: places of the entries of the derivatives in its result.
    """

    program: Composed
    values: tuple[int, ...]
    entries: Mapping[Entry, int]

    def places(self, varied: Sequence[Variable]) -> tuple[list[int], list[int], list[int]]:
        """Rows, columns and places of the entries by some of "q", "u" and "udot", whose columns stand side by side."""
        starts, start = {}, 0
        for variable in varied:
            starts[variable.word] = start
            start += len(variable.labels)
        found = [(i, starts[word] + j, place) for (word, i, j), place in self.entries.items() if word in starts]
        rows, columns, places = (list(x) for x in zip(*found, strict=True))
        return rows, columns, places


class Composition:
    """The composed program of the derivatives of inverse dynamics, in the making.

    Attributes:
        home: the array in which entries are left.
        equations: of which model.
        system: with base parameters where they save operations.
        reference: the link in whose frame all is done.
        layout: of memory, constants and results.
        calls: of routines so far.
        values, entries: where results lie.
    """

    home = RESULT

    def __init__(self, equations: Equations, width: int) -> None:
        route = equations.route
        assert isinstance(route, RecursiveRoute)
        self.equations, self.system, self.width = equations, route.system, width
        self.reference = reference_of(self.system)
        self.layout = ComposedLayout(width)
        self.calls: list[Call] = []
        self.values: dict[int, int] = {}
        self.entries: dict[Entry, int] = {}
        self._natural = [next(iter(row)) for row in self.system.speeds.C]
        self._blocks = blocks_of(self.system, width)
        self._spots = {x: (b, lane) for b, block in enumerate(self._blocks) for lane, x in enumerate(block.links)}
        self._count = max((len(block.links) for block in self._blocks), default=0)
        self._frames = beside.Frames(self.system, self.reference, equations.udot)
        self._base = self.layout.take(2 * beside.RATE_NUMBERS)  # V and Vdot of the reference, each as one lane of many
        self._ground, self._own = self.layout.take(1), self.layout.take(-(-beside.OWN_NUMBERS // width))
        self._same = self._same_axes()
        self._at = [self._region(block) for block in self._blocks]

    def forces(self) -> ComposedTerms:
        """All of it."""
        self._entries()
        self._loads()
        values = tuple(self.values[j] for j in range(len(self.equations.u)))
        program = self._program("derivatives of inverse by q, u, udot", self.layout.values, self.equations.udot)
        return ComposedTerms(program, values, self.entries)

    def _entries(self) -> None:
        """Forces and entries but for what loads add."""
        self._put_reference()
        self._outwards()
        self._inwards()
        self._columns()
        if self.reference:
            self._within_reference()

    def _program(self, name: str, values: Sequence[Any], rest: Sequence[Expr]) -> Composed:
        equations, layout = self.equations, self.layout
        state = (equations.t, *equations.q, *equations.u)
        outputs = factor(equations.baked_in(map(equations.system.arena.lift, values)))
        first = Program(name, outputs, state=state, rest=rest, parameters=equations.parameters)
        return Composed(first, layout.places, self.width, self.calls, layout.memory, layout.n_out, layout.constants)

    def _give(self, count: int) -> int:
        """A place for entries."""
        return self.layout.give(count)

    def _inward(self, index: int) -> Iterator[int]:
        """A link and all that it hangs on, up to the reference."""
        while index != self.reference:
            yield index
            index = self.system.links[index].parent

    def _speeds(self, index: int) -> list[int]:
        return [self._natural[k] for k in self.system.columns(index)]

    def _same_axes(self) -> list[float | None]:
        """Components of S in K that all links have in common."""
        found = [(*S.w, *S.v) for block in self._blocks for x in block.links for S in beside.own_axes(self.system, x)]
        numbers = [[float(self._lifted(x).data) for x in row] for row in found]
        return [column[0] if len(set(column)) == 1 else None for column in zip(*numbers, strict=True)]

    def _lifted(self, x: Any) -> Expr:
        return self.equations.baked_in([self.system.arena.lift(x)])[0]

    def _region(self, block: LinkBlock) -> Region:
        take = self.layout.take
        sizes = (
            beside.POSE_NUMBERS,
            beside.JOINT_NUMBERS,
            beside.MOTION_NUMBERS,
            12,
            beside.RATE_NUMBERS,
            beside.OWN_NUMBERS,
            beside.OWN_NUMBERS,
        )
        pose, *others = map(take, sizes)
        masses, axes = [], []
        for lane in range(self.width):
            if lane >= len(block.links):
                self.layout.put(pose + lane, [0.0] * beside.POSE_NUMBERS, self.width)
                continue
            index = block.links[lane]
            k = self.system.columns(index)[0]
            motion = self.system.speeds.natural[k], self.equations.udot[self._natural[k]]
            R, p = self._frames.R[index], self._frames.p[index]
            self.layout.put(pose + lane, [*(x for row in R for x in row), *p, *motion], self.width)
            mass = self.system.masses[index]
            masses.append([self._lifted(x) for x in (mass.m, *mass.mc, *mass.J)])
            (S,) = beside.own_axes(self.system, index)
            axes.append([float(self._lifted(x).data) for x in (*S.w, *S.v)])
        return Region(self._masses(masses), self.layout.constant(zip(*axes, strict=True)), pose, *others)

    def _masses(self, lanes: Sequence[Sequence[Expr]]) -> ValuePlace:
        """Of numbers, or found by the first program from parameters."""
        if all(x.is_constant for row in lanes for x in row):
            return self.layout.constant([[x.data for x in column] for column in zip(*lanes, strict=True)])
        start = self.layout.take(10)
        for lane in range(self.width):
            row = lanes[lane] if lane < len(lanes) else [0.0] * 10
            self.layout.put(start + lane, row, self.width)
        return MEMORY, start

    def _masks(self, block: LinkBlock, *, outwards: bool) -> Iterator[list[float]]:
        """For each link of a block ones where it lies inwards of one in a lane, itself included, or beyond it."""
        for other in block.links:
            lines = [set(self._inward(x)) for x in block.links]
            if outwards:
                yield [float(other in line) for line in lines]
            else:
                yield [float(x in self._inward(other) and x != other) for x in block.links]

    def _put_reference(self) -> None:
        frames, put = self._frames, self.layout.put
        put(self._base, [*frames.V.w, *frames.V.v, *frames.rate.w, *frames.rate.v], self.width)
        put(self._ground, frames.ground)
        if self.reference:
            mass = self.system.masses[self.reference]
            put(self._own, beside.Whole.moving(mass, frames.V, frames.rate).numbers)

    def _above(self, block: LinkBlock, rate: bool) -> ValuePlace:
        """V, or Vdot, of the link on which a block hangs."""
        if block.above == self.reference:
            return MEMORY, self._base + beside.RATE_NUMBERS * self.width * rate
        b, lane = self._spots[block.above]
        return MEMORY, (self._at[b].rate if rate else self._at[b].moving) + lane

    def _padded(self, masks: Iterable[list[float]], count: int) -> ValuePlace:
        rows = list(masks)
        return self.layout.constant([*rows, *[[0.0]] * (count - len(rows))])

    def _outwards(self) -> None:
        """Twists and their rates; sigma, P and F of links."""
        routines = beside.motions(self._same), *(f(self._count, self.width) for f in (beside.twists, beside.links))
        for block, at in zip(self._blocks, self._at, strict=True):
            whole = {word: (MEMORY, place) for word, place in at._asdict().items() if isinstance(place, int)}
            whole |= {"moved": (MEMORY, at.joint + 6 * self.width), "pushed": (MEMORY, at.moving + 12 * self.width)}
            whole |= {"axes": at.axes, "masses": at.masses}
            whole[MASKS] = self._padded(self._masks(block, outwards=True), self._count)
            for k, routine in enumerate(routines):
                above = self._above(block, rate=routine is routines[-1])
                self._call(routine, len(block.links), whole | {"above": above}, follows=k > 0)

    def _inwards(self) -> None:
        """Sums over what is beyond each joint, blocks of children first."""
        routines = {size: beside.sums(size[0], self.width, size[1]) for size in self._sizes()}
        for b in range(len(self._blocks) - 1, -1, -1):
            at = self._at[b]
            own, total = (MEMORY, at.own), (MEMORY, at.total)
            count, (masks, arrays) = len(self._blocks[b].links), self._beyond(b, [x.total for x in self._at])
            whole = {"own": own, "all": own, MASKS: masks, "total": total, **arrays}
            self._call(routines[count, len(arrays)], count, whole)

    def _hanging(self, b: int) -> list[int]:
        """Links of other blocks that hang on those of a block."""
        links = self._blocks[b].links
        return [x for x in self._spots if self.system.links[x].parent in links and self._spots[x][0] != b]

    def _sizes(self) -> set[tuple[int, int]]:
        """How many links blocks have, and how many hang on them elsewhere."""
        return {(len(block.links), len(self._hanging(b))) for b, block in enumerate(self._blocks)}

    def _beyond(self, b: int, totals: Sequence[int]) -> tuple[ValuePlace, dict[str, ValuePlace]]:
        """For sums over what is beyond each joint of a block: masks, and the totals of what hangs on it elsewhere."""
        block, arrays = self._blocks[b], {}
        masks = list(self._masks(block, outwards=False))[1:]
        for k, x in enumerate(self._hanging(b)):
            masks.append([float(y in self._inward(x)) for y in block.links])
            arrays[f"total{k}"] = MEMORY, totals[self._spots[x][0]] + self._spots[x][1]
        return self.layout.constant(masks), arrays

    def _columns(self) -> None:
        """Forces of the speeds of a block, and their entries with those they hang on and with the reference."""
        fields, alone = beside.fields(), bool(self.reference)
        base = beside.own_axes(self.system, self.reference) if alone else []
        pairs = beside.pairs(base, self.width)
        for block, at in zip(self._blocks, self._at, strict=True):
            count, force = len(block.links), self._give(self.width)
            for lane, x in enumerate(block.links):
                self.values[self._speeds(x)[0]] = force + lane
            given = {"joint": at.joint, "moving": at.moving, "rate": at.rate, "fields": at.fields}
            self._call(fields, count, in_memory(given))
            given = {"motion": at.joint, "total": at.total, "V": self._base, "ground": self._ground}
            whole = in_memory(given) | {"force": (self.home, force)}
            if alone:
                whole |= {f"base_{a}": place for a, place in self._results(block, self.reference).items()}
            swept = []
            for x in self._hung_on(block):
                b, lane = self._spots[x]
                upper = MEMORY, self._at[b].joint + lane
                swept.append(Sweep({"upper": upper, **self._results(block, x)}, self._hanging_on(block, x)))
            self._call(pairs, count, whole, follows=True, again=swept)

    def _hung_on(self, block: LinkBlock) -> list[int]:
        """The links on which some of a block hang, themselves included."""
        return sorted({y for link in block.links for y in self._inward(link)})

    def _hanging_on(self, block: LinkBlock, above: int) -> list[int]:
        """Lanes of a block whose links hang on another, or are it."""
        return [lane for lane, x in enumerate(block.links) if self._hangs(x, above)]

    def _results(self, block: LinkBlock, above: int) -> dict[str, ValuePlace]:
        """Where the entries of a block with the speeds of a link go."""
        n = len(self._speeds(above)) * self.width
        own, by_q, by_u = self._give(3 * n), self._give(n), self._give(n)
        self._note_own(block, above, own)
        for k, j in enumerate(self._speeds(above)):
            for lane, x in enumerate(block.links):
                if x != above and self._hangs(x, above):
                    (i,) = self._speeds(x)
                    self.entries["q", j, i], self.entries["u", j, i] = (
                        at + k * self.width + lane for at in (by_q, by_u)
                    )
        return {"own": (self.home, own), "by_q": (self.home, by_q), "by_u": (self.home, by_u)}

    def _note_own(self, block: LinkBlock, above: int, own: int) -> None:
        """Where the entries of a block's forces by the speeds of a link are."""
        for k, j in enumerate(self._speeds(above)):
            for lane, x in enumerate(block.links):
                if self._hangs(x, above):
                    (i,) = self._speeds(x)
                    for row, word in enumerate(("q", "u", "udot")):
                        self.entries[word, i, j] = own + (3 * k + row) * self.width + lane
                    self.entries["udot", j, i] = self.entries["udot", i, j]

    def _hangs(self, index: int, above: int) -> bool:
        """Whether a link hangs on another, or is it."""
        return above == self.reference or above in self._inward(index)

    def _within_reference(self) -> None:
        """The reference's own speeds, by single numbers."""
        at = Routine("kane_base", wide=False)
        whole = self._whole(at)
        V = [at.read(MEMORY, self._base + k * self.width)[0] for k in range(6)]
        ground = Twist(ZERO_VECTOR, at.read(MEMORY, self._ground, 3))
        speeds, axes = self._speeds(self.reference), beside.own_axes(self.system, self.reference)
        fields = [beside.base_fields(S, Twist(tuple(V[:3]), tuple(V[3:])), ground) for S in axes]
        for i, S, own in zip(speeds, axes, fields, strict=True):
            lower = beside.Lower.beyond(whole, S, own)
            self._write(at, self.values, i, S.power(whole.force))
            for j, T, field in zip(speeds, axes, fields, strict=True):
                found, _, _ = lower.under(T, field)
                for word, x in zip(("q", "u", "udot"), found, strict=True):
                    self._write(at, self.entries, (word, i, j), x)
        self._call(at)

    def _whole(self, at: Routine) -> beside.Whole:
        """The reference with all that hangs on it."""
        total = list(at.read(MEMORY, self._own, beside.OWN_NUMBERS))
        for x, (b, lane) in self._spots.items():
            if self.system.links[x].parent == self.reference:
                more = [
                    at.read(MEMORY, self._at[b].total + k * self.width + lane)[0] for k in range(beside.OWN_NUMBERS)
                ]
                total = [a + b for a, b in zip(total, more, strict=True)]
        return beside.Whole.of(total)

    def _write(self, at: Routine, places: dict[Any, int], key: Any, value: Any) -> None:
        """One result, where it lies already or in a new place."""
        if key not in places:
            places[key] = self._give(1)
        at.write(self.home, [value], places[key])

    def _loads(self) -> None:
        """What springs, dampers and their like add to forces and entries."""
        values, entries = self._resisted(("q", "u"), inputs=False)
        more: list[tuple[dict[Any, int], Any, Expr]] = [(self.values, i, x) for i, x in values.items()]
        more += [(self.entries, key, x) for key, x in entries.items()]
        if not more:
            return
        start = self.layout.take(-(-len(more) // self.width))
        self.layout.put(start, [x for *_, x in more])
        at = Routine("kane_loads", wide=False)
        for k, (places, key, _) in enumerate(more):
            (value,) = at.read(MEMORY, start + k)
            known = places.get(key)
            self._write(at, places, key, value if known is None else at.read(self.home, known)[0] + value)
        self._call(at)

    def _resisted(self, words: Sequence[str], *, inputs: bool) -> tuple[dict[int, Expr], dict[Entry, Expr]]:
        """What loads add to forces, and to entries."""
        equations, route = self.equations, self.equations.route
        assert isinstance(route, RecursiveRoute)
        found = [self._lifted(x) for x in route.resisted(inputs=inputs)]
        entries: dict[Entry, Expr] = {}
        for variable in variables(equations, words, equations.inputs):
            for (i, j), x in jacobian(found, variable.directions).items():
                entries[variable.word, i, j] = x
        return {i: x for i, x in enumerate(found) if x is not self.system.arena.zero}, entries

    def _call(
        self,
        routine: Routine,
        parts: int = 1,
        at: Mapping[str, ValuePlace] | None = None,
        *,
        follows: bool = False,
        again: Sequence[Sweep] = (),
    ) -> None:
        arrays = at if at is not None else {MEMORY: (MEMORY, 0), RESULT: (RESULT, 0)}
        own = {a: arrays[a] for a in routine.arrays if a not in routine.swept}
        self.calls.append(Call(routine, own, parts, follows, again))


def in_memory(places: Mapping[str, int]) -> dict[str, ValuePlace]:
    """Arrays that begin at places of memory."""
    return {array: (MEMORY, place) for array, place in places.items()}


def composed_terms(equations: Equations, width: int) -> ComposedTerms:
    """The forces that a motion needs and their derivatives by q, u and udot, of ``is_composable`` equations.

    Args:
        equations: of a model.
        width: how many doubles a register holds.
    """
    with collector_paused():
        return Composition(equations, width).forces()
