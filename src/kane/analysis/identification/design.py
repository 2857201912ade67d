"""Design of exciting motions: Fourier series scaled to limits, and their condition numbers."""

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
from kane.expression.number_arguments import list_argument, number, positive
from kane.model.named_vector import index_of_name

# Samples per period of the highest harmonic, for slopes; and how many times denser the samples for limits are.
SAMPLES, FINE = 16, 8


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
