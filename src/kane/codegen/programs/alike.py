"""Programs that are alike: equal except for the leaves and numbers that they read and the places of their outputs.

An example are the corners of many boxes. Alike programs are ordered, emitted and compiled once. The search knows
nothing of bodies: it compares operations, from the outputs down to the leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from kane.codegen.programs.program import Program
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, PARAMETER, POW
from kane.expression.traverse import reachable, substitute_nodes

# Numbers that alike programs have in common; other numbers may differ.
_LITERAL = frozenset((0.0, 0.5, 1.0, 2.0, -0.5, -1.0, -2.0))


class Unscheduled:
    """Outputs of a program whose operations were not ordered yet.

    Attributes:
        name: name of the program.
        outputs: expressions to compute, not yet shortened.
        rest: leaves of the second array of the program; alike programs have the same tuple.
        schedule: returns the program of outputs that read further parameters.
    """

    def __init__(
        self,
        name: str,
        outputs: Sequence[Expr],
        rest: tuple[Expr, ...],
        schedule: Callable[[Sequence[Expr], Sequence[Expr]], Program],
    ) -> None:
        self.name, self.outputs, self.rest, self.schedule = name, tuple(outputs), rest, schedule

    @cached_property
    def program(self) -> Program:
        """The program."""
        return self.schedule(self.outputs, ())


class AlikeProgram(NamedTuple):
    """A program that shares its operations with others.

    Attributes:
        name: name of the program.
        group, number: index of the shared program, and of this program in its group.
        shared: the shared program; its last parameters are the numbers that differ.
        reads: leaf or number that this program reads for each leaf of the shared program.
        outputs: for each output of this program its index in the shared program, or its value if it is a number.
    """

    name: str
    group: int
    number: int
    shared: Program
    reads: Mapping[Expr, Expr]
    outputs: Sequence[int | Expr]

    @property
    def leaves(self) -> list[Expr]:
        """The leaves that this program reads."""
        return [leaf for leaf in self.reads.values() if leaf.op != CONSTANT]


def find_alike(given: Sequence[Unscheduled]) -> list[AlikeProgram]:
    """Return the programs in their order; alike ones have the same shared program.

    All programs have the same state and parameters.
    """
    known: dict[object, tuple[int, Program, list[Expr]]] = {}
    counts: Counter[int] = Counter()
    found = []
    with collector_paused():
        for one in given:
            form, met = _form(one.outputs)
            key = form, id(one.rest)
            if key not in known:
                known[key] = len(known), *_shared(one, met)
            group, program, leaves = known[key]
            places: Iterator[int] = iter(range(len(one.outputs)))
            outputs = [output if output.op == CONSTANT else next(places) for output in one.outputs]
            reads = dict(zip(leaves, met, strict=True))
            found.append(AlikeProgram(one.name, group, counts[group], program, reads, outputs))
            counts[group] += 1
    return found


def _shared(one: Unscheduled, met: Sequence[Expr]) -> tuple[Program, list[Expr]]:
    """Return the program of the outputs that are no numbers, and a leaf for each leaf and number that was met."""
    # Names of parameters do not begin with a space.
    numbers = {x: x.arena.leaf(PARAMETER, f" number {k + 1}") for k, x in enumerate(met) if x.op == CONSTANT}
    outputs = substitute_nodes([x for x in one.outputs if x.op != CONSTANT], numbers)
    return one.schedule(outputs, list(numbers.values())), [numbers.get(x, x) for x in met]


def _form(outputs: Sequence[Expr]) -> tuple[object, list[Expr]]:
    """Return a key of the operations, equal for alike outputs; leaves and numbers in the order of their first use.

    If an operation is a power, all numbers belong to the key: the code of a power depends on its exponent.
    """
    roots = [x for x in outputs if x.op != CONSTANT]
    fixed = any(node.op == POW for node in reachable(roots))
    places: dict[Expr, int] = {}
    key: list[object] = [len(outputs)]
    met: list[Expr] = []
    for node in _in_order(roots):
        places[node] = len(places)
        if node.args:
            key.append((node.op, node.data, *[places[a] for a in node.args]))
        elif node.op == CONSTANT and (fixed or node.data in _LITERAL):
            key.append((node.op, node.data))
        else:
            key.append(node.op)
            met.append(node)
    key += [-1 - places[x] for x in roots]
    return tuple(key), met


def _in_order(roots: Sequence[Expr]) -> Iterator[Expr]:
    """Return the nodes that the roots depend on, depth first, arguments before their users."""
    done: set[Expr] = set()
    for root in roots:
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if a not in done]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            if node not in done:
                done.add(node)
                yield node
