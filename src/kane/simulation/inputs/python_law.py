"""A sampled law in Python as an address that native loops call."""

from __future__ import annotations

import copy
import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.codegen.jit.python_asked import AskedCode
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_memory import mode_of
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers

if TYPE_CHECKING:
    from kane.simulation.inputs.sampler import Sampler


class PythonLaw:
    """Python law with an address for native loops.

    Attributes:
        kept: exceptions of the law, which cannot propagate through a native loop.
        time: time of the last evaluation [s].
    """

    def __init__(self, number: int, sampler: Sampler) -> None:
        self._number, self.law, self._sampler = number, sampler.laws[number], sampler
        self._memory = self._before = copy.deepcopy(self.law.sampled.state)
        self.kept: list[BaseException] = []
        self.time = sampler.start
        self._code = AskedCode(self._answer, self.kept.append, 0, len(self.law.columns))

    @property
    def address(self) -> int:
        """Address that native loops call; valid while this object lives."""
        return self._code.address

    def forget(self) -> None:
        """Discard the exceptions, and the memory written at the last tick."""
        self.kept.clear()
        self._memory = self._before

    def _answer(self) -> None:
        if self.kept:  # the loop will end
            raise self.kept[0]
        sampler, (nq, n) = self._sampler, self._sampler.state
        state, rest, out = self._code.given
        x = np.array((ctypes.c_double * (1 + nq + n)).from_address(state))  # copies: the law may keep or change them
        self.time, self._before = float(x[0]), self._memory
        answers = np.ctypeslib.as_array((ctypes.c_double * len(self.law.columns)).from_address(out))
        key = int(mode_of(sampler).key[0])
        if isinstance(self.law.sampled.law, Expr):
            inputs = np.array((ctypes.c_double * len(sampler.initial)).from_address(rest))
            answers[:] = sampler.mode_source.answer(self._number, key, x, inputs)
        else:
            seen = sampler.mode_source.seen(key, x[1:])
            answers[:] = self._asked(self.time, seen[:nq], seen[nq:])

    def _asked(self, t: float, q: Vector, u: Vector) -> Vector:
        sampled, shape = self.law.sampled, (len(self.law.columns),)
        if sampled.state is None:
            message = sampled.law(t, q, u)  # type: ignore[operator]
        else:
            message, self._memory = self._with_state(t, q, u)
        found = numbers(message, "a sampled law must return numbers")
        if found.shape != shape and not (found.shape == () and shape == (1,)):
            raise ModelError(f"a sampled law returned shape {found.shape} where {shape} is needed")
        if not np.isfinite(found).all():
            raise ModelError(f"it returned {found.tolist()}, which is not finite")
        return found.reshape(shape)

    def _with_state(self, t: float, q: Vector, u: Vector) -> tuple[Any, Any]:
        answer = self.law.sampled.law(t, q, u, self._memory)  # type: ignore[operator]
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ModelError("a sampled law with a state must return the input and the next state, (input, state)")
        return answer
