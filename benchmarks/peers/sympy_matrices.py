"""SymPy's finished mass matrix and forcing vector: as lambdify's functions, and after cse in C by gcc."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.toolchain import CACHE, built

Array = npt.NDArray[np.float64]


class MatricesInC:
    """Entries of M and forcing from the state, with the numbers of the parameters in the code."""

    def __init__(self, entries: Sequence[Any], state: Sequence[Any], values: dict[Any, float]) -> None:
        import sympy

        leaves = {x: sympy.Symbol(f"s[{i}]") for i, x in enumerate(state)}
        numbers = {x: sympy.Float(value) for x, value in values.items()}
        steps, results = sympy.cse([x.xreplace(leaves).xreplace(numbers) for x in entries])
        lines = [f"double {name} = {sympy.ccode(x)};" for name, x in steps]
        lines += [f"out[{k}] = {sympy.ccode(x)};" for k, x in enumerate(results)]
        self._lengths = len(state), len(results)
        CACHE.mkdir(exist_ok=True)
        path = CACHE / f"sympy_matrices_{len(state)}.c"
        path.write_text(SOURCE.replace("BODY", "\n  ".join(lines)))
        flags = ["-O3", "-march=native", "-shared", "-fPIC", "-lm"]
        library = built("gcc", [path], flags, stem="sympy_matrices", packages=["sympy"])
        self._library = ctypes.CDLL(str(library))

    def loop(self, calls: int, states: Array) -> Array:
        """Calls over the states (N, state) in turn; the results (N, entries)."""
        states = np.ascontiguousarray(states)
        out = np.zeros((len(states), self._lengths[1]))
        lengths = map(ctypes.c_long, (calls, len(states), *self._lengths))
        self._library.loop(*lengths, ctypes.c_void_p(states.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        return out


SOURCE = """#include <math.h>
static void entries(const double *s, double *out) {
  BODY
}
void loop(long calls, long n, long width, long count, const double *s, double *out) {
  long i = 0;
  for (long c = 0; c < calls; c++) {
    entries(s + width * i, out + count * i);
    i = i + 1 < n ? i + 1 : 0;
  }
}
"""
