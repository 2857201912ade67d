"""Arrays with which a loop predicts its next tick, and arrays of a Moreau-Jean time step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kane.dynamics.contacts.contact_functions import contact_functions
from kane.dynamics.contacts.time_step_program import NO_TIME_STEP, time_step_program
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import AT_ONCE, TimeStep
from kane.engine.realtime.loop_arrays import TickPrediction
from kane.haptics.coupling.inverse_dynamics import RigidSteps
from kane.haptics.coupling.passive_midpoint import PassiveSteps
from kane.simulation.integrator_state import IntegratorState

Steps = PassiveSteps | RigidSteps | None


def moreau_jean_program(dyn: Dynamics) -> TimeStep:
    """Return the program of a Moreau-Jean time step; NO_TIME_STEP without intermittent constraints."""
    functions = contact_functions(dyn)
    return NO_TIME_STEP if functions is None else time_step_program(functions, single=True)


def copied_for_prediction(integration: IntegratorState, steps: Steps) -> tuple[IntegratorState, Steps, TickPrediction]:
    """Return an independent copy of an integrator state and of the data of its steps, and the arrays of the prediction.

    Data that steps change are copied; scratch memory is shared. The caller sets the address of the step.
    """
    m, s = integration.system, integration.store
    stages = m.stages.copy()
    own = {word: x.copy() for word, x in m.projection._asdict().items() if word in ("kept", "notes", "least")}
    looking = {word: x.copy() for word, x in m.aside._asdict().items() if word in ("kept", "notes")}
    system = m._replace(
        mode=m.mode.copy(),
        inputs=m.inputs.copy(),
        stages=stages,
        headers=stages.view(np.int64),
        projection=m.projection._replace(**own),
        aside=m.aside._replace(**looking),
    )
    store = s._replace(
        x=s.x.copy(),
        clock=s.clock.copy(),
        counts=s.counts.copy(),
        rows=s.rows[:2].copy(),
        transitions=np.zeros((2 * AT_ONCE, s.transitions.shape[1])),
    )
    none = np.zeros(0)
    carried = (none, none, none) if steps is None else steps.carried
    copies = carried[0].copy(), carried[1].copy(), carried[2].copy()
    if steps is not None:
        steps = steps.carrying(*copies)
    prediction = TickPrediction(system, store, np.zeros(2), carried, copies)
    return replace(integration, system=system, store=store), steps, prediction
