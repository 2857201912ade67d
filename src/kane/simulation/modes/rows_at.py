"""Rows of intermittent constraints at states: residuals, slips, and configuration residuals that rows keep."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.deferred import dataclass
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.engine.memory.contact_codes import OPEN, STICKING
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import GapTerms, gap_terms_at


@dataclass(frozen=True)
class RowsAt:
    """Rows of intermittent constraints at states [t, q, u], (states, 1 + nq + n).

    Attributes:
        functions: native functions of the model.
        states: the states.
        parameters: parameter values.
        active: whether velocities of each constraint are computed, (states, constraints); others are zero. None: all
            are zero.
    """

    functions: ContactFunctions
    states: Array
    parameters: Vector
    active: NDArray[np.bool_] | None = None

    @cached_property
    def gaps(self) -> GapTerms:
        """Gap, signs and coefficients of each constraint, (states, constraints) each."""
        program = self.functions.parts.gaps
        found = program(self.states, np.zeros(program.n_rest), program.stage(self.parameters))
        return gap_terms_at(found, 0, len(self.functions.equations.intermittents))

    @cached_property
    def configuration(self) -> Array:
        """Configuration residuals, then those of rows that keep their value, (states, closing + held)."""
        program = self.functions.parts.programs[1]
        return np.asarray(program(self.states, np.zeros(program.n_rest), program.stage(self.parameters)))

    @cached_property
    def motion(self) -> Array:
        """A u + b of the rows of active intermittent constraints, (states, rows)."""
        eqs, programs = self.functions.equations, self.functions.parts.own_programs
        found = np.zeros((len(self.states), len(eqs.constraints)))
        active = np.zeros((0, 0), bool) if self.active is None else self.active
        for k, rows in enumerate(eqs.intermittent_places[: active.shape[1]]):
            at = np.flatnonzero(active[:, k])
            if len(at):
                program = programs["moves", k]
                values = program(self.states[at], np.zeros(program.n_rest), program.stage(self.parameters))
                found[at, rows] = values[:, ::2]  # each row is followed by a bound of its rounding
        return found

    @property
    def held(self) -> Array:
        """Configuration residuals of rows that keep their value, (states, held)."""
        return self.configuration[:, len(self.functions.equations.closing) :]

    @property
    def slips(self) -> Array:
        """Slip velocity of each constraint with two tangents, (states, constraints, 2); NaN for the others."""
        eqs = self.functions.equations
        found = np.full((len(self.states), len(eqs.intermittents), 2), np.nan)
        for k, (c, rows) in enumerate(zip(eqs.intermittents, eqs.intermittent_places, strict=True)):
            if len(c.tangents) == 2:
                found[:, k] = self.motion[:, rows.stop - 2 : rows.stop]
        return found

    def residuals(self, statuses: NDArray[np.int8], found: Array) -> tuple[Array, Array]:
        """Return the largest configuration and motion residual of each active constraint, (states, constraints) each.

        Args:
            statuses: (states, constraints).
            found: configuration residuals that rows keep, (states, held); NaN for inactive rows.
        """
        eqs, motion, left = self.functions.equations, np.abs(self.motion), np.abs(self.configuration)
        closing, held = [x.name for x in eqs.closing], [x.name for x in eqs.held]
        off = np.nan_to_num(np.abs(self.held - found))
        closed, moved = np.zeros(statuses.shape), np.zeros(statuses.shape)
        active = (statuses != OPEN).any(axis=0)
        for k, (c, rows) in enumerate(zip(eqs.intermittents, eqs.intermittent_places, strict=True)):
            if not active[k]:
                continue
            imposed = statuses[:, k] == STICKING
            moved[:, k] = np.where(imposed, motion[:, rows].max(axis=1), 0.0)
            integrals = [held.index(x.name) for x in c.tangents if x.name in held]
            closed[:, k] = np.where(imposed, off[:, integrals].max(axis=1, initial=0.0), 0.0)
            if c.normal is not None:
                touches = statuses[:, k] != OPEN
                gap = np.where(touches, left[:, closing.index(c.normal.name)], 0.0)
                closed[:, k] = np.maximum(closed[:, k], gap)
                moved[:, k] = np.where(touches, np.maximum(moved[:, k], motion[:, rows.start]), 0.0)
        return closed, moved
