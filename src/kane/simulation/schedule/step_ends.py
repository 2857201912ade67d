"""Times at which the steps of a run must end, because of input samples or of expressions of time alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from kane.array_types import Array
from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Vector
from kane.expression.node import Expr
from kane.simulation.schedule.bends import bends, of_time_alone

if TYPE_CHECKING:
    from kane.simulation.initial_value_problem import InitialValueProblem

# Growth factor of consecutive windows, and the largest ratio of a window to the requested span.
WINDOW_GROWTH, MAX_WINDOW_RATIO = 2, 1024


@dataclass
class Stops:
    """Times at which steps of a problem end, found in windows, so that a Stepper does not search in each step.

    Attributes:
        problem: initial value problem.
        inputs_vary: whether constant inputs may be set during the run.
    """

    problem: InitialValueProblem
    inputs_vary: bool = False
    _expressions: tuple[Expr, ...] = field(init=False)
    _guarding: tuple[Expr, ...] = field(init=False)
    _window: tuple[float, float] = (math.nan, math.nan)
    _bends: Vector = field(default_factory=lambda: np.zeros(0))
    _length: int = 1

    def __post_init__(self) -> None:
        p, eqs = self.problem, self.problem.dyn.equations
        constants = frozenset([*eqs.parameters, *self._constant_inputs()])
        self._guarding = of_time_alone([p.guards] if p.guards else [], eqs.t, constants)
        others = of_time_alone([f for f in (p.rhs, p.event_program) if f is not None], eqs.t, constants)
        self._expressions = tuple(dict.fromkeys([*self._guarding, *others]))

    def between(self, start: float, until: float) -> Vector:
        """Return all stops between two times [s], increasing; a few may be outside."""
        if self.is_empty:
            return np.zeros(0)
        samples = [table.times for table in self.problem.plan.tables()]
        return np.unique(np.concatenate([self.bends(start, until), *samples]))

    @property
    def is_empty(self) -> bool:
        """Whether there is no stop at any time."""
        return not self._expressions and not self.problem.plan.samples

    def bends(self, start: float, until: float) -> Vector:
        """Return the bends of expressions of time alone, see ``bends``."""
        low, high = min(start, until), max(start, until)
        if self._expressions and not (self._window[0] <= low and high <= self._window[1]):
            follows = self._window[0] <= low <= self._window[1] < high
            self._length = min(WINDOW_GROWTH * self._length, MAX_WINDOW_RATIO) if follows else 1
            self._window = (low, low + self._length * (high - low)) if follows else (low, high)
            self._bends = self.of_rows(self._window, {})[0]
        return self._bends

    def within_steps(self, start: float, until: float, dt: float) -> Vector:
        """Return the bends closer than dt to another one: a mode may end between them, within a step of dt."""
        if self.problem.guards is None:
            return np.zeros(0)
        found = self.bends(start - dt, until + dt)
        near = np.diff(found) < dt
        return found[np.append(near, False) | np.append(False, near)] if len(found) else found

    def of_rows(self, span: tuple[float, float], given: Mapping[Expr, Array]) -> list[Vector]:
        """Return the bends in a span for rows of parameters and constant inputs; other values are the problem's."""
        p, eqs = self.problem, self.problem.dyn.equations
        values = {leaf: np.array([x]) for leaf, x in zip(eqs.parameters, p.parameters, strict=True)}
        values |= {leaf: np.array([x]) for leaf, x in self._constant_inputs().items()}
        return bends(self._expressions, eqs.t, values | dict(given), span, guarding=self._guarding)

    def _constant_inputs(self) -> dict[Expr, float]:
        plan, inputs = self.problem.plan, self.problem.dyn.equations.inputs
        if self.inputs_vary:
            return {}
        return {leaf: plan.constants[i] for i, leaf in enumerate(inputs) if plan.names[i] not in plan.driven}
