"""Arrays of reactions, in which indeterminate values are NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

# NaN with a special bit pattern, to tell it from a NaN that came from the state; arrays preserve the bits.
_BITS = np.uint64(0x7FF8_0000_0000_0A57)
INDETERMINATE = _BITS.view(np.float64)
WORD = "indeterminate"


class ReactionValues(np.ndarray):
    """Array that prints "indeterminate" for reactions that redundant constraints share; their values are NaN."""

    def __str__(self) -> str:
        return self._written(" ", "")

    def __repr__(self) -> str:
        return f"array({self._written(', ', 'array(')})"

    def _written(self, separator: str, prefix: str) -> str:
        values = np.asarray(self)
        if values.dtype != np.float64 or not (values.view(np.uint64) == _BITS).any():
            return np.array2string(values, separator=separator, prefix=prefix)

        def word(x: np.float64) -> str:
            return WORD if x.view(np.uint64) == _BITS else f"{x:.8g}".rjust(len(WORD))

        formatter: Any = {"float_kind": word}
        return np.array2string(values, separator=separator, prefix=prefix, formatter=formatter)
