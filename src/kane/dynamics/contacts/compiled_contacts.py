"""Modes of constraints that come and go with equations of their own, as native code finds them in a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.compiled_modes import CompiledModes
from kane.dynamics.lane_modes import LaneModes
from kane.formulation.contact_mode import ContactMode
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import scheduled
from kane.native.contacts import ahead, programs
from kane.native.contacts.ahead import (
    AHEAD,
    CHOSEN,
    GUARDS,
    INPUTS,
    MODES,
    NONE,
    OWN_GUARDS,
    OWN_MISSED,
    OWN_RHS,
    OWN_SETTLED,
    OWN_STEP,
    REACTIONS,
    RHS,
    SETTLE,
    STATUSES,
    row_length,
)
from kane.native.contacts.blocks import quick_places
from kane.native.contacts.header import ALONG, BEGUN, CHANGING, SLIDING

# What programs read of what slides: the direction of slip, and from which speed on that is one of its own.
READ = (ALONG, ALONG + 1, BEGUN)


@dataclass(frozen=True)
class CompiledMode:
    """What native code calls in one mode.

    Attributes:
        statuses: of the candidates.
        programs: the right-hand side and guards; where settling is compiled, what a state misses, a step of Newton's
            method, and what is settled.
    """

    statuses: tuple[int, ...]
    programs: tuple[CompiledFunction, ...]

    @classmethod
    def of(cls, mode: ContactMode, code_of: Callable[[Program], CompiledFunction]) -> CompiledMode:
        """The code of a mode."""
        found = {"slopes": mode.accelerations(), "guards": mode.guards()}
        if mode.projections:
            found |= {"missed": mode.missed(), "step": mode.step(), "settled": mode.projected()}
        return cls(mode.statuses, tuple(code_of(scheduled(mode.open, name, x)) for name, x in found.items()))

    def row(self, starts: Iterator[int]) -> np.ndarray:
        """As native code reads it, the stages of the programs at these places."""
        nc = len(self.statuses)
        row = np.zeros(row_length(nc), np.int64)
        row[STATUSES : STATUSES + nc] = self.statuses
        places = (OWN_RHS, OWN_GUARDS, OWN_MISSED, OWN_STEP, OWN_SETTLED)
        for place, compiled in zip(places, self.programs, strict=False):
            row[place : place + 2] = compiled.address, next(starts)
        return row


@dataclass(frozen=True)
class ContactModes:
    """The modes of one model that are compiled.

    Attributes:
        modes: by now.
        inputs, intermittents: how many the model has.
        expected: whether there are any, or may be some later in a run.
    """

    modes: tuple[CompiledMode, ...] = ()
    inputs: int = 0
    intermittents: int = 0
    expected: bool = False

    @classmethod
    def of(cls, equations: Equations, given: CompiledModes) -> ContactModes:
        """None as yet, of equations with the rows of all candidates."""
        sizes = len(equations.inputs), len(equations.intermittents)
        return cls((), *sizes, expected=bool(given.statuses) or given.met)

    @property
    def statuses(self) -> tuple[tuple[int, ...], ...]:
        """Of the candidates in each mode."""
        return tuple(mode.statuses for mode in self.modes)

    @property
    def programs(self) -> tuple[CompiledFunction, ...]:
        """Of all modes, in the order in which their stages lie."""
        return tuple(p for mode in self.modes for p in mode.programs)

    @property
    def length(self) -> int:
        """Of the block that native code reads."""
        return AHEAD + len(self.modes) * int(row_length(self.intermittents)) if self.expected else 0

    def block(self, starts: Iterable[int]) -> np.ndarray:
        """What native code reads, int64, none of the modes in force; the stages of the programs at these places."""
        if not self.expected:
            return np.zeros(0, np.int64)
        own, places = np.zeros(AHEAD, np.int64), iter(starts)
        each = {RHS: programs.rhs, SETTLE: programs.settle, GUARDS: programs.guards, REACTIONS: programs.reactions}
        numeric = {which: program() for which, program in each.items()}
        for which, value in {**numeric, MODES: len(self.modes), CHOSEN: NONE, INPUTS: self.inputs}.items():
            own[which] = value
        return np.concatenate([own, *(mode.row(places) for mode in self.modes)])

    def in_lanes(self, header: np.ndarray, changing: int) -> LaneModes:
        """What trajectories side by side call, from the header of a stage and where in it begins what changes."""
        first = len(header) - self.length
        rows = header[first + AHEAD :].reshape(-1, int(row_length(self.intermittents)))
        places = (rows[:, OWN_RHS + 1].tolist(), rows[:, OWN_GUARDS + 1].tolist())
        along = [
            [changing + k * CHANGING + i for k, status in enumerate(mode) if status == SLIDING for i in READ]
            for mode in self.statuses
        ]
        slopes, guards = ([mode.programs[k] for mode in self.modes] for k in (0, 1))
        return LaneModes(first + CHOSEN, (slopes, guards, [], []), (*places, [], []), along)

    def owns(self, block: np.ndarray) -> bool:
        """Whether a block may name this mode as the one in force."""
        return not self.expected or NONE <= int(block[CHOSEN]) < len(self.modes)

    def scratch(self, head: np.ndarray, block: np.ndarray) -> int:
        """How many doubles native code needs in all, with this header and block."""
        places = ahead.ahead_places(head, block, self.inputs) if self.expected else quick_places(head, block)
        return int(places.end)
