"""Engines of sweeps: this process, or any executor of concurrent.futures."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any, NamedTuple

from kane.array_types import Array
from kane.errors import ModelError, SimulationError
from kane.sweeps.study import ChunkResults, Study, compute_known

# Chunks in flight per worker: one is computed while the next one is sent.
QUEUED_PER_WORKER = 2
# Computations of one chunk whose worker processes died, after which the study ends with an error.
MOST_DEATHS = 10
LOST_WORKERS = ("KilledWorker", "WorkerLost")  # exceptions of clusters, by name


class Work(NamedTuple):
    """Runs to compute, with their values."""

    first: int
    names: tuple[str, ...]
    rows: Array


def computed_here(study: Study, works: Iterable[Work], progress: Callable[[float], None]) -> Generator[ChunkResults]:
    """Compute chunks one after the other; ``simulate_many`` uses all threads for each.

    Args:
        study: the study.
        works: chunks.
        progress: function of the completed fraction of the present chunk.
    """
    for work in works:
        yield study.compute(*work, progress)


def computed_by(
    executor: Executor, study: Study, works: Iterator[Work], workers: int | None
) -> Generator[ChunkResults]:
    """Compute chunks by an executor, and yield them as they are completed. Few chunks are in flight at any time.

    Args:
        executor: executor of threads, processes or a cluster.
        study: the study; a worker process gets it once.
        works: chunks.
        workers: number of workers; None to ask the executor.

    Raises:
        SimulationError: worker processes died repeatedly, or the executor ended.
    """
    known = workers or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    running: dict[Future[ChunkResults | None], tuple[Work, int]] = {}

    def submit(work: Work, deaths: int = 0) -> None:
        running[executor.submit(compute_known, study.key, *work)] = (work, deaths)

    try:
        while True:
            while len(running) < QUEUED_PER_WORKER * known and (work := next(works, None)) is not None:
                submit(work)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                work, deaths = running.pop(future)
                if _died(future, deaths):
                    submit(work, deaths + 1)
                elif (piece := _result(future)) is not None:
                    yield piece
                else:  # this worker does not know the study yet, so that the study is sent with the work
                    running[executor.submit(study.compute, *work)] = (work, deaths)
    finally:
        for future in running:
            future.cancel()


def _died(future: Future[Any], deaths: int) -> bool:
    """Check whether a worker of a cluster died with this chunk, and another worker should compute it."""
    error = None if future.cancelled() else future.exception()
    return type(error).__name__ in LOST_WORKERS and deaths < MOST_DEATHS


def _result(future: Future[ChunkResults | None]) -> ChunkResults | None:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise SimulationError(
            f"the workers of the sweep or their scheduler ended ({type(error).__name__}): killed, or out of memory; "
            "finished chunks are in the store, and a repeated call computes the others"
        ) from error
    except Exception as error:  # executors raise errors of pickle, TypeError or AttributeError
        if "pickle" in str(error).lower():
            raise ModelError(
                f"the sweep cannot be sent to other processes ({error}); define Python laws as functions of a module"
            ) from None
        raise
