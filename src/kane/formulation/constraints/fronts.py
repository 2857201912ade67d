"""The order in which closed loops are eliminated one after the other: fronts, from what A and M may hold.

A front is a few columns (speeds) that are eliminated together, the rows of A that hold the first of them, and the
columns beyond that these rows or M tie them to; what is left of rows and of M goes to the front that eliminates the
first of those. Where loops are chained or hang on one platform, fronts stay small however many loops there are.

Source: the multifrontal method, Duff & Reid 1983; columns in order of least degree, Tinney & Walker 1967.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# Two fronts become one where that adds no more entries than this to the larger of both: each costs some 100 ns.
ADDED = 8


@dataclass
class Front:
    """Some columns, eliminated together.

    Attributes:
        own: the columns eliminated here.
        beyond: columns of later fronts that they are tied to.
        rows: of A, those that hold a column of this front and of none before.
        parent: the front that takes what is left; None for the last of a group of loops.
    """

    own: list[int]
    beyond: list[int]
    rows: list[int] = field(default_factory=list)
    parent: Front | None = None


def fronts(rows: Sequence[Iterable[int]], ties: Iterable[tuple[int, int]], n: int) -> list[Front]:
    """The fronts of n columns, every one before its parent.

    Args:
        rows: which columns each row of A may hold.
        ties: pairs of columns that M couples.
        n: how many columns there are.
    """
    tied: list[set[int]] = [set() for _ in range(n)]
    for i, j in [*ties, *((i, j) for row in map(list, rows) for i in row for j in row)]:
        if i != j:
            tied[i].add(j)
            tied[j].add(i)
    found = _merged(_by_least_degree(tied))
    of = {j: front for front in found for j in front.own}
    place = {id(front): k for k, front in enumerate(found)}
    for i, row in enumerate(rows):
        if columns := list(row):
            min((of[j] for j in columns), key=lambda front: place[id(front)]).rows.append(i)
    return found


def _by_least_degree(tied: list[set[int]]) -> list[Front]:
    """One front for each column, that with the fewest ties first; what it is tied to is then tied together."""
    left, made = set(range(len(tied))), []
    while left:
        j = min(left, key=lambda j: (len(tied[j]), j))
        left.remove(j)
        beyond = tied[j]
        for k in beyond:
            tied[k] |= beyond
            tied[k] -= {j, k}
        made.append(Front([j], sorted(beyond)))
    of = {front.own[0]: front for front in made}
    order = {front.own[0]: k for k, front in enumerate(made)}
    for front in made:
        if front.beyond:
            front.parent = of[min(front.beyond, key=order.__getitem__)]
    return made


def _merged(made: list[Front]) -> list[Front]:
    """Fronts that cost no more together, each at the place of its last."""
    gone: dict[int, Front] = {}
    for front in made:
        parent = front.parent
        while parent is not None and id(parent) in gone:
            parent = gone[id(parent)]
        front.parent = parent
        if parent is None:
            continue
        beyond = set(front.beyond) - set(parent.own)
        own, together = len(front.own) + len(parent.own), set(parent.beyond) | beyond
        whole = own + len(together)
        apart = max(len(front.own) + len(front.beyond), len(parent.own) + len(parent.beyond))
        if whole * whole - apart * apart <= ADDED:
            parent.own, parent.beyond = [*front.own, *parent.own], sorted(together)
            gone[id(front)] = parent
    kept = [front for front in made if id(front) not in gone]
    for front in kept:
        while front.parent is not None and id(front.parent) in gone:
            front.parent = gone[id(front.parent)]
    return kept
