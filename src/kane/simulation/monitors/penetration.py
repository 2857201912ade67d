"""Check initial states for penetration of contacts, stops and latches before a run is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError
from kane.simulation.state_layout import Layout

# A gap this much below zero at the start counts as rounding [m or rad].
START_GAP_TOLERANCE = 1e-6
# The call suggested in the message abbreviates initial values with more names than this.
WRITTEN = 6


def refuse_start(dyn: Dynamics, t: float, q: Any, u: Any, parameters: Any) -> None:
    """Raise if the initial state penetrates a contact, or is beyond a stop or latch.

    Args:
        dyn: dynamics of the run.
        t: initial time [s].
        q, u, parameters: as for ``kane.simulate``.

    Raises:
        ModelError: names the contact, stop or latch, the depth, and the call that finds a valid state; also as
            ``Layout.named_state``.
    """
    if not dyn.equations.intermittents:
        return
    layout = Layout.of(dyn.equations)
    values = dyn.equations.parameter_bounds.given(parameters)
    names, gaps = starting_gaps(dyn, t, layout.named_state(q, u)[None, :], values)
    if names and not gaps.min() >= -START_GAP_TOLERANCE:
        wrong = int(np.argmax(~(gaps[0] >= -START_GAP_TOLERANCE))) if np.isnan(gaps).any() else int(np.argmin(gaps[0]))
        raise ModelError(
            describe_penetration(dyn, names[wrong], float(gaps[0, wrong]), q=q, u=u, t=t, parameters=parameters)
        )


def refuse_starts(dyn: Dynamics, t: float, x: Array, parameters: Array) -> None:
    """Raise if all initial states x = [q, u], (starts, nx), penetrate a contact or exceed a stop or latch.

    Args:
        dyn: dynamics of the runs.
        t: initial time [s].
        x: states.
        parameters: one row per state, or one row for all.

    Raises:
        ModelError: describes the first state, as ``refuse_start`` does.
    """
    if not dyn.equations.intermittents or not np.isfinite(x).all():
        return
    names, gaps = starting_gaps(dyn, t, x, parameters)
    if names and (gaps.min(axis=1) < -START_GAP_TOLERANCE).all():
        deepest = int(np.argmin(gaps[0]))
        raise ModelError(
            f"none of the {len(x)} runs can start: {describe_penetration(dyn, names[deepest], float(gaps[0, deepest]))}"
        )


def starting_gaps(dyn: Dynamics, t: float, x: Array, parameters: Vector) -> tuple[list[str], Array]:
    """Return names of contacts, stops and latches, and their gaps at x = [q, u], (states, gaps) [m or rad]."""
    from kane.dynamics.contacts.gaps import gap_function

    names, function = gap_function(dyn)
    if not names:
        return [], np.zeros((len(x), 0))
    states = np.column_stack([np.full(len(x), t), x])
    return names, np.asarray(function(states, np.zeros(function.n_rest), function.stage(parameters)))


def describe_penetration(dyn: Dynamics, name: str, gap: float, **given: Any) -> str:
    """Describe the penetration at the start, and the call that finds a valid state."""
    constraint = next(c.constraint for c in dyn.equations.intermittents if c.name == name)
    unit = "m" if constraint.surfaces else "m (or rad)"
    known = given or {"q": ..., "u": ..., "t": ...}
    written = ", ".join(["dyn", *(f"{word}={_written(value)}" for word, value in known.items() if value is not None)])
    start = f"{dyn.equations.name!r} cannot start there: "
    if not np.isfinite(gap):
        return f"{start}the gap of {name!r} is not finite; change the initial q a little"
    return (
        f"{start}{name!r} is violated by {-gap:.6g} {unit}; start with q=state.q, u=state.u of "
        f"state = kane.assemble({written}), which moves the bodies out of each other"
    )


def _written(value: Any) -> str:
    """Return an argument as a user writes it in a call; an ellipsis if it is long."""
    if isinstance(value, float):
        return repr(value)
    short = isinstance(value, Mapping) and len(value) <= WRITTEN
    return repr({name: float(number) for name, number in value.items()}) if short else "..."
