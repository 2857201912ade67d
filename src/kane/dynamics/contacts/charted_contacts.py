"""Programs that native code of intermittent constraints needs besides, if gimbals change their angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.native.contacts import ahead, excursion, programs
from kane.native.contacts.charted import CARRY, CHANGE, CHARTED, CHARTS, GUARDS, KEY, NEAR


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
        """In the order in which their stages lie."""
        return self.near, self.carry

    def block(self, starts: Sequence[int], compiled: bool) -> np.ndarray:
        """What native code reads, int64.

        Args:
            starts: the places of the stages.
            compiled: whether candidates may have modes with equations of their own.
        """
        block = np.zeros(CHARTED, np.int64)
        block[GUARDS] = (ahead if compiled else programs).guards()
        block[CHANGE], block[CHARTS], block[KEY] = excursion.change(), self.near.n_out, self.key
        for place, function, start in zip((NEAR, CARRY), self.called, starts, strict=True):
            block[place : place + 2] = function.address, start
        return block
