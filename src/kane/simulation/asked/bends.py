"""Times at which expressions of time alone bend the other way, have a kink or jump, so that steps can end there.

An integrator that chooses its steps sees an expression where it evaluates it. A pulse that begins and ends between two
evaluations is missed, by the error of the step as well as by guards and events. Between two inflections an expression
is convex or concave: a step that ends at each of them passes no pulse unseen, however short it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.errors import ModelError, warn
from kane.expression.derivative import CHOICES, forward
from kane.expression.interpret import interpret
from kane.expression.intervals import Interval, Intervals
from kane.expression.node import Expr
from kane.expression.operations import ABS, CONSTANT, EQUAL, LESS, LESS_EQUAL, MAX, MIN, SELECT, SIGN
from kane.expression.traverse import leaves, reachable
from kane.native.arrays import Vector

Rows = NDArray[np.float64]
# Of a run: times that are nearer to each other are one, and intervals that are shorter are not divided.
SAME = 1e-9
# Of the largest value of an expression: it counts as straight over an interval in which it leaves a line by less.
STRAIGHT = 1e-6
# An expression is given up that may bend in more intervals of one length than this.
MOST = 2**17
# Where an interval is divided: off the middle, so that no bend of a round time lies between two parts.
DIVIDED = 0.4871
# Steps of the Illinois method, which converges with order 1.44.
ILLINOIS = 14
COMPARED = (MIN, MAX, LESS, LESS_EQUAL, EQUAL)

_known: WeakKeyDictionary[ArrayFunction, dict[frozenset[Expr], tuple[Expr, ...]]] = WeakKeyDictionary()


def of_time_alone(functions: Iterable[ArrayFunction], time: Expr, constants: frozenset[Expr]) -> tuple[Expr, ...]:
    """The largest expressions in native functions that depend on time, and on nothing else that varies.

    Args:
        functions: programs of a run.
        time: the leaf.
        constants: leaves that do not vary in a run.
    """
    found: dict[Expr, None] = {}
    for function in functions:
        known = _known.setdefault(function, {})
        if constants not in known:
            known[constants] = _largest(_roots(function), time, constants)
        found |= dict.fromkeys(known[constants])
    return tuple(found)


def _roots(function: ArrayFunction) -> list[Expr]:
    """The outputs of all programs that a function calls."""
    parts = getattr(function, "parts", None)
    return [root for called in (parts.called if parts else [function]) for root in called.roots]


def _largest(roots: Sequence[Expr], time: Expr, constants: frozenset[Expr]) -> tuple[Expr, ...]:
    if not any(time in node.args for node in time.arena.nodes):
        return ()
    still, moving, used = set(constants), {time}, dict.fromkeys(roots)
    for node in reachable(roots):
        if not node.args:
            if node.op == CONSTANT:
                still.add(node)
        elif still.issuperset(node.args):
            still.add(node)
        elif all(a in still or a in moving for a in node.args):
            moving.add(node)
        else:
            used |= dict.fromkeys(node.args)
    return tuple(node for node in used if node in moving and node is not time)


class _Watched(NamedTuple):
    """Functions whose changes of sign are looked for.

    Attributes:
        values, rates: the functions and their derivatives.
        sizes: of each curvature the expression that it bends.
        is_bend: which of them are curvatures.
        guarding: expressions on which changes of modes depend.
    """

    values: list[Expr]
    rates: list[Expr]
    sizes: list[Expr]
    is_bend: Rows
    guarding: frozenset[Expr]

    @classmethod
    def of(cls, expressions: Sequence[Expr], time: Expr, guarding: Sequence[Expr]) -> _Watched:
        """The curvatures of expressions, and the arguments at whose changes of sign they have kinks or jump."""
        one, zero = {time: time.arena.one}, time.arena.zero
        curvatures = forward(forward(expressions, one), one)
        bends = [(x, size) for x, size in zip(curvatures, expressions, strict=True) if x.op != CONSTANT]
        kinks = [x for node in reachable(expressions) for x in _switching(node) if x.op != CONSTANT]
        pairs = dict([*((x, x) for x in kinks), *bends])
        values = list(pairs)
        is_bend = np.array([pairs[x] is not x for x in values], dtype=bool)
        rates = forward(values, one) if values else [zero][:0]
        return cls(values, rates, list(pairs.values()), is_bend, frozenset(reachable(guarding)))


def _switching(node: Expr) -> Sequence[Expr]:
    """What changes its sign where an operation has a kink or jumps."""
    if node.op in COMPARED:
        return [node.args[0] - node.args[1]]
    if node.op in (ABS, SIGN) or (node.op == SELECT and node.args[0].op not in (*COMPARED, *CHOICES)):
        return node.args[:1]
    return ()


def bends(
    expressions: Sequence[Expr],
    time: Expr,
    constants: Mapping[Expr, Rows],
    span: tuple[float, float],
    *,
    guarding: Sequence[Expr] = (),
) -> list[Vector]:
    """The times inside a span at which expressions of time alone bend the other way, have a kink or jump.

    Intervals are divided until interval arithmetic proves that a curvature has no zero in them, or one at most.

    Args:
        expressions: of time and of leaves that are constant.
        time: the leaf.
        constants: values of the other leaves, each (rows,), a row for each run, or one for all.
        span: from when to when [s], in either order.
        guarding: expressions, some of them, whose bends have to be found.

    Returns:
        The times of each row, increasing. An expression that bends too often is left out with a warning.

    Raises:
        ModelError: an expression of ``guarding`` bends too often.
    """
    constants = {leaf: constants[leaf] for leaf in leaves(expressions) if leaf is not time}
    rows = max([1, *(len(values) for values in constants.values())])
    with time.arena.scratch():
        watched = _Watched.of(expressions, time, guarding)
        if not watched.values or span[0] == span[1]:
            return [np.zeros(0)] * rows
        search = _BendSearch(watched, time, constants, (min(span), max(span)), rows)
        while search.row.size:
            search.judge()
            search.divide()
    return search.times()


class _BendSearch:
    """Intervals in which a function may change its sign, all of about one length.

    Attributes:
        row, low, high: of each interval.
        is_open: whether each function may change its sign in it, (functions, intervals).
    """

    def __init__(
        self, watched: _Watched, time: Expr, constants: Mapping[Expr, Rows], span: tuple[float, float], rows: int
    ) -> None:
        self._watched, self._time, self._constants, self._span, self._rows = watched, time, constants, span, rows
        self.row = np.arange(rows)
        self.low, self.high = np.full(rows, span[0]), np.full(rows, span[1])
        self.is_open = np.ones((len(watched.values), rows), bool)
        self._largest = np.zeros((len(watched.values), rows))
        self._found: list[tuple[Any, Any]] = []

    def judge(self) -> None:
        """Close what is known of each interval: there is no change of sign, or just one, which is then found."""
        watched, width = self._watched, self.high - self.low
        n = len(watched.values)
        ranges = self._evaluated([*watched.values, *watched.rates], Interval(self.low, self.high), Intervals)
        low, high = (
            np.array([np.broadcast_to(x, width.shape) for x in side])
            for side in zip(*((r.low, r.high) for r in ranges), strict=True)
        )
        ends = [self._points([*watched.values, *watched.sizes], at) for at in (self.low, self.high)]
        for points in ends:
            np.maximum.at(self._largest.T, self.row, np.nan_to_num(np.abs(points[n:])).T)
        changes = (ends[0][:n] < 0.0) != (ends[1][:n] < 0.0)
        crosses = (low[:n] < 0.0) & (high[:n] > 0.0)
        size = np.maximum(np.abs(low[:n]), np.abs(high[:n])) * width**2
        straight = watched.is_bend[:, None] & (size <= STRAIGHT * self._largest[:, self.row])
        monotone = (low[n:] > 0.0) | (high[n:] < 0.0)
        short = width <= SAME * (self._span[1] - self._span[0])
        self.is_open &= crosses
        self._solve(self.is_open & (monotone | straight) & changes)
        self._keep((self.is_open & ~monotone & ~straight & short).any(axis=0), 0.5 * (self.low + self.high))
        self.is_open &= ~(monotone | straight | short)
        self._give_up()

    def divide(self) -> None:
        """Two parts of each interval in which something is open."""
        kept = self.is_open.any(axis=0)
        low, high = self.low[kept], self.high[kept]
        middle = low + DIVIDED * (high - low)
        self.row, self.is_open = np.tile(self.row[kept], 2), np.tile(self.is_open[:, kept], (1, 2))
        self.low, self.high = np.concatenate([low, middle]), np.concatenate([middle, high])

    def times(self) -> list[Vector]:
        """What was found, of each row, times that are one left out."""
        rows = np.concatenate([r for r, _ in self._found] or [np.zeros(0, int)])
        at = np.concatenate([t for _, t in self._found] or [np.zeros(0)])
        near, result = SAME * (self._span[1] - self._span[0]), []
        for row in range(self._rows):
            own = np.sort(at[rows == row])
            result.append(own[np.diff(own, prepend=-np.inf) > near])
        return result

    def _give_up(self) -> None:
        """Close functions that may change their signs too often in a row."""
        for f, own in enumerate(self.is_open):
            too_many = np.bincount(self.row[own], minlength=self._rows) > MOST
            if not too_many.any():
                continue
            self.is_open[f] &= ~too_many[self.row]
            expression = self._watched.sizes[f]
            said = f"{expression!r} bends more than {MOST // 2:,} times in the run, and steps may pass "
            if expression in self._watched.guarding:
                raise ModelError(
                    f"{said}changes of modes that depend on it; simulate in parts, each from the state that the last "
                    "one reached, or let it bend less often"
                )
            warn(f"{said}what it does in between; give a shorter max_step, or an earlier end of the run")

    def _solve(self, wanted: NDArray[np.bool_]) -> None:
        """Find the zero of each function in the intervals in which it has just one, by the Illinois method."""
        for f in np.flatnonzero(wanted.any(axis=1)):
            own, function = np.flatnonzero(wanted[f]), self._watched.values[f : f + 1]
            a, b, row = self.low[own], self.high[own], self.row[own]
            at_a, at_b = (self._points(function, x, row)[0] for x in (a, b))
            for _ in range(ILLINOIS):
                with np.errstate(all="ignore"):
                    c = np.where(at_a == at_b, b, (a * at_b - b * at_a) / (at_b - at_a))
                at_c = self._points(function, c, row)[0]
                across = (at_c < 0.0) != (at_b < 0.0)
                a, at_a = np.where(across, b, a), np.where(across, at_b, 0.5 * at_a)
                b, at_b = c, at_c
            self._found.append((row, np.clip(b, self.low[own], self.high[own])))

    def _keep(self, wanted: NDArray[np.bool_], at: Vector) -> None:
        if wanted.any():
            self._found.append((self.row[wanted], at[wanted]))

    def _points(self, roots: Sequence[Expr], at: Vector, row: Any = None) -> Rows:
        """Values at times, (roots, times)."""
        return np.array([np.broadcast_to(x, at.shape) for x in self._evaluated(roots, at, None, row)])

    def _evaluated(self, roots: Sequence[Expr], at: Any, functions: Any = None, row: Any = None) -> list[Any]:
        row = self.row if row is None else row
        values = {leaf: x[row] if len(x) > 1 else x[0] for leaf, x in self._constants.items()}
        given = {**values, self._time: at}
        return interpret(roots, given, functions) if functions else interpret(roots, given)
