"""The problem that a user poses, in the modes that it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.simulation.asked.events import Event
from kane.simulation.modes.charted import ChartSwitching
from kane.simulation.modes.charts import Charts
from kane.simulation.modes.contacting import ContactSwitching
from kane.simulation.problem import Problem


def pose(dyn: Dynamics, inputs: Any, parameters: Any, events: Sequence[Event], charts: Charts | None = None) -> Problem:
    """The problem in the coordinates that were declared; ``Switching.start`` says in which mode a run begins.

    Raises:
        ModelError: as of ``Problem.of``, ``Charts.switching`` and ``refuse_references``; charts of a model whose
            constraints come and go.
    """
    if dyn.equations.candidates:
        if charts is not None:
            raise ModelError(
                f"charts cannot be switched in {dyn.equations.name!r}, whose constraints come and go; leave charts "
                "out, or use kane.Spherical"
            )
        return ContactSwitching(dyn, inputs, parameters, events).problem(0)
    if charts is None:
        return Problem.of(dyn, inputs, parameters, events)
    return ChartSwitching(dyn, charts, inputs, parameters, events).problem(0)
