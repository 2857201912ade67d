"""Modes that a run visits, one for each transition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kane.dynamics.compiled_modes import statuses_in_words
from kane.errors import ModelError
from kane.simulation.results.trajectory import Trajectory


class Visit(NamedTuple):
    """Mode of a run, its first time [s], and the constraint that caused it; empty at the start of the run."""

    mode: str
    time: float
    cause: str


def visits(run: Trajectory) -> list[Visit]:
    """Return the mode at the start of a run, and the mode after each later transition.

    Raises:
        ModelError: the run is of a model without contacts.
    """
    log = run.contact_log
    if log is None:
        raise ModelError("the run is of a model without contacts, stops, latches, sticking joints or switches")
    start = float(run.time[0])
    found = [Visit(statuses_in_words(log.statuses[0].tolist(), log.intermittents), start, "")]
    last = None
    for record in log.records:
        # The records of one transition have its time, its impulses and the statuses after it in common.
        same = last is not None and record.time == last.time and np.array_equal(record.statuses, last.statuses)
        if record.time > start and not (same and last and np.array_equal(record.impulses, last.impulses)):
            mode = statuses_in_words(record.statuses.tolist(), log.intermittents)
            found.append(Visit(mode, record.time, log.intermittents[record.cause]))
        last = record
    return found
