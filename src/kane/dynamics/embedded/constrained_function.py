"""Native functions of constrained equations: one code for all models, which calls a model's programs by address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kane.codegen.jit.batches import Columns, Range, in_chunks, processors
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.engine.memory.constants import CONSTRAINT_HEADER
from kane.engine.memory.constraint_codes import OWN, UNCHOSEN
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.fill import NO_MEMORY, filled
from kane.engine.memory.views import constraint_header_at, constraint_header_size
from kane.engine.step.batches import each_state
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.equations import Equations

if TYPE_CHECKING:
    from kane.dynamics.embedded.front_plan import FrontPlan

# States in a chunk, about 0.2 ms of work.
_CONSTRAINED_CHUNK_STATES = 64


class Bound(Protocol):
    """Data that bind native code to a model: programs, and the header at the start of the stage array.

    Attributes:
        equations: equations of the model.
        programs: programs that determine on which symbols the outputs depend.
        called: all programs, in the order of their constants in the stage array.
        headers: slices of the headers in the stage array.
    """

    @property
    def equations(self) -> Equations: ...
    @property
    def programs(self) -> Sequence[ArrayFunction]: ...
    @property
    def called(self) -> Sequence[ArrayFunction]: ...
    @property
    def headers(self) -> tuple[slice, ...]: ...

    def header(self, mode: int) -> np.ndarray:
        """Return the header, (n,) int64."""

    def owns(self, stage: np.ndarray) -> bool:
        """Check the headers in a stage array, because native code calls the addresses in them."""

    def stage(self, parameters: np.ndarray, mode: int) -> np.ndarray:
        """Return the header and the constants of the programs, (..., n_stage)."""


@dataclass(frozen=True)
class Parts:
    """Programs of a model that native functions of its constraints call, in the order of the header.

    Attributes:
        equations: equations with the constraints.
        programs: "constraints", "configuration", "kinematics" and "unconstrained".
        own: projection of the configuration by the joints' own speeds; None if these are the generalized speeds.
        plan: elimination order of the loops.
    """

    equations: Equations
    programs: tuple[CompiledFunction, ...]
    own: ConstrainedFunction | None
    plan: FrontPlan
    _latest: dict[str, tuple[bytes | None, list[np.ndarray]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def n_work(self) -> int:
        """Length of scratch memory, in doubles, of the program that needs most."""
        return max(p.n_work for p in self.called)

    @property
    def listed(self) -> tuple[ArrayFunction, ...]:
        """Programs that the header lists, in its order."""
        return self.programs if self.own is None else (*self.programs, self.own)

    @property
    def called(self) -> tuple[ArrayFunction, ...]:
        """All programs, in the order of their constants in the stage array."""
        return self.listed

    def block(self) -> np.ndarray:
        """Return the integers after the lists of the header: the plan of the fronts, int64."""
        return np.array(self.plan.numbers, np.int64)

    def header(self, mode: int) -> np.ndarray:
        """Return the ConstraintHeader, the lists and the block, (n,) int64."""
        eqs = self.equations
        lists, block = self._lists(), self.block()
        first = constraint_header_size() + sum(map(len, lists)) + len(block)
        starts = np.cumsum([first, *(p.n_stage for p in self.called)])
        unused = [0] * (OWN + 1 - len(self.listed))
        head = filled(
            CONSTRAINT_HEADER,
            addresses=[*(p.address for p in self.listed), *unused],
            places=[*starts[: len(self.listed)], *unused],
            mode=mode,
            linear=all(row.linear for row in eqs.constraints),
            rows=len(eqs.constraints),
            speeds=len(eqs.u),
            coordinates=len(eqs.q),
            residuals=len(lists[1]),
            quaternions=len(eqs.quaternions),
            own_speeds=len(eqs.own.u),
            rank=eqs.embedding.choice.rank,
            work=self.n_work,
            fronts=self.plan.number,
        )
        return np.concatenate([head, *lists, block]).astype(np.int64)

    @cached_property
    def expected(self) -> np.ndarray:
        """Header for calls outside of runs."""
        return self.header(self.equations.embedding.choice.alone)

    @cached_property
    def headers(self) -> tuple[slice, ...]:
        """Slices of the headers in the stage array, including the header for the joints' own speeds."""
        first = slice(0, len(self.expected))
        inner = () if self.own is None else self.own.parts.headers
        start = int(constraint_header_at(self.expected, 0).places[OWN])
        return (first, *(slice(start + x.start, start + x.stop) for x in inner))

    def owns(self, stage: np.ndarray) -> bool:
        """Check the headers in a stage array, because native code calls the addresses in them."""
        head = constraint_header_at(self.expected, 0)
        given, m, n = stage[: len(self.expected)].view(np.int64).copy(), int(head.rows), int(head.speeds)
        places = selection_places(given, n)
        mode, rank, *order = given[places].tolist()
        given[places] = self.expected[places]
        choice = self.equations.embedding.choice
        valid = (
            mode in (choice.alone, choice.in_runs) and UNCHOSEN <= rank <= min(m, n) and sorted(order) == [*range(n)]
        )
        inner = self.own is None or self.own.parts.owns(stage[head.places[OWN] :])
        return valid and inner and np.array_equal(given, self.expected)

    def _lists(self) -> tuple[list[int], list[int], list[int]]:
        eqs = self.equations
        dependent = eqs.embedding.D
        order = [*dependent, *(j for j in range(len(eqs.u)) if j not in dependent)]
        closing = [] if self.own else eqs.constraints
        rows = [i for i, row in enumerate(closing) if row.configuration is not None]
        return order, rows, list(eqs.quaternions)

    def stage(self, parameters: np.ndarray, mode: int) -> np.ndarray:
        """Return the header and the constants of the programs, (..., n_stage)."""
        given = self.expected.copy()
        given[selection_places(given, len(self.equations.u))[0]] = mode
        head, batch = given.view(np.float64), parameters.shape[:-1]
        return np.concatenate([np.broadcast_to(head, (*batch, len(head))), *self._constants(parameters)], axis=-1)

    def _constants(self, parameters: np.ndarray) -> list[np.ndarray]:
        """Return the constants of the programs, computed once for consecutive calls with the same parameters."""
        key = parameters.tobytes() if parameters.ndim == 1 else None
        known, constants = self._latest.get("constants", (None, []))
        if key is None or key != known:
            constants = [p.stage(parameters) for p in self.called if p.n_stage > 0]
        if key is not None:
            self._latest["constants"] = key, constants
        return constants


def selection_places(stage: np.ndarray, n: int) -> list[int]:
    """Return the indices in a stage array of the mode, the rank and the order of n speeds of its speed selection."""
    numbers = np.arange(len(stage))
    head = constraint_header_at(numbers, 0)
    return [int(head.mode), *head.rank.tolist(), *range(int(head.end), int(head.end) + n)]


class ConstrainedFunction(ArrayFunction):
    """Native code that serves all models, bound to one model by the addresses in its stage array.

    Attributes:
        parts: programs that the code calls.
        mode: method of speed selection, a mode of ``kane.engine.memory.constraint_codes``.
        first: number of leading outputs that calls from Python omit; the code at the address returns them too.
    """

    program = None

    def __init__(
        self,
        name: str,
        native: Callable[[], int],
        parts: Bound,
        n_out: int,
        *,
        mode: int,
        first: int = 0,
        rest: Sequence[Any] = (),
        decisive: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Bind native code to a model.

        Args:
            name: name of the quantity, for messages.
            native: returns the address of the code.
            parts: programs that the code calls.
            n_out: number of outputs.
            mode, first: see the class.
            rest: leaves that the function reads besides t, q and u.
            decisive: number of leading programs that determine the outputs; all programs unless given.
            threads: number of threads per batch; one per processor unless given.
        """
        self.name, self.parts, self.mode, self.first = name, parts, mode, first
        self._headers = parts.headers
        self._passed: list[bytes] = []  # headers of the last stage array that passed the check
        self._decisive = parts.called[:decisive]
        self.address = native()
        eqs, head = parts.equations, parts.header(mode)
        self.n_state = 1 + len(eqs.q) + len(eqs.u)
        self.n_rest, self.n_parameters, self.n_out = len(rest), len(eqs.parameters), n_out
        self.n_stage = len(head) + sum(p.n_stage for p in parts.called)
        self.n_work = self.scratch(head)
        self.threads = threads or processors()

    def scratch(self, head: np.ndarray) -> int:
        """Return the number of doubles of scratch memory that the code needs."""
        return int(scratch_of(constraint_header_at(head, 0), NO_MEMORY).end)

    @property
    def roots(self) -> tuple[Expr, ...]:
        return self.parts.programs[-1].roots

    @cached_property
    def reads(self) -> frozenset[Expr]:
        return frozenset().union(*(p.reads for p in self._decisive))

    def stage(self, parameters: Any) -> np.ndarray:
        """Return the stage array: addresses, sizes, the speed selection, and the constants of the programs."""
        return self.parts.stage(self._array(parameters, "parameters", self.n_parameters), self.mode)

    def lanes(self, *, each: bool = False) -> None:
        """Return None: speed selections differ from state to state, which rules out SIMD lanes."""

    def _require_own(self, stage: np.ndarray) -> None:
        for row in (stage,) if stage.ndim == 1 else stage.reshape(-1, self.n_stage):
            headers = [row[x].tobytes() for x in self._headers]
            if headers != self._passed:
                if not self.parts.owns(row):
                    raise ModelError(f"{self.name}: this stage was not made for it; give the result of its stage()")
                self._passed = headers

    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        batch, each = out.shape[:-1], stage.size != self.n_stage
        states, rests = Columns.dense(parts, batch).array, Columns.dense([rest], batch).array
        stages = Columns.dense([stage], batch).array if each else stage.reshape(1, -1)
        result = out.reshape(-1, self.n_out)
        rows = np.empty((len(result), self.first + self.n_out)) if self.first else result

        def start() -> Range:
            work = np.empty(self.n_work)

            def run(i: int, j: int) -> None:
                own = stages[i:j] if each else stages
                each_state(self.address, states[i:j], rests[i:j], own, rows[i:j], work)

            return run

        in_chunks(len(rows), _CONSTRAINED_CHUNK_STATES, self.threads, start)
        if self.first:
            result[...] = rows[:, self.first :]
        return out
