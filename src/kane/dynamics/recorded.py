"""Runs, as whatever lies below the simulation reads them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from kane.errors import ModelError
from kane.formulation.equations import Equations


@runtime_checkable
class Recorded(Protocol):
    """What a run recorded: a trajectory has all of it.

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
        """A labelled copy, with the names of all columns and the values of the parameters."""


def recorded_parameters(run: Recorded, equations: Equations) -> np.ndarray:
    """The values of the parameters in a run of these equations, in the order of ``equations.parameters``.

    Raises:
        ModelError: the run is of another model, or of many trajectories.
    """
    e, recorded = equations, run.to_xarray()
    if "trajectory" in recorded.dims:
        raise ModelError("this is an ensemble, which records no inputs over time; give one trajectory")
    kinds = (("coordinate", e.q), ("speed", e.u), ("input", e.inputs), ("parameter", e.parameters))
    for kind, leaves in kinds:
        theirs, ours = recorded[kind].to_numpy().tolist(), [leaf.name for leaf in leaves]
        if theirs != ours:
            raise ModelError(f"the run has the {kind}s {theirs}, {e.name!r} has {ours}; give a run of it")
    return np.asarray(recorded["parameters"].to_numpy())
