"""Initial value problem of a run, with the mode source that its model and charts need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kane.dynamics.dynamics import Dynamics
from kane.simulation.events.event import Event
from kane.simulation.initial_value_problem import InitialValueProblem

if TYPE_CHECKING:
    from kane.simulation.modes.charts import Charts


def set_up(
    dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event], charts: Charts | None = None
) -> InitialValueProblem:
    """Return the problem in declared coordinates; ``ModeSource.start`` selects the initial mode.

    Raises:
        ModelError: as ``InitialValueProblem.of``, ``Charts.mode_source`` and ``refuse_references``.
    """
    if charts is not None:
        from kane.simulation.modes.chart_switching import ChartSwitching
        from kane.simulation.modes.charted_contact_switching import ChartedContactSwitching

        charted = ChartSwitching(dyn, charts, inputs, parameters, events)
        return ChartedContactSwitching(charted).problem(0) if dyn.equations.intermittents else charted.problem(0)
    if dyn.equations.intermittents:
        from kane.simulation.modes.contact_switching import ContactSwitching

        return ContactSwitching(dyn, inputs, parameters, events).problem(0)
    if dyn.compiled_modes.met:
        from kane.simulation.modes.selection_switching import SelectionSwitching

        return SelectionSwitching(dyn, inputs, parameters, events).problem(0)
    return InitialValueProblem.of(dyn, inputs, parameters, events)
