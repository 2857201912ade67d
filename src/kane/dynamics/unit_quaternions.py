"""Quaternions among the coordinates are of unit length: formulas of another length are those of no rotation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kane.errors import ModelError

# A quaternion this close to length one is one that was rounded, in a file or by a sum.
UNIT_TOLERANCE = 1e-6
# Least and largest length of a quaternion of a state.
UNIT = (1.0 - UNIT_TOLERANCE, 1.0 + UNIT_TOLERANCE)
# Of a stage of an integrator. Stages stand off the unit sphere, along its tangents, by about the square of half the
# angle of the step: 2 % where it turns by 20 degrees. A trial step that is far too long, which the integrator itself
# will reject, brings almost any length: a fifth of the unit, or a hundred. So only zeros are refused, a quaternion that
# was forgotten.
OF_A_STAGE = (1e-3, math.inf)


def require_unit(q: np.ndarray, starts: Sequence[int], names: Sequence[str], within: tuple[float, float]) -> None:
    """Refuse coordinates q, (..., nq), with a quaternion of another length; NaN passes, and makes NaN.

    Args:
        q: coordinates.
        starts: where each quaternion begins.
        names: of the coordinates.
        within: least and largest length.

    Raises:
        ModelError: naming the quaternion, its length, and which of the batch it is.
    """
    for start in starts:
        quaternion = q[..., start : start + 4]
        if quaternion.size == 4:  # one state takes a short way where it is well within all bounds
            w, x, y, z = quaternion.ravel().tolist()
            if abs(w * w + x * x + y * y + z * z - 1.0) < UNIT_TOLERANCE:
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
