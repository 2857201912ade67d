"""``kane.lambdify``: SymPy's lambdify with native code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kane.codegen.jit.compiler import compile_program
from kane.codegen.jit.function import single_call
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.errors import ModelError, shown
from kane.expression.arena import Arena
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers
from kane.expression.operations import COORDINATE
from kane.model.symbols.sympy_reader import SymPyReader

NO_VALUES = np.zeros(0)
PLAIN_NUMBERS = (float, int, np.float64)


def lambdify(args: Any, exprs: Any, modules: Any = None, *, cse: bool = True) -> Callable[..., Any]:
    """Return a function of numbers or arrays that evaluates SymPy expressions by native code.

        f = kane.lambdify((q, u, p), [M, forcing])
        M_values, forcing_values = f([0.1, 0.2], [0.0, 0.3], [9.81, 1.0])

    The calling convention is that of ``sympy.lambdify`` with NumPy: the function takes one argument for each entry of
    ``args``, a number or array, or a sequence of these where the entry is a sequence or matrix. It returns a number or
    an array for an expression, an array (rows, columns, ...) for a matrix, and a list or tuple for a list or tuple.
    Arrays broadcast; unlike in ``sympy.lambdify`` the constant entries broadcast, too.

    Args:
        args: a symbol, function of time or derivative, or a sequence of these and of nested sequences or matrices.
        exprs: an expression, a matrix, or a list or tuple of these.
        modules, cse: accepted for compatibility, as None, "numpy", "scipy" or "math", and a bool; equal subexpressions
            are always computed once.

    Raises:
        ModelError: an expression contains a symbol that is no argument, or a function that kane lacks.
    """
    _require_options(modules, cse)
    _require_symbols(args)
    arena, given = Arena(), args if _is_group(args) else [args]
    symbols = list(_flat(given))
    leaves = {symbol: arena.leaf(COORDINATE, f"{k + 1} {symbol}") for k, symbol in enumerate(symbols)}
    if len(leaves) < len(symbols):
        raise ModelError(f"an argument is given twice among {', '.join(map(str, symbols))}")

    def meaning(node: Any, place: str) -> Expr:
        if node not in leaves:
            raise ModelError(f"{place} contains {node}, which is none of the arguments; add it to args")
        return leaves[node]

    with collector_paused():
        read, outputs = SymPyReader(arena, meaning), []
        pack = _packing(exprs, lambda x: outputs.append(read(x, f"expression {len(outputs) + 1}")))
        program = Program("lambdify", factor(outputs), state=[*leaves.values()], rest=(), parameters=())
    native = compile_program(program)
    stage, single = native.stage(NO_VALUES), single_call(native)

    wanted = [_lengths(x) for x in given]

    def function(*values: Any) -> Any:
        if len(values) != len(wanted):
            raise ModelError(f"the function takes {len(wanted)} arguments, not {len(values)}")
        state = _single_state(values, wanted, len(symbols))
        if state is None:
            listed: list[Any] = []
            for value, lengths in zip(values, wanted, strict=True):
                _fill(listed, value, lengths)
            state = _stacked(listed)
        if state.ndim > 1:
            return pack(native(state, NO_VALUES, stage))
        found = np.empty(native.n_out)
        single(stage, found, state, NO_VALUES)
        return pack(found)

    return function


def _require_options(modules: Any, cse: Any) -> None:
    """Raise ModelError unless the options are some of SymPy's that change no value."""
    known = modules is None or (isinstance(modules, str) and modules in ("numpy", "scipy", "math"))
    if not known or not isinstance(cse, bool):
        raise ModelError(f"kane.lambdify compiles native code; it takes no modules={shown(modules)}, cse={shown(cse)}")


def _require_symbols(args: Any) -> None:
    """Raise ModelError unless the arguments are symbols, functions of time or derivatives."""
    if isinstance(args, str) or (_is_group(args) and any(isinstance(x, str) for x in args)):
        raise ModelError(f"args are {shown(args)}; give SymPy's symbols, such as sympy.symbols('x y')")
    for symbol in _flat(args if _is_group(args) else [args]):
        if not getattr(symbol, "free_symbols", None) or getattr(symbol, "is_Add", False):
            raise ModelError(f"the argument {symbol} is no symbol, function of time or derivative; give symbols")


def _is_group(x: Any) -> bool:
    return isinstance(x, Sequence | set) or hasattr(x, "tolist")


def _members(group: Any) -> list[Any]:
    """Return the entries of a sequence, or of a matrix row by row."""
    return list(_flat(group.tolist())) if hasattr(group, "tolist") else list(group)


def _flat(group: Any) -> Iterator[Any]:
    for x in _members(group):
        if _is_group(x) and not isinstance(x, str):
            yield from _flat(x)
        else:
            yield x


def _lengths(x: Any) -> tuple[Any, ...] | None:
    """Return the form of an argument: None for one value, else the forms of its members."""
    return tuple(map(_lengths, _members(x))) if _is_group(x) else None


def _single_state(values: Sequence[Any], wanted: Sequence[Any], count: int) -> np.ndarray | None:
    """Return the numbers of arguments that are numbers and vectors of them; None for arguments of other forms."""
    state, at = np.empty(count), 0
    for value, lengths in zip(values, wanted, strict=True):
        if lengths is None:
            if value.__class__ not in PLAIN_NUMBERS:
                return None
            state[at] = value
            at += 1
        else:
            if value.__class__ is not np.ndarray or value.shape != (len(lengths),) or value.dtype != np.float64:
                return None
            state[at : at + len(lengths)] = value
            at += len(lengths)
    return state if at == count else None


def _fill(listed: list[Any], value: Any, wanted: tuple[Any, ...] | None) -> None:
    """Append the numbers or arrays of an argument of the given form."""
    if wanted is None:
        listed.append(value)
        return
    try:
        count = len(value)
    except TypeError:
        count = -1
    if count != len(wanted):
        raise ModelError(f"an argument of {len(wanted)} values is {shown(value)}; give {len(wanted)} values")
    if any(wanted):
        for x, lengths in zip(value, wanted, strict=True):
            _fill(listed, x, lengths)
    else:
        listed.extend(value)


def _stacked(values: Sequence[Any]) -> np.ndarray:
    """Return the values as one array (..., arguments)."""
    try:
        found = np.array(values)
        if found.ndim == 1 and found.dtype.kind in "fiub":
            return found.astype(float, copy=False)
    except ValueError:  # arrays of different shapes
        pass
    arrays = [numbers(x, "the arguments must be numbers or arrays of numbers") for x in values]
    try:
        return np.stack(np.broadcast_arrays(*arrays), axis=-1)
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise ModelError(f"the shapes {shapes} of arguments do not broadcast") from None


def _packing(exprs: Any, add: Callable[[Any], None], start: list[int] | None = None) -> Callable[[np.ndarray], Any]:
    """Add all expressions in turn, and return the function that packs an array (..., outputs) as ``exprs``."""
    place = [0] if start is None else start
    if isinstance(exprs, list | tuple):
        parts = [_packing(x, add, place) for x in exprs]
        kind = type(exprs) if type(exprs) in (list, tuple) else list
        return lambda found: kind(part(found) for part in parts)
    first = place[0]
    if hasattr(exprs, "tolist") and hasattr(exprs, "shape"):
        shape = tuple(map(int, exprs.shape))
        for x in _flat(exprs):
            add(x)
            place[0] += 1
        last = place[0]

        def matrix(found: np.ndarray) -> np.ndarray:
            if found.ndim == 1:
                return found[first:last].reshape(shape)
            return np.moveaxis(found[..., first:last], -1, 0).reshape(*shape, *found.shape[:-1])

        return matrix
    add(exprs)
    place[0] += 1
    return lambda found: found[..., first][()]
