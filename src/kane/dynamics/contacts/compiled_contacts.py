"""Compiled contact modes, in the form in which native code reads them from the constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.compiled_modes import CompiledModes
from kane.dynamics.lane_modes import LaneModes
from kane.engine.hybrid import mode_programs as programs
from kane.engine.memory.constants import COMPILED_MODE_BLOCK, COMPILED_MODE_ROW
from kane.engine.memory.constraint_memory import ContactConstants
from kane.engine.memory.contact_codes import NONE, SLIDING
from kane.engine.memory.fill import NO_MEMORY, filled
from kane.engine.memory.views import (
    ContactState,
    compiled_mode_block_at,
    compiled_mode_block_size,
    compiled_mode_row_at,
    compiled_mode_row_size,
    mode_scratch_at,
)
from kane.engine.rows.row_problem import response_scratch_of
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import scheduled

if TYPE_CHECKING:
    from kane.formulation.contact_mode import ContactMode


@dataclass(frozen=True)
class CompiledMode:
    """Programs of one contact mode.

    Attributes:
        statuses: status of each intermittent constraint.
        programs: right-hand side and guards; if projections are compiled, also residuals, a Newton step, and projection
            of the speeds.
    """

    statuses: tuple[int, ...]
    programs: tuple[CompiledFunction, ...]

    @classmethod
    def of(cls, mode: ContactMode, code_of: Callable[[Program], CompiledFunction]) -> CompiledMode:
        """Compile a mode."""
        found = {"slopes": mode.accelerations(), "guards": mode.guards()}
        if mode.projections:
            found |= {"missed": mode.missed(), "step": mode.step(), "settled": mode.projected()}
        return cls(mode.statuses, tuple(code_of(scheduled(mode.open, name, x)) for name, x in found.items()))

    def row(self, starts: Iterator[int]) -> np.ndarray:
        """Return the CompiledModeRow, int64; ``starts`` yields the places of the programs' constants."""
        addresses, places = np.zeros((2, 5), np.int64)
        for k, compiled in enumerate(self.programs):
            addresses[k], places[k] = compiled.address, next(starts)
        return filled(COMPILED_MODE_ROW, addresses=addresses, places=places, statuses=self.statuses)


@dataclass(frozen=True)
class ContactModes:
    """Compiled contact modes of one model.

    Attributes:
        modes: the modes that are compiled so far.
        inputs, intermittents: numbers of inputs and of intermittent constraints of the model.
        expected: whether there are compiled modes, or may be some later in a run.
    """

    modes: tuple[CompiledMode, ...] = ()
    inputs: int = 0
    intermittents: int = 0
    expected: bool = False

    @classmethod
    def of(cls, equations: Equations, given: CompiledModes) -> ContactModes:
        """Return the compiled modes before any mode is compiled; ``equations`` have all intermittent rows."""
        sizes = len(equations.inputs), len(equations.intermittents)
        return cls((), *sizes, expected=bool(given.statuses) or given.met)

    @property
    def statuses(self) -> tuple[tuple[int, ...], ...]:
        """Statuses of the intermittent constraints in each mode."""
        return tuple(mode.statuses for mode in self.modes)

    @property
    def programs(self) -> tuple[CompiledFunction, ...]:
        """Programs of all modes, in the order of their constants."""
        return tuple(p for mode in self.modes for p in mode.programs)

    @property
    def length(self) -> int:
        """Length of the block that native code reads."""
        rows = len(self.modes) * compiled_mode_row_size(self.intermittents)
        return int(compiled_mode_block_size() + rows) if self.expected else 0

    def block(self, starts: Iterable[int]) -> np.ndarray:
        """Return the block that native code reads, int64, without an active mode.

        Args:
            starts: places of the programs' constants.
        """
        if not self.expected:
            return np.zeros(0, np.int64)
        places, numeric = iter(starts), (programs.rhs, programs.project, programs.guards, programs.reactions)
        addresses = [program() for program in numeric]
        own = filled(COMPILED_MODE_BLOCK, numeric=addresses, modes=len(self.modes), chosen=NONE, inputs=self.inputs)
        return np.concatenate([own, *(mode.row(places) for mode in self.modes)])

    def in_lanes(self, header: np.ndarray, state: ContactState) -> LaneModes:
        """Return the programs of SIMD lanes, from the header of the constants and the indices of the ContactState."""
        first, nc = len(header) - self.length, self.intermittents
        chosen = compiled_mode_block_at(np.arange(first + compiled_mode_block_size()), first).chosen[0]
        rows = header[first + compiled_mode_block_size() :].reshape(-1, compiled_mode_row_size(nc))
        places = compiled_mode_row_at(rows, 0, nc).places
        read = [
            [int(i) for k, status in enumerate(mode) if status == SLIDING for i in (*state.along[k], state.begun[k])]
            for mode in self.statuses
        ]
        slopes, guards = ([mode.programs[k] for mode in self.modes] for k in (0, 1))
        return LaneModes(
            int(chosen), (slopes, guards, [], []), (places[:, 0].tolist(), places[:, 1].tolist(), [], []), read
        )

    def knows(self, chosen: int) -> bool:
        """Check whether a block may have this number of the active mode."""
        return NONE <= chosen < len(self.modes)

    def scratch(self, c: ContactConstants) -> int:
        """Return the number of doubles of scratch memory that native code needs with these constants."""
        end, head = response_scratch_of(c, NO_MEMORY).end, c.head
        if self.expected:
            sizes = head.rows, head.speeds, head.coordinates, c.block.constraints, self.inputs
            end = mode_scratch_at(NO_MEMORY, end, *sizes).end
        return int(end)
