"""Speed selections that are compiled when runs meet them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kane.dynamics.compiled_modes import DEPENDENT_SUFFIX
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.embedded.compiled_selections import SelectionFunctions, SelectionParts
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.run_codes import PROJECT
from kane.simulation.events.event import Event
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.mode_source import ModeSource
from kane.simulation.mode_table import stage_in_force
from kane.simulation.modes.growing_problem import GrowingProblem, continue_with
from kane.simulation.projection import selection_in
from kane.simulation.results.record import Record


class SelectionSwitching(ModeSource):
    """Mode source of a run whose speed selections a thread compiles while the run continues numerically."""

    def __init__(self, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> None:
        """Take Dynamics with inputs, parameters and events, as ``simulate`` does."""
        self._own = GrowingProblem(InitialValueProblem.of(dyn, inputs, parameters, events), _functions)

    def problem(self, key: int) -> InitialValueProblem:
        rhs, project = self._own.functions.pair
        return replace(self._own.posed, rhs=rhs, project=project, mode_source=self)

    def renew(self, integration: IntegratorState) -> None:
        if integration.slow is not None:
            return
        functions = self._own.functions
        before = stage_in_force(integration.system, PROJECT, functions.pair[1]).copy()
        rank, *columns = selection_in(before).tolist()
        if rank != UNCHOSEN:
            self.meet([tuple(functions.equations.u[j].name for j in sorted(columns[:rank]))])
        if self._own.renewed():
            # The current selection stays numerical until the next projected state finds its compiled expressions.
            places = functions.parts.numerical, self._own.functions.parts.numerical
            continue_with(integration, self.problem(integration.problem.key), before, places)

    def met(self, integration: IntegratorState, record: Record) -> Collection[tuple[str, ...]]:
        return [tuple(mode.removesuffix(DEPENDENT_SUFFIX).split(", ")) for mode in record.modes]

    def meet(self, modes: Iterable[tuple[str, ...]]) -> None:
        self._own.meet(modes)

    def told(self, integration: IntegratorState, record: Record) -> Record:
        met, known = self.met(integration, record), self._own.functions.known
        self.meet(met)
        slow = tuple(mode for names, mode in zip(met, record.modes, strict=True) if names not in known)
        return replace(record, numerical=slow)


def _functions(dyn: Dynamics) -> SelectionFunctions:
    """Return the native functions of Dynamics without compiled selections."""
    parts = getattr(dyn.project, "parts", None)
    assert isinstance(parts, SelectionParts)
    return SelectionFunctions(parts, dyn.compiled_modes.near, dyn.compile)
