"""identify: parameters from measured motions, with their errors, and what the motions do not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.assembly.outside import TOUCHING, gaps_at
from kane.analysis.identification.channels import Channels
from kane.analysis.identification.combinations import Combinations, combinations_of, terms_of, triangle, triangles
from kane.analysis.identification.estimate import Estimate, estimate_by_forces
from kane.analysis.identification.identification import Combination, Identification, Undetermined, Unidentifiable
from kane.analysis.identification.measurements import Measurements
from kane.analysis.identification.no_effect import no_effect
from kane.analysis.identification.random_motion import random_motion
from kane.analysis.identification.regression import Regression
from kane.analysis.identification.shooting import estimate_by_motions
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import numbers, require, words
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.geometry.inertia import six
from kane.model.named_vector import position

Array = NDArray[np.float64]
# States at which it is asked what can be identified at all: some ten rows a parameter.
PROBES = 300
# Noise beyond this has no square to weigh equations with.
SQUARED = 1e100
DATA, DATA_SILENT = "in these data", "these data do not depend on it; another motion may"


def identify(
    dyn: Dynamics,
    data: Measurements,
    parameters: Sequence[str],
    *,
    noise: Any = None,
    start: Mapping[str, float] | None = None,
) -> Identification:
    """Values of parameters from a measured motion, by least squares.

    With accelerations the forces that the motion needs are compared with those that drove it (inverse dynamics, linear
    in masses, moments and inertias: ``kane.inertial_parameters``). Derivatives by parameters are exact, so that
    lengths, stiffnesses and coefficients of friction can be asked for as well. Which of them can be identified at all
    is found first, at random states; then which of these the data tell apart.

    Without accelerations the motion itself is compared, by multiple shooting: it is simulated in stretches, whose
    beginnings are sought with the parameters, so that each goes on where the one before ended. Without speeds the
    coordinates alone are compared, and the speeds where stretches begin are sought with the rest.

    Standard errors are those of independent errors of the forces, or of the states. What is not modelled (friction, an
    elastic gear) makes residuals that are no such noise: look at ``fit.residuals`` before trusting them.

    Contacts, stops and friction that sticks are in force in these motions: events are simulated, and derivatives go
    through them as those of ``kane.sensitivities`` do, so that restitution and friction can be asked for too. Where
    forces are compared they are not, and what they push would be taken for something else: rows in which one is closed
    are refused. Of one that only measured positions open, or of a switch, nothing is known.

    Args:
        dyn: native code of the equations.
        data: the motion.
        parameters: names of those that are sought.
        noise: standard deviation of each channel; found from the residuals unless given.
        start: values by name from which the search starts, and of the parameters that are not sought; defaults of the
            others.

    Raises:
        ModelError: unknown names, one that stands in a constraint, data that fit the equations by no shape, fewer
            numbers than parameters, rows in which a contact, stop or latch is closed, friction that sticks, or none of
            the parameters has any effect; without accelerations latches, switches, a first row that does not say what
            is closed, parameters of the gap of what is closed where a stretch begins, motions without derivatives.
        SimulationError: a stretch of the motion cannot be simulated with the parameters from which the search starts.

    Source: Atkeson, An & Hollerbach 1986; Gautier 1991, and 1997 for the weights; Bock 1983 for shooting; Aizerman &
    Gantmakher 1958 for derivatives through events.
    """
    require(dyn, Dynamics, "identify takes Dynamics, from kane.build")
    require(data, Measurements, "identify takes kane.Measurements(time, q, u, udot, forces=tau)")
    known = [leaf.name for leaf in dyn.equations.parameters]
    names = tuple(words(parameters, "parameters", "names"))
    places = [position(name, known, "parameter") for name in names]
    if not names or len(set(names)) < len(names):
        raise ModelError(f"parameters={shown(list(names))}; name at least one, and each once")
    fitted = Regression(dyn, names, data.of(dyn))
    values = dyn.parameter_values(start)
    if data.udot is not None:
        _require_open(dyn, data, start)
    structure, estimate = _settled(fitted, places, values, _given_noise(noise, _channels(fitted)))
    return _told(fitted, places, structure, estimate, values)


def _require_open(dyn: Dynamics, data: Measurements, start: Mapping[str, float] | None) -> None:
    """Refuse what pushes or rubs in the data and is in no equation.

    Raises:
        ModelError: friction that sticks, or rows in which a contact, stop or latch is closed.
    """
    for c in dyn.equations.candidates:
        if c.normal is None and c.candidate.friction is not None:
            raise ModelError(
                f"{c.name!r} is friction that sticks, which is not in force here; leave it out of the model, and put a "
                "load in its place, such as kane.Motor(joint, -friction * kane.tanh(joint.qdot / 0.01))"
            )
    names, gaps = gaps_at(dyn, data.q, data.time, start)
    closed = gaps <= TOUCHING
    rows, columns = np.flatnonzero(closed.any(axis=1)), np.flatnonzero(closed.any(axis=0))
    if len(rows):
        shut = f"{', '.join(repr(names[k]) for k in columns)} {'is' if len(columns) == 1 else 'are'} closed"
        first = f"row {rows[0]} at {data.time[rows[0]]:.6g} s"
        raise ModelError(
            f"{shut} in {len(rows)} of {len(data)} rows, the first of them {first}, and not in force here, so "
            "that what it pushes would be taken for something else; leave these rows out"
        )


def _channels(fitted: Regression) -> tuple[str, ...]:
    """What the residuals are of: forces, or where accelerations were not measured the states themselves."""
    if fitted.data.udot is not None:
        return fitted.channels
    channels = Channels.of(fitted.dyn)
    return channels.names[channels.measured(fitted.data)]


def _given_noise(noise: Any, channels: Sequence[str]) -> Array | None:
    if noise is None:
        return None
    sizes, count = numbers(noise, "noise must be positive numbers"), len(channels)
    if sizes.shape not in ((), (count,)) or not ((sizes > 1.0 / SQUARED) & (sizes < SQUARED)).all():
        raise ModelError(f"noise={shown(noise)}; give a positive number, or {count}: of {', '.join(channels)}")
    return np.broadcast_to(sizes, (count,)).copy()


def _settled(
    fitted: Regression, places: list[int], values: Array, noise: Array | None
) -> tuple[Combinations, Estimate]:
    """The estimate with what can be identified there, which where equations are not linear depends on the values."""
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


def _structure(fitted: Regression, values: Array) -> Combinations:
    """What any motion can tell, at values of the parameters."""
    motion = random_motion(fitted.dyn, PROBES, values, fitted.data)
    J = triangles(replace(fitted, data=motion).at(values)[1]).reshape(-1, len(fitted.names))
    if fitted.data.udot is None:
        J = np.vstack([J, _of_contacts(fitted) * (np.abs(J).max() or 1.0)])
    base = combinations_of(J)
    if not base.independent:
        raise ModelError(f"none of {', '.join(fitted.names)} has any effect on the motion; ask for others")
    return base


def _of_contacts(fitted: Regression) -> Array:
    """A row for each parameter of which contacts say something by themselves: of gaps, friction and restitution."""
    given = [x for c in fitted.dyn.equations.candidates for x in (*c.numbers, *(row.motion for row in c.rows))]
    known = {leaf.name for leaf in leaves([x for x in given if isinstance(x, Expr)])}
    return np.eye(len(fitted.names))[[name in known for name in fitted.names]]


def _told(
    fitted: Regression, places: list[int], structure: Combinations, found: Estimate, start: Array
) -> Identification:
    """The estimate in words and numbers."""
    names = fitted.names
    total = structure.then(found.base)
    R = triangle(found.J[:, total.independent])
    half = np.linalg.inv(R)
    covariance = half @ half.T
    errors = np.sqrt(np.diag(covariance))
    sums = total.B @ found.values[places]
    combinations = tuple(
        Combination(terms_of(row, names), float(value), float(error))
        for row, value, error in zip(total.B, sums, errors, strict=True)
    )
    alone = {next(iter(c.terms)): c.standard_error for c in combinations if len(c.terms) == 1}
    return Identification(
        values={name: float(found.values[k]) for name, k in zip(names, places, strict=True)},
        standard_errors={name: alone.get(name, np.inf) for name in names},
        combinations=combinations,
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
    """The ten parameters of bodies that were given by moments which are all among the names."""
    found: dict[str, list[str]] = {}
    for body in dyn.equations.model.bodies[1:]:
        if body.moments is not None:
            first, inertia = body.moments
            ten = [str(getattr(x, "name", "")) for x in (body.mass, *first, *six(inertia))]
            if set(ten) <= set(names):
                found[body.name] = ten
    return found


def _unidentifiable(fitted: Regression, structure: Combinations, total: Combinations) -> Unidentifiable:
    """Parameters without effect, those of one reason together; then combinations of several."""
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
