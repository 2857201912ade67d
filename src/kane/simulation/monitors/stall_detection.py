"""Stall detection: compare the model time that steps cover, window by window, with the rest of the run."""

from __future__ import annotations

import math
from collections.abc import Callable

from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Course
from kane.engine.memory.views import RunClock, RunCounts

# Steps, accepted or rejected, between two checks: few at first, so that a stalled run ends soon, then enough to make
# checks cheap. If steps need many evaluations, a check follows after WINDOW_EVALUATIONS of them.
FIRST_WINDOW_STEPS, WINDOW_STEPS, WINDOW_EVALUATIONS = 2_000, 15_000, 300_000
# Limits for the number of further steps that a run needs at its present progress. Above SLOW_RUN_STEPS the run is
# tested for chattering. Above HOPELESS_RUN_STEPS it counts as stalled if steps have shrunk to COLLAPSED times the
# largest ones, above ENDLESS_RUN_STEPS in any case.
SLOW_RUN_STEPS, HOPELESS_RUN_STEPS, ENDLESS_RUN_STEPS = 1e6, 1e8, 1e11
COLLAPSED = 1e-6
# Number of consecutive full windows that must be stalled.
STALLED_WINDOWS = 2


@dataclass
class StallDetector:
    """Progress of a run with step-size control, from check to check.

    A stalled run is ended after at most about 45,000 tried steps, or 900,000 evaluations.

    Attributes:
        course: course of the run.
        time: start of the window [s].
        tried, evaluations: counts at the start of the window.
        length: tried steps per window.
        best: largest average time per tried step in a window [s].
        hopeless: number of consecutive stalled windows.
    """

    course: Course
    time: float
    tried: int = 0
    evaluations: int = 0
    length: int = FIRST_WINDOW_STEPS
    best: float = 0.0
    hopeless: int = 0

    def left(self, counts: RunCounts) -> int:
        """Return the number of steps that may be tried before the next check."""
        return max(1, self.length - int(counts.steps[0] + counts.rejected[0] - self.tried))

    def is_lost(self, clock: RunClock, counts: RunCounts, chatters: Callable[[], bool]) -> bool:
        """Check whether the run has stalled; calls ``chatters`` if the run is slow."""
        tried = int(counts.steps[0] + counts.rejected[0]) - self.tried
        whole = tried >= WINDOW_STEPS or counts.evaluations[0] - self.evaluations >= WINDOW_EVALUATIONS
        if tried < self.length and not whole:
            return False
        step = abs(clock.time[0] - self.time) / tried
        ahead = abs(self.course.until - clock.time[0])
        needed = ahead / step if step > 0.0 else math.inf
        hopeless = needed > ENDLESS_RUN_STEPS or (needed > HOPELESS_RUN_STEPS and step < COLLAPSED * self.best)
        self.hopeless = self.hopeless + 1 if hopeless and whole else 0
        self.best = max(self.best, step)
        self.time, self.tried, self.evaluations = float(clock.time[0]), self.tried + tried, int(counts.evaluations[0])
        self.length = min(2 * self.length, WINDOW_STEPS)
        return self.hopeless >= STALLED_WINDOWS or (ahead > SLOW_RUN_STEPS * step and chatters())
