"""Constraints that come and go as modes: one row of the table; their statuses lie in the stage that programs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.contact_functions import ContactFunctions, contact_functions, refusal
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError
from kane.native.arrays import (
    CHANGE,
    CHANGE_ROWS,
    CHANGE_TIME,
    CHANGED,
    GUARDS,
    RHS,
    SETTLE,
    STATE_BEFORE,
    Course,
    StateEquation,
    Vector,
)
from kane.native.blocks import constraint_places
from kane.native.contacts.blocks import change_places
from kane.native.contacts.header import (
    ALONG,
    BOUNCED,
    CHANGING,
    DELETED,
    GAP,
    HALTED,
    HELD,
    IMPOSED,
    KINETIC,
    NOTHING,
    NUMBERS,
    OPEN,
    RESTITUTION,
    REVERSED,
    SLIDING,
    SLIPPED,
    STATIC,
    STATUS,
    STUCK,
)
from kane.simulation.asked.closed_loop import with_laws
from kane.simulation.asked.events import Event, Occurrence
from kane.simulation.march import March
from kane.simulation.mode_table import stage_in_force
from kane.simulation.problem import Problem
from kane.simulation.recorded.record import Record
from kane.simulation.recorded.story import Story
from kane.simulation.run import Outcome
from kane.simulation.settling import UNSETTLED
from kane.simulation.switching import Switching

# A gap this much below zero at the start is rounding [m or rad].
TOUCHING = 1e-6
KINDS = {
    NOTHING: "nothing",
    IMPOSED: "imposed",
    DELETED: "deleted",
    SLIPPED: "slips",
    STUCK: "sticks",
    REVERSED: "reverses",
    BOUNCED: "bounces",
    HALTED: "halts",
}


class ContactSwitching(Switching):
    """A run of a model with constraints that come and go."""

    shares_stage = (RHS, GUARDS, CHANGE)

    def __init__(self, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> None:
        """The run of Dynamics with inputs, parameters and events, as ``simulate`` takes them."""
        self._posed = Problem.of(dyn, inputs, parameters, events)
        laws = self._posed.plan.expressions
        functions = contact_functions(with_laws(dyn, laws) if laws else dyn)
        assert functions is not None
        self._functions: ContactFunctions = functions
        eqs = functions.equations
        self._first = len(eqs.constraints) - sum(len(c.rows) for c in eqs.candidates)

    def problem(self, key: int) -> Problem:
        f = self._functions
        return replace(self._posed, rhs=f.rhs, settle=f.settle, guards=f.guards, change=f.change, switching=self)

    def settled(self, problem: Problem, system: StateEquation, state: Vector) -> Vector:
        """See ``Switching``: what sticks at rest, and is in force in a fresh stage, takes no velocity away here."""
        permanent = self._posed.settle
        assert permanent is not None
        return np.array(permanent(state, system.inputs, permanent.stage(problem.parameters))[: len(state) - 1])

    def take_over(self, march: March, before: March) -> None:
        switching = before.problem.switching
        if isinstance(switching, ContactSwitching):
            known = dict(zip(switching._names, switching._changing(before), strict=True))
            for name, now in zip(self._names, self._changing(march), strict=True):
                now[:] = known.get(name, now)

    @property
    def _names(self) -> list[str]:
        return [c.name for c in self._functions.equations.candidates]

    def _changing(self, march: March) -> NDArray[np.int64]:
        """Status, direction of slip and what counts as a change, of each candidate of a march, in its memory."""
        stage = stage_in_force(march.system, SETTLE, self._functions.settle)
        return stage.view(np.int64)[self._functions.changing].reshape(-1, CHANGING)

    def check(self, problem: Problem, course: Course, x: Vector) -> None:
        """See ``Switching``.

        Raises:
            ModelError: the run goes back in time, something begins inside, or a coefficient is none at the parameters.
        """
        model = problem.layout.model
        if course.until < course.start:
            raise ModelError(
                f"constraints of {model!r} come and go, and the run goes back in time from {course.start:.9g} s to "
                f"{course.until:.9g} s; what an impact has lost cannot be found again"
            )
        numbers = self._numbers(np.concatenate([[course.start], x])[None, :], problem.parameters)[0]
        for name, row in zip(self._names, numbers, strict=True):
            if not row[GAP] >= -TOUCHING:
                raise ModelError(
                    f"{model!r} cannot start there: {name!r} is {-row[GAP]:.6g} m (or rad) inside; state = "
                    "kane.assemble(dyn, q=..., u=..., fixed=[...]) finds coordinates near these in which nothing is "
                    "inside: start with q=state.q, u=state.u"
                )
            if not (row[STATIC] >= row[KINETIC] >= 0.0 and 0.0 <= row[RESTITUTION] <= 1.0):
                raise ModelError(
                    f"at these parameters {name!r} has static friction {row[STATIC]:.6g}, kinetic friction "
                    f"{row[KINETIC]:.6g} and restitution {row[RESTITUTION]:.6g}; give static >= kinetic >= 0, and a "
                    "restitution from 0 to 1"
                )

    def refusal(self, march: March, outcome: Outcome) -> str:
        if outcome is Outcome.NO_GUARD:
            lost = sorted(set((np.flatnonzero(~np.isfinite(march.system.automaton.guards.out)) // 2).tolist()))
            names = ", ".join(repr(self._names[k]) for k in lost)
            return f"within the next step the gap, the sign or the reaction of {names} is no number"
        return refusal(self._functions.equations, march.system.automaton.changed)

    def mode(self, march: March) -> NDArray[np.int8]:
        return self._changing(march)[:, STATUS].astype(np.int8)

    def occurrences(self, march: March, mode: NDArray[np.int8]) -> list[Occurrence]:
        state, now = np.concatenate([[march.time], march.x])[None, :], self.mode(march)[None, :]
        self._require_kept(state, np.maximum(*self._residuals(state, now, march.problem.parameters)))
        return list(self._story(march, mode, np.zeros((0, 0), np.int8), np.zeros((0, 0))).occurrences())

    def told(self, march: March, record: Record) -> Record:
        f, statuses = self._functions, self._statuses(march, len(record.states))
        kept = self._kept(record, statuses, march.notes())
        fresh = f.settle.stage(record.parameters).view(np.int64)[f.changing].reshape(-1, CHANGING)
        reactions = self._reactions(march, record, statuses)
        return replace(record, constraints=kept, story=self._story(march, fresh[:, STATUS], statuses, reactions))

    def _story(
        self, march: March, mode: NDArray[Any], statuses: NDArray[np.int8], reactions: NDArray[np.float64]
    ) -> Story:
        """What has happened since the first record, at which the mode was this one."""
        eqs, nq, nx = self._functions.equations, len(self._posed.layout.coordinates), len(march.x)
        changes, notes = self._changes(march)
        nc, m = len(eqs.candidates), len(eqs.constraints)
        at = change_places(nc, m, nx - nq, nq)
        first = at.impulses - at.status - 1 + self._first
        impulses, after = notes[:, first : first + m - self._first], self._after(march)
        noted = notes[:, [place - at.status - 1 for place in (at.cause, at.kind)]].astype(np.int64)
        told, causes, kinds = happened(noted, np.vstack([mode, after]), self._struck(impulses))
        # Kinetic energy is told once, with the first of what happened at once.
        lost = np.where(np.diff(told, prepend=-1) > 0, notes[told, at.energy_lost - at.status - 1], 0.0)
        states = changes[told, STATE_BEFORE:]
        return Story(
            candidates=tuple(self._names),
            rows=tuple(row.name for c in eqs.candidates for row in c.rows),
            of=np.repeat(np.arange(nc), [len(c.rows) for c in eqs.candidates]),
            statuses=statuses,
            reactions=reactions,
            times=changes[told, CHANGE_TIME],
            causes=causes,
            kinds=tuple(KINDS[kind] for kind in kinds.tolist()),
            energy_lost=lost,
            impulses=impulses[told],
            after=after[told],
            q=states[:, nx : nx + nq],
            u_before=states[:, nq:nx],
            u=states[:, nx + nq : 2 * nx],
        )

    def _struck(self, impulses: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each candidate was pushed by an impact, (changes, candidates), from the impulses of the rows."""
        found, row = np.zeros((len(impulses), len(self._names)), bool), 0
        for k, c in enumerate(self._functions.equations.candidates):
            if c.normal is not None:
                found[:, k] = impulses[:, row] > 0.0
            row += len(c.rows)
        return found

    def _changes(self, march: March) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All changes as the store has them, and the notes of each."""
        changes = march.store.changes[: march.store.counts[CHANGED]]
        return changes, changes[:, STATE_BEFORE + 2 * len(march.x) :]

    def _after(self, march: March) -> NDArray[np.int8]:
        """The status of each candidate behind each change."""
        _, notes = self._changes(march)
        return notes[:, notes.shape[1] - len(self._functions.equations.candidates) :].astype(np.int8)

    def _statuses(self, march: March, count: int) -> NDArray[np.int8]:
        """The status of each candidate at each record: that behind the last change before it."""
        changes, _ = self._changes(march)
        # What happens at the very start of a run is seen at its first record.
        made = np.where(changes[:, CHANGE_TIME] == march.store.rows[0, 0], 0, changes[:, CHANGE_ROWS])
        last = np.searchsorted(made, np.arange(count), side="right") - 1
        fresh = np.zeros((1, len(self._functions.equations.candidates)), np.int8)
        return np.concatenate([self._after(march), fresh])[last]

    def _reactions(self, march: March, record: Record, statuses: NDArray[np.int8]) -> NDArray[np.float64]:
        """The forces of the rows at each record, zero where nothing is in force."""
        f = self._functions
        stage = f.settle.stage(record.parameters)
        places = f.changing.start + CHANGING * np.arange(statuses.shape[1])
        forces = np.zeros((len(record.states), len(f.equations.constraints)))
        active = np.flatnonzero(statuses.any(axis=1))
        slips = self._slips(record.states[active], record.parameters)
        for i, slip in zip(active, slips, strict=True):
            stage.view(np.int64)[places + STATUS] = statuses[i]
            for place, velocity in zip(places + ALONG, slip, strict=True):
                speed = np.linalg.norm(velocity)
                if speed > 0.0:  # else it is that of the record before
                    stage[place : place + 2] = velocity / speed
            f.settle(record.states[i], record.inputs[i], stage)  # chooses the independent speeds
            forces[i] = f.reactions(record.states[i], record.inputs[i], stage)
        return forces[:, self._first :]

    def _kept(self, record: Record, statuses: NDArray[np.int8], notes: NDArray[np.float64]) -> NDArray[np.float64]:
        """How what was in force was kept besides the permanent constraints, see ``Record.constraints``."""
        behind = np.where(np.arange(len(statuses))[:, None] > 0, statuses, OPEN)  # a run begins with the first change
        closed, moved = self._residuals(record.states, behind, record.parameters)
        self._require_kept(record.states, np.maximum(closed, moved))
        worst = np.column_stack([x.max(axis=1, initial=0.0) for x in (closed, moved)])
        permanent = record.constraints[:, :2] if record.constraints.size else 0.0
        return np.column_stack([np.maximum(worst, permanent), notes])

    def _residuals(
        self, states: NDArray[np.float64], statuses: NDArray[np.int8], parameters: Vector
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The largest residuals of configuration and motion of each candidate in force at states, (states, nc) each."""
        eqs, program, row = self._functions.equations, self._functions.parts.programs[1], self._first
        motion = np.abs(self._motion(states, parameters))
        left = np.abs(program(states, np.zeros(program.n_rest), program.stage(parameters)))
        closing, closed, moved = [x.name for x in eqs.closing], np.zeros(statuses.shape), np.zeros(statuses.shape)
        for k, c in enumerate(eqs.candidates):
            end = row + len(c.rows)
            moved[:, k] = np.where(statuses[:, k] == HELD, motion[:, row:end].max(axis=1), 0.0)
            if c.normal is not None:
                closed[:, k] = np.where(statuses[:, k] != OPEN, left[:, closing.index(c.normal.name)], 0.0)
                moved[:, k] = np.where(statuses[:, k] != OPEN, np.maximum(moved[:, k], motion[:, row]), 0.0)
            row = end
        return closed, moved

    def _require_kept(self, states: NDArray[np.float64], off: NDArray[np.float64]) -> None:
        """Refuse states [t, q, u] by which a candidate in force is off, (states, candidates).

        Raises:
            SimulationError: the worst of them is named.
        """
        size = np.maximum(1.0, np.abs(states[:, 1:]).max(axis=1))
        lost = np.flatnonzero(off.max(axis=1, initial=0.0) > UNSETTLED * size)
        if len(lost):
            t, k = states[lost[0], 0], int(np.argmax(off[lost[0]]))
            raise SimulationError(
                f"a constraint of {self._posed.layout.model!r} that comes and goes is lost at t = {t:.9g} s, "
                f"{self._posed.layout.describe(states[lost[0], 1:])}: {self._names[k]!r} is off by "
                f"{off[lost[0], k]:.6g}, as where what is in force contradicts itself as "
                "time goes on; delete one before the other is imposed"
            )

    def _numbers(self, states: NDArray[np.float64], parameters: Vector) -> NDArray[np.float64]:
        """Gap, signs and coefficients of each candidate at states [t, q, u], (states, candidates, NUMBERS)."""
        program = self._functions.parts.gaps
        found = program(states, np.zeros(program.n_rest), program.stage(parameters))
        return found.reshape(len(states), -1, NUMBERS)

    def _motion(self, states: NDArray[np.float64], parameters: Vector) -> NDArray[np.float64]:
        """A u + b of all rows at states [t, q, u], (states, rows)."""
        eqs, program = self._functions.equations, self._functions.parts.programs[0]
        values = program(states, np.zeros(program.n_rest), program.stage(parameters))
        return values[:, constraint_places(len(eqs.constraints), len(eqs.u)).motion :]

    def _slips(self, states: NDArray[np.float64], parameters: Vector) -> NDArray[np.float64]:
        """The slip velocities of candidates at states [t, q, u], (states, candidates, 2), zero without a tangent."""
        eqs, motion = self._functions.equations, self._motion(states, parameters)
        found, row = np.zeros((len(states), len(eqs.candidates), 2)), self._first
        for k, c in enumerate(eqs.candidates):
            tangents = slice(row + (c.normal is not None), row + len(c.rows))
            found[:, k, : min(2, len(c.tangents))] = motion[:, tangents][:, :2]
            row += len(c.rows)
        return found


def happened(
    noted: NDArray[np.int64], statuses: NDArray[Any], struck: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What has become of whom: of each event the change, the candidate and the kind; of a change its cause first.

    Args:
        noted: cause and kind of each change, (changes, 2).
        statuses: before the first change and behind each, (1 + changes, candidates).
        struck: whether a candidate was pushed by an impact, (changes, candidates).
    """
    before, after = statuses[:-1], statuses[1:]
    kinds = np.full(after.shape, NOTHING)
    kinds[(before == OPEN) & (after != OPEN)] = IMPOSED
    kinds[(before != OPEN) & (after == OPEN)] = DELETED
    kinds[(before == HELD) & (after == SLIDING)] = SLIPPED
    kinds[(before == SLIDING) & (after == HELD)] = STUCK
    kinds[(after == OPEN) & struck] = BOUNCED
    caused = np.flatnonzero(noted[:, 0] >= 0)
    kinds[caused, noted[caused, 0]] = noted[caused, 1]
    change, candidate = np.nonzero(kinds)
    order = np.lexsort((candidate, candidate != noted[change, 0], change))
    return change[order], candidate[order], kinds[change, candidate][order]
