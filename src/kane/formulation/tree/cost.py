"""Cost of evaluating expressions, by which routes, speeds and bases are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, OPERATIONS, PARAMETER
from kane.expression.traverse import count_operations, reachable

# Cost of a division on current processors, in multiplications.
DIVISION = 8
PRICES = {"mul": 1, "add": 1, "div": DIVISION}
# For each quantity its alternatives, each a list of expressions.
Choices = Sequence[Sequence[Sequence[Expr]]]


def cost(expressions: Sequence[Any]) -> int:
    """Return the run-time cost of expressions in multiplications; operations on parameters alone are free."""
    totals = count_operations([x for x in expressions if isinstance(x, Expr)], free=(PARAMETER,))
    return sum(totals[word] * price for word, price in PRICES.items())


def cheapest_alternatives(given: Sequence[Expr], choices: Choices, starts: Iterable[Sequence[int]]) -> list[int]:
    """Choose one alternative for each of several quantities so that the total cost is least.

    The search begins with the cheapest of ``starts`` and exchanges one alternative at a time as long as this saves
    operations. Shared operations count once, so that no alternative can be judged alone.

    Args:
        given: expressions that are evaluated in any case.
        choices: the alternatives of each quantity.
        starts: initial choices: one index per quantity.

    Returns:
        The index of the chosen alternative of each quantity.
    """
    prices = _prices([*given, *(x for ways in choices for way in ways for x in way)])
    sets = [[_paid(way, prices) for way in ways] for ways in choices]
    base = _paid(given, prices)

    def total(chosen: Sequence[int]) -> int:
        return sum(prices[x] for x in base.union(*(ways[k] for ways, k in zip(sets, chosen, strict=True))))

    start = min(starts, key=total)
    best = list(start)
    uses = Counter(base)
    for ways, k in zip(sets, best, strict=True):
        uses.update(ways[k])
    changed = True
    while changed:
        changed = False
        for j, ways in enumerate(sets):
            uses.subtract(ways[best[j]])
            k = min(range(len(ways)), key=lambda k: (sum(prices[x] for x in ways[k] if not uses[x]), k != best[j]))
            changed, best[j] = changed or k != best[j], k
            uses.update(ways[k])
    return best


def _prices(expressions: Sequence[Expr]) -> dict[Expr, int]:
    """Return the costs of all operations in the expressions that are not free."""
    free: set[Expr] = set()
    found = {}
    for node in reachable(expressions):
        if free.issuperset(node.args) if node.args else node.op in (PARAMETER, CONSTANT):
            free.add(node)
        elif price := PRICES.get(OPERATIONS[node.op].cost or ""):
            found[node] = price
    return found


def _paid(expressions: Sequence[Expr], prices: dict[Expr, int]) -> set[Expr]:
    return prices.keys() & set(reachable(expressions))
