"""``kane.follow``: inverse dynamics along a prescribed motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.number_arguments import numbers, require
from kane.formulation.parameter_bounds import given_parameters
from kane.simulation.inputs.prescribed_motion import courses, speeds_along
from kane.simulation.projection import Constraints
from kane.simulation.results.record import Record
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.state_layout import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FollowedMotion(Trajectory):
    """Prescribed motion with its generalized forces: a trajectory with accelerations and forces."""

    @property
    def udot(self) -> NDArray[Any]:
        """Generalized accelerations, (times, n)."""
        return self._values("udot")

    @property
    def forces(self) -> NDArray[Any]:
        """M udot + bias, the generalized forces that inputs must supply, (times, n) [N m or N]."""
        return self._values("forces")

    @property
    def inputs(self) -> NDArray[Any]:
        """Inputs that produce the motion, (times, inputs).

        Raises:
            ModelError: the motion does not determine the inputs; use ``forces``.
        """
        reason = self._run.attributes.get("inputs_undetermined")
        if reason:
            raise ModelError(str(reason))
        return super().inputs

    def plot(self, names: str | Sequence[str] = (), *, inputs: bool = False, events: bool = True) -> Figure:
        """Plot over time as ``Trajectory.plot``; by default coordinates and generalized forces."""
        from kane.simulation.results.trajectory_plot import picture  # imported late: needs matplotlib

        return picture(self, names, variables=("q", "forces"), inputs=inputs, events=events)


FORCE_UNITS = {"rad/s": "N m", "m/s": "N"}


def follow(dyn: Dynamics, *, q: Any, times: Any, parameters: Any = None) -> FollowedMotion:
    """Compute the forces M udot + bias along a prescribed motion, and the inputs that supply them.

    Args:
        dyn: returned by ``kane.build``.
        q: motion of every coordinate by name: an expression of ``model.time``, a function of t that returns one
            (``lambda t: 0.1 * kane.sin(t)``; derivatives are exact), or a constant number. Or samples, (times, values)
            or values at ``times``, which a spline of fifth degree interpolates. Or samples of all coordinates,
            (times, nq). Quaternions must be of unit length.
        times: times at which forces are computed, (times,) [s].
        parameters: array, or dict from names to numbers; declared defaults unless given.

    Returns:
        q, u, udot, forces, inputs and energies over time. Inputs are available only if the motion determines them; this
        requires as many inputs as independent speeds.

    Raises:
        ModelError: a coordinate is not prescribed, or in a form without derivatives; no speeds produce the motion; or
            the motion does not satisfy the constraints.
    """
    require(dyn, Dynamics, "follow needs Dynamics, as kane.build(equations) returns")
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
        raise ModelError(f"times must be a one-dimensional array of finite numbers, not empty; got shape {at.shape}")
    return at
