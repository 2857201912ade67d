"""Slip speed from which friction opposes the computed direction of slip in space.

Friction turns the slip velocity v towards the driving force at the rate mu N / (m |v|), which grows as |v| decreases.
If |v| is as small as integration errors, the direction of v is noise, and friction along a noisy direction holds the
slip back. A slip with zero initial acceleration would then never begin. Below this speed, friction therefore keeps its
previous direction, which turns only slowly: see ``kane.engine.laws.slip``.
"""

from __future__ import annotations

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.dynamics.contacts.contact_functions import ContactParts
from kane.engine.laws.slip import LEAST_BEGUN
from kane.engine.memory.constraint_memory import contact_constants_of

# This speed as a multiple of atol. There the direction errs by a few thousandths, and friction by the square of that.
# With a multiple of 100, slip with zero initial acceleration errs by 80 atol after 0.1 s; with 10 it never begins.
DIRECTED = 300.0


def begun(atol: float) -> float:
    """Return the slip speed above which friction opposes the slip direction, for a tolerance atol [m/s or rad/s]."""
    return max(LEAST_BEGUN, DIRECTED * atol)


def tolerate(project: ArrayFunction | None, stages: Array, atol: float) -> None:
    """Write this speed into the constants of ``project``, (..., n_stage), for models with intermittent constraints."""
    if isinstance(getattr(project, "parts", None), ContactParts):
        contact_constants_of(stages).state.begun[...] = begun(atol)
