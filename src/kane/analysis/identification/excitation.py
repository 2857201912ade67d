"""excitation: motions from which parameters are identified accurately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.analysis.identification.design import Design, fourier, limits_of
from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.number_arguments import numbers, positive, require, whole, words
from kane.model.named_vector import index_of_name

# Number of random motions, of which the best one is improved, and number of these improvement steps.
RANDOM_MOTIONS, MAX_IMPROVEMENT_STEPS = 24, 30
COST_DIFFERENCE_STEP = 1e-6


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
    from scipy.optimize import minimize

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
