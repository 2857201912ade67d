"""First guess of a direct collocation: states that are linear in time between instance constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kane.compat.opty.free_vector import FreeLayout
from kane.engine.memory.loop_arguments import Vector

if TYPE_CHECKING:
    from kane.compat.opty.constraint_collocator import ConstraintCollocator

# Bounds beyond this size count as no bounds.
LARGE = 1e19


def linear_guess(
    layout: FreeLayout, bounds: tuple[Vector, Vector], collocator: ConstraintCollocator, end_time: float
) -> Vector:
    """Return the guess of ``Problem.create_linear_initial_guess``."""
    z, lower, upper = np.zeros(layout.length), *bounds
    if layout.variable:
        z[-1] = end_time / (layout.nodes - 1)
    first, nodes = len(layout.state_symbols) * layout.nodes, np.arange(layout.nodes)
    low, high = np.abs(lower) < LARGE, np.abs(upper) < LARGE
    middle = np.where(low & high, 0.5 * (lower + upper), np.where(low, lower, upper))
    z[first:] = np.where(low | high, middle, z)[first:]
    known = _instances(layout, collocator)
    for x in layout.state_symbols:
        places = layout.places[x]
        given = {int(k - places[0]): value for k, value in known.items() if k in places}
        if given:
            at = sorted(given)
            z[places] = np.interp(nodes, at, [given[k] for k in at])
    return z


def _instances(layout: FreeLayout, collocator: ConstraintCollocator) -> dict[int, float]:
    """Return the values that instance constraints of one state each, linear in it, prescribe, by place."""
    if not collocator.num_instance_constraints:
        return {}
    element, found = collocator.program.elements[1], dict[int, float]()
    zero, one = np.zeros(layout.length), np.ones(layout.length)
    outputs, unknowns = element.functions.slope_places
    slopes, others, values = element.slopes(zero)[0], element.slopes(one)[0], element.values(zero)[0]
    for k, value in enumerate(values):
        own = np.flatnonzero(outputs == k)
        if len(own) == 1 and slopes[own[0]] and slopes[own[0]] == others[own[0]]:
            found[int(element.variables[0, unknowns[own[0]]])] = -value / slopes[own[0]]
    return found
