"""Two cores for what is measured in threads; the rest of the benchmarks keeps to one."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from benchmarks.timing import Figure

CORES = 2


@contextmanager
def two_cores() -> Iterator[int]:
    """Lets this process and its children run on two cores; gives how many there are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    allowed = sorted(os.sched_getaffinity(0))[:CORES]
    os.sched_setaffinity(0, allowed)
    try:
        yield len(allowed)
    finally:
        os.sched_setaffinity(0, before)


def wall_times(contestants: Mapping[str, tuple[Callable[[], object], int]], batches: int) -> dict[str, Figure]:
    """Wall time of one of the things that each contestant makes in a call, the calls of all in turn.

    Args:
        contestants: name to a function and how many things it makes.
        batches: calls of each.
    """
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(batches):
        for name, (run, number) in contestants.items():
            start = time.perf_counter()
            run()
            samples[name].append((time.perf_counter() - start) / number)
    return {name: Figure(tuple(values)) for name, values in samples.items()}
