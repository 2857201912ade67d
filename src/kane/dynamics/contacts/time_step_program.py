"""The program of a Moreau-Jean time step with its arrays, for native loops."""

from __future__ import annotations

import numpy as np

from kane.dynamics.contacts.contact_functions import ContactFunctions
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.loop_arguments import TimeStep
from kane.engine.memory.views import time_step_given_at


def time_step_program(functions: ContactFunctions, *, single: bool, asks: bool = False) -> TimeStep:
    """Return the program of a time step with new arrays.

    Args:
        functions: native functions of the model.
        single: whether its steps pass states without a mode, in runs that locate events.
        asks: whether inputs are Python functions.
    """
    eqs, step = functions.equations, functions.moreau_jean_step
    nc, m, n, nq = len(eqs.intermittents), len(eqs.constraints), len(eqs.u), len(eqs.q)
    given = np.zeros(step.n_state)
    time_step_given_at(given, 0, n + nq, m).single[0] = single
    normals = [
        NONE if c.normal is None else at.start for c, at in zip(eqs.intermittents, eqs.intermittent_places, strict=True)
    ]
    return TimeStep(
        step.address,
        given,
        np.zeros(step.n_out),
        nc,
        m,
        n,
        nq,
        np.array(normals),
        np.full(nc, np.nan),
        np.ones((1, 1)),
        asks,
        np.zeros((0, m)),
    )


_NONE = np.zeros(0)
NO_TIME_STEP = TimeStep(
    0, _NONE, _NONE, 0, 0, 0, 0, np.zeros(0, np.int64), _NONE, np.zeros((0, 0)), 0, np.zeros((0, 0))
)
