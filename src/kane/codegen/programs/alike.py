"""Programs that are alike: equal except for leaves, numbers, signs, and the places of their outputs.

An example are the corners of many boxes. Alike programs are ordered, emitted and compiled once. The search knows
nothing of bodies: it compares operations, from the outputs down to the leaves. Signs that differ become numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from kane.codegen.programs.canonical import Form, Forms, SignChanges, sign_changes, times_factor, with_factors
from kane.codegen.programs.program import Program
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, PARAMETER

# Largest number of changes of sign relative to the operations of a shared program. Corners on a plane, with 0.3, would
# make steps of boxes 4 % slower.
MOST_CHANGES = 0.1

# Programs that are alike up to signs: index and form of each.
Members = list[tuple[int, Form]]


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
    with collector_paused():
        computed = [[x for x in one.outputs if x.op != CONSTANT] for one in given]
        forms = Forms(list(chain.from_iterable(computed)))
        groups: dict[object, list[tuple[int, Form]]] = {}
        for k, (one, own) in enumerate(zip(given, computed, strict=True)):
            form = forms.form(own)
            groups.setdefault((len(one.outputs), id(one.rest), form.key), []).append((k, form))
        found = {}
        for group, (members, changes) in enumerate(chain.from_iterable(map(_divided, groups.values()))):
            shared, reads = _shared(given[members[0][0]], [form for _, form in members], changes)
            for number, ((k, _), read) in enumerate(zip(members, reads, strict=True)):
                places: Iterator[int] = iter(range(len(computed[k])))
                outputs: list[int | Expr] = [x if x.op == CONSTANT else next(places) for x in given[k].outputs]
                found[k] = AlikeProgram(given[k].name, group, number, shared, read, outputs)
    return [found[k] for k in range(len(given))]


def _divided(members: Members) -> Iterator[tuple[Members, SignChanges]]:
    """Yield programs that share operations, with their changes of sign; many changes divide them by their signs."""
    changes, ends = sign_changes([form for _, form in members])
    first = members[0][1]
    if len(changes) + sum(-1 in signs for signs in ends) <= MOST_CHANGES * sum(bool(x.args) for x in first.nodes):
        yield members, (changes, ends)
        return
    equal: dict[tuple[int, ...], Members] = {}
    for k, form in members:
        equal.setdefault(tuple(form.signs), []).append((k, form))
    for own in equal.values():
        yield own, ({}, [(1,) * len(own)] * len(first.outputs))


def _shared(first: Unscheduled, forms: Sequence[Form], given: SignChanges) -> tuple[Program, list[dict[Expr, Expr]]]:
    """Return the shared program of alike programs, and the leaf or number that each reads for each of its leaves."""
    form, (changes, ends) = forms[0], given
    # Names of parameters do not begin with a space.
    numbers = {x: x.arena.leaf(PARAMETER, f" number {k + 1}") for k, x in enumerate(form.read) if x.op == CONSTANT}
    distinct = [signs for signs in dict.fromkeys((*changes.values(), *ends)) if -1 in signs]
    factors = {signs: form.nodes[0].arena.leaf(PARAMETER, f" sign {k + 1}") for k, signs in enumerate(distinct)}
    outputs = with_factors(form.outputs, numbers, {key: factors[signs] for key, signs in changes.items()})
    outputs = [times_factor(factors.get(signs), x) for x, signs in zip(outputs, ends, strict=True)]
    reads = [dict(zip([numbers.get(x, x) for x in form.read], own.read, strict=True)) for own in forms]
    for signs, leaf in factors.items():
        for own, sign in zip(reads, signs, strict=True):
            own[leaf] = leaf.arena.constant(float(sign))
    return first.schedule(outputs, [*numbers.values(), *factors.values()]), reads
