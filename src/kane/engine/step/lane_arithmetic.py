"""Arithmetic of several lanes at once for native loops, written as vector instructions by ``kane.engine.compile``.

LLVM cannot know that the arrays of a loop lie apart, and would go lane by lane. Arrays are laid out value by value:
the first component of all lanes, then the second. No operation differs from what a loop over doubles would do, so that
a lane gets the bits it would get alone.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_instruction, only_native


@native_instruction
def add_slopes(lanes: Any, out: Any, slopes: Any, weights: Any, chosen: Any, count: Any, size: Any) -> None:
    """out += sum_k weights[k] slopes[chosen[k]] in every lane, k < count, size components, one product after the other.

    Args:
        lanes: a tuple as long as there are lanes.
        out: (size lanes,).
        slopes: (stages, size lanes).
        weights: (stages, lanes).
        chosen: rows of slopes, int64.
        count, size: int64.
    """
    only_native(lanes, out, slopes, weights, chosen, count, size)


@native_instruction
def raise_to_errors(lanes: Any, sizes: Any, x: Any, y: Any, z: Any, rtol: Any, atol: Any, count: Any) -> None:
    """sizes = the largest of sizes and |z_i| / (atol + rtol max(|x_i|, |y_i|)) in every lane, i < count.

    Infinite in a lane of which y or z has a component that is not finite.

    Args:
        lanes: a tuple as long as there are lanes.
        sizes: (lanes,).
        x, y, z: (count lanes,).
        rtol, atol: doubles.
        count: int64.
    """
    only_native(lanes, sizes, x, y, z, rtol, atol, count)
