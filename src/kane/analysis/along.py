"""Expressions of a model as outputs along a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kane.codegen.jit import compile_program
from kane.codegen.program import Program
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.equations import Equations

if TYPE_CHECKING:
    import xarray

    from kane.simulation.trajectory import Trajectory


def along(equations: Equations, outputs: Mapping[str, Expr], run: Trajectory) -> xarray.Dataset:
    """Outputs at every recorded state of a run.

    Args:
        outputs: by name, in q, u, t, inputs and parameters.

    Returns:
        One variable (time) for each output.

    Raises:
        ModelError: the run is of another model.
    """
    import xarray  # takes half a second, with pandas, that only a result should pay

    e, recorded = equations, run.to_xarray()
    kinds = (("coordinate", e.q), ("speed", e.u), ("input", e.inputs), ("parameter", e.parameters))
    for kind, leaves in kinds:
        theirs, ours = recorded[kind].to_numpy().tolist(), [leaf.name for leaf in leaves]
        if theirs != ours:
            raise ModelError(f"the run has the {kind}s {theirs}, {e.name!r} has {ours}; give a run of it")
    program = Program(
        "outputs", list(outputs.values()), state=(e.t, *e.q, *e.u), rest=e.inputs, parameters=e.parameters
    )
    function = compile_program(program)
    stage = function.stage(recorded["parameters"].to_numpy())
    found = function(np.column_stack([run.time, run.q, run.u]), run.inputs, stage)
    columns = {name: ("time", found[:, i]) for i, name in enumerate(outputs)}
    return xarray.Dataset(data_vars=columns, coords={"time": ("time", run.time, {"units": "s"})})
