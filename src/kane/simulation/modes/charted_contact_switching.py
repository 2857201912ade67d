"""Intermittent constraints in charts: a mode is the set of active constraints and the charts of the gimbals.

The key identifies the charts. The active constraints are in the constants of these charts. When a run leaves charts,
their row of the table gets another key. Native loops then ask Python for the charts again, which copies the active
constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.dynamics.contacts.charted_contacts import ChartPrograms
from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.views import mode_programs_at
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, StoredTransitions
from kane.simulation.modes.chart_switching import ChartSwitching
from kane.simulation.modes.contact_switching import ContactSwitching, functions_of
from kane.simulation.modes.growing_problem import GrowingProblem
from kane.simulation.results.record import Record

# Rows of other charts have the key ASIDE - key, which is negative and belongs to no mode.
ASIDE = -2


class ChartedContactSwitching(ContactSwitching):
    """Mode source of a run with intermittent constraints that changes charts."""

    def __init__(self, charts: ChartSwitching) -> None:
        """Take the mode source of the charts."""
        self._charts = charts
        self._each = {}

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self._charts.attributes

    def _at(self, key: int) -> GrowingProblem[ContactFunctions]:
        if key not in self._each:
            posed = self._charts.posed(key)
            near, carry = map(posed.dyn.compile, self._charts.programs(posed.dyn, key))
            charts = ChartPrograms(near, carry, key)
            self._each[key] = GrowingProblem(posed, functions_of, lambda f: f.in_charts(charts))
        return self._each[key]

    def start(self, problem: InitialValueProblem, t: float, q: Any, u: Any) -> tuple[InitialValueProblem, Vector]:
        return self._charts.start(problem, t, q, u)

    def admit(self, integration: IntegratorState, key: int) -> None:
        """See ``ModeSource``: active constraints remain active, and the dependent speeds are selected anew."""
        before, problem, automaton = integration.problem, self.problem(key), integration.system.automaton
        parts = self._at(before.key).functions.parts
        kept = self._stage(integration)[parts.moving].copy()
        table = mode_programs_at(automaton.table, 0)
        keys = table.key[:, 0]
        keys[keys == before.key] = ASIDE - before.key
        known = np.flatnonzero(keys == ASIDE - key)
        row, stages = problem.row(int(table.places[known[-1], PROJECT]) if len(known) else 0)
        place = mode_programs_at(row, 0).places[PROJECT]
        if len(known) and np.array_equal(row[1:], automaton.table[known[-1], 1:]):
            automaton.table[known[-1]] = row
            integration.system.stages[place:][: len(stages)] = stages
        else:
            problem.join(integration)
            place = mode_programs_at(integration.system.automaton.table[-1], 0).places[PROJECT]
        moving = self._at(key).functions.parts.moving
        integration.system.stages[place:][moving] = kept

    def seen(self, key: int, x: Vector) -> Vector:
        return self._charts.seen(key, x)

    def answer(self, law: int, key: int, state: Vector, inputs: Vector) -> Vector:
        return self._charts.answer(law, key, state, inputs)

    def declared(self, integration: IntegratorState, states: Array, found: Array) -> tuple[Array, Array, Vector]:
        return self._charts.declared(integration, states, found)

    def told(self, integration: IntegratorState, record: Record) -> Record:
        declared, found = self._charts.told(integration, record), super().told(integration, record)
        own = {word: getattr(found, word) for word in ("constraints", "contact_log", "slips", "numerical")}
        return replace(declared, **own)

    def _in_declared(self, integration: IntegratorState, stored: StoredTransitions) -> tuple[Array, Array]:
        both = [np.column_stack([stored.time, x]) for x in (stored.before, stored.after)]
        own = np.split(np.arange(len(stored.time)), np.flatnonzero(stored.key_before != stored.key_after))
        own = [own[0], *(rows[1:] for rows in own[1:])]  # each stretch except the first begins with a change of charts
        courses = [np.vstack([x[rows] for x in both]) for rows in own]
        for rows, course in zip(own, self._charts.beside(integration, courses), strict=True):
            both[0][rows], both[1][rows] = course[: len(rows)], course[len(rows) :]
        return both[0][:, 1:], both[1][:, 1:]
