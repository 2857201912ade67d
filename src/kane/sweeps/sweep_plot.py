"""Plot of a sweep: the distribution of each result, and each result over the values that vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from kane.sweeps.results import Sweep

MOST_POINTS, BINS = 5000, 40
PANEL_SIDE = 2.2  # inches


def scatter_matrix(sweep: Sweep, names: Sequence[str]) -> Figure:
    """Return a figure with one row per result: its histogram, then the result over each value that varies."""
    varied = sweep.varied
    columns = 1 + len(varied)
    figure = Figure(figsize=(PANEL_SIDE * columns, PANEL_SIDE * len(names)), layout="constrained")
    axes = figure.subplots(len(names), columns, squeeze=False)
    for name, row in zip(names, axes, strict=True):
        y = sweep[name]
        shown = np.flatnonzero(np.isfinite(y))
        row[0].hist(y[shown], BINS, color="0.5")
        row[0].set(xlabel=_label(sweep, name), ylabel="number of runs")
        shown = shown[:: -(-len(shown) // MOST_POINTS) or 1]
        for x, ax in zip(varied, row[1:], strict=True):
            ax.plot(sweep[x][shown], y[shown], "k.", markersize=2)
            ax.set(xlabel=_label(sweep, x), ylabel=_label(sweep, name))
    return figure


def _label(sweep: Sweep, name: str) -> str:
    """Return the name of a variable with its unit, if it is known."""
    unit = sweep.about["variables"][name].get("units")
    return f"{name} [{unit}]" if unit else name
