"""Compiled equations for speed selections, bound to the native code that switches between the selections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.deferred import dataclass
from kane.dynamics.compiled_modes import in_words
from kane.dynamics.embedded.constrained_function import ConstrainedFunction, selection_places
from kane.dynamics.lane_modes import LaneModes
from kane.engine.memory.constants import SELECTION_HEADER, SELECTION_ROW
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.fill import NO_MEMORY, filled
from kane.engine.memory.views import (
    selection_header_at,
    selection_header_size,
    selection_row_at,
    selection_row_size,
    selection_scratch_at,
)
from kane.engine.project import speed_selections as native
from kane.engine.project.speed_selections import NONE
from kane.formulation.equations import Equations
from kane.formulation.projection_step import ProjectedSelection
from kane.formulation.quantities.programs import program, scheduled
from kane.model.speed_choice import Near


@dataclass(frozen=True)
class CompiledSelection:
    """Programs that native code calls while one speed selection is active.

    Attributes:
        dependent: columns of u that are dependent.
        programs: the right-hand side, one Newton step of the projection, and the values that follow from a projected
            state (dependent speeds, ...).
    """

    dependent: tuple[int, ...]
    programs: tuple[CompiledFunction, ...]

    @classmethod
    def of(cls, chosen: ProjectedSelection, code_of: Callable[[Program], CompiledFunction]) -> CompiledSelection:
        """Compile the programs of a speed selection.

        Raises:
            ModelError: the constraints do not determine these speeds.
        """
        eqs = chosen.open
        step, behind = scheduled(eqs, "step", chosen.step()), scheduled(eqs, "consequences", chosen.consequences())
        programs = tuple(code_of(p) for p in (program(chosen.equations, "rhs"), step, behind))
        return cls(tuple(chosen.embedding.D), programs)


@dataclass(frozen=True)
class SelectionParts:
    """Data that bind ``kane.engine.project.speed_selections`` to a model.

    Attributes:
        equations: equations of the model.
        numeric: right-hand side and projection with numerical speed selection, used if no compiled selection applies;
            both share one stage array.
        choices: compiled speed selections.
    """

    equations: Equations
    numeric: tuple[ConstrainedFunction, ConstrainedFunction]
    choices: Sequence[CompiledSelection]

    @property
    def programs(self) -> Sequence[ArrayFunction]:
        """Programs that determine on which symbols the outputs depend."""
        return self.numeric[0].parts.programs

    @property
    def called(self) -> tuple[ArrayFunction, ...]:
        """All programs, in the order of their constants in the stage array; the two numeric ones share one part."""
        return (self.numeric[1], *(p for choice in self.choices for p in choice.programs))

    @property
    def n_work(self) -> int:
        """Length of scratch memory, in doubles, of the program that needs most."""
        return max(p.n_work for p in (self.numeric[0], *self.called))

    def header(self, mode: int) -> np.ndarray:
        """Return the SelectionHeader, the lists and the rows, (n,) int64, with no active selection."""
        eqs, (rhs, project) = self.equations, self.numeric
        n, quaternions = len(eqs.u), np.array(eqs.quaternions, np.int64)
        start = int(selection_header_size() + n + len(quaternions) + len(self.choices) * selection_row_size(n))
        head = filled(
            SELECTION_HEADER,
            rhs=rhs.address,
            project=project.address,
            numeric=start,
            selections=len(self.choices),
            chosen=NONE,
            unused=np.zeros(5, np.int64),
            mode=0,
            linear=0,
            rows=0,
            speeds=n,
            coordinates=len(eqs.q),
            residuals=0,
            quaternions=len(quaternions),
            own_speeds=0,
            rank=UNCHOSEN,
            work=self.n_work,
            fronts=0,
        )
        rows, start = [], start + project.n_stage
        for choice in self.choices:
            starts = start + np.cumsum([0, *(compiled.n_stage for compiled in choice.programs)])
            addresses, mask = [compiled.address for compiled in choice.programs], np.zeros(n, np.int64)
            mask[list(choice.dependent)] = 1
            sizes = {"dependent": len(choice.dependent), "mask": mask}
            rows.append(filled(SELECTION_ROW, addresses=addresses, places=starts[:-1], **sizes))
            start = starts[-1]
        return np.concatenate([head, np.arange(n), quaternions, *rows])

    @property
    def in_lanes(self) -> LaneModes:
        """Programs of the selections for trajectories in SIMD lanes."""
        n, expected = len(self.equations.u), self._expected
        first = selection_header_size() + n + len(self.equations.quaternions)
        rows = expected[first:].reshape(-1, selection_row_size(n))
        slopes, steps, behind = ([choice.programs[k] for choice in self.choices] for k in range(3))
        places = selection_row_at(rows, 0, n).places.T.tolist()
        chosen = selection_header_at(np.arange(len(expected)), 0).chosen[0]
        return LaneModes(int(chosen), (slopes, [], steps, behind), (places[0], [], *places[1:]), [[]] * len(slopes))

    @cached_property
    def headers(self) -> tuple[slice, ...]:
        """Slices of the headers in the stage array, including those of the numeric programs."""
        start = len(self._expected)
        inner = self.numeric[0].parts.headers
        return (slice(0, start), *(slice(start + x.start, start + x.stop) for x in inner))

    @property
    def numerical(self) -> slice:
        """Slice of the numeric programs in the stage array."""
        start = len(self._expected)
        return slice(start, start + self.numeric[1].n_stage)

    @cached_property
    def _expected(self) -> np.ndarray:
        return self.header(self.equations.embedding.choice.alone)

    def owns(self, stage: np.ndarray) -> bool:
        """Check the headers in a stage array, because native code calls the addresses in them."""
        head, n = self._expected, len(self.equations.u)
        given = stage[: len(head)].view(np.int64).copy()
        places = [int(selection_header_at(np.arange(len(head)), 0).chosen[0]), *selection_places(given, n)[1:]]
        chosen, rank, *order = given[places].tolist()
        given[places] = head[places]
        valid = NONE <= chosen < len(self.choices) and UNCHOSEN <= rank <= n and sorted(order) == [*range(n)]
        return valid and np.array_equal(given, head) and self.numeric[0].parts.owns(stage[len(head) :])

    def stage(self, parameters: np.ndarray, mode: int) -> np.ndarray:
        """Return the header and the constants of the programs, (..., n_stage)."""
        head = self.header(mode).view(np.float64)
        others = self.called[1:]
        stages = [self.numeric[0].parts.stage(parameters, mode), *(p.stage(parameters) for p in others)]
        return np.concatenate([np.broadcast_to(head, (*parameters.shape[:-1], len(head))), *stages], axis=-1)


@dataclass(frozen=True)
class SelectionFunctions:
    """Right-hand side and projection of a model, to which compiled speed selections can be added.

    Attributes:
        parts: programs with the selections compiled so far.
        near: a state that satisfies the constraints; needed if some rows are redundant.
        code_of: compiler of programs.
    """

    parts: SelectionParts
    near: Near | None
    code_of: Callable[[Program], CompiledFunction]

    @property
    def equations(self) -> Equations:
        """Equations of the model."""
        return self.parts.equations

    @property
    def known(self) -> Collection[tuple[str, ...]]:
        """Dependent speeds of each compiled selection, in the order of u."""
        return {tuple(self.equations.u[j].name for j in sorted(choice.dependent)) for choice in self.parts.choices}

    def words(self, dependent: tuple[str, ...]) -> str:
        """Return the name of a selection, as users read it."""
        return in_words(dependent)

    def with_mode(self, dependent: tuple[str, ...]) -> SelectionFunctions:
        """Return these functions with one more compiled selection.

        Raises:
            ModelError: the constraints do not determine these speeds.
        """
        choice = CompiledSelection.of(ProjectedSelection(self.equations, dependent, self.near), self.code_of)
        return replace(self, parts=replace(self.parts, choices=(*self.parts.choices, choice)))

    @property
    def pair(self) -> tuple[SelectionFunction, SelectionFunction]:
        """Right-hand side and projection."""
        return with_selections(self.parts.numeric, self.parts.choices)


class SelectionFunction(ConstrainedFunction):
    """Function over the stage array of compiled speed selections."""

    parts: SelectionParts

    def scratch(self, head: np.ndarray) -> int:
        h = selection_header_at(head, 0)
        return int(selection_scratch_at(NO_MEMORY, h.work, h.speeds, h.coordinates).end)


def with_selections(
    numeric: tuple[ConstrainedFunction, ConstrainedFunction], chosen: Sequence[CompiledSelection]
) -> tuple[SelectionFunction, SelectionFunction]:
    """Return the right-hand side and the projection of equations with compiled speed selections."""
    rhs, project = numeric
    parts = SelectionParts(rhs.parts.equations, numeric, chosen)
    inputs = parts.equations.inputs
    return (
        SelectionFunction("rhs", native.rhs, parts, rhs.n_out, mode=rhs.mode, rest=inputs),
        SelectionFunction("project", native.project, parts, project.n_out, mode=project.mode, rest=inputs, threads=1),
    )
