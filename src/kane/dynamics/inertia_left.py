"""Check that parameter values, such as zero masses, leave inertia for every motion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError
from kane.geometry.quaternion import normalise_quaternions

if TYPE_CHECKING:
    from kane.dynamics.dynamics import Dynamics


def require_inertia(dyn: Dynamics, values: Array) -> None:
    """Raise if parameters, (..., p), leave some motion without inertia, so that accelerations do not exist.

    Compares the rank of the mass matrix at a random state with its rank at the default values. A massless load on a
    body that has mass does not change the rank.

    Raises:
        ModelError: names the parameters that are zero.
    """
    e = dyn.equations
    rows = values.reshape(math.prod(values.shape[:-1]), len(e.parameters))
    weightless = e.parameter_bounds.weightless(rows)
    for row in np.unique(rows[weightless], axis=0) if weightless.any() else ():
        if _rank(dyn, row) < _rank(dyn, dyn.parameters):
            zero = [f"{leaf.name} = 0" for leaf, x in zip(e.parameters, row, strict=True) if x == 0.0]
            raise ModelError(
                f"some motion of {e.name!r} has neither mass nor inertia with {', '.join(zero)}, so that its "
                "accelerations do not exist; give these parameters values above zero"
            )


def _rank(dyn: Dynamics, values: Array) -> int:
    """Return the rank of the mass matrix at a random state."""
    e = dyn.equations
    q = np.random.default_rng(0).normal(size=len(e.q))
    normalise_quaternions(q, e.quaternions)
    named = dict(zip((leaf.name for leaf in e.parameters), values, strict=True))
    M = dyn.mass_matrix(q, 0.3, parameters=named)
    return int(np.linalg.matrix_rank(M)) if np.isfinite(M).all() else 0
