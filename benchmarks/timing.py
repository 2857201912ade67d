"""CPU time of contestants measured in turn, so that a disturbance of the machine meets all of them alike."""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

BATCHES = 9


@dataclass(frozen=True)
class Figure:
    """Samples of one quantity, one per batch.

    Attributes:
        samples: CPU time of one call [s] (or another cost), one per batch.
    """

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle sample [s]."""
        return statistics.median(self.samples)

    @property
    def low(self) -> float:
        """The least sample [s]."""
        return min(self.samples)

    @property
    def high(self) -> float:
        """The greatest sample [s]."""
        return max(self.samples)

    def times(self, other: "Figure") -> float:
        """Median over the batches of other / self: how many times the other's cost is this one's."""
        return statistics.median(self._ratios(other))

    def range_of(self, other: "Figure") -> str:
        """The least and the greatest of these, as a cell has it."""
        ratios = self._ratios(other)
        return f"({min(ratios):.1f}-{max(ratios):.1f})"

    def _ratios(self, other: "Figure") -> list[float]:
        return [b / a for a, b in zip(self.samples, other.samples, strict=True)]


def pin_to_core(core: int) -> None:
    """Keeps this process and its children on one core.

    Args:
        core: number of the core, one of os.sched_getaffinity(0).

    Raises:
        ValueError: the process may not run on that core.
    """
    allowed = os.sched_getaffinity(0)
    if core not in allowed:
        raise ValueError(f"core {core} is not among those this process may use: {sorted(allowed)}")
    os.sched_setaffinity(0, {core})


def cpu_seconds(run: Callable[[int], object], calls: int) -> float:
    """CPU time of run(calls) on the process clock [s]."""
    start = time.process_time_ns()
    run(calls)
    return (time.process_time_ns() - start) * 1e-9


def calls_for(run: Callable[[int], object], seconds: float) -> int:
    """A number of calls, a power of two, that takes at least the given CPU time."""
    calls = 1
    while cpu_seconds(run, calls) < seconds:
        calls *= 2
    return calls


def interleaved(
    contestants: Mapping[str, Callable[[int], object]], *, batches: int = BATCHES, seconds: float = 0.01
) -> dict[str, Figure]:
    """CPU time of one call of every contestant; the batches of all of them alternate.

    Args:
        contestants: name to function run(calls), which makes that many calls.
        batches: samples per contestant.
        seconds: least CPU time of one batch [s].

    Returns:
        name to Figure in seconds per call.
    """
    calls = {name: calls_for(run, seconds) for name, run in contestants.items()}
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(batches):
        for name, run in contestants.items():
            samples[name].append(cpu_seconds(run, calls[name]) / calls[name])
    return {name: Figure(tuple(values)) for name, values in samples.items()}
