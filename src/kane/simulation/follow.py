"""follow: inverse dynamics along a prescribed motion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import numbers
from kane.formulation.parameter_bounds import given_parameters
from kane.simulation.asked.prescribed import Array, courses, speeds_along
from kane.simulation.layout import Layout
from kane.simulation.recorded.followed_motion import FollowedMotion
from kane.simulation.recorded.record import Record
from kane.simulation.settling import Constraints

FORCE_UNITS = {"rad/s": "N m", "m/s": "N"}


def follow(dyn: Dynamics, *, q: Any, times: Any, parameters: Any = None) -> FollowedMotion:
    """Inverse dynamics along a prescribed motion: the forces M udot + bias, and the inputs that supply them.

    Args:
        dyn: what ``kane.build`` returned.
        q: the motion of every coordinate by name, each an expression of ``model.time`` or a function of t that returns
            one (``lambda t: 0.1 * kane.sin(t)``; derivatives are exact), a number (held), or samples, (times, values)
            or values at ``times``, through which a spline of fifth degree is laid. Or samples of all, (times, nq).
            Quaternions must be of unit length.
        times: at which the forces are wanted, (times,) [s].
        parameters: array, or dict from some of the names to numbers; defaults for the others.

    Returns:
        q, u, udot, forces, inputs and energies over time; inputs where there are as many as speeds and they are
        determined.

    Raises:
        ModelError: a coordinate is not prescribed, or in a way that says nothing about its derivatives; or no speeds
            make such a motion; or it does not keep the constraints.
    """
    if not isinstance(dyn, Dynamics):
        raise ModelError(f"follow needs Dynamics, as kane.build(equations) makes them, not {shown(dyn)}")
    e, layout = dyn.equations, Layout.of(dyn.equations)
    at = _times(times)
    values = given_parameters(dyn.equations, parameters)
    named = dict(zip(layout.parameters, values.tolist(), strict=True))
    course = courses(e, q, at, named)
    u, udot = speeds_along(e.unconstrained, course, at, named)
    if e.constraints:
        Constraints(dyn, values).require_followed(np.column_stack([at, course.value, u]))
    forces = dyn.inverse(course.value, u, udot, at, parameters=named)
    try:
        inputs, reason = dyn.inputs_for(course.value, u, udot, at, parameters=named), ""
    except ModelError as error:
        inputs, reason = np.zeros((len(at), 0)), str(error)
        layout = replace(layout, inputs=(), input_defaults=())
    energy = np.stack(dyn.energy(course.value, u, at, parameters=named), axis=-1)
    states = np.column_stack([at, course.value, u])
    run = Record(layout, states, inputs, energy, values).labelled({"inputs_undetermined": reason} if reason else {})
    units = [FORCE_UNITS.get(unit, f"W/({unit})") for unit in layout.speed_units]
    parts = {
        "udot": (("time", "speed"), udot, {"long_name": "generalized accelerations"}),
        "forces": (("time", "speed"), forces, {"long_name": "generalized forces of the inputs"}),
    }
    coordinates = {**run.coordinates, "force_units": ("speed", np.array(units, dtype=object), {})}
    return FollowedMotion(replace(run, variables={**run.variables, **parts}, coordinates=coordinates))


def _times(times: Any) -> Array:
    at = np.atleast_1d(numbers(times, "times must be numbers"))
    if at.ndim != 1 or not at.size or not np.isfinite(at).all():
        raise ModelError(f"times must be one row of finite numbers, at least one; got shape {at.shape}")
    return at
