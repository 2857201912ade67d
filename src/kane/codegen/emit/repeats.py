"""Find repeated parts of a long program: sequences of steps that are equal except for the places they read and write.

A tree of many joints does nearly the same operations for every joint. Code that is written once, and reads indices from
a table, stays in the processor's caches and is compiled once. Straight-line code would outgrow the caches.

The search knows nothing of joints. It cuts where the hash of a few consecutive steps is smallest in a window. So equal
sequences are cut at the same steps, wherever they occur (content-defined chunking). Equal parts share one body, and the
order of steps does not change.

Source: content-defined chunking, Muthitacharoen, Chen & Mazieres 2001, A Low-bandwidth Network File System.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kane.codegen.emit.steps import EmittedStep
from kane.deferred import NamedTuple
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT

# Bounds for the number of steps of a part. Long parts keep more in registers; short parts are equal more often.
PART_SIZE_BOUNDS = ((300, 1000), (100, 350), (35, 120))
# Overhead of a part, for its call and its reads from tables [steps].
PART = 12
# Number of consecutive steps in a hash, and distance in steps from which an operand counts as "far".
_GRAM, _NEAR = 16, 48


class ProgramPart(NamedTuple):
    """Steps that are emitted as one function.

    Attributes:
        steps: steps of the part.
        reads: values from outside the part, each once, in the order of first use.
        body: number of the part's code; two parts have the same number if and only if they are equal.
    """

    steps: Sequence[EmittedStep]
    reads: tuple[Expr, ...]
    body: int


def repeated(
    steps: Sequence[EmittedStep], kinds: Mapping[Expr, str], stored: Mapping[Expr, Sequence[int]]
) -> list[ProgramPart]:
    """Return the steps as parts, cut so that few steps have to be written if equal parts are written once.

    Args:
        steps: steps of the program, in order.
        kinds: name of the array that contains each leaf.
        stored: indices of the outputs that equal each node.
    """
    words = _words(steps)
    best = min((_cuts(words, low, high) for low, high in PART_SIZE_BOUNDS), key=lambda cuts: _cost(words, cuts))
    bodies: dict[object, int] = {}
    parts = []
    for start, end in pairwise(best):
        reads, form = _form(steps[start:end], kinds, stored)
        body = bodies.setdefault((words[start:end].tobytes(), form), len(bodies))
        parts.append(ProgramPart(steps[start:end], reads, body))
    return parts


def _words(steps: Sequence[EmittedStep]) -> NDArray[np.uint64]:
    """Return a number for each step that encodes its operations and the distances back to its operands."""
    places: dict[Expr, int] = {}
    known: dict[object, int] = {}
    words = np.empty(len(steps), np.uint64)
    for i, step in enumerate(steps):
        what: list[object] = [step.product]
        for node in step.nodes:
            places[node] = i
            what += (node.op, node.data)
        if step.angles:
            what += [step.angles.index(node.args[0]) for node in step.nodes]
        for a in step.reads:
            distance = i - places.get(a, -_NEAR)
            what.append("constant" if a.op == CONSTANT else distance if distance < _NEAR else "far")
        words[i] = known.setdefault(tuple(what), len(known))
    return words


def _cuts(words: NDArray[np.uint64], low: int, high: int) -> list[int]:
    """Return the indices of the steps at which parts begin, and the end of the last part."""
    grams = _hashes(words)
    cuts = [0]
    while len(words) - cuts[-1] > high:
        start = cuts[-1] + low
        cuts.append(start + int(np.argmin(grams[start : cuts[-1] + high])))
    return [*cuts, len(words)]


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return for each step a hash of the _GRAM steps that begin there."""
    x = words + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    found, padded = np.zeros_like(x), np.concatenate([x, np.zeros(_GRAM, np.uint64)])
    for k in range(_GRAM):
        found = found * np.uint64(0x100000001B3) + padded[k : k + len(x)]
    return found ^ (found >> np.uint64(31))


def _cost(words: NDArray[np.uint64], cuts: Sequence[int]) -> int:
    """Return the number of steps to write, equal parts once, plus the overhead of all parts."""
    distinct = {words[start:end].tobytes(): end - start for start, end in pairwise(cuts)}
    return sum(distinct.values()) + PART * len(cuts)


def _form(
    steps: Sequence[EmittedStep], kinds: Mapping[Expr, str], stored: Mapping[Expr, Sequence[int]]
) -> tuple[tuple[Expr, ...], object]:
    """Return the operands from outside, and a key; parts with equal keys read and store at corresponding places."""
    inner: dict[Expr, int] = {}
    outer: dict[Expr, int] = {}
    wired: list[object] = []
    for step in steps:
        for a in step.reads:
            place = inner.get(a)
            wired.append(~outer.setdefault(a, len(outer)) if place is None else place)
        for node in step.nodes:
            inner[node] = len(inner)
            if node in stored:
                wired.append(("stored", len(stored[node])))
    read = tuple("constants" if a.op == CONSTANT else kinds.get(a, "work") for a in outer)
    return tuple(outer), (tuple(wired), read)


def count_written_steps(parts: Sequence[ProgramPart]) -> int:
    """Return the number of steps to write if equal parts are written once."""
    return sum(len(part.steps) for part in {part.body: part for part in parts}.values())
