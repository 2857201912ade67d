"""``kane.follow``: inverse dynamics along a prescribed motion, given by coordinates with two time derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.unit_quaternions import UNIT_LENGTH_TOLERANCE
from kane.errors import ModelError, shown
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers, require
from kane.expression.operations import OPERATIONS, PARAMETER, TIME
from kane.expression.traverse import leaves
from kane.files.scipy import load_scipy
from kane.formulation.equations import Equations
from kane.formulation.matrix_route import has_bodies
from kane.model.named_vector import index_of_name
from kane.simulation.inputs.input_plan import Samples
from kane.simulation.projection import Constraints
from kane.simulation.results.record import Record
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.state_layout import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORCE_UNITS = {"rad/s": "N m", "m/s": "N"}
SPLINE_DEGREE = 5  # its second derivative is smooth, with an error of fourth order in the distance of the samples
FORMS = "an expression of model.time, a function of t that returns one, a constant number, or samples"


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
    values = dyn.equations.parameter_bounds.given(parameters)
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
    energy = np.full((len(at), 2), np.nan)
    if has_bodies(e):
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


class Motion(NamedTuple):
    """Values and their first and second time derivatives, each (times, ...)."""

    value: Array
    rate: Array
    acceleration: Array


def courses(equations: Equations, q: Any, times: Array, parameters: Mapping[str, float]) -> Motion:
    """Return the coordinates over time with two derivatives, each (times, nq).

    Raises:
        ModelError: a coordinate is missing or unknown, or is given in a form without derivatives.
    """
    names = [leaf.name for leaf in equations.q]
    if not names:
        raise ModelError(f"{equations.name!r} has no coordinates, and so cannot follow a motion")
    if isinstance(q, Mapping):
        for name in q:
            index_of_name(name, names, "coordinate")
        missing = [name for name in names if name not in q]
        if missing:
            raise ModelError(f"the motion of {', '.join(missing)} is not prescribed; give {FORMS}")
        given = dict(q)
    else:
        samples = _numbers(q, "the coordinates")
        if samples.shape != (len(times), len(names)):
            raise ModelError(
                f"samples of all coordinates have shape {samples.shape}; {(len(times), len(names))} is needed, "
                f"or a dict of {', '.join(names)}, each {FORMS}"
            )
        given = dict(zip(names, samples.T, strict=True))
    values = {p: parameters[p.name] for p in equations.parameters} | {equations.t: times}
    found = [_course(equations, given[name], times, values, f"the coordinate {name!r}") for name in names]
    return Motion(*(np.stack(parts, axis=-1) for parts in zip(*found, strict=True)))


def _course(equations: Equations, given: Any, times: Array, values: Mapping[Expr, Any], who: str) -> Motion:
    if isinstance(given, Samples):
        raise ModelError(f"{who} is given as {type(given).__name__} samples, without derivatives; give (times, values)")
    if callable(given) and not isinstance(given, Expr):
        given = _called(given, equations.t, who)
    if isinstance(given, Expr):
        return _of_expression(equations, given, values, len(times), who)
    if isinstance(given, Real):
        constant = np.full(len(times), _numbers(given, who))
        return Motion(constant, np.zeros_like(constant), np.zeros_like(constant))
    at, samples = given if isinstance(given, tuple) and len(given) == 2 else (times, given)
    return _through(_numbers(at, f"the sample times of {who}"), _numbers(samples, who), times, who)


def _called(function: Any, t: Expr, who: str) -> Any:
    given = function(t)
    if not isinstance(given, (Expr, Real)):
        raise ModelError(
            f"{who}: the function of t returned {shown(given)}; it must return an expression of t or a number"
        )
    return given


def _of_expression(equations: Equations, x: Expr, values: Mapping[Expr, Any], count: int, who: str) -> Motion:
    if x.arena is not equations.t.arena:
        raise ModelError(f"the expression for {who} belongs to another model")
    wrong = [leaf for leaf in leaves([x]) if leaf.op not in (TIME, PARAMETER)]
    if wrong:
        kinds = ", ".join(f"the {OPERATIONS[leaf.op].name} {leaf!r}" for leaf in wrong)
        raise ModelError(f"{who} follows an expression of {kinds}; it may depend only on time and parameters")
    (x,) = equations.baked_in([x])
    rate = total_time_derivative([x], {})[0]
    found = interpret([x, rate, total_time_derivative([rate], {})[0]], values)
    return Motion(*(np.broadcast_to(np.asarray(value, float), (count,)) for value in found))


def _through(at: Array, samples: Array, times: Array, who: str) -> Motion:
    """Fit a spline of fifth degree to samples, or of third degree if there are fewer than 6."""
    if at.ndim != 1 or at.shape != samples.shape or len(at) < 4:
        raise ModelError(f"{who} has {samples.shape} samples at {at.shape} times; give equal numbers, at least 4")
    if not (np.diff(at) > 0.0).all():
        raise ModelError(f"the sample times of {who} must increase strictly")
    if times.min() < at[0] or times.max() > at[-1]:
        raise ModelError(
            f"{who} is sampled from {at[0]:.9g} s to {at[-1]:.9g} s, which does not cover all requested times"
        )
    degree = SPLINE_DEGREE if len(at) > SPLINE_DEGREE else 3
    fit = load_scipy("interpolate").make_interp_spline(at, samples, k=degree)
    return Motion(fit(times), fit.derivative(1)(times), fit.derivative(2)(times))


def _numbers(values: Any, what: str) -> Array:
    array = numbers(values, f"{what} must be {FORMS}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} is not finite; give finite numbers")
    return array


def speeds_along(equations: Equations, q: Motion, times: Array, parameters: Mapping[str, float]) -> tuple[Array, Array]:
    """Return u and udot, (times, n), from dq/dt = Y u + y_t and d2q/dt2 = Y udot + (d/dt)(Y u + y_t at fixed u).

    Raises:
        ModelError: no speeds produce the rates: a quaternion is not of unit length, or the angles of a joint are
            singular.
    """
    e = equations
    if e.kinematics == e.u:
        return q.rate, q.acceleration
    values: dict[Expr, Any] = {p: parameters[p.name] for p in e.parameters} | {e.t: times}
    values |= dict(zip(e.q, q.value.T, strict=True))
    rows, rest = linear_coefficients(e.kinematics, e.u)
    shape = (len(times), len(e.q), len(e.u))
    Y = _evaluated([x for row in rows for x in row], values, len(times)).reshape(shape)
    y_t = _evaluated(rest, values, len(times))
    if not (np.isfinite(Y).all() and np.isfinite(y_t).all()):
        k = int(np.argmin(np.isfinite(Y).all(axis=(1, 2)) & np.isfinite(y_t).all(axis=1)))
        raise ModelError(
            f"the kinematics of {e.name!r} are singular at t = {times[k]:.9g} s; give a motion that avoids this "
            "state, or use kane.Spherical instead of a gimbal"
        )
    inverse = np.asarray(np.linalg.pinv(Y), dtype=np.float64)
    u = _matrix_times(inverse, q.rate - y_t)
    _require_possible(e, q, times, _matrix_times(Y, u) + y_t - q.rate)
    values |= dict(zip(e.u, u.T, strict=True))
    changes = total_time_derivative(e.kinematics, dict(zip(e.q, e.kinematics, strict=True)))
    return u, _matrix_times(inverse, q.acceleration - _evaluated(changes, values, len(times)))


def _matrix_times(A: Array, x: Array) -> Array:
    return np.asarray((A @ x[..., None])[..., 0])


def _evaluated(expressions: Any, values: Mapping[Expr, Any], count: int) -> Array:
    return np.stack([np.broadcast_to(np.asarray(x, float), (count,)) for x in interpret(expressions, values)], axis=-1)


def _require_possible(equations: Equations, q: Motion, times: Array, error: Array) -> None:
    """Raise for rates that no speeds produce, and for quaternions that are not of unit length."""
    for start in equations.quaternions:
        length = np.linalg.norm(q.value[:, start : start + 4], axis=1)
        k = int(np.argmax(np.abs(length - 1.0)))
        if abs(length[k] - 1.0) > UNIT_LENGTH_TOLERANCE:
            names = ", ".join(leaf.name for leaf in equations.q[start : start + 4])
            raise ModelError(
                f"the quaternion ({names}) has length {length[k]:.9g} at t = {times[k]:.9g} s; it must be 1"
            )
    scale = max(1.0, float(np.abs(q.rate).max(initial=0.0)))
    at, j = divmod(int(np.argmax(np.abs(error))), error.shape[1])
    if abs(error[at, j]) > UNIT_LENGTH_TOLERANCE * scale:
        name = equations.q[j].name
        raise ModelError(
            f"no generalized speeds produce the prescribed d{name}/dt = {q.rate[at, j]:.9g} at t = {times[at]:.9g} s; "
            "the motion must keep quaternions at unit length and satisfy the constraints"
        )
