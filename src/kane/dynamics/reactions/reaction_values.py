"""Reactions in numbers, of which some may be indeterminate."""

from __future__ import annotations

from typing import Any

import numpy as np

# A NaN with bits of its own, which arrays keep: so it is told from a NaN that came in with the state.
_BITS = np.uint64(0x7FF8_0000_0000_0A57)
INDETERMINATE = _BITS.view(np.float64)
WORD = "indeterminate"


class ReactionValues(np.ndarray):
    """An array that prints "indeterminate" where redundant constraints share a reaction; its value there is NaN."""

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
