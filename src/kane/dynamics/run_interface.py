"""Interface of recorded runs, for modules that ``kane.simulation`` imports and that cannot import it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from kane.errors import ModelError
from kane.formulation.equations import Equations

# Kind of the transition by a single Moreau-Jean time step, taken where no consistent mode exists. Its state before is
# the start of the step.
STEPPED_OVER = "is stepped over"
# Name of the method whose runs consist of Moreau-Jean time steps.
TIME_STEPPING = "MoreauJean"


@runtime_checkable
class Recorded(Protocol):
    """Recorded quantities of a run; ``Trajectory`` implements it.

    Attributes:
        time: (times,) [s].
        q, u, inputs: (times, nq), (times, n), (times, inputs).
    """

    @property
    def time(self) -> np.ndarray: ...

    @property
    def q(self) -> np.ndarray: ...

    @property
    def u(self) -> np.ndarray: ...

    @property
    def inputs(self) -> np.ndarray: ...

    def to_xarray(self) -> Any:
        """Return a labelled copy with the names of all columns and the parameter values."""


def recorded_parameters(run: Recorded, equations: Equations) -> np.ndarray:
    """Return the parameter values of a run, in the order of ``equations.parameters``.

    Raises:
        ModelError: the run belongs to another model, or is an ensemble.
    """
    e, recorded = equations, recorded_variables(run)
    kinds = (("coordinate", e.q), ("speed", e.u), ("input", e.inputs), ("parameter", e.parameters))
    for kind, leaves in kinds:
        theirs, ours = recorded.values(kind).tolist(), [leaf.name for leaf in leaves]
        if theirs != ours:
            raise ModelError(f"the run has the {kind}s {theirs}, {e.name!r} has {ours}; give a run of this model")
    return np.asarray(recorded.values("parameters"))


def recorded_variables(run: Recorded) -> Any:
    """Return the ``Labelled`` variables of a trajectory.

    Raises:
        ModelError: the run is an ensemble.
    """
    found = getattr(run, "_run", None)
    if found is None:
        raise ModelError("this is an ensemble, which does not record inputs over time; give a single trajectory")
    return found
