"""Refuse starts inside of contacts, or beyond stops, before anything is compiled for a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.contacts.gaps import gap_function
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.formulation.parameter_bounds import given_parameters
from kane.native.arrays import Vector
from kane.simulation.layout import Layout

# A gap this much below zero at the start is rounding [m or rad].
TOUCHING = 1e-6
# The start of more names is not written out in the call that a message offers.
WRITTEN = 6


def refuse_start(dyn: Dynamics, t: float, q: Any, u: Any, parameters: Any) -> None:
    """Refuse a start inside of a contact, or beyond a stop or latch.

    Args:
        dyn: of which a run is to be posed.
        t: when [s].
        q, u, parameters: as of ``kane.simulate``.

    Raises:
        ModelError: which contact, stop or latch it is inside of, how deep, and the call that finds a state outside; as
            of ``Layout.named_state``.
    """
    if not dyn.equations.candidates:
        return
    layout = Layout.of(dyn.equations)
    values = given_parameters(dyn.equations, parameters)
    names, gaps = starting_gaps(dyn, t, layout.named_state(q, u)[None, :], values)
    if names and not gaps.min() >= -TOUCHING:
        wrong = int(np.argmax(~(gaps[0] >= -TOUCHING))) if np.isnan(gaps).any() else int(np.argmin(gaps[0]))
        raise ModelError(inside(dyn, names[wrong], float(gaps[0, wrong]), q=q, u=u, t=t, parameters=parameters))


def refuse_starts(dyn: Dynamics, t: float, x: NDArray[np.float64], parameters: NDArray[np.float64]) -> None:
    """Refuse many starts x = [q, u], (starts, nx), if each of them is inside of a contact.

    Args:
        dyn: of which runs are to be posed.
        t: when [s].
        x: states.
        parameters: of each, or a row for all.

    Raises:
        ModelError: of the first one, as of ``refuse_start``.
    """
    if not dyn.equations.candidates or not np.isfinite(x).all():
        return
    names, gaps = starting_gaps(dyn, t, x, parameters)
    if names and (gaps.min(axis=1) < -TOUCHING).all():
        deepest = int(np.argmin(gaps[0]))
        raise ModelError(f"none of the {len(x)} runs can start: {inside(dyn, names[deepest], float(gaps[0, deepest]))}")


def starting_gaps(
    dyn: Dynamics, t: float, x: NDArray[np.float64], parameters: Vector
) -> tuple[list[str], NDArray[np.float64]]:
    """The names of contacts, stops and latches, and their gaps at states x = [q, u], (states, gaps) [m or rad]."""
    names, function = gap_function(dyn)
    if not names:
        return [], np.zeros((len(x), 0))
    states = np.column_stack([np.full(len(x), t), x])
    return names, np.asarray(function(states, np.zeros(function.n_rest), function.stage(parameters)))


def inside(dyn: Dynamics, name: str, gap: float, **given: Any) -> str:
    """Why a run cannot start inside of a candidate, and the call that finds where it can."""
    candidate = next(c.candidate for c in dyn.equations.candidates if c.name == name)
    unit = "m" if candidate.surfaces else "m (or rad)"
    known = given or {"q": ..., "u": ..., "t": ...}
    written = ", ".join(["dyn", *(f"{word}={_written(value)}" for word, value in known.items() if value is not None)])
    start = f"{dyn.equations.name!r} cannot start there: "
    if not np.isfinite(gap):
        return f"{start}the gap of {name!r} is no number; turn or move the start a little"
    return (
        f"{start}{name!r} is {-gap:.6g} {unit} inside; start with q=state.q, u=state.u of "
        f"state = kane.assemble({written}), which moves it until nothing is inside"
    )


def _written(value: Any) -> str:
    """An argument as a user writes it in a call; an ellipsis in place of a long one."""
    if isinstance(value, float):
        return repr(value)
    short = isinstance(value, Mapping) and len(value) <= WRITTEN
    return repr({name: float(number) for name, number in value.items()}) if short else "..."
