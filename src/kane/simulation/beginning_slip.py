"""From which speed on friction acts against the direction that a slip in space has: not below the errors of steps.

Friction turns the slip v towards what pushes by mu N / (m |v|) a second, ever faster where v is slow. Where |v| is as
small as the errors that steps may make, its direction is noise, and friction in a noisy direction holds the slip back:
a slip that begins with no acceleration would never begin. So slower slip keeps the direction that it had, and turns
only slowly: ``slip_direction`` in ``kane.native.contacts.quick``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.contacts.contact_functions import ContactParts
from kane.native.contacts.header import BEGUN, CHANGING
from kane.native.contacts.quick import LEAST_BEGUN
from kane.simulation.integrators.integrator import Integrator

# From so many absolute tolerances on. There the error of the direction is a few thousandths, and what friction loses by
# it is of the second order, millionths. With a hundred, slip that begins with no acceleration is 80 tolerances off a
# tenth of a second later; with ten it does not begin.
DIRECTED = 300.0


def begun(atol: float) -> float:
    """From which speed on slip in space has a direction of its own in runs of this tolerance [m/s or rad/s]."""
    return max(LEAST_BEGUN, DIRECTED * atol)


def tolerate(settle: ArrayFunction | None, stages: NDArray[np.float64], method: Integrator) -> None:
    """Write this speed into stages of ``settle``, (..., n_stage), where constraints come and go."""
    parts = getattr(settle, "parts", None)
    if isinstance(parts, ContactParts):
        stages[..., parts.changing][..., BEGUN::CHANGING] = begun(method.settings.get("atol", 0.0))
