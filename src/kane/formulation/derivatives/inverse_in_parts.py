"""Derivatives of inverse dynamics as a program in parts, with one link or one speed per SIMD lane."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parts import MASKS, MEMORY, RESULT, PartsBuilder, Places, ProgramInParts, Routine, ValuePlace
from kane.deferred import dataclass
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.formulation.derivatives.link_blocks import BlockArrays, LinkBlock, blocks_of, reference_of
from kane.formulation.derivatives.variables import Variable, variables
from kane.formulation.equations import Equations
from kane.formulation.recursive import links_in_lanes as lanes
from kane.formulation.recursive.coriolis import Twist
from kane.formulation.recursive.recursive_route import RecursiveRoute
from kane.geometry.scalars import ZERO_VECTOR

# Entry of a derivative: word of the variable, row, and column among those of the variable.
Entry = tuple[str, int, int]


@dataclass(frozen=True)
class DerivativeParts:
    """A program in parts that computes values and derivatives.

    Attributes:
        program: the program.
        values: index of each value in its results.
        entries: index of each derivative entry that may be nonzero.
    """

    program: ProgramInParts
    values: tuple[int, ...]
    entries: Mapping[Entry, int]

    def places(self, varied: Sequence[Variable]) -> tuple[list[int], list[int], list[int]]:
        """Return rows, columns and indices of the entries by some variables, whose columns are adjacent."""
        starts, start = {}, 0
        for variable in varied:
            starts[variable.word] = start
            start += len(variable.labels)
        found = [(i, starts[word] + j, place) for (word, i, j), place in self.entries.items() if word in starts]
        rows, columns, places = (list(x) for x in zip(*found, strict=True))
        return rows, columns, places


class InverseDerivatives:
    """Writer of the derivatives of inverse dynamics by q, u and udot as a program in parts.

    Args:
        equations: equations of a model, for which ``has_single_axes`` is true.
        width: number of doubles per register.

    Attributes:
        home: base of the array of entries.
        equations: equations of the model.
        system: system of the recursions, with base parameters if they save operations.
        reference: link whose frame is used for all links.
        parts: calls of routines, and their memory, constants and results.
        values, entries: places of values and entries in ``home``.
    """

    home = RESULT

    def __init__(self, equations: Equations, width: int) -> None:
        route = equations.route
        assert isinstance(route, RecursiveRoute)
        self.equations, self.system, self.width = equations, route.system, width
        self.reference = reference_of(self.system)
        self.parts = PartsBuilder(width)
        self.values: dict[int, int] = {}
        self.entries: dict[Entry, int] = {}
        self._natural = [next(iter(row)) for row in self.system.speeds.C]
        self._blocks = blocks_of(self.system, width)
        self._spots = {x: (b, lane) for b, block in enumerate(self._blocks) for lane, x in enumerate(block.links)}
        self._inward = {x: tuple(self._way_to_reference(x)) for x in self._spots}
        self._count = max((len(block.links) for block in self._blocks), default=0)
        self._frames = lanes.Frames(self.system, self.reference, equations.udot)
        # V and Vdot of the reference, laid out like one item of a block: other blocks read their parents so.
        self._base = self.parts.take(2 * lanes.RATE_NUMBERS)
        self._ground, self._own = self.parts.take(1), self.parts.take(-(-lanes.OWN_NUMBERS // width))
        self._same = self._same_axes()
        self._arrays = [self._allocate(block) for block in self._blocks]

    def derivatives(self) -> DerivativeParts:
        """Return the program."""
        self._put_reference()
        self._outwards()
        self._inwards()
        self._columns()
        if self.reference:
            self._within_reference()
        self._loads()
        values = tuple(self.values[j] for j in range(len(self.equations.u)))
        program = self._program("derivatives of inverse by q, u, udot", self.parts.values, self.equations.udot)
        return DerivativeParts(program, values, self.entries)

    def _program(self, name: str, values: Sequence[Any], rest: Sequence[Expr]) -> ProgramInParts:
        equations = self.equations
        state = (equations.t, *equations.q, *equations.u)
        outputs = factor(equations.baked_in(map(equations.system.arena.lift, values)))
        return ProgramInParts(name, outputs, self.parts, state=state, rest=rest, parameters=equations.parameters)

    def _give(self, count: int) -> int:
        """Return the start of ``count`` further entries."""
        return self.parts.give(count)

    def _way_to_reference(self, index: int) -> Iterator[int]:
        """Yield a link and its ancestors beyond the reference."""
        while index != self.reference:
            yield index
            index = self.system.links[index].parent

    def _speeds(self, index: int) -> list[int]:
        return [self._natural[k] for k in self.system.columns(index)]

    @property
    def _base_speeds(self) -> list[int]:
        """Speeds of the reference; none if it is the ground."""
        return self._speeds(self.reference) if self.reference else []

    @property
    def _base_axes(self) -> list[Twist]:
        """S of the speeds of the reference."""
        return lanes.own_axes(self.system, self.reference) if self.reference else []

    def _same_axes(self) -> list[float | None]:
        """Return the components of S in K that are equal for all links, and None for the others."""
        found = [(*S.w, *S.v) for block in self._blocks for x in block.links for S in lanes.own_axes(self.system, x)]
        numbers = [[float(self._lifted(x).data) for x in row] for row in found]
        return [column[0] if len(set(column)) == 1 else None for column in zip(*numbers, strict=True)]

    def _lifted(self, x: Any) -> Expr:
        return self.equations.baked_in([self.system.arena.lift(x)])[0]

    def _allocate(self, block: LinkBlock) -> BlockArrays:
        """Allocate the arrays of a block, and let the first part write the poses."""
        sizes = (lanes.POSE_NUMBERS, lanes.JOINT_NUMBERS, lanes.MOTION_NUMBERS, 12, lanes.RATE_NUMBERS)
        pose, joint, moving, *others = (self.parts.take(n) for n in (*sizes, lanes.OWN_NUMBERS, lanes.OWN_NUMBERS))
        masses, axes = [], []
        for lane in range(self.width):
            if lane >= len(block.links):
                self.parts.put(pose + lane, [0.0] * lanes.POSE_NUMBERS, self.width)
                continue
            index = block.links[lane]
            k = self.system.columns(index)[0]
            motion = self.system.speeds.natural[k], self.equations.udot[self._natural[k]]
            R, p = self._frames.R[index], self._frames.p[index]
            self.parts.put(pose + lane, [*(x for row in R for x in row), *p, *motion], self.width)
            mass = self.system.masses[index]
            masses.append([self._lifted(x) for x in (mass.m, *mass.mc, *mass.J)])
            (S,) = lanes.own_axes(self.system, index)
            axes.append([float(self._lifted(x).data) for x in (*S.w, *S.v)])
        constants = self._masses(masses), self.parts.constant(zip(*axes, strict=True))
        halves = joint + 6 * self.width, moving + 12 * self.width
        return BlockArrays._make((*constants, pose, joint, moving, *others, *halves))

    def _masses(self, rows: Sequence[Sequence[Expr]]) -> int | ValuePlace:
        """Store mass parameters as constants, or let the first part compute them from parameters."""
        if all(x.is_constant for row in rows for x in row):
            return self.parts.constant([[x.data for x in column] for column in zip(*rows, strict=True)])
        start = self.parts.take(10)
        for lane in range(self.width):
            row = rows[lane] if lane < len(rows) else [0.0] * 10
            self.parts.put(start + lane, row, self.width)
        return start

    def _ancestor_masks(self, block: LinkBlock) -> ValuePlace:
        """Return masks of sums over the ancestors of each link in its block, itself included."""
        masks = [[float(other in self._inward[x]) for x in block.links] for other in block.links]
        return self.parts.constant([*masks, *[[0.0]] * (self._count - len(masks))])

    def _put_reference(self) -> None:
        frames, put = self._frames, self.parts.put
        put(self._base, [*frames.V.w, *frames.V.v, *frames.rate.w, *frames.rate.v], self.width)
        put(self._ground, frames.ground)
        if self.reference:
            mass = self.system.masses[self.reference]
            put(self._own, lanes.Whole.moving(mass, frames.V, frames.rate).numbers)

    def _above(self, block: LinkBlock, rate: bool) -> int:
        """Return the place of V, or Vdot, of the parent of a block."""
        if block.above == self.reference:
            return self._base + lanes.RATE_NUMBERS * self.width * rate
        b, lane = self._spots[block.above]
        return (self._arrays[b].rate if rate else self._arrays[b].moving) + lane

    def _outwards(self) -> None:
        """Call the routines of twists and their rates, and of sigma, P and F of the links."""
        routines = lanes.motions(self._same), *(f(self._count, self.width) for f in (lanes.twists, lanes.links))
        for block, at in zip(self._blocks, self._arrays, strict=True):
            arrays: Places = at._asdict() | {MASKS: self._ancestor_masks(block)}
            for k, routine in enumerate(routines):
                above = self._above(block, rate=routine is routines[-1])
                self.parts.call(routine, len(block.links), {**arrays, "above": above}, follows=k > 0)

    def _inwards(self) -> None:
        """Call the routines that sum over the links beyond each joint, blocks of children first."""
        routines = {size: lanes.sums(size[0], self.width, size[1]) for size in self._sizes()}
        for b in range(len(self._blocks) - 1, -1, -1):
            at, count = self._arrays[b], len(self._blocks[b].links)
            totals = self._beyond(b, [x.total for x in self._arrays])
            self.parts.call(routines[self._size(b)], count, {**at._asdict(), "all": at.own, **totals})

    def _hanging(self, b: int) -> list[int]:
        """Return the links of other blocks whose parents are in a block."""
        links = self._blocks[b].links
        return [x for x in self._spots if self.system.links[x].parent in links and self._spots[x][0] != b]

    def _size(self, b: int) -> tuple[int, int]:
        """Return the number of links of a block, and the number of their children in other blocks."""
        return len(self._blocks[b].links), len(self._hanging(b))

    def _sizes(self) -> set[tuple[int, int]]:
        return {self._size(b) for b in range(len(self._blocks))}

    def _beyond(self, b: int, totals: Sequence[int]) -> Places:
        """Return arrays for sums over the links beyond each joint: masks, and totals of children in other blocks."""
        links, arrays = self._blocks[b].links, {}
        masks = [[float(x in self._inward[other] and x != other) for x in links] for other in links[1:]]
        for k, x in enumerate(self._hanging(b)):
            masks.append([float(y in self._inward[x]) for y in links])
            arrays[f"total{k}"] = totals[self._spots[x][0]] + self._spots[x][1]
        return {MASKS: self.parts.constant(masks), **arrays}

    def _columns(self) -> None:
        """Compute the forces of the speeds of a block, and their entries with the speeds of their ancestors."""
        fields, alone = lanes.fields(), bool(self.reference)
        pairs = lanes.pairs(self._base_axes, self.width)
        for block, at in zip(self._blocks, self._arrays, strict=True):
            count, force = len(block.links), self._give(self.width)
            for lane, x in enumerate(block.links):
                self.values[self._speeds(x)[0]] = force + lane
            self.parts.call(fields, count, at._asdict())
            arrays = at._asdict() | {"V": self._base, "ground": self._ground, "force": (self.home, force)}
            if alone:
                arrays |= {f"base_{a}": place for a, place in self._results(block, self.reference).items()}
            rounds = []
            for x in self._ancestors(block):
                b, lane = self._spots[x]
                upper = self._arrays[b].joint + lane
                rounds.append(({"upper": upper, **self._results(block, x)}, self._descendants(block, x)))
            self.parts.call(pairs, count, arrays, follows=True, rounds=rounds)

    def _ancestors(self, block: LinkBlock) -> list[int]:
        """Return the ancestors of the links of a block beyond the reference, themselves included."""
        return sorted({y for link in block.links for y in self._inward[link]})

    def _descendants(self, block: LinkBlock, above: int) -> list[int]:
        """Return the lanes of a block whose links descend from another link, or are this link."""
        return [lane for lane, x in enumerate(block.links) if above == self.reference or above in self._inward[x]]

    def _results(self, block: LinkBlock, above: int) -> dict[str, int | ValuePlace]:
        """Return places for the entries of a block with the speeds of a link."""
        own = self._give(3 * len(self._speeds(above)) * self.width)
        by_q, by_u = self._upper_places(block, above)
        for k, j in enumerate(self._speeds(above)):
            for lane in self._descendants(block, above):
                (i,) = self._speeds(block.links[lane])
                for row, word in enumerate(("q", "u", "udot")):
                    self.entries[word, i, j] = own + (3 * k + row) * self.width + lane
                self.entries["udot", j, i] = self.entries["udot", i, j]
                if block.links[lane] != above:
                    self.entries["q", j, i], self.entries["u", j, i] = (
                        at + k * self.width + lane for at in (by_q, by_u)
                    )
        return {"own": (self.home, own), "by_q": (self.home, by_q), "by_u": (self.home, by_u)}

    def _upper_places(self, block: LinkBlock, above: int) -> tuple[int, int]:
        """Return places for the derivatives of a link's forces by q and by u of a block."""
        n = len(self._speeds(above)) * self.width
        return self._give(n), self._give(n)

    def _within_reference(self) -> None:
        """Compute the forces and entries of the reference's own speeds, on single numbers."""
        at = Routine("kane_base", wide=False)
        whole = self._whole(at)
        V = [at.read(MEMORY, self._base + k * self.width)[0] for k in range(6)]
        ground = Twist(ZERO_VECTOR, at.read(MEMORY, self._ground, 3))
        speeds, axes = self._base_speeds, self._base_axes
        fields = [lanes.base_fields(S, Twist(tuple(V[:3]), tuple(V[3:])), ground) for S in axes]
        for i, S, own in zip(speeds, axes, fields, strict=True):
            lower = lanes.Lower.beyond(whole, S, own)
            self._write(at, self.values, i, S.power(whole.force))
            for j, T, field in zip(speeds, axes, fields, strict=True):
                found, _, _ = lower.under(T, field)
                for word, x in zip(("q", "u", "udot"), found, strict=True):
                    self._write(at, self.entries, (word, i, j), x)
        self.parts.call_once(at)

    def _whole(self, at: Routine) -> lanes.Whole:
        """Return the sums over the reference and all its descendants."""
        total = list(at.read(MEMORY, self._own, lanes.OWN_NUMBERS))
        for x, (b, lane) in self._spots.items():
            if self.system.links[x].parent == self.reference:
                start = self._arrays[b].total + lane
                more = [at.read(MEMORY, start + k * self.width)[0] for k in range(lanes.OWN_NUMBERS)]
                total = [a + b for a, b in zip(total, more, strict=True)]
        return lanes.Whole.of(total)

    def _write(self, at: Routine, places: dict[Any, int], key: Any, value: Any) -> None:
        """Write a result to its known place, or to a new place."""
        if key not in places:
            places[key] = self._give(1)
        at.write(self.home, [value], places[key])

    def _loads(self) -> None:
        """Add the forces of springs, dampers and other loads, and their derivatives."""
        values, entries = self._resisted(("q", "u"), inputs=False)
        more: list[tuple[dict[Any, int], Any, Expr]] = [(self.values, i, x) for i, x in values.items()]
        more += [(self.entries, key, x) for key, x in entries.items()]
        if not more:
            return
        start, at = self.parts.hold([x for *_, x in more]), Routine("kane_loads", wide=False)
        for k, (places, key, _) in enumerate(more):
            (value,) = at.read(MEMORY, start + k)
            known = places.get(key)
            self._write(at, places, key, value if known is None else at.read(self.home, known)[0] + value)
        self.parts.call_once(at)

    def _resisted(self, words: Sequence[str], *, inputs: bool) -> tuple[dict[int, Expr], dict[Entry, Expr]]:
        """Return the forces of loads that may be nonzero, and their derivatives."""
        equations, route = self.equations, self.equations.route
        assert isinstance(route, RecursiveRoute)
        found = [self._lifted(x) for x in route.resisted(inputs=inputs)]
        entries: dict[Entry, Expr] = {}
        for variable in variables(equations, words, equations.inputs):
            for (i, j), x in jacobian(found, variable.directions).items():
                entries[variable.word, i, j] = x
        return {i: x for i, x in enumerate(found) if x is not self.system.arena.zero}, entries
