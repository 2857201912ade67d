"""Mass properties that a body can have, nearest to what was measured.

Ten numbers are those of a distribution of mass where their pseudo-inertia is positive definite,

    P = integral [r; 1] [r; 1]^T dm = [S h; h^T m],   S = tr(I) / 2 1 - I.

Of all bodies those are sought that minimize chi^2 / 2 + D, chi^2 of the measured combinations and

    D(P, P_0) = tr(P P_0^-1) - log det(P P_0^-1) - 4

the distance from the bodies at the start: it grows beyond bounds where a body ceases to be one, depends on no choice of
frames and units, and is convex, so that Newton's method ends at the one minimum.

Source: Wensing, Kim & Slotine 2018 for P; Lee, Wensing & Park 2020, Sec. IV, for D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.errors import ModelError

Array = NDArray[np.float64]
# Where the start is no body its pseudo-inertia gets eigenvalues of this share of the largest, at least.
THIN = 1e-6
# Newton's decrement squared is what is left to gain, of a sum of squares of numbers of size one.
GAINED, STEPS = 1e-12, 200
# Armijo's condition: a step gains at least this share of what its slope promises.
PROMISED = 0.1


class Consistent(NamedTuple):
    """Parameters with which every body is one.

    Attributes:
        values: by name.
        misfit: chi square, what they miss the measured combinations by; of as many degrees of freedom as there are
            combinations, so that some times their number says that the motion has causes that the model has not.
    """

    values: Mapping[str, float]
    misfit: float


def consistent(
    start: Mapping[str, float], bodies: Sequence[Sequence[str]], wanted: tuple[Array, Array, Array]
) -> Consistent:
    """The parameters of bodies with the least chi^2 / 2 + D.

    Args:
        start: by name.
        bodies: of each its ten parameters: mass, first moment, inertia about the origin.
        wanted: B, the values of B p, and their covariance.

    Raises:
        ModelError: there are no such bodies.
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

    for _ in range(STEPS):
        gradient, H = J.T @ (J @ p - wanted_sums), J.T @ J
        for ten, anchor in zip(places, anchors, strict=True):
            inverse = np.linalg.inv(pseudo_inertia(p[ten]))
            gradient[ten] += np.einsum("kij,ji", UNITS, anchor - inverse)
            turned = inverse @ UNITS
            H[np.ix_(ten, ten)] += np.einsum("kij,lji", turned, turned)
        step = -_solved(H, gradient)
        gain = float(-gradient @ step)
        if gain < GAINED:
            break
        size, here = 1.0, cost(p)
        while not cost(p + size * step) <= here - PROMISED * size * gain:
            size *= 0.5
        p = p + size * step
    missed = J @ p - wanted_sums
    return Consistent(dict(zip(names, p.tolist(), strict=True)), float(missed @ missed))


def _solved(H: Array, b: Array) -> Array:
    """H x = b, each unknown in units of its own."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    return np.asarray(scale * np.linalg.lstsq(scale[:, None] * H * scale, scale * b, rcond=1e-14)[0])


def pseudo_inertia(ten: Array) -> Array:
    """P, 4 x 4, of mass, first moment and inertia about the origin (xx, yy, zz, xy, xz, yz)."""
    return np.asarray(np.einsum("k,kij", ten, UNITS))


def _units() -> Array:
    """P of each of the ten numbers alone."""
    units = np.zeros((10, 4, 4))
    units[0, 3, 3] = 1.0
    for i in range(3):
        units[1 + i, i, 3] = units[1 + i, 3, i] = 1.0
        units[4 + i, range(3), range(3)] = 0.5
        units[4 + i, i, i] = -0.5
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        units[7 + k, i, j] = units[7 + k, j, i] = -1.0
    return units


UNITS = _units()


def _distance(ten: Array, anchor: Array) -> float:
    """D, infinite for what is no body; the anchor is P_0^-1."""
    P = pseudo_inertia(ten)
    if np.linalg.eigvalsh(P)[0] <= 0.0:
        return np.inf
    turned = P @ anchor
    return float(np.trace(turned) - np.linalg.slogdet(turned)[1] - 4.0)


def _nearest_body(ten: Array) -> Array:
    """The ten numbers, or those of a body near to them."""
    sizes, axes = np.linalg.eigh(pseudo_inertia(ten))
    P = (axes * np.maximum(sizes, THIN * sizes[-1])) @ axes.T
    S = np.diag(P)[:3]
    return np.array([P[3, 3], *P[:3, 3], *(S.sum() - S), -P[0, 1], -P[0, 2], -P[1, 2]])
