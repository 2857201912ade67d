"""Evaluate expressions of a model along a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.dynamics.build import build
from kane.dynamics.run_interface import recorded_parameters
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import ACCELERATION
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.simulation.results.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray


def along(equations: Equations, outputs: Mapping[str, Expr], run: Trajectory) -> xarray.Dataset:
    """Evaluate expressions at every recorded state of a run.

    Args:
        equations: equations of the model.
        outputs: expressions by name, in q, u, udot, t, inputs and parameters.
        run: the run.

    Returns:
        One variable (time) for each output.

    Raises:
        ModelError: the run belongs to another model.
    """
    import xarray  # slow import (half a second, with pandas)

    require(run, Trajectory, "along() takes a Trajectory, which kane.simulate returns")
    e, parameters = equations, recorded_parameters(run, equations)
    expressions = list(outputs.values())
    state, rest, given = (e.t, *e.q, *e.u), e.inputs, run.inputs
    if any(leaf.op == ACCELERATION for leaf in leaves(expressions)):
        values = dict(zip((leaf.name for leaf in e.parameters), parameters, strict=True))
        udot = build(e).forward(run.q, run.u, run.inputs, run.time, parameters=values)
        rest, given = (*e.udot, *e.inputs), np.column_stack([udot, run.inputs])
    function = compile_program(Program("outputs", expressions, state=state, rest=rest, parameters=e.parameters))
    found = function(np.column_stack([run.time, run.q, run.u]), given, function.stage(parameters))
    columns = {name: ("time", found[:, i]) for i, name in enumerate(outputs)}
    return xarray.Dataset(data_vars=columns, coords={"time": ("time", run.time, {"units": "s"})})
