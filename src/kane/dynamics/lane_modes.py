"""Programs of compiled modes for trajectories that are computed in SIMD lanes."""

from __future__ import annotations

from collections.abc import Sequence

from kane.codegen.jit.compiled import CompiledFunction
from kane.deferred import dataclass

# Programs of a mode: right-hand side; guards, slopes and forces; projection step; consequences of the projection.
SLOPE_PROGRAM, GUARD_PROGRAM, PROJECTION_PROGRAM, CONSEQUENCE_PROGRAM = range(4)


@dataclass(frozen=True)
class LaneModes:
    """Compiled modes and their places in the stage array of the projection.

    Attributes:
        chosen: index of the number of the active mode.
        programs: SLOPE_PROGRAM, GUARD_PROGRAM, PROJECTION_PROGRAM and CONSEQUENCE_PROGRAM of each mode. The second is
            empty if modes do not end; the last two are empty if each lane is projected separately.
        stages: start of the constants of each of these programs.
        read: indices of the values that these programs read after the inputs, for each mode.
    """

    chosen: int
    programs: Sequence[Sequence[CompiledFunction]]
    stages: Sequence[Sequence[int]]
    read: Sequence[Sequence[int]]
