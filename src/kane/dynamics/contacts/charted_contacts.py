"""Further programs for intermittent constraints in models whose gimbals change charts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.deferred import dataclass
from kane.engine.hybrid import compiled_mode_programs, mode_programs
from kane.engine.hybrid.transition import transition
from kane.engine.memory.constants import CHART_BLOCK
from kane.engine.memory.fill import filled


@dataclass(frozen=True)
class ChartPrograms:
    """Programs of the current charts.

    Attributes:
        near: guard of each joint that changes charts, negative near a singularity.
        carry: the state in other charts, [q, u, their key].
        key: key of the current charts.
    """

    near: CompiledFunction
    carry: CompiledFunction
    key: int

    @property
    def called(self) -> tuple[CompiledFunction, ...]:
        """The programs in the order of their constants."""
        return self.near, self.carry

    def block(self, starts: Sequence[int], compiled: bool) -> np.ndarray:
        """Return the ChartBlock, int64.

        Args:
            starts: places of their constants.
            compiled: whether contact modes may be compiled.
        """
        return filled(
            CHART_BLOCK,
            guards=(compiled_mode_programs if compiled else mode_programs).guards(),
            transition=transition(),
            addresses=[function.address for function in self.called],
            places=starts,
            charts=self.near.n_out,
            key=self.key,
        )
