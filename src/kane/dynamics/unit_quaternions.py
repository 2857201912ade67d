"""Length checks for quaternions in q: a quaternion of other than unit length describes no rotation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kane.errors import ModelError

# Deviations from unit length below this come from rounding, for example in a file.
UNIT_LENGTH_TOLERANCE = 1e-6
# Smallest and largest length of a quaternion of a state.
UNIT = (1.0 - UNIT_LENGTH_TOLERANCE, 1.0 + UNIT_LENGTH_TOLERANCE)
# The same for the stages of an integrator. A stage leaves the unit sphere along a tangent: a step by the angle a adds
# about a^2 / 8 to the length, 2 % for 20 degrees. Trial steps that the integrator will reject can have lengths of 0.2
# or 100. Only lengths near zero are therefore an error: a quaternion that was not set.
OF_A_STAGE = (1e-3, math.inf)


def require_unit(q: np.ndarray, starts: Sequence[int], names: Sequence[str], within: tuple[float, float]) -> None:
    """Raise if a quaternion in q, (..., nq), has a length outside the bounds; NaN passes and propagates.

    Args:
        q: coordinates.
        starts: index of the first number of each quaternion in q.
        names: names of the coordinates.
        within: smallest and largest length.

    Raises:
        ModelError: names the quaternion, its length, and its index in the batch.
    """
    for start in starts:
        quaternion = q[..., start : start + 4]
        if quaternion.size == 4:  # fast path for one state whose quaternion is well within all bounds
            w, x, y, z = quaternion.ravel().tolist()
            if abs(w * w + x * x + y * y + z * z - 1.0) < UNIT_LENGTH_TOLERANCE:
                continue
        squares = np.vecdot(quaternion, quaternion)
        wrong = (squares < within[0] ** 2) | (squares > within[1] ** 2)
        if wrong.any():
            place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            which = f" in state {list(map(int, place))} of the batch" if place else ""
            raise ModelError(
                f"the quaternion ({', '.join(names[start : start + 4])}) has length "
                f"{math.sqrt(squares[place]):.9g}{which}; divide it by its length"
            )
