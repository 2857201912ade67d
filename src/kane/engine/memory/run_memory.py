"""Views of the memory of a run, for native code and for Python."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline
from kane.engine.memory.views import (
    GuardSamples,
    ModePrograms,
    ProjectionNotes,
    RunClock,
    RunCounts,
    guard_samples_at,
    mode_programs_at,
    projection_notes_at,
    run_clock_at,
    run_counts_at,
)


@native_inline
def clock_of(store: Any) -> RunClock:
    """Return the RunClock of a Store."""
    return run_clock_at(store.clock, 0)


@native_inline
def counts_of(store: Any) -> RunCounts:
    """Return the RunCounts of a Store."""
    return run_counts_at(store.counts, 0)


@native_inline
def lane_clock(block: Any, lane: int) -> RunClock:
    """Return the RunClock of a lane of a Block."""
    return run_clock_at(block.clock[lane], 0)


@native_inline
def lane_counts(block: Any, lane: int) -> RunCounts:
    """Return the RunCounts of a lane of a Block."""
    return run_counts_at(block.counts[lane], 0)


@native_inline
def mode_of(system: Any) -> ModePrograms:
    """Return the programs of the active mode of a StateEquation."""
    return mode_programs_at(system.mode, 0)


@native_inline
def samples_of(guards: Any) -> GuardSamples:
    """Return the samples of the guards, a Watch, within a step."""
    return guard_samples_at(guards.roots, 0, guards.out.size)


@native_inline
def notes_of(projection: Any) -> ProjectionNotes:
    """Return the diagnostics of a Projection."""
    return projection_notes_at(projection.notes, 0)
