"""Arithmetic of several lanes at once: vector instructions that ``kane.engine.compile`` writes.

LLVM does not know that the arrays of a loop do not overlap, and would process lane after lane. An array in lanes has
the first component of all lanes, then the second, and so on. Each operation is that of a loop over doubles, so that a
lane gets the bits of a single trajectory.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_instruction, only_native
from kane.engine.memory.loop_arguments import Indices, Vector


@native_instruction
def add_slopes(lanes: Any, out: Any, slopes: Any, weights: Any, chosen: Any, count: Any, size: Any) -> None:
    """Add sum_k weights[k] slopes[chosen[k]], k < count, to ``out`` in each lane, product after product.

    Args:
        lanes: tuple with one entry per lane.
        out: (size lanes,).
        slopes: (stages, size lanes).
        weights: (stages, lanes).
        chosen: rows of slopes, int64.
        count, size: numbers of products and of components, int64.
    """
    only_native(lanes, out, slopes, weights, chosen, count, size)


@native_instruction
def raise_to_errors(lanes: Any, sizes: Any, x: Any, y: Any, z: Any, rtol: Any, atol: Any, count: Any) -> None:
    """Raise ``sizes`` to the largest |z_i| / (atol + rtol max(|x_i|, |y_i|)), i < count, in each lane.

    The result is infinite in a lane where y or z is not finite.

    Args:
        lanes: tuple with one entry per lane.
        sizes: (lanes,).
        x, y, z: (count lanes,).
        rtol, atol: doubles.
        count: number of components, int64.
    """
    only_native(lanes, sizes, x, y, z, rtol, atol, count)


@native_inline
def normalise_in_lanes(lanes: tuple[int, ...], state: Vector, quaternions: Indices) -> None:
    """Scale each quaternion of [t, q, u] in all lanes to length one, as ``linear.vectors.normalise`` does."""
    width = len(lanes)
    for start in quaternions:
        for lane in range(width):
            first, length = (1 + start) * width + lane, 0.0
            for i in range(first, first + 4 * width, width):
                length += state[i] * state[i]
            length = math.sqrt(length) if length > 0.0 else math.nan  # zero in idle lanes, where Python would raise
            for i in range(first, first + 4 * width, width):
                state[i] /= length
