"""Canonical forms: equal for programs that differ only in leaves, numbers, signs and the order of commutative operands.

A change of sign is no operation: each operand has a sign, and a difference is a sum whose second operand is negative.
Commutative operands are visited in the order of the operations below them, and sorted by their first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import reduce
from typing import NamedTuple

import numpy as np

from kane.expression.construct import mul
from kane.expression.node import Expr
from kane.expression.operations import (
    ABS,
    ADD,
    ASIN,
    CONSTANT,
    COS,
    DIV,
    EQUAL,
    MAX,
    MIN,
    MUL,
    NEG,
    PARAMETER,
    POW,
    SELECT,
    SIGN,
    SIN,
    SUB,
    TAN,
    TANH,
)
from kane.expression.traverse import reachable, rebuild

# Numbers that alike programs have in common, up to their signs; other numbers may differ.
_LITERAL = frozenset((0.0, 0.5, 1.0, 2.0))
_COMMUTATIVE = frozenset((ADD, SUB, MUL, MIN, MAX, EQUAL))
_ODD = frozenset((MUL, DIV, SIN, TAN, ASIN, TANH, SIGN))
_EVEN = frozenset((ABS, COS))
# Leaves that cost nothing at run time.
_FIXED = frozenset((CONSTANT, PARAMETER))
# Operations whose last two operands may both change their signs, with a change of the sign of the result.
_SUMS = frozenset((ADD, SUB, SELECT))


class _Operation(NamedTuple):
    """An operation or a leaf.

    Attributes:
        shape: number of the operations from here down to the leaves; equal if these are equal up to signs and order.
        code: the operation and its data, for the key.
        operands, signs: node and sign of each operand.
        visits: the operands, the last to be visited first.
    """

    shape: int
    code: tuple[object, ...]
    operands: tuple[Expr, ...]
    signs: tuple[int, ...]
    visits: tuple[Expr, ...]


class Form(NamedTuple):
    """The canonical form of outputs that are no numbers.

    Attributes:
        key: the operations and how they are wired; equal for alike programs.
        nodes: operations and leaves, in the order of a visit.
        exchanged: sums and the like whose operands are in the other order than their arguments.
        signs: signs of the operands of all nodes, then of the outputs.
        outputs: the outputs.
    """

    key: tuple[object, ...]
    nodes: Sequence[Expr]
    exchanged: Set[Expr]
    signs: Sequence[int]
    outputs: Sequence[Expr]

    @property
    def read(self) -> list[Expr]:
        """Leaves and numbers that may differ between alike programs."""
        return [x for x in self.nodes if not x.args and not _is_literal(x)]


class Forms:
    """Finds the forms of programs that share nodes."""

    def __init__(self, outputs: Sequence[Expr]) -> None:
        self._known: dict[Expr, _Operation] = {}
        self._shapes: dict[tuple[object, ...], int] = {}
        for node in reachable(outputs):
            if node.op != NEG:
                self._learn(node)

    def _learn(self, node: Expr) -> None:
        operands, signs = _operands(node)
        for x in operands:
            if x not in self._known:
                self._learn(x)  # the size of a negative number
        code: tuple[object, ...] = (ADD if node.op == SUB else node.op,)
        if _is_literal(node) or (node.args and node.data is not None):
            code = node.op, node.data
        elif _has_exponent(node):
            code = node.op, node.args[1].data
        shapes, visits = [self._known[x].shape for x in operands], operands[::-1]
        if node.op in _COMMUTATIVE and shapes[0] > shapes[1]:
            shapes, visits = shapes[::-1], operands
        shape = self._shapes.setdefault((code, *shapes), len(self._shapes))
        self._known[node] = _Operation(shape, code, operands, signs, visits)

    def form(self, outputs: Sequence[Expr]) -> Form:
        """Return the form of outputs that are no numbers."""
        roots = [_signed(x) for x in outputs]
        places = self._visited([x for _, x in roots])
        key: list[object] = []
        exchanged: set[Expr] = set()
        signs: list[int] = []
        for node in places:
            _, code, operands, own, _ = self._known[node]
            at = [places[x] for x in operands]
            if len(at) == 2 and at[0] > at[1] and node.op in _COMMUTATIVE:
                at, own = at[::-1], own[::-1]
                exchanged.add(node)
            key.append((*code, *at))
            signs += own
        signs += [sign for sign, _ in roots]
        return Form((*key, *(places[x] for _, x in roots)), list(places), exchanged, signs, outputs)

    def _visited(self, roots: Sequence[Expr]) -> dict[Expr, int]:
        """Return the nodes that the roots depend on, depth first, with their places in this order."""
        places: dict[Expr, int] = {}
        for root in roots:
            stack = [root]
            while stack:
                node = stack[-1]
                missing = [x for x in self._known[node].visits if x not in places]
                if missing:
                    stack += missing
                else:
                    places.setdefault(node, len(places))
                    stack.pop()
        return places


# Signs, one for each program.
Signs = tuple[int, ...]
# Signs of arguments, by node and index, and signs of outputs.
SignChanges = tuple[dict[tuple[Expr, int], Signs], list[Signs]]


def sign_changes(forms: Sequence[Form]) -> SignChanges:
    """Return the signs that turn the first of alike programs into each of them.

    Signs are passed through products and odd functions, and one sign of each sum to its users.

    Returns:
        The changes; arguments without a change are left out.
    """
    first = forms[0]
    passed: dict[Expr, np.ndarray] = {}
    found: dict[tuple[Expr, int], Signs] = {}
    changes = iter((np.array([form.signs for form in forms], np.int8) * np.array(first.signs, np.int8)).T)
    for node in first.nodes:
        operands, _ = _operands(node)
        order = range(len(operands) - 1, -1, -1) if node in first.exchanged else range(len(operands))
        own = {k: next(changes) * passed.get(operands[k], 1) for k in order}
        if node.op in _ODD:
            passed[node] = reduce(np.multiply, own.values())
            continue
        if node.op in _EVEN:
            continue
        if node.op in _SUMS:
            first_of, second = len(operands) - 2, len(operands) - 1
            if _is_cheap(operands[first_of]):
                first_of, second = second, first_of
            passed[node] = own[first_of]
            own = {second: own[first_of] * own[second]}
        found |= {(node, k): tuple(signs.tolist()) for k, signs in own.items() if signs.min() < 0}
    roots = [_signed(x)[1] for x in first.outputs]
    return found, [tuple((next(changes) * passed.get(x, 1)).tolist()) for x in roots]


def with_factors(
    outputs: Sequence[Expr], leaves: Mapping[Expr, Expr], factors: Mapping[tuple[Expr, int], Expr]
) -> list[Expr]:
    """Return outputs with leaves for numbers, and with factors of the arguments of nodes."""
    image: dict[Expr, Expr] = {}
    for node in reachable(outputs):
        args = [image[a] for a in node.args]
        if _has_exponent(node):
            args[1] = node.args[1]
        args = [times_factor(factors.get((node, k)), a) for k, a in enumerate(args)]
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        image[node] = leaves.get(node, node) if same else rebuild(node, args)
    return [image[x] for x in outputs]


def times_factor(factor: Expr | None, x: Expr) -> Expr:
    """Return a factor times x; a parameter in x is multiplied first. Without a factor return x."""
    if factor is None:
        return x
    if x.op == MUL and x.args[0].op != PARAMETER and x.args[1].op == PARAMETER:
        return mul(mul(factor, x.args[1]), x.args[0])
    return mul(mul(factor, x.args[0]), x.args[1]) if x.op == MUL else mul(factor, x)


def _operands(node: Expr) -> tuple[tuple[Expr, ...], tuple[int, ...]]:
    """Return the operands of a node and their signs; the exponent of a power is no operand if it is a number."""
    found = [_signed(x) for x in node.args[: 1 if _has_exponent(node) else None]]
    signs = [sign for sign, _ in found]
    if node.op == SUB:
        signs[1] = -signs[1]
    return tuple(x for _, x in found), tuple(signs)


def _signed(x: Expr) -> tuple[int, Expr]:
    """Return x as a sign and an expression that is no change of sign and no negative number of ``_LITERAL``."""
    if x.op == NEG:
        return -1, x.args[0]
    return (-1, x.arena.constant(-x.data)) if x.op == CONSTANT and -x.data in _LITERAL and x.data else (1, x)


def _is_literal(x: Expr) -> bool:
    return x.op == CONSTANT and abs(x.data) in _LITERAL


def _has_exponent(x: Expr) -> bool:
    """Check whether x is a power whose exponent is a number; its code depends on this number."""
    return x.op == POW and x.args[1].op == CONSTANT


def _is_cheap(x: Expr) -> bool:
    """Check whether a change of the sign of x can be that of a number or a parameter."""
    return x.op in _FIXED or (x.op == MUL and (x.args[0].op in _FIXED or x.args[1].op in _FIXED))
