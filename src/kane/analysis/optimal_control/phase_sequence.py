"""Optimal control problem of several phases: their transcriptions and transitions in one nonlinear program.

The unknowns are the free parameters, then the unknowns of each phase, then impulses and corrections of each transition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation_arguments import (
    PhaseLimits,
    SharedArguments,
    boundary_conditions,
    duration_limits,
    path_constraints,
)
from kane.analysis.optimal_control.collocation_mesh import CollocationMesh, Rows
from kane.analysis.optimal_control.collocation_solver import CORRECTION, PlacedPhase
from kane.analysis.optimal_control.element import Functions, ProgramElement
from kane.analysis.optimal_control.end_values import Condition, EndLeaves
from kane.analysis.optimal_control.ipopt import Bounds
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.analysis.optimal_control.phase import Phase
from kane.analysis.optimal_control.phase_link import FREE, PhaseLink
from kane.analysis.optimal_control.phase_mode import PhaseMode
from kane.analysis.optimal_control.problem import Problem
from kane.analysis.optimal_control.row_names import describe_row
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import ModelError, shown


@dataclass(frozen=True)
class PhaseSequence:
    """Optimal control problem of several phases.

    Attributes:
        modes: contact modes of the phases.
        problems: problems of the phases; their last conditions are the integrals of ``conditions``.
        links: transitions between them.
        conditions: conditions on the whole motion, and the objective as the last one, without integrals.
        condition_limits: limits of the conditions, (conditions, 2).
        arguments: arguments of ``of``.
    """

    modes: tuple[PhaseMode, ...]
    problems: tuple[Problem, ...]
    links: tuple[PhaseLink, ...]
    conditions: tuple[Condition, ...]
    condition_limits: Array
    arguments: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, because functions and equations of modes belong to this process."""
        return PhaseSequence.of, self.arguments

    @classmethod
    def of(cls, shared: SharedArguments, phases: Any, whole: PhaseLimits, given: tuple[Any, Any, Any]) -> PhaseSequence:
        """Pose the problem.

        Args:
            shared: arguments that all phases share.
            phases: list of ``Phase``.
            whole: limits of the whole motion.
            given: objective, boundary conditions and path constraints of the whole motion.

        Raises:
            ModelError: an argument is invalid, or phases do not fit together.
        """
        modes = _modes(shared, phases)
        symbols = [mode.symbols(shared.laws) for mode in modes]
        ends = [EndLeaves(s, s, shared.method) for s in symbols]
        pairs = list(pairwise(zip(modes, symbols, ends, strict=True)))
        links = tuple(PhaseLink(a, b, s, t, (last, first)) for (a, s, last), (b, t, first) in pairs)
        for link in links:
            link.check()
        objective, boundary, path = given
        outer = EndLeaves(symbols[0], symbols[-1], shared.method)
        asked = boundary_conditions(boundary)
        named = [*asked, ("the objective", objective, FREE)]
        limits = np.array([both for *_, both in asked]).reshape(-1, 2)
        problems, conditions = [], tuple[Condition, ...]()
        for k, (mode, s) in enumerate(zip(modes, symbols, strict=True)):
            conditions = tuple(Condition.of(x, who, outer, s) for who, x, _ in named)
            touching = (links[k - 1].touching if k else set(), links[k].touching if k < len(links) else set())
            within = _phase_limits(mode, whole, k == 0, k == len(links))
            constraints = [*path_constraints(s, path), *mode.path(s, touching)]
            problems.append(
                shared.problem(mode.dyn, s, _phase_conditions(mode, ends[k], conditions), within, constraints)
            )
        return cls(tuple(modes), tuple(problems), links, conditions, limits, (shared, phases, whole, given))

    @cached_property
    def functions(self) -> tuple[Functions, ...]:
        """Functions of the transitions, then of the conditions on the whole motion."""
        free = self.problems[0].transcription.free
        unknowns = (*self.conditions[0].ends.unknowns, *free)
        outputs = [c.at_ends for c in self.conditions]
        whole = Functions.of(self.modes[0].whole, "ends of the motion", outputs, unknowns, ())
        return (*(link.functions(free) for link in self.links), whole)


def _modes(shared: SharedArguments, phases: Any) -> list[PhaseMode]:
    if not isinstance(phases, (list, tuple)) or not phases or not all(isinstance(x, Phase) for x in phases):
        raise ModelError(f"phases is {shown(phases)}; give a list such as [kane.Phase('free', duration=1.0)]")
    e = shared.dyn.equations
    if not e.intermittents:
        raise ModelError(f"{e.name!r} has no contacts, stops, latches or switches: leave phases out")
    if e.system.own is not None:
        raise ModelError(f"phases need the joints' own speeds; {e.name!r} has speeds of choice")
    found = [PhaseMode.of(shared.dyn, phase, number) for number, phase in enumerate(phases, 1)]
    if found[-1].bouncing:
        raise ModelError(
            f"bounces= of {found[-1].who} has no effect: a contact bounces at the end of a phase, and no phase follows "
            "this one; give bounces= to the phase before the bounce, or add a phase"
        )
    return found


def _phase_conditions(mode: PhaseMode, ends: EndLeaves, whole: Sequence[Condition]) -> tuple[list[Condition], Array]:
    """Return the conditions of a phase, then the integrals of the conditions on the whole motion, and their limits."""
    own = boundary_conditions(mode.phase.boundary, f" of phase {mode.number}")
    found = [Condition.of(x, who, ends, ends.first) for who, x, _ in own]
    found += [replace(one, ends=ends, at_ends=ends.first.duration.arena.zero) for one in whole]
    return found, np.array([*(both for *_, both in own), *(FREE for _ in whole[:-1])]).reshape(-1, 2)


def _phase_limits(mode: PhaseMode, whole: PhaseLimits, first: bool, last: bool) -> PhaseLimits:
    """Return the limits of a phase, of which the first begins and the last ends with the whole motion."""
    phase, who = mode.phase, f" of phase {mode.number}"
    if phase.duration is None:
        raise ModelError(f"{mode.who} has no duration; give seconds, or limits (lower, upper) if it is free")
    return PhaseLimits(
        [*(whole.start if first else ()), (f"start{who}", phase.start)],
        [*(whole.end if last else ()), (f"end{who}", phase.end)],
        [*whole.bounds, (f"bounds{who}", phase.bounds)],
        duration_limits(phase.duration, f"the duration{who}"),
        whole.begin if first else FREE,
    )


@dataclass(frozen=True)
class SequenceMesh:
    """Places of the unknowns and rows of all phases in one program.

    Attributes:
        sequence: the problem.
        fractions: nodes of each phase, as fractions of its duration.
    """

    sequence: PhaseSequence
    fractions: tuple[Vector, ...]

    @cached_property
    def meshes(self) -> list[CollocationMesh]:
        """Places of the unknowns of each phase in its own vector."""
        pairs = zip(self.sequence.problems, self.fractions, strict=True)
        return [problem.transcription.mesh(fractions) for problem, fractions in pairs]

    @cached_property
    def rows(self) -> list[Rows]:
        """Rows of each phase in its own program."""
        pairs = zip(self.sequence.problems, self.meshes, strict=True)
        return [problem.transcription.rows(mesh) for problem, mesh in pairs]

    @cached_property
    def places(self) -> list[Indices]:
        """Place in the program of each unknown of a phase; the last ones are the free parameters."""
        found, start = [], self.free
        for mesh in self.meshes:
            own = mesh.unknowns - self.free
            found.append(np.concatenate([start + np.arange(own), np.arange(self.free)]))
            start += own
        return found

    @property
    def free(self) -> int:
        """Number of free parameters."""
        return len(self.sequence.problems[0].free[0])

    @cached_property
    def impulses(self) -> list[Indices]:
        """Places of the impulses, then the corrections, of each transition."""
        sizes = [len(link.impulses) + len(link.corrections) for link in self.sequence.links]
        starts = self.free + sum(mesh.unknowns - self.free for mesh in self.meshes) + np.cumsum([0, *sizes])
        return [np.arange(*pair) for pair in pairwise(starts.tolist())]

    @property
    def unknowns(self) -> int:
        """Number of unknowns."""
        return self.free + sum(m.unknowns - self.free for m in self.meshes) + sum(map(len, self.impulses))

    @cached_property
    def phase_rows(self) -> list[Indices]:
        """Row in the program of each row of a phase, then of its objective."""
        whole = np.append(self.condition_rows, self.total)
        found, start, shared = [], 0, len(self.condition_rows)
        for rows in self.rows:
            own = rows.total - shared
            found.append(np.concatenate([start + np.arange(own), whole]))
            start += own
        return found

    @cached_property
    def link_rows(self) -> list[Indices]:
        """Rows of each transition."""
        sizes = [len(link.equations) for link in self.sequence.links]
        starts = sum(rows.total - len(self.sequence.condition_limits) for rows in self.rows) + np.cumsum([0, *sizes])
        return [np.arange(*pair) for pair in pairwise(starts.tolist())]

    @property
    def condition_rows(self) -> Indices:
        """Rows of the conditions on the whole motion, the last ones."""
        return self.total - len(self.sequence.condition_limits) + np.arange(len(self.sequence.condition_limits))

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        shared = len(self.sequence.condition_limits)
        links = sum(len(link.equations) for link in self.sequence.links)
        return sum(rows.total - shared for rows in self.rows) + links + shared

    @property
    def placed(self) -> list[PlacedPhase]:
        """Problem, mesh and places of each phase."""
        return list(zip(self.sequence.problems, self.meshes, self.places, strict=True))

    def program(self) -> ElementProgram:
        """Return the nonlinear program."""
        found, constants = [], self.sequence.problems[0].constants
        for (problem, mesh, where), rows, at in zip(self.placed, self.rows, self.phase_rows, strict=True):
            for x in problem.transcription.elements(mesh, rows, constants):
                found.append(replace(x, variables=where[x.variables], rows=at[x.rows]))
        *links, whole = self.sequence.functions
        last = np.append(self.condition_rows, self.total)
        for functions, variables, own in (
            *zip(links, self._link_variables(), self.link_rows, strict=True),
            (whole, self._end_variables(), last),
        ):
            found.append(ProgramElement(functions, variables[None], own[None], np.zeros((1, 0)), constants))
        return ElementProgram(found, self.total, self.unknowns)

    def _link_variables(self) -> list[Indices]:
        found, meshes, places = [], self.meshes, self.places
        for k, own in enumerate(self.impulses):
            last, first = (np.concatenate(x) for x in (meshes[k].last_places, meshes[k + 1].first_places))
            clocks = places[k][meshes[k].clock], places[k + 1][meshes[k + 1].clock]
            ends = places[k][last], places[k + 1][first]
            found.append(np.concatenate([*ends, *clocks, own, np.arange(self.free)]))
        return found

    def _end_variables(self) -> Indices:
        first, last = self.placed[0], self.placed[-1]
        ends = first[2][np.concatenate(first[1].first_places)], last[2][np.concatenate(last[1].last_places)]
        clocks = [where[mesh.clock] for _, mesh, where in ((first, last) if len(self.meshes) > 1 else (first,))]
        return np.concatenate([*ends, *clocks, np.arange(self.free)])

    def bounds(self) -> Bounds:
        """Return the bounds of all unknowns and rows."""
        least, most = np.full(self.unknowns, -np.inf), np.full(self.unknowns, np.inf)
        lower, upper = np.zeros(self.total), np.zeros(self.total)
        for (problem, mesh, where), rows, at in zip(self.placed, self.rows, self.phase_rows, strict=True):
            own = problem.bounds(mesh, rows)
            least[where], most[where] = own.least, own.most
            lower[at[:-1]], upper[at[:-1]] = own.lower, own.upper
        for link, places, at in zip(self.sequence.links, self.impulses, self.link_rows, strict=True):
            lower[at], upper[at] = np.array([x.limits for x in link.equations]).T
            corrections = places[len(link.impulses) :]
            least[corrections], most[corrections] = -CORRECTION, CORRECTION
        lower[self.condition_rows], upper[self.condition_rows] = self.sequence.condition_limits.T
        return Bounds(least, most, lower, upper)

    def describe(self, row: int, z: Vector) -> str:
        """Return an equation in words; ``row`` is its index, or the index of the objective."""
        if row == self.total:
            return "the objective"
        if row >= self.total - len(self.condition_rows):
            return f"boundary condition {row - self.total + len(self.condition_rows) + 1}"
        for link, at in zip(self.sequence.links, self.link_rows, strict=True):
            if row in at:
                return f"{link.equations[row - int(at[0])].name} at the end of phase {link.before.number}"
        phases = zip(self.placed, self.rows, self.phase_rows, strict=True)
        for number, ((problem, mesh, where), rows, at) in enumerate(phases, 1):
            if row in at:
                own = int(np.flatnonzero(at == row)[0])
                suffix = f" of phase {number}" if own in rows.conditions else ""
                return describe_row(problem, mesh, rows, own, z[where]) + suffix
        raise AssertionError(row)
