"""inverse_kinematics: coordinates at which a body reaches a pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.array_types import Array, StateLike
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.number_arguments import numbers, require
from kane.files.scipy import load_scipy
from kane.geometry.quaternion import normalise_quaternions
from kane.geometry.rotation import Rotation
from kane.model.body import Body
from kane.model.checks import require_known
from kane.model.named_vector import named_vector
from kane.simulation.state_layout import Layout

# Damping lambda^2 as a multiple of the squared error: first, smallest and largest multiple. Damping vanishes with the
# error, so that the last steps are Newton steps.
FIRST_DAMPING_FACTOR, LEAST_DAMPING_FACTOR, LARGEST_DAMPING_FACTOR = 1e-2, 1e-10, 1e10


@dataclass(frozen=True, eq=False)
class TargetPose:
    """Target position of a point of a body, and target orientation of the body; None if it may have any value."""

    position: Array | None
    orientation: Array | None

    def error(self, R: Array, p: Array) -> Array:
        """Return the remaining rotation vector in N [rad], then the remaining displacement in N [m]; 3 or 6 numbers."""
        parts = []
        if self.orientation is not None:
            parts.append(load_scipy("spatial.transform").Rotation.from_matrix(self.orientation @ R.T).as_rotvec())
        if self.position is not None:
            parts.append(self.position - p)
        return np.concatenate(parts)

    def rows(self, angular: Array, linear: Array) -> Array:
        """Select the rows of the Jacobian that belong to the components of the error."""
        kept = [(angular, self.orientation), (linear, self.position)]
        return np.concatenate([rows for rows, wanted in kept if wanted is not None])


def inverse_kinematics(
    dyn: Dynamics,
    body: Body | str,
    *,
    position: Any = None,
    orientation: Any = None,
    at: Any = (0.0, 0.0, 0.0),
    q: StateLike | None = None,
    t: float | None = None,
    parameters: Mapping[str, float] | None = None,
    tolerance: float = 1e-12,
    iterations: int = 200,
) -> Array:
    """Return coordinates q at which a body has a given pose, by damped Newton steps with the exact Jacobian.

    Each step solves (J^T J + lambda^2) du = J^T e; lambda vanishes with the error e. If the pose does not determine all
    joints, each step is the minimum-norm step.

    Args:
        dyn: compiled equations from ``kane.build``.
        body: body or named frame, or its name.
        position: target of the point in N, (3,) [m], or a path (m, 3); each pose starts from the one before.
        orientation: target R_NB: a ``kane.Rotation``, (3, 3) or (m, 3, 3); a single one holds for all of a path.
        at: the point, in the body's frame [m].
        q: initial guess: an array, or a dict from some of the names to numbers; neutral for the others. The guess
            decides which of several solutions is found.
        t: time [s]; required if joint motions depend on it.
        parameters: values by name that replace defaults.
        tolerance: largest component of the remaining error [rad and m]; multiplied by the largest target coordinate if
            that exceeds 1 m.
        iterations: largest number of steps for each pose.

    Returns:
        q, (nq,), or (m, nq) for a path.

    Raises:
        ModelError: the arguments are not a pose, the model has constraints, or the body does not reach the pose. The
            message gives the remaining distance.
    """
    require(dyn, Dynamics, "inverse_kinematics needs Dynamics, as kane.build(equations) makes them")
    _require_open(dyn)
    targets, single = _targets(position, orientation)
    point = named_vector(at, ("x", "y", "z"), (0.0, 0.0, 0.0), "component of at")
    if isinstance(body, Body) and body.model.arena is not dyn.equations.t.arena:
        raise ModelError(f"body {body.name!r} belongs to another model than {dyn.equations.name!r}")
    name = body.name if isinstance(body, Body) else body
    known = list(dyn.equations.posed)
    require_known(name, known, "body or frame")
    layout = Layout.of(dyn.equations)
    found = layout.initial_state(q, None)[: len(layout.coordinates)]
    search = _Search(dyn, name, point, layout.quaternions, {"t": t, "parameters": parameters})
    path = []
    for k, target in enumerate(targets):
        found = search.solve(target, found, tolerance, iterations)
        missing = search.missing(target, found, tolerance)
        if missing:
            which = "the pose" if single else f"pose {k} of the path"
            raise ModelError(
                f"{name!r} does not reach {which}: after {iterations} steps it is {missing}; start elsewhere (q=), "
                "or give a pose within reach"
            )
        path.append(found)
    return path[0] if single else np.array(path)


@dataclass(frozen=True, eq=False)
class _Search:
    """Newton search for a target pose.

    Attributes:
        dyn, name, point: compiled equations, body name, and point in the body's frame.
        quaternions: index in q at which each quaternion starts.
        options: time and parameters.
    """

    dyn: Dynamics
    name: str
    point: Array
    quaternions: tuple[int, ...]
    options: dict[str, Any]

    def solve(self, target: TargetPose, q: Array, tolerance: float, iterations: int) -> Array:
        """Return the q at which the search ends."""
        ratio, error = FIRST_DAMPING_FACTOR, self._error(target, q)
        for _ in range(iterations):
            small = self._small(target, error, tolerance)
            trial = self._step(target, q, error, 0.0 if small else ratio)
            left = self._error(target, trial)
            better = bool(np.linalg.norm(left) < np.linalg.norm(error))
            if better:
                q, error = trial, left
            if small or ratio > LARGEST_DAMPING_FACTOR:
                break  # one extra step, so that the remaining error varies smoothly along a path
            ratio = max(ratio / 10.0, LEAST_DAMPING_FACTOR) if better else ratio * 10.0
        return q

    def _step(self, target: TargetPose, q: Array, error: Array, ratio: float) -> Array:
        """Take one damped Newton step, of minimum norm."""
        jacobian = self.dyn.jacobian(self.name, q, at=self.point, **self.options)
        J = target.rows(jacobian.angular, jacobian.linear)
        damping = ratio * float(error @ error) * np.eye(len(error))
        return self._moved(q, J.T @ np.linalg.lstsq(J @ J.T + damping, error, rcond=None)[0])

    def missing(self, target: TargetPose, q: Array, tolerance: float) -> str:
        """Return the distance of q from the target as text; empty within the tolerance."""
        error = self._error(target, q)
        if self._small(target, error, tolerance):
            return ""
        turn, way = (error[:3], error[3:]) if target.orientation is not None else (error[:0], error)
        parts = [(way, "m", target.position), (turn, "rad", target.orientation)]
        return (
            " and ".join(f"{np.linalg.norm(x):.3g} {unit}" for x, unit, wanted in parts if wanted is not None) + " away"
        )

    def _error(self, target: TargetPose, q: Array) -> Array:
        pose = self.dyn.poses(q, **self.options)[self.name]
        return target.error(pose.orientation, pose.position + pose.orientation @ self.point)

    def _small(self, target: TargetPose, error: Array, tolerance: float) -> bool:
        reach = 1.0 if target.position is None else max(1.0, float(np.abs(target.position).max()))
        return float(np.abs(error).max()) <= tolerance * reach

    def _moved(self, q: Array, du: Array) -> Array:
        """Return q + qdot(u = du) - qdot(u = 0), with quaternions normalized."""
        rates = self.dyn.kinematics(q, np.stack([du, np.zeros_like(du)]), **self.options)
        moved = q + rates[0] - rates[1]
        normalise_quaternions(moved, self.quaternions)
        return moved


def _require_open(dyn: Dynamics) -> None:
    if dyn.equations.constraints:
        raise ModelError(
            f"inverse_kinematics does not support constraints, which {dyn.equations.name!r} has; "
            "constrain a copy of the model to the pose, model.constrain(point.position.dot(axis) - value), and use "
            "kane.assemble"
        )


def _targets(position: Any, orientation: Any) -> tuple[list[TargetPose], bool]:
    """Return the target poses, and whether a single pose was given instead of a path."""
    if position is None and orientation is None:
        raise ModelError("give the position or the orientation that the body should have, or both")
    if isinstance(orientation, Rotation):
        orientation = orientation.as_numpy()
    positions = None if position is None else _array(position, "position", (3,))
    turns = None if orientation is None else _array(orientation, "orientation", (3, 3))
    for turn in [] if turns is None else turns.reshape(-1, 3, 3):
        Rotation.matrix(turn)  # raises if it is not a rotation
    lengths = [len(x) for x, rank in ((positions, 1), (turns, 2)) if x is not None and x.ndim > rank]
    if len(set(lengths)) > 1:
        raise ModelError(f"there are {lengths[0]} positions and {lengths[1]} orientations; give equal numbers, or one")
    count = lengths[0] if lengths else 1
    along = [
        [None] * count if x is None else list(np.broadcast_to(x, (count, *shape)))
        for x, shape in ((positions, (3,)), (turns, (3, 3)))
    ]
    return [TargetPose(p, R) for p, R in zip(*along, strict=True)], not lengths


def _array(values: Any, word: str, shape: tuple[int, ...]) -> Array:
    array = numbers(values, f"the {word} must be numbers")
    if array.ndim not in (len(shape), len(shape) + 1) or array.shape[-len(shape) :] != shape or not array.size:
        raise ModelError(f"the {word} has shape {array.shape}; give {shape}, or (m, ...) of these for a path")
    if not np.isfinite(array).all():
        raise ModelError(f"the {word} is not finite")
    return array
