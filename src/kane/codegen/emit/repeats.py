"""What repeats itself in a long program: parts that are step for step alike, but for where they read and write.

A tree of many joints does nearly the same for every joint. Code that is written once for all of them, and finds in a
table what to read, stays in the caches of the processor where straight-line code outgrows them, and is compiled once.

Nothing needs to be known of joints. Steps are cut where a few steps in a row have the least hash of their surroundings,
so that what is alike is cut alike wherever it stands (content-defined chunking); parts that are exactly alike are one
body. Nothing is reordered.

Source: content-defined chunking, Muthitacharoen, Chen & Mazieres 2001, A Low-bandwidth Network File System.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.codegen.emit.steps import EmittedStep
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT

# Fewest and most steps of a part. Long ones keep more in registers; where joints differ, short ones are found again.
SIZES = ((300, 1000), (100, 350), (35, 120))
# A part costs about as much as so many steps, for its call and for what it reads from tables.
PART = 12
# Steps in a row whose hash says where to cut, and how far apart two of them may lie for a cut to know that they belong
# together.
_GRAM, _NEAR = 16, 48


class ProgramPart(NamedTuple):
    """Steps that are emitted as one function.

    Attributes:
        steps: what it does.
        reads: what it reads of others, each once, in the order of first use.
        body: a number that parts have in common if and only if they are alike.
    """

    steps: Sequence[EmittedStep]
    reads: tuple[Expr, ...]
    body: int


def repeated(
    steps: Sequence[EmittedStep], kinds: Mapping[Expr, str], stored: Mapping[Expr, Sequence[int]]
) -> list[ProgramPart]:
    """The steps in parts, of which many are alike where much repeats itself.

    Args:
        steps: in order.
        kinds: the array in which each leaf lies.
        stored: the outputs that are a node, by their places.
    """
    words = _words(steps)
    best = min((_cuts(words, low, high) for low, high in SIZES), key=lambda cuts: _cost(words, cuts))
    bodies: dict[object, int] = {}
    parts = []
    for start, end in pairwise(best):
        reads, form = _form(steps[start:end], kinds, stored)
        body = bodies.setdefault((words[start:end].tobytes(), form), len(bodies))
        parts.append(ProgramPart(steps[start:end], reads, body))
    return parts


def _words(steps: Sequence[EmittedStep]) -> NDArray[np.uint64]:
    """A number for each step that says what it does, and how far before it what it reads is, where that is near."""
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
    """Where parts begin, and where the last one ends."""
    grams = _hashes(words)
    cuts = [0]
    while len(words) - cuts[-1] > high:
        start = cuts[-1] + low
        cuts.append(start + int(np.argmin(grams[start : cuts[-1] + high])))
    return [*cuts, len(words)]


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of the steps in a row that begin at each step."""
    x = words + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    found, padded = np.zeros_like(x), np.concatenate([x, np.zeros(_GRAM, np.uint64)])
    for k in range(_GRAM):
        found = found * np.uint64(0x100000001B3) + padded[k : k + len(x)]
    return found ^ (found >> np.uint64(31))


def _cost(words: NDArray[np.uint64], cuts: Sequence[int]) -> int:
    """How many steps have to be written, parts that look alike once, with what parts cost."""
    distinct = {words[start:end].tobytes(): end - start for start, end in pairwise(cuts)}
    return sum(distinct.values()) + PART * len(cuts)


def _form(
    steps: Sequence[EmittedStep], kinds: Mapping[Expr, str], stored: Mapping[Expr, Sequence[int]]
) -> tuple[tuple[Expr, ...], object]:
    """What steps read of others, and what they have in common with all that are alike besides their operations."""
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


def written(parts: Sequence[ProgramPart]) -> int:
    """How many steps have to be written if parts that are alike are written once."""
    return sum(len(part.steps) for part in {part.body: part for part in parts}.values())
