"""Modes of constraints that come and go with equations of their own, as native code finds them in a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.ahead import AheadOfTime
from kane.dynamics.lane_modes import LaneModes
from kane.formulation.contact_mode import ContactMode
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import scheduled
from kane.model.speed_choice import Near
from kane.native.choices import CONSEQUENCES, DEPENDENT, MASK, STEP
from kane.native.contacts import ahead, programs
from kane.native.contacts.ahead import (
    AHEAD,
    CHOSEN,
    GUARDS,
    IN_NUMBERS,
    INPUTS,
    MODES,
    NONE,
    OWN_GUARDS,
    OWN_RHS,
    OWN_SIGHT,
    REACTIONS,
    RHS,
    SETTLE,
    STATUSES,
    row_length,
)
from kane.native.contacts.header import ALONG, BEGUN, CHANGING, SLIDING

# What programs read of what slides: the direction of slip, and from which speed on that is one of its own.
READ = (ALONG, ALONG + 1, BEGUN)


@dataclass(frozen=True)
class CompiledMode:
    """What native code calls in one mode.

    Attributes:
        statuses: of the candidates.
        programs: the right-hand side, guards, and what is seen at a state; where settling is compiled, a step of
            Newton's method and what follows.
        dependent: columns of u by which states are settled; None where that is left to numbers.
    """

    statuses: tuple[int, ...]
    programs: tuple[CompiledFunction, ...]
    dependent: tuple[int, ...] | None

    @classmethod
    def of(cls, mode: ContactMode, near: Near | None, code_of: Callable[[Program], CompiledFunction]) -> CompiledMode:
        """The code of a mode."""
        found = {"slopes": mode.accelerations(), "guards": mode.guards(), "sight": mode.sight()}
        settled = mode.settled(near)
        if settled is not None and settled.dependent:
            found |= {"step": settled.step(), "consequences": settled.consequences()}
        programs = tuple(code_of(scheduled(mode.open, name, x)) for name, x in found.items())
        return cls(mode.statuses, programs, None if settled is None else settled.columns)

    def row(self, speeds: int, starts: Iterator[int]) -> np.ndarray:
        """As native code reads it, the stages of the programs at these places."""
        nc = len(self.statuses)
        row = np.zeros(row_length(nc, speeds), np.int64)
        row[STATUSES : STATUSES + nc] = self.statuses
        choice = STATUSES + nc
        places = (OWN_RHS, OWN_GUARDS, OWN_SIGHT, choice + STEP, choice + CONSEQUENCES)
        for place, compiled in zip(places, self.programs, strict=False):
            row[place : place + 2] = compiled.address, next(starts)
        row[choice + DEPENDENT] = IN_NUMBERS if self.dependent is None else len(self.dependent)
        row[[choice + MASK + j for j in self.dependent or ()]] = 1
        return row


@dataclass(frozen=True)
class ContactModes:
    """The modes of one model that are compiled.

    Attributes:
        modes: by now.
        inputs, speeds, candidates, rows: how many the model has.
        expected: whether there are any, or may be some later in a run.
    """

    modes: tuple[CompiledMode, ...] = ()
    inputs: int = 0
    speeds: int = 0
    candidates: int = 0
    rows: int = 0
    expected: bool = False

    @classmethod
    def of(cls, equations: Equations, given: AheadOfTime) -> ContactModes:
        """None as yet, of equations with the rows of all candidates."""
        eqs = equations
        sizes = len(eqs.inputs), len(eqs.u), len(eqs.candidates), len(eqs.constraints)
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
        return AHEAD + len(self.modes) * int(row_length(self.candidates, self.speeds)) if self.expected else 0

    def block(self, starts: Iterable[int]) -> np.ndarray:
        """What native code reads, int64, none of the modes in force; the stages of the programs at these places."""
        if not self.expected:
            return np.zeros(0, np.int64)
        own, places = np.zeros(AHEAD, np.int64), iter(starts)
        each = {RHS: programs.rhs, SETTLE: programs.settle, GUARDS: programs.guards, REACTIONS: programs.reactions}
        numeric = {which: program() for which, program in each.items()}
        for which, value in {**numeric, MODES: len(self.modes), CHOSEN: NONE, INPUTS: self.inputs}.items():
            own[which] = value
        return np.concatenate([own, *(mode.row(self.speeds, places) for mode in self.modes)])

    def in_lanes(self, header: np.ndarray, changing: int) -> LaneModes:
        """What trajectories side by side call, from the header of a stage and where in it begins what changes."""
        first = len(header) - self.length
        rows = header[first + AHEAD :].reshape(-1, int(row_length(self.candidates, self.speeds)))
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

    @property
    def room(self) -> int:
        """How many doubles of scratch they need."""
        return int(ahead.room(self.inputs, self.candidates, self.rows)) if self.expected else 0
