"""excitation: motions from which parameters are identified accurately, as Fourier series scaled to limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kane.analysis.identification.base_parameters import base_parameters_of, triangle
from kane.analysis.identification.measurements import Measurements
from kane.analysis.identification.random_motion import PROBE_STATES, random_motion
from kane.analysis.identification.regression import Regression, regressor
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.number_arguments import list_argument, number, numbers, positive, require, whole, words
from kane.files.scipy import load_scipy
from kane.model.named_vector import index_of_name

# Samples per period of the highest harmonic, for slopes; and how many times denser the samples for limits are.
SAMPLES, FINE = 16, 8

# Number of random motions, of which the best one is improved, and number of these improvement steps.
RANDOM_MOTIONS, MAX_IMPROVEMENT_STEPS = 24, 30
COST_DIFFERENCE_STEP = 1e-6


class MotionLimits(NamedTuple):
    """Limits of a motion, (n,) each.

    Attributes:
        centre, reach: coordinates are between centre - reach and centre + reach.
        u, udot: largest magnitudes.
    """

    centre: Array
    reach: Array
    u: Array
    udot: Array


def limits_of(coordinates: Sequence[str], speeds: Sequence[str], given: tuple[Any, Any, Any]) -> MotionLimits:
    """Return the limits that users gave for q, u and udot, for all or by name.

    Raises:
        ModelError: a limit is missing, or leaves no room.
    """
    q, u, udot = given
    pairs = [_pair(x, name) for name, x in zip(coordinates, _each(q, coordinates, "q"), strict=True)]
    low, high = np.array(pairs, dtype=float).T.reshape(2, -1)
    sizes = [_sizes(x, speeds, what) for what, x in (("u", u), ("udot", udot))]
    return MotionLimits(0.5 * (low + high), 0.5 * (high - low), *sizes)


def _each(given: Any, names: Sequence[str], what: str) -> list[Any]:
    if not isinstance(given, Mapping):
        return [given] * len(names)
    for name in given:
        index_of_name(name, names, f"limit of {what}")
    missing = [name for name in names if name not in given]
    if missing:
        raise ModelError(f"the limits of {what} have no entry for {', '.join(missing)}; add them")
    return [given[name] for name in names]


def _sizes(given: Any, names: Sequence[str], what: str) -> Array:
    each = zip(names, _each(given, names, what), strict=True)
    return np.array([positive(x, f"the limit of {name} ({what})") for name, x in each])


def _pair(given: Any, name: str) -> tuple[float, float]:
    ends = [number(x, f"a limit of {name}") for x in list_argument(given, f"the limits of {name}", "two numbers")]
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise ModelError(f"the limits of {name} are {shown(given)}; give the least and the largest value")
    return ends[0], ends[1]


def fourier(duration: float, times: Array, sines: Array, cosines: Array) -> tuple[Array, Array, Array]:
    """Return the sum over harmonics k of a_k sin(k w t) + b_k cos(k w t), and its derivatives.

    Args:
        duration: 2 pi / w [s].
        times: (m,) [s].
        sines, cosines: a and b, (..., harmonics, n).

    Returns:
        q, u and udot, (..., m, n).
    """
    w = 2.0 * np.pi / duration * np.arange(1.0, sines.shape[-2] + 1.0)
    s, c = np.sin(np.outer(times, w)), np.cos(np.outer(times, w))
    return (
        s @ sines + c @ cosines,
        (w * c) @ sines - (w * s) @ cosines,
        -(w * w * s) @ sines - (w * w * c) @ cosines,
    )


@dataclass(frozen=True, eq=False)
class Design:
    """Fourier motions that start at rest without acceleration and reach a limit in each coordinate.

    Attributes:
        dyn: compiled equations.
        names: names of the parameters.
        duration: duration of one period [s].
        harmonics: number of harmonics.
        limits: limits of the motion.
    """

    dyn: Dynamics
    names: tuple[str, ...]
    duration: float
    harmonics: int
    limits: MotionLimits

    @property
    def freedoms(self) -> int:
        """Number of design variables of a motion."""
        return 2 * (self.harmonics - 1) * len(self.limits.centre)

    def coefficients(self, x: Array) -> tuple[Array, Array]:
        """Return sines and cosines (c, harmonics, n) of c designs x (c, freedoms)."""
        n, k = len(self.limits.centre), np.arange(1.0, self.harmonics + 1.0)
        parts = x.reshape(len(x), 2, self.harmonics - 1, n)
        free = [np.linalg.svd(row[None])[2][1:].T / k[:, None] ** 2 for row in (1.0 / k, np.ones_like(k))]
        sines, cosines = free[0] @ parts[:, 0], free[1] @ parts[:, 1]
        times = np.linspace(0.0, self.duration, SAMPLES * FINE * self.harmonics, endpoint=False)
        allowed = (self.limits.reach, self.limits.u, self.limits.udot)
        found = fourier(self.duration, times, sines, cosines)
        between = np.cos(np.pi / (SAMPLES * FINE))  # bounds the sum between samples (Ehlich & Zeller)
        ratio = (
            np.max([np.abs(y).max(axis=-2) / room for y, room in zip(found, allowed, strict=True)], axis=0) / between
        )
        return sines / ratio[:, None], cosines / ratio[:, None]

    def costs(self, x: Array) -> Array:
        """Return logarithms of the condition numbers of c designs, (c,)."""
        times = np.linspace(0.0, self.duration, SAMPLES * self.harmonics, endpoint=False)
        q, u, udot = fourier(self.duration, times, *self.coefficients(x))
        function, e = regressor(self.dyn, self.names).function, self.dyn.equations
        rest = np.concatenate([udot, np.zeros((*udot.shape[:-1], len(e.inputs)))], axis=-1)
        t = np.broadcast_to(times[:, None], (*q.shape[:-1], 1))
        found = function.join((t, self.limits.centre + q, u), rest, function.stage(self.dyn.parameters))
        J = found[..., len(e.u) :].reshape(len(x), -1, len(self.names))[..., self._independent]
        R = triangle(J)
        return np.log(np.linalg.cond(R / np.linalg.norm(R, axis=-2, keepdims=True)))

    @cached_property
    def _independent(self) -> list[int]:
        """Indices of the independent parameters, one for each base parameter."""
        e = self.dyn.equations
        still = np.zeros((2, len(e.u)))
        like = Measurements([0.0, 1.0], np.zeros((2, len(e.q))), still, still, forces=still)
        motion = random_motion(self.dyn, PROBE_STATES, self.dyn.parameters, like)
        found = Regression(self.dyn, self.names, motion).at(self.dyn.parameters)[1]
        base = base_parameters_of(found.reshape(-1, len(self.names)))
        if not base.independent:
            raise ModelError(f"none of {', '.join(self.names)} has any effect on the motion; name others")
        return base.independent


@dataclass(frozen=True, eq=False)
class Excitation:
    """Periodic motion q = centre + sum over k of a_k sin(k w t) + b_k cos(k w t), w = 2 pi / duration.

    It starts and ends at rest without acceleration.

    Attributes:
        duration: duration of one period [s].
        centre: (n,).
        sines, cosines: a and b, (harmonics, n).
        condition: condition number of the slopes of the forces by the base parameters, with columns of unit length.
    """

    duration: float
    centre: Array
    sines: Array
    cosines: Array
    condition: float

    def at(self, t: Any) -> tuple[Array, Array, Array]:
        """Return q, u and udot at times (...) [s], each (..., n)."""
        times = numbers(t, "t must be numbers [s]")
        q, u, udot = fourier(self.duration, times.ravel(), self.sines, self.cosines)
        shape = (*times.shape, len(self.centre))
        return (self.centre + q).reshape(shape), u.reshape(shape), udot.reshape(shape)

    def __repr__(self) -> str:
        return (
            f"<Excitation of {len(self.centre)} coordinates, {len(self.sines)} harmonics in {self.duration:.6g} s, "
            f"condition number {self.condition:.4g}>"
        )


def excitation(
    dyn: Dynamics,
    parameters: Sequence[str],
    *,
    duration: float,
    q: Any,
    u: Any,
    udot: Any,
    harmonics: int = 5,
    seed: int = 0,
) -> Excitation:
    """Design a motion within limits that distinguishes parameters well: its slopes have the least condition number.

        motion = kane.excitation(dyn, names, duration=10.0, q=(-2.0, 2.0), u=1.5, udot=4.0)
        q, u, udot = motion.at(np.arange(0, 10, 0.01))

    Every coordinate reaches one of its limits. The motion is smooth, bounded and periodic: it can be repeated and
    averaged, and its derivatives are known without differences.

    Args:
        dyn: compiled equations without constraints, whose speeds are the rates of the coordinates.
        parameters: names of the sought parameters.
        duration: duration of one period [s].
        q: least and largest value of all coordinates, or by name: {"q1": (-1, 1), ...}.
        u, udot: largest magnitude of all speeds and accelerations, or by name.
        harmonics: number of harmonics; at least three.
        seed: seed of the initial random motions.

    Raises:
        ModelError: the model has constraints or other speeds, a limit leaves no room, or no parameter has an effect.

    Source: Swevers, Ganseman, Tukel, De Schutter & Van Brussel 1997; Armstrong 1989.
    """
    minimize = load_scipy("optimize").minimize
    require(dyn, Dynamics, "excitation takes Dynamics, from kane.build")
    e, names = dyn.equations, words(parameters, "parameters", "names")
    known = [leaf.name for leaf in e.parameters]
    if not names:
        raise ModelError("name at least one parameter")
    for name in names:
        index_of_name(name, known, "parameter")
    if e.constraints or tuple(e.kinematics) != tuple(e.u):
        raise ModelError(f"{e.name!r} has constraints, or speeds that are not the rates of its coordinates")
    limits = limits_of([leaf.name for leaf in e.q], [leaf.name for leaf in e.u], (q, u, udot))
    design = Design(dyn, tuple(names), positive(duration, "duration"), whole(harmonics, "harmonics", 3), limits)
    drawn = np.random.default_rng(seed).normal(size=(RANDOM_MOTIONS, design.freedoms))
    best = drawn[np.argmin(design.costs(drawn))]

    def slope(x: Array) -> tuple[float, Array]:
        costs = design.costs(np.vstack([x, x + COST_DIFFERENCE_STEP * np.eye(len(x))]))
        return float(costs[0]), (costs[1:] - costs[0]) / COST_DIFFERENCE_STEP

    found = minimize(slope, best, jac=True, method="L-BFGS-B", options={"maxiter": MAX_IMPROVEMENT_STEPS})
    sines, cosines = design.coefficients(found.x[None])
    return Excitation(design.duration, limits.centre, sines[0], cosines[0], float(np.exp(found.fun)))
