"""Programs composed of routines: what is alike for many parts is one routine, called with the parts side by side.

A routine reads places of arrays and writes places of arrays. Wide ones do it for several parts at once, laid out value
by value; the arrays that they read as plain numbers have one for all parts. All arrays lie in one piece of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from kane.codegen.programs.program import Program
from kane.expression.arena import Arena
from kane.expression.node import Expr
from kane.expression.operations import INPUT

# Where numbers that no state changes lie, where those of one call do, and its results.
CONSTANTS, MEMORY, RESULT = "constants", "memory", "result"
# The array of ones and zeros by which routines sum over the parts beside each one: x + mask * part.
MASKS = "masks"


class Routine:
    """Expressions of leaves that are places of arrays, and the places where they are put.

    Attributes:
        name: unlike that of any other routine of a program.
        wide: whether several parts are done side by side.
        plain: arrays of single numbers, the same for all parts, and how far apart those of neighbouring places lie.
        swept: arrays that differ from one to the next of the parts over which one call sweeps.
        reads, writes: the arrays, in the order in which they were first named.
        arena: of the leaves.
    """

    def __init__(
        self,
        name: str,
        *,
        wide: bool = True,
        plain: Mapping[str, int] | None = None,
        swept: tuple[str, ...] = (),
    ) -> None:
        self.name, self.wide, self.plain, self.swept = name, wide, dict(plain or {}), swept
        self.arena = Arena()
        self.leaves: dict[Expr, tuple[str, int]] = {}
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
        """Put values, numbers or expressions, in a row."""
        self.outputs += [(self.arena.lift(x), array, first + k) for k, x in enumerate(values)]

    @property
    def reads(self) -> tuple[str, ...]:
        """The arrays that are read."""
        return tuple(dict.fromkeys(array for array, _ in self.leaves.values()))

    @property
    def writes(self) -> tuple[str, ...]:
        """The arrays that are written."""
        return tuple(dict.fromkeys(array for _, array, _ in self.outputs))

    @property
    def arrays(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(dict.fromkeys((*self.reads, *self.writes)))

    @property
    def stores(self) -> dict[Expr, list[tuple[str, int]]]:
        """The places of each output."""
        found: dict[Expr, list[tuple[str, int]]] = {}
        for node, array, index in self.outputs:
            found.setdefault(node, []).append((array, index))
        return found

    @cached_property
    def varying(self) -> frozenset[Expr]:
        """What differs from round to round of a routine that is swept."""
        found = {leaf for leaf, (array, _) in self.leaves.items() if array in self.swept}
        for node in self.program.instructions:
            if not found.isdisjoint(node.args):
                found.add(node)
        return frozenset(found)

    @cached_property
    def program(self) -> Program:
        """Its operations in order."""
        return Program(self.name, [x for x, _, _ in self.outputs], state=list(self.leaves), rest=(), parameters=())


class Sweep(NamedTuple):
    """One round of a routine that is swept.

    Attributes:
        at: of the arrays that differ.
        parts: of which parts the results are used.
    """

    at: Mapping[str, tuple[str, int]]
    parts: Sequence[int]


class Call(NamedTuple):
    """One call of a routine.

    Attributes:
        routine: what is called.
        at: for each array of the routine, one of those above and the place in it where the array begins.
        parts: how many of the parts side by side there are; the others are not used.
        follows: whether of the call before each part needs what the same part and those before it have done only.
        again: of a routine that is swept: what differs from one round to the next.
    """

    routine: Routine
    at: Mapping[str, tuple[str, int]]
    parts: int = 1
    follows: bool = False
    again: Sequence[Sweep] = ()


@dataclass
class Composed:
    """A program whose operations are those of ``first``, then those of calls.

    Attributes:
        first: reads state, rest and stage; its outputs lie in memory.
        places: where in memory each of them lies.
        calls: in order.
        width: how many parts wide routines do side by side.
        memory, n_out: how many doubles memory and result take.
        constants: numbers.
    """

    first: Program
    places: Sequence[int]
    width: int
    calls: list[Call] = field(default_factory=list)
    memory: int = 0
    n_out: int = 0
    constants: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """That of its first program."""
        return self.first.name

    @property
    def operations(self) -> tuple[int, int]:
        """Of one state: those of single numbers, and those of parts side by side."""
        single, wide = len(self.first.instructions), 0
        for call in self.calls:
            count = _operations(call)
            single, wide = (single, wide + count) if call.routine.wide else (single + count, wide)
        return single, wide


def _operations(call: Call) -> int:
    nodes, varying = call.routine.program.instructions, call.routine.varying
    return len(nodes) + max(0, len(call.again) - 1) * sum(node in varying for node in nodes)
