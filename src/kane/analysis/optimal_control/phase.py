"""``kane.Phase``: a part of a motion in one contact mode, for ``kane.collocate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any


@dataclass(frozen=True)
class Phase:
    """A part of a motion in one contact mode.

    Active constraints hold during the phase. Contacts push, and sticking contacts stay inside the static friction cone.
    Gaps of open contacts are not negative. The mode of the next phase determines the end of this one:

        contact closes    gap = 0 at its end, then M (u+ - u-) = A^T p with A u+ = 0 and p in the friction cone
        contact opens     its forces vanish at the end; if another contact closes then, it separates after the impact
        switch, latch     on = 0 or off = 0 at its end

    Attributes:
        mode: name of the mode, as in ``run.modes``: "free", or "left held, right held".
        duration: length [s]: a number, or limits (lower, upper).
        nodes: number of nodes, or an array of increasing fractions from 0 to 1.
        bounces: names of open contacts that bounce at the end, before the next phase: gap = 0, and v+ = -e v- along the
            normal.
        passes: names of open contacts whose gaps may be negative in this phase.
        start, end, bounds, boundary, path, guess: as in ``collocate``, for this phase alone.
    """

    mode: str
    _: KW_ONLY
    duration: Any = None
    nodes: Any = 21
    bounces: str | Sequence[str] = ()
    passes: str | Sequence[str] = ()
    start: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    bounds: Mapping[str, Any] | None = None
    boundary: Sequence[Any] = ()
    path: Sequence[Any] = ()
    guess: Any = None
