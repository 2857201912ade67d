"""CPU time of a process, lap by lap."""

import resource
import time


class Stopwatch:
    """CPU time of this process and the children it has waited for, lap by lap."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = self._now()

    @staticmethod
    def _now() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    def lap(self, name: str) -> None:
        """Books the time since the last lap under a name [s]."""
        now = self._now()
        self.laps[name] = now - self._last
        self._last = now
