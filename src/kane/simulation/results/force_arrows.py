"""Forces and torques on bodies along a run, as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.display.arrows import Arrow
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.reactions.exerted_forces import StatesOfArrows, acting
from kane.simulation.results.run_model import parameters_of


def arrows_of(run: Any, dyn: Dynamics, names: Sequence[str]) -> list[Arrow]:
    """Return the forces and torques of the named joints, constraints and loads on bodies over time."""
    contacts = None if run.contact_log is None else run.reactions
    states = StatesOfArrows(run.q, run.u, run.inputs, run.time, parameters_of(run), contacts)
    return [Arrow(*found) for name in names for found in acting(dyn, name, states)]
