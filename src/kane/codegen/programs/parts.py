"""Programs in parts: a straight-line first part, then calls of routines on arrays in memory.

A routine is code that several calls share. A wide routine processes several items at once, such as the links of a
mechanism or the columns of a matrix: its arrays contain each value for all items, one item per SIMD lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.expression.operations import INPUT

# Bases of arrays: numbers that no state changes, scratch memory of one call, and results.
CONSTANTS, MEMORY, RESULT = "constants", "memory", "result"
# Array of ones and zeros with which routines sum over other items: x + mask * value.
MASKS = "masks"
# Name of an array or base, and index of a double in it.
ValuePlace = tuple[str, int]
# Where arrays of a routine begin: an index in memory, or a base and an index.
Places: TypeAlias = Mapping[str, int | ValuePlace]


class Routine:
    """Expressions whose leaves are read from arrays, and the places to which the results are written.

    Attributes:
        name: name of the function, unique in a program.
        wide: whether the routine processes several items at once.
        plain: arrays with one number for all items, and the distance between consecutive values in doubles.
        swept: arrays whose start changes in a loop over rounds; see ``Sweep``.
        arena: arena of the leaves.
        leaves: array and index of each leaf.
        outputs: results, each with its array and index.
    """

    def __init__(
        self, name: str, *, wide: bool = True, plain: Mapping[str, int] | None = None, swept: tuple[str, ...] = ()
    ) -> None:
        self.name, self.wide, self.plain, self.swept = name, wide, dict(plain or {}), swept
        self.arena = Arena()
        self.leaves: dict[Expr, ValuePlace] = {}
        self.outputs: list[tuple[Expr, str, int]] = []
        self._known: dict[tuple[str, int], Expr] = {}

    def read(self, array: str, first: int, count: int = 1) -> tuple[Expr, ...]:
        """Return ``count`` consecutive values of an array as leaves."""
        found = []
        for index in range(first, first + count):
            leaf = self._known.get((array, index))
            if leaf is None:
                leaf = self._known[array, index] = self.arena.leaf(INPUT, f"{array} {index}")
                self.leaves[leaf] = array, index * self.plain.get(array, 1)
            found.append(leaf)
        return tuple(found)

    def write(self, array: str, values: Iterable[Any], first: int = 0) -> None:
        """Write numbers or expressions to consecutive places of an array."""
        self.outputs += [(self.arena.lift(x), array, first + k) for k, x in enumerate(values)]

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the arrays that are read, in the order of first use."""
        return tuple(dict.fromkeys(array for array, _ in self.leaves.values()))

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the arrays that are written, in the order of first use."""
        return tuple(dict.fromkeys(array for _, array, _ in self.outputs))

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of all arrays."""
        return tuple(dict.fromkeys((*self.reads, *self.writes)))

    @property
    def stores(self) -> dict[Expr, list[ValuePlace]]:
        """Places to which each result is written."""
        found: dict[Expr, list[ValuePlace]] = {}
        for node, array, index in self.outputs:
            found.setdefault(node, []).append((array, index))
        return found

    def has_items(self, array: str) -> bool:
        """Return whether an array contains a value for each item."""
        return self.wide and array not in self.plain

    @cached_property
    def varying(self) -> frozenset[Expr]:
        """Nodes that depend on swept arrays and are therefore computed in every round."""
        found = {leaf for leaf, (array, _) in self.leaves.items() if array in self.swept}
        for node in self.program.instructions:
            if not found.isdisjoint(node.args):
                found.add(node)
        return frozenset(found)

    @cached_property
    def program(self) -> Program:
        """Operations of the routine, in order."""
        return Program(self.name, [x for x, _, _ in self.outputs], state=list(self.leaves), rest=(), parameters=())


class Sweep(NamedTuple):
    """One round of a call that repeats a routine with other swept arrays.

    Attributes:
        at: base and start of each swept array in this round.
        items: items whose results are used.
    """

    at: Mapping[str, ValuePlace]
    items: Sequence[int]


class Call(NamedTuple):
    """One call of a routine.

    Attributes:
        routine: routine to call.
        at: base and start of each array that is not swept.
        items: number of items; results of further lanes are not used.
        follows: whether each item only needs results of the previous call for the same item and for items before it.
        rounds: rounds of a routine with swept arrays.
    """

    routine: Routine
    at: Mapping[str, ValuePlace]
    items: int = 1
    follows: bool = False
    rounds: Sequence[Sweep] = ()

    @property
    def bases(self) -> dict[str, str]:
        """Base of each array."""
        places = {**self.at, **(self.rounds[0].at if self.rounds else {})}
        return {array: places[array][0] for array in self.routine.arrays}

    @property
    def operations(self) -> int:
        """Number of operations."""
        nodes, varying = self.routine.program.instructions, self.routine.varying
        return len(nodes) + max(0, len(self.rounds) - 1) * sum(node in varying for node in nodes)


class PartsBuilder:
    """Calls of a program in parts, and the arrays that they use, allocated in the order of requests.

    Attributes:
        width: number of items that wide routines process at once, 1, 2, 4 or 8.
        calls: calls of routines, in order.
        memory: length of the scratch memory [doubles].
        n_out: number of results.
        constants: numbers that the routines read.
        values, places: outputs of the first part, and the index in memory of each.
    """

    def __init__(self, width: int) -> None:
        self.width, self.memory, self.n_out = width, 0, 0
        self.calls: list[Call] = []
        self.constants: list[float] = []
        self.values: list[Any] = []
        self.places: list[int] = []

    def take(self, values: int) -> int:
        """Return the start of memory for this number of values, each of all items."""
        self.memory += values * self.width
        return self.memory - values * self.width

    def give(self, count: int) -> int:
        """Return the start of ``count`` further results."""
        self.n_out += count
        return self.n_out - count

    def constant(self, rows: Iterable[Sequence[float]]) -> ValuePlace:
        """Store constants, one row of items for each value, and return their place."""
        start = len(self.constants)
        for row in rows:
            self.constants += [*row, *[0.0] * (self.width - len(row))]
        return CONSTANTS, start

    def put(self, start: int, values: Iterable[Any], apart: int = 1) -> None:
        """Let the first part write values to memory, ``apart`` doubles from each other."""
        for k, x in enumerate(values):
            self.places.append(start + k * apart)
            self.values.append(x)

    def hold(self, values: Sequence[Any]) -> int:
        """Let the first part write consecutive values to new memory, and return its start."""
        start = self.take(-(-len(values) // self.width))
        self.put(start, values)
        return start

    def call(
        self,
        routine: Routine,
        items: int,
        at: Places,
        *,
        follows: bool = False,
        rounds: Sequence[tuple[Places, Sequence[int]]] = (),
    ) -> None:
        """Append a call of a routine.

        Args:
            routine: routine to call.
            items: number of items.
            at: place of each array that is not swept; further arrays are ignored.
            follows: see ``Call``.
            rounds: for each round the places of the swept arrays, and the items whose results are used.
        """
        own = {array: at[array] for array in routine.arrays if array not in routine.swept}
        sweeps = [Sweep(_based({array: places[array] for array in routine.swept}), used) for places, used in rounds]
        self.calls.append(Call(routine, _based(own), items, follows, sweeps))

    def call_once(self, routine: Routine) -> None:
        """Append a call of a routine that names the bases as its arrays."""
        self.call(routine, 1, {MEMORY: (MEMORY, 0), RESULT: (RESULT, 0)})


def _based(places: Places) -> dict[str, ValuePlace]:
    return {array: (MEMORY, place) if isinstance(place, int) else place for array, place in places.items()}


class ProgramInParts(Program):
    """A program whose own outputs are written to memory, where calls of routines process them.

    Attributes:
        parts: calls of routines, and the memory, constants and results that they use.
    """

    def __init__(
        self,
        name: str,
        outputs: Sequence[Expr],
        parts: PartsBuilder,
        *,
        state: Sequence[Expr],
        rest: Sequence[Expr],
        parameters: Sequence[Expr],
    ) -> None:
        """Order the operations of the first part, whose outputs belong to ``parts.places``; see ``Program``."""
        super().__init__(name, outputs, state=state, rest=rest, parameters=parameters)
        self.parts = parts

    @property
    def n_out(self) -> int:
        return self.parts.n_out

    @property
    def operations(self) -> tuple[int, int]:
        single, wide = super().operations
        for call in self.parts.calls:
            if call.routine.wide:
                wide += call.operations
            else:
                single += call.operations
        return single, wide
