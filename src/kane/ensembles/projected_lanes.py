"""Trajectories under constraints in SIMD lanes: initial projection, data of the lanes, and checks after the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.deferred import dataclass
from kane.dynamics.contacts.contact_functions import ContactParts
from kane.dynamics.embedded.compiled_selections import SelectionParts
from kane.dynamics.lane_modes import GUARD_PROGRAM, SLOPE_PROGRAM, LaneModes
from kane.engine.hybrid.compiled_mode_programs import DIGITS
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.loop_arguments import Course, Indices, StateEquation, Trajectories, Vector
from kane.engine.memory.run_codes import ASIDE, FINISHED, PROJECT, RHS, STUCK, WAITING
from kane.engine.memory.views import guard_samples_size, mode_programs_at
from kane.engine.project.speed_selections import END_STATE, STEP_STATE
from kane.engine.step.constrained_lanes import LaneData, LanePrograms, LaneProjection
from kane.ensembles.conditions import Conditions
from kane.errors import ModelError, SimulationError
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrators.explicit import Adaptive
from kane.simulation.projection import ROUNDED_STATE_TOLERANCE, UNPROJECTED
from kane.simulation.results.record import Record

_CACHE_LINE_DOUBLES = 8  # doubles in a cache line


def aligned(n: int) -> Vector:
    """Return zeros that start at a cache line, where vectors are read fastest."""
    memory = np.zeros(n + _CACHE_LINE_DOUBLES)
    first = -(memory.ctypes.data // 8) % _CACHE_LINE_DOUBLES
    return memory[first : first + n]


def nothing_projected() -> LaneData:
    """Return the lane data of problems without projection."""
    none, rows = np.zeros(0), np.zeros((0, 0))
    integers = rows.astype(np.int64)
    empty = LanePrograms(none.astype(np.int64), np.zeros((3, 0), np.int64))
    return LaneData(
        modes=integers,
        kept=integers,
        notes=rows,
        least=rows,
        chosen=0,
        read=integers,
        slopes_of=empty,
        guards_of=empty,
        projection=LaneProjection(empty, empty, none, none, none, rows, *4 * (empty.addresses,)),
        constants=none,
        scratch=none,
        seen=none,
        samples=rows,
        quiet=empty.addresses,
        steady=empty.addresses,
        x=none,
        f=none,
    )


@dataclass(frozen=True)
class ProjectedLanes:
    """Data and checks that lanes need under constraints.

    Attributes:
        problem, conditions: initial value problem, and the rows of the trajectories.
        modes: compiled modes.
        codes: programs of ``modes`` in lanes.
    """

    problem: InitialValueProblem
    conditions: Conditions
    modes: LaneModes
    codes: Sequence[Sequence[LaneCode]]

    @classmethod
    def of(cls, problem: InitialValueProblem, conditions: Conditions) -> ProjectedLanes | None:
        """Return the data for a problem with compiled modes; None without compiled modes or without SIMD lanes."""
        parts = getattr(problem.project, "parts", None)
        if not isinstance(parts, SelectionParts | ContactParts):
            return None
        modes = parts.in_lanes
        codes = [[program.lanes(each=True) for program in programs] for programs in modes.programs]
        found = [[code for code in each if code is not None] for each in codes]
        return cls(problem, conditions, modes, found) if codes[SLOPE_PROGRAM] and found == codes else None

    @property
    def slope(self) -> LaneCode:
        """Right-hand side of the first mode."""
        return self.codes[SLOPE_PROGRAM][0]

    @property
    def n_work(self) -> int:
        """Length of scratch memory, in doubles, of the program that needs most."""
        return max(code.n_work for each in self.codes for code in each)

    @property
    def may_pass(self) -> bool:
        """Whether ``simulate`` repeats trajectories that lanes give up, because it can take Moreau-Jean time steps."""
        return self.problem.guards is not None

    def left(self, trajectories: Trajectories) -> Indices:
        """Return indices of the trajectories that lanes gave up and that ``simulate`` repeats from their starts."""
        given_up = ~np.isin(trajectories.status[trajectories.order], (FINISHED, WAITING))
        return trajectories.order[given_up & self.may_pass]

    def refuse(self, course: Course, asked: Sequence[int]) -> dict[int, str]:
        """Return by index the trajectories, among ``asked``, that cannot start, each with the reason."""
        places, found, start = list(asked), {}, course.start
        starts, parameters = self._starts(start)[places], self.conditions.parameters
        doubted = (self._left(starts[:, None], places) > ROUNDED_STATE_TOLERANCE).any(axis=(1, 2))
        each = parameters if len(parameters) == 1 else parameters[places]
        doubted |= self.problem.mode_source.doubted(start, starts[:, 1:], each)
        for i in np.flatnonzero(doubted):
            own = self.own(places[i])
            try:
                own.mode_source.check(own, course, starts[i, 1:])
                if own.constraints is not None:
                    own.constraints.require_satisfied(starts[i])
            except ModelError as error:
                found[places[i]] = str(error)
        return found

    def begin(self, start: float, trajectories: Trajectories) -> None:
        """Project the initial states as ``simulate`` does."""
        order, conditions = trajectories.order, self.conditions
        if self.problem.constraints is None:
            return
        each = [rows if len(rows) == 1 else rows[order] for rows in (conditions.inputs, conditions.parameters)]
        if len(order):
            trajectories.starts[order] = self.problem.mode_source.begun(self._starts(start)[order], *each)

    def _starts(self, start: float) -> np.ndarray:
        """Return the initial states [t, q, u] of all trajectories as the user gave them."""
        return np.column_stack([np.full(len(self.conditions.q), start), self.conditions.q, self.conditions.u])

    def _left(self, states: np.ndarray, places: Sequence[int]) -> np.ndarray:
        """Return the largest residuals of configuration and motion at [t, q, u], (trajectories, times, 2)."""
        parameters, constraints = self.conditions.parameters, self.problem.constraints
        if constraints is None:
            return np.zeros((*states.shape[:2], 2))
        each = parameters[0] if len(parameters) == 1 else np.repeat(parameters[places], states.shape[1], axis=0)
        found = replace(constraints, parameters=each).residuals(states.reshape(-1, states.shape[2])).largest
        return np.stack(found, axis=-1).reshape(*states.shape[:2], 2)

    def own(self, i: int) -> InitialValueProblem:
        """Return the problem of trajectory i."""
        return self.problem.of_values(self.conditions.row("parameters", i), self.conditions.row("inputs", i))

    @property
    def reads(self) -> int:
        """Largest number of values that a program reads after the inputs."""
        return max(map(len, self.modes.read))

    def lanes(self, system: StateEquation) -> tuple[StateEquation, LaneData]:
        """Return the StateEquation of a run with room for the constants of all lanes, and the data of the lanes."""
        project, projection, width, modes = self.problem.project, system.projection, self.slope.width, self.modes
        assert project is not None
        size, n, guards = project.n_stage, self.problem.rhs.n_out, len(system.automaton.guards.out)
        own = np.tile(system.mode, (width, 1))
        of_lanes = mode_programs_at(own, 0).places
        for program in (PROJECT, RHS, *self.problem.mode_source.shares_stage):
            of_lanes[:, program] = 2 * size * np.arange(width)
        of_lanes[:, ASIDE] = of_lanes[:, PROJECT] + size
        stages = np.zeros(2 * size * width)
        read = np.full((len(modes.read), self.reads), NONE, np.int64)
        for k, places in enumerate(modes.read):
            read[k, : len(places)] = places
        slopes, seen, steps, consequences = programs = self._programs()
        choices = LaneData(
            modes=own,
            kept=np.zeros((width, len(projection.kept)), np.int64),
            notes=np.zeros((width, len(projection.notes))),
            least=np.ones((width, len(projection.least))),
            chosen=modes.chosen,
            read=read,
            slopes_of=slopes,
            guards_of=seen,
            projection=_room_to_project(steps, consequences, width, n),
            constants=aligned(width * sum(int(each.places[2].sum()) for each in programs)),
            scratch=aligned(width * max([n, *(program.n_out for program in modes.programs[GUARD_PROGRAM])])),
            seen=aligned(width * (guards + n + DIGITS)),
            samples=np.zeros((width, guard_samples_size(guards))),
            quiet=np.zeros(width, np.int64),
            steady=np.zeros(width, np.int64),
            x=np.zeros(n),
            f=np.zeros(n),
        )
        return system._replace(stages=stages, headers=stages.view(np.int64)), choices

    def _programs(self) -> list[LanePrograms]:
        """Return the programs of all modes; their constants in lanes are consecutive."""
        found, first, width = [], 0, self.slope.width
        for codes, programs, stages in zip(self.codes, self.modes.programs, self.modes.stages, strict=True):
            lengths = [program.n_stage for program in programs]
            starts = first + width * np.cumsum([0, *lengths])
            places = np.array([starts[:-1], stages, lengths], np.int64)
            found.append(LanePrograms(np.array([code.address for code in codes], np.int64), places))
            first = int(starts[-1])
        return found

    def judge(self, trajectories: Trajectories, method: Adaptive) -> tuple[dict[int, str], dict[int, str]]:
        """Return by index the errors of trajectories that left the constraints, and the warnings of ``simulate``."""
        failures, doubts = {}, {}
        ended, nx = np.flatnonzero(trajectories.status == FINISHED), trajectories.starts.shape[1]
        states, notes = trajectories.rows[ended, :, : 1 + nx], trajectories.rows[ended, :, 1 + nx :]
        left = self._left(states, ended.tolist())
        for k, i in enumerate(ended.tolist()):
            own = self.own(i)
            try:
                known = own.constraints is not None and left[k].max() <= UNPROJECTED
                kept = np.column_stack([left[k], notes[k]]) if known else own.kept(states[k], notes[k])
            except SimulationError as error:
                failures[i], trajectories.status[i] = str(error), STUCK
                continue
            record = Record(own.layout, states[k], np.zeros(0), np.zeros((0, 2)), own.parameters, constraints=kept)
            doubt = record.doubt(**method.settings)
            if doubt:
                doubts[i] = doubt
        return failures, doubts


def _room_to_project(steps: LanePrograms, consequences: LanePrograms, width: int, n: int) -> LaneProjection:
    """Allocate the arrays that project ``width`` lanes of states [q, u] of n numbers."""
    integers = [np.zeros(width, np.int64) for _ in range(4)]
    return LaneProjection(
        steps=steps,
        consequences=consequences,
        state=aligned(width * (1 + n)),
        found=aligned(width * (STEP_STATE + 1 + n)),
        follows=aligned(width * (END_STATE + n)),
        sizes=np.zeros((3, width)),
        chosen=integers[0],
        going=integers[1],
        lost=integers[2],
        projected=integers[3],
    )
