"""How slow slip in space may be before friction has its direction: not much slower than the errors that steps may make.

Friction turns slip v towards what pushes by mu N / (m |v|) a second, so that explicit steps of a given error leave of
slow slip a direction that is noise, and friction against it is not what Coulomb's law has: slip that begins with no
acceleration never does, ``slip_direction`` says what takes its place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.contact_functions import ContactParts
from kane.native.contacts.header import BEGUN, CHANGING
from kane.native.contacts.quick import LEAST_BEGUN
from kane.simulation.integrators.integrator import Integrator

# Slip in space has a direction of its own from so many absolute tolerances on: the error of the direction is then a
# thousandth, and what friction loses by it a millionth. With a hundred, slip that begins with no acceleration is 80
# tolerances off a tenth of a second later, with ten it does not begin.
DIRECTED = 300.0


def begun(atol: float) -> float:
    """From which speed on slip in space has a direction of its own in runs of this tolerance [m/s or rad/s]."""
    return max(LEAST_BEGUN, DIRECTED * atol)


def tolerate(settle: ArrayFunction | None, stages: NDArray[np.float64], method: Integrator) -> None:
    """Write this speed into stages of ``settle``, (..., n_stage), where constraints come and go."""
    parts = getattr(settle, "parts", None)
    if isinstance(parts, ContactParts):
        stages[..., parts.changing][..., BEGUN::CHANGING] = begun(method.settings.get("atol", 0.0))
