"""What trajectories side by side call of the modes that are compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.codegen.jit.compiled import CompiledFunction

# What there is of each mode: its right-hand side; guards, slopes and forces; a step that settles, and what follows.
SLOPES, GUARDS, STEPS, CONSEQUENCES = range(4)


@dataclass(frozen=True)
class LaneModes:
    """Compiled modes as a stage of settling has them; places are those in such a stage.

    Attributes:
        chosen: where the number of the mode in force stands.
        programs: SLOPES, GUARDS, STEPS and CONSEQUENCES of each mode; none of GUARDS where modes do not end, none of
            the last two where lanes are settled one by one.
        stages: where the stages of all of these begin.
        read: where stands what these read behind the inputs, of each mode.
    """

    chosen: int
    programs: Sequence[Sequence[CompiledFunction]]
    stages: Sequence[Sequence[int]]
    read: Sequence[Sequence[int]]
