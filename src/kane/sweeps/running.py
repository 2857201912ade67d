"""Computation of a study: chunks that are missing, the engine, progress, and the end at a given precision."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError, warn
from kane.expression.number_arguments import require, text
from kane.progress import ProgressBar
from kane.simulation.monitors.run_progress import told
from kane.sweeps.arguments import names_by_group
from kane.sweeps.engines import Work, computed_by, computed_here
from kane.sweeps.identity import digest_of_rows, stored_name
from kane.sweeps.run_tables import RunTable
from kane.sweeps.stores import COMPUTED, FAILED, STATUS, LogEntry, SweepStore
from kane.sweeps.study import ChunkResults, Study
from kane.sweeps.tally import Tally, merged


@dataclass
class Running:
    """A study that is computed.

    Attributes:
        study, table, store: runs, their values, and the place of the results.
        precision: half-widths of confidence intervals at which the study stops, by result.
    """

    study: Study
    table: RunTable
    store: SweepStore
    precision: Mapping[str, float]
    _works: dict[int, Work] = field(default_factory=dict)
    _entries: dict[int, LogEntry] = field(default_factory=dict)
    _found: list[Tally] = field(default_factory=list)
    _prefix: int = 0
    _stop: int | None = None
    _began: float = 0.0
    _computed: int = 0
    _done: int = 0
    _failed: int = 0

    def run(self, executor: Executor | None, scheduler: str | None, progress: Any) -> None:
        """Compute all missing runs, and store them.

        Raises:
            ModelError: two engines, or ``progress`` is not a function.
        """
        require(executor, Executor | None, "executor= takes an executor of concurrent.futures")
        if executor is not None and scheduler is not None:
            raise ModelError("executor= and scheduler= both compute the chunks; leave one out")
        with contextlib.ExitStack() as ending, ProgressBar(self.study.layout.model) as bar:
            listener, workers = told(progress, bar), None
            if scheduler is not None:
                from kane.sweeps.distributed import cluster  # imported late: optional

                executor, workers = ending.enter_context(cluster(text(scheduler, "scheduler")))
            self.store.begin()
            ending.callback(self.store.close)
            self._began = time.monotonic()
            for entry in self.store.entries:
                self._enter(entry)
            try:
                self._store_all(executor, workers, lambda part: self._tell(bar, listener, part))
            except KeyboardInterrupt:
                done = self._done
                warn(
                    f"the sweep of {self.study.layout.model!r} was interrupted after {done} of {len(self.table)} runs"
                    "; with a store, repeat the call to resume it"
                )

    def _store_all(self, executor: Executor | None, workers: int | None, tell: Callable[[float], None]) -> None:
        if self._narrow_after() is not None:
            self.store.stop(self._narrow_after())
            return
        self.store.stop(None)
        works = self._missing()
        if executor is None:
            pieces = computed_here(self.study, works, tell)
        else:
            pieces = computed_by(executor, self.study, works, workers)
        with contextlib.closing(pieces):
            for piece in pieces:
                self._keep(piece)
                tell(0.0)
                if self._narrow_after() is not None:
                    break
        self.store.stop(self._narrow_after())

    def _missing(self) -> Iterator[Work]:
        """Yield the runs that the store lacks, chunk by chunk."""
        size, n = self.store.about["chunk"], len(self.table)
        for chunk in range(0, n, size):
            first, last = chunk, min(chunk + size, n)
            while first in self._entries and first < last:
                first = self._entries[first].last
            if first < last:
                self._works[first] = Work(first, self.table.names, self.table.rows(first, last))
                yield self._works[first]

    def _keep(self, piece: ChunkResults) -> None:
        """SweepStore a piece with the values of its runs."""
        rows, first = self._works.pop(piece.first).rows, piece.first
        groups = names_by_group(self.study.layout)
        values: dict[str, Array] = {STATUS: np.full(len(rows), float(COMPUTED)), **piece.values}
        values[STATUS][[run - first for run in piece.failures]] = FAILED
        for name, column in zip(self.table.names, rows.T, strict=True):
            values[stored_name(name, name in groups["q"] or name in groups["u"])] = column
        names, indicators = self.study.result_names, self.study.indicators
        tallies = tuple(Tally.of(piece.values[name], first, indicator=name in indicators) for name in names)
        entry = LogEntry(first, first + len(rows), digest_of_rows(rows), tallies, piece.failures)
        self.store.write(values, entry)
        self._enter(entry)
        self._computed += len(rows)

    def _enter(self, entry: LogEntry) -> None:
        self._entries[entry.first] = entry
        self._done += entry.last - entry.first
        self._failed += len(entry.failures)

    def _narrow_after(self) -> int | None:
        """Return the number of runs after which all intervals are narrow enough; None if they are not yet."""
        places = {self.study.result_names.index(name): width for name, width in self.precision.items()}
        while places and self._stop is None and self._prefix in self._entries:
            # Chunks are taken in order, so that the study stops after the same run for any number of workers.
            entry = self._entries[self._prefix]
            self._found = merged([self._found, entry.tallies]) if self._found else list(entry.tallies)
            self._prefix = entry.last
            if all(self._found[k].half_width <= width for k, width in places.items()):
                self._stop = self._prefix
        return self._stop

    def _tell(self, bar: ProgressBar, listener: Callable[[float], None], part: float) -> None:
        """Show progress, rate, time left and failures; ``part`` is the completed fraction of the present chunk."""
        n, size = len(self.table), self.store.about["chunk"]
        done, failed = self._done, self._failed
        took, now = time.monotonic() - self._began, min(part * size, n - done)
        rate = (self._computed + now) / max(took, 1e-9)
        left = (n - done - now) / rate if rate else float("inf")
        bar.name(f"{done:,} of {n:,} runs, {rate:.3g} per second, {left:.0f} s left, {failed} failed")
        listener((done + now) / n)
