"""Speed selections that are compiled when runs meet them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kane.dynamics.compiled_modes import DEPENDENT_SUFFIX
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.embedded.compiled_selections import SelectionFunctions, SelectionParts
from kane.dynamics.mode_cache import ModeCache
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.run_codes import PROJECT
from kane.engine.step.mode_changes import enter
from kane.simulation.events.event import Event
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.closed_loop import with_laws
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.mode_source import ModeSource
from kane.simulation.mode_table import stage_in_force
from kane.simulation.projection import put_selection, selection_in
from kane.simulation.results.record import Record


class ChoiceSwitching(ModeSource):
    """Mode source of a run whose speed selections a thread compiles while the run continues numerically."""

    def __init__(self, dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event]) -> None:
        """Take Dynamics with inputs, parameters and events, as ``simulate`` does."""
        self._posed = InitialValueProblem.of(dyn, inputs, parameters, events)
        laws = self._posed.plan.expressions
        own = with_laws(dyn, laws) if laws else dyn
        # Equations that contain input expressions belong to this run only.
        self._met = ModeCache(_functions(own)) if laws else dyn.derived("met modes", lambda: ModeCache(_functions(own)))
        self._functions: SelectionFunctions = self._met.functions

    def problem(self, key: int) -> InitialValueProblem:
        rhs, project = self._functions.pair
        return replace(self._posed, rhs=rhs, project=project, mode_source=self)

    def renew(self, integration: IntegratorState) -> None:
        if integration.slow is not None:
            return
        parts = self._functions.parts
        before = stage_in_force(integration.system, PROJECT, self._functions.pair[1]).copy()
        selection = selection_in(before)
        rank, columns = int(selection[0]), selection[1:]
        if rank != UNCHOSEN:
            u = self._functions.equations.u
            self.meet([tuple(u[j].name for j in sorted(columns[:rank].tolist()))])
        newest = self._met.functions
        if newest is not self._functions:
            self._functions = newest
            self.problem(integration.problem.key).join(integration)
            enter(integration.system, len(integration.system.automaton.table) - 1)
            # The current selection stays numerical until the next projected state finds its compiled expressions.
            stage = stage_in_force(integration.system, PROJECT, newest.pair[1])
            put_selection(stage, selection)
            stage[newest.parts.numerical] = before[parts.numerical]
            enter(integration.system, len(integration.system.automaton.table) - 1)

    def met(self, integration: IntegratorState, record: Record) -> Collection[tuple[str, ...]]:
        return [tuple(mode.removesuffix(DEPENDENT_SUFFIX).split(", ")) for mode in record.modes]

    def meet(self, modes: Iterable[tuple[str, ...]]) -> None:
        self._met.meet(modes)

    def told(self, integration: IntegratorState, record: Record) -> Record:
        met, known = self.met(integration, record), self._functions.known
        self.meet(met)
        slow = tuple(mode for names, mode in zip(met, record.modes, strict=True) if names not in known)
        return replace(record, numerical=slow)


def _functions(dyn: Dynamics) -> SelectionFunctions:
    """Return the native functions of Dynamics without compiled selections."""
    parts = getattr(dyn.project, "parts", None)
    assert isinstance(parts, SelectionParts)
    return SelectionFunctions(parts, dyn.compiled_modes.near, dyn.compile)
