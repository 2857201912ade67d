"""Whether a run gets anywhere: how much model time its steps cover, looked at window by window."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kane.native.arrays import DONE, EVALUATIONS, REJECTED, TIME, Course

# Tried steps between two looks: few at first, so that a run that gets nowhere says so soon, then so many that looking
# costs nothing. A look also comes after so many evaluations, where steps take many.
FIRST, WINDOW, COSTLY = 2_000, 15_000, 300_000
# How many more steps a run may need at the speed of the window. Above SLOW it is asked whether it chatters; a run is
# given up above HOPELESS where its steps have become so much shorter than they were, and above ENDLESS in any case.
SLOW, HOPELESS, ENDLESS = 1e6, 1e8, 1e11
COLLAPSED = 1e-6
# So many windows of full length in a row must be without hope.
PATIENCE = 2


@dataclass
class Pace:
    """How fast a run with steps of its own choice moves on, from look to look.

    Some 45,000 steps, or 900,000 evaluations, are tried at most before a run without hope is given up.

    Attributes:
        course: of the run.
        time: where the window began [s].
        tried, evaluations: counts there.
        length: tried steps of the window.
        best: the most time that a step of a window covered on average [s].
        hopeless: so many windows in a row were without hope.
    """

    course: Course
    time: float
    tried: int = 0
    evaluations: int = 0
    length: int = FIRST
    best: float = 0.0
    hopeless: int = 0

    def left(self, counts: Any) -> int:
        """So many steps may be tried before the next look."""
        return max(1, self.length - int(counts[DONE] + counts[REJECTED] - self.tried))

    def is_lost(self, clock: Any, counts: Any, chatters: Callable[[], bool]) -> bool:
        """Whether the run is to be given up; ``chatters`` is asked where it is slow."""
        tried = int(counts[DONE] + counts[REJECTED]) - self.tried
        whole = tried >= WINDOW or counts[EVALUATIONS] - self.evaluations >= COSTLY
        if tried < self.length and not whole:
            return False
        step = abs(clock[TIME] - self.time) / tried
        ahead = abs(self.course.until - clock[TIME])
        needed = ahead / step if step > 0.0 else math.inf
        hopeless = needed > ENDLESS or (needed > HOPELESS and step < COLLAPSED * self.best)
        self.hopeless = self.hopeless + 1 if hopeless and whole else 0
        self.best = max(self.best, step)
        self.time, self.tried, self.evaluations = float(clock[TIME]), self.tried + tried, int(counts[EVALUATIONS])
        self.length = min(2 * self.length, WINDOW)
        return self.hopeless >= PATIENCE or (ahead > SLOW * step and chatters())
