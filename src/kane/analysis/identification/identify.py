"""identify: parameters from measured motions, with their errors, and what the motions do not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.combinations import Combinations, combinations_of, terms_of, triangle
from kane.analysis.identification.identification import Combination, Identification, Undetermined, Unidentifiable
from kane.analysis.identification.measurements import Measurements
from kane.analysis.identification.no_effect import no_effect
from kane.analysis.identification.random_motion import random_motion
from kane.analysis.identification.regression import Regression
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import numbers, require, words
from kane.geometry.inertia import six
from kane.model.named_vector import position

Array = NDArray[np.float64]
# Weights follow the residuals, and the residuals the weights: what is left after so many rounds is below the errors.
ROUNDS = 3
# Relative steps and changes at which least squares end: below any error of a measurement.
TIGHT = 1e-10
# Residuals of so little of their size, or of one, are round-off.
NOISELESS = 1e-13
# States at which it is asked what can be identified at all: some ten rows a parameter.
PROBES = 300
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

    Standard errors are those of independent errors of the forces. What is not modelled (friction, an elastic gear)
    makes residuals that are no such noise: look at ``fit.residuals`` before trusting them.

    Args:
        dyn: native code of the equations.
        data: the motion.
        parameters: names of those that are sought.
        noise: standard deviation of each channel; found from the residuals unless given.
        start: values by name from which the search starts, and of the parameters that are not sought; defaults of the
            others.

    Raises:
        ModelError: unknown names, one that stands in a constraint, data that fit the equations by no shape, fewer
            numbers than parameters, or none of the parameters has any effect.

    Source: Gautier 1991; Gautier 1997 for the weights; Atkeson, An & Hollerbach 1986.
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
    structure, estimate = _settled(fitted, places, values, _given_noise(noise, fitted))
    return _told(fitted, places, structure, estimate, values)


class _Estimate(NamedTuple):
    """Where least squares have led.

    Attributes:
        values: of all parameters.
        residuals: (k, channels).
        J: slopes by the parameters, in units of the noise, (rows, p).
        noise: (channels,).
        base: what the data tell apart of what can be identified.
    """

    values: Array
    residuals: Array
    J: Array
    noise: Array
    base: Combinations


def _given_noise(noise: Any, fitted: Regression) -> Array | None:
    if noise is None:
        return None
    sizes, count = numbers(noise, "noise must be positive numbers"), len(fitted.channels)
    if sizes.shape not in ((), (count,)) or not (sizes > 0.0).all() or not np.isfinite(sizes).all():
        raise ModelError(f"noise={shown(noise)}; give a positive number, or {count}: of {', '.join(fitted.channels)}")
    return np.broadcast_to(sizes, (count,)).copy()


def _settled(
    fitted: Regression, places: list[int], values: Array, noise: Array | None
) -> tuple[Combinations, _Estimate]:
    """The estimate with what can be identified there, which where equations are not linear depends on the values."""
    structure = _structure(fitted, values)
    while True:
        estimate = _estimate(fitted, places, structure, values, noise)
        values, there = estimate.values, _structure(fitted, estimate.values)
        if len(there.independent) <= len(structure.independent):
            return there if there.independent == structure.independent else structure, estimate
        structure = there


def _structure(fitted: Regression, values: Array) -> Combinations:
    """What any motion can tell, at values of the parameters."""
    motion = random_motion(fitted.dyn, PROBES, values, fitted.data)
    J = replace(fitted, data=motion).at(values)[1]
    base = combinations_of(J.reshape(-1, len(fitted.names)))
    if not base.independent:
        raise ModelError(f"none of {', '.join(fitted.names)} has any effect on the motion; ask for others")
    return base


def _estimate(
    fitted: Regression, places: list[int], structure: Combinations, values: Array, given: Array | None
) -> _Estimate:
    """Least squares over the parameters that name the combinations, the others held; noise found with them."""
    from scipy.optimize import least_squares  # takes a tenth of a second

    _require_enough(fitted, len(structure.independent))
    place = _Place(fitted, values, places, [])
    sloped = place.factors(values[[]])[..., structure.independent]
    base = combinations_of(sloped.reshape(-1, len(structure.independent)))
    sought = [structure.independent[i] for i in base.independent]
    noise = np.ones(len(fitted.channels)) if given is None else given
    for _ in range(ROUNDS if given is None else 1):
        place = _Place(fitted, values, places, sought)
        found = least_squares(
            lambda x, at=place, scale=noise: at.residuals(x, scale),
            values[[places[i] for i in sought]],
            lambda x, at=place, scale=noise: at.slopes(x, scale),
            x_scale="jac",
            **dict.fromkeys(("xtol", "ftol", "gtol"), TIGHT),
        )
        values, R = place.with_values(found.x), place.factors(found.x)
        if given is None:
            freedoms = len(fitted.data) - len(sought) / len(noise)
            sizes = np.linalg.norm(R[..., -1], axis=-1) / np.sqrt(freedoms)
            noise = np.maximum(sizes, NOISELESS * max(float(sizes.max()), NOISELESS))
    J = (R[..., :-1] / noise[:, None, None]).reshape(-1, len(fitted.names))
    return _Estimate(values, fitted.at(values)[0], J, noise, base)


@dataclass(frozen=True, eq=False)
class _Place:
    """Residuals as a function of the parameters that are sought, the others held.

    They stand as R of Q R = [J r], which has the same length and the same slopes, in a few rows.

    Attributes:
        values: of all parameters.
        places: of the parameters among them; ``sought`` are those that change.
    """

    fitted: Regression
    values: Array
    places: list[int]
    sought: list[int]
    _last: dict[bytes, Array] = field(default_factory=dict)

    def with_values(self, x: Array) -> Array:
        """Values of all parameters."""
        values = self.values.copy()
        values[[self.places[i] for i in self.sought]] = x
        return values

    def residuals(self, x: Array, noise: Array) -> Array:
        """In units of the noise, (rows,)."""
        return np.asarray((self.factors(x)[..., -1] / noise[:, None]).ravel())

    def slopes(self, x: Array, noise: Array) -> Array:
        """Of these, (rows, sought)."""
        J = self.factors(x)[..., self.sought] / noise[:, None, None]
        return np.asarray(J.reshape(-1, len(self.sought)))

    def factors(self, x: Array) -> Array:
        """R of each channel, (channels, p + 1, p + 1)."""
        key = x.tobytes()
        if key not in self._last:
            self._last.clear()  # slopes are asked for where residuals were, and nowhere else
            r, J = self.fitted.at(self.with_values(x))
            self._last[key] = triangle(np.concatenate([J, r[..., None]], axis=-1).swapaxes(0, 1))
        return self._last[key]


def _require_enough(fitted: Regression, unknown: int) -> None:
    rows = len(fitted.data) * len(fitted.channels)
    if rows <= unknown:
        raise ModelError(f"{rows} numbers were measured; to find {unknown} more are needed, and many for their errors")


def _told(
    fitted: Regression, places: list[int], structure: Combinations, found: _Estimate, start: Array
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
        channels=fitted.channels,
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
    reasons = [DATA_SILENT if structure.B[:, j].any() else no_effect(fitted.dyn, names[j]) for j in lost]
    for reason, group in groupby(sorted(zip(reasons, lost, strict=True)), key=lambda pair: pair[0]):
        found.append(Undetermined(tuple(names[j] for _, j in group), {}, reason))
    for place, row in zip(total.independent, total.B, strict=True):
        terms = terms_of(row, names)
        if len(terms) > 1:
            before = structure.B[structure.independent.index(place)]
            found.append(Undetermined(tuple(terms), terms, "" if np.array_equal(before, row) else DATA))
    return Unidentifiable(found)
