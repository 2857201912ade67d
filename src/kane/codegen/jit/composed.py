"""Native code of a composed program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.codegen.jit.compiler import compile_composed
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.composed import Composed
from kane.expression.node import Expr


@final
class ComposedFunction(ArrayFunction):
    """Native code of a composed program, with the state, inputs and parameters of its first program.

    For one state, SIMD lanes contain parts of the mechanism. For large batches, they contain states.

    Attributes:
        operations: numbers of operations per state, on single numbers and on parts in SIMD lanes.
    """

    def __init__(self, composed: Composed, **options: Any) -> None:
        """Compile the program, or load its code from the cache on disk; for ``options`` see ``compile_composed``.

        Raises:
            CompileError: see ``compile_composed``.
        """
        self._code = compile_composed(composed, **options)
        self.name, self.program, self.n_out = composed.name, None, composed.n_out
        self.operations = composed.operations
        for word in ("address", "n_state", "n_rest", "n_parameters", "n_stage", "n_work", "threads"):
            setattr(self, word, getattr(self._code, word))

    @property
    def roots(self) -> tuple[Expr, ...]:
        return self._code.roots

    @cached_property
    def reads(self) -> frozenset[Expr]:
        return self._code.reads

    def stage(self, parameters: Any) -> np.ndarray:
        return self._code.stage(parameters)

    def lanes(self, *, each: bool = False) -> LaneCode | None:
        return self._code.lanes(each=each)

    def _require_own(self, stage: np.ndarray) -> None:
        """Accept any constants, because a straight-line program cannot read outside its arrays."""

    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        self._code.threads = self.threads
        return self._code._many(parts, rest, stage, out)
