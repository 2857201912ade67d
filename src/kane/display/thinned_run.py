"""Runs for pages: recorded data, reduced to the resolution of an eye, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.deferred import dataclass
from kane.display.arrows import Arrow, scales_of, without_rounding
from kane.display.live_motion import page, posed_form
from kane.display.page import Page, encoded
from kane.display.scene import scene_of
from kane.errors import ModelError, shown
from kane.expression.number_arguments import list_argument, words
from kane.formulation.equations import Equations
from kane.model.body import Body, Point
from kane.model.checks import require_known

# Largest number of values of all runs, which keeps a page below two megabytes; smallest number of times of a run.
MOST_REPLAY_NUMBERS, FEWEST_REPLAY_TIMES = 220_000, 200


@dataclass(frozen=True)
class Band:
    """Time spans in which something acts, such as a contact, and the bodies that are highlighted then."""

    name: str
    spans: Sequence[tuple[float, float]]
    bodies: Sequence[int]


@dataclass(frozen=True)
class ShownRun:
    """Motion to be shown.

    Attributes:
        name: name in the list of ghosts.
        time: (times,) [s].
        q: (times, nq).
        series: other quantities over time by name, (times,).
        events: time, name and cause of each event.
        arrows, bands: acting forces, and time spans in which something acts.
    """

    name: str
    time: Array
    q: Array
    series: Mapping[str, Array] = field(default_factory=dict)
    events: Sequence[tuple[float, str, str]] = ()
    arrows: Sequence[Arrow] = ()
    bands: Sequence[Band] = ()


def replay_page(
    equations: Equations,
    runs: Sequence[ShownRun],
    *,
    parameters: Mapping[str, float],
    traces: Any = (),
    plots: Any = (),
) -> Page:
    """Return a page that plays runs of a model: the first in colour, the others as ghosts.

    Raises:
        ModelError: a trace is not a point, body or frame of the model, a plotted quantity was not recorded, or the
            model has no bodies.
    """
    first = runs[0]
    plotted = words(plots, "plots", "names")
    for name in plotted:
        require_known(name, first.series, "quantity", " to plot")
    scene = scene_of(equations, parameters=parameters, q=first.q[0])
    start = first.time[0], [*first.q[0], *(0.0 for _ in equations.u)]
    names = list(dict.fromkeys(arrow.name for arrow in first.arrows))
    first = replace(first, arrows=[without_rounding(arrow, scene.size) for arrow in first.arrows])
    extra = {
        "runs": [run_form(run, sum(len(r.q) for r in runs)) for run in (first, *runs[1:])],
        "traces": [
            trace_form(trace, equations, scene.frames)
            for trace in list_argument(traces, "traces", "points or names of bodies")
        ],
        "arrows": names,
        "scales": scales_of(first.arrows, scene.size),
        "plots": plotted,
        "subtitle": f"{first.time[0]:g} s to {first.time[-1]:g} s",
    }
    return page("run", equations, scene, posed_form(equations, parameters), start=start, programs=(), extra=extra)


def run_form(run: ShownRun, together: int) -> dict[str, Any]:
    """Return a run as plain data; ``together`` is the number of times of all runs on the page."""
    width = run.q.shape[1] + len(run.series) + 9 * len(run.arrows)
    wanted = max(FEWEST_REPLAY_TIMES, int(MOST_REPLAY_NUMBERS / width * len(run.q) / max(together, 1)))
    rows = np.unique(np.round(np.linspace(0, len(run.time) - 1, min(wanted, len(run.time)))).astype(int))
    return {
        "name": run.name,
        "time": encoded(run.time[rows].astype("<f8")),
        "q": encoded(run.q[rows].astype("<f4")),
        "series": {name: encoded(values[rows].astype("<f4")) for name, values in run.series.items()},
        "events": [{"time": time, "name": name, "cause": cause} for time, name, cause in run.events],
        "arrows": [_arrow_form(a, rows) for a in run.arrows],
        "active": [{"name": b.name, "spans": [list(s) for s in b.spans], "bodies": list(b.bodies)} for b in run.bands],
    }


def spans(time: Array, holds: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Return the time spans in which ``holds`` is true; each ends at the first record at which it is false again."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(int)))
    last = len(time) - 1
    return [(float(time[a]), float(time[min(b, last)])) for a, b in edges.reshape(-1, 2)]


def _arrow_form(arrow: Arrow, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return an arrow as plain data; vectors that are always zero are empty."""
    vectors = {"arm": arrow.arm, "force": arrow.force, "torque": arrow.torque}
    found = {word: encoded(x[rows].astype("<f4")) if x.any() else "" for word, x in vectors.items()}
    return {"name": arrow.name, "body": arrow.body, "at": arrow.at.tolist(), **found}


def trace_form(trace: Any, equations: Equations, frames: Sequence[str]) -> dict[str, Any]:
    """Return a trace of a point, or of the origin of a body or frame, as plain data."""
    if isinstance(trace, Point):
        if trace.body.model.arena is not equations.model.arena:
            raise ModelError(f"the point {trace!r} belongs to another model; trace points of the shown model")
        return {"name": repr(trace), "body": trace.body.index, "at": [float(x) for x in trace.position_in_body]}
    name = trace.name if isinstance(trace, Body) else trace
    if not isinstance(name, str) or name not in frames:
        raise ModelError(f"{shown(trace)} cannot be traced; give a point, or a body or frame: {', '.join(frames[1:])}")
    return {"name": name, "body": list(frames).index(name), "at": [0.0, 0.0, 0.0]}
