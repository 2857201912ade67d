"""inverse_kinematics: coordinates that bring a body where it should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import numbers
from kane.geometry.rotation import Rotation
from kane.model.body import Body
from kane.model.checks import near
from kane.model.named_vector import named_vector
from kane.simulation.layout import Layout

Array = NDArray[np.float64]
# Damping, as a share of the squared error: it vanishes with the error, so that the last steps are Newton's.
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 1e-2, 1e-10, 1e10


@dataclass(frozen=True, eq=False)
class TargetPose:
    """Where a point of a body should be, and how the body should be turned; None for what is free."""

    position: Array | None
    orientation: Array | None

    def error(self, R: Array, p: Array) -> Array:
        """What is missing: a rotation vector in N [rad], then a displacement in N [m]; 3 or 6 numbers."""
        parts = []
        if self.orientation is not None:
            from scipy.spatial.transform import Rotation as Turn  # takes as long to import as all of kane

            parts.append(Turn.from_matrix(self.orientation @ R.T).as_rotvec())
        if self.position is not None:
            parts.append(self.position - p)
        return np.concatenate(parts)

    def rows(self, angular: Array, linear: Array) -> Array:
        """The rows of the Jacobian that change the error."""
        kept = [(angular, self.orientation), (linear, self.position)]
        return np.concatenate([rows for rows, wanted in kept if wanted is not None])


def inverse_kinematics(
    dyn: Dynamics,
    body: Body | str,
    *,
    position: Any = None,
    orientation: Any = None,
    at: Any = (0.0, 0.0, 0.0),
    q: Any = None,
    t: float | None = None,
    parameters: Mapping[str, float] | None = None,
    tolerance: float = 1e-12,
    iterations: int = 200,
) -> Array:
    """Coordinates q at which a body has a pose, by damped Newton steps on the model's own Jacobian.

    Each step solves (J^T J + lambda^2) du = J^T e, lambda vanishing with the error e. Where there are more joints than
    the pose needs, each step is the smallest.

    Args:
        dyn: what ``kane.build`` returned.
        body: a body or named frame, or its name.
        position: of the point in N, (3,) [m], or a path of positions (m, 3), each reached from the one before.
        orientation: R_NB, a ``kane.Rotation`` or (3, 3), or (m, 3, 3); a single one holds along a path of positions.
        at: the point, in the body's frame [m].
        q: where to start, an array or a dict from some of the names to numbers; neutral where nothing is given. It
            decides which of several solutions is found.
        t: time, needed where joints move with it [s].
        parameters: values by name that replace defaults.
        tolerance: largest component of the error that is left [rad, and m or, beyond 1 m, share of the distance].
        iterations: how many steps at most, for each pose.

    Returns:
        q, (nq,), or (m, nq) for a path.

    Raises:
        ModelError: not a pose, or it is not reached; the message says how near the body came; or there are constraints.
    """
    if not isinstance(dyn, Dynamics):
        raise ModelError(f"inverse_kinematics needs Dynamics, as kane.build(equations) makes them, not {shown(dyn)}")
    _require_open(dyn)
    targets, single = _targets(position, orientation)
    point = named_vector(at, ("x", "y", "z"), (0.0, 0.0, 0.0), "component of at")
    if isinstance(body, Body) and body.model.arena is not dyn.equations.t.arena:
        raise ModelError(f"body {body.name!r} belongs to another model than {dyn.equations.name!r}")
    name = body.name if isinstance(body, Body) else body
    known = list(dyn.equations.posed)
    if not isinstance(name, str) or name not in known:
        raise ModelError(f"there is no body or frame {shown(name)}; {near(name, known)}")
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
                "or ask for a pose within reach"
            )
        path.append(found)
    return path[0] if single else np.array(path)


@dataclass(frozen=True, eq=False)
class _Search:
    """Steps towards a target.

    Attributes:
        dyn, name, point: whose point is moved.
        quaternions: where in q each starts.
        options: time and parameters.
    """

    dyn: Dynamics
    name: str
    point: Array
    quaternions: tuple[int, ...]
    options: dict[str, Any]

    def solve(self, target: TargetPose, q: Array, tolerance: float, iterations: int) -> Array:
        """The q that was reached."""
        share, error = FIRST_SHARE, self._error(target, q)
        for _ in range(iterations):
            small = self._small(target, error, tolerance)
            trial = self._step(target, q, error, 0.0 if small else share)
            left = self._error(target, trial)
            better = bool(np.linalg.norm(left) < np.linalg.norm(error))
            if better:
                q, error = trial, left
            if small or share > MOST_SHARE:
                break  # after a step more than needed, so that what is left varies smoothly along a path
            share = max(share / 10.0, LEAST_SHARE) if better else share * 10.0
        return q

    def _step(self, target: TargetPose, q: Array, error: Array, share: float) -> Array:
        """One damped Newton step; of all du that do the same the smallest."""
        jacobian = self.dyn.jacobian(self.name, q, at=self.point, **self.options)
        J = target.rows(jacobian.angular, jacobian.linear)
        damping = share * float(error @ error) * np.eye(len(error))
        return self._moved(q, J.T @ np.linalg.lstsq(J @ J.T + damping, error, rcond=None)[0])

    def missing(self, target: TargetPose, q: Array, tolerance: float) -> str:
        """How far q is from the target, in words; nothing where it is there."""
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
        """q + (dq/dt for u = du) - (dq/dt for u = 0), quaternions brought back to unit length."""
        rates = self.dyn.kinematics(q, np.stack([du, np.zeros_like(du)]), **self.options)
        moved = q + rates[0] - rates[1]
        for start in self.quaternions:
            moved[start : start + 4] /= np.linalg.norm(moved[start : start + 4])
        return moved


def _require_open(dyn: Dynamics) -> None:
    if dyn.equations.constraints:
        raise ModelError(
            f"inverse_kinematics would open the loops of {dyn.equations.name!r}: it knows of no constraints; "
            "constrain a copy of the model to the pose, model.constrain(point.position.dot(axis) - value), and use "
            "kane.assemble"
        )


def _targets(position: Any, orientation: Any) -> tuple[list[TargetPose], bool]:
    """The poses, and whether there is just one, not a path."""
    if position is None and orientation is None:
        raise ModelError("give the position or the orientation that the body should have, or both")
    if isinstance(orientation, Rotation):
        orientation = orientation.as_numpy()
    positions = None if position is None else _array(position, "position", (3,))
    turns = None if orientation is None else _array(orientation, "orientation", (3, 3))
    for turn in [] if turns is None else turns.reshape(-1, 3, 3):
        Rotation.matrix(turn)  # refuses what is no rotation
    lengths = [len(x) for x, rank in ((positions, 1), (turns, 2)) if x is not None and x.ndim > rank]
    if len(set(lengths)) > 1:
        raise ModelError(f"there are {lengths[0]} positions and {lengths[1]} orientations; give as many, or one")
    count = lengths[0] if lengths else 1
    along = [
        [None] * count if x is None else list(np.broadcast_to(x, (count, *shape)))
        for x, shape in ((positions, (3,)), (turns, (3, 3)))
    ]
    return [TargetPose(p, R) for p, R in zip(*along, strict=True)], not lengths


def _array(values: Any, word: str, shape: tuple[int, ...]) -> Array:
    array = numbers(values, f"the {word} must be numbers")
    if array.ndim not in (len(shape), len(shape) + 1) or array.shape[-len(shape) :] != shape or not array.size:
        raise ModelError(f"the {word} has shape {array.shape}; {shape} is needed, or (m, ...) of these for a path")
    if not np.isfinite(array).all():
        raise ModelError(f"the {word} is not finite")
    return array
