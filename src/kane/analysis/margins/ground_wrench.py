"""Resultant force and moment of the ground on a vehicle; values of expressions along a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.dynamics.build import build
from kane.dynamics.run_interface import recorded_parameters
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import ACCELERATION
from kane.expression.traverse import leaves
from kane.files.xarray import load_xarray
from kane.formulation.equations import Equations
from kane.formulation.quantities.momentum import momentum, outer_wrench
from kane.formulation.tree.spatial import minus
from kane.geometry.scalars import Triple, cross, is_zero, subtract_vectors
from kane.simulation.results.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray


def ground_wrench(equations: Equations) -> tuple[Expr, ...]:
    """Return the resultant wrench of the ground on all bodies, by the momentum balance of the whole system:

        F = dP/dt - m g - sum f,    T = dH/dt - p_cm x m g - sum (t + p x f).

    Returns:
        F (3) [N] and T (3) [N m] about the origin of N, along N. They depend on q, u, t and inputs; on udot as well if
        constraints are embedded numerically.

    Raises:
        ModelError: a load acts along a joint to the ground, so that contact forces cannot be separated from its
            reaction.
    """
    with collector_paused():
        _require_no_motor_on_ground(equations)
        system = equations.system
        momenta = total_time_derivative(equations.baked_in(momentum(system)), motion(equations))
        loads = equations.baked_in(outer_wrench(system, equations.applied.wrenches))
        return subtract_vectors(momenta, loads)


def motion(equations: Equations) -> dict[Expr, Expr]:
    """Return the rates of all coordinates and speeds; udot remain symbols if constraints are embedded numerically."""
    rates = (*equations.kinematics, *equations.known_accelerations)
    return dict(zip((*equations.q, *equations.u), rates, strict=True))


def _require_no_motor_on_ground(equations: Equations) -> None:
    system = equations.system
    for index, link in enumerate(system.links):
        if link.connection is None or link.parent:
            continue
        if not all(is_zero(equations.applied.efforts[k]) for k in system.columns(index)):
            raise ModelError(
                f"a load acts along joint {link.connection.name!r} between vehicle and ground: its "
                "reaction is not a contact force; use a kane.Force or kane.Torque on the body"
            )


def moved_moment(T: Triple, F: Triple, p: Triple) -> Triple:
    """Return the moment about the point p."""
    return minus(T, cross(p, F))


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
    xarray = load_xarray()

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
