"""Zeno behaviour: events and transitions that accumulate in ever shorter time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kane.engine.memory.contact_codes import OPEN
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.errors import SimulationError, list_names
from kane.simulation.integrator_state import IntegratorState, Status, StoredTransitions

# This many consecutive events of one name, or transitions, within this fraction of the run count as endless.
ENDLESS_EVENTS, EVENTS_SPAN = 100, 1e-9
# This many transitions within this fraction of the run, anywhere in it, count as endless too.
ENDLESS_TRANSITIONS, TRANSITIONS_SPAN = 50_000, 1e-4
# A constraint changes endlessly if it changes ENDLESS_FLIPS times within at most FLIPS_WINDOW transitions, and at this
# rate IMPLIED_CHANGES more changes would follow until the end of the run. Their records would take tens of gigabytes.
ENDLESS_FLIPS, FLIPS_WINDOW, IMPLIED_CHANGES = 20_000, 100_000, 1e8
# Cure for runs with very many transitions.
TIME_STEPS = "try integrator=kane.MoreauJean(), dt=1e-3"
# A run advises time steps from this many transitions on, in all and per second.
MANY_TRANSITIONS, MANY_PER_SECOND = 2_000, 1_000.0
# Largest number of constraints that a message names.
MAX_NAMED_CONSTRAINTS = 3


def require_end(
    integration: IntegratorState, names: Sequence[str], before: tuple[int, int], *, fixed: bool, status: Status
) -> None:
    """Raise if events or transitions accumulate; the message describes the first accumulation.

    Runs check this after chunks of steps whose number depends on wall time. The result does not depend on the chunks,
    because all new events are checked one by one.

    Args:
        integration: integrator state after some steps.
        names: names of the events.
        before: numbers of events and of transitions before these steps.
        fixed: whether the step length is fixed. With step-size control, stall detection ends most such runs.
        status: status after the steps; a Moreau-Jean time step may resolve endless transitions at one time.

    Raises:
        SimulationError: events or transitions accumulate.
    """
    events, changes = before
    found = [*_of_events(integration, names, events), *_of_modes(integration, changes, fixed=fixed, status=status)]
    found += _of_constraints(integration, changes)
    if found:
        raise SimulationError(min(found)[1])


def _of_events(integration: IntegratorState, names: Sequence[str], before: int) -> Iterator[tuple[float, str]]:
    """Yield the run time at which an event accumulates, and the message."""
    found = integration.store.found[: integration.counts.events[0]]
    for number in sorted(set(found[before:, 0].astype(int).tolist())):
        places = np.flatnonzero(found[:, 0] == number)
        own = found[places[max(int(np.searchsorted(places, before)) - ENDLESS_EVENTS + 1, 0) :]]
        k = first_of_many(own[:, 1], ENDLESS_EVENTS - 1, EVENTS_SPAN * _span(integration))
        if k is not None:
            message = f"the event {names[number]!r} of {integration.problem.layout.model!r} happens again and again "
            message += f"{_where(integration, own[k, 1], own[k, 2:])}; make it terminal, or give it a direction"
            yield integration.way * own[k, 1], message


def _of_modes(integration: IntegratorState, before: int, *, fixed: bool, status: Status) -> Iterator[tuple[float, str]]:
    """Yield the run time at which transitions accumulate, and the message."""
    transitions = integration.transitions
    contacts = bool(integration.problem.mode_source.intermittents)
    cure = (
        f": {ENDLESS_TRANSITIONS:,} times within {TRANSITIONS_SPAN:g} of the run; give less restitution or friction, "
    )
    cure += f"end the run before, or {TIME_STEPS}" if contacts else "or end the run before"
    limits = [(ENDLESS_TRANSITIONS, TRANSITIONS_SPAN, cure)] + (
        [(ENDLESS_EVENTS - 1, EVENTS_SPAN, "")] if fixed else []
    )
    for many, ratio, more in limits:
        first = max(before - many, 0)
        new = first + np.arange(len(transitions.time) - first)
        if status is Status.ENDLESS and more == "":
            new = new[transitions.time[new] != integration.time]
        k = first_of_many(transitions.time[new], many, ratio * _span(integration))
        if k is not None:
            t, x = transitions.time[new[k]], transitions.after[new[k]]
            message = f"the mode of {integration.problem.layout.model!r} changes again and again "
            message += f"{_where(integration, t, x)}{more}"
            yield integration.way * t, message + _main_causes(integration, transitions.notes[new[k - many : k + 1]])


def _of_constraints(integration: IntegratorState, before: int) -> Iterator[tuple[float, str]]:
    """Yield the run time from which a constraint changes its status too often for the run to end, and the message."""
    first = max(before - FLIPS_WINDOW, 0)
    transitions = StoredTransitions(*(column[first:] for column in integration.transitions))
    if len(transitions.time) <= ENDLESS_FLIPS:
        return
    names = integration.problem.mode_source.intermittents
    for name, own in zip(names, transitions.notes[:, transitions.notes.shape[1] - len(names) :].T, strict=True):
        places = 1 + np.flatnonzero(np.diff(own))
        times = transitions.time[places]
        left = abs(integration.course.until - times[ENDLESS_FLIPS:])
        among = places[ENDLESS_FLIPS:] - places[: len(left)] <= FLIPS_WINDOW
        k = first_of_many(times, ENDLESS_FLIPS, np.where(among, ENDLESS_FLIPS / IMPLIED_CHANGES * left, 0.0))
        if k is not None:
            t, x = times[k], transitions.after[places[k]]
            took = abs(t - times[k - ENDLESS_FLIPS])
            message = f"{name!r} of {integration.problem.layout.model!r} changes again and again "
            message += f"{_where(integration, t, x)}: "
            more = ENDLESS_FLIPS * left[k - ENDLESS_FLIPS] / took
            message += f"{ENDLESS_FLIPS:,} times within {took:.3g} s, so that the run takes {more:.2g} "
            yield (
                integration.way * t,
                message + f"more; let its conditions change less often, end the run before, or {TIME_STEPS}",
            )


def many_transitions(integration: IntegratorState) -> str:
    """Advise time steps for a run that has located very many transitions of contacts; else an empty text."""
    count, took = len(integration.transitions.time), abs(integration.time - integration.course.start)
    contacts = integration.problem.mode_source.intermittents
    if integration.drifts or not contacts or count < max(MANY_TRANSITIONS, MANY_PER_SECOND * took):
        return ""
    return (
        f"the contacts of {integration.problem.layout.model!r} changed their mode {count:,} times within {took:.3g} s, "
        f"and each change was located; for a faster run with errors of the order of its step {TIME_STEPS}"
    )


def _main_causes(integration: IntegratorState, notes: Matrix) -> str:
    """Name the constraints that cause most of the transitions, or the active ones if no constraint causes them.

    The notes of a transition begin with its cause, and end with the statuses (region Transition).
    """
    names = integration.problem.mode_source.intermittents
    if not names:
        return ""
    causes = notes[:, 0].astype(int)
    often = np.bincount(causes[causes >= 0], minlength=len(names))
    if often.any():
        most = [repr(names[k]) for k in np.argsort(-often, kind="stable")[:MAX_NAMED_CONSTRAINTS] if often[k]]
        return f"; most of these changes are of {list_names(most)}"
    held = [repr(name) for name, status in zip(names, notes[-1, -len(names) :], strict=True) if status != OPEN]
    return f"; active, or touching: {list_names(held) or 'nothing'}"


def first_of_many(times: Vector, many: int, within: Vector | float) -> int | None:
    """Return the index of the first time that follows ``many`` others within a short time; None if no time does.

    Args:
        times: increasing or decreasing.
        many: number of preceding times.
        within: the short time, one number for all, or one for each time from index ``many`` on.
    """
    follow = np.flatnonzero(abs(times[many:] - times[:-many]) < within)
    return many + int(follow[0]) if follow.size else None


def _span(integration: IntegratorState) -> float:
    return abs(integration.course.until - integration.course.start)


def _where(integration: IntegratorState, t: float, x: Vector) -> str:
    return f"at t = {t:.9g} s, {integration.problem.layout.describe(x)}"
