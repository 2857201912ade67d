"""Walk SymPy expressions once, and build the same expressions in an arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from numbers import Real
from typing import Any, TypeAlias

from kane.errors import ExpressionError, ModelError, shown
from kane.expression.arena import Arena
from kane.expression.construct import (
    build_absolute,
    build_acos,
    build_asin,
    build_atan2,
    build_cos,
    build_equal,
    build_exp,
    build_less,
    build_less_equal,
    build_log,
    build_maximum,
    build_minimum,
    build_power,
    build_select,
    build_sign,
    build_sin,
    build_sqrt,
    build_tan,
    build_tanh,
    div,
)
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, DIV

# Value of a SymPy symbol, applied function or derivative; raises ModelError with the place if there is none.
LeafMeaning: TypeAlias = Callable[[Any, str], Expr]


def _product(*factors: Expr) -> Expr:
    """Return the product; reciprocals among the factors become one division."""
    above, below, one = None, None, factors[0].arena.one
    for x in factors:
        if x.op == DIV and x.args[0] is one:
            below = x.args[1] if below is None else below * x.args[1]
        else:
            above = x if above is None else above * x
    above = one if above is None else above
    return above if below is None else above / below


def _power(base: Expr, exponent: Expr) -> Expr:
    """Return base ** exponent; half-integer exponents become powers of the square root."""
    twice = 2.0 * exponent.data if exponent.op == CONSTANT else 0.0
    if twice % 2.0 == 1.0:
        return build_power(build_sqrt(base), base.arena.constant(twice))
    return build_power(base, exponent)


def _cosh(x: Expr) -> Expr:
    return 0.5 * (build_exp(x) + build_exp(-x))


def _asinh(x: Expr) -> Expr:
    """Return asinh x by the logarithm of |x| + sqrt(1 + x^2), which does not cancel for negative x."""
    size = build_absolute(x)
    return build_sign(x) * build_log(size + build_sqrt(1.0 + x * x))


def _sinc(x: Expr) -> Expr:
    zero, one = x.arena.zero, x.arena.one
    return build_select(build_equal(x, zero), one, build_sin(x) / build_select(build_equal(x, zero), one, x))


def _not(x: Expr) -> Expr:
    return x.arena.one - x


def _piecewise(*pairs: Expr) -> Expr:
    """Return nested selections by pairs (condition, value), flattened, with an unconditional last value."""
    *conditions, last = pairs
    for condition, value in zip(conditions[-2::-2], conditions[-1::-2], strict=True):
        last = build_select(condition, value, last)
    return last


# Constructor of each SymPy class, by its name; n-ary ones take all arguments.
BUILDERS: dict[str, Callable[..., Expr]] = {
    "Add": lambda *terms: reduce(lambda a, b: a + b, terms),
    "Mul": _product,
    "Pow": _power,
    "exp": build_exp,
    "log": build_log,
    "sin": build_sin,
    "cos": build_cos,
    "tan": build_tan,
    "cot": lambda x: div(build_cos(x), build_sin(x)),
    "sec": lambda x: div(x.arena.one, build_cos(x)),
    "csc": lambda x: div(x.arena.one, build_sin(x)),
    "asin": build_asin,
    "acos": build_acos,
    "atan": lambda x: build_atan2(x, x.arena.one),
    "atan2": build_atan2,
    "sinh": lambda x: build_tanh(x) * _cosh(x),
    "cosh": _cosh,
    "tanh": build_tanh,
    "coth": lambda x: div(x.arena.one, build_tanh(x)),
    "sech": lambda x: div(x.arena.one, _cosh(x)),
    "csch": lambda x: div(x.arena.one, build_tanh(x) * _cosh(x)),
    "acot": lambda x: build_atan2(div(x.arena.one, x), x.arena.one),
    "asec": lambda x: build_acos(div(x.arena.one, x)),
    "acsc": lambda x: build_asin(div(x.arena.one, x)),
    "asinh": _asinh,
    "acosh": lambda x: build_log(x + build_sqrt(x - 1.0) * build_sqrt(x + 1.0)),
    "atanh": lambda x: 0.5 * build_log((1.0 + x) / (1.0 - x)),
    "sinc": _sinc,
    "Abs": build_absolute,
    "sign": build_sign,
    "Max": lambda *terms: reduce(build_maximum, terms),
    "Min": lambda *terms: reduce(build_minimum, terms),
    "Heaviside": lambda x, at_zero: build_select(build_equal(x, x.arena.zero), at_zero, build_less(x.arena.zero, x)),
    "StrictLessThan": build_less,
    "LessThan": build_less_equal,
    "StrictGreaterThan": lambda a, b: build_less(b, a),
    "GreaterThan": lambda a, b: build_less_equal(b, a),
    "Equality": build_equal,
    "Unequality": lambda a, b: _not(build_equal(a, b)),
    "And": lambda *terms: reduce(lambda a, b: a * b, terms),
    "Or": lambda *terms: reduce(build_maximum, terms),
    "Not": _not,
    "Piecewise": _piecewise,
}
TRUTHS = {"BooleanTrue": 1.0, "BooleanFalse": 0.0}
# Marks of the classes whose nodes are leaves.
NUMBER, SYMBOL = object(), object()


class SymPyReader:
    """Conversion of SymPy expressions to expressions of an arena; equal subexpressions become one node.

    Each SymPy object is visited once, in a loop, so that the depth is not limited by Python's recursion limit.

    Args:
        arena: arena of the result.
        meaning: value of each symbol, applied function and derivative.
    """

    def __init__(self, arena: Arena, meaning: LeafMeaning) -> None:
        self._arena, self._meaning = arena, meaning
        self._found: dict[int, Expr] = {}  # by id, because hashing a large SymPy expression is slow
        self._roots: list[Any] = []  # keeps the objects alive whose ids are keys
        self._kinds: dict[type, Any] = {}

    def __call__(self, expression: Any, place: str) -> Expr:
        """Return the value of an expression; ``place`` says where it is, for messages.

        Raises:
            ModelError: a symbol has no value, or kane lacks a function; the message has its name and place.
        """
        if isinstance(expression, (Real, Expr)) and not hasattr(expression, "func"):
            return self._lifted(expression, place)
        if not hasattr(expression, "args") or not hasattr(expression, "func"):
            raise ModelError(f"{place} is {shown(expression)}, which is neither a number nor a SymPy expression")
        found, kinds = self._found, self._kinds
        self._roots.append(expression)
        stack: list[tuple[Any, Any, Any]] = [(expression, None, None)]
        while stack:
            node, kind, args = stack.pop()
            key = id(node)
            if kind is not None:
                found[key] = self._built(kind, node, [found[id(a)] for a in args], place)
            elif key not in found:
                kind = kinds.get(node.__class__) or self._kind_of(node)
                if kind is SYMBOL:
                    found[key] = self._meaning(node, place)
                elif kind is NUMBER:
                    found[key] = self._number(node, place)
                else:
                    args = _arguments(node, place) if kind is _piecewise else node.args
                    stack.append((node, kind, args))
                    stack += [(a, None, None) for a in args if id(a) not in found]
        return found[id(expression)]

    def _kind_of(self, node: Any) -> Any:
        """Return the constructor for a class of nodes, or the mark of numbers or symbols."""
        kind, name = node.__class__, node.__class__.__name__
        if kind.__class__.__name__ == "UndefinedFunction" or getattr(node, "is_Symbol", False) or name == "Derivative":
            found: Any = SYMBOL
        elif getattr(node, "is_Number", False) or getattr(node, "is_NumberSymbol", False) or name in TRUTHS:
            found = NUMBER
        else:
            found = BUILDERS.get(name, name)
        self._kinds[kind] = found
        return found

    def _number(self, node: Any, place: str) -> Expr:
        value = TRUTHS.get(node.__class__.__name__)
        if value is None:
            p, q = getattr(node, "p", None), getattr(node, "q", None)
            try:
                value = p / q if isinstance(p, int) and isinstance(q, int) and q else float(node)
            except OverflowError:
                value = float("inf")
        return self._lifted(value, place)

    def _built(self, kind: Any, node: Any, args: Sequence[Expr], place: str) -> Expr:
        if isinstance(kind, str):
            raise ModelError(
                f"{place} contains SymPy's {kind!r}, which kane does not have; known are "
                f"{', '.join(sorted(BUILDERS))}. Rewrite it in SymPy, with doit(), rewrite() or a Piecewise, or give "
                "it as an input"
            )
        try:
            return kind(*args)
        except ExpressionError as error:
            raise ModelError(f"{place}: {error}") from None
        except TypeError:
            raise ModelError(
                f"{place} contains {node.__class__.__name__} of {len(args)} arguments, which kane does not have"
            ) from None

    def _lifted(self, value: Any, place: str) -> Expr:
        try:
            return self._arena.lift(value)
        except ExpressionError as error:
            raise ModelError(f"{place}: {error}") from None


def _arguments(node: Any, place: str) -> Sequence[Any]:
    """Return the conditions and values of a Piecewise in turn, then its last value.

    Raises:
        ModelError: a Piecewise has no value if none of its conditions is true.
    """
    *pairs, (value, condition) = (pair.args for pair in node.args)
    if condition.__class__.__name__ != "BooleanTrue":
        raise ModelError(f"{place} contains a Piecewise without a last case (value, True); add (0, True), for example")
    return [x for v, c in pairs for x in (c, v)] + [value]
