"""Physically consistent inertial parameters that are nearest to the measured ones.

Ten inertial parameters belong to a mass distribution if their pseudo-inertia is positive definite:

    P = integral [r; 1] [r; 1]^T dm = [S h; h^T m],   S = tr(I) / 2 1 - I.

The result minimizes chi^2 / 2 + D over all bodies. chi^2 is the weighted error of the measured base parameters, and

    D(P, P_0) = tr(P P_0^-1) - log det(P P_0^-1) - 4

is the distance from the bodies at the start. D is infinite at the border of consistency, independent of frames and
units, and convex, so that Newton's method finds the unique minimum.

Source: Wensing, Kim & Slotine 2018 for P; Lee, Wensing & Park 2020, Sec. IV, for D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple
from kane.errors import ModelError

# If a start is not physically consistent, eigenvalues of its pseudo-inertia are raised to this fraction of the largest.
LEAST_EIGENVALUE_RATIO = 1e-6
# Squared Newton decrement below which the search ends (the cost is of order one), and largest number of steps.
LEAST_NEWTON_DECREMENT, MAX_NEWTON_STEPS = 1e-12, 200
# Armijo's condition: smallest ratio of the decrease of a step to the decrease that its slope predicts.
PROMISED = 0.1


class Consistent(NamedTuple):
    """Physically consistent parameters.

    Attributes:
        values: by name.
        misfit: chi^2 of the measured base parameters, with as many degrees of freedom as there are base parameters. A
            value several times larger indicates effects that the model lacks.
    """

    values: Mapping[str, float]
    misfit: float


def nearest_physical(
    start: Mapping[str, float], bodies: Sequence[Sequence[str]], wanted: tuple[Array, Array, Array]
) -> Consistent:
    """Return the parameters with the least chi^2 / 2 + D.

    Args:
        start: values by name.
        bodies: ten parameter names of each body: mass, first moment, inertia about the origin.
        wanted: B, the measured values of B p, and their covariance.

    Raises:
        ModelError: no body has all of its ten parameters among the names.
    """
    if not bodies:
        raise ModelError("no body has all of its ten inertial parameters among these; see kane.inertial_parameters")
    names, (B, sums, covariance) = list(start), wanted
    places = [[names.index(name) for name in ten] for ten in bodies]
    p = np.array([start[name] for name in names])
    for ten in places:
        p[ten] = _nearest_body(p[ten])
    anchors: list[Array] = [np.asarray(np.linalg.inv(pseudo_inertia(p[ten]))) for ten in places]
    half = np.linalg.inv(np.linalg.cholesky(covariance))
    J, wanted_sums = half @ B, half @ sums

    def cost(p: Array) -> float:
        missed = J @ p - wanted_sums
        return float(0.5 * missed @ missed) + sum(
            (_distance(p[x], a) for x, a in zip(places, anchors, strict=True)), 0.0
        )

    for _ in range(MAX_NEWTON_STEPS):
        gradient, H = J.T @ (J @ p - wanted_sums), J.T @ J
        for ten, anchor in zip(places, anchors, strict=True):
            inverse = np.linalg.inv(pseudo_inertia(p[ten]))
            gradient[ten] += np.einsum("kij,ji", PSEUDO_INERTIA_BASIS, anchor - inverse)
            turned = inverse @ PSEUDO_INERTIA_BASIS
            H[np.ix_(ten, ten)] += np.einsum("kij,lji", turned, turned)
        step = -_solved(H, gradient)
        gain = float(-gradient @ step)
        if gain < LEAST_NEWTON_DECREMENT:
            break
        size, here = 1.0, cost(p)
        while not cost(p + size * step) <= here - PROMISED * size * gain:
            size *= 0.5
        p = p + size * step
    missed = J @ p - wanted_sums
    return Consistent(dict(zip(names, p.tolist(), strict=True)), float(missed @ missed))


def _solved(H: Array, b: Array) -> Array:
    """Solve H x = b, with each unknown scaled."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    return np.asarray(scale * np.linalg.lstsq(scale[:, None] * H * scale, scale * b, rcond=1e-14)[0])


def pseudo_inertia(ten: Array) -> Array:
    """Return P, (4, 4), from mass, first moment and inertia about the origin (xx, yy, zz, xy, xz, yz)."""
    return np.asarray(np.einsum("k,kij", ten, PSEUDO_INERTIA_BASIS))


def _units() -> Array:
    """Return P of each of the ten unit parameters, (10, 4, 4)."""
    units = np.zeros((10, 4, 4))
    units[0, 3, 3] = 1.0
    for i in range(3):
        units[1 + i, i, 3] = units[1 + i, 3, i] = 1.0
        units[4 + i, range(3), range(3)] = 0.5
        units[4 + i, i, i] = -0.5
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        units[7 + k, i, j] = units[7 + k, j, i] = -1.0
    return units


PSEUDO_INERTIA_BASIS = _units()


def _distance(ten: Array, anchor: Array) -> float:
    """Return D, infinite for inconsistent parameters; ``anchor`` is P_0^-1."""
    P = pseudo_inertia(ten)
    if np.linalg.eigvalsh(P)[0] <= 0.0:
        return np.inf
    turned = P @ anchor
    return float(np.trace(turned) - np.linalg.slogdet(turned)[1] - 4.0)


def _nearest_body(ten: Array) -> Array:
    """Return the ten parameters if they are consistent, otherwise those of a nearby body."""
    sizes, axes = np.linalg.eigh(pseudo_inertia(ten))
    P = (axes * np.maximum(sizes, LEAST_EIGENVALUE_RATIO * sizes[-1])) @ axes.T
    S = np.diag(P)[:3]
    return np.array([P[3, 3], *P[:3, 3], *(S.sum() - S), -P[0, 1], -P[0, 2], -P[1, 2]])
