"""Check of a user-defined pose at random coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kane.errors import ModelError
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.model.joints.joint import JointMotion

# Sizes of the random coordinates. A function with a small domain around zero has finite values at the small sizes.
COORDINATE_SIZES = (3.0, 1.0, 0.3, 0.03, 0.003)
TRIALS_PER_SIZE = 6
# Tolerance, far above rounding, for R^T R - 1 and for singular values of the velocity map with unit columns.
POSE_TOLERANCE = 1e-8


def require_joint(motion: JointMotion, q: Sequence[Expr], parameters: Mapping[Expr, float], who: str) -> None:
    """Raise ModelError unless R_FM is a rotation and each coordinate moves M independently.

    Raises:
        ModelError: the message names the joint by ``who``.
    """
    values = _values(motion, q, parameters)
    finite = np.isfinite(values).all(axis=1)
    if not finite.any():
        raise ModelError(f"the pose of {who} or its derivatives are not finite at any tested coordinates")
    values = values[finite]
    R, W = values[:, 3:12].reshape(-1, 3, 3), values[:, 12:].reshape(-1, 6, len(q))
    if np.abs(R.transpose(0, 2, 1) @ R - np.eye(3)).max() > POSE_TOLERANCE or np.linalg.det(R).min() < 0.0:
        raise ModelError(f"the orientation of {who} is not a rotation matrix; use Rotation.about or Rotation.euler")
    lengths = np.linalg.norm(W, axis=1, keepdims=True)
    scaled = W / np.where(lengths > POSE_TOLERANCE, lengths, 1.0)
    _, sizes, directions = np.linalg.svd(scaled)
    smallest = sizes[:, -1] if len(q) <= 6 else np.zeros(len(W))
    best = int(np.argmax(smallest))
    if smallest[best] > POSE_TOLERANCE:
        return
    idle = [leaf.name for leaf, ratio in zip(q, directions[best, -1], strict=True) if abs(ratio) > POSE_TOLERANCE]
    raise ModelError(
        f"the velocity map of {who} is rank-deficient everywhere: "
        + (f"{' and '.join(idle)} move M in the same way" if len(idle) > 1 else f"{idle[0]} does not move M")
        + "; leave a coordinate out, or correct the pose"
    )


def _values(motion: JointMotion, q: Sequence[Expr], parameters: Mapping[Expr, float]) -> np.ndarray:
    """Return rows of p_FM, R_FM (3 x 3) and the velocity map (6 x n), one for each of the random coordinates."""
    random = np.random.default_rng(0)
    tried = np.concatenate([size * random.uniform(-1.0, 1.0, (TRIALS_PER_SIZE, len(q))) for size in COORDINATE_SIZES])
    entries = [*motion.p_FM, *(x for row in motion.R_FM.entries for x in row)]
    for columns in (motion.w_FM_u, motion.v_FM_u):
        entries.extend(column[k] for k in range(3) for column in columns)
    lift = q[0].arena.lift
    found = interpret([lift(x) for x in entries], dict(zip(q, tried.T, strict=True)) | dict(parameters))
    return np.stack([np.broadcast_to(x, len(tried)) for x in found], axis=-1)
