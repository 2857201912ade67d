"""Bends (inflections, kinks and jumps) of expressions of time alone, at which integration steps should end.

An integrator with step-size control samples an expression only where it evaluates it. If a pulse starts and ends
between two evaluations, neither the error estimate nor guards and events see the pulse. Between two inflections an
expression is convex or concave. Steps that end at each inflection, kink and jump therefore miss no pulse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, warn
from kane.expression.derivative import CHOICES, forward
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.operations import ABS, CONSTANT, EQUAL, LESS, LESS_EQUAL, MAX, MIN, SELECT, SIGN
from kane.expression.traverse import leaves, reachable

# Relative to the duration of a run: times closer than this are equal, and shorter intervals are not divided.
BEND_TIME_TOLERANCE = 1e-9
# An expression is straight over an interval if it deviates from a line by less than this fraction of its largest value.
STRAIGHT = 1e-6
# The search gives up an expression that may have a bend in more intervals than this.
MAX_BEND_INTERVALS = 2**17
# Relative position at which an interval is divided: not the middle, so that bends at round times are not at its ends.
DIVIDED = 0.4871
# Iterations of the Illinois method, which converges with order 1.44.
ILLINOIS = 14
COMPARED = (MIN, MAX, LESS, LESS_EQUAL, EQUAL)

_time_expressions: WeakKeyDictionary[ArrayFunction, dict[frozenset[Expr], tuple[Expr, ...]]] = WeakKeyDictionary()


def of_time_alone(functions: Iterable[ArrayFunction], time: Expr, constants: frozenset[Expr]) -> tuple[Expr, ...]:
    """Return the largest subexpressions of native functions that vary with time, and with nothing else.

    Args:
        functions: programs of a run.
        time: the leaf of time.
        constants: leaves that are constant in a run.
    """
    found: dict[Expr, None] = {}
    for function in functions:
        known = _time_expressions.setdefault(function, {})
        if constants not in known:
            known[constants] = _largest(_roots(function, time), time, constants)
        found |= dict.fromkeys(known[constants])
    return tuple(found)


def _roots(function: ArrayFunction, time: Expr) -> list[Expr]:
    """Return the outputs of all programs that a function calls and that read the time."""
    parts = getattr(function, "parts", None)
    return [root for f in (parts.called if parts else [function]) if time in f.reads for root in f.roots]


def _largest(roots: Sequence[Expr], time: Expr, constants: frozenset[Expr]) -> tuple[Expr, ...]:
    if not roots or not any(time in node.args for node in time.arena.nodes):
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
    """Functions whose sign changes are searched for.

    Attributes:
        values, rates: the functions and their derivatives.
        sizes: for each curvature, the expression to which it belongs; for others, the function itself.
        is_bend: whether each function is a curvature (second time derivative).
        guarding: expressions that guards depend on.
    """

    values: list[Expr]
    rates: list[Expr]
    sizes: list[Expr]
    is_bend: Array
    guarding: frozenset[Expr]

    @classmethod
    def of(cls, expressions: Sequence[Expr], time: Expr, guarding: Sequence[Expr]) -> _Watched:
        """Collect the curvatures of expressions, and the arguments whose sign changes cause kinks or jumps."""
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
    """Return the expressions at whose sign changes an operation has a kink or a jump."""
    if node.op in COMPARED:
        return [node.args[0] - node.args[1]]
    if node.op in (ABS, SIGN) or (node.op == SELECT and node.args[0].op not in (*COMPARED, *CHOICES)):
        return node.args[:1]
    return ()


def bends(
    expressions: Sequence[Expr],
    time: Expr,
    constants: Mapping[Expr, Array],
    span: tuple[float, float],
    *,
    guarding: Sequence[Expr] = (),
) -> list[Vector]:
    """Return the inflections, kinks and jumps of expressions of time alone inside a span.

    Intervals are divided until interval arithmetic proves that a curvature has at most one zero in each of them.

    Args:
        expressions: expressions of time and of constant leaves.
        time: the leaf of time.
        constants: values of the other leaves, each (rows,) with one number per run, or one number for all.
        span: first and last time [s], in either order.
        guarding: the expressions among them that guards depend on; their bends must be found.

    Returns:
        The times of each row, increasing. An expression that bends too often is omitted with a warning.

    Raises:
        ModelError: an expression in ``guarding`` bends too often.
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
    """Search in intervals, all of about the same length, in which a function may change its sign.

    Attributes:
        row, low, high: row and ends of each interval.
        is_open: whether each function may still change its sign in the interval, (functions, intervals).
    """

    def __init__(
        self, watched: _Watched, time: Expr, constants: Mapping[Expr, Array], span: tuple[float, float], rows: int
    ) -> None:
        self._watched, self._time, self._constants, self._span, self._rows = watched, time, constants, span, rows
        self.row = np.arange(rows)
        self.low, self.high = np.full(rows, span[0]), np.full(rows, span[1])
        self.is_open = np.ones((len(watched.values), rows), bool)
        self._largest = np.zeros((len(watched.values), rows))
        self._found: list[tuple[Any, Any]] = []

    def judge(self) -> None:
        """Close intervals without a sign change; compute the zero in intervals with exactly one and close them too."""
        from kane.expression.intervals import Interval, Intervals

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
        short = width <= BEND_TIME_TOLERANCE * (self._span[1] - self._span[0])
        self.is_open &= crosses
        self._solve(self.is_open & (monotone | straight) & changes)
        self._keep((self.is_open & ~monotone & ~straight & short).any(axis=0), 0.5 * (self.low + self.high))
        self.is_open &= ~(monotone | straight | short)
        self._give_up()

    def divide(self) -> None:
        """Divide each interval in which a function is still open."""
        kept = self.is_open.any(axis=0)
        low, high = self.low[kept], self.high[kept]
        middle = low + DIVIDED * (high - low)
        self.row, self.is_open = np.tile(self.row[kept], 2), np.tile(self.is_open[:, kept], (1, 2))
        self.low, self.high = np.concatenate([low, middle]), np.concatenate([middle, high])

    def times(self) -> list[Vector]:
        """Return the times of each row, increasing; times that are equal up to rounding appear once."""
        rows = np.concatenate([r for r, _ in self._found] or [np.zeros(0, int)])
        at = np.concatenate([t for _, t in self._found] or [np.zeros(0)])
        near, result = BEND_TIME_TOLERANCE * (self._span[1] - self._span[0]), []
        for row in range(self._rows):
            own = np.sort(at[rows == row])
            result.append(own[np.diff(own, prepend=-np.inf) > near])
        return result

    def _give_up(self) -> None:
        """Close functions that may change their sign too often in one row, with an error or a warning."""
        for f, own in enumerate(self.is_open):
            too_many = np.bincount(self.row[own], minlength=self._rows) > MAX_BEND_INTERVALS
            if not too_many.any():
                continue
            self.is_open[f] &= ~too_many[self.row]
            expression = self._watched.sizes[f]
            message = (
                f"{expression!r} has more than {MAX_BEND_INTERVALS // 2:,} bends during the run, and steps may miss "
            )
            if expression in self._watched.guarding:
                raise ModelError(
                    f"{message}changes of modes that depend on it; simulate in parts, each from the final state of the "
                    "previous one, or give it fewer bends (inflections, kinks, jumps)"
                )
            warn(f"{message}its values between them; give a shorter max_step, or an earlier end of the run")

    def _solve(self, wanted: NDArray[np.bool_]) -> None:
        """Compute the zero of each function in the intervals that contain exactly one, by the Illinois method."""
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

    def _points(self, roots: Sequence[Expr], at: Vector, row: Any = None) -> Array:
        """Return values at times, (roots, times)."""
        return np.array([np.broadcast_to(x, at.shape) for x in self._evaluated(roots, at, None, row)])

    def _evaluated(self, roots: Sequence[Expr], at: Any, functions: Any = None, row: Any = None) -> list[Any]:
        row = self.row if row is None else row
        values = {leaf: x[row] if len(x) > 1 else x[0] for leaf, x in self._constants.items()}
        given = {**values, self._time: at}
        return interpret(roots, given, functions) if functions else interpret(roots, given)
