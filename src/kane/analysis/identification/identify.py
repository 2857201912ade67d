"""identify: parameters from measured motions by least squares, with standard errors and base parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from kane.analysis.assembly.non_penetration import SEARCH_GAP_TOLERANCE, gap_terms_at
from kane.analysis.identification.base_parameters import (
    BaseParameters,
    base_parameters_of,
    terms_of,
    triangle,
    triangles,
)
from kane.analysis.identification.channels import Channels
from kane.analysis.identification.estimate import Estimate, estimate_by_forces
from kane.analysis.identification.identification import (
    Identification,
    ParameterCombination,
    Undetermined,
    Unidentifiable,
)
from kane.analysis.identification.measurements import Measurements
from kane.analysis.identification.random_motion import PROBE_STATES, random_motion
from kane.analysis.identification.regression import Regression
from kane.analysis.identification.shooting import estimate_by_motions
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers, require, words
from kane.expression.traverse import leaves
from kane.formulation.random_states import RandomStates
from kane.geometry.inertia import six
from kane.model.body import Body
from kane.model.named_vector import index_of_name

# Largest noise; the squares of larger values overflow.
SQUARED = 1e100
DATA, DATA_SILENT = "in these data", "these data do not depend on it; another motion may"

NO_INFLUENCE = "the motion does not depend on it"
NO_EFFECT_STATES = 20
# Size below which velocities of order one count as zero.
ZERO_VELOCITY_SIZE = 1e-9


def identify(
    dyn: Dynamics,
    data: Measurements,
    parameters: Sequence[str],
    *,
    noise: Any = None,
    start: Mapping[str, float] | None = None,
) -> Identification:
    """Identify parameters from a measured motion by least squares.

    With accelerations, the forces of inverse dynamics are compared with the measured ones. They are linear in masses,
    moments and inertias (``kane.inertial_parameters``). Derivatives by parameters are exact, so that lengths,
    stiffnesses and friction coefficients can be identified as well. Random states show which base parameters some
    motion can determine; the data show which of these the measured motion determines.

    Without accelerations, simulated motions are compared with the data, by multiple shooting. The motion is divided
    into intervals; the states at their starts are unknowns, and each interval must end where the next one starts.
    Without speeds, only the coordinates are compared.

    Standard errors assume independent errors of the forces, or of the states. Effects that the model lacks (friction,
    an elastic gear) violate this; look at ``fit.residuals`` before you trust the standard errors.

    If motions are compared, contacts, stops and friction are simulated with their events, and derivatives include
    saltation as in ``kane.sensitivities``. Restitution and friction can therefore be identified. If forces are
    compared, contacts are inactive, and rows with closed contacts raise an error. Active switches are not detected, nor
    closed contacts that look open because of measurement errors.

    Args:
        dyn: compiled equations.
        data: the measured motion.
        parameters: names of the sought parameters.
        noise: standard deviation of each channel; estimated from the residuals by default.
        start: values by name: initial values of sought parameters, values of the others; defaults for the rest.

    Raises:
        ModelError: a name is unknown or occurs in a constraint, or no parameter has an effect. Also if the data have
            wrong shapes or too few numbers. If forces are compared, also if a joint has sticking friction, or a
            contact, stop or latch is closed in a row. If motions are compared, also if the model has latches or
            switches, or the first row does not show which gaps are closed. Also if a parameter occurs in a gap that is
            closed at a shooting node, or a motion has no derivative.
        SimulationError: an interval cannot be simulated with the initial parameters.

    Source: Atkeson, An & Hollerbach 1986; Gautier 1991, and 1997 for the weights; Bock 1983 for shooting; Aizerman &
    Gantmakher 1958 for derivatives through events.
    """
    require(dyn, Dynamics, "identify takes Dynamics, from kane.build")
    require(data, Measurements, "identify takes kane.Measurements(time, q, u, udot, forces=tau)")
    known = [leaf.name for leaf in dyn.equations.parameters]
    names = tuple(words(parameters, "parameters", "names"))
    places = [index_of_name(name, known, "parameter") for name in names]
    if not names or len(set(names)) < len(names):
        raise ModelError(f"parameters={shown(list(names))}; name at least one, and each once")
    fitted = Regression(dyn, names, data.of(dyn))
    values = dyn.parameter_values(start)
    if data.udot is not None:
        _require_open(dyn, data, start)
    structure, estimate = _projected(fitted, places, values, _given_noise(noise, _channels(fitted)))
    return _told(fitted, places, structure, estimate, values)


def _require_open(dyn: Dynamics, data: Measurements, start: Mapping[str, float] | None) -> None:
    """Raise if intermittent constraints act in the data, because their forces are in no equation.

    Raises:
        ModelError: the model has sticking friction in a joint, or a contact, stop or latch is closed in a row.
    """
    for c in dyn.equations.intermittents:
        if c.normal is None and c.constraint.friction is not None:
            raise ModelError(
                f"{c.name!r} is a stick, which is inactive when forces are compared; leave it out of the model, and "
                "use a load instead, such as kane.Motor(joint, -friction * kane.tanh(joint.qdot / 0.01))"
            )
    names, gaps = gap_terms_at(dyn, data.q, data.time, start)
    closed = gaps <= SEARCH_GAP_TOLERANCE
    rows, columns = np.flatnonzero(closed.any(axis=1)), np.flatnonzero(closed.any(axis=0))
    if len(rows):
        shut = f"{', '.join(repr(names[k]) for k in columns)} {'is' if len(columns) == 1 else 'are'} closed"
        first = f"row {rows[0]} at {data.time[rows[0]]:.6g} s"
        raise ModelError(
            f"{shut} in {len(rows)} of {len(data)} rows, the first of them {first}. Their forces are "
            "not in the equations and would falsify the parameters; leave these rows out"
        )


def _channels(fitted: Regression) -> tuple[str, ...]:
    """Return the names of the residual channels: forces, or states if accelerations were not measured."""
    if fitted.data.udot is not None:
        return fitted.channels
    channels = Channels.of(fitted.dyn)
    return channels.names[channels.measured(fitted.data)]


def _given_noise(noise: Any, channels: Sequence[str]) -> Array | None:
    if noise is None:
        return None
    sizes, count = numbers(noise, "noise must be positive numbers"), len(channels)
    if sizes.shape not in ((), (count,)) or not ((sizes > 1.0 / SQUARED) & (sizes < SQUARED)).all():
        raise ModelError(f"noise={shown(noise)}; give a positive number, or {count}: for {', '.join(channels)}")
    return np.broadcast_to(sizes, (count,)).copy()


def _projected(
    fitted: Regression, places: list[int], values: Array, noise: Array | None
) -> tuple[BaseParameters, Estimate]:
    """Return the identifiable base parameters and the estimate.

    In nonlinear problems the base parameters depend on the values, so that both are iterated.
    """
    structure = _structure(fitted, values)
    fit = estimate_by_motions if fitted.data.udot is None else estimate_by_forces
    while True:
        estimate = fit(fitted, places, structure, values, noise)
        if fitted.data.udot is not None and fitted.linear:
            return structure, estimate
        values, there = estimate.values, _structure(fitted, estimate.values)
        if len(there.independent) <= len(structure.independent):
            return there if there.independent == structure.independent else structure, estimate
        structure = there


def _structure(fitted: Regression, values: Array) -> BaseParameters:
    """Return the base parameters that any motion can show, at given values of the parameters."""
    motion = random_motion(fitted.dyn, PROBE_STATES, values, fitted.data)
    J = triangles(replace(fitted, data=motion).at(values)[1]).reshape(-1, len(fitted.names))
    if fitted.data.udot is None:
        J = np.vstack([J, _of_contacts(fitted) * (np.abs(J).max() or 1.0)])
    base = base_parameters_of(J)
    if not base.independent:
        raise ModelError(f"none of {', '.join(fitted.names)} has any effect on the motion; name others")
    return base


def _of_contacts(fitted: Regression) -> Array:
    """Return a unit row for each parameter on which gaps, friction, restitution or other contact data depend."""
    given = [x for c in fitted.dyn.equations.intermittents for x in (*c.numbers, *(row.motion for row in c.rows))]
    known = {leaf.name for leaf in leaves([x for x in given if isinstance(x, Expr)])}
    return np.eye(len(fitted.names))[[name in known for name in fitted.names]]


def _told(
    fitted: Regression, places: list[int], structure: BaseParameters, found: Estimate, start: Array
) -> Identification:
    """Return the identification result of an estimate."""
    names = fitted.names
    total = structure.then(found.base)
    R = triangle(found.J[:, total.independent])
    half = np.linalg.inv(R)
    covariance = half @ half.T
    errors = np.sqrt(np.diag(covariance))
    sums = total.B @ found.values[places]
    base = tuple(
        ParameterCombination(terms_of(row, names), float(value), float(error))
        for row, value, error in zip(total.B, sums, errors, strict=True)
    )
    alone = {next(iter(c.terms)): c.standard_error for c in base if len(c.terms) == 1}
    return Identification(
        values={name: float(found.values[k]) for name, k in zip(names, places, strict=True)},
        standard_errors={name: alone.get(name, np.inf) for name in names},
        base_parameters=base,
        covariance=covariance,
        unidentifiable=_unidentifiable(fitted, structure, total),
        residuals=found.residuals,
        channels=_channels(fitted),
        noise=found.noise,
        condition=float(np.linalg.cond(R / np.linalg.norm(R, axis=0))),
        states=len(found.residuals),
        model=fitted.dyn.equations.name,
        start={name: float(start[k]) for name, k in zip(names, places, strict=True)},
        bodies=_whole_bodies(fitted.dyn, names),
    )


def _whole_bodies(dyn: Dynamics, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the ten parameter names of each body with given moments, if all are among the names."""
    found: dict[str, list[str]] = {}
    for body in dyn.equations.model.bodies[1:]:
        if body.moments is not None:
            first, inertia = body.moments
            ten = [str(getattr(x, "name", "")) for x in (body.mass, *first, *six(inertia))]
            if set(ten) <= set(names):
                found[body.name] = ten
    return found


def _unidentifiable(fitted: Regression, structure: BaseParameters, total: BaseParameters) -> Unidentifiable:
    """Return parameters without effect, grouped by reason, then parameters that only appear in combinations."""
    names, found = fitted.names, []
    lost = [j for j in range(len(names)) if not total.B[:, j].any()]
    silent = [j for j in lost if structure.B[:, j].any()]
    idle = [j for j in lost if j not in silent]
    why = no_effect(fitted.dyn, [names[j] for j in idle])
    reasons = [*((DATA_SILENT, j) for j in silent), *zip(why, idle, strict=True)]
    for reason, group in groupby(sorted(reasons), key=lambda pair: pair[0]):
        found.append(Undetermined(tuple(names[j] for _, j in group), {}, reason))
    for place, row in zip(total.independent, total.B, strict=True):
        terms = terms_of(row, names)
        if len(terms) > 1:
            before = structure.B[structure.independent.index(place)]
            found.append(Undetermined(tuple(terms), terms, "" if np.array_equal(before, row) else DATA))
    return Unidentifiable(found)


def no_effect(dyn: Dynamics, names: Sequence[str]) -> list[str]:
    """Return the reason for each name.

    For mass properties, the reason may be that the body does not move, or turns about a fixed axis only.
    """
    states = RandomStates(dyn.equations, NO_EFFECT_STATES, seed=0) if names else None
    bodies = {symbol: b for b in dyn.equations.model.bodies for symbol in _symbols(b)}
    moving: dict[Body, str] = {}
    for name in names:
        body = bodies.get(name)
        if body is not None and states is not None and body not in moving:
            moving[body] = _motion_of(dyn, body, states)
    return [moving[bodies[name]] if name in bodies else NO_INFLUENCE for name in names]


def _motion_of(dyn: Dynamics, body: Body, states: RandomStates) -> str:
    moved = dyn.jacobian(body, states.q.T, t=np.zeros(NO_EFFECT_STATES))
    if max(np.abs(moved.angular).max(initial=0.0), np.abs(moved.linear).max(initial=0.0)) < ZERO_VELOCITY_SIZE:
        return f"{body.name} does not move"
    axes = moved.angular.transpose(0, 2, 1).reshape(-1, 3)
    if (
        np.abs(moved.linear).max(initial=0.0) < ZERO_VELOCITY_SIZE
        and np.linalg.matrix_rank(axes, tol=ZERO_VELOCITY_SIZE) == 1
    ):
        axis = axes[np.argmax(np.linalg.norm(axes, axis=1))]
        upright = np.linalg.norm(np.cross(axis, _gravity(dyn))) < ZERO_VELOCITY_SIZE * np.linalg.norm(axis)
        return f"{body.name} turns about a fixed axis{', which is vertical' if upright else ''}"
    return NO_INFLUENCE


def _gravity(dyn: Dynamics) -> np.ndarray:
    """Return the direction of gravity; NaN if it is zero or not constant, so that no axis counts as vertical."""
    g = np.array([x if isinstance(x, float) else np.nan for x in dyn.equations.model.gravity])
    return g / (np.linalg.norm(g) or np.nan)


def _symbols(body: Body) -> set[str]:
    first, inertia = body.moments or (body.com, body.inertia)
    given = [body.mass, *first, *(x for row in inertia for x in row)]
    return {leaf.name for leaf in leaves([x for x in given if isinstance(x, Expr)])}
