"""Operations and values of SymPy's M and f after common subexpression elimination, counted as kane counts its own."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class MassAndForcing:
    """The lower triangle of M and the bias -f, M udot + bias = efforts, the efforts zero, after sympy.cse.

    Args:
        method: KanesMethod with its equations formed.
        efforts: symbols of the efforts, which kane's bias leaves out.
    """

    def __init__(self, method: Any, efforts: Iterable[Any]) -> None:
        import sympy

        n = len(method.u)
        self._leaves = {x: sympy.Symbol(f"leaf{i}") for i, x in enumerate([*method.q, *method.u])}
        still = {**self._leaves, **dict.fromkeys(efforts, sympy.S.Zero)}
        self._places = [(i, j) for i in range(n) for j in range(i + 1)]
        entries = [*(method.mass_matrix[place] for place in self._places), *(-x for x in method.forcing)]
        self._steps, self._results = sympy.cse([entry.xreplace(still) for entry in entries])

    def count(self) -> dict[str, int]:
        """Operations mul, add, div, trig, other: what depends on parameters alone and changes of sign are free."""
        counter = _Counter(self._leaves.values())
        for symbol, expression in self._steps:
            counter.step(symbol, expression)
        for expression in self._results:
            counter.visit(expression)
        return {kind: counter.total[kind] for kind in ("mul", "add", "div", "trig", "other")}

    def values(self, q: Array, u: Array, numbers: Mapping[Any, float]) -> tuple[Array, Array]:
        """M, shape (n, n), and the bias, shape (n,), at one state."""
        import sympy

        symbols = [*self._leaves.values(), *numbers]
        prepared = self._steps, self._results
        function = sympy.lambdify(symbols, self._results, cse=lambda _: prepared)
        numbers = np.array(function(*q, *u, *numbers.values()), dtype=float)
        M = np.zeros((len(u), len(u)))
        for (i, j), value in zip(self._places, numbers, strict=False):
            M[i, j] = M[j, i] = value
        return M, numbers[len(self._places) :]


class _Counter:
    """Counts expression by expression; which symbols move is known from what came before."""

    def __init__(self, leaves: Iterable[Any]) -> None:
        self._moving = set(leaves)
        self.total: Counter[str] = Counter()

    def step(self, symbol: Any, expression: Any) -> None:
        """One replacement of cse."""
        self.visit(expression)
        if self._moves(expression):
            self._moving.add(symbol)

    def _moves(self, expression: Any) -> bool:
        return bool(expression.free_symbols & self._moving)

    def visit(self, expression: Any) -> None:
        """Counts one expression."""
        if expression.is_Symbol or not self._moves(expression):
            return
        if expression.is_Add:
            self.total["add"] += self._operands(expression) - 1
        elif expression.is_Mul:
            self.total["mul"] += self._operands(expression) - 1
        elif expression.is_Pow:
            self._power(expression.exp)
        else:
            self.total["trig" if expression.func.__name__ in ("sin", "cos", "tan") else "other"] += 1
        for argument in expression.args:
            self.visit(argument)

    def _operands(self, expression: Any) -> int:
        """Moving ones, and one for the constant that the others make, unless it is 1 or -1."""
        constant, moving = expression.as_independent(*self._moving, as_Add=expression.is_Add)
        parts = moving.args if moving.func is expression.func else (moving,)
        return len(parts) + (constant not in ((0,) if expression.is_Add else (1, -1)))

    def _power(self, exponent: Any) -> None:
        if not exponent.is_Integer:
            self.total["other"] += 1
            return
        n = abs(int(exponent))
        self.total["mul"] += n.bit_length() + n.bit_count() - 2  # by squaring
        self.total["div"] += int(exponent) < 0
