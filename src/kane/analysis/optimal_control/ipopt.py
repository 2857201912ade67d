"""Ipopt, an interior-point solver of large sparse nonlinear programs, from the wheel of CasADi.

    minimize f(z)   subject to   lower <= g(z) <= upper,   least <= z <= most

The library is called through its C interface. Its callbacks get arrays without copies.

Source: Waechter & Biegler 2006, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming.
"""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from kane.array_types import Array
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import CompileError, ModelError, pip_install

_NUMBERS, _INTEGERS = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int)
_INT, _REAL, _TRUTH, _USER_DATA = ctypes.c_int, ctypes.c_double, ctypes.c_bool, ctypes.c_void_p
_VALUE = ctypes.CFUNCTYPE(_TRUTH, _INT, _NUMBERS, _TRUTH, _NUMBERS, _USER_DATA)
_ROWS = ctypes.CFUNCTYPE(_TRUTH, _INT, _NUMBERS, _TRUTH, _INT, _NUMBERS, _USER_DATA)
_SLOPES = ctypes.CFUNCTYPE(_TRUTH, _INT, _NUMBERS, _TRUTH, _INT, _INT, _INTEGERS, _INTEGERS, _NUMBERS, _USER_DATA)
_CURVATURES = ctypes.CFUNCTYPE(
    _TRUTH, _INT, _NUMBERS, _TRUTH, _REAL, _INT, _NUMBERS, _TRUTH, _INT, _INTEGERS, _INTEGERS, _NUMBERS, _USER_DATA
)
_STEP = ctypes.CFUNCTYPE(_TRUTH, _INT, _INT, *[_REAL] * 8, _INT, _USER_DATA)
# Names of the library in the wheels of Linux, macOS and Windows.
_LIBRARIES = ("libipopt.so.3", "libipopt.so", "libipopt.3.dylib", "libipopt.dylib", "libipopt-3.dll", "ipopt-3.dll")

# Meaning of Ipopt's results, in words. Results that are missing here are errors of the caller.
OPTIMAL, ACCEPTABLE = 0, 1
RESULTS = {
    OPTIMAL: "solved",
    ACCEPTABLE: "solved to the acceptable tolerance only",
    2: "infeasible: the constraints contradict each other near the last iterate",
    3: "the search directions became too small, as with a bad scaling or a degenerate problem",
    4: "the iterates diverge: a variable needs bounds",
    5: "stopped by the user",
    6: "a feasible point was found",
    -1: "slow: the largest number of iterations was reached",
    -2: "infeasible: the restoration of feasibility failed at the last iterate",
    -3: "the step computation failed: the constraints depend on each other",
    -4: "slow: the time was over",
    -13: "a constraint, the objective or a derivative is no number at the last iterate",
}


class SparseProgram(Protocol):
    """A nonlinear program: its values and derivatives at z.

    Attributes:
        jacobian_places: rows and columns of the entries of dg/dz; entries of one place are added.
        hessian_places: rows and columns of the entries of the Hessian of the Lagrangian, below the diagonal or on it.
    """

    @property
    def jacobian_places(self) -> tuple[Indices, Indices]: ...

    @property
    def hessian_places(self) -> tuple[Indices, Indices]: ...

    def objective(self, z: Vector) -> float:
        """Return f."""

    def objective_gradient(self, z: Vector) -> Vector:
        """Return df/dz."""

    def constraints(self, z: Vector) -> Vector:
        """Return g."""

    def jacobian(self, z: Vector) -> Vector:
        """Return the entries of dg/dz."""

    def hessian(self, z: Vector, weight: float, multipliers: Vector) -> Vector:
        """Return the entries of the Hessian of weight f + multipliers . g."""


class Bounds(NamedTuple):
    """Bounds of the variables, least <= z <= most, and of the constraints, lower <= g <= upper."""

    least: Vector
    most: Vector
    lower: Vector
    upper: Vector


class Iteration(NamedTuple):
    """An iteration: its number, the objective, the largest violation of a constraint, and the optimality residual."""

    number: int
    objective: float
    infeasibility: float
    residual: float


@dataclass
class Solution:
    """Result of Ipopt.

    Attributes:
        z: last iterate.
        multipliers: of the constraints g; the Lagrangian is f + multipliers . g.
        at_bounds: multipliers of the bounds of z: upper minus lower.
        result: key of RESULTS.
        steps: all iterations.
    """

    z: Vector
    multipliers: Vector
    at_bounds: Vector
    result: int = 5
    steps: list[Iteration] = field(default_factory=list)


@cache
def library() -> Any:
    """Load the library.

    Raises:
        CompileError: the package casadi is missing, or has no Ipopt.
    """
    found = find_spec("casadi")
    if found is None or found.origin is None:
        raise CompileError(f"kane.collocate needs Ipopt, from the package casadi: {pip_install('casadi')}")
    folder = Path(found.origin).parent
    for name in _LIBRARIES:
        if (folder / name).is_file():
            loaded = ctypes.CDLL(str(folder / name))
            loaded.CreateIpoptProblem.restype = _USER_DATA
            return loaded
    raise CompileError(f"the package casadi in {folder} has no Ipopt; install its wheel again")


def solve_by_ipopt(
    program: SparseProgram,
    bounds: Bounds,
    start: Solution,
    options: Mapping[str, float | int | str],
    told: Callable[[Iteration], None],
) -> Solution:
    """Solve a nonlinear program from a start, which may have multipliers for a warm start.

    Ctrl-C ends the iterations; exceptions of callbacks are raised after the iterations ended.

    Raises:
        CompileError: see ``library``.
        ValueError: Ipopt refuses an option.
    """
    return _Run(library(), program, bounds, told).solve(start, options)


def check_option(name: str, value: float | int | str) -> None:
    """Check an option of Ipopt.

    Raises:
        ModelError: Ipopt does not know the option, or refuses its value.
        CompileError: see ``library``.
    """
    none = np.zeros(0, dtype=np.int64)
    empty = SimpleNamespace(jacobian_places=(none, none), hessian_places=(none, none))
    one, nothing = np.zeros(1), np.zeros(0)
    try:
        with _Run(library(), empty, Bounds(one, one, nothing, nothing), lambda _: None).problem({name: value}):
            pass
    except ValueError as error:
        raise ModelError(str(error)) from None


class _Run:
    """One run of Ipopt, with the callbacks that it needs."""

    def __init__(self, ipopt: Any, program: SparseProgram, bounds: Bounds, told: Callable[[Iteration], None]) -> None:
        self._ipopt, self._program, self._told = ipopt, program, told
        self._bounds = Bounds(*(np.ascontiguousarray(x, dtype=np.float64) for x in bounds))
        self._raised: BaseException | None = None
        self._stopped = False
        self._steps: list[Iteration] = []

    def solve(self, start: Solution, options: Mapping[str, float | int | str]) -> Solution:
        with self.problem(options) as problem:
            step = _STEP(self._step)
            self._ipopt.SetIntermediateCallback(problem, step)
            z, multipliers = start.z.copy(), start.multipliers.copy()
            lower_ones, upper_ones = np.maximum(-start.at_bounds, 0.0), np.maximum(start.at_bounds, 0.0)
            rows = np.zeros(len(self._bounds.lower))
            arrays = (_pointer(x) for x in (rows, np.zeros(1), multipliers, lower_ones, upper_ones))
            with self._interruptible():
                result = self._ipopt.IpoptSolve(problem, _pointer(z), *arrays, None)
        if self._raised is not None:
            raise self._raised
        return Solution(z, multipliers, upper_ones - lower_ones, int(result), self._steps)

    @contextmanager
    def problem(self, options: Mapping[str, float | int | str]) -> Iterator[Any]:
        """Make Ipopt's problem with options; ValueError if Ipopt refuses one."""
        n, m = len(self._bounds.least), len(self._bounds.lower)
        least, most, lower, upper = (_pointer(x) for x in self._bounds)
        sizes = (len(places[0]) for places in (self._program.jacobian_places, self._program.hessian_places))
        calls = _VALUE(self._value), _ROWS(self._rows), _VALUE(self._gradient)
        derivatives = _SLOPES(self._slopes), _CURVATURES(self._curvatures)
        problem = _USER_DATA(
            self._ipopt.CreateIpoptProblem(n, least, most, m, lower, upper, *sizes, 0, *calls, *derivatives)
        )
        try:
            self._set(problem, options)
            yield problem
        finally:
            self._ipopt.FreeIpoptProblem(problem)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end the iterations after the present one; an exception in a callback would be lost."""

        def stop(*_: Any) -> None:
            self._stopped = True

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _set(self, problem: Any, options: Mapping[str, float | int | str]) -> None:
        for name, value in options.items():
            key = name.encode()
            if isinstance(value, str):
                taken = self._ipopt.AddIpoptStrOption(problem, key, value.encode())
            elif isinstance(value, int):
                taken = self._ipopt.AddIpoptIntOption(problem, key, value)
            else:
                taken = self._ipopt.AddIpoptNumOption(problem, key, ctypes.c_double(value))
            if not taken & 1:
                raise ValueError(f"Ipopt has no option {name!r} with the value {value!r}")

    def _kept(self, work: Callable[[], bool]) -> bool:
        """Do the work of a callback; keep an exception, which C cannot pass on, and stop then."""
        try:
            return work()
        except Exception as error:  # raised again after the iterations
            self._raised = error
            return False

    def _value(self, n: int, z: Any, *given: Any) -> bool:
        _, out, _ = given
        return self._kept(lambda: _fill(out, 1, self._program.objective(_array(z, n))))

    def _gradient(self, n: int, z: Any, *given: Any) -> bool:
        _, out, _ = given
        return self._kept(lambda: _fill(out, n, self._program.objective_gradient(_array(z, n))))

    def _rows(self, n: int, z: Any, *given: Any) -> bool:
        _, m, out, _ = given
        return self._kept(lambda: _fill(out, m, self._program.constraints(_array(z, n))))

    def _slopes(self, *given: Any) -> bool:
        n, z, _, _, count, rows, columns, out, _ = given
        if not z:
            return _place(rows, columns, self._program.jacobian_places)
        return self._kept(lambda: _fill(out, count, self._program.jacobian(_array(z, n))))

    def _curvatures(self, *given: Any) -> bool:
        n, z, _, weight, m, multipliers, _, count, rows, columns, out, _ = given
        if not z:
            return _place(rows, columns, self._program.hessian_places)
        at = _array(z, n), weight, _array(multipliers, m)
        return self._kept(lambda: _fill(out, count, self._program.hessian(*at)))

    def _step(self, *given: Any) -> bool:
        _, number, objective, violation, residual, *_ = given

        def work() -> bool:
            self._steps.append(Iteration(number, objective, violation, residual))
            self._told(self._steps[-1])
            return True

        return self._raised is None and not self._stopped and self._kept(work)


def _pointer(values: Array) -> Any:
    return values.ctypes.data_as(_NUMBERS)


def _array(pointer: Any, length: int) -> Vector:
    return np.ctypeslib.as_array(pointer, (length,)) if length else np.zeros(0)


def _fill(out: Any, length: int, values: Any) -> bool:
    """Write values to an array of Ipopt; return whether all are finite."""
    if length:
        _array(out, length)[:] = values
    return bool(np.isfinite(values).all())


def _place(rows: Any, columns: Any, places: tuple[Indices, Indices]) -> bool:
    for pointer, values in zip((rows, columns), places, strict=True):
        if len(values):
            np.ctypeslib.as_array(pointer, (len(values),))[:] = values
    return True
