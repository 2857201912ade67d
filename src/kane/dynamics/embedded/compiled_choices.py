"""Choices of dependent speeds with equations of their own, bound to the native code that goes from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.ahead import in_words
from kane.dynamics.embedded.constrained_function import ConstrainedFunction
from kane.dynamics.lane_modes import LaneModes
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program, scheduled
from kane.formulation.settling import SettledChoice
from kane.model.speed_choice import Near
from kane.native import choices as native
from kane.native.choices import (
    CHOICES,
    CHOSEN,
    CONSEQUENCES,
    DEPENDENT,
    MASK,
    NONE,
    NUMERIC,
    OWN_RHS,
    RHS,
    SETTLE,
    STEP,
    choice_places,
)
from kane.native.header import COORDINATES, HEADER, QUATERNIONS, RANK, SPEEDS, UNCHOSEN, WORK


@dataclass(frozen=True)
class CompiledChoice:
    """What native code calls where one choice is in force.

    Attributes:
        dependent: columns of u.
        programs: the right-hand side, a step of Newton's method, and what follows from it.
    """

    dependent: tuple[int, ...]
    programs: tuple[CompiledFunction, ...]

    @classmethod
    def of(cls, chosen: SettledChoice, code_of: Callable[[Program], CompiledFunction]) -> CompiledChoice:
        """The code of a choice.

        Raises:
            ModelError: the constraints do not determine these speeds.
        """
        eqs = chosen.open
        step, behind = scheduled(eqs, "step", chosen.step()), scheduled(eqs, "consequences", chosen.consequences())
        programs = tuple(code_of(p) for p in (program(chosen.equations, "rhs"), step, behind))
        return cls(tuple(chosen.embedding.D), programs)


@dataclass(frozen=True)
class ChoiceParts:
    """What binds ``kane.native.choices`` to a model.

    Attributes:
        equations: whose choice is made in numbers where none of the compiled ones serves.
        numeric: the right-hand side and the settling in numbers, of one stage.
        choices: those that are compiled.
    """

    equations: Equations
    numeric: tuple[ConstrainedFunction, ConstrainedFunction]
    choices: Sequence[CompiledChoice]

    @property
    def programs(self) -> Sequence[ArrayFunction]:
        """What says what the outputs depend on."""
        return self.numeric[0].parts.programs

    @property
    def called(self) -> tuple[ArrayFunction, ...]:
        """All programs, in the order in which their stages lie; those in numbers have one stage."""
        return (self.numeric[1], *(p for choice in self.choices for p in choice.programs))

    @property
    def n_work(self) -> int:
        """Doubles of scratch that the longest of all programs needs."""
        return max(p.n_work for p in (self.numeric[0], *self.called))

    def header(self, mode: int) -> np.ndarray:
        """The header, (n,) int64, as ``kane.native.choices`` describes it; none of the choices is in force."""
        eqs, (rhs, settle) = self.equations, self.numeric
        n, quaternions = len(eqs.u), list(eqs.quaternions)
        table = np.zeros((len(self.choices), MASK + n), np.int64)
        head = np.zeros(HEADER, np.int64)
        sizes = {SPEEDS: n, COORDINATES: len(eqs.q)}
        own = {RHS: rhs.address, SETTLE: settle.address, CHOICES: len(self.choices), CHOSEN: NONE, RANK: UNCHOSEN}
        start = HEADER + n + len(quaternions) + table.size
        for place, value in {**sizes, **own, QUATERNIONS: len(quaternions), WORK: self.n_work, NUMERIC: start}.items():
            head[place] = value
        start += settle.n_stage
        for row, choice in zip(table, self.choices, strict=True):
            for place, compiled in zip((OWN_RHS, STEP, CONSEQUENCES), choice.programs, strict=True):
                row[place : place + 2] = compiled.address, start
                start += compiled.n_stage
            row[DEPENDENT] = len(choice.dependent)
            row[[MASK + j for j in choice.dependent]] = 1
        return np.concatenate([head, np.arange(n), np.array(quaternions, np.int64), table.ravel()])

    @property
    def in_lanes(self) -> LaneModes:
        """What trajectories side by side call."""
        n = len(self.equations.u)
        rows = self._expected[HEADER + n + len(self.equations.quaternions) :].reshape(-1, MASK + n)
        slopes, steps, behind = ([choice.programs[k] for choice in self.choices] for k in range(3))
        places = [rows[:, place + 1].tolist() for place in (OWN_RHS, STEP, CONSEQUENCES)]
        return LaneModes(CHOSEN, (slopes, [], steps, behind), (places[0], [], *places[1:]), [[]] * len(slopes))

    @cached_property
    def headers(self) -> tuple[slice, ...]:
        """Where in a stage the headers lie, those of the numeric programs included."""
        start = len(self._expected)
        inner = self.numeric[0].parts.headers
        return (slice(0, start), *(slice(start + x.start, start + x.stop) for x in inner))

    @property
    def in_numbers(self) -> slice:
        """Where in a stage that of the numeric programs lies."""
        start = len(self._expected)
        return slice(start, start + self.numeric[1].n_stage)

    @cached_property
    def _expected(self) -> np.ndarray:
        return self.header(self.equations.embedding.choice.alone)

    def owns(self, stage: np.ndarray) -> bool:
        """Whether a stage has the headers of these programs: native code follows the addresses in them."""
        head, n = self._expected, len(self.equations.u)
        given = stage[: len(head)].view(np.int64).copy()
        places = [CHOSEN, RANK, *range(HEADER, HEADER + n)]
        chosen, rank, *order = given[places].tolist()
        given[places] = head[places]
        valid = NONE <= chosen < len(self.choices) and UNCHOSEN <= rank <= n and sorted(order) == [*range(n)]
        return valid and np.array_equal(given, head) and self.numeric[0].parts.owns(stage[len(head) :])

    def stage(self, parameters: np.ndarray, mode: int) -> np.ndarray:
        """Header and the stages of the programs, (..., n_stage)."""
        head = self.header(mode).view(np.float64)
        others = self.called[1:]
        stages = [self.numeric[0].parts.stage(parameters, mode), *(p.stage(parameters) for p in others)]
        return np.concatenate([np.broadcast_to(head, (*parameters.shape[:-1], len(head))), *stages], axis=-1)


@dataclass(frozen=True)
class ChoiceFunctions:
    """The right-hand side and the settling of a model, with more and more choices compiled.

    Attributes:
        parts: with those that are compiled by now.
        near: a state that satisfies the constraints; needed where some rows imply others.
        code_of: makes code.
    """

    parts: ChoiceParts
    near: Near | None
    code_of: Callable[[Program], CompiledFunction]

    @property
    def equations(self) -> Equations:
        """Whose choices they are."""
        return self.parts.equations

    @property
    def known(self) -> Collection[tuple[str, ...]]:
        """The dependent speeds of each choice that is compiled, in the order of u."""
        return {tuple(self.equations.u[j].name for j in sorted(choice.dependent)) for choice in self.parts.choices}

    def words(self, dependent: tuple[str, ...]) -> str:
        """A choice as users read it."""
        return in_words(dependent)

    def with_mode(self, dependent: tuple[str, ...]) -> ChoiceFunctions:
        """The same with one more choice.

        Raises:
            ModelError: the constraints do not determine these speeds.
        """
        choice = CompiledChoice.of(SettledChoice(self.equations, dependent, self.near), self.code_of)
        return replace(self, parts=replace(self.parts, choices=(*self.parts.choices, choice)))

    @property
    def pair(self) -> tuple[ChoiceFunction, ChoiceFunction]:
        """The right-hand side and the settling."""
        return with_choices(self.parts.numeric, self.parts.choices)


class ChoiceFunction(ConstrainedFunction):
    """A function over the stage of compiled choices."""

    parts: ChoiceParts

    def scratch(self, head: np.ndarray) -> int:
        return int(choice_places(head).end)


def with_choices(
    numeric: tuple[ConstrainedFunction, ConstrainedFunction], chosen: Sequence[CompiledChoice]
) -> tuple[ChoiceFunction, ChoiceFunction]:
    """The right-hand side and the settling of equations with compiled choices."""
    rhs, settle = numeric
    parts = ChoiceParts(rhs.parts.equations, numeric, chosen)
    inputs = parts.equations.inputs
    return (
        ChoiceFunction("rhs", native.rhs, parts, rhs.n_out, mode=rhs.mode, rest=inputs),
        ChoiceFunction("settle", native.settle, parts, settle.n_out, mode=settle.mode, rest=inputs, threads=1),
    )
