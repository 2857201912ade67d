"""Native code of one program."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from kane.codegen.jit.batches import C_POINTER, LaneCode, chunk_for, in_chunks, processors
from kane.codegen.jit.description import CodeDescription
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.jit.python_call import LEAST_LANES
from kane.codegen.programs.named import NamedProgram, derived
from kane.expression.node import Expr
from kane.expression.traverse import leaves

if TYPE_CHECKING:
    from kane.codegen.programs.program import Program

# Code for lanes is compiled once its savings on past batches would have paid for its compilation. So the total time is
# at most twice the time of the better strategy. Measured: compilation takes 25 ms and 40 us per operation, and saves
# 0.2 ns per operation and state.
_LANES_AFTER, _LANES_AFTER_EACH = 125_000_000, 200_000


@final
class CompiledFunction(ArrayFunction):
    """Native code of a program.

    The code is pure: it only writes to ``out`` and ``work``. So any number of threads may run it, each with its own
    arrays. Methods of this class use their own arrays and release the interpreter lock. Large batches run in several
    threads, and in SIMD lanes (``lanes``) once their compilation pays. The results are equal to the last bit.

        void address(const double* state, const double* rest, const double* stage, double* out, double* work)

    ``out`` and ``work`` must not overlap any other array.

    Attributes:
        address: address of this function, valid as long as this object lives.
    """

    def __init__(
        self,
        program: Program | NamedProgram,
        description: CodeDescription,
        addresses: Sequence[int],
        *,
        engine: Any,
        lanes: Callable[[bool], LaneCode] | None = None,
        eager: bool = False,
        threads: int | None = None,
    ) -> None:
        """Wrap code whose memory ``engine`` owns.

        Args:
            program: program that was compiled.
            description: lengths of the arrays.
            addresses: addresses of MAIN, ROWS_LOOP and STAGES; see ``emit_llvm``.
            engine: owner of their memory.
            lanes: compiles the program for several states in SIMD lanes, with common constants (False) or constants
                for each state (True). None if the machine has no suitable registers.
            eager: whether to use lanes from the first batch on.
            threads: largest number of threads for one batch; default is the number of processors.
        """
        from kane.codegen.emit.lanes import ONE

        self._source, self.name, self._read = program, program.name, description.reads
        self.address, _, stages = addresses
        self.n_state, self.n_rest, self.n_parameters = description.n_state, description.n_rest, description.n_parameters
        self.n_stage, self.n_out, self.n_work = description.n_stage, description.n_out, description.n_work
        self._number = description.number
        self.threads = threads or processors()
        self._stages = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[C_POINTER] * 3)(stages)
        self._one_lane = LaneCode(
            addresses[:2], lanes=ONE, each=True, state_widths=[self.n_state], n_work=self.n_work, engine=engine
        )
        self._compile_lanes = lanes
        self._lanes: dict[bool, LaneCode] = {}
        self._lock = threading.Lock()
        self._operations = description.operations
        # Operations that batches may still do without lanes, for common and for separate constants.
        self._before_lanes = [0 if eager else _LANES_AFTER + _LANES_AFTER_EACH * self._operations] * 2

    @property
    def program(self) -> Program | None:  # type: ignore[override]
        from kane.codegen.programs.parts import ProgramInParts

        return None if isinstance(self._derived, ProgramInParts) else self._derived

    @property
    def operations(self) -> tuple[int, int]:
        """Numbers of operations per state, on single numbers and on several items in SIMD lanes."""
        return self._derived.operations

    @property
    def _derived(self) -> Program:
        """The program; derived when it is first asked for, if its code came from the cache under a key."""
        return derived(self._source)

    @property
    def roots(self) -> tuple[Expr, ...]:
        return self._derived.outputs

    @cached_property
    def reads(self) -> frozenset[Expr]:
        if isinstance(self._source, NamedProgram) and not self._source.is_derived:
            return self._source.reads(self._read)
        return frozenset(leaves(self.roots))

    def stage(self, parameters: Any) -> np.ndarray:
        values = self._array(parameters, "parameters", self.n_parameters)
        stage, work = np.empty((*values.shape[:-1], self.n_stage)), np.empty(self.n_work)
        n = math.prod(values.shape[:-1])
        if self._number is not None:
            stage.view(np.int64)[..., 0] = self._number
        self._stages(n, values.ctypes.data, stage.ctypes.data, work.ctypes.data)
        return stage

    def lanes(self, *, each: bool = False) -> LaneCode | None:
        if self._compile_lanes is None:
            return None
        with self._lock:
            if each not in self._lanes:
                self._lanes[each] = self._compile_lanes(each)
            return self._lanes[each]

    @property
    def ready_lanes(self) -> LaneCode | None:
        return self._lanes.get(False)

    @property
    def unthreaded(self) -> int:
        return 2 * chunk_for(self._operations) - 1

    def _require_own(self, stage: np.ndarray) -> None:
        """Accept any constants, because a straight-line program cannot read outside its arrays."""

    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        each = stage.size != self.n_stage
        stage = stage if each else stage.reshape(self.n_stage)
        batch = out.shape[:-1]
        n = math.prod(batch)
        code = self._lanes_when_due(n, each) or self._one_lane
        start = code.ranges(parts, rest, stage, batch=batch, out=out)
        in_chunks(n, chunk_for(self._operations), self.threads, start)
        return out

    def _lanes_when_due(self, n: int, each: bool) -> LaneCode | None:
        if n < LEAST_LANES:
            return None
        code = self._lanes.get(each)
        if code is None and self._compile_lanes is not None:
            self._before_lanes[each] -= n * self._operations
            if self._before_lanes[each] <= 0:
                code = self.lanes(each=each)
        return code
