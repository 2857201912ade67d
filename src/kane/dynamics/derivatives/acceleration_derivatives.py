"""Derivatives of accelerations of models with many speeds, solved numerically by native code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from kane.codegen.jit.batches import Columns, Range, in_chunks
from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.embedded.constrained_function import ConstrainedFunction
from kane.engine.step import acceleration_derivatives as native
from kane.engine.step.batches import each_state
from kane.formulation.derivatives.solved import SolvedTerms

if TYPE_CHECKING:
    from kane.dynamics.dynamics import Dynamics

# Number of states in a chunk, whose terms take one or two megabytes. Batches of fewer than _LEAST_CHUNKED_BATCH states
# are faster state by state.
_DERIVATIVE_CHUNK_STATES, _LEAST_CHUNKED_BATCH = 256, 16


@final
class SolvedParts:
    """Programs that native code calls, and the header at the start of the stage array; see ``ConstrainedFunction``.

    Attributes:
        equations: equations of the model.
        called: "forward" and the terms, whose constants follow the header.
        terms: derivative terms that the programs evaluate.
        columns, blocks, width: number of columns, number of blocks of columns, and columns per block.
        headers: slice of the header in the stage array.
    """

    def __init__(self, dyn: Dynamics, terms: SolvedTerms) -> None:
        """Compile the terms and the program that solves them, for a model."""
        self.equations, self.terms = dyn.equations, terms
        self.called = dyn.function("forward"), dyn.compile(terms.program)
        self._solution = dyn.compile(terms.solution)
        self._lanes = self._solution.lanes()
        self.width = self._lanes.width if self._lanes else 1
        self.columns = sum(len(x.labels) for x in terms.varied)
        self.blocks = -(-self.columns // self.width)
        self.headers = (slice(0, len(self.expected)),)

    @property
    def programs(self) -> tuple[ArrayFunction, ...]:
        """Same as ``called``."""
        return self.called

    @cached_property
    def expected(self) -> np.ndarray:
        """Header, (n,) int64, as ``kane.engine.step.acceleration_derivatives`` describes it."""
        of, n, width = self.terms, len(self.terms.order), self.width
        solve = self._lanes or self._solution
        lists = [[(j // width * n + k) * width + j % width for k, j in of.entries]]
        lists.append([i * self.columns + j for i, j in of.slopes])
        head = np.zeros(native.HEADER_SIZE + sum(map(len, lists)), np.int64)
        head[native.HEADER_SIZE :] = np.concatenate([np.array(x, np.int64) for x in lists])
        forward, terms = self.called
        head[: native.HEADER_SIZE] = (
            *(forward.address, terms.address, solve.address, len(head), len(head) + forward.n_stage),
            *(n, len(self.equations.inputs), self.columns, self.blocks, width, self._solution.n_stage),
            *(len(of.entries), of.outputs, len(of.slopes)),
            max(forward.n_work, terms.n_work, solve.n_work),
        )
        return head

    @cached_property
    def stages(self) -> tuple[slice, slice]:
        """Slices of the constants of "forward" and of the terms in the stage array."""
        first, second = (int(self.expected[k]) for k in (native.FORWARD_CONSTANTS, native.TERMS_CONSTANTS))
        return slice(first, second), slice(second, None)

    def header(self, mode: int) -> np.ndarray:
        """Return the header; there is only one mode."""
        return self.expected

    def owns(self, stage: np.ndarray) -> bool:
        """Check the header in a stage array, because native code calls the addresses in it."""
        return np.array_equal(stage[: len(self.expected)].view(np.int64), self.expected)

    def stage(self, parameters: np.ndarray, mode: int) -> np.ndarray:
        """Return the header and the constants of the programs, (..., n_stage)."""
        head, batch = self.expected.view(np.float64), parameters.shape[:-1]
        stages = [p.stage(parameters) for p in self.called]
        return np.concatenate([np.broadcast_to(head, (*batch, len(head))), *stages], axis=-1)


@final
class AccelerationDerivatives(ConstrainedFunction):
    """Native code of outputs, udot and the derivatives of both; ``read`` unpacks its results."""

    def __init__(self, dyn: Dynamics, terms: SolvedTerms) -> None:
        """Compile the terms for a model."""
        parts = self._solved = SolvedParts(dyn, terms)
        values = terms.outputs * (1 + parts.columns)
        length = values + len(terms.order) * (1 + parts.blocks * parts.width)
        name = f"derivatives of {', '.join(x.word for x in terms.varied)}"
        super().__init__(name, native.acceleration_derivatives, parts, length, mode=0, rest=dyn.equations.inputs)

    def scratch(self, head: np.ndarray) -> int:
        return int(native.scratch_at(head).end)

    @cached_property
    def reads(self) -> frozenset[Any]:
        return super().reads - set(self.parts.equations.udot)

    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Compute accelerations and terms with several states in SIMD lanes, then solve several columns per state."""
        batch, result = out.shape[:-1], out.reshape(-1, self.n_out)
        if len(result) < _LEAST_CHUNKED_BATCH:
            return super()._many(parts, rest, stage, out)
        states, rests = Columns.dense(parts, batch).array, Columns.dense([rest], batch).array
        stages = stage.reshape(1, -1) if stage.size == self.n_stage else Columns.dense([stage], batch).array
        solved, forward_at, terms_at = native.solved_derivatives(), *self._solved.stages
        forward, terms = self._solved.called

        def start() -> Range:
            work = np.empty(self.n_work)

            def run(i: int, j: int) -> None:
                own = stages[i:j] if len(stages) > 1 else stages
                udot = forward(states[i:j], rests[i:j], own[:, forward_at])
                found = terms(states[i:j], np.hstack([rests[i:j], udot]), own[:, terms_at])
                each_state(solved, states[i:j], found, own, result[i:j], work)

            return run

        in_chunks(len(result), _DERIVATIVE_CHUNK_STATES, self.threads, start)
        return out

    def read(self, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unpack the results to values (..., outputs) and derivative columns (..., outputs, columns)."""
        parts, terms = self._solved, self._solved.terms
        first, n, columns, batch = terms.outputs, len(terms.order), parts.columns, found.shape[:-1]
        start = first * (1 + columns)
        values = np.concatenate([found[..., :first], found[..., start : start + n]], axis=-1)
        whole = np.empty((*batch, first + n, columns))
        whole[..., :first, :] = found[..., first:start].reshape(*batch, first, columns)
        blocks = found[..., start + n :].reshape(*batch, parts.blocks, n, parts.width)
        rows = np.swapaxes(blocks, -3, -2).reshape(*batch, n, -1)[..., :columns]
        whole[..., first + np.array(terms.order), :] = rows
        return values, whole
