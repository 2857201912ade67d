"""Elimination order of closed loops: fronts, from the sparsity of A and M.

A front is a set of columns (speeds) that are eliminated together. It contains the rows of A that are nonzero in these
columns but in no earlier columns. It also contains the later columns that these rows or M couple to its own columns.
The remaining rows and the remaining part of M pass to the front that eliminates the first of these later columns. If
loops form a chain or share one platform, fronts stay small for any number of loops.

Source: multifrontal method, Duff & Reid 1983; columns in order of least degree, Tinney & Walker 1967.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from kane.deferred import dataclass

# Two fronts are merged if the merged front has at most this many entries more than the larger front. One front costs
# about 100 ns.
ADDED = 8


@dataclass
class Front:
    """Columns that are eliminated together.

    Attributes:
        own: columns eliminated in this front.
        beyond: columns of later fronts that are coupled to them.
        rows: rows of A with a column of this front and no column of an earlier front.
        parent: front that receives the remaining rows; None for the last front of a group of loops.
    """

    own: list[int]
    beyond: list[int]
    rows: list[int] = field(default_factory=list)
    parent: Front | None = None


def fronts(rows: Sequence[Iterable[int]], ties: Iterable[tuple[int, int]], n: int) -> list[Front]:
    """Return the fronts of n columns, each before its parent.

    Args:
        rows: columns in which each row of A may be nonzero.
        ties: pairs of columns that M couples.
        n: number of columns.
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
    """Return one front per column. The column with the fewest ties is next; then its neighbours are tied together."""
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
    """Merge fronts with their parents if this costs no more; a merged front has the position of the parent."""
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
